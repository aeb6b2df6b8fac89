/*
 * The records of every schema. The first byte says which; the envelope is put in front of the rest.
 * Decoded and read to its last list, or refused with a sentence.
 */
#include <string.h>

#include "common/record/arrivals.h"
#include "common/record/batch.h"
#include "common/record/control.h"
#include "common/record/feedback.h"
#include "common/record/ledger.h"
#include "common/record/schema.h"
#include "common/record/sequence.h"
#include "tests/fuzz/fuzz.h"

static size_t seen; /* so that nothing that is read is left out by the compiler */

static void
see(const void *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		seen += ((const uint8_t *)bytes)[i];
}

static void
see_payload(const struct sequence_payload_view *p)
{
	struct text_view *sources = calloc(p->sources_n + 1, sizeof(*sources));
	struct sequence_span *spans = calloc(p->spans_n + 1, sizeof(*spans));
	struct sequence_range *no_loss = calloc(p->no_loss_n + 1, sizeof(*no_loss));
	struct failure f;

	FUZZ_CHECK(sources != NULL && spans != NULL && no_loss != NULL);
	FUZZ_CHECK(p->sources_n <= p->count && p->spans_n <= p->count && p->used <= p->count);
	sequence_payload_lists(p, sources, spans, no_loss);
	for (size_t i = 0; i < p->sources_n; i++)
		see(sources[i].bytes, sources[i].n);
	for (size_t i = 0; i < p->spans_n; i++) {
		FUZZ_CHECK(spans[i].source < p->sources_n && spans[i].start < p->used);
		see(spans[i].keep, spans[i].keep_n);
	}
	for (size_t i = 0; i < p->no_loss_n; i++)
		FUZZ_CHECK(no_loss[i].start < no_loss[i].end && no_loss[i].end <= p->count);
	(void)sequence_payload_check_hash(p, &f);
	free(sources);
	free(spans);
	free(no_loss);
}

static enum fail_code
try_sequence(const uint8_t *bytes, size_t n, struct failure *f)
{
	struct sequence_view view;

	if (sequence_decode(&view, bytes, n, f) != FAIL_NONE)
		return f->code;
	see(view.position.file.bytes, view.position.file.n);
	see_payload(&view.payload);
	return FAIL_NONE;
}

static enum fail_code
try_end(const uint8_t *bytes, size_t n, struct failure *f)
{
	struct sequence_end e;

	if (sequence_end_decode(&e, bytes, n, f) == FAIL_NONE)
		see(e.input.file.bytes, e.input.file.n);
	return f->code;
}

static enum fail_code
try_batch(const uint8_t *bytes, size_t n, struct failure *f)
{
	struct batch_domain *domains;
	struct batch_view b;

	if (batch_decode(&b, bytes, n, f) != FAIL_NONE)
		return f->code;
	FUZZ_CHECK(b.domains_n <= n);
	domains = calloc(b.domains_n + 1, sizeof(*domains));
	FUZZ_CHECK(domains != NULL);
	batch_domains(&b, domains);
	for (size_t i = 0; i < b.domains_n; i++)
		see(domains[i].name.bytes, domains[i].name.n);
	free(domains);
	for (size_t i = 0; i < b.sequences_n; i++) {
		struct batch_drawn drawn;
		struct sequence_payload_view p;

		if (batch_next(&b, &drawn, &p, f) != FAIL_NONE)
			return f->code;
		see_payload(&p);
	}
	return FAIL_NONE;
}

/* What was read can be written, and reads the same again. */
static enum fail_code
try_ledger(const uint8_t *bytes, size_t n, struct failure *f)
{
	struct avro_difference difference;
	struct ledger l, again;
	uint8_t *written = NULL;
	size_t written_n;

	if (ledger_decode(&l, bytes, n, f) != FAIL_NONE)
		return f->code;
	FUZZ_CHECK(ledger_encode(&l, &written, &written_n, f) == FAIL_NONE);
	FUZZ_CHECK(ledger_decode(&again, written, written_n, f) == FAIL_NONE);
	FUZZ_CHECK(!ledger_compare(&l, &again, (const char *const[]){NULL}, &difference));
	free(written);
	ledger_clear(&l);
	ledger_clear(&again);
	return FAIL_NONE;
}

static enum fail_code
try_control(const uint8_t *bytes, size_t n, struct failure *f)
{
	struct control c;

	if (control_decode(&c, bytes, n, f) == FAIL_NONE) {
		uint8_t *written = NULL;
		size_t written_n;

		FUZZ_CHECK(control_encode(&c, &written, &written_n, f) == FAIL_NONE);
		free(written);
		control_clear(&c);
	}
	return f->code;
}

static enum fail_code
try_feedback(const uint8_t *bytes, size_t n, struct failure *f)
{
	struct feedback b;

	if (feedback_decode(&b, bytes, n, f) == FAIL_NONE) {
		uint8_t *written = NULL;
		size_t written_n;

		FUZZ_CHECK(feedback_encode(&b, &written, &written_n, f) == FAIL_NONE);
		free(written);
		feedback_clear(&b);
	}
	return f->code;
}

static enum fail_code
try_arrivals(const uint8_t *bytes, size_t n, struct failure *f)
{
	struct arrivals_portion *portion;
	struct arrivals a;

	if (arrivals_decode(&a, bytes, n, f) != FAIL_NONE)
		return f->code;
	FUZZ_CHECK(a.portions_n <= n);
	portion = calloc(a.portions_n + 1, sizeof(*portion));
	FUZZ_CHECK(portion != NULL);
	arrivals_portions(&a, portion);
	for (size_t i = 0; i < a.portions_n; i++) {
		FUZZ_CHECK(portion[i].byte <= portion[i].end);
		see(portion[i].file.bytes, portion[i].file.n);
	}
	free(portion);
	return FAIL_NONE;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static enum fail_code (*const try[SCHEMAS_COUNT])(
	    const uint8_t *, size_t, struct failure *) = {
	    [SCHEMA_SEQUENCE] = try_sequence,
	    [SCHEMA_END] = try_end,
	    [SCHEMA_BATCH] = try_batch,
	    [SCHEMA_LEDGER] = try_ledger,
	    [SCHEMA_CONTROL] = try_control,
	    [SCHEMA_FEEDBACK] = try_feedback,
	    [SCHEMA_ARRIVALS] = try_arrivals,
	};
	struct failure f = {0};
	uint8_t *record;
	enum fail_code code;

	if (n == 0 || data[0] >= SCHEMAS_COUNT)
		return -1;
	record = malloc(SCHEMA_ENVELOPE_BYTES + n - 1);
	FUZZ_CHECK(record != NULL);
	schema_put_envelope(record, (enum schema_record)data[0]);
	memcpy(record + SCHEMA_ENVELOPE_BYTES, data + 1, n - 1);
	code = try[data[0]](record, SCHEMA_ENVELOPE_BYTES + n - 1, &f);
	FUZZ_CHECK(code == FAIL_NONE || code == FAIL_DATA);
	FUZZ_CHECK(code == FAIL_NONE || f.text[0] != '\0');
	free(record);
	return 0;
}
