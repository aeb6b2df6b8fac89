/* How tokens become text again; see bpe_compile.h. */
#include <stdlib.h>
#include <string.h>

#include "producer/tokenizer/bpe_compile.h"

enum { BYTE_TOKEN_BYTES = 6 }; /* <0x0A> */

static int
hex(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The byte that text[n] names as <0x0A>, or -1. */
static int
named_byte(const uint8_t *text, size_t n)
{
	if (n != BYTE_TOKEN_BYTES || memcmp(text, "<0x", 3) != 0 || text[5] != '>' ||
	    hex(text[3]) < 0 || hex(text[4]) < 0)
		return -1;
	return hex(text[3]) << 4 | hex(text[4]);
}

static enum fail_code
apply(const struct recipe_decoder_step *step, const uint8_t *text, size_t n, struct buffer *out,
    struct failure *f)
{
	int byte = named_byte(text, n);

	if (step->kind == RECIPE_REPLACE)
		return normalizer_replace(text, n, step->pattern, step->pattern_n, step->content,
		    step->content_n, out, f);
	if (byte < 0)
		return buffer_add(out, text, n, f);
	return buffer_add(out, &(uint8_t){(uint8_t)byte}, 1, f);
}

enum fail_code
bpe_decode(const struct recipe_decoder *d, const uint8_t *text, size_t n, struct buffer *out,
    struct failure *f)
{
	struct buffer now = {NULL, 0, 0}, next = {NULL, 0, 0};
	enum fail_code code = buffer_add(&now, text, n, f);

	for (size_t i = 0; i < d->n && code == FAIL_NONE; i++) {
		struct buffer swap = now;

		next.n = 0;
		code = apply(&d->step[i], now.bytes, now.n, &next, f);
		now = next;
		next = swap;
	}
	if (code == FAIL_NONE)
		code = buffer_add(out, now.bytes, now.n, f);
	buffer_close(&now);
	buffer_close(&next);
	return code;
}

enum fail_code
bpe_compile_decoded(struct tokenizer *t, struct failure *f)
{
	const struct recipe_decoder *d = &t->recipe->decoder;
	struct vocabulary *v = &t->recipe->decoded;
	struct buffer texts = {NULL, 0, 0};

	if (d->n == 0 || t->recipe->byte_level)
		return FAIL_NONE;
	v->start = malloc(((size_t)t->vocabulary.ids + 1) * sizeof(*v->start));
	if (v->start == NULL)
		return fail_memory(f);
	v->ids = t->vocabulary.ids;
	for (uint32_t id = 0; id < v->ids; id++) {
		size_t n;
		const uint8_t *token = vocabulary_token(&t->vocabulary, id, &n);

		v->start[id] = (uint32_t)texts.n;
		if (bpe_decode(d, token, n, &texts, f) != FAIL_NONE) {
			buffer_close(&texts);
			return f->code;
		}
	}
	v->start[v->ids] = (uint32_t)texts.n;
	v->bytes = texts.bytes;
	return FAIL_NONE;
}
