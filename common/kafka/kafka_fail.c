/* What librdkafka's errors mean: whether they pass, which code and sentence of ours they are. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/base/thread.h"
#include "common/kafka/kafka_internal.h"

enum {
	SLICE_MS = 1000, /* longest single wait, so that a new cause is seen soon */
	PAUSE_MS = 100,  /* between two attempts that failed at once */
};

/* ---- trying again until a deadline ---- */

int
kafka_left_ms(int64_t deadline_ms)
{
	int64_t left = deadline_ms - clock_ms();

	return left < 0 ? 0 : left > INT32_MAX ? INT32_MAX : (int)left;
}

int
kafka_slice_ms(int64_t deadline_ms)
{
	int left = kafka_left_ms(deadline_ms);

	return left < SLICE_MS ? left : SLICE_MS;
}

/*
 * Errors that pass by themselves: a connection to be made, a leader or coordinator to be found,
 * also where the disk of the last one failed.
 */
static const rd_kafka_resp_err_t passing_errors[] = {
    RD_KAFKA_RESP_ERR__TRANSPORT,
    RD_KAFKA_RESP_ERR__RESOLVE,
    RD_KAFKA_RESP_ERR__TIMED_OUT,
    RD_KAFKA_RESP_ERR__TIMED_OUT_QUEUE,
    RD_KAFKA_RESP_ERR__WAIT_COORD,
    RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN,
    RD_KAFKA_RESP_ERR__RETRY,
    KAFKA_DESTROY_BROKER,
    RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE,
    RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION,
    RD_KAFKA_RESP_ERR_FENCED_LEADER_EPOCH,
    RD_KAFKA_RESP_ERR_UNKNOWN_LEADER_EPOCH,
    RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR,
    RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT,
    RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS,
    RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE,
    RD_KAFKA_RESP_ERR_NOT_COORDINATOR,
    RD_KAFKA_RESP_ERR_UNSTABLE_OFFSET_COMMIT,
    RD_KAFKA_RESP_ERR_OFFSET_NOT_AVAILABLE,
    RD_KAFKA_RESP_ERR_NETWORK_EXCEPTION,
};

bool
kafka_lost(rd_kafka_resp_err_t err)
{
	return err == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET ||
	       err == RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE;
}

bool
kafka_passing(rd_kafka_resp_err_t err)
{
	for (size_t i = 0; i < sizeof(passing_errors) / sizeof(passing_errors[0]); i++)
		if (passing_errors[i] == err)
			return true;
	return kafka_forgets_partitions(err);
}

/* From 2.10 on partitions go with the broker that led them, until the next metadata. */
bool
kafka_forgets_partitions(rd_kafka_resp_err_t err)
{
	return err == KAFKA_DESTROY_BROKER || (err == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION &&
						  rd_kafka_version() >= KAFKA_FORGETS_FIRST);
}

/* Whether the process may open `n` more files, as thread_probe() says it of threads. */
static int
probe_files(unsigned n)
{
	int fd[KAFKA_FILES_MAX], err = 0;
	unsigned opened = 0;

	assert(n <= KAFKA_FILES_MAX);
	while (err == 0 && opened < n) {
		fd[opened] = eventfd(0, EFD_CLOEXEC);
		if (fd[opened] < 0)
			err = errno;
		else
			opened++;
	}
	while (opened > 0)
		close(fd[--opened]);
	return err;
}

bool
kafka_again(rd_kafka_t *rk, rd_kafka_resp_err_t err, int64_t deadline_ms)
{
	int left = kafka_left_ms(deadline_ms), ms = left < PAUSE_MS ? left : PAUSE_MS;

	if (!kafka_passing(err))
		return false;
	kafka_waits(rk);
	if (left == 0 || thread_probe(1) != 0 || probe_files(1) != 0)
		return false;
	clock_pause_ms(ms);
	return true;
}

enum fail_code
kafka_check_threads(unsigned n, struct failure *f)
{
	int err = thread_probe(n);

	if (err == 0)
		return FAIL_NONE;
	errno = err;
	return fail_errno(f, FAIL_IO,
	    "connecting to Kafka takes %u more threads, which the system does not give this "
	    "process; " THREAD_LIMITS,
	    n);
}

enum fail_code
kafka_check_files(unsigned n, struct failure *f)
{
	int err = probe_files(n);

	if (err == 0)
		return FAIL_NONE;
	errno = err;
	return fail_errno(
	    f, FAIL_IO, "connecting to Kafka takes %u more open file%s", n, n == 1 ? "" : "s");
}

/* ---- sentences ---- */

struct hint {
	rd_kafka_resp_err_t err;
	const char *text;
};

#define RIGHTS "`riffle acls` prints the rights that each command needs"

static const struct hint hints[] = {
    {RD_KAFKA_RESP_ERR__TRANSPORT, "is the broker running, and does bootstrap.servers name it?"},
    {RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN,
	"is the broker running, and does bootstrap.servers name it?"},
    {RD_KAFKA_RESP_ERR__TIMED_OUT, "the broker did not answer in time: is it overloaded or down?"},
    {RD_KAFKA_RESP_ERR__RESOLVE, "the host name in bootstrap.servers does not resolve"},
    {RD_KAFKA_RESP_ERR__AUTHENTICATION, "check security.protocol, sasl.* and the credentials"},
    {RD_KAFKA_RESP_ERR__SSL, "check security.protocol and ssl.*"},
    {RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC, "`riffle topics --create` makes the topics"},
    {RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION, "`riffle topics` compares the topics with the plan"},
    {RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, "`riffle topics --create` makes the topics"},
    {RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET,
	"the offset is not in the log (any more): was the topic recreated, or cut by retention?"},
    {RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE,
	"the offset is not in the log (any more): was the topic recreated, or cut by retention?"},
    {RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE,
	"the topic's max.message.bytes is too small: `riffle topics` shows what it must be"},
    {RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE,
	"the broker's segment.bytes is smaller than the batch"},
    {RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, RIGHTS},
    {RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED, RIGHTS},
    {RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED, RIGHTS},
    {RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED, RIGHTS},
    {RD_KAFKA_RESP_ERR__FENCED, "another instance with the same transactional.id has taken over"},
    {RD_KAFKA_RESP_ERR_PRODUCER_FENCED,
	"another instance with the same transactional.id has taken over"},
    {RD_KAFKA_RESP_ERR_INVALID_TRANSACTION_TIMEOUT,
	"transaction.timeout.ms is over the broker's transaction.max.timeout.ms"},
    {RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS, "fewer brokers are in sync than min.insync.replicas"},
    {RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND,
	"fewer brokers are in sync than min.insync.replicas"},
    {RD_KAFKA_RESP_ERR_INVALID_REPLICATION_FACTOR,
	"the cluster has fewer brokers than topics.replication"},
    {RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR, "the broker's disk failed or is full"},
};

const char *
kafka_hint(rd_kafka_resp_err_t err)
{
	for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++)
		if (hints[i].err == err)
			return hints[i].text;
	return "";
}

enum fail_code
kafka_fail_missing(struct failure *f, rd_kafka_t *rk, const char *topic)
{
	const struct kafka_handle *h = rk == NULL ? NULL : rd_kafka_opaque(rk);

	return fail(f, FAIL_CONFIG,
	    "topic %s does not exist%s%s: `riffle topics --create` creates it", topic,
	    h == NULL ? "" : " on ", h == NULL ? "" : h->bootstrap);
}

static const char *
kind_of(rd_kafka_resp_err_t err)
{
	if (err == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED)
		return "topic";
	if (err == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED)
		return "group";
	if (err == RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
		return "transactional id";
	return err == RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED ? "cluster" : NULL;
}

bool
kafka_denied(rd_kafka_resp_err_t err)
{
	return kind_of(err) != NULL;
}

bool
kafka_message_denied(rd_kafka_t *rk, const rd_kafka_message_t *m)
{
	const struct kafka_handle *h = rd_kafka_opaque(rk);

	if (m == NULL || !kafka_denied(m->err))
		return false;
	return m->err != RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED || h->commits;
}

static enum fail_code
code_of(rd_kafka_resp_err_t err)
{
	if (err == RD_KAFKA_RESP_ERR__FENCED || err == RD_KAFKA_RESP_ERR_PRODUCER_FENCED)
		return FAIL_FENCED;
	if (err == RD_KAFKA_RESP_ERR__TIMED_OUT)
		return FAIL_TIMEOUT;
	if (kafka_denied(err))
		return FAIL_DENIED;
	return FAIL_BROKER;
}

static bool
may_lack_files(rd_kafka_resp_err_t err)
{
	return err == RD_KAFKA_RESP_ERR__TIMED_OUT || err == RD_KAFKA_RESP_ERR__TRANSPORT ||
	       err == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN;
}

enum fail_code
kafka_fail_code(struct failure *f, rd_kafka_resp_err_t err, const char *text, const char *attempted)
{
	const char *hint = kafka_hint(err);

	assert(attempted != NULL);
	if (text == NULL || text[0] == '\0')
		text = rd_kafka_err2str(err);
	fail(f, code_of(err), "%s: %s%s%s%s", attempted, text, hint[0] == '\0' ? "" : " (", hint,
	    hint[0] == '\0' ? "" : ")");
	/* Who cannot open a socket waits for it as for a broker that is away. */
	return may_lack_files(err) ? fail_files(f) : f->code;
}

enum fail_code
kafka_fail(struct failure *f, rd_kafka_error_t *error, const char *attempted)
{
	enum fail_code code =
	    kafka_fail_code(f, rd_kafka_error_code(error), rd_kafka_error_string(error), attempted);

	rd_kafka_error_destroy(error);
	return code;
}

/* What a handle of that role needs of such a thing. */
static const char *
operation_of(const struct kafka_handle *h, rd_kafka_resp_err_t err, const char *name)
{
	if (err == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED)
		return h->commits && (name == NULL || strcmp(name, h->group) == 0) ? "READ"
										   : "DESCRIBE";
	if (err == RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
		return "WRITE";
	if (err == RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED)
		return h->role == KAFKA_WRITER ? "WRITE on a topic, or IDEMPOTENT_WRITE"
					       : "DESCRIBE";
	switch (h->role) {
	case KAFKA_READER:
	case KAFKA_MEMBER: return "READ";
	case KAFKA_WRITER:
	case KAFKA_TRANSACTIONAL: return "WRITE";
	case KAFKA_ADMIN: return "DESCRIBE";
	}
	abort(); /* unreachable */
}

enum fail_code
kafka_fail_denied(struct failure *f, rd_kafka_t *rk, rd_kafka_resp_err_t err, const char *operation,
    const char *name, const char *attempted)
{
	const struct kafka_handle *h = rd_kafka_opaque(rk);
	const char *kind = kind_of(err);

	assert(kind != NULL);
	if (operation == NULL)
		operation = operation_of(h, err, name);
	if (err == RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED)
		name = "kafka-cluster";
	else if (name == NULL)
		name = err == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED ? h->group
									   : h->transactional_id;
	return fail(f, FAIL_DENIED, "%s: denied: user%s%s lacks %s on %s %s (%s)", attempted,
	    h->user[0] == '\0' ? "" : " ", h->user, operation, kind, name, RIGHTS);
}

enum fail_code
kafka_fail_topic(struct failure *f, rd_kafka_t *rk, rd_kafka_resp_err_t err, const char *text,
    const char *attempted, const char *topic)
{
	if (!kafka_denied(err))
		return kafka_fail_code(f, err, text, attempted);
	if (err != RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED)
		topic = NULL;
	return kafka_fail_denied(f, rk, err, NULL, topic, attempted);
}

bool
kafka_refused(struct failure *f, rd_kafka_t *rk, const char *attempted)
{
	struct kafka_handle *h = rd_kafka_opaque(rk);
	char topic[KAFKA_CAUSE_MAX];

	kafka_log_refused(&h->log, topic);
	if (topic[0] == '\0')
		return false;
	kafka_fail_denied(
	    f, rk, RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, "WRITE", topic, attempted);
	return true;
}

/* FAIL_BROKER, or what `err` means, with the last failure of a connection behind it. */
enum fail_code
kafka_fail_asking(rd_kafka_t *rk, rd_kafka_resp_err_t err, const char *attempted, const char *topic,
    struct failure *f)
{
	struct kafka_handle *h = rd_kafka_opaque(rk);
	char cause[KAFKA_CAUSE_MAX];

	kafka_log_cause(&h->log, cause);
	if (kafka_passing(err) &&
	    (kafka_check_threads(1, f) != FAIL_NONE || kafka_check_files(1, f) != FAIL_NONE))
		return fail_within(f, "%s", attempted);
	if (cause[0] == '\0' || !kafka_passing(err))
		return kafka_fail_topic(f, rk, err, NULL, attempted, topic);
	return fail(f, FAIL_BROKER, "%s: %s", attempted, cause);
}
