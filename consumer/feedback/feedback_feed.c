#include "consumer/feedback/feedback_feed.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/names.h"
#include "common/kafka/kafka.h"

struct feedback_feed {
	rd_kafka_t *rk;
	char topic[TOPIC_MAX_BYTES + 1];
	int64_t offset_next;
	bool sought;
	struct feedback feedback; /* of the last record */
};

enum fail_code
feedback_feed_open(struct feedback_feed **out, const char *mix, const struct properties *properties,
    size_t fetch_bytes, struct failure *f)
{
	static char kbytes_name[] = "queued.max.messages.kbytes";
	static char fetch_name[] = "fetch.message.max.bytes";
	char kbytes[24], fetch[24];
	const struct property tune[] = {{kbytes_name, kbytes}, {fetch_name, fetch}};
	struct kafka_options k = {.role = KAFKA_READER,
	    .properties = properties,
	    .client = "feedback",
	    .tune = tune,
	    .tune_n = fetch_bytes > 0 ? 2 : 1};
	struct feedback_feed *d = calloc(1, sizeof(*d));

	if (d == NULL)
		return fail_memory(f);
	snprintf(kbytes, sizeof(kbytes), "%d", FEEDBACK_FEED_BYTES / 1024);
	snprintf(fetch, sizeof(fetch), "%zu", fetch_bytes);
	names_topic(d->topic, mix, "feedback");
	if (kafka_open(&d->rk, &k, f) != FAIL_NONE ||
	    kafka_check_single(d->rk, d->topic, FEEDBACK_FEED_ASK_MS, f) != FAIL_NONE) {
		feedback_feed_close(d);
		return f->code;
	}
	*out = d;
	return FAIL_NONE;
}

void
feedback_feed_close(struct feedback_feed *d)
{
	if (d == NULL)
		return;
	feedback_clear(&d->feedback);
	kafka_close(d->rk);
	free(d);
}

const char *
feedback_feed_topic(const struct feedback_feed *d)
{
	return d->topic;
}

int64_t
feedback_feed_position(const struct feedback_feed *d)
{
	return d->offset_next;
}

enum fail_code
feedback_feed_ends(struct feedback_feed *d, int64_t *low, int64_t *high, struct failure *f)
{
	return kafka_watermarks(d->rk, d->topic, 0, low, high, FEEDBACK_FEED_ASK_MS, f);
}

enum fail_code
feedback_feed_seek(struct feedback_feed *d, int64_t offset_next, struct failure *f)
{
	rd_kafka_resp_err_t err = kafka_assign_one(d->rk, d->topic, 0, offset_next);

	d->offset_next = offset_next;
	d->sought = true;
	if (err == RD_KAFKA_RESP_ERR_NO_ERROR)
		return FAIL_NONE;
	kafka_fail_code(f, err, NULL, "following");
	return fail_within(f, "topic %s", d->topic);
}

void
feedback_feed_rest(struct feedback_feed *d)
{
	kafka_assign(d->rk, NULL);
	d->sought = false;
}

/*
 * Hands a record out. Whatever it holds, the next one is behind it: a record that is no report must
 * not stop those who follow. Only memory that is short is a failure.
 */
static enum fail_code
take(struct feedback_feed *d, const rd_kafka_message_t *m, struct feedback_feed_record *out,
    struct failure *f)
{
	struct failure why;

	assert(m->offset >= d->offset_next);
	feedback_clear(&d->feedback);
	d->offset_next = m->offset + 1;
	*out = (struct feedback_feed_record){.offset = m->offset};
	if (feedback_decode(&d->feedback, m->payload, m->len, &why) == FAIL_NONE)
		out->feedback = &d->feedback;
	else if (why.code == FAIL_MEMORY)
		return fail_memory(f);
	else
		snprintf(out->reason, sizeof(out->reason), "%.255s", why.text);
	return FAIL_NONE;
}

enum fail_code
feedback_feed_next(struct feedback_feed *d, int timeout_ms, struct feedback_feed_record *out,
    bool *any, struct failure *f)
{
	int64_t deadline_ms = clock_ms() + timeout_ms, left_ms = timeout_ms;

	assert(d->sought);
	*any = false;
	while (!*any) {
		rd_kafka_message_t *m = kafka_poll(d->rk, left_ms > 0 ? (int)left_ms : 0);
		bool gone = m != NULL && kafka_lost(m->err);
		enum fail_code code = FAIL_NONE;

		if (m == NULL)
			return FAIL_NONE;
		*any = m->err == RD_KAFKA_RESP_ERR_NO_ERROR && m->offset >= d->offset_next;
		if (*any)
			code = take(d, m, out, f);
		else if (m->err == RD_KAFKA_RESP_ERR__PARTITION_EOF && m->offset > d->offset_next)
			d->offset_next = m->offset; /* a transaction's end may stand before it */
		if (kafka_message_denied(d->rk, m))
			code = kafka_fail_topic(f, d->rk, m->err, NULL, "reading", d->topic);
		rd_kafka_message_destroy(m);
		if (code != FAIL_NONE)
			return code;
		if (gone)
			return fail(f, FAIL_DATA,
			    "topic %s: offset %" PRId64
			    " is not kept: reports were deleted, or the topic was recreated",
			    d->topic, d->offset_next);
		left_ms = deadline_ms - clock_ms(); /* other errors mend */
	}
	return FAIL_NONE;
}
