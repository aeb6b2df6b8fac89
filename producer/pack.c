#include "producer/pack.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* A document's stretch of the buffer. */
struct stretch {
	size_t start;    /* index in the buffer of its first token there */
	uint64_t offset; /* of that token in the document */
	struct pack_place place;
};

struct pack {
	uint32_t length; /* S */
	uint32_t *token; /* [head, n) are in no sequence yet, or shared with the last one */
	size_t head, n, room;
	struct stretch *stretch; /* by start; the one that holds token[head] comes first */
	size_t first, stretches_n, stretches_room;
};

enum fail_code
pack_open(struct pack **out, uint32_t sequence_length, struct failure *f)
{
	struct pack *p = calloc(1, sizeof(*p));

	assert(sequence_length >= 1);
	if (p == NULL)
		return fail_memory(f);
	p->length = sequence_length;
	*out = p;
	return FAIL_NONE;
}

void
pack_close(struct pack *p)
{
	if (p == NULL)
		return;
	free(p->token);
	free(p->stretch);
	free(p);
}

/* Moves what is still needed to the front; the cost is that of what was cut since. */
static void
compact(struct pack *p)
{
	memmove(p->token, p->token + p->head, (p->n - p->head) * sizeof(*p->token));
	memmove(
	    p->stretch, p->stretch + p->first, (p->stretches_n - p->first) * sizeof(*p->stretch));
	p->stretches_n -= p->first;
	p->first = 0;
	for (size_t i = 0; i < p->stretches_n; i++) {
		struct stretch *s = &p->stretch[i];

		if (s->start < p->head) {
			s->offset += p->head - s->start;
			s->start = p->head;
		}
		s->start -= p->head;
	}
	p->n -= p->head;
	p->head = 0;
}

static enum fail_code
make_room(struct pack *p, size_t more, struct failure *f)
{
	if (p->head > p->n / 2)
		compact(p);
	if (p->room - p->n < more) {
		size_t room = 2 * p->room + more;
		uint32_t *grown = realloc(p->token, room * sizeof(*grown));

		if (grown == NULL)
			return fail_memory(f);
		p->token = grown;
		p->room = room;
	}
	if (p->stretches_n == p->stretches_room) {
		size_t room = 2 * p->stretches_room + 16;
		struct stretch *grown = realloc(p->stretch, room * sizeof(*grown));

		if (grown == NULL)
			return fail_memory(f);
		p->stretch = grown;
		p->stretches_room = room;
	}
	return FAIL_NONE;
}

/* Whether token `first` of the document follows the last one that is there. */
static bool
goes_on(const struct pack *p, const struct pack_place *place, size_t first)
{
	const struct stretch *last;

	if (p->stretches_n == 0 || first == 0)
		return false;
	last = &p->stretch[p->stretches_n - 1];
	return last->place.document == place->document &&
	       last->offset + (p->n - last->start) == first;
}

enum fail_code
pack_add(struct pack *p, const struct pack_place *place, const uint32_t *id, size_t n, size_t first,
    struct failure *f)
{
	assert(first < n);
	if (make_room(p, n - first, f) != FAIL_NONE)
		return f->code;
	if (!goes_on(p, place, first))
		p->stretch[p->stretches_n++] =
		    (struct stretch){.start = p->n, .offset = first, .place = *place};
	memcpy(p->token + p->n, id + first, (n - first) * sizeof(*id));
	p->n += n - first;
	return FAIL_NONE;
}

/* Index of `file` among the sources, which it joins where it is new: an input reads its files one
 * after the other, so that only the last can be the same. */
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

/* Describes the documents in token[head .. end), and where the last token stands. */
static void
describe(const struct pack *p, struct pack_sequence *s, size_t end)
{
	for (size_t i = p->first; i < p->stretches_n && p->stretch[i].start < end; i++) {
		const struct stretch *d = &p->stretch[i];
		size_t from = d->start < p->head ? p->head : d->start;

		s->span[s->spans_n++] = (struct sequence_span){
		    .start = (uint32_t)(from - p->head),
		    .source = source_index(s, d->place.file),
		    .document = d->place.document,
		    .offset = d->offset + (from - d->start),
		};
		s->place = d->place;
		s->offset = d->offset + (end - 1 - d->start);
	}
}

/* Stretches that begin before `end`. */
static size_t
count_stretches(const struct pack *p, size_t end)
{
	size_t i = p->first;

	while (i < p->stretches_n && p->stretch[i].start < end)
		i++;
	return i - p->first;
}

enum fail_code
pack_next(struct pack *p, struct pack_sequence **out, bool *there, struct failure *f)
{
	size_t count = p->length + 1, end = p->head + count, stretches;
	struct pack_sequence *s;

	*there = p->n - p->head >= count;
	if (!*there)
		return FAIL_NONE;
	stretches = count_stretches(p, end);
	s = calloc(1, sizeof(*s));
	if (s == NULL)
		return fail_memory(f);
	s->token = malloc(count * sizeof(*s->token));
	s->span = calloc(stretches, sizeof(*s->span));
	s->source = calloc(stretches, sizeof(*s->source));
	if (s->token == NULL || s->span == NULL || s->source == NULL) {
		pack_sequence_close(s);
		return fail_memory(f);
	}
	memcpy(s->token, p->token + p->head, count * sizeof(*s->token));
	describe(p, s, end);
	p->head += p->length;
	while (p->first + 1 < p->stretches_n && p->stretch[p->first + 1].start <= p->head)
		p->first++;
	*out = s;
	return FAIL_NONE;
}

void
pack_sequence_close(struct pack_sequence *s)
{
	if (s == NULL)
		return;
	free(s->token);
	free(s->span);
	free(s->source);
	free(s);
}

uint64_t
pack_left(const struct pack *p, bool any_sequence)
{
	size_t left = p->n - p->head;

	assert(!any_sequence || left >= 1);
	return any_sequence ? left - 1 : left;
}
