#include "consumer/feedback/reporter.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/names.h"
#include "common/kafka/kafka.h"

struct reporter {
	char topic_name[TOPIC_MAX_BYTES + 1];
	rd_kafka_t *rk;
	rd_kafka_topic_t *topic;
	uint64_t lost;             /* reports that no call has failed with yet */
	rd_kafka_resp_err_t error; /* of the first of them */
};

/* librdkafka has delivered a report, or given it up. Only counts: the next call reports it. */
static void
delivered(rd_kafka_t *rk, const rd_kafka_message_t *m, void *opaque)
{
	struct reporter *r = opaque;

	(void)rk;
	if (m->err == RD_KAFKA_RESP_ERR_NO_ERROR)
		return;
	if (r->lost++ == 0)
		r->error = m->err;
}

/*
 * Queries the topic, so that the handle knows where to send, and a missing topic is reported now.
 */
static enum fail_code
find_topic(struct reporter *r, const char *mix, int timeout_ms, struct failure *f)
{
	if (kafka_check_single(r->rk, r->topic_name, timeout_ms, f) != FAIL_NONE)
		return fail_within(f, "losses of mix %s cannot be reported", mix);
	r->topic = rd_kafka_topic_new(r->rk, r->topic_name, NULL);
	return r->topic == NULL ? fail_memory(f) : FAIL_NONE;
}

enum fail_code
reporter_open(struct reporter **out, const char *mix, const struct properties *properties,
    int timeout_ms, struct failure *f)
{
	static char name[] = "queue.buffering.max.messages";
	struct reporter *r = calloc(1, sizeof(*r));
	char value[24];
	const struct property tune = {name, value};
	struct kafka_options o = {
	    .role = KAFKA_WRITER,
	    .properties = properties,
	    .client = "report",
	    .tune = &tune,
	    .tune_n = 1,
	    .delivered = delivered,
	    .opaque = r,
	};

	if (r == NULL)
		return fail_memory(f);
	snprintf(value, sizeof(value), "%d", REPORTER_QUEUED);
	names_topic(r->topic_name, mix, "feedback");
	if (kafka_open(&r->rk, &o, f) != FAIL_NONE ||
	    find_topic(r, mix, timeout_ms, f) != FAIL_NONE)
		goto failed;
	*out = r;
	return FAIL_NONE;
failed:
	reporter_close(r);
	return f->code;
}

void
reporter_close(struct reporter *r)
{
	if (r == NULL)
		return;
	if (r->topic != NULL)
		rd_kafka_topic_destroy(r->topic);
	kafka_close(r->rk);
	free(r);
}

/* Fails once for all reports that were lost since the last time; FAIL_NONE: none was. */
static enum fail_code
fail_lost(struct reporter *r, struct failure *f)
{
	unsigned long long lost = r->lost;

	if (lost == 0)
		return FAIL_NONE;
	assert(r->error != RD_KAFKA_RESP_ERR_NO_ERROR);
	r->lost = 0;
	kafka_fail_topic(f, r->rk, r->error, NULL, "no delivery", r->topic_name);
	return fail_within(f, "topic %s: %llu reports of losses", r->topic_name, lost);
}

enum fail_code
reporter_send(struct reporter *r, const struct feedback *b, struct failure *f)
{
	uint8_t *bytes;
	size_t n;

	assert(r->topic != NULL);
	rd_kafka_poll(r->rk, 0); /* calls delivered() */
	if (rd_kafka_outq_len(r->rk) > 0)
		kafka_waits(r->rk);
	if (fail_lost(r, f) != FAIL_NONE || feedback_encode(b, &bytes, &n, f) != FAIL_NONE)
		return f->code;
	if (rd_kafka_produce(r->topic, 0, RD_KAFKA_MSG_F_FREE, bytes, n, NULL, 0, NULL) == 0)
		return FAIL_NONE;
	free(bytes);
	kafka_fail_code(f, rd_kafka_last_error(), NULL, "reporting losses");
	return fail_within(f, "topic %s", r->topic_name);
}

enum fail_code
reporter_flush(struct reporter *r, int timeout_ms, struct failure *f)
{
	rd_kafka_resp_err_t err = rd_kafka_flush(r->rk, timeout_ms); /* calls delivered() */

	assert(r->topic != NULL);
	if (fail_lost(r, f) != FAIL_NONE)
		return f->code;
	if (err == RD_KAFKA_RESP_ERR_NO_ERROR)
		return FAIL_NONE;
	kafka_waits(r->rk);
	return fail(f, FAIL_TIMEOUT, "topic %s: %d reports are not delivered within %d ms",
	    r->topic_name, rd_kafka_outq_len(r->rk), timeout_ms);
}
