/* Short pieces, several at once: while one waits for a line of the table, the others go on. */
#include "producer/bpe/merge.h"

#include <stdbool.h>

#define NONE VOCABULARY_NONE

/*
 * A place each byte has, and a key each place: rank << 8 | place, of the pair that
 * begins there. So the lowest key tells the lowest rank and the leftmost place of it, and keys are
 * compared four at once.
 */
typedef int32_t four __attribute__((vector_size(16)));

enum {
	PLACE_BITS = 8,
	PLACE_END = MERGE_SHORT_MAX, /* behind the last token */
	NO_KEY = INT32_MAX,
	LANES = 8, /* pieces at once */
};

_Static_assert(MERGE_SHORT_MAX < 1 << PLACE_BITS, "a place has its bits in a key");
_Static_assert((uint64_t)VOCABULARY_IDS_MAX << PLACE_BITS <= INT32_MAX, "and a rank the others");

/* A piece at work. */
struct lane {
	union {
		four four[MERGE_SHORT_MAX / 4];
		int32_t key[MERGE_SHORT_MAX];
	} keys;
	uint32_t id[MERGE_SHORT_MAX];
	uint8_t previous[MERGE_SHORT_MAX + 1], next[MERGE_SHORT_MAX + 1];
	uint8_t asked[MERGE_SHORT_MAX]; /* [asked_n]: places whose pairs the table was asked for */
	size_t asked_n;
	size_t fours; /* of keys that are used, an even number */
	struct merge_item *item;
};

static inline four
lower(four a, four b)
{
	four is = a < b;

	return (a & is) | (b & ~is);
}

static inline int32_t
lowest_key(const struct lane *s)
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

static inline void
ask(struct lane *s, const struct pair_table *t, size_t place, uint32_t left, uint32_t right)
{
	s->asked[s->asked_n++] = (uint8_t)place;
	pair_table_prefetch(t, left, right);
}

/*
 * Fills ids and keys, or asks for these; gives how many ids there are. Two bytes of which it is
 * known that they merge are merged.
 */
static inline size_t
fill_from_bytes(struct lane *s, const struct pair_table *t, const uint8_t *piece, size_t n)
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
			ask(s, t, count - 1, s->id[count - 1], s->id[count]);
		was_alone = alone;
		i += alone ? 1 : 2;
		b[0] = alone ? b[1] : b[2];
		b[1] = alone       ? b[2]
		       : i + 1 < n ? &t->bytes[(size_t)piece[i] << 8 | piece[i + 1]]
				   : NULL;
	}
	return count;
}

static size_t
fill_from_ids(struct lane *s, const struct pair_table *t, const uint32_t *id, size_t n)
{
	memcpy(s->id, id, n * sizeof(*id));
	for (size_t i = 0; i + 1 < n; i++)
		ask(s, t, i, id[i], id[i + 1]);
	return n;
}

static inline void
begin(struct lane *s, const struct pair_table *t, struct merge_item *item)
{
	size_t n;

	assert(item->n > 0 && item->n <= MERGE_SHORT_MAX);
	s->item = item;
	s->asked_n = 0;
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

/* Takes the answers, merges the lowest pair, and asks for its new ones; false: nothing merges. */
static inline bool
step(struct lane *s, const struct pair_table *t)
{
	size_t at, gone, next;
	int32_t key;

	for (size_t i = 0; i < s->asked_n; i++) {
		size_t place = s->asked[i];

		s->keys.key[place] =
		    key_of(pair_table_find(t, s->id[place], s->id[s->next[place]]), place);
	}
	s->asked_n = 0;
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
		ask(s, t, at, s->id[at], s->id[next]);
	}
	if (at > 0)
		ask(s, t, s->previous[at], s->id[s->previous[at]], s->id[at]);
	return true;
}

static void
finish(const struct lane *s)
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

void
merge_short(const struct pair_table *t, struct merge_item *item, size_t items_n)
{
	struct merge_item *one;
	struct lane lane[LANES], *busy[LANES];
	size_t lanes = 0, at = 0;

	while (lanes < LANES && (one = next_short(item, items_n, &at)) != NULL) {
		busy[lanes] = &lane[lanes];
		begin(busy[lanes++], t, one);
	}
	while (lanes > 0)
		for (size_t i = 0; i < lanes; i++) {
			if (step(busy[i], t))
				continue;
			finish(busy[i]);
			one = next_short(item, items_n, &at);
			if (one != NULL)
				begin(busy[i], t, one);
			else
				busy[i--] = busy[--lanes];
		}
}
