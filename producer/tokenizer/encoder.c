/* One thread's way from text to ids: UTF-8, pieces, cache, merge. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "producer/tokenizer/encoder_text.h"
#include "producer/bpe/piece_cache.h"
#include "producer/tokenizer/rare_pieces.h"
#include "producer/tokenizer/tokenizer_table.h"
#include "common/base/utf8.h"

enum {
	BATCH_PIECES = 256 + SPLITTER_SLACK, /* looked up together, so that their lines arrive */
};

_Static_assert((int)BATCH_PIECES <= (int)RARE_PIECES_MAX, "all pieces of a batch can be rare");
_Static_assert(VOCABULARY_IDS_MAX <= 1 << 24, "an id in the cache has 24 bits");

/* A piece on its way through a batch. */
struct lookup {
	struct piece_key key; /* high 0: too long for the cache */
	size_t line;
};

struct encoder {
	const struct tokenizer *t;
	struct piece_cache cache;
	struct rare_pieces rare;
	char *replaced; /* the text with U+FFFD where it was not UTF-8; [replaced_room] */
	size_t replaced_room;
	struct encoder_text text; /* of a tokenizer with a recipe */
	uint32_t end[BATCH_PIECES];
	struct lookup lookup[BATCH_PIECES];
};

void
token_buffer_close(struct token_buffer *b)
{
	free(b->id);
	*b = (struct token_buffer){NULL, 0, 0};
}

enum fail_code
token_buffer_reserve(struct token_buffer *b, size_t more, struct failure *f)
{
	size_t room = b->room < 1024 ? 1024 : b->room;
	uint32_t *id;

	if (b->room - b->n >= more)
		return FAIL_NONE;
	if (more > SIZE_MAX / sizeof(*id) / 4 - b->n)
		return fail_memory(f);
	while (room - b->n < more)
		room *= 2;
	id = realloc(b->id, room * sizeof(*id));
	if (id == NULL)
		return fail_memory(f);
	b->id = id;
	b->room = room;
	return FAIL_NONE;
}

enum fail_code
encoder_open(struct encoder **out, const struct tokenizer *t, struct failure *f)
{
	struct encoder *e = calloc(1, sizeof(*e));

	if (e == NULL)
		return fail_memory(f);
	e->t = t;
	if (piece_cache_open(&e->cache, f) != FAIL_NONE ||
	    rare_pieces_open(&e->rare, t, &e->cache, f) != FAIL_NONE) {
		encoder_close(e);
		return f->code;
	}
	*out = e;
	return FAIL_NONE;
}

void
encoder_close(struct encoder *e)
{
	if (e == NULL)
		return;
	rare_pieces_close(&e->rare);
	piece_cache_close(&e->cache);
	encoder_text_close(&e->text);
	free(e->replaced);
	free(e);
}

/* Keys and lines of the pieces that end at e->end[count], and the lines on their way here. */
static void
prepare(struct encoder *e, const uint8_t *text, size_t n, size_t count)
{
	uint8_t last[PIECE_CACHE_LOAD_BYTES] = {0};
	size_t at = 0;

	for (size_t i = 0; i < count; at = e->end[i++]) {
		size_t piece_n = e->end[i] - at;
		struct lookup *l = &e->lookup[i];
		const uint8_t *p = text + at;

		if (piece_n > PIECE_CACHE_KEY_MAX) {
			l->key.high = 0;
			continue;
		}
		if (n - at < PIECE_CACHE_LOAD_BYTES)
			p = memcpy(last, p, n - at); /* nothing behind the text may be read */
		l->key = piece_key_of(p, piece_n);
		l->line = piece_cache_line(&e->cache, l->key);
		piece_cache_prefetch(&e->cache, l->line);
	}
}

/* Encodes the pieces that end at e->end[count], up to the end of the batch. */
static enum fail_code
encode_batch(struct encoder *e, const uint8_t *text, size_t n, size_t count,
    struct token_buffer *out, struct failure *f)
{
	size_t at = 0;

	prepare(e, text, n, count);
	if (token_buffer_reserve(out, count * PIECE_CACHE_IDS_MAX, f) != FAIL_NONE)
		return f->code;
	for (size_t i = 0; i < count; at = e->end[i++]) {
		const struct lookup *l = &e->lookup[i];
		size_t ids;

		if (l->key.high != 0 &&
		    piece_cache_get(&e->cache, l->line, l->key, out->id + out->n, &ids))
			out->n += ids;
		else
			rare_pieces_add(
			    &e->rare, l->key, l->line, text + at, e->end[i] - at, out->n);
	}
	if (e->rare.n > 0 && rare_pieces_finish(&e->rare, out, f) != FAIL_NONE)
		return f->code;
	piece_cache_grow(&e->cache);
	return FAIL_NONE;
}

/* Sets *text to a copy of it that is UTF-8. */
static enum fail_code
replace(struct encoder *e, const char **text, size_t *n, struct failure *f)
{
	size_t room = *n * UTF8_REPLACED_FACTOR;

	if (room > e->replaced_room) {
		free(e->replaced);
		e->replaced_room = 0;
		e->replaced = malloc(room);
		if (e->replaced == NULL)
			return fail_memory(f);
		e->replaced_room = room;
	}
	*n = utf8_replace(e->replaced, *text, *n);
	*text = e->replaced;
	return FAIL_NONE;
}

enum fail_code
encoder_split(struct encoder *e, enum splitter_pattern pattern, const uint8_t *text, size_t n,
    struct token_buffer *out, struct failure *f)
{
	for (size_t at = 0, count; at < n; at += e->end[count - 1]) {
		count = splitter_pieces(pattern, text + at, n - at, e->end, BATCH_PIECES);
		if (encode_batch(e, text + at, n - at, count, out, f) != FAIL_NONE)
			return f->code;
	}
	return FAIL_NONE;
}

enum fail_code
encoder_pieces(struct encoder *e, const struct pretokenizer_cuts *cuts, struct token_buffer *out,
    struct failure *f)
{
	uint32_t at = 0;

	for (size_t i = 0, count; i < cuts->count; i += count) {
		count = cuts->count - i < BATCH_PIECES ? cuts->count - i : BATCH_PIECES;
		for (size_t k = 0; k < count; k++)
			e->end[k] = cuts->end[i + k] - at;
		if (encode_batch(e, cuts->text + at, cuts->n - at, count, out, f) != FAIL_NONE)
			return f->code;
		at = cuts->end[i + count - 1];
	}
	return FAIL_NONE;
}

static enum fail_code
fail_long(size_t n, struct failure *f)
{
	return fail(f, FAIL_MEMORY, "a text of %zu bytes: at most %d can be tokenised", n,
	    SPLITTER_TEXT_MAX / UTF8_REPLACED_FACTOR);
}

static enum fail_code
encode(struct encoder *e, const char *text, size_t n, struct token_buffer *out, struct failure *f)
{
	if (e->t->recipe != NULL)
		return encoder_text_encode(
		    e, &e->text, e->t->recipe, (const uint8_t *)text, n, out, f);
	return encoder_split(e, e->t->pattern, (const uint8_t *)text, n, out, f);
}

enum fail_code
encoder_encode(
    struct encoder *e, const char *text, size_t n, struct token_buffer *out, struct failure *f)
{
	if (n > SPLITTER_TEXT_MAX / UTF8_REPLACED_FACTOR)
		return fail_long(n, f);
	if (!utf8_valid(text, n) && replace(e, &text, &n, f) != FAIL_NONE)
		return f->code;
	return encode(e, text, n, out, f);
}

enum fail_code
encoder_encode_valid(
    struct encoder *e, const char *text, size_t n, struct token_buffer *out, struct failure *f)
{
	if (n > SPLITTER_TEXT_MAX / UTF8_REPLACED_FACTOR)
		return fail_long(n, f);
	return encode(e, text, n, out, f);
}
