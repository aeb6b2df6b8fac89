#include "consumer/mixer/exclusions.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buffer.h"

void
exclusions_close(struct exclusions *x)
{
	for (size_t i = 0; i < x->quarantined_n; i++)
		free(x->quarantined[i].reason);
	free(x->quarantined);
	free(x->skip);
	free(x->kept);
	free(x->item);
	*x = (struct exclusions){0};
}

/* Room for an item a range, with one more that comes: so building the index again cannot fail. */
static size_t
ranges_max(const struct exclusions *x)
{
	size_t skips = x->changed && x->kept_n > x->skips_n ? x->kept_n : x->skips_n;

	return skips + x->quarantined_n + 1;
}

enum fail_code
exclusions_copy(struct exclusions *to, const struct exclusions *from, struct failure *f)
{
	assert(to->skips_n == 0 && to->quarantined_n == 0 && to->items_n == 0);
	to->skip = calloc(from->skips_n + 1, sizeof(*to->skip));
	to->quarantined = calloc(from->quarantined_n + 1, sizeof(*to->quarantined));
	to->items_room = ranges_max(from);
	to->item = calloc(to->items_room, sizeof(*to->item));
	if (to->skip == NULL || to->quarantined == NULL || to->item == NULL)
		return fail_memory(f);
	for (; to->skips_n < from->skips_n; to->skips_n++)
		to->skip[to->skips_n] = from->skip[to->skips_n];
	for (; to->quarantined_n < from->quarantined_n; to->quarantined_n++) {
		struct ledger_quarantined *q = &to->quarantined[to->quarantined_n];

		*q = from->quarantined[to->quarantined_n];
		q->reason = strdup(q->reason);
		if (q->reason == NULL)
			return fail_memory(f);
	}
	assert(from->items_n <= to->items_room);
	for (; to->items_n < from->items_n; to->items_n++)
		to->item[to->items_n] = from->item[to->items_n];
	memcpy(to->touched, from->touched, sizeof(to->touched));
	return FAIL_NONE;
}

/* ---- the index ---- */

/* Whether a begins before b in the order of the index. */
static bool
before(const struct exclusions_range *a, const struct exclusions_range *b)
{
	if (a->domain != b->domain)
		return a->domain < b->domain;
	if (a->partition != b->partition)
		return a->partition < b->partition;
	return a->first < b->first;
}

/* How many items begin at or before `range`. */
static size_t
upper(const struct exclusions *x, const struct exclusions_range *range)
{
	size_t low = 0, high = x->items_n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (before(range, &x->item[middle]))
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* Whether two ranges overlap or touch, so that one item can stand for both. */
static bool
joins(const struct exclusions_range *a, const struct exclusions_range *b)
{
	return a->domain == b->domain && a->partition == b->partition && a->first <= b->end &&
	       b->first <= a->end;
}

/*
 * Adds a range to the index. Items that it overlaps or touches become one item with it:
 *
 *     items 0..10 20..30 40..50, new 10..35   ->   0..35 40..50
 */
static void
index_add(struct exclusions *x, const struct exclusions_range *range)
{
	struct exclusions_range all = *range;
	size_t from, to;

	assert(range->first < range->end);
	assert(range->domain < LIMIT_DOMAINS);
	assert(x->items_n < x->items_room); /* index_reserve() */
	from = upper(x, range);
	if (from > 0 && joins(&x->item[from - 1], range))
		from--;
	for (to = from; to < x->items_n && joins(&x->item[to], &all); to++) {
		const struct exclusions_range *one = &x->item[to];

		all.first = one->first < all.first ? one->first : all.first;
		all.end = one->end > all.end ? one->end : all.end;
	}
	memmove(x->item + from + 1, x->item + to, (x->items_n - to) * sizeof(*x->item));
	x->items_n = x->items_n - (to - from) + 1;
	x->item[from] = all;
	x->touched[range->domain / 64] |= UINT64_C(1) << range->domain % 64;
}

/* Makes room in the index for the lists and `more` ranges. FAIL_MEMORY: nothing was changed. */
static enum fail_code
index_reserve(struct exclusions *x, size_t more, struct failure *f)
{
	return buffer_reserve_items(
	    &x->item, &x->items_room, ranges_max(x) + more, sizeof(*x->item), f);
}

static struct exclusions_range
range_of(const struct ledger_skip *s)
{
	return (struct exclusions_range){
	    s->domain, s->partition, (uint64_t)s->first, (uint64_t)s->end};
}

/* The index, from the lists. */
static void
index_build(struct exclusions *x)
{
	x->items_n = 0;
	memset(x->touched, 0, sizeof(x->touched));
	for (size_t i = 0; i < x->skips_n; i++) {
		const struct exclusions_range range = range_of(&x->skip[i]);

		index_add(x, &range);
	}
	for (size_t i = 0; i < x->quarantined_n; i++) {
		const struct ledger_quarantined *q = &x->quarantined[i];

		index_add(x, &(struct exclusions_range){q->domain, q->partition,
				 (uint64_t)q->ordinal, (uint64_t)q->ordinal + 1});
	}
}

bool
exclusions_has(const struct exclusions *x, uint32_t domain, uint32_t partition, uint64_t ordinal)
{
	const struct exclusions_range one = {domain, partition, ordinal, ordinal + 1};
	const struct exclusions_range *last;
	size_t after;

	assert(domain < LIMIT_DOMAINS);
	if ((x->touched[domain / 64] >> domain % 64 & 1) == 0)
		return false;
	after = upper(x, &one);
	if (after == 0)
		return false;
	last = &x->item[after - 1]; /* the only one that can hold it: items are disjoint */
	return last->domain == domain && last->partition == partition && ordinal < last->end;
}

uint64_t
exclusions_count(
    const struct exclusions *x, uint32_t domain, const uint64_t *sequences, size_t partitions_n)
{
	uint64_t count = 0;

	for (size_t i = 0; i < x->items_n; i++) {
		const struct exclusions_range *e = &x->item[i];
		uint64_t end;

		if (e->domain != domain || e->partition >= partitions_n)
			continue;
		end = e->end < sequences[e->partition] ? e->end : sequences[e->partition];
		count += end > e->first ? end - e->first : 0;
	}
	return count;
}

/* ---- the lists ---- */

/* Keeps the skips as they were before the step, once a step. */
static enum fail_code
keep_skips(struct exclusions *x, struct failure *f)
{
	struct ledger_skip *kept;

	if (x->changed)
		return FAIL_NONE;
	kept = calloc(x->skips_n + 1, sizeof(*kept));
	if (kept == NULL)
		return fail_memory(f);
	for (size_t i = 0; i < x->skips_n; i++)
		kept[i] = x->skip[i];
	free(x->kept);
	x->kept = kept;
	x->kept_n = x->skips_n;
	x->changed = true;
	return FAIL_NONE;
}

enum fail_code
exclusions_skip(struct exclusions *x, const struct ledger_skip *s, struct failure *f)
{
	const struct exclusions_range range = range_of(s);

	assert(s->first >= 0 && s->first < s->end);
	if (buffer_resize_items(&x->skip, x->skips_n + 1, sizeof(*x->skip), f) != FAIL_NONE)
		return f->code;
	if (keep_skips(x, f) != FAIL_NONE || index_reserve(x, 1, f) != FAIL_NONE)
		return f->code;
	index_add(x, &range);
	x->skip[x->skips_n++] = *s;
	return FAIL_NONE;
}

static bool
overlaps(const struct ledger_skip *a, const struct ledger_skip *b)
{
	return a->domain == b->domain && a->partition == b->partition && a->first < b->end &&
	       b->first < a->end;
}

/*
 *     skips 0..10 20..30, taken back 5..7   ->   0..5 7..10 20..30
 */
enum fail_code
exclusions_unskip(struct exclusions *x, const struct ledger_skip *s, struct failure *f)
{
	struct ledger_skip *left = calloc(2 * x->skips_n + 1, sizeof(*left));
	size_t n = 0;

	assert(s->first >= 0 && s->first < s->end);
	if (left == NULL)
		return fail_memory(f);
	for (size_t i = 0; i < x->skips_n; i++) {
		struct ledger_skip below = x->skip[i], above = x->skip[i];

		if (!overlaps(&x->skip[i], s)) {
			left[n++] = x->skip[i];
			continue;
		}
		below.end = s->first;
		above.first = s->end;
		if (below.first < below.end)
			left[n++] = below;
		if (above.first < above.end)
			left[n++] = above;
	}
	if (keep_skips(x, f) != FAIL_NONE || index_reserve(x, n, f) != FAIL_NONE) {
		free(left);
		return f->code;
	}
	free(x->skip);
	x->skip = left;
	x->skips_n = n;
	index_build(x);
	return FAIL_NONE;
}

struct exclusions_within
exclusions_within(const struct exclusions *x, const struct ledger_skip *s)
{
	struct exclusions_within w = {0};

	for (size_t i = 0; i < x->skips_n; i++)
		w.skipped = w.skipped || overlaps(&x->skip[i], s);
	for (size_t i = 0; i < x->items_n; i++) {
		const struct exclusions_range *e = &x->item[i];
		uint64_t first = (uint64_t)s->first, end = (uint64_t)s->end;

		if (e->domain != s->domain || e->partition != s->partition)
			continue;
		first = e->first > first ? e->first : first;
		end = e->end < end ? e->end : end;
		w.alone += end > first ? end - first : 0;
	}
	for (size_t i = 0; i < x->quarantined_n; i++) {
		const struct ledger_quarantined *q = &x->quarantined[i];

		if (q->domain == s->domain && q->partition == s->partition &&
		    q->ordinal >= s->first && q->ordinal < s->end)
			w.quarantined++;
	}
	assert(w.alone >= w.quarantined);
	w.alone -= w.quarantined; /* the index holds both */
	return w;
}

enum fail_code
exclusions_quarantine(struct exclusions *x, uint32_t domain, uint32_t partition, uint64_t ordinal,
    const char *reason, struct failure *f)
{
	const struct exclusions_range range = {domain, partition, ordinal, ordinal + 1};
	struct ledger_quarantined *q;

	for (size_t i = 0; i < x->quarantined_n; i++) {
		q = &x->quarantined[i];
		if (q->domain == domain && q->partition == partition &&
		    (uint64_t)q->ordinal == ordinal)
			return FAIL_NONE;
	}
	if (x->quarantined_n == LEDGER_QUARANTINED_MAX)
		return fail(f, FAIL_DATA,
		    "more than %d sequences are quarantined: the domain topics are damaged",
		    LEDGER_QUARANTINED_MAX);
	if (buffer_resize_items(&x->quarantined, x->quarantined_n + 1, sizeof(*q), f) != FAIL_NONE)
		return f->code;
	q = &x->quarantined[x->quarantined_n];
	*q = (struct ledger_quarantined){
	    .domain = domain, .partition = partition, .ordinal = (int64_t)ordinal};
	q->reason = strdup(reason);
	if (q->reason == NULL || index_reserve(x, 1, f) != FAIL_NONE) {
		free(q->reason);
		return fail_memory(f);
	}
	index_add(x, &range);
	x->quarantined_n++;
	return FAIL_NONE;
}

void
exclusions_keep(struct exclusions *x)
{
	x->changed = false;
}

void
exclusions_undo(struct exclusions *x)
{
	if (!x->changed)
		return;
	free(x->skip);
	x->skip = x->kept;
	x->skips_n = x->kept_n;
	x->kept = NULL;
	x->kept_n = 0;
	x->changed = false;
	index_build(x);
}
