/* `deficit` with live domains: draws lent to others and paid back. */
#include "common/schedule/schedule.h"

#include <assert.h>

/* Who takes part in a lent draw. */
static bool
in_pool(const struct schedule *s, size_t k, const bool *dry)
{
	return s->weight[k] > 0 && !dry[k];
}

size_t
schedule_lend_pick(const struct schedule *s, size_t picked, const bool *dry)
{
	size_t best = s->n;
	int64_t most = 0;

	assert(s->kind == SCHEDULE_DEFICIT && s->unit == 1 && dry[picked]);
	for (size_t k = 0; k < s->n; k++) {
		int64_t credit = s->credit[k] + 2 * (int64_t)s->weight[k];

		if (in_pool(s, k, dry) && (best == s->n || credit > most)) {
			most = credit;
			best = k;
		}
	}
	return best;
}

void
schedule_lend(struct schedule *s, size_t picked, const bool *dry, size_t drawn)
{
	uint64_t pool = 0;

	assert(drawn < s->n && in_pool(s, drawn, dry));
	schedule_charge(s, picked, 1);
	for (size_t k = 0; k < s->n; k++) {
		if (!in_pool(s, k, dry))
			continue;
		pool += s->weight[k];
		s->credit[k] += (int64_t)s->weight[k];
	}
	s->credit[drawn] -= (int64_t)pool;
}

/*
 * A draw of `picked` on paper, in which it is deprived of the sequence and its loss is shared among
 * all but `i`: credits += W; picked -= one; others -= W; picked += their sum, one - W_i.
 */
void
schedule_repay(struct schedule *s, size_t i, size_t picked)
{
	assert(s->kind == SCHEDULE_DEFICIT && s->unit == 1);
	assert(i < s->n && picked < s->n && i != picked);
	s->draws++;
	s->credit[i] += (int64_t)s->weight[i];
	s->credit[picked] -= (int64_t)s->weight[i];
}
