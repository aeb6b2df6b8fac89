/* The transactional producer's calls. */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/kafka/client.h"

enum { LATE_MS = 12000, AGAIN_MS = 20 };

struct rd_kafka_consumer_group_metadata_s {
	char group[CLUSTER_NAME_MAX];
};

rd_kafka_consumer_group_metadata_t *
rd_kafka_consumer_group_metadata_new(const char *group_id)
{
	rd_kafka_consumer_group_metadata_t *m = calloc(1, sizeof(*m));

	if (m != NULL)
		snprintf(m->group, sizeof(m->group), "%s", group_id);
	return m;
}

void
rd_kafka_consumer_group_metadata_destroy(rd_kafka_consumer_group_metadata_t *m)
{
	free(m);
}

static rd_kafka_error_t *
retriable(rd_kafka_resp_err_t err, const char *text)
{
	rd_kafka_error_t *e = client_error(err, "%s", text);

	e->retriable = true;
	return e;
}

static rd_kafka_error_t *
fatal(rd_kafka_t *rk)
{
	rd_kafka_error_t *e = client_error(rk->fatal, "%s", rk->text);

	e->fatal = true;
	return e;
}

static rd_kafka_error_t *
needs_abort(rd_kafka_resp_err_t err)
{
	rd_kafka_error_t *e =
	    client_error(err, "the transaction must be aborted: %s", rd_kafka_err2str(err));

	e->abort = true;
	return e;
}

static rd_kafka_error_t *
fenced(rd_kafka_t *rk)
{
	client_fatal(rk, RD_KAFKA_RESP_ERR__FENCED, "This instance has been fenced");
	return fatal(rk);
}

/* NULL: the call may go on. */
static rd_kafka_error_t *
check(rd_kafka_t *rk, enum client_txn wanted, enum client_txn other)
{
	if (rk->txn == NULL)
		return client_error(RD_KAFKA_RESP_ERR__NOT_CONFIGURED,
		    "The Transactional API requires transactional.id to be configured");
	if (rk->fatal != RD_KAFKA_RESP_ERR_NO_ERROR)
		return fatal(rk);
	if (rk->state != wanted && rk->state != other && rk->state == CLIENT_TXN_BEGUN &&
	    rk->abortable != RD_KAFKA_RESP_ERR_NO_ERROR)
		return needs_abort(rk->abortable);
	if (rk->state != wanted && rk->state != other)
		return client_error(
		    RD_KAFKA_RESP_ERR__STATE, "Operation not valid in state %d", (int)rk->state);
	return NULL;
}

rd_kafka_error_t *
rd_kafka_init_transactions(rd_kafka_t *rk, int timeout_ms)
{
	rd_kafka_error_t *error = check(rk, CLIENT_TXN_NONE, CLIENT_TXN_NONE);
	int64_t timeout = client_number(rk, "transaction.timeout.ms"), until_ms, producer;
	rd_kafka_resp_err_t err;
	int16_t epoch;

	chance_call("init_transactions", client_value(rk->conf, "transactional.id"));
	if (error != NULL)
		return error;
	until_ms = cluster->now_ms + (timeout_ms < 0 ? 2 * timeout : timeout_ms);
	for (;;) {
		bool lost = chance_fault(CHANCE_INIT_TIMES_OUT, rk->txn->id);

		err = cluster_txn_init(rk->txn, (int)timeout, &producer, &epoch);
		if (lost && until_ms > cluster->now_ms)
			chance_wait(until_ms - cluster->now_ms);
		if (!lost && err == RD_KAFKA_RESP_ERR_NO_ERROR)
			break;
		if (!lost && err == RD_KAFKA_RESP_ERR_INVALID_TRANSACTION_TIMEOUT) {
			client_fatal(rk, err, rd_kafka_err2str(err));
			return fatal(rk);
		}
		if (cluster->now_ms >= until_ms)
			return retriable(RD_KAFKA_RESP_ERR__TIMED_OUT,
			    "Failed to initialize Producer ID: Local: Timed out");
		chance_wait(AGAIN_MS);
		chance_call("init_transactions waits", rk->txn->id);
	}
	rk->producer = producer;
	rk->epoch = epoch;
	rk->state = CLIENT_TXN_READY;
	chance_call("init_transactions answered", rk->txn->id);
	return NULL;
}

rd_kafka_error_t *
rd_kafka_begin_transaction(rd_kafka_t *rk)
{
	rd_kafka_error_t *error = check(rk, CLIENT_TXN_READY, CLIENT_TXN_READY);

	chance_call("begin_transaction", client_value(rk->conf, "transactional.id"));
	if (error != NULL)
		return error;
	rk->state = CLIENT_TXN_BEGUN;
	rk->txn_used = false;
	rk->abortable = RD_KAFKA_RESP_ERR_NO_ERROR;
	for (struct client_sending *s = rk->sending; s != NULL; s = s->next)
		s->added = false;
	return NULL;
}

static struct cluster_commit *
commits_of(const rd_kafka_topic_partition_list_t *list, const char *group, size_t *n)
{
	struct cluster_commit *c = cluster_allocate(((size_t)list->cnt + 1) * sizeof(*c));

	*n = 0;
	for (int i = 0; i < list->cnt; i++) {
		struct cluster_commit *to = &c[*n];

		if (list->elems[i].offset < 0)
			continue;
		snprintf(to->group, sizeof(to->group), "%s", group);
		snprintf(to->topic, sizeof(to->topic), "%s", list->elems[i].topic);
		to->partition = list->elems[i].partition;
		to->offset = list->elems[i].offset;
		(*n)++;
		if (list->elems[i].metadata == NULL)
			continue;
		to->metadata = cluster_allocate(list->elems[i].metadata_size + 1);
		memcpy(to->metadata, list->elems[i].metadata, list->elems[i].metadata_size);
	}
	return c;
}

rd_kafka_error_t *
rd_kafka_send_offsets_to_transaction(rd_kafka_t *rk, const rd_kafka_topic_partition_list_t *offsets,
    const rd_kafka_consumer_group_metadata_t *cgmetadata, int timeout_ms)
{
	rd_kafka_error_t *error = check(rk, CLIENT_TXN_BEGUN, CLIENT_TXN_BEGUN);
	int64_t until_ms = cluster->now_ms + timeout_ms;
	bool refused, arrives = true;
	rd_kafka_resp_err_t err;
	struct cluster_commit *c;
	size_t n;

	chance_call("send_offsets_to_transaction", cgmetadata->group);
	if (error != NULL)
		return error;
	if (rk->abortable != RD_KAFKA_RESP_ERR_NO_ERROR)
		return needs_abort(rk->abortable);
	c = commits_of(offsets, cgmetadata->group, &n);
	if (n == 0)
		return NULL;
	refused = chance_fault(CHANCE_OFFSETS_REFUSED, cgmetadata->group);
	if (refused)
		arrives = chance_below(2) == 0;
	while (arrives) {
		err = cluster_txn_offsets(rk->txn, rk->producer, rk->epoch, c, n);
		if (err == RD_KAFKA_RESP_ERR_NO_ERROR)
			break;
		if (err == RD_KAFKA_RESP_ERR_INVALID_PRODUCER_ID_MAPPING)
			return needs_abort(rk->abortable = err);
		if (err != RD_KAFKA_RESP_ERR_CONCURRENT_TRANSACTIONS)
			return fenced(rk);
		if (cluster->now_ms >= until_ms)
			return retriable(RD_KAFKA_RESP_ERR__TIMED_OUT, "concurrent transactions");
		chance_wait(AGAIN_MS);
	}
	rk->txn_used = rk->txn_used || arrives;
	for (size_t i = 0; arrives && i < n; i++)
		if (cluster_commit_check(c[i].topic, c[i].partition, 0) != 0)
			rk->abortable = RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
	if (rk->abortable != RD_KAFKA_RESP_ERR_NO_ERROR)
		return needs_abort(rk->abortable);
	if (refused)
		return retriable(RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE,
		    "Failed to commit offsets to transaction: Broker: Coordinator not available");
	return NULL;
}

/* librdkafka asks again where no answer came; the first request goes its way all the same. */
static void
send_first(rd_kafka_t *rk, const struct cluster_request *r)
{
	struct cluster_request *first;

	if (!chance_fault(CHANCE_COMMIT_TWICE, rk->txn->id))
		return;
	first = cluster_allocate(sizeof(*first));
	*first = *r;
	cluster_send(first, cluster->now_ms + (int64_t)chance_below(LATE_MS));
	client_unheard(rk, CLIENT_API_END);
}

/* Sends EndTxn; the request goes its way whatever becomes of the handle. */
static void
send_end(rd_kafka_t *rk, bool commit, int64_t until_ms)
{
	struct cluster_request *r = cluster_allocate(sizeof(*r));
	int64_t due_ms = cluster->now_ms + (int64_t)chance_below(3);
	const char *id = rk->txn->id;

	*r = (struct cluster_request){.kind = CLUSTER_END,
	    .txn = rk->txn,
	    .producer = rk->producer,
	    .epoch = rk->epoch,
	    .commit = commit};
	rk->ending = r;
	send_first(rk, r);
	rk->ending_answer_ms = due_ms;
	if (chance_fault(CHANCE_COMMIT_LOST, id)) {
		rk->ending_answer_ms = INT64_MAX;
		return;
	}
	if (chance_fault(CHANCE_COMMIT_LATE, id))
		due_ms = until_ms + (int64_t)chance_below(LATE_MS);
	if (due_ms > until_ms || chance_fault(CHANCE_COMMIT_UNKNOWN, id))
		rk->ending_answer_ms = INT64_MAX;
	cluster_send(r, due_ms);
}

static rd_kafka_error_t *
hear_end(rd_kafka_t *rk)
{
	rd_kafka_resp_err_t err = rk->ending->err;

	rk->ending = NULL;
	if (err == RD_KAFKA_RESP_ERR_NO_ERROR) {
		rk->state = CLIENT_TXN_READY;
		return NULL;
	}
	if (err == RD_KAFKA_RESP_ERR_INVALID_TXN_STATE) {
		client_fatal(rk, err, "Failed to end transaction: Broker: invalid state");
		return fatal(rk);
	}
	return fenced(rk);
}

/* Ends the transaction, or goes on waiting for the end that was sent before. */
static rd_kafka_error_t *
end(rd_kafka_t *rk, bool commit, int64_t until_ms)
{
	rd_kafka_error_t *error;

	if (rk->ending == NULL && !rk->txn_used) { /* the coordinator has not heard of it */
		rk->state = CLIENT_TXN_READY;
		return NULL;
	}
	rk->state = CLIENT_TXN_ENDING;
	if (rk->ending == NULL) {
		chance_call("EndTxn", commit ? "commit" : "abort");
		send_end(rk, commit, until_ms);
	}
	while (!rk->ending->done || rk->ending_answer_ms > cluster->now_ms) {
		if (cluster->now_ms >= until_ms) {
			client_unheard(rk, CLIENT_API_END);
			return retriable(RD_KAFKA_RESP_ERR__TIMED_OUT,
			    "Failed to end transaction: Local: Timed out");
		}
		chance_wait(1);
		if (rk->ending_answer_ms == INT64_MAX && until_ms > cluster->now_ms)
			chance_wait(until_ms - cluster->now_ms);
	}
	error = hear_end(rk);
	chance_call("EndTxn answered", commit ? "commit" : "abort");
	return error;
}

static int64_t
until(const rd_kafka_t *rk, int timeout_ms)
{
	return cluster->now_ms +
	       (timeout_ms < 0 ? client_number(rk, "transaction.timeout.ms") : timeout_ms);
}

rd_kafka_error_t *
rd_kafka_commit_transaction(rd_kafka_t *rk, int timeout_ms)
{
	rd_kafka_error_t *error = check(rk, CLIENT_TXN_BEGUN, CLIENT_TXN_ENDING);
	int64_t until_ms = until(rk, timeout_ms);

	chance_call("commit_transaction", client_value(rk->conf, "transactional.id"));
	if (error != NULL)
		return error;
	if (client_flush(rk, until_ms) != RD_KAFKA_RESP_ERR_NO_ERROR)
		return retriable(RD_KAFKA_RESP_ERR__TIMED_OUT,
		    "Failed to flush all outstanding messages: Local: Timed out");
	if (rk->fatal != RD_KAFKA_RESP_ERR_NO_ERROR)
		return fatal(rk);
	if (rk->abortable != RD_KAFKA_RESP_ERR_NO_ERROR)
		return needs_abort(rk->abortable);
	return end(rk, true, until_ms);
}

rd_kafka_error_t *
rd_kafka_abort_transaction(rd_kafka_t *rk, int timeout_ms)
{
	rd_kafka_error_t *error = check(rk, CLIENT_TXN_BEGUN, CLIENT_TXN_ENDING);
	int64_t until_ms = until(rk, timeout_ms);
	bool doubt = rk->abortable != RD_KAFKA_RESP_ERR_NO_ERROR &&
		     rk->abortable != RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE;

	chance_call("abort_transaction", client_value(rk->conf, "transactional.id"));
	if (error != NULL)
		return error;
	rd_kafka_purge(rk, RD_KAFKA_PURGE_F_QUEUE);
	client_flush(rk, until_ms);
	if (rk->fatal != RD_KAFKA_RESP_ERR_NO_ERROR)
		return fatal(rk);
	error = end(rk, false, until_ms);
	if (error != NULL || !doubt)
		return error;
	rk->state = CLIENT_TXN_NONE; /* what was in doubt is fenced by a new epoch */
	for (struct client_sending *s = rk->sending; s != NULL; s = s->next)
		s->sequence = 0;
	return rd_kafka_init_transactions(rk, timeout_ms);
}
