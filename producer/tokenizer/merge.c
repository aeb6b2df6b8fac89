#include "producer/tokenizer/merge.h"

#include <stdbool.h>
#include <stdlib.h>

#define NONE VOCABULARY_NONE

/* A token of a long piece, at the place of its first byte. */
struct node {
	uint32_t id;
	uint32_t rank; /* of the merge with the next one; NONE: they do not merge, or it is gone */
	uint32_t previous, next; /* places; NONE: there is none */
};

/* A pair that waits in the bucket of its rank; out of date where the node has another rank now. */
struct waiting {
	uint32_t place;
	uint32_t next; /* in the bucket, or among the free ones; NONE: the last */
};

struct bucket {
	uint32_t head, tail; /* NONE: empty */
	bool in_heap, unordered;
};

struct merge_scratch {
	uint32_t ids;
	struct bucket *bucket; /* [ids], there from the first long piece on; by rank */
	uint32_t *heap;        /* [heap_room]: ranks whose bucket is or was not empty */
	size_t heap_n, heap_room;
	struct node *node; /* [node_room] */
	size_t node_room;
	struct waiting *waiting; /* [waiting_room] */
	size_t waiting_n, waiting_room;
	uint32_t waiting_free; /* the first free one below waiting_n */
	uint64_t steps;
};

enum fail_code
merge_scratch_open(struct merge_scratch **out, uint32_t ids, struct failure *f)
{
	*out = calloc(1, sizeof(**out));
	if (*out == NULL)
		return fail_memory(f);
	(*out)->ids = ids;
	return FAIL_NONE;
}

static void
give_back(struct merge_scratch *s)
{
	free(s->node);
	free(s->waiting);
	s->node = NULL;
	s->waiting = NULL;
	s->node_room = 0;
	s->waiting_room = 0;
}

void
merge_scratch_close(struct merge_scratch *s)
{
	if (s == NULL)
		return;
	give_back(s);
	free(s->bucket);
	free(s->heap);
	free(s);
}

uint64_t
merge_scratch_steps(const struct merge_scratch *s)
{
	return s->steps;
}

/*
 * Short pieces: a place each byte has, and a key each place: rank << 8 | place, of the pair that
 * begins there. So the lowest key tells the lowest rank and the leftmost place of it, and keys are
 * compared four at once.
 */
typedef int32_t four __attribute__((vector_size(16)));

enum {
	PLACE_BITS = 8,
	PLACE_END = MERGE_SHORT_MAX, /* behind the last token */
	NO_KEY = INT32_MAX,
};

_Static_assert(MERGE_SHORT_MAX < 1 << PLACE_BITS, "a place has its bits in a key");
_Static_assert((uint64_t)VOCABULARY_IDS_MAX << PLACE_BITS <= INT32_MAX, "and a rank the others");

struct short_piece {
	union {
		four four[MERGE_SHORT_MAX / 4];
		int32_t key[MERGE_SHORT_MAX];
	} keys;
	uint32_t id[MERGE_SHORT_MAX + 1];
	uint8_t previous[MERGE_SHORT_MAX + 1], next[MERGE_SHORT_MAX + 1];
};

static inline four
lower(four a, four b)
{
	four is = a < b;

	return (a & is) | (b & ~is);
}

static inline int32_t
lowest_key(const struct short_piece *s, size_t fours)
{
	four low = s->keys.four[0], other = s->keys.four[1];
	int32_t a, b;

	for (size_t i = 2; i < fours; i += 2) {
		low = lower(low, s->keys.four[i]);
		other = lower(other, s->keys.four[i + 1]);
	}
	low = lower(low, other);
	a = low[0] < low[1] ? low[0] : low[1];
	b = low[2] < low[3] ? low[2] : low[3];
	return a < b ? a : b;
}

static inline int32_t
key_of(uint32_t rank, size_t place)
{
	return rank == NONE ? NO_KEY : (int32_t)(rank << PLACE_BITS | (uint32_t)place);
}

static inline void
lay_out_short(
    struct short_piece *s, const struct pair_table *t, const uint8_t *piece, size_t n, size_t fours)
{
	for (size_t i = n - 1; i < fours * 4; i++)
		s->keys.key[i] = NO_KEY;
	for (size_t i = 0; i < n; i++) {
		s->id[i] = t->byte[piece[i]];
		s->previous[i] = (uint8_t)(i - 1);
		s->next[i] = (uint8_t)(i + 1);
	}
	for (size_t i = 0; i + 1 < n; i++)
		s->keys.key[i] = key_of(t->bytes[(size_t)piece[i] << 8 | piece[i + 1]], i);
	s->next[n - 1] = PLACE_END;
}

static size_t
merge_short(const struct pair_table *t, const uint8_t *piece, size_t n, uint32_t *out)
{
	size_t fours = (n + 7) / 8 * 2, count = 0;
	struct short_piece s;
	int32_t key;

	assert(n > 0 && n <= MERGE_SHORT_MAX);
	lay_out_short(&s, t, piece, n, fours);
	while ((key = lowest_key(&s, fours)) != NO_KEY) {
		size_t at = (size_t)key & ((1 << PLACE_BITS) - 1), gone = s.next[at];
		size_t next = s.next[gone];

		s.id[at] = (uint32_t)key >> PLACE_BITS;
		s.keys.key[gone] = NO_KEY;
		s.next[at] = (uint8_t)next;
		s.keys.key[at] = NO_KEY;
		if (next != PLACE_END) {
			s.previous[next] = (uint8_t)at;
			s.keys.key[at] = key_of(pair_table_find(t, s.id[at], s.id[next]), at);
		}
		if (at > 0) {
			size_t before = s.previous[at];

			s.keys.key[before] =
			    key_of(pair_table_find(t, s.id[before], s.id[at]), before);
		}
	}
	for (size_t at = 0; at != PLACE_END; at = s.next[at])
		out[count++] = s.id[at];
	return count;
}

static void
heap_push(struct merge_scratch *s, uint32_t rank)
{
	size_t at = s->heap_n++;

	while (at > 0 && s->heap[(at - 1) / 2] > rank) {
		s->heap[at] = s->heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	s->heap[at] = rank;
}

static void
heap_pop(struct merge_scratch *s)
{
	uint32_t rank = s->heap[--s->heap_n];
	size_t at = 0;

	for (;;) {
		size_t child = at * 2 + 1;

		if (child >= s->heap_n)
			break;
		if (child + 1 < s->heap_n && s->heap[child + 1] < s->heap[child])
			child++;
		if (s->heap[child] >= rank)
			break;
		s->heap[at] = s->heap[child];
		at = child;
	}
	s->heap[at] = rank;
}

/* Room for one more rank and for two more pairs, which is what a merge adds at most. */
static enum fail_code
room_to_wait(struct merge_scratch *s, struct failure *f)
{
	if (s->heap_n + 2 > s->heap_room) {
		size_t room = s->heap_room == 0 ? 1 << 12 : s->heap_room * 2;
		uint32_t *more = realloc(s->heap, room * sizeof(*more));

		if (more == NULL)
			return fail_memory(f);
		s->heap = more;
		s->heap_room = room;
	}
	if (s->waiting_n + 2 > s->waiting_room) {
		size_t room = s->waiting_room + s->waiting_room / 2 + 2;
		struct waiting *more = realloc(s->waiting, room * sizeof(*more));

		if (more == NULL)
			return fail_memory(f);
		s->waiting = more;
		s->waiting_room = room;
	}
	return FAIL_NONE;
}

/* Puts the pair at `place` into the bucket of its rank. room_to_wait() was asked. */
static void
wait(struct merge_scratch *s, uint32_t place)
{
	uint32_t rank = s->node[place].rank, w = s->waiting_free;
	struct bucket *b;

	if (rank == NONE)
		return;
	if (w != NONE)
		s->waiting_free = s->waiting[w].next;
	else
		w = (uint32_t)s->waiting_n++;
	s->waiting[w] = (struct waiting){place, NONE};
	b = &s->bucket[rank];
	if (b->head == NONE) {
		b->head = w;
		b->unordered = false;
	} else {
		b->unordered |= s->waiting[b->tail].place > place;
		s->waiting[b->tail].next = w;
	}
	b->tail = w;
	if (!b->in_heap) {
		b->in_heap = true;
		heap_push(s, rank);
	}
}

/* Merges two ordered lists of waiting pairs. */
static uint32_t
join(struct waiting *w, uint32_t a, uint32_t b)
{
	struct waiting first = {0, NONE};
	uint32_t *end = &first.next;

	while (a != NONE && b != NONE) {
		uint32_t *lower = w[a].place <= w[b].place ? &a : &b;

		*end = *lower;
		end = &w[*lower].next;
		*lower = *end;
	}
	*end = a != NONE ? a : b;
	return first.next;
}

/* Orders a bucket by place: a merge sort of lists, from the bottom, sizes by powers of two. */
static void
order(struct merge_scratch *s, struct bucket *b)
{
	uint32_t sorted[32], sorted_n = 0, rest = b->head;

	for (uint32_t count = 1; rest != NONE; count++) {
		uint32_t one = rest;

		rest = s->waiting[one].next;
		s->waiting[one].next = NONE;
		sorted[sorted_n++] = one;
		for (uint32_t bits = count; (bits & 1) == 0; bits >>= 1) {
			sorted_n--;
			sorted[sorted_n - 1] =
			    join(s->waiting, sorted[sorted_n - 1], sorted[sorted_n]);
		}
	}
	while (sorted_n > 1) {
		sorted_n--;
		sorted[sorted_n - 1] = join(s->waiting, sorted[sorted_n - 1], sorted[sorted_n]);
	}
	b->head = sorted[0];
	while (s->waiting[b->tail].next != NONE)
		b->tail = s->waiting[b->tail].next;
	b->unordered = false;
}

/* Merges the pair at `place`, and looks at its new pairs with both neighbours. */
static void
merge_at(struct merge_scratch *s, const struct pair_table *t, uint32_t place)
{
	struct node *node = &s->node[place], *gone = &s->node[node->next];

	node->id = node->rank;
	node->next = gone->next;
	node->rank = NONE;
	gone->rank = NONE;
	if (node->previous != NONE) {
		struct node *previous = &s->node[node->previous];

		previous->rank = pair_table_find(t, previous->id, node->id);
		wait(s, node->previous);
	}
	if (node->next != NONE) {
		s->node[node->next].previous = place;
		node->rank = pair_table_find(t, node->id, s->node[node->next].id);
		wait(s, place);
	}
}

/* Sweeps the bucket of the lowest rank, until a lower one comes up. */
static enum fail_code
sweep(struct merge_scratch *s, const struct pair_table *t, uint32_t rank, struct failure *f)
{
	struct bucket *b = &s->bucket[rank];

	if (b->unordered)
		order(s, b);
	while (b->head != NONE && s->heap[0] == rank && !b->unordered) {
		uint32_t w = b->head, place = s->waiting[w].place;

		b->head = s->waiting[w].next;
		s->waiting[w].next = s->waiting_free;
		s->waiting_free = w;
		s->steps++;
		if (s->node[place].rank != rank)
			continue;
		if (room_to_wait(s, f) != FAIL_NONE)
			return f->code;
		merge_at(s, t, place);
	}
	return FAIL_NONE;
}

/* Leaves no pair in any bucket and no rank in the heap. */
static void
forget(struct merge_scratch *s)
{
	for (size_t i = 0; i < s->heap_n; i++)
		s->bucket[s->heap[i]] = (struct bucket){NONE, NONE, false, false};
	s->heap_n = 0;
	s->waiting_n = 0;
	s->waiting_free = NONE;
}

static enum fail_code
reserve(struct merge_scratch *s, size_t n, struct failure *f)
{
	if (s->bucket == NULL) {
		s->bucket = malloc(s->ids * sizeof(*s->bucket));
		if (s->bucket == NULL)
			return fail_memory(f);
		for (uint32_t i = 0; i < s->ids; i++)
			s->bucket[i] = (struct bucket){NONE, NONE, false, false};
		s->waiting_free = NONE;
	}
	if (s->node_room >= n)
		return FAIL_NONE;
	give_back(s);
	s->node = malloc(n * sizeof(*s->node));
	s->waiting = malloc((n + 2) * sizeof(*s->waiting));
	if (s->node == NULL || s->waiting == NULL)
		return fail_memory(f);
	s->node_room = n;
	s->waiting_room = n + 2;
	return FAIL_NONE;
}

static enum fail_code
lay_out(struct merge_scratch *s, const struct pair_table *t, const uint8_t *piece, uint32_t n,
    struct failure *f)
{
	for (uint32_t i = 0; i < n; i++) {
		bool last = i + 1 == n;

		s->node[i] = (struct node){
		    .id = t->byte[piece[i]],
		    .rank = last ? NONE : t->bytes[(size_t)piece[i] << 8 | piece[i + 1]],
		    .previous = i == 0 ? NONE : i - 1,
		    .next = last ? NONE : i + 1,
		};
	}
	for (uint32_t i = 0; i < n; i++) {
		if (room_to_wait(s, f) != FAIL_NONE)
			return f->code;
		wait(s, i);
	}
	return FAIL_NONE;
}

static enum fail_code
merge_long(const struct pair_table *t, struct merge_scratch *s, const uint8_t *piece, uint32_t n,
    uint32_t *out, size_t *count, struct failure *f)
{
	enum fail_code code = lay_out(s, t, piece, n, f);

	while (code == FAIL_NONE && s->heap_n > 0) {
		uint32_t rank = s->heap[0];

		if (s->bucket[rank].head == NONE) {
			s->bucket[rank].in_heap = false;
			heap_pop(s);
		} else {
			code = sweep(s, t, rank, f);
		}
	}
	forget(s);
	if (code != FAIL_NONE)
		return code;
	*count = 0;
	for (uint32_t at = 0; at != NONE; at = s->node[at].next)
		out[(*count)++] = s->node[at].id;
	return FAIL_NONE;
}

enum fail_code
merge_piece(const struct pair_table *t, struct merge_scratch *s, const uint8_t *piece, size_t n,
    uint32_t *out, size_t *count, struct failure *f)
{
	enum fail_code code;

	assert(n > 0 && n < NONE);
	if (n <= MERGE_SHORT_MAX) {
		*count = merge_short(t, piece, n, out);
		return FAIL_NONE;
	}
	code = reserve(s, n, f);
	if (code == FAIL_NONE)
		code = merge_long(t, s, piece, (uint32_t)n, out, count, f);
	if (s->node_room > MERGE_KEPT_MAX)
		give_back(s);
	return code;
}
