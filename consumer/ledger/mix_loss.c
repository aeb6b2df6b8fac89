#include "consumer/ledger/mix_loss.h"

#include <inttypes.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/names.h"
#include "common/kafka/kafka.h"
#include "common/record/ledger.h"

enum fail_code
mix_loss_fail_ledger(const char *mix, bool exists, struct failure *f)
{
	return fail(f, FAIL_DATA,
	    "topic %s.ledger is %s, and %s.batches has held steps: the ledger was deleted, and "
	    "`riffle mix` refuses to publish these steps a second time: start a mix of another "
	    "name, or delete this one and start it from step 0 with `riffle topics --delete --mix "
	    "--create`",
	    mix, exists ? "empty" : "missing", mix);
}

/* *held: some partition of the batch topic has held a record. *there: there is such a topic. */
static enum fail_code
ask_batches(
    rd_kafka_t *rk, const char *mix, bool *there, bool *held, int timeout_ms, struct failure *f)
{
	char topic[TOPIC_MAX_BYTES + 1];
	int32_t *partition = NULL;
	int64_t *low = NULL, *high = NULL;
	enum fail_code code;
	int n = 0;

	*held = false;
	names_topic(topic, mix, "batches");
	code = kafka_partitions(rk, topic, &n, timeout_ms, f);
	*there = code == FAIL_NONE && n > 0;
	if (!*there)
		return code;
	partition = calloc((size_t)n, sizeof(*partition));
	low = calloc((size_t)n, sizeof(*low));
	high = calloc((size_t)n, sizeof(*high));
	if (partition == NULL || low == NULL || high == NULL)
		code = fail_memory(f);
	for (int i = 0; code == FAIL_NONE && i < n; i++)
		partition[i] = i;
	if (code == FAIL_NONE)
		code = kafka_watermarks_many(
		    rk, topic, partition, (size_t)n, low, high, timeout_ms, f);
	for (int i = 0; code == FAIL_NONE && i < n; i++)
		*held = *held || high[i] > 0;
	free(partition);
	free(low);
	free(high);
	return code;
}

enum fail_code
mix_loss_check_ledger(
    rd_kafka_t *rk, const char *mix, bool exists, int timeout_ms, struct failure *f)
{
	char topic[TOPIC_MAX_BYTES + 1];
	rd_kafka_message_t *m = NULL;
	bool there, held;

	if (ask_batches(rk, mix, &there, &held, timeout_ms, f) != FAIL_NONE)
		return f->code;
	if (!held)
		return FAIL_NONE;
	/* A mixer may have begun the mix since the caller looked at the ledger. */
	names_topic(topic, mix, "ledger");
	if (exists && kafka_last_record(rk, topic, 0, &m, timeout_ms, f) != FAIL_NONE)
		return f->code;
	if (m == NULL)
		return mix_loss_fail_ledger(mix, exists, f);
	rd_kafka_message_destroy(m);
	return FAIL_NONE;
}

/* The ledger has the record `m`: the batch topic must have held the steps below. */
static enum fail_code
check_batches(
    rd_kafka_t *rk, const char *mix, const rd_kafka_message_t *m, int timeout_ms, struct failure *f)
{
	struct ledger last = {0};
	bool there, held;
	int64_t next;

	if (clock_wall_ms() - rd_kafka_message_timestamp(m, NULL) < MIX_LOSS_SETTLED_MS)
		return FAIL_NONE;
	if (ledger_decode(&last, m->payload, m->len, f) != FAIL_NONE)
		return fail_within(f, "topic %s.ledger, offset %" PRId64, mix, m->offset);
	next = last.step_next;
	ledger_clear(&last);
	if (next == 0)
		return FAIL_NONE;
	if (ask_batches(rk, mix, &there, &held, timeout_ms, f) != FAIL_NONE)
		return f->code;
	if (!there || held)
		return FAIL_NONE;
	return fail(f, FAIL_DATA,
	    "topic %s.batches holds no record, and the ledger says that steps below %" PRId64
	    " are published: the batch topic was deleted and created again. `riffle repair` "
	    "fills it from ledger and domains",
	    mix, next);
}

enum fail_code
mix_loss_check(rd_kafka_t *rk, const char *mix, int timeout_ms, struct failure *f)
{
	char topic[TOPIC_MAX_BYTES + 1];
	int64_t low = 0, high = 0;
	rd_kafka_message_t *m = NULL;
	enum fail_code code;
	int n = 0;

	names_topic(topic, mix, "ledger");
	if (kafka_partitions(rk, topic, &n, timeout_ms, f) != FAIL_NONE ||
	    (n > 0 && kafka_last_record(rk, topic, 0, &m, timeout_ms, f) != FAIL_NONE) ||
	    (n > 0 && m == NULL &&
		kafka_watermarks(rk, topic, 0, &low, &high, timeout_ms, f) != FAIL_NONE))
		return f->code;
	if (m == NULL && high > 0)
		return FAIL_NONE; /* its records were deleted: a running mixer still knows all */
	code = m == NULL ? mix_loss_check_ledger(rk, mix, n > 0, timeout_ms, f)
			 : check_batches(rk, mix, m, timeout_ms, f);
	if (m != NULL)
		rd_kafka_message_destroy(m);
	return code;
}
