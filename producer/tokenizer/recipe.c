#include "producer/tokenizer/recipe.h"

#include <stdlib.h>

void
recipe_close(struct recipe *r)
{
	if (r == NULL)
		return;
	added_tokens_close(&r->raw);
	added_tokens_close(&r->normalized);
	vocabulary_close(&r->decoded);
	buffer_close(&r->texts);
	free(r);
}

/* ---- how tokens become text again ---- */

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

/* Does one step for one token. */
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
recipe_decode(const struct recipe_decoder *d, const uint8_t *text, size_t n, struct buffer *out,
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
recipe_decode_all(struct recipe *r, const struct vocabulary *v, struct failure *f)
{
	const struct recipe_decoder *d = &r->decoder;
	struct vocabulary *to = &r->decoded;
	struct buffer texts = {NULL, 0, 0};

	assert(to->start == NULL);
	if (d->n == 0 || r->byte_level)
		return FAIL_NONE;
	to->start = malloc(((size_t)v->ids + 1) * sizeof(*to->start));
	if (to->start == NULL)
		return fail_memory(f);
	to->ids = v->ids;
	for (uint32_t id = 0; id < to->ids; id++) {
		size_t n;
		const uint8_t *token = vocabulary_token(v, id, &n);

		to->start[id] = (uint32_t)texts.n;
		if (recipe_decode(d, token, n, &texts, f) != FAIL_NONE) {
			buffer_close(&texts);
			return f->code;
		}
	}
	to->start[to->ids] = (uint32_t)texts.n;
	to->bytes = texts.bytes;
	return FAIL_NONE;
}

size_t
recipe_decoded_cut(const struct recipe *r, size_t first_n, const uint8_t *text, size_t n)
{
	const struct recipe_decoder *d = &r->decoder;
	size_t cut = 0;

	if (d->strips_first)
		while (cut < n && cut < first_n && text[cut] == ' ')
			cut++;
	for (uint32_t i = 0; i < d->strips_n && cut < n && text[cut] == d->strip; i++)
		cut++;
	return cut;
}
