/*
 * records -- what another Avro implementation is compared with.
 *
 *     records fingerprints    one line a schema: name, tab, 16 hex digits
 *     records recode          reads records as hex, one a line, from stdin; decodes and encodes
 * each again; prints the hex, or "error: " and the sentence
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/record/arrivals.h"
#include "common/record/batch.h"
#include "common/record/control.h"
#include "common/record/feedback.h"
#include "common/record/ledger.h"
#include "common/record/schema.h"
#include "common/record/sequence.h"

/* The lists of one payload, taken out of the record. */
struct lists {
	struct text_view *sources;
	struct sequence_span *spans;
	struct sequence_range *no_loss;
};

static enum fail_code
open_lists(struct lists *out, struct sequence_payload *p, const struct sequence_payload_view *view,
    struct failure *f)
{
	out->sources = calloc(view->sources_n + 1, sizeof(*out->sources));
	out->spans = calloc(view->spans_n + 1, sizeof(*out->spans));
	out->no_loss = calloc(view->no_loss_n + 1, sizeof(*out->no_loss));
	if (out->sources == NULL || out->spans == NULL || out->no_loss == NULL)
		return fail_memory(f);
	sequence_payload_lists(view, out->sources, out->spans, out->no_loss);
	*p = (struct sequence_payload){
	    .count = view->count,
	    .width = view->width,
	    .used = view->used,
	    .frame_hash = view->frame_hash,
	    .sources = out->sources,
	    .sources_n = view->sources_n,
	    .spans = out->spans,
	    .spans_n = view->spans_n,
	    .no_loss = out->no_loss,
	    .no_loss_n = view->no_loss_n,
	    .frame = view->frame,
	    .frame_n = view->frame_n,
	};
	return FAIL_NONE;
}

static void
close_lists(struct lists *lists)
{
	free(lists->sources);
	free(lists->spans);
	free(lists->no_loss);
}

static enum fail_code
recode_sequence(struct wire_writer *w, const uint8_t *bytes, size_t n, struct failure *f)
{
	struct sequence_view view;
	struct sequence_payload p;
	struct lists lists = {0};
	enum fail_code code = sequence_decode(&view, bytes, n, f);

	if (code == FAIL_NONE)
		code = open_lists(&lists, &p, &view.payload, f);
	if (code == FAIL_NONE)
		code = sequence_encode(w, view.ordinal, view.tokenizer, &view.position, &p, f);
	close_lists(&lists);
	return code;
}

static enum fail_code
recode_end(struct wire_writer *w, const uint8_t *bytes, size_t n, struct failure *f)
{
	struct sequence_end e;
	enum fail_code code = sequence_end_decode(&e, bytes, n, f);

	return code != FAIL_NONE ? code : sequence_end_encode(w, &e, f);
}

static enum fail_code
recode_batch(struct wire_writer *w, const uint8_t *bytes, size_t n, struct failure *f)
{
	struct batch_view view;
	struct batch_domain *domains;
	enum fail_code code = batch_decode(&view, bytes, n, f);

	if (code != FAIL_NONE)
		return code;
	domains = calloc(view.domains_n + 1, sizeof(*domains));
	if (domains == NULL)
		return fail_memory(f);
	batch_domains(&view, domains);
	code = batch_begin(w, &view.head, domains, view.domains_n, view.sequences_n, f);
	for (size_t i = 0; code == FAIL_NONE && i < view.sequences_n; i++) {
		struct batch_drawn drawn;
		struct sequence_payload_view p;

		code = batch_next(&view, &drawn, &p, f);
		if (code == FAIL_NONE)
			code = batch_add(w, &drawn, p.raw, p.raw_n, f);
	}
	free(domains);
	return code != FAIL_NONE ? code : batch_end(w, f);
}

/* Takes what the encoder of a cold record has given. */
static void
take(struct wire_writer *w, uint8_t *given, size_t n)
{
	wire_put_raw(w, given, n);
	free(given);
}

static enum fail_code
recode_ledger(struct wire_writer *w, const uint8_t *bytes, size_t n, struct failure *f)
{
	struct ledger l;
	uint8_t *given = NULL;
	enum fail_code code = ledger_decode(&l, bytes, n, f);

	if (code == FAIL_NONE)
		code = ledger_encode(&l, &given, &n, f);
	if (code == FAIL_NONE)
		take(w, given, n);
	ledger_clear(&l);
	return code;
}

static enum fail_code
recode_control(struct wire_writer *w, const uint8_t *bytes, size_t n, struct failure *f)
{
	struct control c;
	uint8_t *given = NULL;
	enum fail_code code = control_decode(&c, bytes, n, f);

	if (code == FAIL_NONE)
		code = control_encode(&c, &given, &n, f);
	if (code == FAIL_NONE)
		take(w, given, n);
	control_clear(&c);
	return code;
}

static enum fail_code
recode_feedback(struct wire_writer *w, const uint8_t *bytes, size_t n, struct failure *f)
{
	struct feedback b;
	uint8_t *given = NULL;
	enum fail_code code = feedback_decode(&b, bytes, n, f);

	if (code == FAIL_NONE)
		code = feedback_encode(&b, &given, &n, f);
	if (code == FAIL_NONE)
		take(w, given, n);
	feedback_clear(&b);
	return code;
}

static enum fail_code
recode_arrivals(struct wire_writer *w, const uint8_t *bytes, size_t n, struct failure *f)
{
	struct arrivals a;
	struct arrivals_portion *portion;
	enum fail_code code = arrivals_decode(&a, bytes, n, f);

	if (code != FAIL_NONE)
		return code;
	portion = calloc(a.portions_n + 1, sizeof(*portion));
	if (portion == NULL)
		return fail_memory(f);
	arrivals_portions(&a, portion);
	code = arrivals_encode(w, &a, portion, f);
	free(portion);
	return code;
}

static enum fail_code
recode(struct wire_writer *w, const uint8_t *bytes, size_t n, struct failure *f)
{
	enum schema_record record;

	if (schema_which(&record, bytes, n, f) != FAIL_NONE)
		return f->code;
	switch (record) {
	case SCHEMA_SEQUENCE: return recode_sequence(w, bytes, n, f);
	case SCHEMA_END: return recode_end(w, bytes, n, f);
	case SCHEMA_BATCH: return recode_batch(w, bytes, n, f);
	case SCHEMA_LEDGER: return recode_ledger(w, bytes, n, f);
	case SCHEMA_CONTROL: return recode_control(w, bytes, n, f);
	case SCHEMA_FEEDBACK: return recode_feedback(w, bytes, n, f);
	case SCHEMA_ARRIVALS: return recode_arrivals(w, bytes, n, f);
	case SCHEMAS_COUNT: break;
	}
	abort(); /* unreachable */
}

/* Turns hex digits into the bytes they stand for, in place; returns how many. */
static size_t
bytes_of(char *line)
{
	char digits[3] = {0};
	size_t n = 0;

	for (; line[2 * n] != '\0' && line[2 * n + 1] != '\0' && line[2 * n] != '\n'; n++) {
		memcpy(digits, line + 2 * n, 2);
		line[n] = (char)strtoul(digits, NULL, 16);
	}
	return n;
}

static int
recode_lines(void)
{
	char *line = NULL;
	size_t room = 0;

	while (getline(&line, &room, stdin) > 0) {
		struct wire_writer w = {0};
		struct failure f = {0};
		size_t n = bytes_of(line);

		if (recode(&w, (const uint8_t *)line, n, &f) != FAIL_NONE)
			printf("error: %s", f.text);
		else
			for (size_t i = 0; i < w.n; i++)
				printf("%02x", w.bytes[i]);
		printf("\n");
		wire_writer_close(&w);
	}
	free(line);
	return 0;
}

int
main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "recode") == 0)
		return recode_lines();
	if (argc == 2 && strcmp(argv[1], "fingerprints") == 0) {
		for (int i = 0; i < SCHEMAS_COUNT; i++)
			printf("%s\t%016" PRIx64 "\n", schema_name[i],
			    schema_fingerprint((enum schema_record)i));
		return 0;
	}
	fprintf(stderr, "usage: records fingerprints | records recode\n");
	return 2;
}
