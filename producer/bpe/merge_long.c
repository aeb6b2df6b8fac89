/* Long pieces: pairs that wait in buckets, see merge.h. */
#include "producer/bpe/merge.h"

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
	uint32_t ranks;
	struct bucket *bucket; /* [ranks], there from the first long piece on; by rank */
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
merge_scratch_open(struct merge_scratch **out, uint32_t ranks, struct failure *f)
{
	*out = calloc(1, sizeof(**out));
	if (*out == NULL)
		return fail_memory(f);
	(*out)->ranks = ranks;
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

	node->id = pair_table_result(t, node->rank);
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
		s->bucket = malloc(((size_t)s->ranks + 1) * sizeof(*s->bucket));
		if (s->bucket == NULL)
			return fail_memory(f);
		for (uint32_t i = 0; i < s->ranks; i++)
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

/* The rank of the pair that begins at place i, at the start. */
static uint32_t
first_rank(const struct pair_table *t, const struct merge_item *item, uint32_t i)
{
	if (item->piece != NULL)
		return t->bytes[(size_t)item->piece[i] << 8 | item->piece[i + 1]].rank;
	return pair_table_find(t, item->id[i], item->id[i + 1]);
}

static enum fail_code
lay_out(struct merge_scratch *s, const struct pair_table *t, const struct merge_item *item,
    struct failure *f)
{
	uint32_t n = item->n;

	for (uint32_t i = 0; i < n; i++) {
		bool last = i + 1 == n;

		s->node[i] = (struct node){
		    .id = item->piece != NULL ? t->byte[item->piece[i]] : item->id[i],
		    .rank = last ? NONE : first_rank(t, item, i),
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

enum fail_code
merge_long(
    const struct pair_table *t, struct merge_scratch *s, struct merge_item *item, struct failure *f)
{
	enum fail_code code = reserve(s, item->n, f);

	assert(item->n > MERGE_SHORT_MAX && item->n < NONE);
	if (code == FAIL_NONE)
		code = lay_out(s, t, item, f);
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
	item->count = 0;
	if (code == FAIL_NONE)
		for (uint32_t at = 0; at != NONE; at = s->node[at].next)
			item->id[item->count++] = s->node[at].id;
	if (s->node_room > MERGE_KEPT_MAX)
		give_back(s);
	return code;
}

enum fail_code
merge_items(const struct pair_table *t, struct merge_scratch *s, struct merge_item *item,
    size_t items_n, struct failure *f)
{
	merge_short(t, item, items_n);
	for (size_t i = 0; i < items_n; i++)
		if (item[i].n > MERGE_SHORT_MAX && merge_long(t, s, &item[i], f) != FAIL_NONE)
			return f->code;
	return FAIL_NONE;
}
