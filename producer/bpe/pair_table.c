#include "producer/bpe/pair_table.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/buffer.h"
#include "producer/bpe/bytes_hash.h"
#include "producer/bpe/table_memory.h"

enum {
	CUTS_AT_ONCE = 16, /* of a token, looked up together */
	PAIRS_AHEAD = 16,  /* a line is sent for so many pairs before one is put there */
};

_Static_assert(VOCABULARY_IDS_MAX == 1 << 21, "an id has 21 bits");

/* Pairs as they are found; their number is known at the end only. */
struct pair {
	uint32_t left, right, rank;
};

struct pairs {
	struct pair *pair;
	size_t n, room;
};

/* ---- the pairs of a vocabulary: every way to cut a token into two ---- */

static enum fail_code
push(struct pairs *p, uint32_t left, uint32_t right, uint32_t rank, struct failure *f)
{
	if (buffer_reserve_items(&p->pair, &p->room, p->n + 1, sizeof(*p->pair), f) != FAIL_NONE)
		return f->code;
	p->pair[p->n++] = (struct pair){left, right, rank};
	return FAIL_NONE;
}

/*
 * Cuts the token at each place of [first, end), and keeps the pairs whose both parts are tokens.
 * Three passes, so that what one reads was sent for in the one before; the right part is looked for
 * only where the left one is a token, as about every second is.
 */
static enum fail_code
cut_between(struct pairs *p, const struct vocabulary *v, uint32_t id, size_t first, size_t end,
    struct failure *f)
{
	uint64_t left_hash[CUTS_AT_ONCE], right_hash[CUTS_AT_ONCE];
	uint32_t left[CUTS_AT_ONCE];
	size_t n;
	const uint8_t *token = vocabulary_token(v, id, &n), *last = vocabulary_end(v);

	assert(first > 0);
	assert(end <= n);
	assert(end - first <= CUTS_AT_ONCE);
	for (size_t at = first; at < end; at++) {
		left_hash[at - first] = bytes_hash_within(token, at, last);
		vocabulary_prefetch(v, left_hash[at - first]);
	}
	for (size_t at = first; at < end; at++) {
		left[at - first] = vocabulary_find_hashed(v, left_hash[at - first], token, at);
		if (left[at - first] == VOCABULARY_NONE)
			continue;
		right_hash[at - first] = bytes_hash_within(token + at, n - at, last);
		vocabulary_prefetch(v, right_hash[at - first]);
	}
	for (size_t at = first; at < end; at++) {
		uint32_t right;

		if (left[at - first] == VOCABULARY_NONE)
			continue;
		right = vocabulary_find_hashed(v, right_hash[at - first], token + at, n - at);
		if (right != VOCABULARY_NONE &&
		    push(p, left[at - first], right, id, f) != FAIL_NONE)
			return f->code;
	}
	return FAIL_NONE;
}

/* Finds all pairs that merge to the token `id`. */
static enum fail_code
cut(struct pairs *p, const struct vocabulary *v, uint32_t id, struct failure *f)
{
	size_t n;

	vocabulary_token(v, id, &n);
	for (size_t first = 1, end; first < n; first = end) {
		end = n - first < CUTS_AT_ONCE ? n : first + CUTS_AT_ONCE;
		if (cut_between(p, v, id, first, end, f) != FAIL_NONE)
			return f->code;
	}
	return FAIL_NONE;
}

/* ---- the large table ---- */

static size_t
next_line(const struct pair_table *t, size_t at)
{
	return (at + 1) & (((size_t)1 << (PAIR_BITS - t->shift)) - 1);
}

uint32_t
pair_table_search(const struct pair_table *t, uint64_t hash)
{
	for (size_t at = hash >> t->shift;; at = next_line(t, at)) {
		const struct pair_line *l = &t->line[at];

		for (unsigned equal = pair_line_equal(l, (uint32_t)hash); equal != 0;
		     equal &= equal - 1) {
			uint32_t rank = l->rank[__builtin_ctz(equal)];

			if (rank >> PAIR_RANK_BITS == pair_line_mark(hash))
				return rank & (VOCABULARY_IDS_MAX - 1);
		}
		if (l->rank[PAIR_LINE_MAX - 1] == 0)
			return VOCABULARY_NONE;
	}
}

/* For a pair that is not there. A line with room is found, as half of all places are free. */
static void
put(struct pair_table *t, uint64_t hash, uint32_t rank)
{
	struct pair_line *l;
	size_t at = hash >> t->shift, i = 0;

	assert(rank < VOCABULARY_IDS_MAX);
	while ((l = &t->line[at])->rank[PAIR_LINE_MAX - 1] != 0)
		at = next_line(t, at);
	while (l->rank[i] != 0)
		i++;
	l->tag[i] = (uint32_t)hash;
	l->rank[i] = pair_line_mark(hash) << PAIR_RANK_BITS | rank;
}

static uint64_t
hash_of(const struct pair *p)
{
	return pair_hash(p->left, p->right);
}

/* Opens the table and puts the pairs into it. Of equal pairs the first counts. */
static enum fail_code
place(struct pair_table *t, const struct pairs *p, struct failure *f)
{
	unsigned bits = 1;

	while ((size_t)PAIR_LINE_MAX << bits < p->n * 2)
		bits++;
	t->shift = PAIR_BITS - bits;
	t->line = table_memory(sizeof(*t->line) << bits);
	if (t->line == NULL)
		return fail_memory(f);
	for (size_t i = 0; i < p->n; i++) {
		uint64_t hash = hash_of(&p->pair[i]);

		if (i + PAIRS_AHEAD < p->n)
			__builtin_prefetch(
			    &t->line[hash_of(&p->pair[i + PAIRS_AHEAD]) >> t->shift], 1);
		if (pair_table_search(t, hash) == VOCABULARY_NONE)
			put(t, hash, p->pair[i].rank);
	}
	return FAIL_NONE;
}

/* ---- what is known of two bytes ---- */

/*
 * The bytes of a token, as far as pair_bytes depends on them: the first, the last, and how many, up
 * to 3 for more. n 0: not known, as of an unknown token or one that no merge gives.
 */
struct shape {
	uint8_t first, last, n;
};

static void
set_rank(struct pair_bytes *b, uint32_t rank)
{
	*b = (struct pair_bytes){rank, VOCABULARY_NONE, VOCABULARY_NONE, VOCABULARY_NONE};
}

static void
lower(uint32_t *rank, uint32_t other)
{
	if (other < *rank)
		*rank = other;
}

static struct pair_bytes *
bytes_of(struct pair_table *t, uint8_t first, uint8_t second)
{
	return &t->bytes[(size_t)first << 8 | second];
}

/*
 * Adds what one merge tells. While this goes on, `merged` of two bytes holds the lowest rank of the
 * merges that take their token as a part; learn() turns it into what pair_table.h promises.
 */
static void
learn_merge(
    struct pair_table *t, const struct shape *left, const struct shape *right, uint32_t rank)
{
	if (right->n == 1)
		lower(&bytes_of(t, left->last, right->first)->ends, rank);
	if (left->n == 1)
		lower(&bytes_of(t, left->first, right->first)->begins, rank);
	if (left->n == 2)
		lower(&bytes_of(t, left->first, left->last)->merged, rank);
	if (right->n == 2)
		lower(&bytes_of(t, right->first, right->last)->merged, rank);
}

/* Fills the rest of t->bytes; where a token's bytes are not known no pair may merge ahead. */
static void
learn(struct pair_table *t, const struct pairs *p, const struct shape *shape)
{
	bool known = true;

	for (size_t i = 0; i < p->n; i++) {
		const struct shape *left = &shape[p->pair[i].left];
		const struct shape *right = &shape[p->pair[i].right];

		known = known && left->n > 0 && right->n > 0;
		if (known)
			learn_merge(t, left, right, p->pair[i].rank);
	}
	for (size_t i = 0; i < sizeof(t->bytes) / sizeof(t->bytes[0]); i++) {
		struct pair_bytes *b = &t->bytes[i];

		b->merged = known && b->rank != VOCABULARY_NONE && b->rank < b->merged
				? pair_table_result(t, b->rank)
				: VOCABULARY_NONE;
	}
}

/* Gives [ids] shapes, to be freed; NULL: no memory. */
static struct shape *
shapes_of(const struct vocabulary *v)
{
	struct shape *shape = calloc((size_t)v->ids + 1, sizeof(*shape));

	for (uint32_t id = 0; shape != NULL && id < v->ids; id++) {
		size_t n;
		const uint8_t *token = vocabulary_token(v, id, &n);

		if (n > 0)
			shape[id] =
			    (struct shape){token[0], token[n - 1], (uint8_t)(n < 3 ? n : 3)};
	}
	return shape;
}

/* The same for a list of merges: a token has the bytes of the two that it is made of. */
static struct shape *
shapes_of_merges(const struct pair_table *t, const struct pair_merge *merge, uint32_t merges_n)
{
	struct shape *shape = calloc(VOCABULARY_IDS_MAX, sizeof(*shape));

	for (unsigned i = 0; shape != NULL && i < 256; i++)
		if (t->byte[i] != VOCABULARY_NONE)
			shape[t->byte[i]] = (struct shape){(uint8_t)i, (uint8_t)i, 1};
	for (uint32_t i = 0; shape != NULL && i < merges_n; i++) {
		const struct shape *left = &shape[merge[i].left], *right = &shape[merge[i].right];
		unsigned n = left->n + right->n;

		if (left->n > 0 && right->n > 0)
			shape[merge[i].result] =
			    (struct shape){left->first, right->last, (uint8_t)(n < 3 ? n : 3)};
	}
	return shape;
}

static void
fill_bytes(struct pair_table *t, const struct vocabulary *v)
{
	for (unsigned i = 0; i < 256; i++) {
		t->byte[i] = vocabulary_find(v, &(uint8_t){(uint8_t)i}, 1);
		assert(t->byte[i] != VOCABULARY_NONE);
	}
	for (unsigned i = 0; i < 256 * 256; i++)
		set_rank(&t->bytes[i],
		    vocabulary_find(v, (uint8_t[]){(uint8_t)(i >> 8), (uint8_t)i}, 2));
}

enum fail_code
pair_table_open(struct pair_table *t, const struct vocabulary *v, struct failure *f)
{
	struct pairs p = {NULL, 0, 0};
	struct shape *shape = shapes_of(v);
	enum fail_code code = shape == NULL ? fail_memory(f) : FAIL_NONE;

	assert(t->line == NULL);
	t->ranks = v->ids;
	fill_bytes(t, v);
	for (uint32_t id = 0; id < v->ids && code == FAIL_NONE; id++)
		code = cut(&p, v, id, f);
	if (code == FAIL_NONE)
		code = place(t, &p, f);
	if (code == FAIL_NONE)
		learn(t, &p, shape);
	free(shape);
	free(p.pair);
	return code;
}

static void
fill_bytes_of_merges(struct pair_table *t, const uint32_t *byte)
{
	memcpy(t->byte, byte, sizeof(t->byte));
	for (unsigned i = 0; i < 256 * 256; i++) {
		uint32_t left = byte[i >> 8], right = byte[i & 0xFF];

		set_rank(&t->bytes[i], left == VOCABULARY_NONE || right == VOCABULARY_NONE
					   ? VOCABULARY_NONE
					   : pair_table_find(t, left, right));
	}
}

/*
 * From the last merge on, as place() keeps the first of equal pairs and here the last one counts.
 * 
 */
static enum fail_code
place_merges(struct pair_table *t, const struct pair_merge *merge, uint32_t merges_n,
    const uint32_t *byte, struct failure *f)
{
	struct pairs all = {NULL, 0, 0};
	struct shape *shape = NULL;
	enum fail_code code = FAIL_NONE;

	for (uint32_t i = merges_n; i > 0 && code == FAIL_NONE; i--)
		code = push(&all, merge[i - 1].left, merge[i - 1].right, i - 1, f);
	if (code == FAIL_NONE)
		code = place(t, &all, f);
	if (code == FAIL_NONE) {
		fill_bytes_of_merges(t, byte);
		shape = shapes_of_merges(t, merge, merges_n);
		if (shape == NULL)
			code = fail_memory(f);
	}
	if (code == FAIL_NONE)
		learn(t, &all, shape);
	free(shape);
	free(all.pair);
	return code;
}

enum fail_code
pair_table_open_merges(struct pair_table *t, const struct pair_merge *merge, uint32_t merges_n,
    const uint32_t *byte, struct failure *f)
{
	assert(t->line == NULL);
	assert(merges_n <= VOCABULARY_IDS_MAX);
	t->ranks = merges_n;
	t->result = malloc(((size_t)merges_n + 1) * sizeof(*t->result));
	if (t->result == NULL)
		return fail_memory(f);
	for (uint32_t i = 0; i < merges_n; i++)
		t->result[i] = merge[i].result;
	return place_merges(t, merge, merges_n, byte, f);
}

void
pair_table_close(struct pair_table *t)
{
	if (t->line != NULL)
		table_memory_free(t->line, sizeof(*t->line) << (PAIR_BITS - t->shift));
	free(t->result);
	t->line = NULL;
	t->result = NULL;
}
