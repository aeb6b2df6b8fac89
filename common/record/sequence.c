#include "common/record/sequence.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "common/base/limits.h"
#include "common/record/frame.h"
#include "common/record/schema.h"

const char *const sequence_packing_names[] = {
    [SEQUENCE_CONCAT] = "concat", [SEQUENCE_NONE] = "none", [SEQUENCE_BEST_FIT] = "best_fit", NULL};

/* Generous: numbers of a record outside its lists and byte strings, ten bytes each. */
enum { FIXED_BYTES_MAX = 256, SPAN_BYTES_MAX = 50, RANGE_BYTES_MAX = 20, LENGTH_BYTES_MAX = 10 };

static void
put_sources(struct wire_writer *w, const struct sequence_payload *p)
{
	if (p->sources_n > 0)
		wire_put_count(w, p->sources_n);
	for (size_t i = 0; i < p->sources_n; i++)
		wire_put_text(w, p->sources[i]);
	wire_put_long(w, 0);
}

static void
put_spans(struct wire_writer *w, const struct sequence_payload *p)
{
	if (p->spans_n > 0)
		wire_put_count(w, p->spans_n);
	for (size_t i = 0; i < p->spans_n; i++) {
		const struct sequence_span *s = &p->spans[i];

		assert(i == 0 ? s->start == 0 : s->start > s[-1].start);
		assert(s->start < p->used);
		assert(s->source < p->sources_n);
		wire_put_count(w, s->start);
		wire_put_count(w, s->source);
		wire_put_count(w, s->document);
		wire_put_count(w, s->offset);
		wire_put_bytes(w, s->keep, s->keep_n);
	}
	wire_put_long(w, 0);
}

static void
put_no_loss(struct wire_writer *w, const struct sequence_payload *p)
{
	uint32_t end = 0;

	if (p->no_loss_n > 0)
		wire_put_count(w, p->no_loss_n);
	for (size_t i = 0; i < p->no_loss_n; i++) {
		assert(p->no_loss[i].start >= end);
		assert(p->no_loss[i].end > p->no_loss[i].start);
		assert(p->no_loss[i].end <= p->count);
		end = p->no_loss[i].end;
		wire_put_count(w, p->no_loss[i].start);
		wire_put_count(w, p->no_loss[i].end);
	}
	wire_put_long(w, 0);
}

static void
put_payload(struct wire_writer *w, const struct sequence_payload *p)
{
	assert(p->count >= 1);
	assert(p->count <= SEQUENCE_TOKENS_MAX);
	assert(p->width == 2 || p->width == 3);
	assert(p->used <= p->count);
	assert(p->sources_n <= p->count);
	wire_put_count(w, p->count);
	wire_put_count(w, p->width);
	wire_put_count(w, p->used);
	wire_put_hash(w, p->frame_hash);
	put_sources(w, p);
	put_spans(w, p);
	put_no_loss(w, p);
	wire_put_bytes(w, p->frame, p->frame_n);
}

static void
put_envelope(struct wire_writer *w, enum schema_record record)
{
	uint8_t envelope[SCHEMA_ENVELOPE_BYTES];

	schema_put_envelope(envelope, record);
	wire_put_raw(w, envelope, sizeof(envelope));
}

enum fail_code
sequence_encode(struct wire_writer *w, uint64_t ordinal, uint64_t tokenizer,
    const struct sequence_position *position, const struct sequence_payload *p, struct failure *f)
{
	size_t most = FIXED_BYTES_MAX + position->file.n + p->frame_n +
		      p->spans_n * SPAN_BYTES_MAX + p->no_loss_n * RANGE_BYTES_MAX;

	assert(position->sealed >= -1);
	assert(position->packing < SEQUENCE_PACKINGS);
	for (size_t i = 0; i < p->sources_n; i++)
		most += LENGTH_BYTES_MAX + p->sources[i].n;
	for (size_t i = 0; i < p->spans_n; i++)
		most += p->spans[i].keep_n;
	wire_reserve(w, most);
	put_envelope(w, SCHEMA_SEQUENCE);
	wire_put_count(w, ordinal);
	wire_put_hash(w, tokenizer);
	wire_put_count(w, position->document);
	wire_put_text(w, position->file);
	wire_put_count(w, position->byte);
	wire_put_count(w, position->line);
	wire_put_count(w, position->offset);
	wire_put_count(w, position->documents);
	wire_put_count(w, position->rejects);
	wire_put_count(w, position->record_bytes);
	wire_put_count(w, position->record_bytes_max);
	wire_put_count(w, position->tokens);
	wire_put_count(w, position->dropped);
	wire_put_long(w, position->sealed);
	wire_put_count(w, position->packing);
	wire_put_count(w, position->window);
	put_payload(w, p);
	return w->failed ? fail_memory(f) : FAIL_NONE;
}

enum fail_code
sequence_end_encode(struct wire_writer *w, const struct sequence_end *e, struct failure *f)
{
	assert(e->sequence_length >= 1);
	assert(e->sequence_length <= LIMIT_SEQUENCE);
	assert(e->packing < SEQUENCE_PACKINGS);
	wire_reserve(w, FIXED_BYTES_MAX + e->input.file.n);
	put_envelope(w, SCHEMA_END);
	wire_put_count(w, e->sequences);
	wire_put_count(w, e->tokens);
	wire_put_count(w, e->dropped);
	wire_put_count(w, e->documents);
	wire_put_count(w, e->rejects);
	wire_put_count(w, e->sequence_length);
	wire_put_hash(w, e->tokenizer);
	wire_put_count(w, e->record_bytes);
	wire_put_count(w, e->record_bytes_max);
	wire_put_count(w, e->packing);
	wire_put_count(w, e->input.records);
	wire_put_count(w, e->input.files);
	wire_put_hash(w, e->input.names);
	wire_put_text(w, e->input.file);
	wire_put_count(w, e->input.byte);
	wire_put_count(w, e->input.line);
	return w->failed ? fail_memory(f) : FAIL_NONE;
}

/* Reads the list of sources; true where all is well. Each of them has a span, hence a token. */
static bool
read_sources(struct sequence_payload_view *p, struct wire_reader *r)
{
	p->sources = r->at;
	for (size_t items; (items = wire_block(r)) > 0;) {
		for (size_t i = 0; i < items && r->bad == NULL; i++)
			(void)wire_text(r);
		p->sources_n += items;
	}
	if (r->bad == NULL && p->sources_n > p->count)
		r->bad = "more sources than tokens";
	return r->bad == NULL;
}

static struct sequence_span
span_of(struct wire_reader *r, int64_t start_min, int64_t start_max, size_t sources_n)
{
	struct sequence_span s;

	s.start = (uint32_t)wire_ranged(r, start_min, start_max);
	s.source = (uint32_t)wire_ranged(r, 0, (int64_t)sources_n - 1);
	s.document = wire_count(r);
	s.offset = wire_count(r);
	s.keep = wire_bytes(r, &s.keep_n);
	return s;
}

/* The first span starts at 0, each later one after the one before, all below `used`. */
static bool
read_spans(struct sequence_payload_view *p, struct wire_reader *r)
{
	int64_t start_min = 0, start_max = p->used == 0 ? -1 : 0;

	p->spans = r->at;
	for (size_t items; (items = wire_block(r)) > 0;) {
		for (size_t i = 0; i < items && r->bad == NULL; i++) {
			struct sequence_span s = span_of(r, start_min, start_max, p->sources_n);

			start_min = (int64_t)s.start + 1;
			start_max = (int64_t)p->used - 1;
		}
		p->spans_n += items;
	}
	return r->bad == NULL;
}

static struct sequence_range
range_of(struct wire_reader *r, int64_t start_min, int64_t end_max)
{
	struct sequence_range range;

	range.start = (uint32_t)wire_ranged(r, start_min, end_max - 1);
	range.end = (uint32_t)wire_ranged(r, (int64_t)range.start + 1, end_max);
	return range;
}

/* Ranges ascend, do not overlap and are not empty. */
static bool
read_no_loss(struct sequence_payload_view *p, struct wire_reader *r)
{
	int64_t start_min = 0;

	p->no_loss = r->at;
	for (size_t items; (items = wire_block(r)) > 0;) {
		for (size_t i = 0; i < items && r->bad == NULL; i++)
			start_min = (int64_t)range_of(r, start_min, p->count).end;
		p->no_loss_n += items;
	}
	return r->bad == NULL;
}

static bool
read_number(struct wire_reader *r, int64_t min, int64_t max, uint32_t *out)
{
	*out = (uint32_t)wire_ranged(r, min, max);
	return r->bad == NULL;
}

enum fail_code
sequence_payload_read(struct sequence_payload_view *out, struct wire_reader *r, struct failure *f)
{
	struct sequence_payload_view p = {.raw = r->at, .room = (size_t)(r->end - r->at)};

	if (!read_number(r, 1, SEQUENCE_TOKENS_MAX, &p.count))
		return wire_reader_check(r, false, "count", f);
	if (!read_number(r, 2, 3, &p.width))
		return wire_reader_check(r, false, "width", f);
	if (!read_number(r, 0, p.count, &p.used))
		return wire_reader_check(r, false, "used", f);
	p.frame_hash = wire_hash(r);
	if (!read_sources(&p, r))
		return wire_reader_check(r, false, "sources", f);
	if (!read_spans(&p, r))
		return wire_reader_check(r, false, "documents", f);
	if (!read_no_loss(&p, r))
		return wire_reader_check(r, false, "no_loss", f);
	p.frame = wire_bytes(r, &p.frame_n);
	if (r->bad != NULL)
		return wire_reader_check(r, false, "frame", f);
	p.raw_n = (size_t)(r->at - p.raw);
	*out = p;
	return FAIL_NONE;
}

/*
 * Takes the envelope off; the reader stands at the body and counts bytes from the record's start.
 */
static enum fail_code
open_record(struct wire_reader *r, enum schema_record wanted, const uint8_t *bytes, size_t n,
    struct failure *f)
{
	enum fail_code code = schema_expect(wanted, bytes, n, f);

	if (code != FAIL_NONE)
		return code;
	wire_reader_init(r, bytes, n);
	r->at += SCHEMA_ENVELOPE_BYTES;
	return FAIL_NONE;
}

enum fail_code
sequence_decode(struct sequence_view *out, const uint8_t *bytes, size_t n, struct failure *f)
{
	struct wire_reader r;
	struct sequence_view s;
	enum fail_code code = open_record(&r, SCHEMA_SEQUENCE, bytes, n, f);

	if (code != FAIL_NONE)
		return code;
	s.ordinal = wire_count(&r);
	s.tokenizer = wire_hash(&r);
	s.position.document = wire_count(&r);
	s.position.file = wire_text(&r);
	s.position.byte = wire_count(&r);
	s.position.line = wire_count(&r);
	s.position.offset = wire_count(&r);
	s.position.documents = wire_count(&r);
	s.position.rejects = wire_count(&r);
	s.position.record_bytes = wire_count(&r);
	s.position.record_bytes_max = wire_count(&r);
	s.position.tokens = wire_count(&r);
	s.position.dropped = wire_count(&r);
	s.position.sealed = wire_ranged(&r, -1, INT64_MAX);
	s.position.packing = (uint32_t)wire_ranged(&r, 0, SEQUENCE_PACKINGS - 1);
	s.position.window = wire_count(&r);
	code = wire_reader_check(&r, false, "ordinal to position", f);
	if (code == FAIL_NONE)
		code = sequence_payload_read(&s.payload, &r, f);
	if (code == FAIL_NONE)
		code = wire_reader_check(&r, true, "after the payload", f);
	if (code != FAIL_NONE)
		return fail_within(f, "record of kind Sequence");
	*out = s;
	return FAIL_NONE;
}

enum fail_code
sequence_end_decode(struct sequence_end *out, const uint8_t *bytes, size_t n, struct failure *f)
{
	struct wire_reader r;
	struct sequence_end e;
	enum fail_code code = open_record(&r, SCHEMA_END, bytes, n, f);

	if (code != FAIL_NONE)
		return code;
	e.sequences = wire_count(&r);
	e.tokens = wire_count(&r);
	e.dropped = wire_count(&r);
	e.documents = wire_count(&r);
	e.rejects = wire_count(&r);
	e.sequence_length = (uint32_t)wire_ranged(&r, 1, LIMIT_SEQUENCE);
	e.tokenizer = wire_hash(&r);
	e.record_bytes = wire_count(&r);
	e.record_bytes_max = wire_count(&r);
	e.packing = (uint32_t)wire_ranged(&r, 0, SEQUENCE_PACKINGS - 1);
	e.input.records = wire_count(&r);
	e.input.files = wire_count(&r);
	e.input.names = wire_hash(&r);
	e.input.file = wire_text(&r);
	e.input.byte = wire_count(&r);
	e.input.line = wire_count(&r);
	code = wire_reader_check(&r, true, "record of kind End", f);
	if (code == FAIL_NONE)
		*out = e;
	return code;
}

void
sequence_payload_lists(const struct sequence_payload_view *p, struct text_view *sources,
    struct sequence_span *spans, struct sequence_range *no_loss)
{
	struct wire_reader r;
	size_t k = 0;

	wire_reader_init(&r, p->raw, p->room);
	r.at = p->sources;
	for (size_t items; (items = wire_block(&r)) > 0;) {
		for (size_t i = 0; i < items; i++)
			sources[k++] = wire_text(&r);
	}
	assert(k == p->sources_n);
	assert(r.at == p->spans);
	k = 0;
	for (size_t items; (items = wire_block(&r)) > 0;) {
		for (size_t i = 0; i < items; i++)
			spans[k++] = span_of(&r, 0, p->count, p->sources_n);
	}
	assert(k == p->spans_n);
	assert(r.at == p->no_loss);
	k = 0;
	for (size_t items; (items = wire_block(&r)) > 0;) {
		for (size_t i = 0; i < items; i++)
			no_loss[k++] = range_of(&r, 0, p->count);
	}
	assert(k == p->no_loss_n);
	assert(r.bad == NULL);
}

enum fail_code
sequence_payload_check_hash(const struct sequence_payload_view *p, struct failure *f)
{
	if (frame_hash(p->frame, p->frame_n) != p->frame_hash)
		return fail(f, FAIL_DATA,
		    "the frame does not have the hash that its record states: the record is "
		    "damaged");
	return FAIL_NONE;
}
