#include "consumer/publish/control_feed.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/kafka/kafka.h"
#include "common/base/log.h"
#include "common/base/names.h"

enum { ASK_TIMEOUT_MS = 30000, SLICE_MS = 100, EVENTS_MAX = 16 };

struct control_feed {
	rd_kafka_t *rk;
	char topic[TOPIC_MAX_BYTES + 1];
	int64_t offset_next;
	int64_t end;                 /* of the topic at the last seek */
	bool at_end;                 /* was met since then */
	rd_kafka_message_t *waiting; /* NULL: none */
	rd_kafka_message_t *taken;   /* what the last record borrows from */
	struct control control;
};

enum fail_code
control_feed_open(struct control_feed **out, const char *mix, const struct properties *properties,
    struct failure *f)
{
	struct property tune[] = {
	    {(char[]){"queued.max.messages.kbytes"}, (char[]){"1024"}},
	    {(char[]){"fetch.message.max.bytes"}, (char[]){"262144"}},
	};
	struct kafka_options k = {.role = KAFKA_READER,
	    .properties = properties,
	    .client = "mix-control",
	    .tune = tune,
	    .tune_n = sizeof(tune) / sizeof(tune[0])};
	struct control_feed *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return fail_memory(f);
	names_topic(c->topic, mix, "control");
	if (kafka_open(&c->rk, &k, f) != FAIL_NONE) {
		free(c);
		return f->code;
	}
	*out = c;
	return FAIL_NONE;
}

static void
forget(struct control_feed *c)
{
	if (c->waiting != NULL)
		rd_kafka_message_destroy(c->waiting);
	if (c->taken != NULL)
		rd_kafka_message_destroy(c->taken);
	c->waiting = c->taken = NULL;
	control_clear(&c->control);
}

void
control_feed_close(struct control_feed *c)
{
	if (c == NULL)
		return;
	forget(c);
	kafka_close(c->rk);
	free(c);
}

const char *
control_feed_topic(const struct control_feed *c)
{
	return c->topic;
}

enum fail_code
control_feed_seek(struct control_feed *c, int64_t offset_next, struct failure *f)
{
	rd_kafka_topic_partition_list_t *list;
	rd_kafka_resp_err_t err;
	int64_t low, high;

	forget(c);
	c->at_end = false;
	if (kafka_watermarks(c->rk, c->topic, 0, &low, &high, ASK_TIMEOUT_MS, f) != FAIL_NONE)
		return f->code;
	c->end = high;
	c->offset_next = offset_next;
	if (offset_next < low || offset_next > high) {
		log_warning(
		    "mix: MIX-CONTROL topic=%s: the ledger has answered up to offset=%" PRId64
		    ", the topic holds %" PRId64 "..%" PRId64
		    ": records were deleted, or the topic was made anew; going on at %" PRId64,
		    c->topic, offset_next, low, high, low);
		c->offset_next = low;
	}
	list = rd_kafka_topic_partition_list_new(1);
	rd_kafka_topic_partition_list_add(list, c->topic, 0)->offset = c->offset_next;
	err = rd_kafka_assign(c->rk, list);
	rd_kafka_topic_partition_list_destroy(list);
	if (err == RD_KAFKA_RESP_ERR_NO_ERROR)
		return FAIL_NONE;
	kafka_fail_code(f, err, NULL, "following");
	return fail_within(f, "topic %s", c->topic);
}

/* Takes events until a record waits; the first may be waited for. */
static enum fail_code
poll(struct control_feed *c, int timeout_ms, struct failure *f)
{
	for (int i = 0; c->waiting == NULL && i < EVENTS_MAX; i++) {
		rd_kafka_message_t *m = rd_kafka_consumer_poll(c->rk, i == 0 ? timeout_ms : 0);
		enum fail_code denied = FAIL_NONE;
		rd_kafka_resp_err_t err;

		if (m == NULL)
			break;
		err = m->err;
		if (err == RD_KAFKA_RESP_ERR_NO_ERROR && m->offset >= c->offset_next) {
			c->waiting = m;
			break;
		}
		/* A new leader may believe in an earlier end until it has heard of its followers.
		 */
		if (err == RD_KAFKA_RESP_ERR__PARTITION_EOF && m->offset >= c->end)
			c->at_end = true;
		if (kafka_message_denied(c->rk, m))
			denied = kafka_fail_topic(f, c->rk, err, NULL, "reading", c->topic);
		rd_kafka_message_destroy(m);
		if (denied != FAIL_NONE)
			return denied;
		if (err == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET ||
		    err == RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE)
			return control_feed_seek(c, c->offset_next, f);
		/* other errors mend */
	}
	return FAIL_NONE;
}

enum fail_code
control_feed_waits(struct control_feed *c, bool *waits, struct failure *f)
{
	if (c->waiting == NULL && poll(c, 0, f) != FAIL_NONE)
		return f->code;
	*waits = c->waiting != NULL;
	return FAIL_NONE;
}

enum fail_code
control_feed_catch_up(struct control_feed *c, int timeout_ms, bool *waits, struct failure *f)
{
	int64_t deadline_ms = clock_ms() + timeout_ms;

	while (c->waiting == NULL && !c->at_end) {
		if (poll(c, SLICE_MS, f) != FAIL_NONE)
			return f->code;
		if (clock_ms() >= deadline_ms)
			return fail(f, FAIL_BROKER, "topic %s: nothing came within %d ms", c->topic,
			    timeout_ms);
	}
	*waits = c->waiting != NULL;
	return FAIL_NONE;
}

enum fail_code
control_feed_take(struct control_feed *c, struct control_feed_record *out, struct failure *f)
{
	rd_kafka_message_t *m = c->waiting;
	struct failure why;

	assert(m != NULL);
	c->waiting = NULL;
	forget(c);
	c->taken = m;
	c->offset_next = m->offset + 1;
	*out = (struct control_feed_record){.offset = m->offset, .bytes = m->payload, .n = m->len};
	if (control_decode(&c->control, m->payload, m->len, &why) == FAIL_NONE) {
		out->control = &c->control;
		return FAIL_NONE;
	}
	if (why.code == FAIL_MEMORY)
		return fail_memory(f);
	out->garbage = true;
	snprintf(out->reason, sizeof(out->reason), "%.255s", why.text);
	return FAIL_NONE;
}
