#include "consumer/mixer/mixer_exclude.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Whether a begins before b in the order of the set. */
static bool
before(const struct excluded *a, const struct excluded *b)
{
	if (a->domain != b->domain)
		return a->domain < b->domain;
	if (a->partition != b->partition)
		return a->partition < b->partition;
	return a->first < b->first;
}

/* How many items begin at or before `range`. */
static size_t
upper(const struct exclusions *x, const struct excluded *range)
{
	size_t low = 0, high = x->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (before(range, &x->item[middle]))
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static bool
joins(const struct excluded *a, const struct excluded *b)
{
	return a->domain == b->domain && a->partition == b->partition && a->first <= b->end &&
	       b->first <= a->end;
}

static bool
grow(struct exclusions *x)
{
	size_t room = x->room == 0 ? 16 : 2 * x->room;
	struct excluded *item;

	if (x->n < x->room)
		return true;
	item = realloc(x->item, room * sizeof(*item));
	if (item == NULL)
		return false;
	x->item = item;
	x->room = room;
	return true;
}

enum fail_code
mixer_exclude(struct exclusions *x, const struct excluded *range, struct failure *f)
{
	struct excluded all = *range;
	size_t from = upper(x, range), to;

	assert(range->first < range->end);
	if (!grow(x))
		return fail_memory(f);
	if (from > 0 && joins(&x->item[from - 1], range))
		from--;
	for (to = from; to < x->n && joins(&x->item[to], &all); to++) {
		const struct excluded *one = &x->item[to];

		all.first = one->first < all.first ? one->first : all.first;
		all.end = one->end > all.end ? one->end : all.end;
	}
	memmove(x->item + from + 1, x->item + to, (x->n - to) * sizeof(*x->item));
	x->n = x->n - (to - from) + 1;
	x->item[from] = all;
	return FAIL_NONE;
}

bool
mixer_excludes(const struct exclusions *x, uint32_t domain, uint32_t partition, uint64_t ordinal)
{
	const struct excluded one = {domain, partition, ordinal, ordinal + 1};
	size_t after = upper(x, &one);
	const struct excluded *e;

	if (after == 0)
		return false;
	e = &x->item[after - 1];
	return e->domain == domain && e->partition == partition && ordinal < e->end;
}

uint64_t
mixer_excluded_count(
    const struct exclusions *x, uint32_t domain, const uint64_t *sequences, size_t partitions_n)
{
	uint64_t count = 0;

	for (size_t i = 0; i < x->n; i++) {
		const struct excluded *e = &x->item[i];
		uint64_t end;

		if (e->domain != domain || e->partition >= partitions_n)
			continue;
		end = e->end < sequences[e->partition] ? e->end : sequences[e->partition];
		count += end > e->first ? end - e->first : 0;
	}
	return count;
}

enum fail_code
mixer_exclude_copy(struct exclusions *to, const struct exclusions *from, struct failure *f)
{
	struct excluded *item = NULL;

	if (from->n > 0) {
		item = malloc(from->n * sizeof(*item));
		if (item == NULL)
			return fail_memory(f);
		memcpy(item, from->item, from->n * sizeof(*item));
	}
	mixer_exclude_clear(to);
	*to = (struct exclusions){item, from->n, from->n};
	return FAIL_NONE;
}

void
mixer_exclude_clear(struct exclusions *x)
{
	free(x->item);
	*x = (struct exclusions){0};
}
