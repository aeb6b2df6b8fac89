#include "producer/writer/arrivals_log.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/names.h"
#include "common/kafka/kafka.h"

enum { ASK_TIMEOUT_MS = 30000, POLL_MS = 500, PORTION_BYTES = 64 };

struct arrivals_log {
	rd_kafka_t *rk;
	rd_kafka_topic_t *topic;
	char name[TOPIC_MAX_BYTES + 1];
	char input[ARRIVALS_LOG_INPUT_BYTES];
	uint64_t writer, next;
	rd_kafka_t *reader;      /* borrowed */
	int64_t seen;            /* records below this offset are known: read, or its own */
	bool gap;                /* one of its own came later than at `seen` */
	int64_t put_ms;          /* when the last call with records began */
	rd_kafka_resp_err_t err; /* of the first record that was not delivered */
};

/* ---- reading ---- */

/* What a walk over the topic fills in. */
struct read {
	struct live_order *r;
	char (*inputs)[ARRIVALS_LOG_INPUT_BYTES];
	size_t inputs_n;
	size_t found;    /* which of them has an order; inputs_n: none yet */
	bool once;       /* some part of the input was taken over */
	uint64_t passed; /* records that cannot be decoded; of the first one: */
	int64_t passed_offset;
	struct failure passed_why;
};

static bool
is_named(const char *name, struct text_view text)
{
	return strlen(name) == text.n && memcmp(name, text.bytes, text.n) == 0;
}

/* Whether it is a part of the same input: the names differ in the part's number alone. */
static bool
is_part_of(const char *name, struct text_view text)
{
	const char *number = strchr(name, '/'), *parts = strrchr(name, '/');
	size_t before = (size_t)(number - name) + 1, behind = strlen(parts);

	return text.n > before + behind && memcmp(name, text.bytes, before) == 0 &&
	       memcmp(parts, text.bytes + text.n - behind, behind) == 0;
}

/*
 * Another name counts from here on, if the one before has no order. Domains that share an input are
 * named after the first of them, and that can change: [a b] is read as input a; the configuration
 * then names b before a, and the same input is called b. So all names that it may have had are
 * looked for. Two of them with portions were two inputs, and their orders cannot be put together.
 */
static enum fail_code
change_name(struct read *s, size_t i, const struct arrivals *a, struct failure *f)
{
	if (s->found != i && s->r->n > 0 && a->portions_n > 0)
		return fail(f, FAIL_CONFIG,
		    "inputs %s and %s were read in orders of their own before they came to share "
		    "one: give them different files",
		    s->inputs[s->found], s->inputs[i]);
	if (s->found != i && s->r->n == 0) {
		live_order_close(s->r);
		s->found = i;
	}
	return FAIL_NONE;
}

/*
 * A record that cannot be decoded is passed over. If it held portions, live_order_apply() refuses
 * those that follow, because they no longer continue the list.
 */
static enum fail_code
take(struct read *s, const rd_kafka_message_t *m, struct failure *f)
{
	struct arrivals a;
	struct failure why;

	if (arrivals_decode(&a, m->payload, m->len, &why) != FAIL_NONE) {
		if (s->passed++ == 0) {
			s->passed_offset = m->offset;
			s->passed_why = why;
		}
		return FAIL_NONE;
	}
	for (size_t i = 0; i < s->inputs_n; i++) {
		s->once = s->once || is_part_of(s->inputs[i], a.input);
		if (!is_named(s->inputs[i], a.input))
			continue;
		if (change_name(s, i, &a, f) != FAIL_NONE)
			return f->code;
		return s->found == i ? live_order_apply(s->r, &a, f) : FAIL_NONE;
	}
	return FAIL_NONE;
}

/* Reads [low, high) of the partition that is assigned. */
static enum fail_code
read_all(struct read *s, rd_kafka_t *reader, const char *topic, int64_t high, struct failure *f)
{
	int64_t deadline_ms = clock_ms() + ASK_TIMEOUT_MS, next = 0;
	enum fail_code code = FAIL_NONE;

	while (code == FAIL_NONE && next < high) {
		rd_kafka_message_t *m = kafka_poll(reader, POLL_MS);

		if (m == NULL && clock_ms() > deadline_ms)
			return fail(f, FAIL_TIMEOUT, "no record within %d ms", ASK_TIMEOUT_MS);
		if (m == NULL)
			continue;
		if (m->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
			code = take(s, m, f);
			if (code != FAIL_NONE)
				fail_within(f, "offset %" PRId64, m->offset);
			next = m->offset + 1;
			deadline_ms = clock_ms() + ASK_TIMEOUT_MS;
		} else if (m->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
			next = kafka_at_end(m, high) ? high : next;
		} else if (kafka_message_denied(reader, m) ||
			   (!kafka_denied(m->err) && !kafka_passing(m->err))) {
			code = kafka_fail_topic(f, reader, m->err, NULL, "reading", topic);
		}
		rd_kafka_message_destroy(m);
	}
	return code;
}

enum fail_code
arrivals_log_read(struct live_order *r, bool *once, size_t *input, int64_t *end, rd_kafka_t *reader,
    const char *corpus, char (*inputs)[ARRIVALS_LOG_INPUT_BYTES], size_t inputs_n,
    struct failure *f)
{
	struct read s = {.r = r, .inputs = inputs, .inputs_n = inputs_n, .found = inputs_n};
	rd_kafka_topic_partition_list_t *list;
	char topic[TOPIC_MAX_BYTES + 1];
	int64_t low, high;
	int partitions;
	enum fail_code code;

	assert(r->n == 0);
	assert(inputs_n > 0);
	names_topic(topic, corpus, "arrivals");
	*once = false;
	*input = 0;
	*end = 0;
	if (kafka_partitions(reader, topic, &partitions, ASK_TIMEOUT_MS, f) != FAIL_NONE)
		return f->code;
	if (partitions == 0)
		return FAIL_NONE;
	if (kafka_watermarks(reader, topic, 0, &low, &high, ASK_TIMEOUT_MS, f) != FAIL_NONE)
		return f->code;
	*end = high;
	if (high == low)
		return FAIL_NONE;
	list = rd_kafka_topic_partition_list_new(1);
	rd_kafka_topic_partition_list_add(list, topic, 0)->offset = low;
	kafka_assign(reader, list);
	code = read_all(&s, reader, topic, high, f);
	kafka_assign(reader, NULL);
	rd_kafka_topic_partition_list_destroy(list);
	live_order_settle(r);
	if (s.passed > 0)
		log_warning("produce: PRODUCE-ARRIVALS topic=%s records=%" PRIu64
			    " cannot be read and are passed over; the first is at offset=%" PRId64
			    ": %s",
		    topic, s.passed, s.passed_offset, s.passed_why.text);
	*once = s.once;
	*input = s.found == inputs_n ? 0 : s.found;
	return code == FAIL_NONE ? code : fail_within(f, "topic %s", topic);
}

/* ---- writing ---- */

static void
delivered(rd_kafka_t *rk, const rd_kafka_message_t *m, void *opaque)
{
	struct arrivals_log *l = opaque;

	(void)rk;
	if (l->err == RD_KAFKA_RESP_ERR_NO_ERROR)
		l->err = m->err;
	l->gap = l->gap || m->offset != l->seen;
	l->seen += !l->gap;
}

static enum fail_code
put(struct arrivals_log *l, bool takes_over, const struct arrivals_portion *p, size_t n,
    struct failure *f)
{
	struct arrivals a = {.input = {l->input, strlen(l->input)},
	    .writer = l->writer,
	    .takes_over = takes_over,
	    .first = l->next,
	    .portions_n = n};
	struct wire_writer w = {0};
	uint8_t *bytes;
	size_t bytes_n;

	if (arrivals_encode(&w, &a, p, f) != FAIL_NONE ||
	    wire_writer_take(&w, &bytes, &bytes_n, f) != FAIL_NONE) {
		wire_writer_close(&w);
		return f->code;
	}
	if (rd_kafka_produce(l->topic, 0, RD_KAFKA_MSG_F_FREE, bytes, bytes_n, NULL, 0, NULL) !=
	    0) {
		free(bytes);
		return kafka_fail_code(f, rd_kafka_last_error(), NULL, "writing down files");
	}
	l->next += n;
	return FAIL_NONE;
}

/* What was found between its records. */
struct between {
	bool found; /* its own last record: all before it was read */
	bool other; /* a record of another producer of the input */
};

static void
look_between(const struct arrivals_log *l, const rd_kafka_message_t *m, struct between *b)
{
	struct arrivals a;
	struct failure ignored; /* who reads the order will name it */

	if (arrivals_decode(&a, m->payload, m->len, &ignored) != FAIL_NONE ||
	    !is_named(l->input, a.input))
		return;
	b->other = b->other || a.writer != l->writer;
	b->found = a.writer == l->writer && a.first + a.portions_n == l->next;
}

/*
 * Reads the records before its own last one that are not known yet. FAIL_FENCED: one of them is
 * another producer's record of this input.
 */
static enum fail_code
check_alone(struct arrivals_log *l, struct failure *f)
{
	int64_t deadline_ms = clock_ms() + ASK_TIMEOUT_MS;
	struct between b = {0};
	rd_kafka_resp_err_t err;

	if (!l->gap)
		return FAIL_NONE;
	err = kafka_assign_one(l->reader, l->name, 0, l->seen);
	while (err == RD_KAFKA_RESP_ERR_NO_ERROR && !b.found) {
		rd_kafka_message_t *m = kafka_poll(l->reader, POLL_MS);

		if (m == NULL && clock_ms() > deadline_ms)
			err = RD_KAFKA_RESP_ERR__TIMED_OUT;
		if (m == NULL)
			continue;
		if (m->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
			look_between(l, m, &b);
			l->seen = m->offset + 1;
		} else if (kafka_message_denied(l->reader, m) ||
			   (!kafka_denied(m->err) && !kafka_passing(m->err) &&
			       m->err != RD_KAFKA_RESP_ERR__PARTITION_EOF)) {
			err = m->err;
		}
		rd_kafka_message_destroy(m);
	}
	kafka_assign(l->reader, NULL);
	l->gap = false;
	if (err != RD_KAFKA_RESP_ERR_NO_ERROR)
		return kafka_fail_topic(f, l->reader, err, NULL, "reading", l->name);
	if (!b.other)
		return FAIL_NONE;
	return fail(f, FAIL_FENCED,
	    "topic %s: another producer has taken over input %s, or one that was killed had "
	    "records on their way",
	    l->name, l->input);
}

/*
 * Waits for what was put. A broker that is away gives FAIL_TIMEOUT, after which the caller looks
 * whether to stop and calls again, until ARRIVALS_LOG_SILENT_MS have passed since the last record.
 */
static enum fail_code
settle(struct arrivals_log *l, int timeout_ms, struct failure *f)
{
	rd_kafka_resp_err_t err = rd_kafka_flush(l->rk, timeout_ms);
	char attempted[TOPIC_MAX_BYTES + 64];

	if (err == RD_KAFKA_RESP_ERR__TIMED_OUT && clock_ms() - l->put_ms > ARRIVALS_LOG_SILENT_MS)
		return fail(f, FAIL_BROKER,
		    "writing to topic %s: the broker has acknowledged nothing for %d s: is it "
		    "running?",
		    l->name, ARRIVALS_LOG_SILENT_MS / 1000);
	if (err == RD_KAFKA_RESP_ERR_NO_ERROR)
		err = l->err;
	if (err == RD_KAFKA_RESP_ERR_NO_ERROR)
		return check_alone(l, f);
	snprintf(attempted, sizeof(attempted), "writing to topic %s", l->name);
	return kafka_fail_topic(f, l->rk, err, NULL, attempted, l->name);
}

enum fail_code
arrivals_log_open(struct arrivals_log **out, const struct config *c, const char *input,
    uint64_t first, rd_kafka_t *reader, int64_t end, struct failure *f)
{
	struct arrivals_log *l = calloc(1, sizeof(*l));
	struct kafka_options o = {.role = KAFKA_WRITER,
	    .properties = &c->kafka,
	    .client = "produce-arrivals",
	    .delivered = delivered,
	    .opaque = l};

	if (l == NULL)
		return fail_memory(f);
	names_topic(l->name, c->corpus, "arrivals");
	snprintf(l->input, sizeof(l->input), "%s", input);
	l->next = first;
	l->reader = reader;
	l->seen = end;
	l->put_ms = clock_ms();
	if (getrandom(&l->writer, sizeof(l->writer), 0) != (ssize_t)sizeof(l->writer)) {
		fail_errno(f, FAIL_IO, "no random number for the writer's id");
		goto failed;
	}
	if (kafka_open(&l->rk, &o, f) != FAIL_NONE)
		goto failed;
	l->topic = rd_kafka_topic_new(l->rk, l->name, NULL);
	if (l->topic == NULL) {
		fail_memory(f);
		goto failed;
	}
	if (put(l, true, NULL, 0, f) != FAIL_NONE ||
	    settle(l, ARRIVALS_LOG_OPEN_MS, f) != FAIL_NONE)
		goto failed;
	*out = l;
	return FAIL_NONE;
failed:
	arrivals_log_close(l);
	return f->code;
}

void
arrivals_log_close(struct arrivals_log *l)
{
	if (l == NULL)
		return;
	if (l->topic != NULL) {
		rd_kafka_flush(l->rk, ARRIVALS_LOG_CLOSE_MS);
		rd_kafka_topic_destroy(l->topic);
	}
	kafka_close(l->rk);
	free(l);
}

enum fail_code
arrivals_log_add(
    struct arrivals_log *l, const struct arrivals_portion *p, size_t n, struct failure *f)
{
	assert(p != NULL || n == 0);
	if (n > 0)
		l->put_ms = clock_ms();
	while (n > 0) {
		size_t bytes = 0, some = 0;

		while (some < n && bytes < ARRIVALS_LOG_RECORD_BYTES)
			bytes += p[some++].file.n + PORTION_BYTES;
		if (put(l, false, p, some, f) != FAIL_NONE)
			return f->code;
		p += some;
		n -= some;
	}
	return settle(l, ARRIVALS_LOG_WAIT_MS, f);
}
