#include "consumer/admin/export_pieces.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buffer.h"

/* A stretch of a document, of the window that is being collected. */
struct piece {
	uint64_t document, offset;
	size_t at, n; /* in `token` */
};

struct export_pieces {
	struct export_pieces_sink sink;
	uint32_t eos;
	bool stream;
	uint64_t left_out;

	bool open;               /* a document is */
	bool cut_off;            /* its end can be missing: packing concat */
	uint64_t document, next; /* it, and the offset of the token after its last one */
	uint32_t last;           /* that last token */

	/* The window under way. */
	struct piece *piece;
	size_t pieces_n, pieces_room;
	uint32_t *token;
	size_t tokens_n, tokens_room;
	uint64_t window; /* sequences of it so far */
};

enum fail_code
export_pieces_open(struct export_pieces **out, const struct export_pieces_sink *sink, uint32_t eos,
    bool stream, struct failure *f)
{
	struct export_pieces *p = calloc(1, sizeof(*p));

	assert(sink->tokens != NULL);
	assert(sink->end != NULL);
	if (p == NULL)
		return fail_memory(f);
	p->sink = *sink;
	p->eos = eos;
	p->stream = stream;
	*out = p;
	return FAIL_NONE;
}

void
export_pieces_close(struct export_pieces *p)
{
	if (p == NULL)
		return;
	free(p->piece);
	free(p->token);
	free(p);
}

/* Ends the document that is open; `followed`: another one follows it in the stream. */
static enum fail_code
end_document(struct export_pieces *p, bool followed, struct failure *f)
{
	bool whole = p->stream || !p->cut_off || followed || p->last == p->eos;

	if (!p->open)
		return FAIL_NONE;
	p->open = false;
	p->left_out += !whole;
	return p->sink.end(p->sink.opaque, whole, f);
}

/*
 * A stretch of tokens [offset, offset + n) of a document. It continues the document that is open,
 * or ends that and starts another one at offset 0; anything else is a damaged log.
 *
 * Packing concat puts the last token of a sequence in front of the next one too (S inputs have S
 * targets): the stretch then begins one token before p->next, and that token is dropped here.
 */
static enum fail_code
give(struct export_pieces *p, uint64_t document, uint64_t offset, const uint32_t *id, size_t n,
    bool followed, struct failure *f)
{
	bool continues = p->open && document == p->document;

	assert(n > 0);
	if (continues && p->cut_off && offset + 1 == p->next && n == 1)
		return FAIL_NONE; /* nothing but the shared token */
	if (continues && p->cut_off && offset + 1 == p->next) {
		offset++;
		id++;
		n--;
	}
	if (continues && offset != p->next)
		return fail(f, FAIL_DATA,
		    "document %llu continues at its token %llu, and token %llu was expected",
		    (unsigned long long)document, (unsigned long long)offset,
		    (unsigned long long)p->next);
	if (!continues && end_document(p, followed, f) != FAIL_NONE)
		return f->code;
	if (!continues && offset != 0)
		return fail(f, FAIL_DATA, "document %llu begins with its token %llu",
		    (unsigned long long)document, (unsigned long long)offset);
	p->open = true;
	p->document = document;
	p->next = offset + n;
	p->last = id[n - 1];
	return p->sink.tokens(p->sink.opaque, id, n, f);
}

/* Tokens of span i: to the next one, or to the end of what is used. */
static size_t
span_length(const struct sequence_view *s, const struct sequence_span *span, size_t i)
{
	assert(i < s->payload.spans_n);
	return (i + 1 < s->payload.spans_n ? span[i + 1].start : s->payload.used) - span[i].start;
}

/* Whether the sequence begins with the token that the one before ended with. */
static bool
is_joined(const struct export_pieces *p, const struct sequence_span *first)
{
	return p->open && first->document == p->document && first->offset + 1 == p->next;
}

static enum fail_code
add_in_order(struct export_pieces *p, const struct sequence_view *s,
    const struct sequence_span *span, const uint32_t *token, struct failure *f)
{
	bool followed = is_joined(p, span);

	p->cut_off = s->position.packing == SEQUENCE_CONCAT;
	for (size_t i = 0; i < s->payload.spans_n; i++) {
		if (give(p, span[i].document, span[i].offset, token + span[i].start,
			span_length(s, span, i), followed || i > 0, f) != FAIL_NONE)
			return f->code;
	}
	return FAIL_NONE;
}

/* ---- windows ---- */

static int
compare_pieces(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	if (x->document != y->document)
		return x->document < y->document ? -1 : 1;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

/* The window is complete: its documents come out, in the order of their numbers. */
static enum fail_code
flush_window(struct export_pieces *p, struct failure *f)
{
	p->cut_off = false;
	qsort(p->piece, p->pieces_n, sizeof(*p->piece), compare_pieces);
	for (size_t i = 0; i < p->pieces_n; i++) {
		const struct piece *q = &p->piece[i];

		if (give(p, q->document, q->offset, p->token + q->at, q->n, true, f) != FAIL_NONE)
			return f->code;
	}
	p->pieces_n = p->tokens_n = 0;
	p->window = 0;
	return end_document(p, true, f);
}

static enum fail_code
keep(struct export_pieces *p, const struct sequence_span *span, const uint32_t *id, size_t n,
    struct failure *f)
{
	if (buffer_reserve_items(
		&p->piece, &p->pieces_room, p->pieces_n + 1, sizeof(*p->piece), f) != FAIL_NONE)
		return f->code;
	if (buffer_reserve_items(
		&p->token, &p->tokens_room, p->tokens_n + n, sizeof(*p->token), f) != FAIL_NONE)
		return f->code;
	p->piece[p->pieces_n++] = (struct piece){span->document, span->offset, p->tokens_n, n};
	assert(n <= p->tokens_room - p->tokens_n);
	memcpy(p->token + p->tokens_n, id, n * sizeof(*id));
	p->tokens_n += n;
	return FAIL_NONE;
}

/*
 * `window` counts the sequences of a window, from 1: a number that does not grow starts the next
 * window. Its documents are whole: best fit packing never carries one over into the next window.
 */
static enum fail_code
add_to_window(struct export_pieces *p, const struct sequence_view *s,
    const struct sequence_span *span, const uint32_t *token, struct failure *f)
{
	if (s->position.window <= p->window && flush_window(p, f) != FAIL_NONE)
		return f->code;
	p->window = s->position.window;
	for (size_t i = 0; i < s->payload.spans_n; i++)
		if (keep(p, &span[i], token + span[i].start, span_length(s, span, i), f) !=
		    FAIL_NONE)
			return f->code;
	return FAIL_NONE;
}

static enum fail_code
add_as_stream(struct export_pieces *p, const struct sequence_view *s,
    const struct sequence_span *span, const uint32_t *token, struct failure *f)
{
	bool joined =
	    s->position.packing == SEQUENCE_CONCAT && s->payload.spans_n > 0 && is_joined(p, span);

	for (size_t i = 0; i < s->payload.spans_n; i++) {
		size_t n = span_length(s, span, i), shared = i == 0 && joined;
		bool continues = p->open && span[i].document == p->document &&
				 span[i].offset + shared == p->next;

		if (!continues && end_document(p, true, f) != FAIL_NONE)
			return f->code;
		p->open = true;
		p->document = span[i].document;
		p->next = span[i].offset + n;
		if (n > shared && p->sink.tokens(p->sink.opaque, token + span[i].start + shared,
				      n - shared, f) != FAIL_NONE)
			return f->code;
	}
	return FAIL_NONE;
}

enum fail_code
export_pieces_add(struct export_pieces *p, const struct sequence_view *s,
    const struct sequence_span *span, const uint32_t *token, struct failure *f)
{
	if (s->payload.spans_n == 0)
		return FAIL_NONE;
	if (p->stream)
		return add_as_stream(p, s, span, token, f);
	if (s->position.packing == SEQUENCE_BEST_FIT)
		return add_to_window(p, s, span, token, f);
	return add_in_order(p, s, span, token, f);
}

enum fail_code
export_pieces_finish(struct export_pieces *p, struct failure *f)
{
	if (p->pieces_n > 0 && flush_window(p, f) != FAIL_NONE)
		return f->code;
	p->window = 0;
	return end_document(p, false, f);
}

uint64_t
export_pieces_left_out(const struct export_pieces *p)
{
	return p->left_out;
}
