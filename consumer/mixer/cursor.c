#include "consumer/mixer/cursor.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/schedule/permutation.h"

/* ---- opening and closing ---- */

void
cursor_close(struct cursor *c)
{
	free(c->sequences);
	free(c->sequences_next);
	free(c->sealed);
	free(c->taken);
	free(c->taken_kept);
	order_close(c->order);
	order_close(c->order_next);
	*c = (struct cursor){0};
}

/* Memory for the partitions of a cursor that has none yet; zeroed. */
static enum fail_code
allocate(struct cursor *c, size_t partitions_n, struct failure *f)
{
	c->partitions_n = partitions_n;
	c->sequences = calloc(partitions_n, sizeof(*c->sequences));
	c->sequences_next = calloc(partitions_n, sizeof(*c->sequences_next));
	c->sealed = calloc(partitions_n, sizeof(*c->sealed));
	c->taken = calloc(partitions_n, sizeof(*c->taken));
	c->taken_kept = calloc(partitions_n, sizeof(*c->taken_kept));
	if (c->sequences == NULL || c->sequences_next == NULL || c->sealed == NULL ||
	    c->taken == NULL || c->taken_kept == NULL)
		return fail_memory(f);
	return FAIL_NONE;
}

/* Replaces *order by that of other lengths. FAIL_MEMORY: *order is as before. */
static enum fail_code
reopen(const struct cursor *c, struct order **order, const uint64_t *sequences, struct failure *f)
{
	struct order *fresh;

	if (order_open(&fresh, sequences, c->partitions_n, &c->rule, c->key, f) != FAIL_NONE)
		return f->code;
	order_close(*order);
	*order = fresh;
	return FAIL_NONE;
}

/* Derives all_sealed, grows and the orders from the lengths. */
static enum fail_code
derive(struct cursor *c, struct failure *f)
{
	c->all_sealed = true;
	c->grows = false;
	for (size_t p = 0; p < c->partitions_n; p++) {
		assert(c->sequences_next[p] >= c->sequences[p]);
		c->all_sealed = c->all_sealed && c->sealed[p];
		c->grows = c->grows || c->sequences_next[p] != c->sequences[p];
	}
	c->window_order = NULL;
	c->deal.known = false;
	if (!c->all_sealed)
		return FAIL_NONE;
	if (reopen(c, &c->order, c->sequences, f) != FAIL_NONE)
		return f->code;
	if (c->grows)
		return reopen(c, &c->order_next, c->sequences_next, f);
	order_close(c->order_next);
	c->order_next = NULL;
	return FAIL_NONE;
}

enum fail_code
cursor_open(struct cursor *c, const struct mixer_source *s, uint64_t seed, uint32_t block,
    uint32_t window, struct failure *f)
{
	assert(names_valid(s->name));
	assert(s->partitions_n >= 1 && s->partitions_n <= ORDER_PARTITIONS_MAX);
	*c = (struct cursor){.live = s->live, .rule = {s->shuffle, block, window}};
	memcpy(c->name, s->name, strlen(s->name) + 1);
	c->key = permutation_key(s->name, seed);
	cursor_set_rules(c, s);
	if (allocate(c, s->partitions_n, f) != FAIL_NONE)
		goto failed;
	for (size_t p = 0; p < s->partitions_n; p++) {
		c->sequences[p] = c->sequences_next[p] = s->sequences[p];
		c->sealed[p] = !s->live || (s->sealed != NULL && s->sealed[p]);
	}
	if (derive(c, f) != FAIL_NONE)
		goto failed;
	return FAIL_NONE;
failed:
	cursor_close(c);
	return f->code;
}

enum fail_code
cursor_copy(struct cursor *to, const struct cursor *from, struct failure *f)
{
	size_t n = from->partitions_n;

	*to = *from;
	to->order = to->order_next = NULL;
	to->window_order = NULL;
	if (allocate(to, n, f) != FAIL_NONE)
		goto failed;
	memcpy(to->sequences, from->sequences, n * sizeof(*to->sequences));
	memcpy(to->sequences_next, from->sequences_next, n * sizeof(*to->sequences_next));
	memcpy(to->sealed, from->sealed, n * sizeof(*to->sealed));
	memcpy(to->taken, from->taken, n * sizeof(*to->taken));
	if (derive(to, f) != FAIL_NONE)
		goto failed;
	return FAIL_NONE;
failed:
	cursor_close(to);
	return f->code;
}

void
cursor_set_rules(struct cursor *c, const struct mixer_source *s)
{
	c->on_end = s->on_end;
	c->max_epochs = s->max_epochs;
	c->short_ones = s->short_ones;
}

enum fail_code
cursor_restore(struct cursor *c, const struct cursor_place *place, const uint64_t *taken,
    const uint64_t *sequences_next, struct failure *f)
{
	c->place = *place;
	memcpy(c->taken, taken, c->partitions_n * sizeof(*taken));
	memcpy(c->sequences_next, sequences_next, c->partitions_n * sizeof(*sequences_next));
	return derive(c, f);
}

/* ---- where it stands ---- */

bool
cursor_deals(const struct cursor *c)
{
	return c->live && c->place.epoch == 0;
}

uint64_t
cursor_passes(const struct cursor *c)
{
	if (c->max_epochs != 0)
		return c->max_epochs;
	return c->on_end == MIX_END_REPEAT ? UINT64_MAX : 1;
}

static struct order *
order_of(const struct cursor *c)
{
	return c->place.extended ? c->order_next : c->order;
}

uint64_t
cursor_length(const struct cursor *c)
{
	uint64_t sum = 0;

	if (!cursor_deals(c))
		return order_length(order_of(c));
	for (size_t p = 0; p < c->partitions_n; p++)
		sum += c->sequences[p];
	return sum;
}

/* ---- dealing: the rounds over the partitions of a live domain ---- */

/* Sequences that partition p will have, as far as is known. */
static uint64_t
end_of(const struct cursor *c, size_t p)
{
	return c->sealed[p] ? c->sequences[p] : UINT64_MAX;
}

/* Sequences dealt in the first `rounds` rounds. */
static uint64_t
dealt(const struct cursor *c, uint64_t rounds)
{
	uint64_t sum = 0;

	for (size_t p = 0; p < c->partitions_n; p++)
		sum += end_of(c, p) < rounds ? end_of(c, p) : rounds;
	return sum;
}

/*
 * Moves the dealing to the first partition that takes part, from `partition` of `round` on. False:
 * all have ended. One lap is enough: who takes part in no round of it takes part in none.
 */
static bool
deal_next(struct cursor *c, uint64_t round, size_t partition)
{
	for (size_t passed = 0; passed <= c->partitions_n; passed++, partition++) {
		if (partition == c->partitions_n) {
			partition = 0;
			round++;
		}
		if (end_of(c, partition) > round) {
			c->deal.round = round;
			c->deal.partition = partition;
			return true;
		}
	}
	return false;
}

/*
 * Moves the dealing to any position. dealt() grows with its rounds, so the last round that starts
 * at or before the position is found by halving; the rest is counted from its first partition on.
 */
static bool
deal_seek(struct cursor *c, uint64_t position)
{
	uint64_t low = 0, high = position + 1, behind;

	if (c->all_sealed && position >= dealt(c, UINT64_MAX))
		return false;
	while (low + 1 < high) {
		uint64_t middle = low + (high - low) / 2;

		if (dealt(c, middle) <= position)
			low = middle;
		else
			high = middle;
	}
	behind = position - dealt(c, low);
	if (!deal_next(c, low, 0))
		return false;
	for (; behind > 0; behind--)
		if (!deal_next(c, c->deal.round, c->deal.partition + 1))
			return false;
	return true;
}

/*
 * What stands at the cursor of a domain that deals, as c->deal; CURSOR_EXHAUSTED: all have ended.
 */
static enum cursor_taken
deal(struct cursor *c)
{
	uint64_t position = c->place.position;
	bool found;

	assert(cursor_deals(c));
	if (c->deal.known && c->deal.position + 1 == position)
		found = deal_next(c, c->deal.round, c->deal.partition + 1);
	else
		found = (c->deal.known && c->deal.position == position) || deal_seek(c, position);
	c->deal.known = found;
	c->deal.position = position;
	if (!found)
		return CURSOR_EXHAUSTED;
	return c->deal.round < c->sequences[c->deal.partition] ? CURSOR_TAKEN : CURSOR_DRY;
}

bool
cursor_is_dry(struct cursor *c)
{
	return cursor_deals(c) && deal(c) == CURSOR_DRY;
}

/* ---- the next sequence ---- */

bool
cursor_position_of(struct cursor *c, uint32_t partition, uint64_t ordinal, uint64_t *position)
{
	const uint64_t *sequences = c->place.extended ? c->sequences_next : c->sequences;

	if (partition >= c->partitions_n || ordinal >= sequences[partition])
		return false;
	if (cursor_deals(c)) {
		*position = dealt(c, ordinal);
		for (size_t p = 0; p < partition; p++)
			*position += end_of(c, p) > ordinal;
		return true;
	}
	order_restart(order_of(c), c->place.epoch);
	c->window_order = NULL; /* a draw computes the order of its window again */
	*position = order_position_of(order_of(c), partition, ordinal);
	return true;
}

/* The place in the rounds of a domain that deals; what is missing has a block, too. */
static void
dealt_place(const struct cursor *c, struct mixer_draw *draw)
{
	uint64_t ordinal = c->deal.round, length = c->sequences[c->deal.partition], rest;

	draw->partition = (uint32_t)c->deal.partition;
	draw->ordinal = ordinal;
	draw->block_first = ordinal - ordinal % c->rule.block;
	rest = length > draw->block_first ? length - draw->block_first : 0;
	draw->block_count = rest < c->rule.block ? (uint32_t)rest : c->rule.block;
}

/* The place in the epoch's order. Brings order and window to where the cursor stands. */
static void
ordered_place(struct cursor *c, struct mixer_draw *draw)
{
	struct order *o = order_of(c);
	struct order_window *w = &c->window;
	uint64_t position = c->place.position;
	struct order_place at;

	if (c->window_order != o || c->window_epoch != c->place.epoch) {
		order_restart(o, c->place.epoch);
		c->window_order = o;
		c->window_epoch = c->place.epoch;
		w->count = 0;
	}
	assert(position < order_length(o));
	if (position < w->first || position - w->first >= w->count)
		order_window_at(o, position, w);
	at = order_place_at(o, w, position);
	draw->partition = at.block.partition;
	draw->ordinal = at.ordinal;
	draw->block_first = at.block.first;
	draw->block_count = at.block.count;
}

/* What stands at the cursor, excluded or not; begins the next epoch where this one is used up. */
static enum cursor_taken
look(struct cursor *c, struct mixer_draw *draw)
{
	if (cursor_deals(c)) {
		enum cursor_taken there = deal(c);

		draw->epoch = 0;
		if (there != CURSOR_EXHAUSTED) {
			dealt_place(c, draw);
			return there;
		}
	}
	if (cursor_deals(c) || c->place.position == cursor_length(c)) {
		if (c->place.epoch + 1 >= cursor_passes(c) || cursor_length(c) == 0)
			return CURSOR_EXHAUSTED;
		c->place.epoch++;
		c->place.position = 0;
		c->place.extended = c->grows;
		memset(c->taken, 0, c->partitions_n * sizeof(*c->taken));
	}
	draw->epoch = c->place.epoch;
	ordered_place(c, draw);
	return CURSOR_TAKEN;
}

enum cursor_taken
cursor_take(struct cursor *c, const struct exclusions *x, uint32_t domain, struct mixer_draw *draw)
{
	uint64_t passed = 0;

	for (;;) {
		enum cursor_taken there;

		draw->domain = domain;
		there = look(c, draw);
		if (there != CURSOR_TAKEN)
			return there;
		if (!exclusions_has(x, domain, draw->partition, draw->ordinal))
			break;
		/* Twice its length: the rest of this epoch and all of the next one. */
		if (passed++ / 2 > cursor_length(c))
			return CURSOR_NOTHING_LEFT;
		c->place.position++;
	}
	c->place.position++;
	c->place.taken++;
	c->taken[draw->partition]++;
	return CURSOR_TAKEN;
}

/* ---- lengths that grow ---- */

enum fail_code
cursor_check_lengths(
    const struct cursor *c, const uint64_t *sequences, const bool *sealed, struct failure *f)
{
	for (size_t p = 0; p < c->partitions_n; p++) {
		uint64_t least = c->sealed[p] ? c->sequences_next[p] : c->sequences[p];

		if (sequences[p] < least && (!c->sealed[p] || sealed[p]))
			return fail(f, FAIL_DATA,
			    "domain %s partition %zu: the mix counts with %llu sequences, the "
			    "topic holds %llu",
			    c->name, p, (unsigned long long)least,
			    (unsigned long long)sequences[p]);
	}
	return FAIL_NONE;
}

enum fail_code
cursor_set_lengths(
    struct cursor *c, const uint64_t *sequences, const bool *sealed, struct failure *f)
{
	bool changed = false;

	assert(!c->place.extended); /* cursor_settle() came first */
	for (size_t p = 0; p < c->partitions_n; p++) {
		bool was = c->sealed[p];

		/* A sealed partition that is open again is being extended: wait for its End. */
		if ((was && !sealed[p]) ||
		    (was == sealed[p] && sequences[p] == c->sequences_next[p]))
			continue;
		changed = true;
		c->sequences_next[p] = sequences[p];
		if (!was)
			c->sequences[p] = sequences[p];
		c->sealed[p] = sealed[p];
	}
	return changed ? derive(c, f) : FAIL_NONE;
}

/* ---- undo ---- */

void
cursor_keep(struct cursor *c)
{
	c->kept = c->place;
	memcpy(c->taken_kept, c->taken, c->partitions_n * sizeof(*c->taken));
}

void
cursor_undo(struct cursor *c)
{
	c->place = c->kept;
	memcpy(c->taken, c->taken_kept, c->partitions_n * sizeof(*c->taken));
}

void
cursor_settle(struct cursor *c)
{
	if (!c->place.extended)
		return;
	assert(c->grows && c->order_next != NULL);
	c->place.extended = false;
	memcpy(c->sequences, c->sequences_next, c->partitions_n * sizeof(*c->sequences));
	order_close(c->order);
	c->order = c->order_next;
	c->order_next = NULL;
	c->grows = false;
	/* The window stays: it is of the order that is now the first. */
}
