#include "producer/bpe/merge.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buffer.h"

#define NONE VOCABULARY_NONE

/* ---- short pieces: arrays that are searched, several pieces in turn ---- */

/*
 * A token is known by the place of its first byte in the piece, 0 to 127. Each place has a key: the
 * rank of the merge of its token with the next one, and below it the place itself, rank << 8 |
 * place. So the lowest key is the lowest rank and of that the leftmost place: the rule of merge.h
 * with its tie-break is one minimum of 32-bit numbers, which vectors of four find without a branch.
 * A place that is inside a token, or whose token merges with nothing, has NO_KEY.
 *
 * Example, "abc" with the ranks bc 256, ab 257, abc 258, so that bc goes first:
 *
 *     place     0                1                2
 *     id        a                b                c
 *     key       257 << 8 | 0     256 << 8 | 1     NO_KEY     the lowest key is at place 1
 *
 *     id        a                bc               (c)        merged; the pair a bc is looked up
 *     key       258 << 8 | 0     NO_KEY           NO_KEY
 *
 *     id        abc              (bc)             (c)
 *     key       NO_KEY           NO_KEY           NO_KEY     done
 *
 * `previous` and `next` are a list of the places that still have a token. Nothing is ever moved.
 *
 * The table's answers. A lookup reads one cache line of a table of many megabytes, so that it often
 * waits for memory. Therefore a merge only sends for the lines of its two new pairs (want()), and
 * then AT_ONCE - 1 other pieces have their turn; at the next turn of this piece the lines are there
 * and merge_lowest() reads them.
 */
typedef int32_t four __attribute__((vector_size(16)));

enum {
	PLACE_BITS = 8,
	PLACE_END = MERGE_SHORT_MAX, /* behind the last token */
	NO_KEY = INT32_MAX,
	AT_ONCE = 8, /* pieces that are worked on in turn; each waits for two lines of the table */
};

_Static_assert(MERGE_SHORT_MAX < 1 << PLACE_BITS, "a place has its bits in a key");
_Static_assert((uint64_t)VOCABULARY_IDS_MAX << PLACE_BITS <= INT32_MAX, "and a rank the others");

/* A short piece that is worked on. */
struct short_piece {
	union {
		four four[MERGE_SHORT_MAX / 4];
		int32_t key[MERGE_SHORT_MAX];
	} keys;
	uint32_t id[MERGE_SHORT_MAX];
	uint8_t previous[MERGE_SHORT_MAX + 1], next[MERGE_SHORT_MAX + 1];
	uint8_t wanted[MERGE_SHORT_MAX]; /* [wanted_n]: places whose keys are not known yet */
	size_t wanted_n;
	size_t fours; /* vectors of keys in use, an even number; keys behind the piece are NO_KEY */
	struct merge_item *item;
};

/* The lower one of each two numbers. A comparison of vectors gives all bits or none. */
static inline four
lower(four a, four b)
{
	four is = a < b;

	return (a & is) | (b & ~is);
}

/* Two minima side by side, so that no comparison has to wait for the one before. */
static inline int32_t
lowest_key(const struct short_piece *s)
{
	four low = s->keys.four[0], other = s->keys.four[1];
	int32_t a, b;

	for (size_t i = 2; i < s->fours; i += 2) {
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

/* Notes that the key at `place` is wanted, and sends for the line of the table that has it. */
static inline void
want(struct short_piece *s, const struct pair_table *t, size_t place, uint32_t left, uint32_t right)
{
	s->wanted[s->wanted_n++] = (uint8_t)place;
	pair_table_prefetch(t, left, right);
}

/*
 * Fills ids and keys from the bytes of a piece; returns how many ids there are.
 *
 * The dense table of two bytes answers all the first lookups, and it often says at once that two
 * bytes merge before anything else can touch them (pair_table.h has why). Then they begin as one
 * token, and the pairs of that token with its neighbours are wanted from the large table. The key
 * of two bytes that both stayed alone is in the dense table.
 */
static inline size_t
fill_from_bytes(struct short_piece *s, const struct pair_table *t, const uint8_t *piece, size_t n)
{
	const struct pair_bytes *b[3] = {NULL, NULL, NULL}; /* bytes i-1 and i; i, i+1; i+1, i+2 */
	bool was_alone = false;
	size_t count = 0;

	if (n > 1)
		b[1] = &t->bytes[(size_t)piece[0] << 8 | piece[1]];
	for (size_t i = 0; i < n; count++) {
		bool alone;

		b[2] = i + 2 < n ? &t->bytes[(size_t)piece[i + 1] << 8 | piece[i + 2]] : NULL;
		alone = b[1] == NULL || !pair_bytes_merge(b[0], b[1], b[2]);
		s->id[count] = alone ? t->byte[piece[i]] : b[1]->merged;
		if (count > 0 && alone && was_alone)
			s->keys.key[count - 1] = key_of(b[0]->rank, count - 1);
		else if (count > 0)
			want(s, t, count - 1, s->id[count - 1], s->id[count]);
		was_alone = alone;
		i += alone ? 1 : 2;
		b[0] = alone ? b[1] : b[2];
		b[1] = alone       ? b[2]
		       : i + 1 < n ? &t->bytes[(size_t)piece[i] << 8 | piece[i + 1]]
				   : NULL;
	}
	return count;
}

/* The same where merging begins with ids, whose pairs only the large table knows. */
static size_t
fill_from_ids(struct short_piece *s, const struct pair_table *t, const uint32_t *id, size_t n)
{
	memcpy(s->id, id, n * sizeof(*id));
	for (size_t i = 0; i + 1 < n; i++)
		want(s, t, i, id[i], id[i + 1]);
	return n;
}

/* Lays the piece out. Places are closed up here: token i is at place i, whatever bytes it has. */
static inline void
begin(struct short_piece *s, const struct pair_table *t, struct merge_item *item)
{
	size_t n;

	assert(item->n > 0 && item->n <= MERGE_SHORT_MAX);
	s->item = item;
	s->wanted_n = 0;
	n = item->piece != NULL ? fill_from_bytes(s, t, item->piece, item->n)
				: fill_from_ids(s, t, item->id, item->n);
	s->fours = (n + 7) / 8 * 2;
	for (size_t i = n - 1; i < s->fours * 4; i++)
		s->keys.key[i] = NO_KEY;
	for (size_t i = 0; i < n; i++) {
		s->previous[i] = (uint8_t)(i - 1);
		s->next[i] = (uint8_t)(i + 1);
	}
	s->next[n - 1] = PLACE_END;
}

/*
 * One turn of a piece: reads the keys that were wanted, merges the lowest pair, and wants the keys
 * of the two pairs that the new token is in. False: nothing merges any more.
 *
 *     previous     at      gone     next            `gone` is no longer in the list; the new
 *        |         |        |        |              token stands at `at`
 *        +--pair---+========+--pair--+
 */
static inline bool
merge_lowest(struct short_piece *s, const struct pair_table *t)
{
	size_t at, gone, next;
	int32_t key;

	for (size_t i = 0; i < s->wanted_n; i++) {
		size_t place = s->wanted[i];

		s->keys.key[place] =
		    key_of(pair_table_find(t, s->id[place], s->id[s->next[place]]), place);
	}
	s->wanted_n = 0;
	key = lowest_key(s);
	if (key == NO_KEY)
		return false;
	at = (size_t)key & ((1 << PLACE_BITS) - 1);
	gone = s->next[at];
	next = s->next[gone];
	s->id[at] = pair_table_result(t, (uint32_t)key >> PLACE_BITS);
	s->keys.key[gone] = NO_KEY;
	s->keys.key[at] = NO_KEY;
	s->next[at] = (uint8_t)next;
	if (next != PLACE_END) {
		s->previous[next] = (uint8_t)at;
		want(s, t, at, s->id[at], s->id[next]);
	}
	if (at > 0)
		want(s, t, s->previous[at], s->id[s->previous[at]], s->id[at]);
	return true;
}

/* Hands the tokens that are left to the item. */
static void
finish(const struct short_piece *s)
{
	size_t count = 0;

	for (size_t at = 0; at != PLACE_END; at = s->next[at])
		s->item->id[count++] = s->id[at];
	s->item->count = (uint32_t)count;
}

/* The next short item from *at on, or NULL. */
static struct merge_item *
next_short(struct merge_item *item, size_t items_n, size_t *at)
{
	while (*at < items_n) {
		struct merge_item *one = &item[(*at)++];

		if (one->n <= MERGE_SHORT_MAX)
			return one;
	}
	return NULL;
}

/* Merges all items up to MERGE_SHORT_MAX: one turn each, in a circle, until none is left. */
static void
merge_short(const struct pair_table *t, struct merge_item *item, size_t items_n)
{
	struct merge_item *one;
	struct short_piece piece[AT_ONCE], *busy[AT_ONCE];
	size_t busy_n = 0, at = 0;

	while (busy_n < AT_ONCE && (one = next_short(item, items_n, &at)) != NULL) {
		busy[busy_n] = &piece[busy_n];
		begin(busy[busy_n++], t, one);
	}
	while (busy_n > 0)
		for (size_t i = 0; i < busy_n; i++) {
			if (merge_lowest(busy[i], t))
				continue;
			finish(busy[i]);
			one = next_short(item, items_n, &at);
			if (one != NULL)
				begin(busy[i], t, one);
			else
				busy[i--] = busy[--busy_n]; /* the last one takes this turn */
		}
}

/*
 * ---- long pieces: pairs wait in a bucket for each rank ----
 *
 * The tokens are a doubly linked list, as above. Every pair that could merge waits in the bucket of
 * its rank, a list that is ordered by place, and a heap holds the ranks whose buckets are in use.
 * The lowest rank of the heap is swept: its pairs merge from left to right. That is the rule, as
 * equal ranks go from the left, and until a lower rank comes up nothing else may merge.
 *
 * Why not a heap of all pairs: it would be as deep as the logarithm of the length, and each of its
 * levels a miss of the cache. Long pieces that occur in practice repeat few characters. They have
 * millions of pairs but a handful of ranks, and a bucket is read from front to back.
 *
 * What a merge does to the buckets:
 *
 *   1. The pairs of the new token with both neighbours go to the ends of their buckets. At most two
 *      are added for one that was taken out.
 *   2. The old pairs of these neighbours stay where they wait, but are out of date: the node's rank
 *      has changed. They are skipped when their turn comes, which is cheaper than finding them.
 *   3. A new pair can have a lower rank than the one that is swept: nothing says that a token has a
 *      higher rank than its parts. Then the top of the heap is another rank, and the sweep stops
 *      until that one is done.
 *   4. A new pair can be further left than the last one in its bucket. Then that bucket is not in
 *      order any more, and is sorted before it is swept on.
 *
 * Example, rank xx 1, xxxx 2, the piece xxxxxx: bucket 1 holds places 0 1 2 3 4. Place 0 merges and
 * puts xx.x into no bucket, as it is no token; place 1 is out of date now, 2 merges and puts place
 * 0, xx.xx, into bucket 2; 3 is out of date; 4 merges and puts place 2 into bucket 2. Bucket 1 is
 * empty, and bucket 2, places 0 and 2, is swept: 0 merges, 2 is out of date. Left are xxxx xx.
 */

/* A token of a long piece, at the place of its first byte. */
struct node {
	uint32_t id;
	uint32_t rank; /* of the merge with the next one; NONE: they do not merge, or it is gone */
	uint32_t previous, next; /* places; NONE: there is none */
};

/* A pair that waits in the bucket of a rank; out of date where its node has another rank now. */
struct waiting {
	uint32_t place;
	uint32_t next; /* in the bucket, or among the free ones; NONE: the last */
};

struct bucket {
	uint32_t head,
	    tail;       /* of a list of `waiting`; head NONE: it is empty, and tail means nothing */
	bool in_heap;   /* its rank is in the heap; true wherever the bucket is not empty */
	bool unordered; /* a pair stands behind one that is further right */
};

struct merge_scratch {
	uint32_t ranks;
	struct bucket *bucket; /* [ranks], by rank; NULL until the first long piece comes */
	uint32_t *heap;        /* [heap_room]: ranks whose bucket is or was not empty */
	size_t heap_n, heap_room;
	struct node *node; /* [node_room] */
	size_t node_room;
	struct waiting *waiting; /* [waiting_room] */
	size_t waiting_n, waiting_room;
	uint32_t waiting_free; /* the first of the list of free ones below waiting_n, or NONE */
	uint64_t work;
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

/* Frees what grows with the length of a piece. */
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
merge_scratch_work(const struct merge_scratch *s)
{
	return s->work;
}

static void
heap_push(struct merge_scratch *s, uint32_t rank)
{
	size_t at = s->heap_n++;

	assert(s->heap_n <= s->heap_room);
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

	assert(s->heap_n < s->heap_room);
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
	if (buffer_reserve_items(&s->heap, &s->heap_room, s->heap_n + 2, sizeof(*s->heap), f) !=
	    FAIL_NONE)
		return f->code;
	if (buffer_reserve_items(&s->waiting, &s->waiting_room, s->waiting_n + 2,
		sizeof(*s->waiting), f) != FAIL_NONE)
		return f->code;
	return FAIL_NONE;
}

/* Puts the pair at `place` into the bucket of its rank. room_to_wait() has made the room. */
static void
wait(struct merge_scratch *s, uint32_t place)
{
	uint32_t rank = s->node[place].rank, w = s->waiting_free;
	struct bucket *b;

	if (rank == NONE)
		return;
	assert(rank < s->ranks);
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

/* Makes one ordered list of two; returns its first. */
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

/*
 * Orders a bucket by place: a merge sort of lists, from the bottom up. sorted[] is a binary counter
 * of the pairs taken so far: for each bit that is set in `count` it has an ordered list of so many
 * pairs, the longest first. Taking one more pair joins lists as counting up carries bits. Example:
 * after 6 pairs there are lists of 4 and 2; the seventh adds a list of 1; the eighth joins 1 + 1,
 * then 2 + 2, then 4 + 4.
 */
static void
order(struct merge_scratch *s, struct bucket *b)
{
	uint32_t sorted[32], sorted_n = 0, rest = b->head;

	assert(b->head != NONE);
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

/* Merges the pair at `place`, and lets the new token's pairs with both neighbours wait. */
static void
merge_at(struct merge_scratch *s, const struct pair_table *t, uint32_t place)
{
	struct node *node = &s->node[place], *gone = &s->node[node->next];

	assert(node->next != NONE); /* a node with a rank has a neighbour */
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

/* Sweeps the bucket of the lowest rank until it is empty, a lower one comes up or order is lost. */
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
		s->work++;
		if (s->node[place].rank != rank)
			continue;
		if (room_to_wait(s, f) != FAIL_NONE)
			return f->code;
		merge_at(s, t, place);
	}
	return FAIL_NONE;
}

/*
 * Leaves no pair in any bucket and no rank in the heap: a failure can end a piece half way. Only
 * buckets whose rank is in the heap can hold something, so that the cost is that of the piece.
 */
static void
forget(struct merge_scratch *s)
{
	for (size_t i = 0; i < s->heap_n; i++)
		s->bucket[s->heap[i]] = (struct bucket){NONE, NONE, false, false};
	s->heap_n = 0;
	s->waiting_n = 0;
	s->waiting_free = NONE;
}

/* Room for the nodes of n places, and for as many pairs: no more can wait at first. */
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

/* The rank of the pair that begins at place i, before anything has merged. */
static uint32_t
first_rank(const struct pair_table *t, const struct merge_item *item, uint32_t i)
{
	if (item->piece != NULL)
		return t->bytes[(size_t)item->piece[i] << 8 | item->piece[i + 1]].rank;
	return pair_table_find(t, item->id[i], item->id[i + 1]);
}

/* Makes a node of each byte, or id. Pairs begin to wait from the left on: in order. */
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

static enum fail_code
merge_long(
    const struct pair_table *t, struct merge_scratch *s, struct merge_item *item, struct failure *f)
{
	enum fail_code code = reserve(s, item->n, f);

	assert(item->n > MERGE_SHORT_MAX);
	assert(item->n < NONE);
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
	forget(s); /* after a failure, too: the scratch is as new for the next piece */
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
