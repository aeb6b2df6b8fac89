#include "producer/publish/publish.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/kafka/kafka.h"

/* A fetch begins with a whole batch: small ones suit mixers, which read blocks. */
enum { QUEUE_FULL_POLL_MS = 10, SETTLE_SLICE_MS = 10, BATCH_BYTES = 131072 };

struct publish_writer {
	struct publish *p;
	struct publish_writer *next;
	rd_kafka_topic_t *topic;
	int32_t partition;
	int64_t offset_next;     /* of the next record that is put */
	int64_t offset_reported; /* of the next one that a report is about: they come in order */
	size_t waiting_bytes;    /* put, and not reported */
};

struct publish {
	rd_kafka_t *rk;
	rd_kafka_topic_t *rejects;
	struct publish_writer *writers;
	const struct stop *stop;
	uint64_t rejects_waiting; /* put, and not delivered */
	size_t waiting_bytes_max; /* of a writer; see publish_put() */
	int64_t heard_ms;         /* when a report came, or nothing waited for one */
	struct failure failure;   /* of the first record that failed; code FAIL_NONE: none has */
};

/*
 * _private of a sequence is its writer, that of a reject is NULL. A broker that recognises a
 * repeated request may not say its offset: the next report does.
 */
static void
delivered(rd_kafka_t *rk, const rd_kafka_message_t *msg, void *opaque)
{
	struct publish *p = opaque;
	struct publish_writer *w = msg->_private;
	int64_t expected = w == NULL ? -1 : w->offset_reported++;

	p->heard_ms = clock_ms();
	if (w == NULL)
		p->rejects_waiting--;
	else
		w->waiting_bytes -= msg->len;
	if (p->failure.code != FAIL_NONE)
		return;
	if (msg->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
		char attempted[320];

		snprintf(attempted, sizeof(attempted), "publishing to topic %s partition %" PRId32,
		    rd_kafka_topic_name(msg->rkt), msg->partition);
		kafka_fail_topic(
		    &p->failure, rk, msg->err, NULL, attempted, rd_kafka_topic_name(msg->rkt));
	} else if (expected >= 0 && msg->offset >= 0 && msg->offset != expected) {
		fail(&p->failure, FAIL_DATA,
		    "topic %s partition %" PRId32 ": a record landed at offset %" PRId64
		    " and not at %" PRId64 ": another producer writes here. End it; then `riffle "
		    "produce` goes on, and readers drop what is there twice",
		    rd_kafka_topic_name(msg->rkt), msg->partition, msg->offset, expected);
	}
}

/* A batch and three quarters, by the batch.size that is in force. */
static size_t
waiting_bytes_max(const struct properties *properties)
{
	const char *given = properties_value(properties, "batch.size");
	size_t batch = given == NULL ? BATCH_BYTES : strtoull(given, NULL, 10);

	return batch + batch / 4 * 3;
}

enum fail_code
publish_open(struct publish **out, const struct properties *properties, size_t record_bytes_max,
    const char *rejects_topic, const struct stop *stop, struct failure *f)
{
	char batch[32];
	const struct property tune[] = {{(char[]){"batch.size"}, batch}};
	struct publish *p = calloc(1, sizeof(*p));
	struct kafka_options o = {
	    .role = KAFKA_WRITER,
	    .properties = properties,
	    .client = "produce",
	    .gapless = true,
	    .message_bytes_max = record_bytes_max,
	    .tune = tune,
	    .tune_n = 1,
	    .delivered = delivered,
	    .opaque = p,
	};

	if (p == NULL)
		return fail_memory(f);
	snprintf(batch, sizeof(batch), "%d", BATCH_BYTES);
	p->waiting_bytes_max = waiting_bytes_max(properties);
	p->stop = stop;
	p->heard_ms = clock_ms();
	if (kafka_open(&p->rk, &o, f) != FAIL_NONE) {
		free(p);
		return f->code;
	}
	p->rejects = rd_kafka_topic_new(p->rk, rejects_topic, NULL);
	if (p->rejects == NULL) {
		publish_close(p);
		return fail_memory(f);
	}
	*out = p;
	return FAIL_NONE;
}

void
publish_close(struct publish *p)
{
	if (p == NULL)
		return;
	for (struct publish_writer *w = p->writers; w != NULL; w = w->next)
		rd_kafka_topic_destroy(w->topic);
	if (p->rejects != NULL)
		rd_kafka_topic_destroy(p->rejects);
	kafka_close(p->rk); /* it may still report records of the writers */
	while (p->writers != NULL) {
		struct publish_writer *next = p->writers->next;

		free(p->writers);
		p->writers = next;
	}
	free(p);
}

enum fail_code
publish_writer_open(struct publish_writer **out, struct publish *p, const char *topic,
    int32_t partition, int64_t offset_next, struct failure *f)
{
	struct publish_writer *w = calloc(1, sizeof(*w));

	if (w == NULL)
		return fail_memory(f);
	w->p = p;
	w->partition = partition;
	w->offset_next = w->offset_reported = offset_next;
	w->topic = rd_kafka_topic_new(p->rk, topic, NULL);
	if (w->topic == NULL) {
		free(w);
		return fail_memory(f);
	}
	w->next = p->writers;
	p->writers = w;
	*out = w;
	return FAIL_NONE;
}

/* Records are not given up one by one, which would leave gaps: all of them are, at the end. */
static void
check_silence(struct publish *p)
{
	int64_t now_ms = clock_ms();

	if (rd_kafka_outq_len(p->rk) == 0)
		p->heard_ms = now_ms;
	if (now_ms - p->heard_ms > PUBLISH_SILENT_MS && p->failure.code == FAIL_NONE)
		fail(&p->failure, FAIL_BROKER,
		    "publishing: the broker has acknowledged nothing for %d s: is it running?",
		    PUBLISH_SILENT_MS / 1000);
}

static enum fail_code
serve(struct publish *p, int timeout_ms, struct failure *f)
{
	rd_kafka_poll(p->rk, timeout_ms);
	check_silence(p);
	if (p->failure.code == FAIL_NONE)
		return FAIL_NONE;
	*f = p->failure;
	return f->code;
}

enum fail_code
publish_poll(struct publish *p, struct failure *f)
{
	return serve(p, 0, f);
}

/* Waits for reports, unless it is to stop. */
static enum fail_code
wait_for_reports(struct publish *p, struct failure *f)
{
	if (stop_asked(p->stop))
		return fail(f, FAIL_STOPPED, "stopped");
	return serve(p, QUEUE_FULL_POLL_MS, f);
}

/*
 * An idempotent producer of librdkafka 2.0.2 has one request of a partition on its way, and while
 * another batch is full it polls without a pause until the answer is there, which costs a core. So
 * a partition is not given that much: one batch on its way, and most of the next.
 */
static enum fail_code
wait_for_room(const struct publish_writer *w, size_t n, struct failure *f)
{
	while (w->waiting_bytes > 0 && w->waiting_bytes + n > w->p->waiting_bytes_max)
		if (wait_for_reports(w->p, f) != FAIL_NONE)
			return f->code;
	return FAIL_NONE;
}

enum fail_code
publish_put(struct publish_writer *w, uint8_t *bytes, size_t n, struct failure *f)
{
	enum fail_code code = wait_for_room(w, n, f);

	while (code == FAIL_NONE && rd_kafka_produce(w->topic, w->partition, RD_KAFKA_MSG_F_FREE,
					bytes, n, NULL, 0, w) != 0) {
		rd_kafka_resp_err_t err = rd_kafka_last_error();

		if (err == RD_KAFKA_RESP_ERR__QUEUE_FULL)
			code = wait_for_reports(w->p, f);
		else if (publish_poll(w->p, f) != FAIL_NONE)
			code = f->code;
		else
			code = kafka_fail_code(f, err, NULL, "publishing a sequence");
	}
	if (code != FAIL_NONE) {
		free(bytes);
		return code;
	}
	w->offset_next++;
	w->waiting_bytes += n;
	return publish_poll(w->p, f);
}

static rd_kafka_headers_t *
reject_headers(const struct publish_reject *r)
{
	char line[32], byte[32], count[32];
	const struct {
		const char *name, *value;
	} header[] = {
	    {"riffle.error.stage", "produce"},
	    {"riffle.error.domain", r->domain},
	    {"riffle.error.file", r->file},
	    {"riffle.error.line", line},
	    {"riffle.error.byte", byte},
	    {"riffle.error.count", count},
	    {"riffle.error.reason", r->reason},
	};
	size_t n = sizeof(header) / sizeof(header[0]);
	rd_kafka_headers_t *h = rd_kafka_headers_new(n);

	snprintf(line, sizeof(line), "%" PRIu64, r->line);
	snprintf(byte, sizeof(byte), "%" PRIu64, r->byte);
	snprintf(count, sizeof(count), "%" PRIu64, r->count);
	for (size_t i = 0; h != NULL && i < n; i++)
		rd_kafka_header_add(h, header[i].name, -1, header[i].value, -1);
	return h;
}

enum fail_code
publish_put_reject(struct publish *p, const struct publish_reject *r, struct failure *f)
{
	size_t n = r->n < PUBLISH_REJECT_BYTES_MAX ? r->n : PUBLISH_REJECT_BYTES_MAX;
	rd_kafka_headers_t *headers = reject_headers(r);

	if (headers == NULL)
		return fail_memory(f);
	for (;;) {
		rd_kafka_resp_err_t err = rd_kafka_producev(p->rk, RD_KAFKA_V_RKT(p->rejects),
		    RD_KAFKA_V_PARTITION(0), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
		    RD_KAFKA_V_VALUE((void *)(uintptr_t)r->bytes, n), RD_KAFKA_V_HEADERS(headers),
		    RD_KAFKA_V_END);

		if (err == RD_KAFKA_RESP_ERR_NO_ERROR) {
			p->rejects_waiting++;
			return publish_poll(p, f);
		}
		if (err == RD_KAFKA_RESP_ERR__QUEUE_FULL && wait_for_reports(p, f) == FAIL_NONE)
			continue;
		rd_kafka_headers_destroy(headers);
		if (err == RD_KAFKA_RESP_ERR__QUEUE_FULL || publish_poll(p, f) != FAIL_NONE)
			return f->code;
		return kafka_fail_code(f, err, NULL, "publishing a reject");
	}
}

enum fail_code
publish_settle_rejects(struct publish *p, struct failure *f)
{
	while (p->rejects_waiting > 0) {
		rd_kafka_flush(p->rk, SETTLE_SLICE_MS); /* does not linger, as a poll would */
		if (publish_poll(p, f) != FAIL_NONE)
			return f->code;
		if (stop_asked(p->stop) && p->rejects_waiting > 0)
			return fail(f, FAIL_STOPPED, "stopped");
	}
	return FAIL_NONE;
}

enum fail_code
publish_flush(struct publish *p, int timeout_ms, struct failure *f)
{
	rd_kafka_resp_err_t err = rd_kafka_flush(p->rk, timeout_ms);

	if (publish_poll(p, f) != FAIL_NONE)
		return f->code;
	if (err != RD_KAFKA_RESP_ERR_NO_ERROR)
		return kafka_fail_code(f, err, NULL, "waiting for the delivery of sequences");
	return FAIL_NONE;
}
