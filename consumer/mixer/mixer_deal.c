/*
 * Live domains: partitions go round robin, one sequence each; one that has ended drops out, one
 * that has not and lacks its next sequence is waited for. So the place of a position never depends
 * on when the lengths became known.
 */
#include <assert.h>

#include "consumer/mixer/mixer_state.h"

/* Sequences that partition p will have, as far as is known. */
static uint64_t
end_of(const struct domain *d, size_t p)
{
	return d->sealed[p] ? d->sequences[p] : UINT64_MAX;
}

/* Sequences dealt in the first `rounds` rounds. */
static uint64_t
dealt(const struct domain *d, uint64_t rounds)
{
	uint64_t sum = 0;

	for (size_t p = 0; p < d->partitions_n; p++)
		sum += end_of(d, p) < rounds ? end_of(d, p) : rounds;
	return sum;
}

/* Goes on to the next partition, from `partition` of `round` on, that takes part. */
static bool
find_partition(struct domain *d, uint64_t round, size_t partition)
{
	for (size_t passed = 0; passed <= d->partitions_n; passed++, partition++) {
		if (partition == d->partitions_n) {
			partition = 0;
			round++;
		}
		if (end_of(d, partition) > round) {
			d->deal.round = round;
			d->deal.partition = partition;
			return true;
		}
	}
	return false; /* all have ended */
}

/* The last round that starts at or before `position`, which is before the end. */
static uint64_t
round_of(const struct domain *d, uint64_t position)
{
	uint64_t low = 0, high = position + 1;

	while (low + 1 < high) {
		uint64_t middle = low + (high - low) / 2;

		if (dealt(d, middle) <= position)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static bool
seek(struct domain *d, uint64_t position)
{
	uint64_t round, behind;

	if (d->all_sealed && position >= dealt(d, UINT64_MAX))
		return false;
	round = round_of(d, position);
	behind = position - dealt(d, round);
	if (!find_partition(d, round, 0))
		return false;
	for (; behind > 0; behind--)
		if (!find_partition(d, d->deal.round, d->deal.partition + 1))
			return false;
	return true;
}

enum deal_place
mixer_deal(struct domain *d, uint64_t position)
{
	struct deal *at = &d->deal;
	bool found;

	if (at->known && at->position + 1 == position)
		found = find_partition(d, at->round, at->partition + 1);
	else
		found = (at->known && at->position == position) || seek(d, position);
	at->known = found;
	at->position = position;
	if (!found)
		return DEAL_END;
	return at->round < d->sequences[at->partition] ? DEAL_THERE : DEAL_DRY;
}
