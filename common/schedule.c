#include "common/schedule.h"

#include <assert.h>
#include <string.h>

void
schedule_init(struct schedule *s)
{
	s->n = 0;
}

void
schedule_set_weights(struct schedule *s, const uint64_t *weight, size_t n)
{
	uint64_t free_credit = 0, share[WEIGHTS_MAX];

	assert(n >= s->n && n >= 1 && n <= WEIGHTS_MAX);
	for (size_t i = s->n; i < n; i++)
		s->credit[i] = 0;
	s->n = n;
	memcpy(s->weight, weight, n * sizeof(*weight));
	for (size_t i = 0; i < n; i++) {
		if (weight[i] == 0 && s->credit[i] > 0) {
			free_credit += (uint64_t)s->credit[i];
			s->credit[i] = 0;
		}
	}
	if (free_credit == 0)
		return;
	weights_apportion(share, free_credit, weight, n);
	for (size_t i = 0; i < n; i++)
		s->credit[i] += (int64_t)share[i];
}

size_t
schedule_draw(struct schedule *s)
{
	size_t best = 0;
	int64_t most = INT64_MIN;

	assert(s->n >= 1);
	for (size_t i = 0; i < s->n; i++) {
		int64_t credit = s->credit[i] + (int64_t)s->weight[i];

		s->credit[i] = credit;
		if (credit > most) {
			most = credit;
			best = i;
		}
	}
	assert(most > 0 && s->weight[best] > 0);
	s->credit[best] -= (int64_t)WEIGHT_ONE;
	return best;
}

void
schedule_undraw(struct schedule *s, size_t drawn)
{
	assert(drawn < s->n);
	s->credit[drawn] += (int64_t)WEIGHT_ONE;
	for (size_t i = 0; i < s->n; i++)
		s->credit[i] -= (int64_t)s->weight[i];
}
