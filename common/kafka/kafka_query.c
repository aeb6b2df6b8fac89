/*
 * Queries of a broker: whether it answers, partitions, first and last offsets, the last record.
 *
 * All have one shape: an attempt of at most a second (kafka_slice_ms), repeated while its error is
 * one that passes by itself (kafka_again), until the deadline. Attempts are short so that a new
 * cause, such as a wrong password, is seen soon, and leaders can be looked for in between.
 */
#include <assert.h>
#include <inttypes.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/log.h"
#include "common/kafka/brokers.h"
#include "common/kafka/kafka_internal.h"
#include "common/kafka/offsets.h"

enum {
	RENEW_MS = 5000,     /* for metadata of all topics, which can be much */
	SAID_MS = 2000,      /* who waits for a first answer so long says so */
	LAST_STEP_FIRST = 2, /* the last record of a transaction and its marker */
	LOOK_PAUSE_MS = 200,
};

/*
 * A question about the brokers alone names this topic, because librdkafka asks about all topics if
 * it is given none. The topic need not exist, and nothing creates it.
 */
#define ASKED_TOPIC "riffle"

/*
 * librdkafka takes the first four bytes of an answer for its size. Where they are another
 * protocol's it says "Invalid response size N", and to raise a limit: gives that protocol, or NULL.
 */
static const char *
other_protocol(const char *cause)
{
	static const char before[] = "Invalid response size ";
	static const struct {
		long long size;
		const char *what;
	} known[] = {
	    {0x48545450, "HTTP"}, /* "HTTP" */
	    {0x5353482d, "SSH"},  /* "SSH-" */
	};
	const char *at = strstr(cause, before);
	long long size;

	if (at == NULL || sscanf(at + sizeof(before) - 1, "%lld", &size) != 1)
		return NULL;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].size == size)
			return known[i].what;
	return NULL;
}

/*
 * Whether waiting is of no use: a wrong password or certificate stays wrong. librdkafka retries
 * these like a broker that is down, and reports them only in the text of a log line.
 */
static bool
hopeless(rd_kafka_t *rk)
{
	struct kafka_handle *h = rd_kafka_opaque(rk);
	char cause[KAFKA_CAUSE_MAX];

	kafka_log_cause(&h->log, cause);
	return strcasestr(cause, "authentication") != NULL || strcasestr(cause, "SSL") != NULL ||
	       other_protocol(cause) != NULL;
}

static const struct stop *process_stop;

void
kafka_set_stop(const struct stop *stop)
{
	process_stop = stop;
}

static bool
stopped(void)
{
	return process_stop != NULL && stop_asked(process_stop);
}

/* Where the address came from, as far as the handle can tell: the variable is easily forgotten. */
static const char *
bootstrap_origin(const struct kafka_handle *h)
{
	const char *variable = getenv("RIFFLE_BOOTSTRAP");

	return variable != NULL && strcmp(variable, h->bootstrap) == 0
		   ? "bootstrap.servers, as RIFFLE_BOOTSTRAP says"
		   : "bootstrap.servers";
}

/*
 * The host that DNS does not have, of "h:1: Failed to resolve 'h:1': Name or service ..."; else "".
 */
static void
unknown_host(const char *cause, char host[static KAFKA_CAUSE_MAX])
{
	const char *begin = strstr(cause, "Failed to resolve '"), *end;

	host[0] = '\0';
	if (begin == NULL || strstr(begin, gai_strerror(EAI_NONAME)) == NULL)
		return;
	begin = strchr(begin, '\'') + 1;
	end = strchr(begin, '\'');
	while (end > begin && *end != ':')
		end--;
	snprintf(host, KAFKA_CAUSE_MAX, "%.*s", (int)(end - begin), begin);
}

/* Whether something accepts connections and answers nothing. librdkafka gives up after 10 s. */
static bool
silent(struct kafka_handle *h, const char *cause)
{
	return atomic_load(&h->asked) && atomic_load(&h->answers) == 0 &&
	       (cause[0] == '\0' ||
		   strstr(cause, "ApiVersionRequest failed: Local: Timed out") != NULL);
}

static bool
on_this_machine(const char *list)
{
	return strncmp(list, "localhost", 9) == 0 || strncmp(list, "127.", 4) == 0;
}

/* Why no broker answers, and what to do, from the cause that librdkafka gave. */
static void
explain_cause(rd_kafka_t *rk, const char *cause, char *out, size_t room)
{
	struct kafka_handle *h = rd_kafka_opaque(rk);
	const char *protocol = other_protocol(cause);
	const char *port = brokers_without_port(h->bootstrap)
			       ? "; no port was given, so 9092 was tried: give HOST:PORT"
			       : "";
	char host[KAFKA_CAUSE_MAX];

	unknown_host(cause, host);
	if (protocol != NULL)
		snprintf(out, room,
		    "what listens there speaks %s, not Kafka's protocol%s; is it another port?",
		    protocol, port);
	else if (host[0] != '\0')
		snprintf(out, room, "host %s is not known: correct the name%s", host, port);
	else if (silent(h, cause))
		snprintf(out, room,
		    "it accepts connections but does not answer as a Kafka broker does%s: is it "
		    "another program's port, or one with TLS (security.protocol)?",
		    port);
	else
		snprintf(out, room, "%s%s%s", cause[0] == '\0' ? "no answer" : cause, port,
		    hopeless(rk) ? " (check security.protocol, sasl.* and ssl.*)"
		    : on_this_machine(h->bootstrap)
			? "; is it running? (`riffle-kafka up` starts one for trials)"
			: "; is it running?");
}

static enum fail_code
fail_no_broker(rd_kafka_t *rk, struct failure *f)
{
	struct kafka_handle *h = rd_kafka_opaque(rk);
	char cause[KAFKA_CAUSE_MAX], why[2 * KAFKA_CAUSE_MAX];

	if (stopped())
		return fail(
		    f, FAIL_STOPPED, "stopped while waiting for a broker at %s", h->bootstrap);
	if (kafka_check_threads(1, f) != FAIL_NONE || kafka_check_files(1, f) != FAIL_NONE)
		return f->code;
	kafka_log_cause(&h->log, cause);
	explain_cause(rk, cause, why, sizeof(why));
	if (h->broker_named)
		fail(f, FAIL_BROKER, "no broker answers at %s (%s): %s", h->bootstrap,
		    bootstrap_origin(h), why);
	else
		fail(f, FAIL_BROKER,
		    "no broker is named (kafka.bootstrap.servers, bootstrap= in Python, "
		    "RIFFLE_BOOTSTRAP%s), and none answers at the default, %s: %s",
		    getenv("RIFFLE_BOOTSTRAP") == NULL ? "" : ", which is set but empty",
		    h->bootstrap, why);
	return fail_files(f);
}

/* A wait for the first answer of a broker, between two attempts: says once whom it waits for. */
struct first_wait {
	int64_t begun_ms, deadline_ms;
	bool said;
};

static struct first_wait
first_wait_begin(int timeout_ms)
{
	int64_t now_ms = clock_ms();

	return (struct first_wait){now_ms, now_ms + timeout_ms, false};
}

/*
 * What is known while there is still time: of a port that accepts connections, no more than that.
 */
static const char *
early_cause(struct kafka_handle *h, const char *cause)
{
	if (silent(h, cause))
		return "it accepts connections, but has not answered as a Kafka broker does";
	return cause[0] == '\0' ? "no answer" : cause;
}

/* Whether to try again after `err`; pauses first. */
static bool
first_wait_again(struct first_wait *w, rd_kafka_t *rk, rd_kafka_resp_err_t err)
{
	struct kafka_handle *h = rd_kafka_opaque(rk);
	char cause[KAFKA_CAUSE_MAX], host[KAFKA_CAUSE_MAX];
	int64_t now_ms = clock_ms();

	if (hopeless(rk) || stopped() || !kafka_again(rk, err, w->deadline_ms))
		return false;
	if (!w->said && now_ms - w->begun_ms >= SAID_MS) {
		w->said = true;
		kafka_log_cause(&h->log, cause);
		unknown_host(cause, host);
		if (host[0] != '\0')
			snprintf(cause, sizeof(cause), "host %.200s is not known", host);
		log_warning("kafka: KAFKA-WAIT no broker has answered yet at %s (%s): %s; waiting "
			    "%" PRId64 " s more",
		    h->bootstrap, bootstrap_origin(h), early_cause(h, cause),
		    (w->deadline_ms - now_ms + 999) / 1000);
	}
	return true;
}

rd_kafka_resp_err_t
kafka_ask_brokers(rd_kafka_t *rk, const struct rd_kafka_metadata **out, int timeout_ms)
{
	rd_kafka_topic_t *one = rd_kafka_topic_new(rk, ASKED_TOPIC, NULL);
	rd_kafka_resp_err_t err;

	if (one == NULL)
		return rd_kafka_last_error();
	err = rd_kafka_metadata(rk, 0, one, out, timeout_ms);
	rd_kafka_topic_destroy(one);
	return err;
}

static enum fail_code
wait_broker(rd_kafka_t *rk, int timeout_ms, struct failure *f)
{
	struct first_wait wait = first_wait_begin(timeout_ms);
	const struct rd_kafka_metadata *metadata;
	rd_kafka_resp_err_t err;

	do {
		err = kafka_ask_brokers(rk, &metadata, kafka_slice_ms(wait.deadline_ms));
		if (err == RD_KAFKA_RESP_ERR_NO_ERROR) {
			kafka_log_set_worked(true);
			rd_kafka_metadata_destroy(metadata);
			return FAIL_NONE;
		}
		if (!kafka_passing(err))
			return kafka_fail_asking(
			    rk, err, "asking the broker for its metadata", "", f);
	} while (first_wait_again(&wait, rk, err));
	return fail_no_broker(rk, f);
}

enum fail_code
kafka_wait_broker(rd_kafka_t *rk, int timeout_ms, struct failure *f)
{
	struct kafka_handle *h = rd_kafka_opaque(rk);
	enum fail_code code;

	kafka_log_set_quiet(&h->log, true);
	code = wait_broker(rk, timeout_ms, f);
	kafka_log_set_quiet(&h->log, h->role == KAFKA_ADMIN);
	return code;
}

/* One attempt; *partitions is 0 after an error, but stays where no response came. */
static rd_kafka_resp_err_t
partitions_once(rd_kafka_t *rk, rd_kafka_topic_t *topic, int *partitions, int timeout_ms)
{
	const struct rd_kafka_metadata *metadata;
	rd_kafka_resp_err_t err;

	err = rd_kafka_metadata(rk, 0, topic, &metadata, timeout_ms);
	if (err != RD_KAFKA_RESP_ERR_NO_ERROR)
		return err;
	kafka_log_set_worked(true);
	err = metadata->topic_cnt == 1 ? metadata->topics[0].err
				       : RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
	*partitions = err == RD_KAFKA_RESP_ERR_NO_ERROR ? metadata->topics[0].partition_cnt : 0;
	rd_kafka_metadata_destroy(metadata);
	return err;
}

/*
 * Like wait_broker(), but any response about the topic is a broker that answers: also that there is
 * no such topic, which is *partitions = 0 and no failure.
 */
static enum fail_code
wait_topic(
    rd_kafka_t *rk, rd_kafka_topic_t *topic, int *partitions, int timeout_ms, struct failure *f)
{
	struct first_wait wait = first_wait_begin(timeout_ms);
	rd_kafka_resp_err_t err;

	do {
		err = partitions_once(rk, topic, partitions, kafka_slice_ms(wait.deadline_ms));
		if (err == RD_KAFKA_RESP_ERR_NO_ERROR)
			return FAIL_NONE;
		*partitions = 0;
		if (err == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART)
			return FAIL_NONE;
		if (!kafka_passing(err))
			return kafka_fail_asking(rk, err, "asking the broker about a topic",
			    rd_kafka_topic_name(topic), f);
	} while (first_wait_again(&wait, rk, err));
	return fail_no_broker(rk, f);
}

enum fail_code
kafka_wait_topic(
    rd_kafka_t *rk, const char *topic, int *partitions, int timeout_ms, struct failure *f)
{
	struct kafka_handle *h = rd_kafka_opaque(rk);
	rd_kafka_topic_t *handle = rd_kafka_topic_new(rk, topic, NULL);
	enum fail_code code;

	if (handle == NULL)
		return kafka_fail_code(f, rd_kafka_last_error(), NULL, topic);
	kafka_log_set_quiet(&h->log, true);
	code = wait_topic(rk, handle, partitions, timeout_ms, f);
	kafka_log_set_quiet(&h->log, h->role == KAFKA_ADMIN);
	rd_kafka_topic_destroy(handle);
	return code;
}

enum fail_code
kafka_partitions(
    rd_kafka_t *rk, const char *topic, int *partitions, int timeout_ms, struct failure *f)
{
	int64_t deadline_ms = clock_ms() + timeout_ms;
	rd_kafka_topic_t *handle = rd_kafka_topic_new(rk, topic, NULL);
	rd_kafka_resp_err_t err;

	if (handle == NULL)
		return kafka_fail_code(f, rd_kafka_last_error(), NULL, topic);
	do {
		err = partitions_once(rk, handle, partitions, kafka_slice_ms(deadline_ms));
	} while (kafka_again(rk, err, deadline_ms));
	rd_kafka_topic_destroy(handle);
	if (err == RD_KAFKA_RESP_ERR_NO_ERROR)
		return FAIL_NONE;
	*partitions = 0;
	if (err == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART)
		return FAIL_NONE;
	kafka_fail_asking(rk, err, "asking for its partitions", topic, f);
	return fail_within(f, "topic %s", topic);
}

enum fail_code
kafka_check_single(rd_kafka_t *rk, const char *topic, int timeout_ms, struct failure *f)
{
	int partitions;

	if (kafka_partitions(rk, topic, &partitions, timeout_ms, f) != FAIL_NONE)
		return f->code;
	if (partitions == 0)
		return kafka_fail_missing(f, rk, topic);
	return partitions == 1
		   ? FAIL_NONE
		   : fail(f, FAIL_CONFIG, "topic %s has %d partitions, not 1", topic, partitions);
}

/* One round of ListOffsets: fills out[n] with the first offset or the end of each partition. */
static rd_kafka_resp_err_t
list_offsets(rd_kafka_t *rk, rd_kafka_topic_partition_list_t *list, int64_t which, int64_t *out,
    int timeout_ms)
{
	rd_kafka_resp_err_t err;

	assert(which == RD_KAFKA_OFFSET_BEGINNING || which == RD_KAFKA_OFFSET_END);
	for (int i = 0; i < list->cnt; i++) {
		list->elems[i].offset = which;
		list->elems[i].err = RD_KAFKA_RESP_ERR_NO_ERROR;
	}
	err = rd_kafka_offsets_for_times(rk, list, timeout_ms);
	for (int i = 0; err == RD_KAFKA_RESP_ERR_NO_ERROR && i < list->cnt; i++) {
		err = list->elems[i].err;
		out[i] = list->elems[i].offset;
	}
	return err;
}

static bool
is_one_topic(const rd_kafka_topic_partition_list_t *list)
{
	for (int i = 1; i < list->cnt; i++)
		if (strcmp(list->elems[i].topic, list->elems[0].topic) != 0)
			return false;
	return true;
}

/* Whether the metadata of the list's one topic say that one of its partitions does not exist. */
static bool
lacks(const struct rd_kafka_metadata *found, const rd_kafka_topic_partition_list_t *list)
{
	const struct rd_kafka_metadata_topic *topic = found->topics;
	bool missing = false;

	if (found->topic_cnt != 1)
		return false;
	for (int i = 0; topic->err == RD_KAFKA_RESP_ERR_NO_ERROR && i < list->cnt; i++)
		missing = missing || list->elems[i].partition >= topic->partition_cnt;
	return missing || topic->err == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
}

/*
 * Makes librdkafka look for the leaders again, where it does not by itself: after a request that
 * timed out (2.0.2), and after it has forgotten who leads (2.10). Until its cache of leaders
 * expires, minutes later, 2.0.2 sends every request to the leader that it knows, which may be dead,
 * and reports a timeout and nothing else:
 *
 *     1. broker 1 leads the partition, and dies; broker 2 takes over
 *     2. ListOffsets goes to broker 1: a timeout, and the same at every attempt
 *     3. a metadata request, to any broker that lives, replaces the cached leader
 *     4. the next ListOffsets goes to broker 2
 *
 * One topic is requested by its name; of several topics all of the cluster's are requested, because
 * the public interface has nothing in between. Gives `err`, or the broker's own error where it says
 * of one topic that a partition does not exist: that does not pass.
 */
static rd_kafka_resp_err_t
renew_leaders(rd_kafka_t *rk, rd_kafka_resp_err_t err, const rd_kafka_topic_partition_list_t *list,
    int64_t deadline_ms)
{
	int left_ms = kafka_left_ms(deadline_ms);
	const struct rd_kafka_metadata *found;
	rd_kafka_topic_t *one = NULL;

	assert(list->cnt > 0);
	if (left_ms == 0 || (err != RD_KAFKA_RESP_ERR__TIMED_OUT && !kafka_forgets_partitions(err)))
		return err;
	if (is_one_topic(list) &&
	    (one = rd_kafka_topic_new(rk, list->elems[0].topic, NULL)) == NULL)
		return err;
	if (rd_kafka_metadata(rk, one == NULL, one, &found,
		left_ms < RENEW_MS ? left_ms : RENEW_MS) == RD_KAFKA_RESP_ERR_NO_ERROR) {
		if (one != NULL && lacks(found, list))
			err = RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
		rd_kafka_metadata_destroy(found);
	}
	if (one != NULL)
		rd_kafka_topic_destroy(one);
	return err;
}

/* The first offsets, then the ends: a record that is deleted in between leaves low <= high true. */
static rd_kafka_resp_err_t
watermarks_once(rd_kafka_t *rk, rd_kafka_topic_partition_list_t *list, int64_t *low, int64_t *high,
    int64_t deadline_ms)
{
	rd_kafka_resp_err_t err = RD_KAFKA_RESP_ERR_NO_ERROR;

	if (low != NULL)
		err = list_offsets(
		    rk, list, RD_KAFKA_OFFSET_BEGINNING, low, kafka_slice_ms(deadline_ms));
	if (err == RD_KAFKA_RESP_ERR_NO_ERROR)
		err =
		    list_offsets(rk, list, RD_KAFKA_OFFSET_END, high, kafka_slice_ms(deadline_ms));
	return renew_leaders(rk, err, list, deadline_ms);
}

/* The topic of the first partition with an error of its own; the first of all where none has. */
static const char *
first_refused(const rd_kafka_topic_partition_list_t *list)
{
	for (int i = 0; i < list->cnt; i++)
		if (list->elems[i].err != RD_KAFKA_RESP_ERR_NO_ERROR)
			return list->elems[i].topic;
	return list->elems[0].topic;
}

enum fail_code
kafka_watermarks_list(rd_kafka_t *rk, rd_kafka_topic_partition_list_t *list, int64_t *low,
    int64_t *high, int timeout_ms, struct failure *f)
{
	int64_t deadline_ms = clock_ms() + timeout_ms;
	rd_kafka_resp_err_t err;

	if (list->cnt == 0)
		return FAIL_NONE;
	do {
		err = watermarks_once(rk, list, low, high, deadline_ms);
	} while (kafka_again(rk, err, deadline_ms));
	if (err == RD_KAFKA_RESP_ERR_NO_ERROR)
		return FAIL_NONE;
	kafka_fail_asking(rk, err, "asking for its first and last offsets", first_refused(list), f);
	return fail_within(
	    f, "topic %s%s", list->elems[0].topic, is_one_topic(list) ? "" : " and others");
}

enum fail_code
kafka_watermarks_many(rd_kafka_t *rk, const char *topic, int32_t first, size_t n, int64_t *low,
    int64_t *high, int timeout_ms, struct failure *f)
{
	rd_kafka_topic_partition_list_t *list;
	enum fail_code code;

	assert(n <= INT32_MAX);
	list = rd_kafka_topic_partition_list_new((int)n);
	for (size_t i = 0; i < n; i++)
		rd_kafka_topic_partition_list_add(list, topic, first + (int32_t)i);
	code = kafka_watermarks_list(rk, list, low, high, timeout_ms, f);
	rd_kafka_topic_partition_list_destroy(list);
	return code;
}

enum fail_code
kafka_watermarks(rd_kafka_t *rk, const char *topic, int32_t partition, int64_t *low, int64_t *high,
    int timeout_ms, struct failure *f)
{
	return kafka_watermarks_many(rk, topic, partition, 1, low, high, timeout_ms, f);
}

enum fail_code
kafka_offset_at(rd_kafka_t *rk, const char *topic, int32_t partition, int64_t time_ms,
    int64_t *offset, int timeout_ms, struct failure *f)
{
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
	rd_kafka_topic_partition_t *one = rd_kafka_topic_partition_list_add(list, topic, partition);
	int64_t deadline_ms = clock_ms() + timeout_ms;
	rd_kafka_resp_err_t err;

	assert(time_ms >= 0);
	do {
		one->offset = time_ms;
		one->err = RD_KAFKA_RESP_ERR_NO_ERROR;
		err = rd_kafka_offsets_for_times(rk, list, kafka_slice_ms(deadline_ms));
		if (err == RD_KAFKA_RESP_ERR_NO_ERROR)
			err = one->err;
		err = renew_leaders(rk, err, list, deadline_ms);
	} while (kafka_again(rk, err, deadline_ms));
	*offset = one->offset < 0 ? -1 : one->offset; /* RD_KAFKA_OFFSET_END: none */
	rd_kafka_topic_partition_list_destroy(list);
	if (err == RD_KAFKA_RESP_ERR_NO_ERROR)
		return FAIL_NONE;
	kafka_fail_asking(rk, err, "asking for an offset by time", topic, f);
	return fail_within(f, "topic %s", topic);
}

rd_kafka_resp_err_t
kafka_assign(rd_kafka_t *rk, const rd_kafka_topic_partition_list_t *list)
{
	rd_kafka_resp_err_t err = rd_kafka_assign(rk, list);
	rd_kafka_topic_partition_list_t *unused;

	/* Asked for its answer's place in the queue alone. */
	if (rd_kafka_assignment(rk, &unused) == RD_KAFKA_RESP_ERR_NO_ERROR)
		rd_kafka_topic_partition_list_destroy(unused);
	return err;
}

rd_kafka_resp_err_t
kafka_assign_one(rd_kafka_t *rk, const char *topic, int32_t partition, int64_t offset)
{
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
	rd_kafka_resp_err_t err;

	rd_kafka_topic_partition_list_add(list, topic, partition)->offset = offset;
	err = kafka_assign(rk, list);
	rd_kafka_topic_partition_list_destroy(list);
	return err;
}

bool
kafka_at_end(const rd_kafka_message_t *m, int64_t end)
{
	return m->err == RD_KAFKA_RESP_ERR__PARTITION_EOF && m->offset >= end;
}

bool
kafka_look_again(int64_t *since_ms, bool lost)
{
	if (!lost)
		return false;
	if (*since_ms == 0)
		*since_ms = clock_ms();
	if (clock_ms() - *since_ms >= KAFKA_SURE_MS)
		return false;
	clock_pause_ms(LOOK_PAUSE_MS);
	return true;
}

/*
 * Reads [from, end) and gives the last visible record there in *last (NULL: none). Which offsets
 * are visible is not known before: the stretch was read whole when
 *
 *     the record at end - 1 comes,
 *     a record at or behind `end` comes (offsets end-1 and before were skipped as not visible), or
 *     the partition's end is reported, at or behind `end`.
 *
 * `passed` is the last error that passes by itself: what the failure names where time runs out.
 */
static rd_kafka_resp_err_t
last_between(rd_kafka_t *rk, const char *topic, int32_t partition, int64_t from, int64_t end,
    rd_kafka_message_t **last, int64_t deadline_ms)
{
	rd_kafka_resp_err_t err = kafka_assign_one(rk, topic, partition, from), passed = 0;

	while (err == RD_KAFKA_RESP_ERR_NO_ERROR) {
		rd_kafka_message_t *m = kafka_poll(rk, kafka_slice_ms(deadline_ms));

		if (m == NULL && kafka_left_ms(deadline_ms) == 0)
			err = passed != 0 ? passed : RD_KAFKA_RESP_ERR__TIMED_OUT;
		if (m == NULL)
			continue;
		if (m->err == RD_KAFKA_RESP_ERR_NO_ERROR && m->offset < end) {
			if (*last != NULL)
				rd_kafka_message_destroy(*last);
			*last = m;
			if (m->offset == end - 1)
				break;
			continue;
		}
		if (m->err != RD_KAFKA_RESP_ERR_NO_ERROR &&
		    m->err != RD_KAFKA_RESP_ERR__PARTITION_EOF) {
			passed = m->err;
			err = kafka_passing(m->err) ||
				      (kafka_denied(m->err) && !kafka_message_denied(rk, m))
				  ? RD_KAFKA_RESP_ERR_NO_ERROR
				  : m->err;
			rd_kafka_message_destroy(m);
			continue;
		}
		if (m->err == RD_KAFKA_RESP_ERR__PARTITION_EOF && !kafka_at_end(m, end)) {
			passed = RD_KAFKA_RESP_ERR_OFFSET_NOT_AVAILABLE;
			rd_kafka_message_destroy(m);
			continue;
		}
		rd_kafka_message_destroy(m);
		break;
	}
	return err;
}

/*
 * The end of a partition is not the last record's offset + 1: behind the last record are the marker
 * of its transaction, those of aborted ones, and aborted records, none of which a reader sees. No
 * request tells how many there are, so this steps back from `high` by doubling distances until a
 * stretch shows a record:
 *
 *     stretch read        2 before the end, then 4 before that, 8, 16, ...
 *     usual case          the first one: the last record, and its transaction's marker
 *     a long aborted tail one read of twice its length in all
 */
static rd_kafka_resp_err_t
last_before(rd_kafka_t *rk, const char *topic, int32_t partition, int64_t low, int64_t high,
    rd_kafka_message_t **last, int64_t deadline_ms)
{
	rd_kafka_resp_err_t err = RD_KAFKA_RESP_ERR_NO_ERROR;
	int64_t end = high, step = LAST_STEP_FIRST;

	assert(*last == NULL);
	while (err == RD_KAFKA_RESP_ERR_NO_ERROR && *last == NULL && end > low) {
		int64_t from = offsets_before(low, end, step);

		err = last_between(rk, topic, partition, from, end, last, deadline_ms);
		end = from;
		step *= 2;
	}
	kafka_assign(rk, NULL);
	if (err != RD_KAFKA_RESP_ERR_NO_ERROR && *last != NULL) {
		rd_kafka_message_destroy(*last);
		*last = NULL;
	}
	return err;
}

static enum fail_code
fail_last(struct failure *f, rd_kafka_t *rk, rd_kafka_resp_err_t err, const char *topic,
    int32_t partition)
{
	kafka_fail_asking(rk, err, "looking for its last record", topic, f);
	return fail_within(f, "topic %s, partition %d", topic, (int)partition);
}

enum fail_code
kafka_last_record(rd_kafka_t *rk, const char *topic, int32_t partition, rd_kafka_message_t **out,
    int timeout_ms, struct failure *f)
{
	const struct kafka_handle *h = rd_kafka_opaque(rk);
	int64_t deadline_ms = clock_ms() + timeout_ms, low, high;
	rd_kafka_resp_err_t err;
	enum fail_code code;

	assert(h->role == KAFKA_READER);
	assert(partition >= 0);
	*out = NULL;
	do { /* repeated where the records were deleted between the two requests */
		code = kafka_watermarks(
		    rk, topic, partition, &low, &high, kafka_left_ms(deadline_ms), f);
		if (code != FAIL_NONE)
			return code;
		err = last_before(rk, topic, partition, low, high, out, deadline_ms);
	} while (err == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET && kafka_left_ms(deadline_ms) > 0);
	if (err == RD_KAFKA_RESP_ERR_NO_ERROR)
		return FAIL_NONE;
	assert(*out == NULL);
	return fail_last(f, rk, err, topic, partition);
}

enum fail_code
kafka_last_or_emptied(rd_kafka_t *rk, const char *topic, int32_t partition,
    rd_kafka_message_t **out, bool *emptied, int timeout_ms, struct failure *f)
{
	int64_t low, high;

	*emptied = false;
	if (kafka_last_record(rk, topic, partition, out, timeout_ms, f) != FAIL_NONE)
		return f->code;
	if (*out != NULL)
		return FAIL_NONE;
	if (kafka_watermarks(rk, topic, partition, &low, &high, timeout_ms, f) != FAIL_NONE)
		return f->code;
	*emptied = offsets_emptied(low, high);
	return FAIL_NONE;
}

enum fail_code
kafka_last_record_in(rd_kafka_t *rk, const char *topic, int32_t partition, int64_t low,
    int64_t high, rd_kafka_message_t **out, int timeout_ms, struct failure *f)
{
	rd_kafka_resp_err_t err;

	assert(low <= high);
	*out = NULL;
	err = last_before(rk, topic, partition, low, high, out, clock_ms() + timeout_ms);
	if (err == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET) /* deleted meanwhile */
		return kafka_last_record(rk, topic, partition, out, timeout_ms, f);
	return err == RD_KAFKA_RESP_ERR_NO_ERROR ? FAIL_NONE
						 : fail_last(f, rk, err, topic, partition);
}

enum fail_code
kafka_first_record(rd_kafka_t *rk, const char *topic, int32_t partition, rd_kafka_message_t **out,
    int timeout_ms, struct failure *f)
{
	int64_t deadline_ms = clock_ms() + timeout_ms, low, high;
	rd_kafka_resp_err_t err = RD_KAFKA_RESP_ERR_NO_ERROR;

	assert(partition >= 0);
	*out = NULL;
	if (kafka_watermarks(rk, topic, partition, &low, &high, kafka_left_ms(deadline_ms), f) !=
	    FAIL_NONE)
		return f->code;
	if (low < high)
		err = last_between(rk, topic, partition, low, low + 1, out, deadline_ms);
	kafka_assign(rk, NULL);
	if (err == RD_KAFKA_RESP_ERR_NO_ERROR)
		return FAIL_NONE;
	assert(*out == NULL);
	kafka_fail_asking(rk, err, "looking for its first record", topic, f);
	return fail_within(f, "topic %s, partition %d", topic, (int)partition);
}

const char *
kafka_header(const rd_kafka_message_t *m, const char *name, size_t *n)
{
	rd_kafka_headers_t *all;
	const void *value;

	if (rd_kafka_message_headers(m, &all) != RD_KAFKA_RESP_ERR_NO_ERROR ||
	    rd_kafka_header_get_last(all, name, &value, n) != RD_KAFKA_RESP_ERR_NO_ERROR)
		return NULL;
	return value == NULL ? "" : value;
}

enum fail_code
kafka_all_topics(
    rd_kafka_t *rk, const struct rd_kafka_metadata **out, int64_t deadline_ms, struct failure *f)
{
	rd_kafka_resp_err_t err;

	do {
		err = rd_kafka_metadata(rk, 1, NULL, out, kafka_slice_ms(deadline_ms));
	} while (kafka_again(rk, err, deadline_ms));
	if (err == RD_KAFKA_RESP_ERR_NO_ERROR)
		return FAIL_NONE;
	return kafka_fail_asking(rk, err, "asking the broker for its topics", "", f);
}
