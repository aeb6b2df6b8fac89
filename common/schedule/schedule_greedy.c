/* The `greedy` rule: doubles, each product rounded before the difference is taken. */
#include "common/schedule/schedule_parts.h"

#include <assert.h>

#ifdef __FAST_MATH__
#error "greedy is defined by IEEE doubles: -ffast-math would draw something else"
#endif

size_t
schedule_greedy_pick(const struct schedule *s)
{
	double k = s->draws > 1 ? (double)s->draws : 1, most = 0;
	size_t best = s->n;

	for (size_t i = 0; i < s->n; i++) {
		double w = weights_double(s->weight[i]);
		double expected = w * k;
		double error = expected - (double)s->credit[i];

		if (w > 0 && (best == s->n || error > most)) {
			most = error;
			best = i;
		}
	}
	assert(best < s->n);
	return best;
}
