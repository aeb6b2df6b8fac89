/*
 * Packing `none`: one document a sequence, a long one in pieces of S+1; see pack.h.
 *
 * Only one document is kept, the one at hand: pack_next() has given all of the one before when the
 * next one comes.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "producer/pack/pack_internal.h"

#include "common/base/buffer.h"

struct none {
	struct pack base;
	struct pack_document document; /* the one at hand; its keep is in `keep` */
	uint8_t *keep;
	size_t keep_room;
	struct pack_tokens tokens; /* [head, n) are of it and in no sequence yet */
	size_t head;
	uint64_t offset; /* in the document of token[head] */
};

static void
none_close(struct pack *p)
{
	struct none *n = (struct none *)p;

	free(n->keep);
	free(n->tokens.token);
	free(n);
}

/* Makes `d` the document at hand, from its token `first` on: after a resume not from 0. */
static enum fail_code
begin_document(struct none *n, const struct pack_document *d, uint64_t first, struct failure *f)
{
	if (buffer_reserve_items(&n->keep, &n->keep_room, d->keep_n, 1, f) != FAIL_NONE)
		return f->code;
	if (d->keep_n > 0)
		memcpy(n->keep, d->keep, d->keep_n);
	n->document = *d;
	n->document.keep = n->keep;
	n->offset = first;
	n->head = n->tokens.n = 0;
	return FAIL_NONE;
}

static enum fail_code
none_add(struct pack *p, const struct pack_document *d, const uint32_t *id, uint64_t first,
    uint64_t end, struct failure *f)
{
	struct none *n = (struct none *)p;
	uint64_t taken = pack_taken(&p->o, d->n), at = n->offset + (n->tokens.n - n->head);
	bool continues = first > 0 && n->document.n > 0 && at == first &&
			 n->document.place.document == d->place.document;

	if (first >= taken)
		return FAIL_NONE; /* the rest of a document that is truncated */
	if (end > taken)
		end = taken;
	assert(continues || n->head == n->tokens.n); /* the document before is out */
	if (!continues && begin_document(n, d, first, f) != FAIL_NONE)
		return f->code;
	if (n->head > 0) {
		n->tokens.n -= n->head;
		memmove(n->tokens.token, n->tokens.token + n->head,
		    n->tokens.n * sizeof(*n->tokens.token));
		n->head = 0;
	}
	return pack_tokens_add(&n->tokens, id + first, end - first, f);
}

static void
none_finish(struct pack *p)
{
	(void)p; /* a document that has ended is out */
}

static enum fail_code
none_next(struct pack *p, struct pack_sequence **out, bool *there, struct failure *f)
{
	struct none *n = (struct none *)p;
	const struct pack_document *d = &n->document;
	size_t count = (size_t)p->o.sequence_length + 1, have = n->tokens.n - n->head;
	uint64_t taken = pack_taken(&p->o, d->n);
	struct pack_piece piece = {.place = &d->place,
	    .offset = n->offset,
	    .keep = d->keep,
	    .keep_n = d->keep_n,
	    .token = n->tokens.token + n->head,
	    .n = (uint32_t)(have < count ? have : count)};

	/* A full piece, or the end of the document. */
	*there = have >= count || (have > 0 && n->offset + have == taken);
	if (!*there)
		return FAIL_NONE;
	if (pack_build(out, &p->o, &piece, 1, f) != FAIL_NONE)
		return f->code;
	(*out)->dropped = n->offset == 0 ? d->n - taken : 0;
	n->head += piece.n;
	n->offset += piece.n;
	return FAIL_NONE;
}

static uint64_t
none_left(const struct pack *p, bool any_sequence)
{
	const struct none *n = (const struct none *)p;

	(void)any_sequence;
	return n->tokens.n - n->head;
}

static const struct pack_method method = {none_add, none_finish, none_next, none_left, none_close};

enum fail_code
pack_none_open(struct pack **out, struct failure *f)
{
	struct none *n = calloc(1, sizeof(*n));

	if (n == NULL)
		return fail_memory(f);
	n->base.method = &method;
	*out = &n->base;
	return FAIL_NONE;
}
