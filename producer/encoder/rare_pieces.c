#include "producer/encoder/rare_pieces.h"

#include <string.h>

#include "producer/bpe/bytes_hash.h"

enum fail_code
rare_pieces_open(
    struct rare_pieces *r, const struct tokenizer *t, struct piece_cache *cache, struct failure *f)
{
	r->t = t;
	r->cache = cache;
	if (long_cache_open(&r->long_cache, f) != FAIL_NONE)
		return f->code;
	return merge_scratch_open(&r->merge, t->pairs.ranks, f);
}

void
rare_pieces_close(struct rare_pieces *r)
{
	merge_scratch_close(r->merge);
	long_cache_close(&r->long_cache);
	token_buffer_close(&r->ids);
}

void
rare_pieces_add(struct rare_pieces *r, struct piece_key key, size_t line, const uint8_t *piece,
    size_t n, size_t place)
{
	assert(n > 0);
	assert(r->n < RARE_PIECES_MAX);
	assert(r->n == 0 || r->piece[r->n - 1].place <= place);
	r->piece[r->n++] = (struct rare_piece){
	    .key = key,
	    .line = line,
	    .place = place,
	    .item = {.piece = piece, .n = (uint32_t)n},
	};
}

/* Takes ids that a cache had. */
static void
take_known(struct rare_piece *p, const uint32_t *id, size_t n)
{
	assert(n > 0 && n <= p->item.n);
	memcpy(p->item.id, id, n * sizeof(*id));
	p->item.count = (uint32_t)n;
	p->remembered = true;
}

/* A piece has no more ids than bytes, so that the shortest are never in the cache of long ones. */
static bool
is_long(const struct rare_piece *p)
{
	return p->item.n > PIECE_CACHE_IDS_MAX;
}

/* Memory for the ids of all pieces: no more than their bytes. */
static enum fail_code
lay_out(struct rare_pieces *r, struct failure *f)
{
	size_t bytes = 0;

	for (size_t i = 0; i < r->n; i++)
		bytes += r->piece[i].item.n;
	r->ids.n = 0;
	if (token_buffer_reserve(&r->ids, bytes, f) != FAIL_NONE)
		return f->code;
	bytes = 0;
	for (size_t i = 0; i < r->n; i++) {
		r->piece[i].item.id = r->ids.id + bytes;
		bytes += r->piece[i].item.n;
	}
	return FAIL_NONE;
}

static void
look_aside(struct rare_pieces *r)
{
	for (size_t i = 0; i < r->n; i++) {
		struct rare_piece *p = &r->piece[i];
		uint32_t id[PIECE_CACHE_IDS_MAX];
		size_t n;

		if (p->key.high != 0 && piece_cache_get_aside(r->cache, p->line, p->key, id, &n)) {
			take_known(p, id, n);
			continue;
		}
		p->hash = bytes_hash(p->item.piece, p->item.n);
		if (r->t->whole_first)
			vocabulary_prefetch(&r->t->vocabulary, p->hash);
		if (is_long(p))
			long_cache_prefetch(&r->long_cache, p->hash);
	}
}

static void
look_among_long(struct rare_pieces *r)
{
	for (size_t i = 0; i < r->n; i++) {
		struct rare_piece *p = &r->piece[i];
		const struct long_entry *known;

		if (p->item.count > 0)
			continue;
		known = is_long(p)
			    ? long_cache_get(&r->long_cache, p->hash, p->item.piece, p->item.n)
			    : NULL;
		if (known != NULL)
			take_known(p, known->id, known->ids_n);
		else
			p->perhaps_whole =
			    r->t->whole_first &&
			    vocabulary_prefetch_bytes(&r->t->vocabulary, p->hash, p->item.n);
	}
}

static void
look_for_whole(struct rare_pieces *r)
{
	for (size_t i = 0; i < r->n; i++) {
		struct rare_piece *p = &r->piece[i];
		uint32_t whole;

		if (p->item.count > 0 || !p->perhaps_whole)
			continue;
		whole =
		    vocabulary_find_hashed(&r->t->vocabulary, p->hash, p->item.piece, p->item.n);
		if (whole == VOCABULARY_NONE)
			continue;
		p->item.id[0] = whole;
		p->item.count = 1;
	}
}

/*
 * Sets what the merging of the piece begins with: its bytes, or symbols where some bytes are no
 * tokens. False: with nothing, so that it has no ids.
 */
static bool
begin(const struct tokenizer *t, struct merge_item *item)
{
	if (t->recipe == NULL || !t->recipe->has_symbols)
		return true;
	item->n = (uint32_t)symbols_of(&t->recipe->symbols, item->piece, item->n, item->id);
	item->piece = NULL;
	return item->n > 0;
}

static enum fail_code
merge_rest(struct rare_pieces *r, struct failure *f)
{
	uint16_t of[RARE_PIECES_MAX]; /* the piece of an item */
	size_t items_n = 0;

	for (size_t i = 0; i < r->n; i++) {
		if (r->piece[i].item.count > 0)
			continue;
		r->item[items_n] = r->piece[i].item;
		of[items_n] = (uint16_t)i;
		items_n += begin(r->t, &r->item[items_n]);
	}
	if (merge_items(&r->t->pairs, r->merge, r->item, items_n, f) != FAIL_NONE)
		return f->code;
	for (size_t i = 0; i < items_n; i++)
		r->piece[of[i]].item.count = r->item[i].count;
	return FAIL_NONE;
}

/*
 * Puts the ids of a piece into the cache that it fits. A piece can be twice in a batch, and then it
 * is there already the second time.
 */
static void
remember(struct rare_pieces *r, const struct rare_piece *p)
{
	const struct merge_item *item = &p->item;
	uint32_t id[PIECE_CACHE_IDS_MAX];
	size_t n;

	if (item->count == 0)
		return; /* nothing of it is in the vocabulary */
	if (p->key.high != 0 && item->count <= PIECE_CACHE_IDS_MAX) {
		if (!piece_cache_get(r->cache, p->line, p->key, id, &n) &&
		    !piece_cache_get_aside(r->cache, p->line, p->key, id, &n))
			piece_cache_put(r->cache, p->key, item->id, item->count);
	} else if (long_cache_get(&r->long_cache, p->hash, item->piece, item->n) == NULL) {
		long_cache_put(
		    &r->long_cache, p->hash, item->piece, item->n, item->id, item->count);
	}
}

/*
 * Moves the ids that are there apart, from the last on, and puts the new ones between them.
 *
 *     from  where the ids that are not moved yet end; all before it are where they were
 *     to    where the space for them ends; behind it all is done
 *
 * The space between the two is what is still to be put in, so that both meet in the end.
 */
static enum fail_code
splice(struct rare_pieces *r, struct token_buffer *out, struct failure *f)
{
	size_t from = out->n, to, more = 0;

	for (size_t i = 0; i < r->n; i++)
		more += r->piece[i].item.count;
	if (token_buffer_reserve(out, more, f) != FAIL_NONE)
		return f->code;
	out->n += more;
	to = out->n;
	for (size_t i = r->n; i-- > 0;) {
		const struct rare_piece *p = &r->piece[i];
		size_t behind = from - p->place;

		memmove(out->id + to - behind, out->id + p->place, behind * sizeof(*out->id));
		to -= behind + p->item.count;
		memcpy(out->id + to, p->item.id, p->item.count * sizeof(*out->id));
		from = p->place;
	}
	assert(from == to);
	return FAIL_NONE;
}

enum fail_code
rare_pieces_finish(struct rare_pieces *r, struct token_buffer *out, struct failure *f)
{
	enum fail_code code = lay_out(r, f);

	if (code == FAIL_NONE) {
		look_aside(r);
		look_among_long(r);
		look_for_whole(r);
		code = merge_rest(r, f);
	}
	if (code == FAIL_NONE) {
		for (size_t i = 0; i < r->n; i++)
			if (!r->piece[i].remembered)
				remember(r, &r->piece[i]);
		code = splice(r, out, f);
	}
	r->n = 0;
	if (r->ids.room > RARE_PIECES_IDS_KEPT)
		token_buffer_close(&r->ids);
	return code;
}
