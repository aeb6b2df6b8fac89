/*
 * Packing `concat`: all documents end to end, cut every S tokens; see pack.h.
 *
 *   tokens:   [ in sequences that are out | shared | not yet in a sequence ]
 *              0                            head                            n
 *   stretch:  [ freed | the document of token[head] | later documents ... ]
 *              0        first                                     stretches_n
 *
 * A sequence is token[head .. head + S]; then head moves on by S, so that the last token is shared
 * with the next one. Before any sequence is out nothing is shared.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "producer/pack/pack_internal.h"

#include "common/base/buffer.h"

/* A document's stretch of the buffer. */
struct stretch {
	size_t start;    /* index in the buffer of its first token there */
	uint64_t offset; /* of that token in the document */
	struct pack_place place;
	uint8_t *keep; /* owned */
	size_t keep_n;
};

struct concat {
	struct pack base;
	struct pack_tokens tokens; /* [head, n) are in no sequence yet, or shared with the last */
	size_t head;
	struct stretch *stretch; /* by start; the one that holds token[head] comes first */
	size_t first, stretches_n, stretches_room;
	struct pack_piece *piece; /* of the sequence that is built */
	size_t pieces_room;
};

static void
concat_close(struct pack *p)
{
	struct concat *c = (struct concat *)p;

	for (size_t i = c->first; i < c->stretches_n; i++)
		free(c->stretch[i].keep);
	free(c->tokens.token);
	free(c->stretch);
	free(c->piece);
	free(c);
}

/*
 * Moves what is still needed to the front. The caller waits until the front half is not needed, so
 * that no token is moved more often than one was packed.
 */
static void
compact(struct concat *c)
{
	struct pack_tokens *t = &c->tokens;

	memmove(t->token, t->token + c->head, (t->n - c->head) * sizeof(*t->token));
	memmove(
	    c->stretch, c->stretch + c->first, (c->stretches_n - c->first) * sizeof(*c->stretch));
	c->stretches_n -= c->first;
	c->first = 0;
	for (size_t i = 0; i < c->stretches_n; i++) {
		struct stretch *s = &c->stretch[i];

		if (s->start < c->head) {
			s->offset += c->head - s->start;
			s->start = c->head;
		}
		s->start -= c->head;
	}
	t->n -= c->head;
	c->head = 0;
}

/* Whether token `first` of the document follows the last one in the buffer. */
static bool
continues(const struct concat *c, const struct pack_place *place, uint64_t first)
{
	const struct stretch *last;

	if (c->stretches_n == 0 || first == 0)
		return false;
	last = &c->stretch[c->stretches_n - 1];
	return last->place.document == place->document &&
	       last->offset + (c->tokens.n - last->start) == first;
}

static enum fail_code
begin_stretch(struct concat *c, const struct pack_document *d, uint64_t first, struct failure *f)
{
	uint8_t *keep = NULL;

	if (buffer_reserve_items(&c->stretch, &c->stretches_room, c->stretches_n + 1,
		sizeof(*c->stretch), f) != FAIL_NONE)
		return f->code;
	if (d->keep_n > 0) {
		keep = malloc(d->keep_n);
		if (keep == NULL)
			return fail_memory(f);
		memcpy(keep, d->keep, d->keep_n);
	}
	c->stretch[c->stretches_n++] = (struct stretch){.start = c->tokens.n,
	    .offset = first,
	    .place = d->place,
	    .keep = keep,
	    .keep_n = d->keep_n};
	return FAIL_NONE;
}

static enum fail_code
concat_add(struct pack *p, const struct pack_document *d, const uint32_t *id, uint64_t first,
    uint64_t end, struct failure *f)
{
	struct concat *c = (struct concat *)p;

	if (c->head > c->tokens.n / 2)
		compact(c);
	if (!continues(c, &d->place, first) && begin_stretch(c, d, first, f) != FAIL_NONE)
		return f->code;
	return pack_tokens_add(&c->tokens, id + first, end - first, f);
}

static void
concat_finish(struct pack *p)
{
	(void)p; /* what does not fill a sequence stays until more comes */
}

/* Lists the documents in token[head .. end) as pieces. */
static enum fail_code
list_pieces(struct concat *c, size_t end, size_t *pieces_n, struct failure *f)
{
	size_t n = 0;

	while (c->first + n < c->stretches_n && c->stretch[c->first + n].start < end)
		n++;
	if (c->pieces_room < n) {
		struct pack_piece *grown = realloc(c->piece, 2 * n * sizeof(*grown));

		if (grown == NULL)
			return fail_memory(f);
		c->piece = grown;
		c->pieces_room = 2 * n;
	}
	for (size_t i = 0; i < n; i++) {
		const struct stretch *s = &c->stretch[c->first + i];
		size_t from = s->start < c->head ? c->head : s->start;
		size_t to = i + 1 < n ? s[1].start : end;

		c->piece[i] = (struct pack_piece){.place = &s->place,
		    .offset = s->offset + (from - s->start),
		    .keep = s->keep,
		    .keep_n = s->keep_n,
		    .token = c->tokens.token + from,
		    .n = (uint32_t)(to - from)};
	}
	assert(n >= 1); /* stretches cover all tokens */
	*pieces_n = n;
	return FAIL_NONE;
}

static enum fail_code
concat_next(struct pack *p, struct pack_sequence **out, bool *there, struct failure *f)
{
	struct concat *c = (struct concat *)p;
	size_t count = (size_t)p->o.sequence_length + 1, pieces_n = 0;

	*there = c->tokens.n - c->head >= count;
	if (!*there)
		return FAIL_NONE;
	if (list_pieces(c, c->head + count, &pieces_n, f) != FAIL_NONE ||
	    pack_build(out, &p->o, c->piece, pieces_n, f) != FAIL_NONE)
		return f->code;
	c->head += p->o.sequence_length;
	while (c->first + 1 < c->stretches_n && c->stretch[c->first + 1].start <= c->head)
		free(c->stretch[c->first++].keep);
	return FAIL_NONE;
}

static uint64_t
concat_left(const struct pack *p, bool any_sequence)
{
	const struct concat *c = (const struct concat *)p;
	size_t left = c->tokens.n - c->head;

	assert(!any_sequence || left >= 1);
	return any_sequence ? left - 1 : left;
}

static const struct pack_method method = {
    concat_add, concat_finish, concat_next, concat_left, concat_close};

enum fail_code
pack_concat_open(struct pack **out, struct failure *f)
{
	struct concat *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return fail_memory(f);
	c->base.method = &method;
	*out = &c->base;
	return FAIL_NONE;
}
