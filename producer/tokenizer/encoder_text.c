#include "producer/tokenizer/encoder_text.h"

#include "producer/pretokenizer/code_point.h"

/* What all steps of one text need. */
struct work {
	struct encoder *e;
	struct encoder_text *s;
	const struct recipe *r;
	struct token_buffer *out;
};

void
encoder_text_close(struct encoder_text *s)
{
	normalizer_scratch_close(&s->normalizer);
	pretokenizer_scratch_close(&s->pretokenizer);
}

static enum fail_code
push(struct token_buffer *out, const uint32_t *id, size_t n, struct failure *f)
{
	if (token_buffer_reserve(out, n, f) != FAIL_NONE)
		return f->code;
	for (size_t i = 0; i < n; i++)
		out->id[out->n++] = id[i];
	return FAIL_NONE;
}

/* Pieces of normalised text between added tokens. */
static enum fail_code
encode_stretch(const struct work *w, const uint8_t *text, size_t n, size_t head, struct failure *f)
{
	const struct pretokenizer *p = &w->r->pretokenizer;
	const struct pretokenizer_cuts *cuts;

	if (n > SPLITTER_TEXT_MAX)
		return fail(f, FAIL_MEMORY, "a text that becomes %zu bytes is too long", n);
	if (pretokenizer_is_one_split(p))
		return encoder_split(w->e, p->step[0].pattern, text, n, w->out, f);
	if (pretokenizer_run(p, &w->s->pretokenizer, text, n, head, &cuts, f) != FAIL_NONE)
		return f->code;
	return encoder_pieces(w->e, cuts, w->out, f);
}

/* Text between the added tokens of the text as it is. `head`: bytes of the document's first
 * character. */
static enum fail_code
encode_segment(const struct work *w, const uint8_t *text, size_t n, size_t head, struct failure *f)
{
	struct added_search search = {.set = &w->r->normalized};
	struct added_span span;

	if (normalizer_run(&w->r->normalizer, &w->s->normalizer, text, n, &search.text, &search.n,
		&head, f) != FAIL_NONE)
		return f->code;
	while (added_search_next(&search, &span)) {
		size_t left = head > span.start ? head - span.start : 0;
		enum fail_code code = span.token != NULL
					  ? push(w->out, &span.token->id, 1, f)
					  : encode_stretch(w, search.text + span.start,
						span.end - span.start, left, f);

		if (code != FAIL_NONE)
			return code;
	}
	return FAIL_NONE;
}

static enum fail_code
encode_all(const struct work *w, const uint8_t *text, size_t n, struct failure *f)
{
	struct added_search search = {.set = &w->r->raw, .text = text, .n = n};
	struct added_span span;

	while (added_search_next(&search, &span)) {
		uint32_t point;
		size_t head = span.start == 0 ? code_point_read(text, &point) : 0;
		enum fail_code code = span.token != NULL ? push(w->out, &span.token->id, 1, f)
							 : encode_segment(w, text + span.start,
							       span.end - span.start, head, f);

		if (code != FAIL_NONE)
			return code;
	}
	return FAIL_NONE;
}

enum fail_code
encoder_text_encode(struct encoder *e, struct encoder_text *s, const struct recipe *r,
    const uint8_t *text, size_t n, struct token_buffer *out, struct failure *f)
{
	struct work w = {e, s, r, out};

	if (push(out, r->before, r->before_n, f) != FAIL_NONE ||
	    encode_all(&w, text, n, f) != FAIL_NONE)
		return f->code;
	return push(out, r->after, r->after_n, f);
}
