/* Producing: queues, batches on their way, delivery reports. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/kafka/client.h"

enum {
	LINGER_ONE_OF = 3,     /* a call sends what is queued once in so many, */
	LINGER_LONG_MS = 1000, /* or where linger.ms is longer than this, not before that */
	LATE_MS = 3000,
	OUTAGE_MS = 60000,
	AGAIN_MS = 20,          /* before a batch that could not be sent is tried again */
	BROKER_BYTES = 1048588, /* max.message.bytes of a topic that has none */
};

/* ---- reports ---- */

static void
report(rd_kafka_t *rk, struct client_message *m, rd_kafka_resp_err_t err, int64_t offset)
{
	m->m.err = err;
	m->m.offset = offset;
	client_put(&rk->reports, m);
	rk->waiting--;
	if (err != RD_KAFKA_RESP_ERR_NO_ERROR && rk->txn != NULL &&
	    rk->abortable == RD_KAFKA_RESP_ERR_NO_ERROR)
		rk->abortable = err;
}

static void
report_all(rd_kafka_t *rk, struct client_messages *q, rd_kafka_resp_err_t err)
{
	struct client_message *m;

	while ((m = client_take(q)) != NULL)
		report(rk, m, err, RD_KAFKA_OFFSET_INVALID);
}

int
client_reports(rd_kafka_t *rk)
{
	struct client_message *m;
	int n = 0;

	while ((m = client_take(&rk->reports)) != NULL) {
		if (rk->conf->delivered != NULL)
			rk->conf->delivered(rk, &m->m, rk->conf->opaque);
		rd_kafka_message_destroy(&m->m);
		n++;
	}
	return n;
}

void
client_fatal(rd_kafka_t *rk, rd_kafka_resp_err_t err, const char *text)
{
	if (rk->fatal != RD_KAFKA_RESP_ERR_NO_ERROR)
		return;
	rk->fatal = err;
	snprintf(rk->text, sizeof(rk->text), "%s", text);
	chance_trace("  fatal: %s: %s", rd_kafka_err2name(err), text);
	for (struct client_sending *s = rk->sending; s != NULL; s = s->next)
		report_all(rk, &s->queued, RD_KAFKA_RESP_ERR__PURGE_QUEUE);
	if (rk->conf->error != NULL)
		rk->conf->error(rk, RD_KAFKA_RESP_ERR__FATAL, text, rk->conf->opaque);
}

/* ---- sending ---- */

static struct client_sending *
sending(rd_kafka_t *rk, struct rd_kafka_topic_s *topic, int32_t partition)
{
	struct client_sending **at = &rk->sending;

	while (*at != NULL && ((*at)->topic != topic || (*at)->partition != partition))
		at = &(*at)->next;
	if (*at != NULL)
		return *at;
	*at = calloc(1, sizeof(**at));
	if (*at == NULL)
		abort();
	(*at)->topic = topic;
	(*at)->partition = partition;
	return *at;
}

static void
copy_record(struct cluster_record *to, const struct client_message *m)
{
	to->n = m->m.len;
	to->null_value = m->m.payload == NULL;
	to->bytes = cluster_allocate(to->n + 1);
	if (to->n > 0)
		memcpy(to->bytes, m->m.payload, to->n);
	to->key_n = m->m.key_len;
	to->key = m->m.key == NULL ? NULL : cluster_allocate(to->key_n + 1);
	if (m->m.key != NULL)
		memcpy(to->key, m->m.key, to->key_n);
	to->timestamp_ms = m->timestamp_ms;
	if (m->headers == NULL)
		return;
	to->headers_n = m->headers->n;
	to->header = cluster_allocate((to->headers_n + 1) * sizeof(*to->header));
	for (size_t i = 0; i < to->headers_n; i++) {
		const struct cluster_header *h = &m->headers->header[i];

		to->header[i].name = cluster_copy_text(h->name);
		to->header[i].value_n = h->value_n;
		if (h->value == NULL)
			continue;
		to->header[i].value = cluster_allocate(h->value_n + 1);
		memcpy(to->header[i].value, h->value, h->value_n);
	}
}

/* When the batch arrives, when its answer does, and whether the client hears it. */
static void
decide(rd_kafka_t *rk, struct client_sending *s, bool *sent, int64_t *due_ms)
{
	const char *topic = s->topic->name;

	*sent = true;
	*due_ms = cluster->now_ms + (int64_t)chance_below(2);
	s->lost = s->unknown = false;
	if (chance_fault(CHANCE_PRODUCE_LATE, topic))
		*due_ms += (int64_t)chance_below(LATE_MS);
	s->answer_ms = *due_ms + (int64_t)chance_below(2);
	if (chance_fault(CHANCE_PRODUCE_UNKNOWN, topic)) {
		s->answer_ms += (int64_t)chance_below(LATE_MS);
		s->unknown = true;
	} else if (chance_fault(CHANCE_PRODUCE_LOST, topic)) {
		int64_t most_ms = client_number(rk, "message.timeout.ms");

		if (most_ms == 0) { /* never given up: an outage */
			*due_ms += (int64_t)chance_below(OUTAGE_MS);
			s->answer_ms = *due_ms + 1;
			return;
		}
		s->lost = true;
		s->answer_ms = cluster->now_ms + most_ms;
		*sent = chance_below(3) > 0;
		if (chance_below(2) == 0)
			*due_ms = s->answer_ms + (int64_t)chance_below(LATE_MS);
	}
}

static bool
too_large(const struct client_sending *s, const struct cluster_partition *p)
{
	size_t most = BROKER_BYTES;

	for (size_t i = 0; i < p->topic->settings_n; i++)
		if (strcmp(p->topic->setting[i].name, "max.message.bytes") == 0)
			most = strtoull(p->topic->setting[i].value, NULL, 10);
	return s->queued.first->m.len > most;
}

static void
send_batch(rd_kafka_t *rk, struct client_sending *s, struct cluster_partition *p, size_t n)
{
	struct cluster_request *r = cluster_allocate(sizeof(*r));
	int64_t due_ms;
	bool sent;

	*r = (struct cluster_request){.kind = CLUSTER_PRODUCE,
	    .producer = rk->producer,
	    .epoch = rk->epoch,
	    .partition = p,
	    .txn = rk->txn,
	    .sequence = s->sequence,
	    .records_n = n,
	    .offset = -1};
	r->record = cluster_allocate(n * sizeof(*r->record));
	for (size_t i = 0; i < n; i++) {
		struct client_message *m = client_take(&s->queued);

		copy_record(&r->record[i], m);
		client_put(&s->sent, m);
	}
	s->sequence += (int32_t)n;
	decide(rk, s, &sent, &due_ms);
	s->request = r;
	if (sent)
		cluster_send(r, due_ms);
}

/* librdkafka takes a new producer id where it cannot know what became of a message. */
static void
forget_producer(rd_kafka_t *rk)
{
	if (rk->txn != NULL)
		return;
	rk->producer = cluster->producer_next++;
	for (struct client_sending *s = rk->sending; s != NULL; s = s->next)
		s->sequence = 0;
}

/*
 * The broker refuses what is too large. Its sequence number is used up all the same: a plain
 * producer takes a new id, and in a transactional one the gap shows with the next record.
 */
static void
refuse(rd_kafka_t *rk, struct client_sending *s)
{
	s->sequence++;
	forget_producer(rk);
	report(rk, client_take(&s->queued), RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE,
	    RD_KAFKA_OFFSET_INVALID);
}

/* What stands between a batch and its partition. True: it cannot be sent now. */
static bool
is_kept(rd_kafka_t *rk, struct client_sending *s, struct cluster_partition *p)
{
	rd_kafka_resp_err_t err = RD_KAFKA_RESP_ERR_NO_ERROR;

	if (cluster->now_ms < p->leaderless_until_ms)
		return true;
	if (rk->txn != NULL && !s->added)
		err = cluster_txn_add(rk->txn, rk->producer, rk->epoch, p);
	if (err == RD_KAFKA_RESP_ERR_CONCURRENT_TRANSACTIONS)
		return true;
	if (err == RD_KAFKA_RESP_ERR_INVALID_PRODUCER_ID_MAPPING) {
		rk->abortable = err;
		report_all(rk, &s->queued, RD_KAFKA_RESP_ERR__PURGE_QUEUE);
		return true;
	}
	if (err != RD_KAFKA_RESP_ERR_NO_ERROR) {
		client_fatal(rk, RD_KAFKA_RESP_ERR__FENCED,
		    "Failed to add partition to "
		    "transaction: fenced");
		return true;
	}
	if (rk->txn != NULL)
		rk->txn_used = s->added = true;
	if (too_large(s, p)) {
		refuse(rk, s);
		return true;
	}
	return false;
}

static void
send_some(rd_kafka_t *rk, struct client_sending *s, bool now)
{
	struct cluster_partition *p = cluster_partition(s->topic->name, s->partition);
	size_t n = s->queued.n;

	if (p == NULL && client_topic_is_missing(s->topic))
		report_all(rk, &s->queued,
		    s->topic->known ? RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION
				    : RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
	else if (p == NULL && cluster->now_ms >= s->queued.first->timestamp_ms +
						     client_number(rk, "message.timeout.ms"))
		report_all(rk, &s->queued, RD_KAFKA_RESP_ERR__MSG_TIMED_OUT);
	if (p == NULL)
		return;
	if (rk->txn == NULL && rk->idempotent && s->sequence > 0 &&
	    chance_fault(CHANCE_PRODUCER_FATAL, s->topic->name)) {
		client_fatal(rk, RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER,
		    "sequence desynchronization");
		return;
	}
	s->topic->known = true;
	chance_call("send", s->topic->name);
	if (is_kept(rk, s, p))
		return;
	send_batch(rk, s, p, now ? n : 1 + (size_t)chance_below(n));
}

/* ---- hearing ---- */

/* A record that is refused would leave a gap. */
static void
keep_gapless(rd_kafka_t *rk, rd_kafka_resp_err_t err)
{
	if (strcmp(client_value(rk->conf, "enable.gapless.guarantee"), "true") == 0)
		client_fatal(rk, RD_KAFKA_RESP_ERR__GAPLESS_GUARANTEE, rd_kafka_err2str(err));
}

static void
hear_error(rd_kafka_t *rk, struct client_sending *s, rd_kafka_resp_err_t err)
{
	if (err == RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH)
		client_fatal(rk, RD_KAFKA_RESP_ERR__FENCED,
		    "Producer attempted an operation with an old epoch");
	else if (err == RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER && rk->txn == NULL)
		client_fatal(rk, err, "sequence number rewound");
	else if (err == RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER) {
		rk->abortable = err; /* the record itself waits, and is purged */
		err = RD_KAFKA_RESP_ERR__PURGE_QUEUE;
	}
	report_all(rk, &s->sent, err);
	keep_gapless(rk, err);
}

static void
hear(rd_kafka_t *rk, struct client_sending *s)
{
	struct cluster_request *r = s->request;
	struct client_message *m;
	int64_t offset = s->unknown ? -1 : r->offset;

	if (cluster->now_ms < s->answer_ms || (!s->lost && !r->done))
		return;
	s->request = NULL;
	if (s->lost || s->unknown)
		client_unheard(rk, CLIENT_API_PRODUCE);
	if (s->lost) {
		report_all(rk, &s->sent, RD_KAFKA_RESP_ERR__MSG_TIMED_OUT);
		forget_producer(rk);
		return;
	}
	if (r->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
		hear_error(rk, s, r->err);
		return;
	}
	while ((m = client_take(&s->sent)) != NULL)
		report(rk, m, RD_KAFKA_RESP_ERR_NO_ERROR,
		    offset < 0 ? RD_KAFKA_OFFSET_INVALID : offset++);
}

/* Whether what is queued goes out by itself. */
static bool
lingered(const rd_kafka_t *rk, const struct client_sending *s)
{
	if (rk->linger_ms > LINGER_LONG_MS)
		return cluster->now_ms >= s->queued.first->timestamp_ms + rk->linger_ms;
	return chance_below(LINGER_ONE_OF) == 0;
}

void
client_serve(rd_kafka_t *rk, bool now)
{
	for (struct client_sending *s = rk->sending; s != NULL; s = s->next) {
		if (s->request != NULL)
			hear(rk, s);
		if (s->request == NULL && s->queued.n > 0 && rk->fatal == 0 &&
		    (now || lingered(rk, s)))
			send_some(rk, s, now);
	}
}

int64_t
client_next_ms(const rd_kafka_t *rk)
{
	int64_t next = INT64_MAX;

	for (const struct client_sending *s = rk->sending; s != NULL; s = s->next) {
		int64_t ms = INT64_MAX;

		if (s->request != NULL)
			ms = s->answer_ms;
		else if (s->queued.n > 0)
			ms = cluster->now_ms + AGAIN_MS;
		next = ms < next ? ms : next;
	}
	return next <= cluster->now_ms ? cluster->now_ms + 1 : next;
}

rd_kafka_resp_err_t
client_flush(rd_kafka_t *rk, int64_t until_ms)
{
	for (;;) {
		int64_t next;

		client_serve(rk, true);
		client_reports(rk);
		if (rk->waiting == 0)
			return RD_KAFKA_RESP_ERR_NO_ERROR;
		if (cluster->now_ms >= until_ms)
			return RD_KAFKA_RESP_ERR__TIMED_OUT;
		next = client_next_ms(rk);
		chance_wait((next < until_ms ? next : until_ms) - cluster->now_ms);
		chance_call("flush waits", "");
	}
}

void
client_drop(rd_kafka_t *rk)
{
	struct client_message *m;

	while (rk->sending != NULL) {
		struct client_sending *s = rk->sending;

		while ((m = client_take(&s->queued)) != NULL || (m = client_take(&s->sent)) != NULL)
			rd_kafka_message_destroy(&m->m);
		rk->sending = s->next;
		free(s);
	}
	while ((m = client_take(&rk->reports)) != NULL)
		rd_kafka_message_destroy(&m->m);
}

/* ---- the interface ---- */

static rd_kafka_resp_err_t
check_put(rd_kafka_t *rk, const struct rd_kafka_topic_s *topic, int32_t partition, size_t n)
{
	if (rk->fatal != RD_KAFKA_RESP_ERR_NO_ERROR)
		return RD_KAFKA_RESP_ERR__FATAL;
	if (rk->txn != NULL && (rk->state != CLIENT_TXN_BEGUN || rk->abortable != 0))
		return RD_KAFKA_RESP_ERR__STATE;
	if (n > (size_t)client_number(rk, "message.max.bytes"))
		return RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE;
	if (cluster_topic(topic->name) != NULL && cluster_partition(topic->name, partition) == NULL)
		return RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION;
	if (rk->waiting >= (size_t)client_number(rk, "queue.buffering.max.messages") ||
	    (rk->waiting > 0 && chance_fault(CHANCE_QUEUE_FULL, topic->name)))
		return RD_KAFKA_RESP_ERR__QUEUE_FULL;
	return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static void
put(rd_kafka_t *rk, struct client_message *m, int flags, void *payload, size_t n)
{
	m->m.payload = payload;
	m->m.len = n;
	m->timestamp_ms = cluster->now_ms;
	m->copied = (flags & (RD_KAFKA_MSG_F_FREE | RD_KAFKA_MSG_F_COPY)) != 0;
	if ((flags & RD_KAFKA_MSG_F_COPY) && payload != NULL) {
		m->m.payload = malloc(n + 1);
		if (m->m.payload == NULL)
			abort();
		memcpy(m->m.payload, payload, n);
	}
	client_put(&sending(rk, m->m.rkt, m->m.partition)->queued, m);
	rk->waiting++;
	client_serve(rk, false);
}

int
rd_kafka_produce(rd_kafka_topic_t *rkt, int32_t partition, int msgflags, void *payload, size_t len,
    const void *key, size_t keylen, void *msg_opaque)
{
	rd_kafka_resp_err_t err;
	struct client_message *m;

	chance_call("produce", rkt->name);
	err = check_put(rkt->rk, rkt, partition, len);
	client_set_last_error(err);
	if (err != RD_KAFKA_RESP_ERR_NO_ERROR) {
		errno = EINVAL;
		return -1;
	}
	m = client_message_new(rkt, partition, RD_KAFKA_RESP_ERR_NO_ERROR);
	m->m._private = msg_opaque;
	if (key != NULL) {
		m->m.key = malloc(keylen + 1);
		if (m->m.key == NULL)
			abort();
		memcpy(m->m.key, key, keylen);
		m->m.key_len = keylen;
	}
	put(rkt->rk, m, msgflags, payload, len);
	return 0;
}

rd_kafka_resp_err_t
rd_kafka_producev(rd_kafka_t *rk, ...)
{
	struct client_message *m = client_message_new(NULL, 0, RD_KAFKA_RESP_ERR_NO_ERROR);
	rd_kafka_resp_err_t err = RD_KAFKA_RESP_ERR_NO_ERROR;
	void *payload = NULL;
	size_t n = 0;
	int flags = 0;
	va_list ap;

	va_start(ap, rk);
	for (int tag; (tag = va_arg(ap, int)) != RD_KAFKA_VTYPE_END;)
		switch (tag) {
		case RD_KAFKA_VTYPE_RKT: m->m.rkt = va_arg(ap, rd_kafka_topic_t *); break;
		case RD_KAFKA_VTYPE_TOPIC:
			m->m.rkt = client_topic(rk, va_arg(ap, const char *));
			break;
		case RD_KAFKA_VTYPE_PARTITION: m->m.partition = va_arg(ap, int32_t); break;
		case RD_KAFKA_VTYPE_MSGFLAGS: flags = va_arg(ap, int); break;
		case RD_KAFKA_VTYPE_OPAQUE: m->m._private = va_arg(ap, void *); break;
		case RD_KAFKA_VTYPE_VALUE:
			payload = va_arg(ap, void *);
			n = va_arg(ap, size_t);
			break;
		case RD_KAFKA_VTYPE_HEADERS: m->headers = va_arg(ap, rd_kafka_headers_t *); break;
		default:
			fprintf(stderr, "sim: rd_kafka_producev() with argument %d is not there\n",
			    tag);
			abort();
		}
	va_end(ap);
	chance_call("producev", m->m.rkt->name);
	err = check_put(rk, m->m.rkt, m->m.partition, n);
	if (err != RD_KAFKA_RESP_ERR_NO_ERROR) {
		m->headers = NULL; /* the caller's, still */
		rd_kafka_message_destroy(&m->m);
		return err;
	}
	put(rk, m, flags, payload, n);
	return RD_KAFKA_RESP_ERR_NO_ERROR;
}

int
rd_kafka_poll(rd_kafka_t *rk, int timeout_ms)
{
	int64_t until_ms = cluster->now_ms + timeout_ms;
	int n;

	chance_call("poll", client_value(rk->conf, "client.id"));
	client_serve(rk, false);
	n = client_reports(rk);
	while (n == 0 && timeout_ms > 0 && cluster->now_ms < until_ms) {
		int64_t next = client_next_ms(rk);

		chance_wait((next < until_ms ? next : until_ms) - cluster->now_ms);
		client_serve(rk, true);
		n = client_reports(rk);
	}
	return n;
}

rd_kafka_resp_err_t
rd_kafka_flush(rd_kafka_t *rk, int timeout_ms)
{
	chance_call("flush", client_value(rk->conf, "client.id"));
	return client_flush(rk, cluster->now_ms + timeout_ms);
}

rd_kafka_resp_err_t
rd_kafka_purge(rd_kafka_t *rk, int purge_flags)
{
	for (struct client_sending *s = rk->sending; s != NULL; s = s->next) {
		if (purge_flags & RD_KAFKA_PURGE_F_QUEUE)
			report_all(rk, &s->queued, RD_KAFKA_RESP_ERR__PURGE_QUEUE);
		if (purge_flags & RD_KAFKA_PURGE_F_INFLIGHT) {
			report_all(rk, &s->sent, RD_KAFKA_RESP_ERR__PURGE_INFLIGHT);
			s->request = NULL; /* it goes its own way */
		}
	}
	return RD_KAFKA_RESP_ERR_NO_ERROR;
}

int
rd_kafka_outq_len(rd_kafka_t *rk)
{
	return (int)(rk->waiting + rk->reports.n);
}
