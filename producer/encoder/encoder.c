#include "producer/encoder/encoder.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/utf8.h"
#include "producer/bpe/piece_cache.h"
#include "producer/encoder/rare_pieces.h"
#include "producer/pretokenizer/code_point.h"
#include "producer/tokenizer/tokenizer_table.h"

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
	struct normalizer_scratch normalizer; /* these two: of a tokenizer with a recipe */
	struct pretokenizer_scratch pretokenizer;
	uint32_t end[BATCH_PIECES]; /* where the pieces of the batch end */
	struct lookup lookup[BATCH_PIECES];
};

enum fail_code
encoder_open(struct encoder **out, const struct tokenizer *t, struct failure *f)
{
	struct encoder *e = calloc(1, sizeof(*e));

	assert(t != NULL);
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
	normalizer_scratch_close(&e->normalizer);
	pretokenizer_scratch_close(&e->pretokenizer);
	free(e->replaced);
	free(e);
}

/* ---- pieces ---- */

/*
 * Makes keys of the pieces that end at e->end[count], and sends for their lines. A key reads 16
 * bytes whatever the piece has; behind the end of the text nothing may be read, so that the last
 * pieces are copied first.
 */
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
			p = memcpy(last, p, n - at);
		l->key = piece_key_of(p, piece_n);
		l->line = piece_cache_line(&e->cache, l->key);
		piece_cache_prefetch(&e->cache, l->line);
	}
}

/*
 * Encodes one batch: the pieces of text[n] that end at e->end[count]. piece_cache_get() writes four
 * ids whatever the piece has, so that room for them is made once, ahead of the loop.
 */
static enum fail_code
encode_batch(struct encoder *e, const uint8_t *text, size_t n, size_t count,
    struct token_buffer *out, struct failure *f)
{
	size_t at = 0;

	assert(count > 0);
	assert(count <= BATCH_PIECES);
	assert(e->end[count - 1] <= n);
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
	assert(e->rare.n == 0);
	piece_cache_grow(&e->cache);
	return FAIL_NONE;
}

/* Text that is cut by a pattern, batch by batch: where its pieces end is never kept. */
static enum fail_code
encode_split(struct encoder *e, enum splitter_pattern pattern, const uint8_t *text, size_t n,
    struct token_buffer *out, struct failure *f)
{
	for (size_t at = 0, count; at < n; at += e->end[count - 1]) {
		count = splitter_pieces(pattern, text + at, n - at, e->end, BATCH_PIECES);
		if (encode_batch(e, text + at, n - at, count, out, f) != FAIL_NONE)
			return f->code;
	}
	return FAIL_NONE;
}

/* Pieces that are cut already. */
static enum fail_code
encode_pieces(struct encoder *e, const struct pretokenizer_cuts *cuts, struct token_buffer *out,
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

/* ---- a text by the recipe of a tokenizer.json, in the order of tokenizers ---- */

static enum fail_code
push(struct token_buffer *out, const uint32_t *id, size_t n, struct failure *f)
{
	if (token_buffer_reserve(out, n, f) != FAIL_NONE)
		return f->code;
	for (size_t i = 0; i < n; i++)
		out->id[out->n++] = id[i];
	return FAIL_NONE;
}

/*
 * Each token found in the text ends a stretch, and every stretch between two of them is treated as
 * a text of its own: first of the text as it is (encode_by_recipe), then of what the normaliser
 * gave (encode_segment). `head` is how many of the first bytes come from the first character of the
 * document: some pretokenizers treat that one differently.
 */

/* Normalised text between added tokens. */
static enum fail_code
encode_stretch(struct encoder *e, const uint8_t *text, size_t n, size_t head,
    struct token_buffer *out, struct failure *f)
{
	const struct pretokenizer *p = &e->t->recipe->pretokenizer;
	const struct pretokenizer_cuts *cuts;

	if (n > SPLITTER_TEXT_MAX)
		return fail(f, FAIL_MEMORY, "a text that becomes %zu bytes is too long", n);
	if (pretokenizer_is_one_split(p))
		return encode_split(e, p->step[0].pattern, text, n, out, f);
	if (pretokenizer_run(p, &e->pretokenizer, text, n, head, &cuts, f) != FAIL_NONE)
		return f->code;
	return encode_pieces(e, cuts, out, f);
}

/* Text between the added tokens of the text as it is. */
static enum fail_code
encode_segment(struct encoder *e, const uint8_t *text, size_t n, size_t head,
    struct token_buffer *out, struct failure *f)
{
	const struct recipe *r = e->t->recipe;
	struct added_search search = {.set = &r->normalized};
	struct added_span span;

	if (normalizer_run(&r->normalizer, &e->normalizer, text, n, &search.text, &search.n, &head,
		f) != FAIL_NONE)
		return f->code;
	while (added_search_next(&search, &span)) {
		size_t left = head > span.start ? head - span.start : 0;
		enum fail_code code = span.token != NULL
					  ? push(out, &span.token->id, 1, f)
					  : encode_stretch(e, search.text + span.start,
						span.end - span.start, left, out, f);

		if (code != FAIL_NONE)
			return code;
	}
	return FAIL_NONE;
}

static enum fail_code
encode_by_recipe(
    struct encoder *e, const uint8_t *text, size_t n, struct token_buffer *out, struct failure *f)
{
	const struct recipe *r = e->t->recipe;
	struct added_search search = {.set = &r->raw, .text = text, .n = n};
	struct added_span span;

	if (push(out, r->before, r->before_n, f) != FAIL_NONE)
		return f->code;
	while (added_search_next(&search, &span)) {
		uint32_t point;
		size_t head = span.start == 0 ? code_point_read(text, &point) : 0;
		enum fail_code code = span.token != NULL ? push(out, &span.token->id, 1, f)
							 : encode_segment(e, text + span.start,
							       span.end - span.start, head, out, f);

		if (code != FAIL_NONE)
			return code;
	}
	return push(out, r->after, r->after_n, f);
}

/* ---- any text ---- */

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
	assert(*n <= e->replaced_room);
	*text = e->replaced;
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
		return encode_by_recipe(e, (const uint8_t *)text, n, out, f);
	return encode_split(e, e->t->pattern, (const uint8_t *)text, n, out, f);
}

enum fail_code
encoder_encode(
    struct encoder *e, const char *text, size_t n, struct token_buffer *out, struct failure *f)
{
	assert(text != NULL || n == 0);
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
	assert(text != NULL || n == 0);
	if (n > SPLITTER_TEXT_MAX / UTF8_REPLACED_FACTOR)
		return fail_long(n, f);
	return encode(e, text, n, out, f);
}
