#include "common/schedule/schedule.h"

#include <assert.h>
#include <string.h>

#include "common/base/limits.h"
#include "common/schedule/permutation.h"

#ifdef __FAST_MATH__
#error "greedy is defined by IEEE doubles: -ffast-math would draw something else"
#endif

const char *const schedule_names[] = {[SCHEDULE_DEFICIT] = "deficit",
    [SCHEDULE_GREEDY] = "greedy",
    [SCHEDULE_RANDOM] = "random",
    NULL};

void
schedule_init(struct schedule *s, enum schedule_kind kind, uint64_t unit, uint64_t seed)
{
	assert(unit >= 1);
	assert(unit == 1 || kind == SCHEDULE_DEFICIT);
	s->kind = kind;
	s->n = 0;
	s->unit = unit;
	s->one = 0;
	s->draws = 0;
	/* No domain's name has a slash, so that no domain's order has this key. */
	s->key = kind == SCHEDULE_RANDOM ? permutation_key("/draws", seed) : 0;
}

void
schedule_copy(struct schedule *to, const struct schedule *from)
{
	assert(from->n <= LIMIT_DOMAINS);
	to->kind = from->kind;
	to->n = from->n;
	to->unit = from->unit;
	to->one = from->one;
	to->draws = from->draws;
	to->key = from->key;
	memcpy(to->weight, from->weight, from->n * sizeof(from->weight[0]));
	memcpy(to->credit, from->credit, from->n * sizeof(from->credit[0]));
}

void
schedule_add(struct schedule *s)
{
	assert(s->n < LIMIT_DOMAINS);
	s->weight[s->n] = 0;
	s->credit[s->n++] = 0;
}

/*
 * The positive credits of domains without weight go to those that have one, by their weights.
 *
 * A positive credit is a claim on a draw. Left with a domain of weight 0 it could make that domain
 * the richest, and a domain without weight would be drawn. A negative credit may stay: that domain
 * was ahead of its share when it lost its weight, and nobody waits for it.
 */
static void
pass_on_credits(struct schedule *s)
{
	uint64_t free_credit = 0, share[LIMIT_DOMAINS];

	for (size_t i = 0; i < s->n; i++) {
		if (s->weight[i] == 0 && s->credit[i] > 0) {
			free_credit += (uint64_t)s->credit[i];
			s->credit[i] = 0;
		}
	}
	if (free_credit == 0)
		return;
	weights_apportion(share, free_credit, s->weight, s->n);
	for (size_t i = 0; i < s->n; i++)
		s->credit[i] += (int64_t)share[i];
}

void
schedule_set_weights(struct schedule *s, const uint64_t *weight, size_t n)
{
	uint64_t sum = 0;

	assert(n >= s->n);
	assert(n >= 1 && n <= LIMIT_DOMAINS);
	for (size_t i = s->n; i < n; i++)
		s->credit[i] = 0;
	s->n = n;
	memcpy(s->weight, weight, n * sizeof(*weight));
	if (s->kind == SCHEDULE_GREEDY) {
		s->draws = 0;
		memset(s->credit, 0, n * sizeof(s->credit[0]));
		return;
	}
	for (size_t i = 0; i < n; i++)
		sum += weight[i];
	assert(sum > 0);
	assert(s->kind == SCHEDULE_DEFICIT || sum == WEIGHT_ONE);
	if (s->one != sum) /* a round of another length: old credits are in another unit */
		memset(s->credit, 0, n * sizeof(s->credit[0]));
	s->one = sum;
	if (s->kind == SCHEDULE_DEFICIT)
		pass_on_credits(s);
}

/* ---- who is drawn next: a function a rule ---- */

/*
 * The richest, were all credited for one more full draw. There is no branch on what is found: the
 * compiler makes conditional moves of it, and a mix of thousands of domains does this for each
 * draw.
 */
static size_t
deficit_pick(const struct schedule *s)
{
	size_t best = 0;
	int64_t most = INT64_MIN;

	for (size_t i = 0; i < s->n; i++) {
		int64_t credit = s->credit[i] + (int64_t)(s->weight[i] * s->unit);
		bool more = credit > most;

		most = more ? credit : most;
		best = more ? i : best;
	}
	assert(most > 0); /* credits sum to 0, and one * unit came on top */
	assert(s->weight[best] > 0);
	return best;
}

/*
 * w_i * max(k, 1) - count_i in doubles. The product is rounded before the difference is taken, as
 * NumPy and Megatron-LM's C++ do: a fused multiply-add would break ties in another way.
 */
static size_t
greedy_pick(const struct schedule *s)
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

/* The domain in whose stretch of the cumulated weights the point of this draw falls. */
static size_t
random_pick(const struct schedule *s)
{
	uint64_t point = permutation_subkey(s->key, s->draws) >> 32;
	size_t i = 0;

	assert(s->one == WEIGHT_ONE); /* 32 bits: a point is always within a stretch */
	while (point >= s->weight[i]) {
		point -= s->weight[i++];
		assert(i < s->n);
	}
	return i;
}

size_t
schedule_pick(const struct schedule *s)
{
	assert(s->n >= 1);
	switch (s->kind) {
	case SCHEDULE_DEFICIT: return deficit_pick(s);
	case SCHEDULE_GREEDY: return greedy_pick(s);
	case SCHEDULE_RANDOM: return random_pick(s);
	}
	assert(false);
	return 0;
}

void
schedule_charge(struct schedule *s, size_t i, uint64_t units)
{
	assert(i < s->n);
	assert(units >= 1 && units <= s->unit);
	s->draws++;
	if (s->kind == SCHEDULE_GREEDY)
		s->credit[i]++;
	if (s->kind != SCHEDULE_DEFICIT)
		return;
	for (size_t k = 0; k < s->n; k++)
		s->credit[k] += (int64_t)(s->weight[k] * units);
	s->credit[i] -= (int64_t)(s->one * units);
}

size_t
schedule_draw(struct schedule *s)
{
	size_t i = schedule_pick(s);

	schedule_charge(s, i, s->unit);
	return i;
}

/* ---- live domains: draws that are lent to others and paid back ---- */

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

	assert(s->kind == SCHEDULE_DEFICIT);
	assert(s->unit == 1);
	assert(picked < s->n && dry[picked]);
	for (size_t k = 0; k < s->n; k++) {
		/* Twice: for the draw that `picked` pays, and for the one inside the pool. */
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

	assert(drawn < s->n);
	assert(in_pool(s, drawn, dry));
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
 * all but `i`. Three movements, W_k being the weights:
 *
 *     the draw:      every k gets W_k, and `picked` pays `one`
 *     the loss:      every k but i pays W_k
 *     the refund:    `picked` gets the sum of these, one - W_i
 *
 * What remains is that i gets W_i and `picked` pays W_i; the sum stays 0.
 */
void
schedule_repay(struct schedule *s, size_t i, size_t picked)
{
	assert(s->kind == SCHEDULE_DEFICIT);
	assert(s->unit == 1);
	assert(i < s->n && picked < s->n);
	assert(i != picked);
	s->draws++;
	s->credit[i] += (int64_t)s->weight[i];
	s->credit[picked] -= (int64_t)s->weight[i];
}
