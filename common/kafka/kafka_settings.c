/* What librdkafka is told: riffle's tuning, the user's properties, and what riffle relies on. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/kafka/kafka_handle.h"
#include "common/base/log.h"

enum {
	RECORD_OVERHEAD = 1024,       /* bytes that framing adds to a record, at most */
	MESSAGE_MAX_PRESET = 1000000, /* message.max.bytes and batch.size of librdkafka */
	MESSAGE_MAX = 1000000000,     /* largest that librdkafka accepts */
};

#define ROLE(role) (1u << (role))
#define WRITERS    (ROLE(KAFKA_WRITER) | ROLE(KAFKA_TRANSACTIONAL))
#define CONSUMERS  (ROLE(KAFKA_READER) | ROLE(KAFKA_MEMBER))
#define EVERY      (WRITERS | CONSUMERS | ROLE(KAFKA_ADMIN))

struct role_property {
	unsigned roles;
	const char *name, *value; /* NULL: librdkafka's own preset */
};

/*
 * Tuning: set before the user's properties, which win. A broker has one fetch at a time in flight,
 * and an idle partition holds it for fetch.wait.max.ms; Nagle's algorithm waits for more to send;
 * linger fills batches (librdkafka's INTRODUCTION.md: "at least 50 ms" for throughput); an open
 * transaction hides all behind it, so that its timeout is how long a crash stalls the readers. A
 * member hears of a change in its group with its next heartbeat.
 */
static const struct role_property presets[] = {
    {EVERY, "bootstrap.servers", "localhost:9092"},
    {EVERY, "socket.nagle.disable", "true"},
    {EVERY, "socket.keepalive.enable", "true"},
    {EVERY, "reconnect.backoff.max.ms", "2000"},
    {ROLE(KAFKA_READER), "group.id", "riffle"},
    {ROLE(KAFKA_READER), "fetch.wait.max.ms", "10"},
    {ROLE(KAFKA_READER), "fetch.error.backoff.ms", "100"},
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

static enum fail_code
set(rd_kafka_conf_t *conf, const char *name, const char *value, struct failure *f)
{
	char why[256];

	if (rd_kafka_conf_set(conf, name, value, why, sizeof(why)) == RD_KAFKA_CONF_OK)
		return FAIL_NONE;
	if (value != NULL && properties_secret(name))
		return fail(f, FAIL_CONFIG, "kafka property %s (a secret) is not accepted", name);
	return fail(f, FAIL_CONFIG, "kafka property %s = %s: %s", name,
	    value == NULL ? "(preset)" : value, why);
}

static enum fail_code
set_number(rd_kafka_conf_t *conf, const char *name, size_t value, struct failure *f)
{
	char text[32];

	snprintf(text, sizeof(text), "%zu", value);
	return set(conf, name, text, f);
}

void
kafka_setting(const rd_kafka_conf_t *conf, const char *name, char *out, size_t room)
{
	size_t n = room;

	if (rd_kafka_conf_get(conf, name, out, &n) != RD_KAFKA_CONF_OK)
		snprintf(out, room, "%s", "");
}

static enum fail_code
set_presets(
    rd_kafka_conf_t *conf, const struct kafka_options *o, const char *client, struct failure *f)
{
	enum fail_code code = set(conf, "client.id", client, f);

	for (size_t i = 0; code == FAIL_NONE && i < sizeof(presets) / sizeof(presets[0]); i++)
		if (presets[i].roles & ROLE(o->role))
			code = set(conf, presets[i].name, presets[i].value, f);
	for (size_t i = 0; code == FAIL_NONE && i < o->tune_n; i++)
		code = set(conf, o->tune[i].name, o->tune[i].value, f);
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

	kafka_setting(conf, name, before, sizeof(before));
	code = set(conf, name, value, f);
	if (code != FAIL_NONE || properties_value(o->properties, name) == NULL)
		return code;
	kafka_setting(conf, name, after, sizeof(after));
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
	kafka_setting(conf, "message.max.bytes", text, sizeof(text));
	if (strtoull(text, NULL, 10) < batch_max + RECORD_OVERHEAD) {
		code = set_number(conf, "message.max.bytes", batch_max + RECORD_OVERHEAD, f);
		if (code != FAIL_NONE)
			return code;
	}
	kafka_setting(conf, "batch.size", text, sizeof(text));
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
	if (code == FAIL_NONE && o->asks_only) /* commits that are pending are not waited for */
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

enum fail_code
kafka_settings(
    rd_kafka_conf_t *conf, const struct kafka_options *o, const char *client, struct failure *f)
{
	enum fail_code code = set_presets(conf, o, client, f);

	if (code == FAIL_NONE)
		code = set_user(conf, o, f);
	if (code == FAIL_NONE)
		code = set_forced(conf, o, client, f);
	return code;
}
