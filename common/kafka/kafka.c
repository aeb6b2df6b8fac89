#include "common/kafka/kafka.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/log.h"
#include "common/config/property_names.h"
#include "common/kafka/brokers.h"
#include "common/kafka/kafka_internal.h"
#include "common/kafka/kafka_stats.h"

static bool
is_writer(enum kafka_role role)
{
	return role == KAFKA_WRITER || role == KAFKA_TRANSACTIONAL;
}

/* ---- properties: riffle's tuning, the user's, and what riffle relies on ---- */

enum {
	RECORD_OVERHEAD = 1024,       /* bytes that framing adds to a record, at most */
	MESSAGE_MAX_PRESET = 1000000, /* message.max.bytes and batch.size of librdkafka */
	MESSAGE_MAX = 1000000000,     /* largest that librdkafka accepts */
	SILENT_MS = 5000,             /* see kafka_waits() */
};

#define ROLE(role) (1u << (role))
#define WRITERS    (ROLE(KAFKA_WRITER) | ROLE(KAFKA_TRANSACTIONAL))
#define CONSUMERS  (ROLE(KAFKA_READER) | ROLE(KAFKA_MEMBER))
#define EVERY      (WRITERS | CONSUMERS | ROLE(KAFKA_ADMIN))

struct role_property {
	unsigned roles;
	const char *name, *value; /* NULL: librdkafka's own default */
};

/*
 * Defaults: set before the user's properties, which win. A broker has one fetch at a time in
 * flight, and an idle partition holds it for fetch.wait.max.ms; Nagle's algorithm waits for more to
 * send; linger fills batches (librdkafka's INTRODUCTION.md: "at least 50 ms" for throughput); an
 * open transaction hides all behind it, so that its timeout is how long a crash stalls the readers.
 * A member hears of a change in its group with its next heartbeat. A reader has no session in its
 * group, but librdkafka keeps a commit for session.timeout.ms while it knows no coordinator, and
 * rd_kafka_destroy() spins until that is over: 45 s by librdkafka's default, if the user may not
 * ask for the coordinator. We send such a commit again.
 */
static const struct role_property defaults[] = {
    {EVERY, "bootstrap.servers", "localhost:9092"},
    {EVERY, "socket.nagle.disable", "true"},
    {EVERY, "socket.keepalive.enable", "true"},
    {EVERY, "reconnect.backoff.max.ms", "2000"},
    {ROLE(KAFKA_READER), "group.id", "riffle"},
    {ROLE(KAFKA_READER), "fetch.wait.max.ms", "10"},
    {ROLE(KAFKA_READER), "fetch.error.backoff.ms", "100"},
    {ROLE(KAFKA_READER), "session.timeout.ms", "500"},
    {ROLE(KAFKA_WRITER), "linger.ms", "50"},
    {ROLE(KAFKA_WRITER), "queue.buffering.max.kbytes", "131072"},
    {ROLE(KAFKA_TRANSACTIONAL), "linger.ms", "5"},
    {ROLE(KAFKA_TRANSACTIONAL), "batch.size", "4194304"},
    {ROLE(KAFKA_TRANSACTIONAL), "transaction.timeout.ms", "15000"},
    {ROLE(KAFKA_MEMBER), "heartbeat.interval.ms", "500"},
};

/* Correctness: set after the user's properties, which lose, with a warning. */
static const struct role_property forced[] = {
    {EVERY, "client.software.name", "riffle"},
    {EVERY, "client.software.version", RIFFLE_VERSION},
    {EVERY, "log.queue", "false"},
    {EVERY, "isolation.level", "read_committed"},
    {EVERY, "allow.auto.create.topics", "false"},
    {CONSUMERS, "enable.auto.commit", "false"},
    {CONSUMERS, "enable.auto.offset.store", "false"},
    {CONSUMERS, "auto.offset.reset", "error"},
    {ROLE(KAFKA_MEMBER), "partition.assignment.strategy", "range"},
    {ROLE(KAFKA_MEMBER), "group.instance.id", NULL},
    {ROLE(KAFKA_READER), "enable.partition.eof", "true"},
    {ROLE(KAFKA_READER), "check.crcs", "true"},
    {WRITERS, "enable.idempotence", "true"},
    {WRITERS, "acks", "all"},
    {WRITERS, "delivery.report.only.error", "false"},
    {ROLE(KAFKA_WRITER) | ROLE(KAFKA_ADMIN), "transactional.id", NULL},
};

/* A value that may be a secret is not shown, nor are librdkafka's words, which may quote it. */
static enum fail_code
fail_hidden(const char *name, rd_kafka_conf_res_t refused, struct failure *f)
{
	const char *instead = property_names_instead(name);
	const char *nearest = property_names_nearest(name);

	if (instead != NULL)
		return fail(f, FAIL_CONFIG,
		    "kafka property %s: is of Kafka's Java clients; riffle uses librdkafka: set %s",
		    name, instead);
	if (refused != RD_KAFKA_CONF_UNKNOWN)
		return fail(f, FAIL_CONFIG,
		    "kafka property %s: librdkafka does not take its value (which is not shown: it "
		    "may be a secret)",
		    name);
	return fail(f, FAIL_CONFIG, "kafka property %s: librdkafka has no such property%s%s%s",
	    name, nearest == NULL ? " (its CONFIGURATION.md lists all)" : "; did you mean ",
	    nearest == NULL ? "" : nearest, nearest == NULL ? "" : "?");
}

static enum fail_code
set(rd_kafka_conf_t *conf, const char *name, const char *value, struct failure *f)
{
	char why[256];
	rd_kafka_conf_res_t refused;

	if (strcmp(name, "bootstrap.servers") == 0 && brokers_check(value, f) != FAIL_NONE)
		return f->code;
	refused = rd_kafka_conf_set(conf, name, value, why, sizeof(why));

	if (refused == RD_KAFKA_CONF_OK)
		return FAIL_NONE;
	if (!property_names_harmless(name))
		return fail_hidden(name, refused, f);
	return fail(f, FAIL_CONFIG, "kafka property %s = %s: %s", name,
	    value == NULL ? "(default)" : value, why);
}

enum fail_code
kafka_check_property(const struct property *p, struct failure *f)
{
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	enum fail_code code;

	if (conf == NULL)
		return fail_memory(f);
	code = set(conf, p->name, p->value, f);
	rd_kafka_conf_destroy(conf);
	return code;
}

static enum fail_code
set_number(rd_kafka_conf_t *conf, const char *name, size_t value, struct failure *f)
{
	char text[32];

	snprintf(text, sizeof(text), "%zu", value);
	return set(conf, name, text, f);
}

/* The value that is in force, cut to out[room]; "": none. */
static void
value_of(const rd_kafka_conf_t *conf, const char *name, char *out, size_t room)
{
	size_t n = room;

	if (rd_kafka_conf_get(conf, name, out, &n) != RD_KAFKA_CONF_OK)
		snprintf(out, room, "%s", "");
}

/* Gives a copy of the same, uncut. */
static enum fail_code
copy_of(const rd_kafka_conf_t *conf, const char *name, char **out, struct failure *f)
{
	size_t n = 0;

	if (rd_kafka_conf_get(conf, name, NULL, &n) != RD_KAFKA_CONF_OK)
		n = 1;
	*out = malloc(n);
	if (*out == NULL)
		return fail_memory(f);
	value_of(conf, name, *out, n);
	return FAIL_NONE;
}

static enum fail_code
set_defaults(
    rd_kafka_conf_t *conf, const struct kafka_options *o, const char *client, struct failure *f)
{
	enum fail_code code = set(conf, "client.id", client, f);

	for (size_t i = 0; code == FAIL_NONE && i < sizeof(defaults) / sizeof(defaults[0]); i++)
		if (defaults[i].roles & ROLE(o->role))
			code = set(conf, defaults[i].name, defaults[i].value, f);
	for (size_t i = 0; code == FAIL_NONE && i < o->tune_n; i++)
		code = set(conf, o->tune[i].name, o->tune[i].value, f);
	if (code == FAIL_NONE && o->stats != NULL)
		code = set_number(conf, "statistics.interval.ms", (size_t)o->stats->interval_ms, f);
	return code;
}

static enum fail_code
set_user(rd_kafka_conf_t *conf, const struct kafka_options *o, struct failure *f)
{
	enum fail_code code = FAIL_NONE;

	for (size_t i = 0; o->properties != NULL && code == FAIL_NONE && i < o->properties->n; i++)
		code = set(conf, o->properties->item[i].name, o->properties->item[i].value, f);
	return code;
}

static enum fail_code
force(rd_kafka_conf_t *conf, const struct kafka_options *o, const char *name, const char *value,
    struct failure *f)
{
	char before[256], after[256];
	enum fail_code code;

	value_of(conf, name, before, sizeof(before));
	code = set(conf, name, value, f);
	if (code != FAIL_NONE || properties_value(o->properties, name) == NULL)
		return code;
	value_of(conf, name, after, sizeof(after));
	if (strcmp(before, after) != 0)
		log_warning("kafka: KAFKA-PROPERTY-IGNORED %s=%s is not used: riffle relies on %s",
		    name, before, after[0] == '\0' ? "its absence" : after);
	return FAIL_NONE;
}

/*
 * The client's own limit must let the largest record pass, and no batch of several records may be
 * larger than what the topic takes (max.message.bytes counts whole batches).
 */
static enum fail_code
set_sizes(rd_kafka_conf_t *conf, const struct kafka_options *o, struct failure *f)
{
	char text[32];
	size_t batch_max = o->message_bytes_max;
	enum fail_code code;

	if (o->message_bytes_max == 0)
		return FAIL_NONE;
	if (o->message_bytes_max > MESSAGE_MAX - RECORD_OVERHEAD)
		return fail(f, FAIL_CONFIG,
		    "a record of %zu bytes is more than librdkafka sends (%d)",
		    o->message_bytes_max, MESSAGE_MAX);
	if (batch_max < MESSAGE_MAX_PRESET)
		batch_max = MESSAGE_MAX_PRESET;
	value_of(conf, "message.max.bytes", text, sizeof(text));
	if (strtoull(text, NULL, 10) < batch_max + RECORD_OVERHEAD) {
		code = set_number(conf, "message.max.bytes", batch_max + RECORD_OVERHEAD, f);
		if (code != FAIL_NONE)
			return code;
	}
	value_of(conf, "batch.size", text, sizeof(text));
	if (strtoull(text, NULL, 10) <= batch_max)
		return FAIL_NONE;
	return set_number(conf, "batch.size", batch_max, f);
}

static enum fail_code
set_forced(
    rd_kafka_conf_t *conf, const struct kafka_options *o, const char *client, struct failure *f)
{
	enum fail_code code = FAIL_NONE;

	for (size_t i = 0; code == FAIL_NONE && i < sizeof(forced) / sizeof(forced[0]); i++)
		if (forced[i].roles & ROLE(o->role))
			code = force(conf, o, forced[i].name, forced[i].value, f);
	if (code == FAIL_NONE && o->group != NULL)
		code = force(conf, o, "group.id", o->group, f);
	/* asks_only: commits that are pending are not waited for */
	if (code == FAIL_NONE && (o->asks_only || o->uncommitted))
		code = set(conf, "isolation.level", "read_uncommitted", f);
	if (code == FAIL_NONE && o->role == KAFKA_MEMBER) /* others tell members by it */
		code = set(conf, "client.id", client, f);
	if (code == FAIL_NONE && o->role == KAFKA_TRANSACTIONAL)
		code = force(conf, o, "transactional.id", o->transactional_id, f);
	if (code == FAIL_NONE && o->gapless)
		code = force(conf, o, "enable.gapless.guarantee", "true", f);
	if (code == FAIL_NONE && o->gapless) /* the guarantee does not cover what is too old */
		code = force(conf, o, "message.timeout.ms", "0", f);
	if (code == FAIL_NONE && (ROLE(o->role) & WRITERS))
		code = set_sizes(conf, o, f);
	return code;
}

/* Sets all of `conf` but the callbacks. FAIL_CONFIG: librdkafka does not take a property. */
static enum fail_code
set_all(rd_kafka_conf_t *conf, const struct kafka_options *o, const char *client, struct failure *f)
{
	enum fail_code code = set_defaults(conf, o, client, f);

	if (code == FAIL_NONE)
		code = set_user(conf, o, f);
	if (code == FAIL_NONE && o->stats == NULL) /* nobody would take them from the queue */
		code = set(conf, "statistics.interval.ms", "0", f);
	if (code == FAIL_NONE)
		code = set_forced(conf, o, client, f);
	return code;
}

/* ---- callbacks: they note or log, and nothing else ---- */

static void
on_log(const rd_kafka_t *rk, int level, const char *facility, const char *text)
{
	struct kafka_handle *h = rk == NULL ? NULL : rd_kafka_opaque(rk);

	if (h == NULL) /* while a configuration is read; its errors come back as text */
		return;
	if (!(h->purges && strcmp(facility, "FATAL") == 0))
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
	if (err == RD_KAFKA_RESP_ERR__FATAL && h->purges)
		return;
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

/* 0: the text is librdkafka's, which frees it. */
static int
on_stats(rd_kafka_t *rk, char *json, size_t n, void *opaque)
{
	struct kafka_handle *h = opaque;

	(void)rk;
	kafka_stats_take(h->stats, json, n);
	return 0;
}

/* ---- requests and their answers, by librdkafka's interceptors ---- */

/* Keys of Kafka's protocol: what waits for the other members of a group. */
static bool
joins(int16_t api_key)
{
	enum { API_JOIN_GROUP = 11, API_SYNC_GROUP = 14 };

	return api_key == API_JOIN_GROUP || api_key == API_SYNC_GROUP;
}

/* What changes the log or a transaction. */
static bool
writes(int16_t api_key)
{
	enum {
		API_PRODUCE = 0,
		API_ADD_PARTITIONS = 24,
		API_ADD_OFFSETS = 25,
		API_END_TRANSACTION = 26,
		API_TRANSACTION_OFFSETS = 28,
	};

	return api_key == API_PRODUCE || api_key == API_ADD_PARTITIONS ||
	       api_key == API_ADD_OFFSETS || api_key == API_END_TRANSACTION ||
	       api_key == API_TRANSACTION_OFFSETS;
}

bool
kafka_leaves_doubt(int16_t api_key, rd_kafka_resp_err_t err)
{
	return writes(api_key) && err != RD_KAFKA_RESP_ERR_NO_ERROR &&
	       err != RD_KAFKA_RESP_ERR__TIMED_OUT_QUEUE && err != RD_KAFKA_RESP_ERR__DESTROY;
}

/*
 * Whether a request was carried out. librdkafka sends a request again after its connection broke,
 * and reports the second answer alone. The first copy may still be under way to the broker: a
 * commit that was answered with an error may yet happen. Whoever must know for certain calls
 * kafka_doubtful() and, where it is true, reads the log instead of trusting the answer.
 *
 * Called by librdkafka's threads, once or twice for each request (2.0.2), with `err` where no
 * answer came: the connection broke, or time ran out. What had not left the queue by then did not
 * reach the broker.
 */
static rd_kafka_resp_err_t
on_response(rd_kafka_t *rk, int socket, const char *broker, int32_t broker_id, int16_t api_key,
    int16_t api_version, int32_t correlation, size_t n, int64_t round_trip_us,
    rd_kafka_resp_err_t err, void *handle)
{
	struct kafka_handle *h = handle;

	(void)rk, (void)socket, (void)broker, (void)broker_id, (void)api_version;
	(void)correlation, (void)n, (void)round_trip_us;
	if (err == RD_KAFKA_RESP_ERR_NO_ERROR)
		atomic_fetch_add(&h->answers, 1);
	if (kafka_leaves_doubt(api_key, err))
		atomic_store(&h->doubtful, true);
	if (joins(api_key))
		atomic_store(&h->joining, false);
	return RD_KAFKA_RESP_ERR_NO_ERROR;
}

/* A handle has one such request on its way at a time. See leave_or_not(). */
static rd_kafka_resp_err_t
on_request(rd_kafka_t *rk, int socket, const char *broker, int32_t broker_id, int16_t api_key,
    int16_t api_version, int32_t correlation, size_t n, void *handle)
{
	struct kafka_handle *h = handle;

	(void)rk, (void)socket, (void)broker, (void)broker_id, (void)api_version;
	(void)correlation, (void)n;
	atomic_store(&h->asked, true);
	if (joins(api_key))
		atomic_store(&h->joining, true);
	return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static rd_kafka_resp_err_t
on_new(rd_kafka_t *rk, const rd_kafka_conf_t *conf, void *handle, char *why, size_t room)
{
	rd_kafka_resp_err_t err =
	    rd_kafka_interceptor_add_on_request_sent(rk, "riffle", on_request, handle);

	(void)conf, (void)why, (void)room;
	if (err != RD_KAFKA_RESP_ERR_NO_ERROR)
		return err;
	return rd_kafka_interceptor_add_on_response_received(rk, "riffle", on_response, handle);
}

bool
kafka_doubtful(rd_kafka_t *rk)
{
	struct kafka_handle *h = rd_kafka_opaque(rk);

	return atomic_load(&h->doubtful);
}

/*
 * librdkafka from 2.10 on forgets the brokers that are not in the metadata. Where an answer names
 * none at all, as now and then in a rolling restart, it forgets every one, and its timer that
 * connects to bootstrap.servers again is stopped, because there was an answer (its issue 5301). The
 * handle then waits for ever, while a new one would be answered:
 *
 *     1. nothing was answered between two of these calls that lie SILENT_MS apart
 *     2. the handle is given bootstrap.servers once more, as its timer would
 *     3. it connects, learns the brokers, and continues with its positions and its group
 *
 * Where the brokers are only away, or slow, step 2 changes nothing: they are known already.
 */
void
kafka_waits(rd_kafka_t *rk)
{
	struct kafka_handle *h = rd_kafka_opaque(rk);
	unsigned answers = atomic_load(&h->answers);
	int64_t now_ms, since_ms = atomic_load(&h->silent_ms);
	char text[64];

	if (rd_kafka_version() < KAFKA_FORGETS_FIRST || answers == 0) /* or never had a broker */
		return;
	now_ms = clock_ms();
	if (since_ms == 0 || answers != atomic_load(&h->silent_behind)) {
		atomic_store(&h->silent_behind, answers);
		atomic_store(&h->silent_ms, now_ms);
		return;
	}
	if (now_ms - since_ms < SILENT_MS)
		return;
	atomic_store(&h->silent_ms, now_ms);
	snprintf(text, sizeof(text), "no answer for %d s; connecting to bootstrap.servers again",
	    SILENT_MS / 1000);
	kafka_log_put(&h->log, h->client, 6, "SILENT", text, now_ms);
	rd_kafka_brokers_add(rk, h->bootstrap);
}

rd_kafka_message_t *
kafka_poll(rd_kafka_t *rk, int timeout_ms)
{
	rd_kafka_message_t *m = rd_kafka_consumer_poll(rk, timeout_ms);

	if (m == NULL)
		kafka_waits(rk);
	return m;
}

/* ---- opening ---- */

static enum fail_code
configure(
    rd_kafka_conf_t *conf, const struct kafka_options *o, struct kafka_handle *h, struct failure *f)
{
	enum fail_code code;

	rd_kafka_conf_set_opaque(conf, h);
	rd_kafka_conf_set_log_cb(conf, on_log);
	rd_kafka_conf_set_error_cb(conf, on_error);
	rd_kafka_conf_set_ssl_cert_verify_cb(conf, on_certificate);
	if (is_writer(o->role)) /* without one, flush and commit wait in 10 ms slices */
		rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
	if (o->stats != NULL) /* else librdkafka makes none */
		rd_kafka_conf_set_stats_cb(conf, on_stats);
	if (rd_kafka_conf_interceptor_add_on_new(conf, "riffle", on_new, h) !=
	    RD_KAFKA_RESP_ERR_NO_ERROR)
		return fail_memory(f);
	code = set_all(conf, o, h->client, f);
	if (code == FAIL_NONE)
		code = copy_of(conf, "bootstrap.servers", &h->bootstrap, f);
	value_of(conf, "group.id", h->group, sizeof(h->group));
	value_of(conf, "transactional.id", h->transactional_id, sizeof(h->transactional_id));
	value_of(conf, "sasl.username", h->user, sizeof(h->user));
	return code;
}

static void
handle_free(struct kafka_handle *h)
{
	if (h == NULL)
		return;
	kafka_log_end(&h->log);
	free(h->bootstrap);
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
	h->hasty = o->hasty;
	h->group_chosen = o->group != NULL;
	h->commits = o->group != NULL && !o->asks_only;
	h->broker_named = properties_value(o->properties, "bootstrap.servers") != NULL;
	/* The failure of a query, or of the wait that follows, names the cause: see kafka.h. */
	kafka_log_set_quiet(&h->log, o->role == KAFKA_ADMIN || o->quiet);
	h->delivered = o->delivered;
	h->opaque = o->opaque;
	h->stats = o->stats;
	snprintf(h->client, sizeof(h->client), "riffle-%s", o->client);
	return h;
}

enum fail_code
kafka_check_version(int version, struct failure *f)
{
	enum { FIRST = 0x02000200 };                                   /* 2.0.2 */
	enum { CRASHES_FIRST = 0x02040000, CRASHES_END = 0x020a0000 }; /* 2.4.0 and 2.10.0 */

	if (version < FIRST)
		return fail(f, FAIL_CONFIG,
		    "librdkafka %d.%d.%d is older than 2.0.2, the oldest that riffle works with",
		    version >> 24, version >> 16 & 0xff, version >> 8 & 0xff);
	if (version < CRASHES_FIRST || version >= CRASHES_END)
		return FAIL_NONE;
	return fail(f, FAIL_CONFIG,
	    "librdkafka %d.%d.%d ends a process where a topic is recreated or a broker restarts "
	    "(its issues 4778 and 4907, mended in 2.10.0): build riffle with `make "
	    "LIBRDKAFKA=bundled`, install its wheel, or use librdkafka 2.0.2",
	    version >> 24, version >> 16 & 0xff, version >> 8 & 0xff);
}

static atomic_uint opening; /* threads inside rd_kafka_new() */

bool
kafka_opening(void)
{
	return atomic_load(&opening) > 0;
}

/*
 * librdkafka starts a thread of its own, one for internal work, one per address in
 * bootstrap.servers, one per broker that it then learns of and one for the coordinator of a group
 * or of transactions; kafka_close() starts another. The number of brokers is not known yet, so this
 * counts one per address. kafka_again() notices if there are too few threads for the others.
 */
static unsigned
threads_needed(const struct kafka_handle *h)
{
	enum { OWN = 2, COORDINATOR = 1, CLOSE = 1 };
	unsigned addresses = 1;

	for (const char *p = h->bootstrap; (p = strchr(p, ',')) != NULL; p++)
		addresses++;
	return OWN + 2 * addresses + COORDINATOR + CLOSE;
}

/*
 * A handle has a pipe for internal work and a pipe and a socket for each broker. This counts one
 * broker and, if the handle may have one, the coordinator.
 */
static unsigned
files_needed(const struct kafka_handle *h)
{
	enum { OWN = 2, BROKER = 3, COORDINATOR = 3 };

	return OWN + BROKER + (h->role == KAFKA_WRITER || h->role == KAFKA_ADMIN ? 0 : COORDINATOR);
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
	char why[512] = "", shown[512];
	rd_kafka_t *rk;

	assert(o->client != NULL);
	assert((o->role == KAFKA_TRANSACTIONAL) == (o->transactional_id != NULL));
	assert(o->role != KAFKA_MEMBER || o->group != NULL);
	assert(!o->asks_only || o->role == KAFKA_READER);
	assert(!o->asks_only || o->group != NULL);
	h = handle_new(o);
	conf = rd_kafka_conf_new();
	if (h == NULL || conf == NULL) {
		code = fail_memory(f);
		goto failed;
	}
	code = kafka_check_version(rd_kafka_version(), f);
	if (code == FAIL_NONE)
		code = kafka_log_hide(&h->log, o->properties, f);
	if (code == FAIL_NONE)
		code = configure(conf, o, h, f);
	if (code == FAIL_NONE)
		code = kafka_check_threads(threads_needed(h), f);
	if (code == FAIL_NONE)
		code = kafka_check_files(files_needed(h), f);
	if (code != FAIL_NONE)
		goto failed;
	errno = 0;
	atomic_fetch_add(&opening, 1);
	rk = rd_kafka_new(type, conf, why, sizeof(why));
	atomic_fetch_sub(&opening, 1);
	if (rk == NULL) { /* a contradiction in the properties, or no thread or memory left */
		code = rd_kafka_last_error() == RD_KAFKA_RESP_ERR__CRIT_SYS_RESOURCE ? FAIL_IO
										     : FAIL_CONFIG;
		kafka_log_shown(&h->log, why, shown, sizeof(shown));
		fail(f, code, "kafka properties: %s", shown);
		fail_files(f);
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
	handle_free(h);
	return code;
}

/* ---- closing, which does not wait for ever ---- */

enum {
	CLOSE_FLUSH_MS = 2000,
	CLOSE_DESTROY_MS = 5000,
	CLOSE_JOIN_MS = 750, /* members hear of a rebalance with their next heartbeat: 500 ms */
	CLOSE_SLICE_MS = 20,
};

/*
 * A destroy that hangs (librdkafka has had such bugs) must not hold up an exit: it gets a thread of
 * its own, for which the caller waits CLOSE_DESTROY_MS at most.
 *
 *   1. kafka_close() starts the thread and waits for `destroyed`.
 *   2a. The thread is in time: it sets `destroyed`, the waiter wakes and frees this.
 *   2b. It is not: the waiter sets `abandoned`, logs and leaves. Should the thread come back later,
 *       it sees `abandoned` and frees this.
 *
 * Both sides look and set under the lock, so that exactly one of them is the later one.
 */
struct ending {
	pthread_mutex_t lock;
	pthread_cond_t done;
	rd_kafka_t *rk;
	struct kafka_handle *handle;
	int flags;                 /* of rd_kafka_destroy_flags() */
	bool destroyed, abandoned; /* the later of the two sides frees this */
};

static void
ending_free(struct ending *e)
{
	pthread_cond_destroy(&e->done);
	pthread_mutex_destroy(&e->lock);
	handle_free(e->handle);
	free(e);
}

static void *
destroy_thread(void *argument)
{
	struct ending *e = argument;
	bool abandoned;

	rd_kafka_destroy_flags(e->rk, e->flags);
	pthread_mutex_lock(&e->lock);
	e->destroyed = true;
	abandoned = e->abandoned;
	pthread_cond_signal(&e->done);
	pthread_mutex_unlock(&e->lock);
	if (abandoned)
		ending_free(e);
	return NULL;
}

/* Whether a member that was to leave began to join after leave_or_not() looked. */
static bool
joins_late(const struct ending *e)
{
	return (e->flags & RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE) == 0 &&
	       atomic_load(&e->handle->joining);
}

static void
wait_destroyed(struct ending *e)
{
	int64_t deadline_ms = clock_ms() + CLOSE_DESTROY_MS;
	struct timespec until;
	bool late;

	pthread_mutex_lock(&e->lock);
	while (!e->destroyed && !joins_late(e) && clock_ms() < deadline_ms) {
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += CLOSE_SLICE_MS * 1000000L;
		until.tv_sec += until.tv_nsec / 1000000000L;
		until.tv_nsec %= 1000000000L;
		pthread_cond_timedwait(&e->done, &e->lock, &until);
	}
	late = !e->destroyed;
	e->abandoned = late;
	if (late && !joins_late(e))
		log_warning("kafka: KAFKA-CLOSE client=%s did not end within %d ms; left behind",
		    e->handle->client, CLOSE_DESTROY_MS);
	pthread_mutex_unlock(&e->lock);
	if (!late)
		ending_free(e);
}

/*
 * Flags for the handle's end. Only members join a group, and leave it here, so that others need not
 * wait. But the broker answers the requests of a connection one after the other, and holds back
 * that of a member that joins until each other member has joined or its session is over: 10 s where
 * one was killed. A request to leave would wait behind it. So such a member goes without a word,
 * and is out when its own session ends.
 */
static int
leave_or_not(const struct kafka_handle *h)
{
	int64_t deadline_ms = clock_ms() + (h->hasty ? 0 : CLOSE_JOIN_MS);

	if (h->role == KAFKA_READER)
		return RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE;
	while (atomic_load(&h->joining) && clock_ms() < deadline_ms)
		clock_pause_ms(CLOSE_SLICE_MS);
	return atomic_load(&h->joining) ? RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE : 0;
}

/* Takes `h`. */
static struct ending *
ending_new(rd_kafka_t *rk, struct kafka_handle *h)
{
	struct ending *e = calloc(1, sizeof(*e));
	pthread_condattr_t monotonic;

	if (e == NULL)
		return NULL;
	e->rk = rk;
	e->handle = h;
	pthread_mutex_init(&e->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&e->done, &monotonic);
	pthread_condattr_destroy(&monotonic);
	return e;
}

void
kafka_close(rd_kafka_t *rk)
{
	struct kafka_handle *h;
	pthread_t thread;
	struct ending *e;
	int flags;

	if (rk == NULL)
		return;
	h = rd_kafka_opaque(rk);
	assert(h != NULL);                  /* kafka_open() made it */
	kafka_log_set_quiet(&h->log, true); /* a connection that is being made is given up */
	if (is_writer(h->role)) {           /* reports what is lost to `delivered` */
		h->purges = rd_kafka_fatal_error(rk, NULL, 0) == RD_KAFKA_RESP_ERR_NO_ERROR;
		rd_kafka_purge(rk, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
		rd_kafka_flush(rk, CLOSE_FLUSH_MS);
	}
	flags = leave_or_not(h);
	e = ending_new(rk, h);
	if (e == NULL) {
		rd_kafka_destroy_flags(rk, flags);
		handle_free(h);
		return;
	}
	e->flags = flags;
	if (pthread_create(&thread, NULL, destroy_thread, e) != 0) {
		rd_kafka_destroy_flags(rk, flags);
		ending_free(e);
		return;
	}
	pthread_detach(thread);
	wait_destroyed(e);
}
