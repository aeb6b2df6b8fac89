/* Handles, their properties, topics, messages and errors. */
#include "tests/sim/kafka/client.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local rd_kafka_resp_err_t last_error;

/* Presets that riffle asks for, or that decide something here; others are empty. */
static const struct client_property defaults[] = {
    {"message.max.bytes", "1000000"},
    {"batch.size", "1000000"},
    {"transaction.timeout.ms", "60000"},
    {"message.timeout.ms", "300000"},
    {"isolation.level", "read_committed"},
    {"enable.partition.eof", "false"},
    {"enable.idempotence", "false"},
    {"queue.buffering.max.messages", "100000"},
    {"linger.ms", "5"},
    {"topic.metadata.propagation.max.ms", "30000"},
    {"builtin.features", "sim"},
};

/* ---- properties ---- */

rd_kafka_conf_t *
rd_kafka_conf_new(void)
{
	return calloc(1, sizeof(struct rd_kafka_conf_s));
}

void
rd_kafka_conf_destroy(rd_kafka_conf_t *conf)
{
	free(conf);
}

static struct client_property *
find(const struct rd_kafka_conf_s *c, const char *name)
{
	for (size_t i = 0; i < c->n; i++)
		if (strcmp(c->property[i].name, name) == 0)
			return (struct client_property *)(uintptr_t)&c->property[i];
	return NULL;
}

const char *
client_value(const struct rd_kafka_conf_s *c, const char *name)
{
	const struct client_property *p = find(c, name);

	if (p != NULL)
		return p->value;
	for (size_t i = 0; i < sizeof(defaults) / sizeof(defaults[0]); i++)
		if (strcmp(defaults[i].name, name) == 0)
			return defaults[i].value;
	return "";
}

int64_t
client_number(const rd_kafka_t *rk, const char *name)
{
	return strtoll(client_value(rk->conf, name), NULL, 10);
}

rd_kafka_conf_res_t
rd_kafka_conf_set(
    rd_kafka_conf_t *conf, const char *name, const char *value, char *errstr, size_t errstr_size)
{
	struct client_property *p = find(conf, name);

	/* The last one came with 2.2, and the simulation is the floor: 2.0.2. */
	if ((strchr(name, '.') == NULL && strcmp(name, "acks") != 0 &&
		strcmp(name, "debug") != 0) ||
	    strcmp(name, "fetch.queue.backoff.ms") == 0) {
		snprintf(errstr, errstr_size, "No such configuration property: \"%s\"", name);
		return RD_KAFKA_CONF_UNKNOWN;
	}
	if (p == NULL && conf->n == CLIENT_PROPERTIES_MAX) {
		snprintf(errstr, errstr_size, "too many properties");
		return RD_KAFKA_CONF_INVALID;
	}
	p = p == NULL ? &conf->property[conf->n++] : p;
	snprintf(p->name, sizeof(p->name), "%s", name);
	snprintf(p->value, sizeof(p->value), "%s", value == NULL ? "" : value);
	return RD_KAFKA_CONF_OK;
}

rd_kafka_conf_res_t
rd_kafka_conf_get(const rd_kafka_conf_t *conf, const char *name, char *dest, size_t *dest_size)
{
	const char *value = client_value(conf, name);

	if (dest != NULL)
		snprintf(dest, *dest_size, "%s", value);
	*dest_size = strlen(value) + 1;
	return RD_KAFKA_CONF_OK;
}

void
rd_kafka_conf_set_opaque(rd_kafka_conf_t *conf, void *opaque)
{
	conf->opaque = opaque;
}

void
rd_kafka_conf_set_log_cb(rd_kafka_conf_t *conf,
    void (*log_cb)(const rd_kafka_t *rk, int level, const char *fac, const char *buf))
{
	conf->log = log_cb;
}

void
rd_kafka_conf_set_error_cb(rd_kafka_conf_t *conf,
    void (*error_cb)(rd_kafka_t *rk, int err, const char *reason, void *opaque))
{
	conf->error = error_cb;
}

void
rd_kafka_conf_set_dr_msg_cb(rd_kafka_conf_t *conf,
    void (*dr_msg_cb)(rd_kafka_t *rk, const rd_kafka_message_t *rkmessage, void *opaque))
{
	conf->delivered = dr_msg_cb;
}

/* Nothing of the simulation has statistics. */
void
rd_kafka_conf_set_stats_cb(rd_kafka_conf_t *conf,
    int (*stats_cb)(rd_kafka_t *rk, char *json, size_t json_len, void *opaque))
{
	(void)conf, (void)stats_cb;
}

/* No connection is made, so that none is secured. */
rd_kafka_conf_res_t
rd_kafka_conf_set_ssl_cert_verify_cb(
    rd_kafka_conf_t *conf, int (*ssl_cert_verify_cb)(rd_kafka_t *rk, const char *broker_name,
			       int32_t broker_id, int *x509_error, int depth, const char *buf,
			       size_t size, char *errstr, size_t errstr_size, void *opaque))
{
	(void)conf;
	(void)ssl_cert_verify_cb;
	return RD_KAFKA_CONF_OK;
}

/* ---- handles ---- */

rd_kafka_t *
rd_kafka_new(rd_kafka_type_t type, rd_kafka_conf_t *conf, char *errstr, size_t errstr_size)
{
	rd_kafka_t *rk = calloc(1, sizeof(*rk));
	const char *id;

	cluster_open(0);
	if (rk == NULL) {
		snprintf(errstr, errstr_size, "out of memory");
		return NULL;
	}
	rk->type = type;
	rk->conf = conf != NULL ? conf : rd_kafka_conf_new();
	snprintf(rk->group, sizeof(rk->group), "%s", client_value(rk->conf, "group.id"));
	id = client_value(rk->conf, "isolation.level");
	rk->committed_only = strcmp(id, "read_uncommitted") != 0;
	rk->tells_end = strcmp(client_value(rk->conf, "enable.partition.eof"), "true") == 0;
	rk->idempotent = strcmp(client_value(rk->conf, "enable.idempotence"), "true") == 0;
	rk->linger_ms = client_number(rk, "linger.ms");
	id = client_value(rk->conf, "transactional.id");
	rk->producer = cluster->producer_next++;
	if (type == RD_KAFKA_PRODUCER && id[0] != '\0')
		rk->txn = cluster_txn(id);
	if (rk->conf->on_new != NULL)
		rk->conf->on_new(rk, rk->conf, rk->conf->on_new_opaque, errstr, errstr_size);
	return rk;
}

void
rd_kafka_destroy_flags(rd_kafka_t *rk, int flags)
{
	if (!(flags & RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE))
		client_leave(rk);
	client_drop(rk);
	client_partitions_free(rk);
	while (rk->topics != NULL) {
		struct rd_kafka_topic_s *next = rk->topics->next;

		free(rk->topics);
		rk->topics = next;
	}
	rd_kafka_conf_destroy(rk->conf);
	free(rk);
}

void
rd_kafka_destroy(rd_kafka_t *rk)
{
	rd_kafka_destroy_flags(rk, 0);
}

void *
rd_kafka_opaque(const rd_kafka_t *rk)
{
	return rk->conf->opaque;
}

rd_kafka_type_t
rd_kafka_type(const rd_kafka_t *rk)
{
	return rk->type;
}

/* A simulated handle loses no broker for good: riffle asks for this only where one may. */
int
rd_kafka_brokers_add(rd_kafka_t *rk, const char *brokerlist)
{
	(void)rk, (void)brokerlist;
	return 0;
}

int
rd_kafka_version(void)
{
	return 0x020002ff;
}

const char *
rd_kafka_version_str(void)
{
	return "simulated";
}

rd_kafka_resp_err_t
rd_kafka_poll_set_consumer(rd_kafka_t *rk)
{
	return rk->type == RD_KAFKA_CONSUMER ? RD_KAFKA_RESP_ERR_NO_ERROR
					     : RD_KAFKA_RESP_ERR__NOT_IMPLEMENTED;
}

/* ---- topics ---- */

/* One a name and handle, as in librdkafka; it lasts as long as the handle. */
struct rd_kafka_topic_s *
client_topic(rd_kafka_t *rk, const char *name)
{
	struct rd_kafka_topic_s *t = rk->topics;

	while (t != NULL && strcmp(t->name, name) != 0)
		t = t->next;
	if (t != NULL)
		return t;
	t = calloc(1, sizeof(*t));
	if (t == NULL)
		abort();
	t->rk = rk;
	t->made_ms = cluster->now_ms;
	snprintf(t->name, sizeof(t->name), "%s", name);
	t->next = rk->topics;
	rk->topics = t;
	return t;
}

bool
client_topic_is_missing(struct rd_kafka_topic_s *t)
{
	if (cluster_topic(t->name) != NULL) {
		t->known = true;
		return false;
	}
	return t->known || cluster->now_ms >= t->made_ms + client_number(t->rk,
							       "topic.metadata.propagation.max.ms");
}

rd_kafka_topic_t *
rd_kafka_topic_new(rd_kafka_t *rk, const char *topic, rd_kafka_topic_conf_t *conf)
{
	(void)conf;
	return client_topic(rk, topic);
}

void
rd_kafka_topic_destroy(rd_kafka_topic_t *rkt)
{
	(void)rkt;
}

const char *
rd_kafka_topic_name(const rd_kafka_topic_t *rkt)
{
	return rkt->name;
}

/* ---- messages ---- */

void
client_put(struct client_messages *q, struct client_message *m)
{
	m->next = NULL;
	if (q->end == NULL || q->first == NULL)
		q->end = &q->first;
	*q->end = m;
	q->end = &m->next;
	q->n++;
}

struct client_message *
client_take(struct client_messages *q)
{
	struct client_message *m = q->first;

	if (m == NULL)
		return NULL;
	q->first = m->next;
	q->n--;
	return m;
}

struct client_message *
client_message_new(struct rd_kafka_topic_s *topic, int32_t partition, rd_kafka_resp_err_t err)
{
	struct client_message *m = calloc(1, sizeof(*m));

	if (m == NULL)
		abort();
	m->m.rkt = topic;
	m->m.partition = partition;
	m->m.err = err;
	m->m.offset = RD_KAFKA_OFFSET_INVALID;
	if (err != RD_KAFKA_RESP_ERR_NO_ERROR) {
		const char *text = rd_kafka_err2str(err);

		m->m.len = strlen(text);
		m->m.payload = strdup(text);
		m->copied = true;
	}
	return m;
}

void
rd_kafka_message_destroy(rd_kafka_message_t *rkmessage)
{
	struct client_message *m = (struct client_message *)rkmessage;

	if (m->copied)
		free(m->m.payload);
	free(m->m.key);
	if (m->headers != NULL)
		rd_kafka_headers_destroy(m->headers);
	free(m);
}

const char *
rd_kafka_message_errstr(const rd_kafka_message_t *rkmessage)
{
	if (rkmessage->err == RD_KAFKA_RESP_ERR_NO_ERROR)
		return NULL;
	return rd_kafka_err2str(rkmessage->err);
}

int64_t
rd_kafka_message_timestamp(const rd_kafka_message_t *rkmessage, rd_kafka_timestamp_type_t *tstype)
{
	if (tstype != NULL)
		*tstype = RD_KAFKA_TIMESTAMP_CREATE_TIME;
	return ((const struct client_message *)rkmessage)->timestamp_ms;
}

/* ---- errors ---- */

rd_kafka_error_t *
client_error(rd_kafka_resp_err_t code, const char *format, ...)
{
	rd_kafka_error_t *e = calloc(1, sizeof(*e));
	va_list ap;

	if (e == NULL)
		abort();
	e->code = code;
	va_start(ap, format);
	vsnprintf(e->text, sizeof(e->text), format, ap);
	va_end(ap);
	chance_trace("  answer: %s: %s", rd_kafka_err2name(code), e->text);
	return e;
}

rd_kafka_resp_err_t
rd_kafka_error_code(const rd_kafka_error_t *error)
{
	return error == NULL ? RD_KAFKA_RESP_ERR_NO_ERROR : error->code;
}

const char *
rd_kafka_error_string(const rd_kafka_error_t *error)
{
	return error == NULL ? "" : error->text;
}

const char *
rd_kafka_error_name(const rd_kafka_error_t *error)
{
	return rd_kafka_err2name(rd_kafka_error_code(error));
}

int
rd_kafka_error_is_fatal(const rd_kafka_error_t *error)
{
	return error != NULL && error->fatal;
}

int
rd_kafka_error_is_retriable(const rd_kafka_error_t *error)
{
	return error != NULL && error->retriable;
}

int
rd_kafka_error_txn_requires_abort(const rd_kafka_error_t *error)
{
	return error != NULL && error->abort;
}

void
rd_kafka_error_destroy(rd_kafka_error_t *error)
{
	free(error);
}

void
client_set_last_error(rd_kafka_resp_err_t err)
{
	last_error = err;
}

rd_kafka_resp_err_t
rd_kafka_last_error(void)
{
	return last_error;
}

rd_kafka_resp_err_t
rd_kafka_fatal_error(rd_kafka_t *rk, char *errstr, size_t errstr_size)
{
	if (rk->fatal != RD_KAFKA_RESP_ERR_NO_ERROR && errstr != NULL)
		snprintf(errstr, errstr_size, "%s", rk->text);
	return rk->fatal;
}

bool
client_unanswered(
    enum chance_fault fault, const char *function, int timeout_ms, rd_kafka_resp_err_t *err)
{
	if (!chance_fault(fault, function))
		return false;
	if (chance_below(2) == 0) {
		chance_wait(timeout_ms);
		*err = RD_KAFKA_RESP_ERR__TIMED_OUT;
	} else {
		*err = RD_KAFKA_RESP_ERR__TRANSPORT;
	}
	return true;
}
