/*
 * The last record of a ledger, from which everything goes on: its configuration becomes a plan and
 * its state a mixer, or it is refused; a mixer draws, and what it saves can be resumed.
 */
#include <string.h>

#include "common/record/schema.h"
#include "consumer/plan/ledger_plan.h"
#include "tests/fuzz/fuzz.h"

enum { BATCH_MAX = 4096, STEPS = 4 };

static void
draw(struct mixer *m, const struct mixer_plan *p)
{
	static struct mixer_draw draws[BATCH_MAX];
	struct mixer *again = NULL;
	struct ledger l = {0};
	struct failure f = {0};

	for (int i = 0; i < STEPS; i++) {
		enum mixer_result result = MIXER_ENDED;

		if (mixer_step(m, draws, &result, &f) != FAIL_NONE || result != MIXER_DRAWN)
			break;
	}
	FUZZ_CHECK(mixer_save(m, &l, &f) == FAIL_NONE);
	if (mixer_resume(&again, p, &l, &f) != FAIL_NONE) {
		fprintf(stderr, "%s\n", f.text);
		FUZZ_CHECK(again != NULL);
	}
	mixer_close(again);
	ledger_clear(&l);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	uint8_t *record = malloc(SCHEMA_ENVELOPE_BYTES + n);
	struct ledger_plan p = {0};
	struct mixer *m = NULL;
	struct ledger l = {0};
	struct failure f = {0};

	FUZZ_CHECK(record != NULL);
	schema_put_envelope(record, SCHEMA_LEDGER);
	memcpy(record + SCHEMA_ENVELOPE_BYTES, data, n);
	if (ledger_decode(&l, record, SCHEMA_ENVELOPE_BYTES + n, &f) == FAIL_NONE &&
	    ledger_plan_open(&p, &l, &f) == FAIL_NONE &&
	    mixer_resume(&m, &p.plan, &l, &f) == FAIL_NONE &&
	    mixer_global_batch_most(m) <= BATCH_MAX)
		draw(m, &p.plan);
	FUZZ_CHECK(f.code == FAIL_NONE || f.text[0] != '\0');
	mixer_close(m);
	ledger_plan_close(&p);
	ledger_clear(&l);
	free(record);
	return 0;
}
