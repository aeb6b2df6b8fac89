#include "consumer/admin/rejects_log.h"

#include <assert.h>
#include <inttypes.h>
#include <librdkafka/rdkafka.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/names.h"
#include "common/kafka/kafka.h"

enum { BROKER_MS = 10000, READ_MS = 60000, SLICE_MS = 100, HEADER_MAX = 64 };

const char *const rejects_field_name[REJECTS_FIELDS] = {
    [REJECTS_STAGE] = "stage",
    [REJECTS_DOMAIN] = "domain",
    [REJECTS_REASON] = "reason",
    [REJECTS_FILE] = "file",
    [REJECTS_LINE] = "line",
    [REJECTS_BYTE] = "byte",
    [REJECTS_COUNT] = "count",
    [REJECTS_TOPIC] = "topic",
    [REJECTS_PARTITION] = "partition",
    [REJECTS_OFFSET] = "offset",
    [REJECTS_ORDINAL] = "ordinal",
};

/* Whether a list "a,b,c" has an entry. */
static bool
lists(const struct rejects_text *list, const char *entry)
{
	size_t n = strlen(entry), at = 0;

	while (list->text != NULL && at <= list->n) {
		const char *comma = memchr(list->text + at, ',', list->n - at);
		size_t end = comma == NULL ? list->n : (size_t)(comma - list->text);

		if (end - at == n && memcmp(list->text + at, entry, n) == 0)
			return true;
		at = end + 1;
	}
	return false;
}

static bool
is_wanted(const struct rejects_query *q, const struct rejects_record *r)
{
	const struct rejects_text *reason = &r->field[REJECTS_REASON];

	if (q->domain != NULL && !lists(&r->field[REJECTS_DOMAIN], q->domain))
		return false;
	return q->reason == NULL ||
	       (reason->text != NULL &&
		   memmem(reason->text, reason->n, q->reason, strlen(q->reason)) != NULL);
}

static void
take(const struct rejects_query *q, const rd_kafka_message_t *m)
{
	struct rejects_record r = {
	    .offset = m->offset, .bytes = m->payload, .bytes_n = m->payload == NULL ? 0 : m->len};
	rd_kafka_timestamp_type_t type;

	r.time_ms = rd_kafka_message_timestamp(m, &type);
	for (int i = 0; i < REJECTS_FIELDS; i++) {
		char name[HEADER_MAX];

		snprintf(name, sizeof(name), "riffle.error.%s", rejects_field_name[i]);
		r.field[i].text = kafka_header(m, name, &r.field[i].n);
	}
	if (is_wanted(q, &r))
		q->take(q->opaque, &r);
}

/* Reads from the first record to the one at offset `last`. */
static enum fail_code
read_to(const struct rejects_query *q, rd_kafka_t *rk, const char *topic, int64_t last,
    struct failure *f)
{
	int64_t heard_ms = clock_ms();
	rd_kafka_resp_err_t err = kafka_assign_one(rk, topic, 0, RD_KAFKA_OFFSET_BEGINNING);
	bool over = false;

	if (err != RD_KAFKA_RESP_ERR_NO_ERROR)
		return kafka_fail_code(f, err, NULL, "reading");
	while (!over) {
		rd_kafka_message_t *m = kafka_poll(rk, SLICE_MS);

		if (m != NULL && m->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
			take(q, m);
			over = m->offset >= last;
			heard_ms = clock_ms();
		}
		if (m != NULL)
			rd_kafka_message_destroy(m); /* errors mend, or time runs out */
		if (stop_asked(q->stop))
			return fail(f, FAIL_STOPPED, "stopped");
		if (!over && clock_ms() - heard_ms >= READ_MS)
			return fail(f, FAIL_BROKER, "no record came within %d s", READ_MS / 1000);
	}
	return FAIL_NONE;
}

static enum fail_code
read_topic(const struct rejects_query *q, rd_kafka_t *rk, const char *topic, struct failure *f)
{
	rd_kafka_message_t *last;
	int64_t offset;
	int partitions;

	if (kafka_wait_broker(rk, BROKER_MS, f) != FAIL_NONE ||
	    kafka_partitions(rk, topic, &partitions, READ_MS, f) != FAIL_NONE)
		return f->code;
	if (partitions == 0)
		return kafka_fail_missing(f, rk, topic);
	if (kafka_last_record(rk, topic, 0, &last, READ_MS, f) != FAIL_NONE)
		return fail_within(f, "topic %s", topic);
	if (last == NULL)
		return FAIL_NONE;
	offset = last->offset;
	rd_kafka_message_destroy(last);
	if (read_to(q, rk, topic, offset, f) == FAIL_NONE || f->code == FAIL_STOPPED)
		return f->code;
	return fail_within(f, "topic %s", topic);
}

enum fail_code
rejects_log_read(const struct rejects_query *q, struct failure *f)
{
	struct kafka_options k = {.role = KAFKA_READER,
	    .properties = &q->config->kafka,
	    .client = "rejects",
	    .quiet = true};
	char topic[TOPIC_MAX_BYTES + 1];
	rd_kafka_t *rk;
	enum fail_code code;

	assert(q->take != NULL);
	f->code = FAIL_NONE;
	names_topic(topic, q->config->corpus, "rejects");
	if (kafka_open(&rk, &k, f) != FAIL_NONE)
		return f->code;
	code = read_topic(q, rk, topic, f);
	kafka_close(rk);
	return code;
}
