#include "cli/inspect/inspect_output.h"

#include <assert.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/buffer.h"
#include "common/base/scalar.h"
#include "common/base/utf8.h"
#include "common/record/frame.h"
#include "common/terminal/terminal.h"

struct inspect_output {
	struct inspect_output_options o;
	FILE *to;
	json_t *object; /* NULL: text */
	bool begun;
	struct frame_codec *codec; /* NULL: no tokens are wanted */
	uint32_t *id;              /* [ids_room]: of the sequence that is printed */
	size_t ids_room;
	struct buffer raw, text; /* of a document: as its tokens have it, and as UTF-8 */
};

/* A sequence that is being printed. The views borrow the record; the three lists are allocated. */
struct shown {
	uint32_t lane;
	size_t slot;
	struct text_view domain;
	struct batch_drawn drawn;
	struct sequence_payload_view payload;
	struct text_view *source;
	struct sequence_span *span;
	struct sequence_range *no_loss;
	const struct document_line *line; /* NULL: unknown */
	int64_t time_ms;                  /* when it was published; -1: unknown */
};

enum fail_code
inspect_output_open(
    struct inspect_output **out, const struct inspect_output_options *options, struct failure *f)
{
	struct inspect_output *o = calloc(1, sizeof(*o));

	if (o == NULL)
		return fail_memory(f);
	o->o = *options;
	o->to = options->to;
	if (options->json)
		o->object = json_object();
	if (options->json && o->object == NULL)
		fail_memory(f);
	else if ((!options->ids && options->text == NULL) ||
		 frame_codec_open(&o->codec, f) == FAIL_NONE) {
		*out = o;
		return FAIL_NONE;
	}
	inspect_output_close(o);
	return f->code;
}

void
inspect_output_close(struct inspect_output *o)
{
	if (o == NULL)
		return;
	json_decref(o->object);
	frame_codec_close(o->codec);
	free(o->id);
	buffer_close(&o->raw);
	buffer_close(&o->text);
	free(o);
}

/* ---- tokens and text ---- */

static enum fail_code
decode_tokens(struct inspect_output *o, const struct shown *s, struct failure *f)
{
	const struct sequence_payload_view *p = &s->payload;

	if (o->codec == NULL)
		return FAIL_NONE;
	if (p->count > o->ids_room) {
		free(o->id);
		o->ids_room = 0;
		o->id = calloc(p->count, sizeof(*o->id));
		if (o->id == NULL)
			return fail_memory(f);
		o->ids_room = p->count;
	}
	if (sequence_payload_check_hash(p, f) == FAIL_NONE &&
	    frame_decode(o->codec, p->frame, p->frame_n, p->count, p->width, o->id, sizeof(*o->id),
		f) == FAIL_NONE)
		return FAIL_NONE;
	return fail_within(f,
	    "domain %.*s, partition %" PRIu32 ", ordinal %" PRIu64
	    ": its tokens cannot be read (without --text and --tokens its documents are shown)",
	    (int)s->domain.n, s->domain.bytes, s->drawn.partition, s->drawn.ordinal);
}

/*
 * The text of tokens [first, end) in o->text. A sequence can end inside a character: what is no
 * UTF-8 is U+FFFD.
 */
static enum fail_code
make_text(struct inspect_output *o, uint32_t first, uint32_t end, struct failure *f)
{
	o->raw.n = o->text.n = 0;
	for (uint32_t i = first; i < end; i++) {
		size_t n;
		const uint8_t *bytes = tokenizer_bytes(o->o.text, o->id[i], &n);

		if (bytes == NULL)
			return fail(
			    f, FAIL_DATA, "token %" PRIu32 " is none of the tokenizer's", o->id[i]);
		if (buffer_add(&o->raw, bytes, n, f) != FAIL_NONE)
			return f->code;
	}
	if (buffer_reserve(&o->text, o->raw.n * UTF8_REPLACED_FACTOR + 1, f) != FAIL_NONE)
		return f->code;
	if (o->raw.n > 0)
		o->text.n =
		    utf8_replace((char *)o->text.bytes, (const char *)o->raw.bytes, o->raw.n);
	return FAIL_NONE;
}

/*
 * Token after the last one of span i. A span says where it starts; it ends where the next one
 * starts, and the last one at `used`, behind which there is only padding.
 */
static uint32_t
span_end(const struct shown *s, size_t i)
{
	assert(i < s->payload.spans_n);
	return i + 1 < s->payload.spans_n ? s->span[i + 1].start : s->payload.used;
}

/* ---- text ---- */

static void
put_name(FILE *to, struct text_view name)
{
	terminal_print(to, TEXT_LINE, name.bytes, name.n);
}

static void
put_line(FILE *to, const struct document_line *l)
{
	if (l == NULL || l->line == 0)
		fputs("-", to);
	else
		fprintf(to, "%s%" PRIu64, l->exact ? "" : "~", l->line);
}

static enum fail_code
put_content(struct inspect_output *o, uint32_t first, uint32_t end, struct failure *f)
{
	if (o->o.ids)
		fputc('\t', o->to);
	for (uint32_t i = first; o->o.ids && i < end; i++)
		fprintf(o->to, "%s%" PRIu32, i > first ? " " : "", o->id[i]);
	if (o->o.text == NULL)
		return FAIL_NONE;
	if (make_text(o, first, end, f) != FAIL_NONE)
		return f->code;
	fputs("\t\"", o->to);
	terminal_print(o->to, TEXT_JSON, (const char *)o->text.bytes, o->text.n);
	fputc('"', o->to);
	return FAIL_NONE;
}

static enum fail_code
put_text(struct inspect_output *o, const struct shown *s, struct failure *f)
{
	for (size_t i = 0; i < s->payload.spans_n; i++) {
		const struct sequence_span *span = &s->span[i];

		fprintf(o->to, "%" PRIu32 "\t%zu\t", s->lane, s->slot);
		put_name(o->to, s->domain);
		fprintf(o->to,
		    "\t%" PRIu32 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu32 "\t%" PRIu32 "\t",
		    s->drawn.partition, s->drawn.ordinal, s->drawn.epoch, span->start,
		    span_end(s, i) - span->start);
		put_name(o->to, s->source[span->source]);
		fprintf(o->to, "\t%" PRIu64 "\t%" PRIu64 "\t", span->document, span->offset);
		put_line(o->to, s->line == NULL ? NULL : &s->line[i]);
		fputc('\t', o->to);
		put_name(o->to, span->keep_n == 0
				    ? (struct text_view){"-", 1}
				    : (struct text_view){(const char *)span->keep, span->keep_n});
		if (put_content(o, span->start, span_end(s, i), f) != FAIL_NONE)
			return f->code;
		fputc('\n', o->to);
	}
	return FAIL_NONE;
}

/* ---- JSON ---- */

static json_t *
text_of(struct text_view t)
{
	json_t *s = json_stringn(t.bytes, t.n);

	return s != NULL ? s : json_string("(not UTF-8)");
}

/* What the configuration keeps of a document: a JSON object, as its producer has made it. */
static json_t *
keep_of(const struct sequence_span *span)
{
	json_t *kept;

	if (span->keep_n == 0)
		return json_null();
	kept = json_loadb((const char *)span->keep, span->keep_n, 0, NULL);
	return kept != NULL ? kept
			    : text_of((struct text_view){(const char *)span->keep, span->keep_n});
}

/* Adds what is wanted of the tokens [first, end) to a document. */
static enum fail_code
add_content(struct inspect_output *o, json_t *to, uint32_t first, uint32_t end, struct failure *f)
{
	json_t *ids = o->o.ids ? json_array() : NULL;

	for (uint32_t i = first; ids != NULL && i < end; i++)
		json_array_append_new(ids, json_integer(o->id[i]));
	if (ids != NULL)
		json_object_set_new(to, "ids", ids);
	if (o->o.text == NULL)
		return FAIL_NONE;
	if (make_text(o, first, end, f) != FAIL_NONE)
		return f->code;
	json_object_set_new(to, "text", json_stringn((const char *)o->text.bytes, o->text.n));
	return FAIL_NONE;
}

/* Adds the documents to `list`. */
static enum fail_code
add_documents(struct inspect_output *o, json_t *list, const struct shown *s, struct failure *f)
{
	for (size_t i = 0; i < s->payload.spans_n; i++) {
		const struct sequence_span *span = &s->span[i];
		const struct document_line *l = s->line == NULL ? NULL : &s->line[i];
		bool known = l != NULL && l->line > 0;
		json_t *d = json_pack("{s:I, s:I, s:o, s:I, s:I, s:o, s:b, s:o}", "start",
		    (json_int_t)span->start, "tokens", (json_int_t)(span_end(s, i) - span->start),
		    "source", text_of(s->source[span->source]), "document",
		    (json_int_t)span->document, "offset", (json_int_t)span->offset, "line",
		    known ? json_integer((json_int_t)l->line) : json_null(), "line_exact",
		    (int)(known && l->exact), "keep", keep_of(span));

		if (d == NULL || json_array_append_new(list, d) != 0)
			return fail_memory(f);
		if (add_content(o, d, span->start, span_end(s, i), f) != FAIL_NONE)
			return f->code;
	}
	return FAIL_NONE;
}

static json_t *
ranges_of(const struct shown *s)
{
	json_t *list = json_array();

	for (size_t i = 0; i < s->payload.no_loss_n; i++)
		json_array_append_new(list, json_pack("[I, I]", (json_int_t)s->no_loss[i].start,
						(json_int_t)s->no_loss[i].end));
	return list;
}

static json_t *
time_of(const struct shown *s)
{
	char text[SCALAR_MOMENT_TEXT_MAX];

	if (s->time_ms < 0)
		return json_null();
	scalar_moment_text(text, s->time_ms);
	return json_string(text);
}

static enum fail_code
put_json(struct inspect_output *o, const struct shown *s, struct failure *f)
{
	json_t *item, *documents = json_array();

	assert(o->object != NULL);
	if (documents == NULL)
		return fail_memory(f);
	if (add_documents(o, documents, s, f) != FAIL_NONE) {
		json_decref(documents);
		return f->code;
	}
	item = json_pack("{s:I, s:I, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o}", "lane",
	    (json_int_t)s->lane, "slot", (json_int_t)s->slot, "domain", text_of(s->domain),
	    "domain_index", (json_int_t)s->drawn.domain, "partition",
	    (json_int_t)s->drawn.partition, "ordinal", (json_int_t)s->drawn.ordinal, "epoch",
	    (json_int_t)s->drawn.epoch, "count", (json_int_t)s->payload.count, "used",
	    (json_int_t)s->payload.used, "documents", documents, "no_loss", ranges_of(s), "time",
	    time_of(s));

	if (item == NULL ||
	    json_array_append_new(json_object_get(o->object, "sequences"), item) != 0)
		return fail_memory(f);
	return FAIL_NONE;
}

/* ---- both ---- */

/*
 * What is printed once. The first lane's head stands for the step: mix, step, version, phase and
 * lr_scale are the same in the records of all lanes.
 */
static enum fail_code
begin(struct inspect_output *o, const struct batch_head *h, struct failure *f)
{
	json_t *head;
	int lost;

	assert(!o->begun);
	o->begun = true;
	if (o->object == NULL) {
		fputs("lane\tslot\tdomain\tpartition\tordinal\tepoch\tstart\ttokens\tsource\t"
		      "document\toffset\tline\tkeep",
		    o->to);
		fprintf(
		    o->to, "%s%s\n", o->o.ids ? "\tids" : "", o->o.text != NULL ? "\ttext" : "");
		return FAIL_NONE;
	}
	head = json_pack("{s:o, s:I, s:I, s:o, s:f, s:b, s:[]}", "mix", text_of(h->mix), "step",
	    (json_int_t)h->step, "version", (json_int_t)h->version, "phase", text_of(h->phase),
	    "lr_scale", h->lr_scale, "derived", (int)o->o.derived, "sequences");
	lost = head == NULL || json_object_update(o->object, head) != 0;
	json_decref(head);
	return lost ? fail_memory(f) : FAIL_NONE;
}

/* A record numbers the domains of its sequences, and names those numbers once in front of them. */
static enum fail_code
name_domain(struct shown *s, const struct batch_domain *domain, size_t n, struct failure *f)
{
	for (size_t i = 0; i < n; i++)
		if (domain[i].index == s->drawn.domain) {
			s->domain = domain[i].name;
			return FAIL_NONE;
		}
	return fail(
	    f, FAIL_DATA, "domain number %" PRIu32 " has no name in the record", s->drawn.domain);
}

static enum fail_code
put_sequence(struct inspect_output *o, struct shown *s, struct failure *f)
{
	const struct sequence_payload_view *p = &s->payload;
	enum fail_code code = FAIL_NONE;

	s->source = calloc(p->sources_n + 1, sizeof(*s->source));
	s->span = calloc(p->spans_n + 1, sizeof(*s->span));
	s->no_loss = calloc(p->no_loss_n + 1, sizeof(*s->no_loss));
	if (s->source == NULL || s->span == NULL || s->no_loss == NULL)
		code = fail_memory(f);
	if (code == FAIL_NONE)
		code = decode_tokens(o, s, f);
	if (code == FAIL_NONE) {
		sequence_payload_lists(p, s->source, s->span, s->no_loss);
		s->line = inspect_lines_of(o->o.lines, s->lane, s->slot, p->spans_n, &s->time_ms);
		code = o->object != NULL ? put_json(o, s, f) : put_text(o, s, f);
	}
	free(s->source);
	free(s->span);
	free(s->no_loss);
	return code;
}

enum fail_code
inspect_output_lane(struct inspect_output *o, struct batch_view *b, struct failure *f)
{
	struct batch_domain *domain = calloc(b->domains_n + 1, sizeof(*domain));
	struct shown s = {.lane = b->head.lane};
	enum fail_code code = FAIL_NONE;

	if (domain == NULL)
		return fail_memory(f);
	if (o->o.text != NULL && b->head.tokenizer != tokenizer_fingerprint(o->o.text)) {
		free(domain);
		return fail(f, FAIL_CONFIG,
		    "the step is of tokenizer %016" PRIx64 ", the configuration has %016" PRIx64
		    ": --text needs the one it was made with",
		    b->head.tokenizer, tokenizer_fingerprint(o->o.text));
	}
	batch_domains(b, domain);
	if (!o->begun)
		code = begin(o, &b->head, f);
	for (; code == FAIL_NONE && s.slot < b->sequences_n; s.slot++) {
		code = batch_next(b, &s.drawn, &s.payload, f);
		if (code == FAIL_NONE)
			code = name_domain(&s, domain, b->domains_n, f);
		if (code == FAIL_NONE)
			code = put_sequence(o, &s, f);
		if (code != FAIL_NONE)
			fail_within(f, "sequence %zu of the lane", s.slot);
	}
	free(domain);
	return code;
}

enum fail_code
inspect_output_end(struct inspect_output *o, struct failure *f)
{
	if (o->object == NULL)
		return FAIL_NONE;
	if (json_dumpf(o->object, o->to, JSON_INDENT(1) | JSON_PRESERVE_ORDER) != 0)
		return fail(f, FAIL_IO, "writing JSON to standard output failed");
	fputc('\n', o->to);
	return FAIL_NONE;
}

enum fail_code
inspect_output_step(
    struct inspect_output *o, const struct published_step *s, int64_t lane, struct failure *f)
{
	assert(lane < (int64_t)s->lanes);
	for (uint32_t i = 0; i < s->lanes; i++) {
		struct batch_view view;

		if (lane >= 0 && i != lane)
			continue;
		if (published_step_decode(&view, s, i, f) != FAIL_NONE)
			return f->code;
		if (inspect_output_lane(o, &view, f) != FAIL_NONE)
			return published_step_fail(s, i, f);
	}
	return inspect_output_end(o, f);
}
