#include "common/kafka/kafka.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/kafka/kafka_handle.h"
#include "common/base/log.h"

static void
on_log(const rd_kafka_t *rk, int level, const char *facility, const char *text)
{
	struct kafka_handle *h = rk == NULL ? NULL : rd_kafka_opaque(rk);

	if (h != NULL) /* NULL: while a configuration is read; its errors come back as text */
		kafka_log_put(&h->log, h->client, level, facility, text, clock_ms());
}

/*
 * What a broker connection suffers was logged already (facility FAIL); all else is logged here.
 * Fatal errors come back from the call that meets them; the line says when it began.
 */
static void
on_error(rd_kafka_t *rk, int err, const char *reason, void *opaque)
{
	struct kafka_handle *h = opaque;
	char text[512];

	if (err == RD_KAFKA_RESP_ERR__TRANSPORT || err == RD_KAFKA_RESP_ERR__RESOLVE ||
	    err == RD_KAFKA_RESP_ERR__SSL || err == RD_KAFKA_RESP_ERR__AUTHENTICATION ||
	    err == RD_KAFKA_RESP_ERR__TIMED_OUT || err == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN)
		return;
	if (err == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED && !h->commits)
		return; /* see kafka_message_denied() */
	if (err == RD_KAFKA_RESP_ERR__FATAL) {
		rd_kafka_fatal_error(rk, text, sizeof(text));
		reason = text;
	}
	kafka_log_put(
	    &h->log, h->client, 4, rd_kafka_err2name((rd_kafka_resp_err_t)err), reason, clock_ms());
}

/* OpenSSL's numbers (x509_vfy.h), which do not change. */
static const struct {
	int error;
	const char *text;
} certificate_errors[] = {
    {2, "its issuer is not known (ssl.ca.location)"},
    {9, "it is not valid yet: is the clock right?"},
    {10, "it has expired"},
    {18, "it is self-signed, and not known (ssl.ca.location)"},
    {19, "the authority that signed it is not known (ssl.ca.location)"},
    {20, "the authority that signed it is not known (ssl.ca.location)"},
    {21, "the authority that signed it is not known (ssl.ca.location)"},
    {23, "it is revoked"},
    {62, "it is for another host name than that of bootstrap.servers"},
    {64, "it is for another address than that of bootstrap.servers"},
};

/* Changes nothing about what OpenSSL found. Called on a thread of librdkafka's. */
static int
on_certificate(rd_kafka_t *rk, const char *broker, int32_t id, int *error, int depth,
    const char *bytes, size_t n, char *text, size_t room, void *opaque)
{
	struct kafka_handle *h = opaque;
	const char *what = "it does not verify";

	(void)rk, (void)broker, (void)id, (void)depth, (void)bytes, (void)n;
	if (*error == 0)
		return 1;
	for (size_t i = 0; i < sizeof(certificate_errors) / sizeof(certificate_errors[0]); i++)
		if (certificate_errors[i].error == *error)
			what = certificate_errors[i].text;
	kafka_log_certificate(&h->log, what);
	snprintf(text, room, "%s", what);
	return 0;
}

static void
on_delivery(rd_kafka_t *rk, const rd_kafka_message_t *message, void *opaque)
{
	struct kafka_handle *h = opaque;

	if (h->delivered != NULL)
		h->delivered(rk, message, h->opaque);
}

static enum fail_code
configure(
    rd_kafka_conf_t *conf, const struct kafka_options *o, struct kafka_handle *h, struct failure *f)
{
	enum fail_code code;

	rd_kafka_conf_set_opaque(conf, h);
	rd_kafka_conf_set_log_cb(conf, on_log);
	rd_kafka_conf_set_error_cb(conf, on_error);
	rd_kafka_conf_set_ssl_cert_verify_cb(conf, on_certificate);
	if (kafka_writes(o->role)) /* without one, flush and commit wait in 10 ms slices */
		rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
	if (o->role == KAFKA_TRANSACTIONAL &&
	    kafka_requests_watch(conf, h) != RD_KAFKA_RESP_ERR_NO_ERROR)
		return fail_memory(f);
	code = kafka_settings(conf, o, h->client, f);
	kafka_setting(conf, "bootstrap.servers", h->bootstrap, sizeof(h->bootstrap));
	kafka_setting(conf, "group.id", h->group, sizeof(h->group));
	kafka_setting(conf, "transactional.id", h->transactional_id, sizeof(h->transactional_id));
	kafka_setting(conf, "sasl.username", h->user, sizeof(h->user));
	return code;
}

void
kafka_handle_free(struct kafka_handle *h)
{
	if (h == NULL)
		return;
	kafka_log_end(&h->log);
	free(h);
}

static struct kafka_handle *
handle_new(const struct kafka_options *o)
{
	struct kafka_handle *h = calloc(1, sizeof(*h));

	if (h == NULL)
		return NULL;
	kafka_log_init(&h->log);
	h->role = o->role;
	h->group_chosen = o->group != NULL;
	h->commits = o->group != NULL && !o->asks_only;
	/* What is asked of them, or the wait that follows, tells the cause: see kafka.h. */
	kafka_log_set_quiet(&h->log, o->role == KAFKA_ADMIN || o->quiet);
	h->delivered = o->delivered;
	h->opaque = o->opaque;
	snprintf(h->client, sizeof(h->client), "riffle-%s", o->client);
	return h;
}

enum fail_code
kafka_open(rd_kafka_t **out, const struct kafka_options *o, struct failure *f)
{
	rd_kafka_type_t type = o->role == KAFKA_READER || o->role == KAFKA_MEMBER
				   ? RD_KAFKA_CONSUMER
				   : RD_KAFKA_PRODUCER;
	rd_kafka_conf_t *conf = NULL;
	struct kafka_handle *h;
	enum fail_code code;
	char why[512] = "";
	rd_kafka_t *rk;

	assert(o->client != NULL);
	assert((o->role == KAFKA_TRANSACTIONAL) == (o->transactional_id != NULL));
	assert(o->role != KAFKA_MEMBER || o->group != NULL);
	assert(!o->asks_only || (o->role == KAFKA_READER && o->group != NULL));
	h = handle_new(o);
	conf = rd_kafka_conf_new();
	if (h == NULL || conf == NULL) {
		code = fail_memory(f);
		goto failed;
	}
	code = configure(conf, o, h, f);
	if (code != FAIL_NONE)
		goto failed;
	errno = 0;
	rk = rd_kafka_new(type, conf, why, sizeof(why));
	if (rk == NULL) { /* a contradiction in the properties, or no thread or memory left */
		code = rd_kafka_last_error() == RD_KAFKA_RESP_ERR__CRIT_SYS_RESOURCE ? FAIL_IO
										     : FAIL_CONFIG;
		fail(f, code, "kafka properties: %s", why);
		goto failed;
	}
	conf = NULL; /* rk owns it from here on */
	if (type == RD_KAFKA_CONSUMER)
		rd_kafka_poll_set_consumer(rk);
	*out = rk;
	return FAIL_NONE;
failed:
	if (conf != NULL)
		rd_kafka_conf_destroy(conf);
	kafka_handle_free(h);
	return code;
}
