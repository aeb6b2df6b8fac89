#include "consumer/publish/transactions.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/fault.h"
#include "common/base/limits.h"
#include "common/base/names.h"
#include "common/config/topic_plan.h"
#include "common/kafka/kafka.h"
#include "consumer/batches/lane_ends.h"

enum {
	LINGER_MS = 500,
	IDLE_EXTRA_MS = 2000, /* librdkafka takes up to so much off */
	BATCH_LEAST = 16 << 10,
	BATCH_MOST = 1 << 20,
	GIVE_UP_MS = 2000,
	QUEUE_EXTRA = 64 << 20, /* what else a transaction holds: a ledger record, dead letters */
};

struct transactions {
	rd_kafka_t *rk;
	int timeout_ms; /* of a flush, a commit, ... */
	bool open;      /* a transaction is, and no call has failed */
	rd_kafka_topic_t *batches, *ledger, *rejects;
	struct lane_map map;
	char group[TOPIC_MAX_BYTES + 1];
	/* Of the first record that was not delivered, and its topic. */
	rd_kafka_resp_err_t failed;
	char failed_topic[TOPIC_MAX_BYTES + 1];
	/*
	 * [map.partitions + 1]: where each ends at least, and the ledger behind them, by deliveries
	 * and transactions_expect().
	 */
	int64_t *offset_next;
	/* The first one that went back; -1: none did. It was delivered at back_to, < 0: unknown. */
	int back;
	int64_t back_to;
};

/* A broker that had the record already does not say where: an offset below 0. */
static void
note_offset(struct transactions *t, const rd_kafka_message_t *msg)
{
	int32_t at = msg->rkt == t->ledger ? (int32_t)t->map.partitions : msg->partition;
	int64_t *next;

	if (at < 0 || (uint32_t)at > t->map.partitions)
		return;
	next = &t->offset_next[at];
	if (msg->offset >= *next)
		*next = msg->offset + 1;
	else if (t->back < 0) {
		t->back = at;
		t->back_to = msg->offset;
	}
}

static void
delivered(rd_kafka_t *rk, const rd_kafka_message_t *msg, void *opaque)
{
	struct transactions *t = opaque;

	(void)rk;
	if (msg->err == RD_KAFKA_RESP_ERR_NO_ERROR &&
	    (msg->rkt == t->batches || msg->rkt == t->ledger))
		note_offset(t, msg);
	if (msg->err == RD_KAFKA_RESP_ERR_NO_ERROR || t->failed != RD_KAFKA_RESP_ERR_NO_ERROR)
		return;
	t->failed = msg->err;
	snprintf(t->failed_topic, sizeof(t->failed_topic), "%s", rd_kafka_topic_name(msg->rkt));
}

static int
given_timeout_ms(const struct properties *p)
{
	const char *given = properties_value(p, "transaction.timeout.ms");
	long ms = given == NULL ? 0 : strtol(given, NULL, 10);

	return ms > 0 && ms < INT_MAX ? (int)ms : 0;
}

int
transactions_patience_ms(uint32_t partitions)
{
	int parts = (int)(partitions / TRANSACTIONS_PARTITIONS_OF_TIME);

	assert(partitions <= LIMIT_LANES);
	return TRANSACTIONS_TIMEOUT_MS + parts * TRANSACTIONS_PARTITIONS_MS;
}

/* The two limits that librdkafka wants below a short one follow it: one is enough to set. */
struct transactions_times
transactions_times(const struct properties *p, uint32_t partitions, uint32_t age_ms)
{
	int given = given_timeout_ms(p), message = transactions_patience_ms(partitions),
	    age = (int)age_ms;
	int abort = message + (age > message / 2 ? age : message / 2);

	assert(age_ms < INT_MAX / 2);
	if (given > 0) {
		abort = given;
		if (message > given - given / 3)
			message = given - given / 3;
		if (age > given - message)
			age = given - message;
	}
	return (struct transactions_times){message, abort, age};
}

/*
 * librdkafka sends requests of one partition each, and looks through all for each: the fewer, the
 * better. So a record waits until its partition has a whole batch, or until the commit, for which
 * no linger counts. Partitions together must have a batch before a transaction that is larger than
 * the queue fills it.
 */
static uint64_t
batch_bytes(const struct transactions_options *o)
{
	uint64_t share = o->map.partitions == 0 ? BATCH_MOST : o->queue_bytes / o->map.partitions;

	if (o->transaction_bytes <= o->queue_bytes + QUEUE_EXTRA / 2 || share > BATCH_MOST)
		return BATCH_MOST;
	return share < BATCH_LEAST ? BATCH_LEAST : share;
}

/*
 * From 2.10 on a request to the coordinator of a group, where that broker has left the cluster,
 * waits in librdkafka until any connection of the handle changes its state; its own time-out is not
 * looked at (librdkafka's issues 5456 and 5511). Brokers close idle connections after ten minutes.
 * So ours are closed before, a little after all other requests have timed out.
 */
static enum fail_code
open_producer(struct transactions *t, const struct transactions_options *o, struct failure *f)
{
	char id[TOPIC_MAX_BYTES + 1], kbytes[32], transaction_ms[32], message_ms[32], ledger[32];
	char linger_ms[32], batch[32], idle_ms[32];
	uint64_t queue = (o->queue_bytes + 2 * o->message_bytes_max + QUEUE_EXTRA) / 1024;
	struct property tune[] = {
	    {(char[]){"transaction.timeout.ms"}, transaction_ms},
	    {(char[]){"message.timeout.ms"}, message_ms},
	    {(char[]){"socket.timeout.ms"}, message_ms},
	    {(char[]){"connections.max.idle.ms"}, idle_ms},
	    {(char[]){"queue.buffering.max.kbytes"}, kbytes},
	    {(char[]){"queue.buffering.max.messages"}, (char[]){"1000000"}},
	    {(char[]){"linger.ms"}, linger_ms},
	    {(char[]){"batch.size"}, batch},
	    {(char[]){"message.max.bytes"}, ledger},
	};
	struct kafka_options k = {
	    .role = KAFKA_TRANSACTIONAL,
	    .properties = o->properties,
	    .client = "mix",
	    .transactional_id = id,
	    .message_bytes_max = o->message_bytes_max,
	    .tune = tune,
	    .tune_n = sizeof(tune) / sizeof(tune[0]),
	    .delivered = delivered,
	    .opaque = t,
	    .stats = o->stats,
	};

	struct transactions_times times =
	    transactions_times(o->properties, o->map.partitions, o->age_ms);

	names_topic(id, o->mix, "mixer");
	/* As large as a lane's record can become when a request raises the batch. */
	snprintf(ledger, sizeof(ledger), "%d", LIMIT_RECORD_BYTES + TOPIC_RECORD_SLACK);
	snprintf(kbytes, sizeof(kbytes), "%" PRIu64, queue);
	snprintf(transaction_ms, sizeof(transaction_ms), "%d", times.abort_ms);
	snprintf(message_ms, sizeof(message_ms), "%d", times.message_ms);
	snprintf(idle_ms, sizeof(idle_ms), "%d",
	    rd_kafka_version() < KAFKA_FORGETS_FIRST ? 0 : times.message_ms + IDLE_EXTRA_MS);
	snprintf(linger_ms, sizeof(linger_ms), "%d",
	    LINGER_MS < times.message_ms / 2 ? LINGER_MS : times.message_ms / 2);
	snprintf(batch, sizeof(batch), "%" PRIu64, batch_bytes(o));
	return kafka_open(&t->rk, &k, f);
}

/* Of a group offsets are read and written, of a topic or a transactional id all is written. */
static const char *
denied_operation(rd_kafka_resp_err_t err)
{
	return err == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED ? "READ" : NULL;
}

static const char *
denied_name(const struct transactions *t, rd_kafka_resp_err_t err)
{
	if (err == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED)
		return t->group;
	return err == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED ? t->failed_topic : NULL;
}

/*
 * FAIL_FENCED where the broker said that this handle's epoch is over; FAIL_DENIED where the user
 * lacks a right; all else is an unknown outcome to the caller. Takes `error`.
 */
static enum fail_code
failed(struct transactions *t, rd_kafka_error_t *error, const char *attempted, struct failure *f)
{
	rd_kafka_resp_err_t err = rd_kafka_error_code(error);

	t->open = false;
	if (kafka_denied(err)) {
		rd_kafka_error_destroy(error);
		return kafka_fail_denied(
		    f, t->rk, err, denied_operation(err), denied_name(t, err), attempted);
	}
	kafka_fail(f, error, attempted);
	if (err == RD_KAFKA_RESP_ERR__FENCED || err == RD_KAFKA_RESP_ERR_PRODUCER_FENCED ||
	    err == RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH)
		f->code = FAIL_FENCED;
	return f->code;
}

/*
 * Makes the topics known to the handle. Records for a topic that it has never asked about wait for
 * its next round of metadata, a second later (librdkafka 2.0.2).
 */
static enum fail_code
open_topic(struct transactions *t, rd_kafka_topic_t **out, const char *name, struct failure *f)
{
	int ignored;

	*out = rd_kafka_topic_new(t->rk, name, NULL);
	if (*out == NULL)
		return fail_memory(f);
	return kafka_partitions(t->rk, name, &ignored, t->timeout_ms, f);
}

enum fail_code
transactions_open(
    struct transactions **out, const struct transactions_options *o, struct failure *f)
{
	struct transactions *t = calloc(1, sizeof(*t));
	char batches[TOPIC_MAX_BYTES + 1], ledger[TOPIC_MAX_BYTES + 1];
	rd_kafka_error_t *error;

	if (t == NULL)
		return fail_memory(f);
	t->back = -1;
	t->map = o->map;
	t->timeout_ms = transactions_patience_ms(o->map.partitions);
	if (open_producer(t, o, f) != FAIL_NONE)
		goto failed;
	names_topic(t->group, o->mix, "mixer");
	names_topic(batches, o->mix, "batches");
	names_topic(ledger, o->mix, "ledger");
	if ((t->map.partitions > 0 && open_topic(t, &t->batches, batches, f) != FAIL_NONE) ||
	    open_topic(t, &t->ledger, ledger, f) != FAIL_NONE ||
	    open_topic(t, &t->rejects, o->rejects_topic, f) != FAIL_NONE)
		goto failed;
	t->offset_next = calloc(t->map.partitions + 1, sizeof(*t->offset_next));
	if (t->offset_next == NULL) {
		fail_memory(f);
		goto failed;
	}
	error = rd_kafka_init_transactions(t->rk, 2 * t->timeout_ms);
	if (error != NULL &&
	    rd_kafka_error_code(error) == RD_KAFKA_RESP_ERR_INVALID_TRANSACTION_TIMEOUT) {
		rd_kafka_error_destroy(error);
		fail(f, FAIL_CONFIG,
		    "the broker allows no transaction of %d ms (transaction.timeout.ms): raise its "
		    "transaction.max.timeout.ms, or set transaction.timeout.ms under `kafka:` to "
		    "that; message.timeout.ms and socket.timeout.ms follow it where they are not "
		    "set",
		    transactions_times(o->properties, o->map.partitions, o->age_ms).abort_ms);
		goto failed;
	}
	if (error != NULL) {
		failed(t, error, "taking over the transactions of this mix", f);
		goto failed;
	}
	*out = t;
	return FAIL_NONE;
failed:
	transactions_close(t);
	return f->code;
}

/*
 * What failed was not the transaction: a sequence is missing, say. Aborted here it holds up no
 * reader until its time-out. And librdkafka 2.0.2 aborts the process where a handle is destroyed
 * that has not asked for its partitions yet (rd_kafka_txn_register_partitions() sends the request
 * to a broker that ends, whose answer comes before the request is counted).
 */
static void
give_up(struct transactions *t)
{
	rd_kafka_error_t *error = rd_kafka_abort_transaction(t->rk, GIVE_UP_MS);

	if (error != NULL)
		rd_kafka_error_destroy(error);
}

void
transactions_close(struct transactions *t)
{
	if (t == NULL)
		return;
	if (t->open)
		give_up(t);
	if (t->batches != NULL)
		rd_kafka_topic_destroy(t->batches);
	if (t->ledger != NULL)
		rd_kafka_topic_destroy(t->ledger);
	if (t->rejects != NULL)
		rd_kafka_topic_destroy(t->rejects);
	kafka_close(t->rk); /* reports what was not delivered */
	free(t->offset_next);
	free(t);
}

bool
transactions_copy(const struct transactions *t)
{
	return t->map.partitions > 0;
}

bool
transactions_sound(const struct transactions *t)
{
	return t->open;
}

void
transactions_expect(struct transactions *t, uint32_t lane, int64_t offset_next)
{
	int64_t *next = &t->offset_next[lane_map_partition(&t->map, lane)];

	assert(offset_next >= 0);
	if (*next < offset_next)
		*next = offset_next;
}

void
transactions_expect_ledger(struct transactions *t, int64_t offset_next)
{
	int64_t *next = &t->offset_next[t->map.partitions];

	assert(offset_next >= 0);
	if (*next < offset_next)
		*next = offset_next;
}

enum fail_code
transactions_check_ends(const struct transactions *t, const int64_t *end, struct failure *f)
{
	assert(!t->open);
	for (uint32_t i = 0; i < t->map.partitions; i++)
		if (end[i] < t->offset_next[i])
			return fail(f, FAIL_BROKER,
			    "topic %s, %s %" PRIu32 ": it ends at offset %" PRId64
			    ", and ended at %" PRId64
			    " before: it has lost its end, or the topic was recreated",
			    rd_kafka_topic_name(t->batches),
			    lane_map_shared(&t->map) ? "partition" : "lane", i, end[i],
			    t->offset_next[i]);
	return FAIL_NONE;
}

enum fail_code
transactions_begin(struct transactions *t, struct failure *f)
{
	rd_kafka_error_t *error;

	fault_point("mix.before_begin");
	if (kafka_doubtful(t->rk))
		return fail(f, FAIL_BROKER,
		    "beginning a transaction: a request of the last one was never answered (its "
		    "connection broke, or time ran out), and the broker may act on it late");
	error = rd_kafka_begin_transaction(t->rk);
	if (error != NULL)
		return failed(t, error, "beginning a transaction", f);
	t->open = true;
	return FAIL_NONE;
}

static enum fail_code
fail_back(const struct transactions *t, struct failure *f)
{
	bool ledger = t->back == (int32_t)t->map.partitions;
	const char *part = ledger ? "ledger" : lane_map_shared(&t->map) ? "partition" : "lane";
	const char *topic = rd_kafka_topic_name(ledger ? t->ledger : t->batches);
	char place[32] = "";

	if (!ledger)
		snprintf(place, sizeof(place), ", %s %d", part, t->back);
	if (t->back_to < 0)
		return fail(f, FAIL_BROKER,
		    "publishing: topic %s%s: the answer for a record was lost, and the broker, "
		    "which had it when it was sent again, does not say where: the %s may have "
		    "lost its end before it",
		    topic, place, part);
	return fail(f, FAIL_BROKER,
	    "publishing: topic %s%s: a record was delivered at offset %" PRId64
	    ", and the %s ended at %" PRId64
	    " before: it has lost its end, or the topic was recreated",
	    topic, place, t->back_to, part, t->offset_next[t->back]);
}

/* Why a record could not be delivered: the fatal error of the handle says more than its own. */
static enum fail_code
not_delivered(struct transactions *t, rd_kafka_resp_err_t err, struct failure *f)
{
	char text[512] = "";
	rd_kafka_resp_err_t fatal = rd_kafka_fatal_error(t->rk, text, sizeof(text));

	t->open = false;
	if (fatal == RD_KAFKA_RESP_ERR__FENCED || fatal == RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH)
		return fail(f, FAIL_FENCED, "publishing: %s", text);
	if (kafka_refused(f, t->rk, "publishing"))
		return f->code;
	return kafka_fail_topic(f, t->rk, fatal != 0 ? fatal : err, text[0] == '\0' ? NULL : text,
	    "publishing", t->failed_topic);
}

void
transactions_serve(struct transactions *t)
{
	rd_kafka_poll(t->rk, 0);
}

/* After a record was put: whether an earlier one has failed. */
static enum fail_code
look_at_reports(struct transactions *t, struct failure *f)
{
	transactions_serve(t);
	return t->failed == RD_KAFKA_RESP_ERR_NO_ERROR ? FAIL_NONE : not_delivered(t, t->failed, f);
}

/* Waits while the queue is full: a record that was left out would be a gap at a trainer. */
static enum fail_code
put(struct transactions *t, rd_kafka_topic_t *topic, int32_t partition, const uint8_t *key,
    uint8_t *bytes, size_t n, struct failure *f)
{
	for (;;) {
		rd_kafka_resp_err_t err;

		if (rd_kafka_produce(topic, partition, RD_KAFKA_MSG_F_FREE, bytes, n, key,
			key == NULL ? 0 : LANE_MAP_KEY_BYTES, NULL) == 0)
			break;
		err = rd_kafka_last_error();
		if (err != RD_KAFKA_RESP_ERR__QUEUE_FULL ||
		    t->failed != RD_KAFKA_RESP_ERR_NO_ERROR) {
			free(bytes);
			return not_delivered(t, t->failed != 0 ? t->failed : err, f);
		}
		rd_kafka_poll(t->rk, 10);
	}
	return look_at_reports(t, f);
}

enum fail_code
transactions_put(struct transactions *t, uint32_t lane, uint8_t *bytes, size_t n, struct failure *f)
{
	uint8_t key[LANE_MAP_KEY_BYTES]; /* librdkafka copies it */

	fault_point("mix.mid_produce");
	lane_map_key(key, lane);
	return put(t, t->batches, (int32_t)lane_map_partition(&t->map, lane),
	    lane_map_shared(&t->map) ? key : NULL, bytes, n, f);
}

/* The same for a record with headers, which it takes (NULL: no memory). Copies `bytes`. */
static enum fail_code
put_with(struct transactions *t, rd_kafka_topic_t *topic, rd_kafka_headers_t *headers,
    const uint8_t *bytes, size_t n, struct failure *f)
{
	rd_kafka_resp_err_t err;

	if (headers == NULL)
		return fail_memory(f);
	for (;;) { /* RD_KAFKA_MSG_F_BLOCK would wait for ever: only polling makes room */
		err = rd_kafka_producev(t->rk, RD_KAFKA_V_RKT(topic), RD_KAFKA_V_PARTITION(0),
		    RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
		    RD_KAFKA_V_VALUE((void *)(uintptr_t)bytes, n), RD_KAFKA_V_HEADERS(headers),
		    RD_KAFKA_V_END);
		if (err == RD_KAFKA_RESP_ERR_NO_ERROR)
			return look_at_reports(t, f);
		if (err != RD_KAFKA_RESP_ERR__QUEUE_FULL || t->failed != 0)
			break;
		rd_kafka_poll(t->rk, 10);
	}
	rd_kafka_headers_destroy(headers);
	return not_delivered(t, t->failed != 0 ? t->failed : err, f);
}

enum fail_code
transactions_put_ledger(struct transactions *t, uint8_t *bytes, size_t n,
    const struct transactions_header *header, struct failure *f)
{
	rd_kafka_headers_t *headers;
	enum fail_code code;

	if (header == NULL)
		return put(t, t->ledger, 0, NULL, bytes, n, f);
	headers = rd_kafka_headers_new(1);
	if (headers != NULL)
		rd_kafka_header_add(headers, header->name, -1, header->value, (ssize_t)header->n);
	code = put_with(t, t->ledger, headers, bytes, n, f);
	free(bytes);
	return code;
}

static rd_kafka_headers_t *
reject_headers(const struct transactions_reject *r)
{
	char partition[16], offset[32], ordinal[32];
	const struct {
		const char *name, *value;
	} header[] = {
	    {"riffle.error.stage", "mix"},
	    {"riffle.error.domain", r->domain},
	    {"riffle.error.topic", r->topic},
	    {"riffle.error.partition", partition},
	    {"riffle.error.offset", offset},
	    {"riffle.error.ordinal", r->domain == NULL ? NULL : ordinal},
	    {"riffle.error.reason", r->reason},
	};
	size_t n = sizeof(header) / sizeof(header[0]);
	rd_kafka_headers_t *h = rd_kafka_headers_new(n);

	snprintf(partition, sizeof(partition), "%" PRId32, r->partition);
	snprintf(offset, sizeof(offset), "%" PRId64, r->offset);
	snprintf(ordinal, sizeof(ordinal), "%" PRIu64, r->ordinal);
	for (size_t i = 0; h != NULL && i < n; i++)
		if (header[i].value != NULL)
			rd_kafka_header_add(h, header[i].name, -1, header[i].value, -1);
	return h;
}

enum fail_code
transactions_put_reject(
    struct transactions *t, const struct transactions_reject *r, struct failure *f)
{
	return put_with(t, t->rejects, reject_headers(r), r->bytes, r->n, f);
}

static enum fail_code
send_offsets(
    struct transactions *t, const struct transactions_offset *offset, size_t n, struct failure *f)
{
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)n);
	rd_kafka_consumer_group_metadata_t *group = rd_kafka_consumer_group_metadata_new(t->group);
	int64_t deadline_ms = clock_ms() + t->timeout_ms;
	rd_kafka_error_t *error;

	for (size_t i = 0; i < n; i++)
		rd_kafka_topic_partition_list_add(list, offset[i].topic, offset[i].partition)
		    ->offset = offset[i].taken;
	do
		error = rd_kafka_send_offsets_to_transaction(t->rk, list, group, t->timeout_ms);
	while (error != NULL && rd_kafka_error_is_retriable(error) && clock_ms() < deadline_ms &&
	       (rd_kafka_error_destroy(error), 1));
	rd_kafka_consumer_group_metadata_destroy(group);
	rd_kafka_topic_partition_list_destroy(list);
	return error == NULL ? FAIL_NONE
			     : failed(t, error, "sending offsets to the transaction", f);
}

enum fail_code
transactions_flush(struct transactions *t, struct failure *f)
{
	rd_kafka_resp_err_t err = rd_kafka_flush(t->rk, t->timeout_ms);

	if (t->failed != RD_KAFKA_RESP_ERR_NO_ERROR)
		return not_delivered(t, t->failed, f);
	if (err != RD_KAFKA_RESP_ERR_NO_ERROR)
		return kafka_fail_code(f, err, NULL, "waiting for the delivery of a transaction");
	return t->back < 0 ? FAIL_NONE : fail_back(t, f);
}

/*
 * 1. Every record is delivered: librdkafka would flush by itself, but its error would not name the
 *    record's topic.
 * 2. The offsets, for lag tools. They are part of the transaction, and nothing reads them back.
 * 3. The end of the transaction. An answer says that it is decided, not that readers see it:
 *    the broker writes the markers afterwards (attach_wait_visible()).
 */
enum fail_code
transactions_commit(struct transactions *t, const struct transactions_offset *offset,
    size_t offsets_n, struct failure *f)
{
	rd_kafka_error_t *error;

	if (transactions_flush(t, f) != FAIL_NONE)
		return f->code;
	fault_point("mix.after_flush");
	if (offsets_n > 0 && send_offsets(t, offset, offsets_n, f) != FAIL_NONE)
		return f->code;
	fault_point("mix.after_offsets");
	error = rd_kafka_commit_transaction(t->rk, t->timeout_ms);
	if (error != NULL)
		return failed(t, error, "committing a transaction", f);
	t->open = false;
	fault_point("mix.after_commit");
	return FAIL_NONE;
}

enum fail_code
transactions_abort(struct transactions *t, struct failure *f)
{
	rd_kafka_error_t *error = rd_kafka_abort_transaction(t->rk, t->timeout_ms);

	if (error != NULL)
		return failed(t, error, "aborting a transaction", f);
	t->open = false;
	return FAIL_NONE;
}

enum fail_code
transactions_check_owner(struct transactions *t, struct failure *f)
{
	struct transactions_offset offset = {.topic = rd_kafka_topic_name(t->ledger)};

	if (transactions_begin(t, f) != FAIL_NONE || send_offsets(t, &offset, 1, f) != FAIL_NONE)
		return f->code;
	return transactions_abort(t, f);
}

/* A record of one byte, on a lane of `batches`, or in the only partition of another topic. */
static enum fail_code
put_byte(struct transactions *t, rd_kafka_topic_t *topic, uint32_t lane, struct failure *f)
{
	uint8_t *bytes = calloc(1, 1);

	if (bytes == NULL)
		return fail_memory(f);
	return topic == t->batches ? transactions_put(t, lane, bytes, 1, f)
				   : put(t, topic, 0, NULL, bytes, 1, f);
}

enum fail_code
transactions_end_open(struct transactions *t, const struct lane_end *end, uint32_t lanes,
    bool ledger, struct failure *f)
{
	enum fail_code code = transactions_begin(t, f);

	if (code == FAIL_NONE)
		code = put_byte(t, t->rejects, 0, f);
	if (code == FAIL_NONE && ledger)
		code = put_byte(t, t->ledger, 0, f);
	for (uint32_t i = 0; code == FAIL_NONE && i < lanes; i++)
		if (end[i].open)
			code = put_byte(t, t->batches, i, f);
	if (code == FAIL_NONE)
		code = transactions_flush(t, f);
	return code == FAIL_NONE ? transactions_abort(t, f) : code;
}
