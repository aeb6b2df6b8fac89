#include "cli/inspect/inspect_output.h"

#include <assert.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

struct inspect_output {
	FILE *to;
	json_t *object; /* NULL: text */
	bool begun;
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
};

enum fail_code
inspect_output_open(struct inspect_output **out, FILE *to, bool json, struct failure *f)
{
	struct inspect_output *o = calloc(1, sizeof(*o));

	if (o == NULL)
		return fail_memory(f);
	o->to = to;
	if (json)
		o->object = json_object();
	if (json && o->object == NULL) {
		free(o);
		return fail_memory(f);
	}
	*out = o;
	return FAIL_NONE;
}

void
inspect_output_close(struct inspect_output *o)
{
	if (o == NULL)
		return;
	json_decref(o->object);
	free(o);
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

/* Names of files may hold anything; a line and its columns must not break. */
static void
put_name(FILE *to, struct text_view name)
{
	for (size_t i = 0; i < name.n; i++)
		fputc((unsigned char)name.bytes[i] < ' ' ? '?' : name.bytes[i], to);
}

static void
put_text(const struct inspect_output *o, const struct shown *s)
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
		fprintf(o->to, "\t%" PRIu64 "\t%" PRIu64 "\n", span->document, span->offset);
	}
}

/* ---- JSON ---- */

static json_t *
text_of(struct text_view t)
{
	json_t *s = json_stringn(t.bytes, t.n);

	return s != NULL ? s : json_string("(not UTF-8)");
}

static json_t *
documents_of(const struct shown *s)
{
	json_t *list = json_array();

	for (size_t i = 0; i < s->payload.spans_n; i++) {
		const struct sequence_span *span = &s->span[i];

		json_array_append_new(
		    list, json_pack("{s:I, s:I, s:o, s:I, s:I}", "start", (json_int_t)span->start,
			      "tokens", (json_int_t)(span_end(s, i) - span->start), "source",
			      text_of(s->source[span->source]), "document",
			      (json_int_t)span->document, "offset", (json_int_t)span->offset));
	}
	return list;
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

static enum fail_code
put_json(const struct inspect_output *o, const struct shown *s, struct failure *f)
{
	json_t *item;

	assert(o->object != NULL);
	item = json_pack("{s:I, s:I, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o}", "lane",
	    (json_int_t)s->lane, "slot", (json_int_t)s->slot, "domain", text_of(s->domain),
	    "domain_index", (json_int_t)s->drawn.domain, "partition",
	    (json_int_t)s->drawn.partition, "ordinal", (json_int_t)s->drawn.ordinal, "epoch",
	    (json_int_t)s->drawn.epoch, "count", (json_int_t)s->payload.count, "used",
	    (json_int_t)s->payload.used, "documents", documents_of(s), "no_loss", ranges_of(s));

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
		      "document\toffset\n",
		    o->to);
		return FAIL_NONE;
	}
	head = json_pack("{s:o, s:I, s:I, s:o, s:f, s:[]}", "mix", text_of(h->mix), "step",
	    (json_int_t)h->step, "version", (json_int_t)h->version, "phase", text_of(h->phase),
	    "lr_scale", h->lr_scale, "sequences");
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
		sequence_payload_lists(p, s->source, s->span, s->no_loss);
	if (code == FAIL_NONE && o->object != NULL)
		code = put_json(o, s, f);
	else if (code == FAIL_NONE)
		put_text(o, s);
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
