/* Live domains: whether the next sequence in the round of the partitions is there. */
#include "consumer/status/status.h"

/* Where a partition drops out of the rounds: at its End, which an open one does not have yet. */
static uint64_t
end_of(const struct status_partition *p)
{
	return p->sealed ? p->sealed_sequences : UINT64_MAX;
}

static uint64_t
dealt(const struct status_domain *d, uint64_t rounds)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < d->partitions_n; i++)
		sum += end_of(&d->partition[i]) < rounds ? end_of(&d->partition[i]) : rounds;
	return sum;
}

bool
status_is_dry(const struct status_domain *d)
{
	uint64_t low = 0, high = (uint64_t)d->position + 1, behind;

	if (!d->live || d->epoch > 0 || d->partition == NULL ||
	    d->partitions_sealed == d->partitions_n)
		return false;
	while (low + 1 < high) { /* the last round that begins at or before the position */
		uint64_t middle = low + (high - low) / 2;

		if (dealt(d, middle) <= (uint64_t)d->position)
			low = middle;
		else
			high = middle;
	}
	behind = (uint64_t)d->position - dealt(d, low);
	for (size_t i = 0; i < d->partitions_n; i++)
		if (end_of(&d->partition[i]) > low && behind-- == 0)
			return !d->partition[i].known || d->partition[i].sequences <= low;
	return false;
}
