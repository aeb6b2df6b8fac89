#include "consumer/ledger/mix_loss.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/names.h"
#include "common/kafka/kafka.h"
#include "common/record/ledger.h"

enum mix_loss
mix_loss_judge(const struct mix_loss_facts *facts)
{
	bool published = facts->step_next > 0 && facts->age_ms >= MIX_LOSS_SETTLED_MS;

	assert(facts->ledger || (!facts->any && !facts->emptied));
	assert(facts->batches || !facts->held);
	if (facts->any)
		return published && facts->batches && !facts->held ? MIX_LOSS_BATCHES
								   : MIX_LOSS_NONE;
	if (facts->emptied)
		return MIX_LOSS_RECORDS;
	if (!facts->held)
		return MIX_LOSS_NONE;
	return facts->ledger ? MIX_LOSS_LEDGER_EMPTY : MIX_LOSS_LEDGER_MISSING;
}

enum fail_code
mix_loss_fail(enum mix_loss loss, const char *mix, int64_t step_next, struct failure *f)
{
	assert(loss != MIX_LOSS_NONE);
	if (loss == MIX_LOSS_RECORDS)
		return fail(f, FAIL_DATA,
		    "topic %s.ledger holds no record any more: its records were deleted. `riffle "
		    "status` says what to do",
		    mix);
	if (loss == MIX_LOSS_BATCHES)
		return fail(f, FAIL_DATA,
		    "topic %s.batches holds no record, and the ledger says that steps below "
		    "%" PRId64 " are published: the batch topic was deleted and created again. "
		    "`riffle repair` "
		    "fills it from ledger and domains",
		    mix, step_next);
	return fail(f, FAIL_DATA,
	    "topic %s.ledger is %s, and %s.batches has held steps: the ledger was deleted, and "
	    "`riffle mix` refuses to publish these steps a second time: start a mix of another "
	    "name, or delete this one and start it from step 0 with `riffle topics --delete --mix "
	    "--create`",
	    mix, loss == MIX_LOSS_LEDGER_EMPTY ? "empty" : "missing", mix);
}

enum fail_code
mix_loss_ask_batches(
    rd_kafka_t *rk, const char *mix, bool *there, bool *held, int timeout_ms, struct failure *f)
{
	char topic[TOPIC_MAX_BYTES + 1];
	enum fail_code code;
	int64_t *high;
	int n = 0;

	*there = *held = false;
	names_topic(topic, mix, "batches");
	if (kafka_partitions(rk, topic, &n, timeout_ms, f) != FAIL_NONE)
		return f->code;
	*there = n > 0;
	high = calloc((size_t)n + 1, sizeof(*high));
	code = high == NULL
		   ? fail_memory(f)
		   : kafka_watermarks_many(rk, topic, 0, (size_t)n, NULL, high, timeout_ms, f);
	for (int i = 0; code == FAIL_NONE && i < n; i++)
		*held = *held || high[i] > 0;
	free(high);
	return code;
}

/* The ledger before the batches: a mixer that begins the mix meanwhile writes there first. */
static enum fail_code
ask(struct mix_loss_facts *facts, rd_kafka_t *rk, const char *mix, int timeout_ms,
    struct failure *f)
{
	char topic[TOPIC_MAX_BYTES + 1];
	rd_kafka_message_t *m = NULL;
	struct ledger last = {0};
	int n = 0;

	*facts = (struct mix_loss_facts){0};
	names_topic(topic, mix, "ledger");
	if (kafka_partitions(rk, topic, &n, timeout_ms, f) != FAIL_NONE ||
	    (n > 0 && kafka_last_or_emptied(rk, topic, 0, &m, &facts->emptied, timeout_ms, f) !=
			  FAIL_NONE))
		return f->code;
	facts->ledger = n > 0;
	facts->any = m != NULL;
	if (facts->any) {
		facts->age_ms = clock_wall_ms() - rd_kafka_message_timestamp(m, NULL);
		if (ledger_decode(&last, m->payload, m->len, f) == FAIL_NONE) /* else damaged */
			facts->step_next = last.step_next;
		ledger_clear(&last);
		rd_kafka_message_destroy(m);
	}
	if (facts->emptied)
		return FAIL_NONE;
	return mix_loss_ask_batches(rk, mix, &facts->batches, &facts->held, timeout_ms, f);
}

enum fail_code
mix_loss_check(rd_kafka_t *rk, const char *mix, enum mix_loss *loss, bool sure, int timeout_ms,
    struct failure *f)
{
	struct mix_loss_facts facts;
	int64_t since_ms = 0;

	do {
		*loss = MIX_LOSS_NONE;
		if (ask(&facts, rk, mix, timeout_ms, f) != FAIL_NONE)
			return f->code;
		*loss = mix_loss_judge(&facts);
	} while (sure && kafka_look_again(&since_ms, *loss != MIX_LOSS_NONE));
	return *loss == MIX_LOSS_NONE ? FAIL_NONE : mix_loss_fail(*loss, mix, facts.step_next, f);
}
