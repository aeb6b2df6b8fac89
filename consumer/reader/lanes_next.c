#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>

#include "common/base/clock.h"
#include "common/kafka/kafka.h"
#include "consumer/reader/lanes_state.h"

enum { SERVE_EVERY = 64 }; /* records between two looks at the handle's own queue */

/* Errors that librdkafka mends by itself: a reader only waits. */
static bool
mends(rd_kafka_resp_err_t err)
{
	static const rd_kafka_resp_err_t errors[] = {
	    RD_KAFKA_RESP_ERR__TRANSPORT,
	    RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN,
	    RD_KAFKA_RESP_ERR__TIMED_OUT,
	    RD_KAFKA_RESP_ERR__RESOLVE,
	    RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE,
	    RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION,
	    RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT,
	    RD_KAFKA_RESP_ERR_NETWORK_EXCEPTION,
	    RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR,
	};

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (errors[i] == err)
			return true;
	return false;
}

static enum fail_code
fail_message(const struct lanes *l, const rd_kafka_message_t *m, struct failure *f)
{
	const char *text = rd_kafka_message_errstr(m);

	if (m->err == RD_KAFKA_RESP_ERR__BAD_MSG || m->err == RD_KAFKA_RESP_ERR__BAD_COMPRESSION) {
		fail(f, FAIL_DATA, "reading: %s", text);
		return fail_within(f, "topic %s, lane %d, offset %" PRId64, l->topic,
		    (int)m->partition, m->offset);
	}
	kafka_fail_topic(f, l->rk, m->err, text, "reading", l->topic);
	return fail_within(f, "topic %s", l->topic);
}

enum fail_code
lanes_take_events(struct lanes *l, struct failure *f)
{
	enum fail_code code = FAIL_NONE;
	rd_kafka_message_t *m;

	while (code == FAIL_NONE && (m = rd_kafka_consumer_poll(l->rk, 0)) != NULL) {
		if (m->err != RD_KAFKA_RESP_ERR_NO_ERROR &&
		    m->err != RD_KAFKA_RESP_ERR__PARTITION_EOF && !mends(m->err) &&
		    !(kafka_denied(m->err) && !kafka_message_denied(l->rk, m)))
			code = fail_message(l, m, f);
		if (code == FAIL_DENIED)
			atomic_store(&l->denied, m->err);
		rd_kafka_message_destroy(m);
	}
	return code;
}

static enum fail_code
serve(struct lanes *l, struct failure *f)
{
	l->since_served = 0;
	return lanes_take_events(l, f);
}

static bool
is_lost(rd_kafka_resp_err_t err)
{
	return err == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET ||
	       err == RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE;
}

static void
give_held(const struct lane *lane, enum lanes_event *event, struct lanes_record *out)
{
	*event = LANES_RECORD;
	out->bytes = lane->held->payload;
	out->n = lane->held->len;
	out->offset = lane->held->offset;
}

/* What librdkafka's message means. *again: nothing that concerns the reader. Takes `m`. */
static enum fail_code
take(struct lanes *l, struct lane *lane, rd_kafka_message_t *m, enum lanes_event *event,
    bool *again, struct failure *f)
{
	enum fail_code code = FAIL_NONE;

	*again = false;
	if (m->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
		lane->held = m;
		if (lane_fetch_taken(&l->fetch, m->len))
			lane_fetch_wake(l->rk, l->list);
		return FAIL_NONE;
	}
	if (m->err == RD_KAFKA_RESP_ERR__PARTITION_EOF)
		*event = LANES_AT_END;
	else if (is_lost(m->err))
		*event = LANES_LOST;
	else if (mends(m->err))
		*again = true;
	else
		code = fail_message(l, m, f);
	rd_kafka_message_destroy(m);
	return code;
}

enum fail_code
lanes_next(struct lanes *l, uint32_t i, int64_t deadline_ms, enum lanes_event *event,
    struct lanes_record *out, struct failure *f)
{
	struct lane *lane = &l->lane[i];
	bool again = lane->held == NULL;

	assert(i < l->count);
	if (again && ++l->since_served >= SERVE_EVERY && serve(l, f) != FAIL_NONE)
		return f->code;
	while (again) {
		int64_t left = deadline_ms - clock_ms();
		rd_kafka_message_t *m = rd_kafka_consume_queue(
		    lane->queue, left < 0 || atomic_load(&l->awake) ? 0 : (int)left);

		if (m == NULL && serve(l, f) != FAIL_NONE)
			return f->code;
		if (m == NULL && !atomic_load(&l->awake) && clock_ms() < deadline_ms)
			continue; /* woken by a call that is over */
		if (m == NULL)
			return fail(f, FAIL_TIMEOUT, "topic %s, lane %" PRIu32 ": nothing came",
			    l->topic, l->first + i);
		if (take(l, lane, m, event, &again, f) != FAIL_NONE)
			return f->code;
	}
	if (lane->held != NULL)
		give_held(lane, event, out);
	return FAIL_NONE;
}

void
lanes_release(struct lanes *l, uint32_t i)
{
	assert(i < l->count);
	if (l->lane[i].held != NULL)
		rd_kafka_message_destroy(l->lane[i].held);
	l->lane[i].held = NULL;
}

struct lanes_record_held *
lanes_detach(struct lanes *l, uint32_t i)
{
	rd_kafka_message_t *held = l->lane[i].held;

	assert(i < l->count);
	l->lane[i].held = NULL;
	return (struct lanes_record_held *)held;
}

void
lanes_free(struct lanes_record_held *record)
{
	if (record != NULL)
		rd_kafka_message_destroy((rd_kafka_message_t *)record);
}

void
lanes_wake(struct lanes *l)
{
	atomic_store(&l->awake, true);
	for (uint32_t i = 0; i < l->count; i++)
		rd_kafka_queue_yield(l->lane[i].queue);
}

void
lanes_sleep(struct lanes *l)
{
	atomic_store(&l->awake, false);
}
