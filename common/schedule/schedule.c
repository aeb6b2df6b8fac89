/* What all schedules share, and the `deficit` rule. */
#include "common/schedule/schedule.h"

#include <assert.h>
#include <string.h>

#include "common/base/limits.h"
#include "common/schedule/schedule_parts.h"

const char *const schedule_names[] = {[SCHEDULE_DEFICIT] = "deficit",
    [SCHEDULE_GREEDY] = "greedy",
    [SCHEDULE_RANDOM] = "random",
    NULL};

void
schedule_init(struct schedule *s, enum schedule_kind kind, uint64_t unit, uint64_t seed)
{
	assert(unit >= 1 && (unit == 1 || kind == SCHEDULE_DEFICIT));
	s->kind = kind;
	s->n = 0;
	s->unit = unit;
	s->one = 0;
	s->draws = 0;
	s->key = kind == SCHEDULE_RANDOM ? schedule_random_key(seed) : 0;
}

void
schedule_copy(struct schedule *to, const struct schedule *from)
{
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

/* The positive credits of domains without weight go to those that have one. */
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

	assert(n >= s->n && n >= 1 && n <= LIMIT_DOMAINS);
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
	assert(sum > 0 && (s->kind == SCHEDULE_DEFICIT || sum == WEIGHT_ONE));
	if (s->one != sum)
		memset(s->credit, 0, n * sizeof(s->credit[0]));
	s->one = sum;
	if (s->kind == SCHEDULE_DEFICIT)
		pass_on_credits(s);
}

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
	assert(most > 0 && s->weight[best] > 0);
	return best;
}

size_t
schedule_pick(const struct schedule *s)
{
	assert(s->n >= 1);
	switch (s->kind) {
	case SCHEDULE_DEFICIT: return deficit_pick(s);
	case SCHEDULE_GREEDY: return schedule_greedy_pick(s);
	case SCHEDULE_RANDOM: return schedule_random_pick(s);
	}
	assert(false);
	return 0;
}

void
schedule_charge(struct schedule *s, size_t i, uint64_t units)
{
	assert(i < s->n && units >= 1 && units <= s->unit);
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
