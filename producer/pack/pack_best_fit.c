/*
 * Packing `best_fit`: several whole documents a sequence; see pack.h.
 *
 *   tokens:  [ rests of the window | the document at hand: given out | not yet ]
 *              0                     tail                              head      n
 *
 * Life of a window:
 *
 *     FILLING    documents come. Each gives its full pieces of S+1 as sequences at once; what is
 *        |       left of it, at most S tokens, is a rest and moves to the front.
 *        |  the last document has ended, or the input has (best_fit_finish)
 *     PACKED     the rests have their bins, and each bin is given out as a sequence.
 *        |  the last bin is out
 *     FILLING    the next window; all memory is used again.
 *
 * Why a window: best fit over all documents would hold all of them, and a restart would have to
 * read all of them again. Windows of 4096 documents use 99.8 % of the room of their sequences
 * (docs/design/documents.md).
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buffer.h"
#include "producer/pack/bins.h"
#include "producer/pack/pack_internal.h"

static_assert((int)PACK_WINDOW == (int)BINS_ITEMS_MAX, "a window is packed at once");
static_assert((int)BINS_CAPACITY_MAX == (int)SEQUENCE_TOKENS_MAX, "a bin is a sequence");

/* What shares a sequence with others: a document, or what its full pieces have left of it. */
struct rest {
	struct pack_place place;
	uint64_t offset; /* in the document, of its first token */
	size_t token_at; /* in `tokens` */
	size_t keep_at, keep_n;
};

struct best_fit {
	struct pack base;
	struct bins *bins;
	struct pack_tokens tokens;
	size_t tail, head;
	uint8_t *keep; /* of the documents of the window, the one at hand included */
	size_t keep_n, keep_room;
	struct pack_document document; /* at hand, where `begun`; its keep ends at keep_n */
	bool begun;
	uint64_t offset;         /* in the document of token[head] */
	uint32_t documents;      /* of the window: those that have ended */
	struct pack_place first; /* of the window */
	uint64_t out;            /* sequences of the window that were given */

	uint32_t length[PACK_WINDOW]; /* by rest */
	struct rest rest[PACK_WINDOW];
	size_t rests_n;

	/* Once the window is packed: rests by their bins, in each in the order of the input. */
	bool packed;
	uint32_t bin[PACK_WINDOW];           /* by rest */
	uint32_t by_bin[PACK_WINDOW];        /* rests */
	uint32_t bin_first[PACK_WINDOW + 1]; /* by bin: where its rests begin there */
	size_t bins_n, bin_next;
	struct pack_piece piece[PACK_WINDOW]; /* of the sequence that is built */
};

static void
best_fit_close(struct pack *p)
{
	struct best_fit *b = (struct best_fit *)p;

	bins_close(b->bins);
	free(b->tokens.token);
	free(b->keep);
	free(b);
}

/* Makes `d` the document at hand; the first one names the window. */
static enum fail_code
begin_document(struct best_fit *b, const struct pack_document *d, struct failure *f)
{
	if (buffer_reserve_items(
		&b->keep, &b->keep_room, b->keep_n + d->keep_n, sizeof(*b->keep), f) != FAIL_NONE)
		return f->code;
	if (d->keep_n > 0)
		memcpy(b->keep + b->keep_n, d->keep, d->keep_n);
	b->keep_n += d->keep_n;
	if (b->documents == 0)
		b->first = d->place;
	b->document = *d;
	b->begun = true;
	b->offset = 0;
	return FAIL_NONE;
}

static enum fail_code
best_fit_add(struct pack *p, const struct pack_document *d, const uint32_t *id, uint64_t first,
    uint64_t end, struct failure *f)
{
	struct best_fit *b = (struct best_fit *)p;
	uint64_t taken = pack_taken(&p->o, d->n);

	assert(!b->packed); /* all sequences of the window before are out */
	if (first >= taken)
		return FAIL_NONE; /* of a document that has ended for us */
	if (end > taken)
		end = taken;
	assert(b->begun == (first > 0));
	if (first == 0 && begin_document(b, d, f) != FAIL_NONE)
		return f->code;
	assert(b->document.place.document == d->place.document);
	assert(b->offset + (b->tokens.n - b->head) == first);
	return pack_tokens_add(&b->tokens, id + first, end - first, f);
}

/*
 * Packs the window: gives each rest its bin, and lists the rests bin by bin. That is a counting
 * sort: rests are counted by bin, the counts are added up to where each bin begins, and each rest
 * goes to the next place of its bin. So the rests of a bin stay in the order of the input.
 */
static void
pack_window(struct best_fit *b)
{
	uint32_t *at = b->bin_first;

	assert(!b->begun);
	b->bins_n = bins_assign(b->bins, b->length, b->rests_n, b->bin);
	memset(at, 0, (b->bins_n + 1) * sizeof(*at));
	for (size_t i = 0; i < b->rests_n; i++)
		at[b->bin[i] + 1]++;
	for (size_t i = 0; i < b->bins_n; i++)
		at[i + 1] += at[i];
	for (size_t i = 0; i < b->rests_n; i++)
		b->by_bin[at[b->bin[i]]++] = (uint32_t)i;
	/* Each bin's place has moved on to where the next bin began; back by one. */
	memmove(at + 1, at, b->bins_n * sizeof(*at));
	at[0] = 0;
	b->bin_next = 0;
	b->packed = true;
}

static void
empty_window(struct best_fit *b)
{
	b->tokens.n = b->tail = b->head = 0;
	b->keep_n = 0;
	b->documents = 0;
	b->out = 0;
	b->rests_n = 0;
	b->packed = false;
}

/*
 * Ends the document at hand: all of it is there, and its full pieces are out. What is left becomes
 * a rest and closes up with the others; a document without one leaves nothing, not even its keep.
 */
static void
end_document(struct best_fit *b)
{
	size_t n = b->tokens.n - b->head;

	assert(b->begun);
	assert(b->rests_n < PACK_WINDOW);
	if (n > 0) {
		memmove(b->tokens.token + b->tail, b->tokens.token + b->head,
		    n * sizeof(*b->tokens.token));
		b->length[b->rests_n] = (uint32_t)n;
		b->rest[b->rests_n++] = (struct rest){.place = b->document.place,
		    .offset = b->offset,
		    .token_at = b->tail,
		    .keep_at = b->keep_n - b->document.keep_n,
		    .keep_n = b->document.keep_n};
	} else {
		b->keep_n -= b->document.keep_n;
	}
	b->tokens.n = b->tail = b->head = b->tail + n;
	b->begun = false;
	b->documents++;
	if (b->documents == PACK_WINDOW || b->tokens.n >= PACK_WINDOW_TOKENS ||
	    b->keep_n >= PACK_WINDOW_KEEP_BYTES)
		pack_window(b);
}

static void
best_fit_finish(struct pack *p)
{
	struct best_fit *b = (struct best_fit *)p;

	assert(!b->begun);
	if (!b->packed && b->documents > 0)
		pack_window(b);
}

/* A producer resumes at the window's first document and leaves out what it has of the window. */
static void
place_sequence(struct best_fit *b, struct pack_sequence *s)
{
	s->place = b->first;
	s->offset = 0;
	s->window = ++b->out;
}

/* Gives S+1 tokens of the document at hand. */
static enum fail_code
give_full_piece(struct best_fit *b, struct pack_sequence **out, struct failure *f)
{
	const struct pack_document *d = &b->document;
	struct pack_piece piece = {.place = &d->place,
	    .offset = b->offset,
	    .keep = d->keep_n == 0 ? NULL : b->keep + (b->keep_n - d->keep_n),
	    .keep_n = d->keep_n,
	    .token = b->tokens.token + b->head,
	    .n = b->base.o.sequence_length + 1};

	if (pack_build(out, &b->base.o, &piece, 1, f) != FAIL_NONE)
		return f->code;
	place_sequence(b, *out);
	(*out)->dropped = b->offset == 0 ? d->n - pack_taken(&b->base.o, d->n) : 0;
	b->head += piece.n;
	b->offset += piece.n;
	return FAIL_NONE;
}

/* Gives the rests of the next bin. */
static enum fail_code
give_bin(struct best_fit *b, struct pack_sequence **out, struct failure *f)
{
	size_t first = b->bin_first[b->bin_next], n = b->bin_first[b->bin_next + 1] - first;

	for (size_t i = 0; i < n; i++) {
		uint32_t k = b->by_bin[first + i];
		const struct rest *r = &b->rest[k];

		b->piece[i] = (struct pack_piece){.place = &r->place,
		    .offset = r->offset,
		    .keep = r->keep_n == 0 ? NULL : b->keep + r->keep_at,
		    .keep_n = r->keep_n,
		    .token = b->tokens.token + r->token_at,
		    .n = b->length[k]};
	}
	if (pack_build(out, &b->base.o, b->piece, n, f) != FAIL_NONE)
		return f->code;
	place_sequence(b, *out);
	b->bin_next++;
	return FAIL_NONE;
}

static enum fail_code
best_fit_next(struct pack *p, struct pack_sequence **out, bool *there, struct failure *f)
{
	struct best_fit *b = (struct best_fit *)p;
	size_t have = b->tokens.n - b->head;

	*there = true;
	if (b->begun && have > p->o.sequence_length)
		return give_full_piece(b, out, f);
	if (b->begun && b->offset + have == pack_taken(&p->o, b->document.n))
		end_document(b);
	if (b->packed && b->bin_next < b->bins_n)
		return give_bin(b, out, f);
	if (b->packed)
		empty_window(b);
	*there = false;
	return FAIL_NONE;
}

static uint64_t
best_fit_left(const struct pack *p, bool any_sequence)
{
	const struct best_fit *b = (const struct best_fit *)p;

	(void)any_sequence;
	return b->tail + (b->tokens.n - b->head);
}

static const struct pack_method method = {
    best_fit_add, best_fit_finish, best_fit_next, best_fit_left, best_fit_close};

enum fail_code
pack_best_fit_open(struct pack **out, uint32_t sequence_length, struct failure *f)
{
	struct best_fit *b = calloc(1, sizeof(*b));

	if (b == NULL)
		return fail_memory(f);
	b->base.method = &method;
	if (bins_open(&b->bins, sequence_length + 1, f) != FAIL_NONE) {
		best_fit_close(&b->base);
		return f->code;
	}
	*out = &b->base;
	return FAIL_NONE;
}
