#include "producer/writer/writer.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/kafka/kafka.h"

/* A fetch begins with a whole batch: small ones suit mixers, which read blocks of sequences. */
enum { QUEUE_FULL_POLL_MS = 10, SETTLE_SLICE_MS = 10, BATCH_BYTES = 131072 };

struct writer_partition {
	struct writer *w;
	struct writer_partition *next;
	rd_kafka_topic_t *topic;
	int32_t partition;
	int64_t offset_next;     /* of the next record that is put */
	int64_t offset_reported; /* of the next one that a report is about: they come in order */
	size_t waiting_bytes;    /* put, and not reported */
};

struct writer {
	rd_kafka_t *rk;
	rd_kafka_topic_t *rejects;
	struct writer_partition *partitions;
	const struct stop *stop;
	uint64_t rejects_waiting; /* put, and not delivered */
	size_t waiting_bytes_max; /* of a partition; see wait_for_room() */
	int64_t heard_ms;         /* when a report came, or nothing waited for one */
	struct failure failure;   /* of the first record that failed; code FAIL_NONE: none has */
};

/* ---- delivery reports ---- */

enum writer_landed
writer_judge(int64_t expected, int64_t offset)
{
	if (offset < 0 || offset == expected)
		return WRITER_LANDED;
	return offset < expected ? WRITER_LANDED_BEFORE : WRITER_LANDED_AFTER;
}

/*
 * How it is noticed that another producer writes to the partition.  We know where its end was when
 * we asked (resume.h), we put records one after the other, and reports of one partition come in the
 * order in which the records were put. So the n-th report must say offset_next + n:
 *
 *     end at the start 40     our records   a   b   c     reports   40  41  42      all is well
 *                                                         reports   40  43          42 and 41 are
 *                                                                                   another's
 *
 * Two producers at one partition write every sequence twice. Readers drop the second of two equal
 * ordinals, so that nothing is lost if both read the same input. The producer that notices fails
 * and puts no further record. Whose turn it is (turn.h) resumes, which compares the records of the
 * two (overlap.h); the other was overtaken.
 *
 * _private of a sequence is its partition, that of a reject is NULL. A broker that recognises a
 * repeated request may not say its offset (-1): then the next report does.
 *
 * Reports arrive in rd_kafka_poll() and rd_kafka_flush(), on the caller's thread. delivered()
 * records; serve() acts.
 */
static void
delivered(rd_kafka_t *rk, const rd_kafka_message_t *msg, void *opaque)
{
	struct writer *w = opaque;
	struct writer_partition *p = msg->_private;
	int64_t expected = p == NULL ? msg->offset : p->offset_reported++;
	enum writer_landed landed = writer_judge(expected, msg->offset);

	w->heard_ms = clock_ms();
	if (p == NULL) {
		assert(w->rejects_waiting > 0);
		w->rejects_waiting--;
	} else {
		assert(p->waiting_bytes >= msg->len);
		assert(p->offset_reported <= p->offset_next);
		p->waiting_bytes -= msg->len;
	}
	if (w->failure.code != FAIL_NONE)
		return;
	if (msg->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
		char attempted[320];

		snprintf(attempted, sizeof(attempted), "publishing to topic %s partition %" PRId32,
		    rd_kafka_topic_name(msg->rkt), msg->partition);
		kafka_fail_topic(
		    &w->failure, rk, msg->err, NULL, attempted, rd_kafka_topic_name(msg->rkt));
	} else if (landed == WRITER_LANDED_BEFORE) {
		fail(&w->failure, FAIL_DATA,
		    "topic %s partition %" PRId32 ": a record landed at offset %" PRId64
		    " and not at %" PRId64 ": the partition has lost its end, which a broker had "
		    "acknowledged, or was recreated; sequences are missing in front of the record. "
		    "`riffle produce DOMAIN --restart` publishes the domain again, where no mix "
		    "draws from it. "
		    "Else `riffle produce` continues behind them; a mix that would draw one stops, "
		    "and names the `riffle skip` that leaves them out",
		    rd_kafka_topic_name(msg->rkt), msg->partition, msg->offset, expected);
	} else if (landed == WRITER_LANDED_AFTER) {
		fail(&w->failure, FAIL_FENCED,
		    "topic %s partition %" PRId32 ": a record landed at offset %" PRId64
		    " and not at %" PRId64 ": another producer writes here, or one that was "
		    "killed had records on their way; readers drop duplicates",
		    rd_kafka_topic_name(msg->rkt), msg->partition, msg->offset, expected);
	}
}

/* ---- open and close ---- */

/* A batch and three quarters, by the batch.size that is in force. See wait_for_room(). */
static size_t
waiting_bytes_max(const struct properties *properties)
{
	const char *given = properties_value(properties, "batch.size");
	size_t batch = given == NULL ? BATCH_BYTES : strtoull(given, NULL, 10);

	return batch + batch / 4 * 3;
}

size_t
writer_overlap_bytes(const struct properties *properties)
{
	return 2 * 2 * waiting_bytes_max(properties);
}

enum fail_code
writer_open(struct writer **out, const struct properties *properties, size_t record_bytes_max,
    const char *rejects_topic, const struct stop *stop, struct kafka_stats *stats,
    struct failure *f)
{
	char batch[32];
	const struct property tune[] = {{(char[]){"batch.size"}, batch}};
	struct writer *w = calloc(1, sizeof(*w));
	struct kafka_options o = {
	    .role = KAFKA_WRITER,
	    .properties = properties,
	    .client = "produce",
	    .gapless = true,
	    .message_bytes_max = record_bytes_max,
	    .tune = tune,
	    .tune_n = 1,
	    .delivered = delivered,
	    .opaque = w,
	    .stats = stats,
	};

	if (w == NULL)
		return fail_memory(f);
	snprintf(batch, sizeof(batch), "%d", BATCH_BYTES);
	w->waiting_bytes_max = waiting_bytes_max(properties);
	w->stop = stop;
	w->heard_ms = clock_ms();
	if (kafka_open(&w->rk, &o, f) != FAIL_NONE) {
		free(w);
		return f->code;
	}
	w->rejects = rd_kafka_topic_new(w->rk, rejects_topic, NULL);
	if (w->rejects == NULL) {
		writer_close(w);
		return fail_memory(f);
	}
	*out = w;
	return FAIL_NONE;
}

void
writer_close(struct writer *w)
{
	if (w == NULL)
		return;
	for (struct writer_partition *p = w->partitions; p != NULL; p = p->next)
		rd_kafka_topic_destroy(p->topic);
	if (w->rejects != NULL)
		rd_kafka_topic_destroy(w->rejects);
	kafka_close(w->rk); /* it may still report records of the partitions */
	while (w->partitions != NULL) {
		struct writer_partition *next = w->partitions->next;

		free(w->partitions);
		w->partitions = next;
	}
	free(w);
}

enum fail_code
writer_partition_open(struct writer_partition **out, struct writer *w, const char *topic,
    int32_t partition, int64_t offset_next, struct failure *f)
{
	struct writer_partition *p = calloc(1, sizeof(*p));

	if (p == NULL)
		return fail_memory(f);
	assert(partition >= 0);
	assert(offset_next >= 0);
	p->w = w;
	p->partition = partition;
	p->offset_next = p->offset_reported = offset_next;
	p->topic = rd_kafka_topic_new(w->rk, topic, NULL);
	if (p->topic == NULL) {
		free(p);
		return fail_memory(f);
	}
	p->next = w->partitions;
	w->partitions = p;
	*out = p;
	return FAIL_NONE;
}

/* ---- waiting ---- */

/*
 * Records are not given up one by one, which would leave gaps: message.timeout.ms is endless, and
 * where nothing at all is acknowledged for WRITER_SILENT_MS, everything is given up together. The
 * caller closes the writer then, and resumes by what is in the partitions.
 */
static void
check_silence(struct writer *w)
{
	int64_t now_ms = clock_ms();

	if (rd_kafka_outq_len(w->rk) == 0)
		w->heard_ms = now_ms;
	else
		kafka_waits(w->rk);
	if (now_ms - w->heard_ms > WRITER_SILENT_MS && w->failure.code == FAIL_NONE)
		fail(&w->failure, FAIL_BROKER,
		    "publishing: the broker has acknowledged nothing for %d s: is it running?",
		    WRITER_SILENT_MS / 1000);
}

static enum fail_code
serve(struct writer *w, int timeout_ms, struct failure *f)
{
	rd_kafka_poll(w->rk, timeout_ms);
	check_silence(w);
	if (w->failure.code == FAIL_NONE)
		return FAIL_NONE;
	*f = w->failure;
	return f->code;
}

enum fail_code
writer_poll(struct writer *w, struct failure *f)
{
	return serve(w, 0, f);
}

/* Waits for reports, unless it is to stop. */
static enum fail_code
wait_for_reports(struct writer *w, struct failure *f)
{
	if (stop_asked(w->stop))
		return fail(f, FAIL_STOPPED, "stopped");
	return serve(w, QUEUE_FULL_POLL_MS, f);
}

/*
 * An idempotent producer of librdkafka 2.0.2 has one request of a partition on its way, and while
 * another batch is full it polls without a pause until the answer is there, which costs a core. So
 * a partition is not given that much: one batch on its way, and most of the next.
 */
static enum fail_code
wait_for_room(const struct writer_partition *p, size_t n, struct failure *f)
{
	while (p->waiting_bytes > 0 && p->waiting_bytes + n > p->w->waiting_bytes_max)
		if (wait_for_reports(p->w, f) != FAIL_NONE)
			return f->code;
	return FAIL_NONE;
}

/* ---- records ---- */

/* Hands a record to librdkafka; on success `bytes` and `headers` are its own. */
static rd_kafka_resp_err_t
produce(struct writer_partition *p, uint8_t *bytes, size_t n, rd_kafka_headers_t *headers)
{
	if (headers == NULL)
		return rd_kafka_produce(
			   p->topic, p->partition, RD_KAFKA_MSG_F_FREE, bytes, n, NULL, 0, p) == 0
			   ? RD_KAFKA_RESP_ERR_NO_ERROR
			   : rd_kafka_last_error();
	return rd_kafka_producev(p->w->rk, RD_KAFKA_V_RKT(p->topic),
	    RD_KAFKA_V_PARTITION(p->partition), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_FREE),
	    RD_KAFKA_V_VALUE(bytes, n), RD_KAFKA_V_HEADERS(headers), RD_KAFKA_V_OPAQUE(p),
	    RD_KAFKA_V_END);
}

enum fail_code
writer_put(struct writer_partition *p, uint8_t *bytes, size_t n, const struct writer_header *header,
    size_t headers_n, struct failure *f)
{
	rd_kafka_headers_t *headers = headers_n == 0 ? NULL : rd_kafka_headers_new(headers_n);
	enum fail_code code = wait_for_room(p, n, f);

	for (size_t i = 0; headers != NULL && i < headers_n; i++)
		rd_kafka_header_add(headers, header[i].name, -1, header[i].value, -1);
	while (code == FAIL_NONE) {
		rd_kafka_resp_err_t err = produce(p, bytes, n, headers);

		if (err == RD_KAFKA_RESP_ERR_NO_ERROR)
			break;
		if (err == RD_KAFKA_RESP_ERR__QUEUE_FULL)
			code = wait_for_reports(p->w, f);
		else if (writer_poll(p->w, f) != FAIL_NONE)
			code = f->code;
		else
			code = kafka_fail_code(f, err, NULL, "publishing a sequence");
	}
	if (code != FAIL_NONE) {
		if (headers != NULL)
			rd_kafka_headers_destroy(headers);
		free(bytes);
		return code;
	}
	p->offset_next++;
	p->waiting_bytes += n;
	return writer_poll(p->w, f);
}

/* ---- rejects ---- */

static rd_kafka_headers_t *
reject_headers(const struct writer_reject *r)
{
	char line[32], byte[32], count[32];
	const struct writer_header header[] = {
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
writer_put_reject(struct writer *w, const struct writer_reject *r, struct failure *f)
{
	size_t n = r->n < WRITER_REJECT_BYTES_MAX ? r->n : WRITER_REJECT_BYTES_MAX;
	rd_kafka_headers_t *headers = reject_headers(r);

	if (headers == NULL)
		return fail_memory(f);
	for (;;) {
		rd_kafka_resp_err_t err = rd_kafka_producev(w->rk, RD_KAFKA_V_RKT(w->rejects),
		    RD_KAFKA_V_PARTITION(0), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
		    RD_KAFKA_V_VALUE((void *)(uintptr_t)r->bytes, n), RD_KAFKA_V_HEADERS(headers),
		    RD_KAFKA_V_END);

		if (err == RD_KAFKA_RESP_ERR_NO_ERROR) {
			w->rejects_waiting++;
			return writer_poll(w, f);
		}
		if (err == RD_KAFKA_RESP_ERR__QUEUE_FULL && wait_for_reports(w, f) == FAIL_NONE)
			continue;
		rd_kafka_headers_destroy(headers);
		if (err == RD_KAFKA_RESP_ERR__QUEUE_FULL || writer_poll(w, f) != FAIL_NONE)
			return f->code;
		return kafka_fail_code(f, err, NULL, "publishing a reject");
	}
}

enum fail_code
writer_settle_rejects(struct writer *w, struct failure *f)
{
	while (w->rejects_waiting > 0) {
		rd_kafka_flush(w->rk, SETTLE_SLICE_MS); /* does not linger, as a poll would */
		if (writer_poll(w, f) != FAIL_NONE)
			return f->code;
		if (stop_asked(w->stop) && w->rejects_waiting > 0)
			return fail(f, FAIL_STOPPED, "stopped");
	}
	return FAIL_NONE;
}

enum fail_code
writer_flush(struct writer *w, int timeout_ms, struct failure *f)
{
	rd_kafka_resp_err_t err = rd_kafka_flush(w->rk, timeout_ms);

	if (writer_poll(w, f) != FAIL_NONE)
		return f->code;
	if (err != RD_KAFKA_RESP_ERR_NO_ERROR)
		return kafka_fail_code(f, err, NULL, "waiting for the delivery of sequences");
	return FAIL_NONE;
}
