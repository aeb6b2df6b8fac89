#include "consumer/reweight/odm.h"

#include <assert.h>
#include <math.h>
#include <string.h>

void
odm_init(struct odm *o, size_t n, double memory, double scale)
{
	assert(n > 0 && n <= LOSSES_DOMAINS_MAX);
	assert(memory >= 0 && memory < 1);
	assert(scale > 0);
	memset(o, 0, sizeof(*o));
	o->n = n;
	o->memory = memory;
	o->scale = scale;
	for (size_t i = 0; i < n; i++)
		o->weight[i] = 1 / (double)n;
}

/* E after so many steps. */
static double
exploration(size_t n, uint64_t steps)
{
	double k = (double)n, most = 1 / k;

	return steps == 0 ? most : fmin(most, sqrt(log(k) / (k * (double)steps)));
}

void
odm_step(struct odm *o, const struct losses_sum *sum)
{
	double before = exploration(o->n, o->steps), now = exploration(o->n, o->steps + 1);
	double highest = -INFINITY, all = 0;

	assert(o->n > 0 && o->n <= LOSSES_DOMAINS_MAX);
	for (size_t i = 0; i < o->n; i++) {
		if (sum[i].tokens > 0)
			o->reward[i] = o->memory * o->reward[i] +
				       (1 - o->memory) * o->scale *
					   losses_mean(sum[i].loss_sum, sum[i].tokens);
		highest = fmax(highest, o->reward[i]);
	}
	/* A common factor changes nothing and keeps exp() from overflowing. */
	for (size_t i = 0; i < o->n; i++) {
		o->weight[i] = exp(before * (o->reward[i] - highest));
		all += o->weight[i];
	}
	for (size_t i = 0; i < o->n; i++)
		o->weight[i] = (1 - (double)o->n * now) * o->weight[i] / all + now;
	o->steps++;
}
