#include "producer/pack/pack.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buffer.h"
#include "producer/pack/pack_internal.h"

enum fail_code
pack_open(struct pack **out, const struct pack_options *o, struct failure *f)
{
	enum fail_code code = FAIL_NONE;
	struct pack *p = NULL;

	assert(o->sequence_length >= 1);
	assert(o->sequence_length < SEQUENCE_TOKENS_MAX);
	switch (o->packing) {
	case SEQUENCE_CONCAT: code = pack_concat_open(&p, f); break;
	case SEQUENCE_NONE: code = pack_none_open(&p, f); break;
	case SEQUENCE_BEST_FIT: code = pack_best_fit_open(&p, o->sequence_length, f); break;
	}
	if (code != FAIL_NONE)
		return code;
	p->o = *o;
	*out = p;
	return FAIL_NONE;
}

void
pack_close(struct pack *p)
{
	if (p != NULL)
		p->method->close(p);
}

enum fail_code
pack_add(struct pack *p, const struct pack_document *d, const uint32_t *id, uint64_t first,
    uint64_t end, struct failure *f)
{
	assert(first < end);
	assert(end <= d->n);
	return p->method->add(p, d, id, first, end, f);
}

void
pack_finish(struct pack *p)
{
	p->method->finish(p);
}

enum fail_code
pack_next(struct pack *p, struct pack_sequence **out, bool *there, struct failure *f)
{
	return p->method->next(p, out, there, f);
}

uint64_t
pack_left(const struct pack *p, bool any_sequence)
{
	return p->method->left(p, any_sequence);
}

void
pack_sequence_close(struct pack_sequence *s)
{
	if (s == NULL)
		return;
	free(s->token);
	free(s->span);
	free(s->no_loss);
	free(s->source);
	free(s->keep);
	free(s);
}

uint64_t
pack_taken(const struct pack_options *o, uint64_t n)
{
	uint64_t most = (uint64_t)o->sequence_length + 1;

	return o->truncate && n > most ? most : n;
}

bool
pack_has_target(const struct pack_options *o, const uint32_t *id, uint64_t n)
{
	uint64_t taken = pack_taken(o, n), count = (uint64_t)o->sequence_length + 1;

	for (uint64_t i = 0; i < taken; i++)
		if ((id[i] & PACK_NO_LOSS) == 0 &&
		    (o->packing == SEQUENCE_CONCAT || i % count != 0))
			return true;
	return false;
}

enum fail_code
pack_tokens_add(struct pack_tokens *t, const uint32_t *token, size_t n, struct failure *f)
{
	if (buffer_reserve_items(&t->token, &t->room, t->n + n, sizeof(*t->token), f) != FAIL_NONE)
		return f->code;
	memcpy(t->token + t->n, token, n * sizeof(*token));
	t->n += n;
	return FAIL_NONE;
}

/* ---- a sequence from its pieces ---- */

/* At most so many ranges of token[n] are without loss. */
static size_t
count_no_loss(const uint32_t *token, size_t n)
{
	size_t ranges = token[0] >> 31;

	for (size_t i = 1; i < n; i++)
		ranges += (token[i] & ~token[i - 1]) >> 31;
	return ranges;
}

/* Room for all that the pieces can need; NULL: no memory. */
static struct pack_sequence *
open_sequence(size_t count, const struct pack_piece *piece, size_t pieces_n)
{
	struct pack_sequence *s = calloc(1, sizeof(*s));
	size_t keep_n = 0, ranges = 1; /* the padding */

	if (s == NULL)
		return NULL;
	for (size_t i = 0; i < pieces_n; i++) {
		keep_n += piece[i].keep_n;
		ranges += count_no_loss(piece[i].token, piece[i].n);
	}
	s->token = malloc(count * sizeof(*s->token));
	s->span = calloc(pieces_n, sizeof(*s->span));
	s->no_loss = calloc(ranges, sizeof(*s->no_loss));
	s->source = calloc(pieces_n, sizeof(*s->source));
	s->keep = keep_n == 0 ? NULL : malloc(keep_n);
	if (s->token != NULL && s->span != NULL && s->no_loss != NULL && s->source != NULL &&
	    (keep_n == 0 || s->keep != NULL))
		return s;
	pack_sequence_close(s);
	return NULL;
}

/*
 * Index of `file` among the sources, which it joins if it is new. Files come one after the other,
 * so that only the last source can be the same.
 */
static uint32_t
source_index(struct pack_sequence *s, const char *file)
{
	size_t n = strlen(file);

	if (s->sources_n > 0) {
		const struct text_view *last = &s->source[s->sources_n - 1];

		if (last->n == n && memcmp(last->bytes, file, n) == 0)
			return (uint32_t)(s->sources_n - 1);
	}
	s->source[s->sources_n] = (struct text_view){file, n};
	return (uint32_t)s->sources_n++;
}

/* Ranges come in order, and two that touch become one. */
static void
add_no_loss(struct pack_sequence *s, uint32_t start, uint32_t end)
{
	assert(start < end);
	if (s->no_loss_n > 0 && s->no_loss[s->no_loss_n - 1].end == start)
		s->no_loss[s->no_loss_n - 1].end = end;
	else
		s->no_loss[s->no_loss_n++] = (struct sequence_range){start, end};
}

/* Adds token[n], and the ranges of them that are without loss. */
static void
add_tokens(struct pack_sequence *s, const uint32_t *token, uint32_t n)
{
	uint32_t *to = s->token + s->used, marks = 0;

	for (uint32_t i = 0; i < n; i++) {
		marks |= token[i];
		to[i] = token[i] & ~PACK_NO_LOSS;
	}
	for (uint32_t i = 0; (marks & PACK_NO_LOSS) != 0 && i < n; i++)
		if ((token[i] & PACK_NO_LOSS) != 0)
			add_no_loss(s, s->used + i, s->used + i + 1);
	s->used += n;
}

enum fail_code
pack_build(struct pack_sequence **out, const struct pack_options *o, const struct pack_piece *piece,
    size_t pieces_n, struct failure *f)
{
	uint32_t count = o->sequence_length + 1;
	struct pack_sequence *s = open_sequence(count, piece, pieces_n);
	uint8_t *keep;

	assert(pieces_n >= 1);
	if (s == NULL)
		return fail_memory(f);
	keep = s->keep;
	for (size_t i = 0; i < pieces_n; i++) {
		const struct pack_piece *k = &piece[i];
		struct sequence_span *span = &s->span[s->spans_n++];

		assert(k->n >= 1);
		assert(k->n <= count - s->used);
		*span = (struct sequence_span){.start = s->used,
		    .source = source_index(s, k->place->file),
		    .document = k->place->document,
		    .offset = k->offset,
		    .keep = k->keep_n == 0 ? NULL : keep,
		    .keep_n = k->keep_n};
		if (k->keep_n > 0) {
			memcpy(keep, k->keep, k->keep_n);
			keep += k->keep_n;
		}
		add_tokens(s, k->token, k->n);
	}
	s->place = *piece[pieces_n - 1].place;
	s->offset = piece[pieces_n - 1].offset + piece[pieces_n - 1].n - 1;
	if (s->used < count)
		add_no_loss(s, s->used, count);
	for (uint32_t i = s->used; i < count; i++)
		s->token[i] = o->eos;
	*out = s;
	return FAIL_NONE;
}
