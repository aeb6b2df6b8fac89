#include "consumer/reweight/doremi.h"

#include <assert.h>
#include <math.h>
#include <string.h>

void
doremi_init(struct doremi *d, size_t n, const double *start, double eta, double smoothing)
{
	double all = 0;

	assert(n > 0 && n <= LOSSES_DOMAINS_MAX);
	assert(eta > 0);
	assert(smoothing >= 0 && smoothing <= 1);
	memset(d, 0, sizeof(*d));
	d->n = n;
	d->eta = eta;
	d->smoothing = smoothing;
	for (size_t i = 0; i < n; i++)
		all += start == NULL ? 1 : start[i];
	assert(all > 0);
	for (size_t i = 0; i < n; i++)
		d->weight[i] = d->average[i] = (start == NULL ? 1 : start[i]) / all;
}

void
doremi_step(struct doremi *d, const struct losses_sum *sum)
{
	double highest = 0, all = 0;

	assert(d->n > 0 && d->n <= LOSSES_DOMAINS_MAX);
	for (size_t i = 0; i < d->n; i++) {
		if (sum[i].tokens > 0)
			d->excess[i] = fmax(losses_mean(sum[i].excess_sum, sum[i].tokens), 0);
		highest = fmax(highest, d->excess[i]);
	}
	/* A common factor changes nothing and keeps exp() from overflowing. */
	for (size_t i = 0; i < d->n; i++) {
		d->weight[i] *= exp(d->eta * (d->excess[i] - highest));
		all += d->weight[i];
	}
	d->steps++;
	for (size_t i = 0; i < d->n; i++) {
		/* All are 0 together only where the domain with the highest l had no weight. */
		double share = all > 0 ? d->weight[i] / all : 1 / (double)d->n;

		d->weight[i] = (1 - d->smoothing) * share + d->smoothing / (double)d->n;
		if (d->steps == 1)
			d->average[i] = d->weight[i];
		else
			d->average[i] += (d->weight[i] - d->average[i]) / (double)d->steps;
	}
}
