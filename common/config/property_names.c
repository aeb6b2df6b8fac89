#include "common/config/property_names.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "common/base/nearest.h"

/* Addresses, names, numbers, switches and paths of files. */
static const char *const harmless[] = {
    "acks",
    "allow.auto.create.topics",
    "api.version.fallback.ms",
    "api.version.request",
    "api.version.request.timeout.ms",
    "auto.commit.interval.ms",
    "auto.offset.reset",
    "batch.num.messages",
    "batch.size",
    "bootstrap.servers",
    "broker.address.family",
    "broker.address.ttl",
    "broker.version.fallback",
    "check.crcs",
    "client.dns.lookup",
    "client.id",
    "client.rack",
    "compression.codec",
    "compression.level",
    "compression.type",
    "connections.max.idle.ms",
    "coordinator.query.interval.ms",
    "debug",
    "delivery.report.only.error",
    "delivery.timeout.ms",
    "enable.auto.commit",
    "enable.auto.offset.store",
    "enable.gapless.guarantee",
    "enable.idempotence",
    "enable.metrics.push",
    "enable.partition.eof",
    "enable.random.seed",
    "enable.sasl.oauthbearer.unsecure.jwt",
    "enable.ssl.certificate.verification",
    "fetch.error.backoff.ms",
    "fetch.max.bytes",
    "fetch.message.max.bytes",
    "fetch.min.bytes",
    "fetch.queue.backoff.ms",
    "fetch.wait.max.ms",
    "group.id",
    "group.instance.id",
    "group.protocol",
    "heartbeat.interval.ms",
    "internal.termination.signal",
    "isolation.level",
    "linger.ms",
    "log.connection.close",
    "log.queue",
    "log.thread.name",
    "log_level",
    "max.in.flight",
    "max.in.flight.requests.per.connection",
    "max.partition.fetch.bytes",
    "max.poll.interval.ms",
    "message.copy.max.bytes",
    "message.max.bytes",
    "message.send.max.retries",
    "message.timeout.ms",
    "metadata.broker.list",
    "metadata.max.age.ms",
    "metadata.recovery.strategy",
    "partition.assignment.strategy",
    "partitioner",
    "plugin.library.paths",
    "queue.buffering.backpressure.threshold",
    "queue.buffering.max.kbytes",
    "queue.buffering.max.messages",
    "queue.buffering.max.ms",
    "queued.max.messages.kbytes",
    "queued.min.messages",
    "receive.message.max.bytes",
    "reconnect.backoff.max.ms",
    "reconnect.backoff.ms",
    "request.required.acks",
    "request.timeout.ms",
    "retries",
    "retry.backoff.max.ms",
    "retry.backoff.ms",
    "sasl.kerberos.keytab",
    "sasl.kerberos.min.time.before.relogin",
    "sasl.kerberos.principal",
    "sasl.kerberos.service.name",
    "sasl.mechanism",
    "sasl.mechanisms",
    "sasl.oauthbearer.method",
    "sasl.oauthbearer.scope",
    "sasl.username",
    "security.protocol",
    "session.timeout.ms",
    "socket.blocking.max.ms",
    "socket.connection.setup.timeout.ms",
    "socket.keepalive.enable",
    "socket.max.fails",
    "socket.nagle.disable",
    "socket.receive.buffer.bytes",
    "socket.send.buffer.bytes",
    "socket.timeout.ms",
    "ssl.ca.certificate.stores",
    "ssl.ca.location",
    "ssl.certificate.location",
    "ssl.cipher.suites",
    "ssl.crl.location",
    "ssl.curves.list",
    "ssl.endpoint.identification.algorithm",
    "ssl.engine.id",
    "ssl.engine.location",
    "ssl.key.location",
    "ssl.keystore.location",
    "ssl.providers",
    "ssl.sigalgs.list",
    "statistics.interval.ms",
    "sticky.partitioning.linger.ms",
    "topic.metadata.propagation.max.ms",
    "topic.metadata.refresh.fast.interval.ms",
    "topic.metadata.refresh.interval.ms",
    "topic.metadata.refresh.sparse",
    "transaction.timeout.ms",
    "transactional.id",
};

/* Known too, and never shown: secrets, and what can have one inside. */
static const char *const hidden[] = {
    "sasl.kerberos.kinit.cmd",
    "sasl.oauthbearer.client.id",
    "sasl.oauthbearer.client.secret",
    "sasl.oauthbearer.config",
    "sasl.oauthbearer.extensions",
    "sasl.oauthbearer.token.endpoint.url",
    "sasl.password",
    "ssl.ca.pem",
    "ssl.certificate.pem",
    "ssl.key.password",
    "ssl.key.pem",
    "ssl.keystore.password",
};

enum {
	HARMLESS_N = sizeof(harmless) / sizeof(harmless[0]),
	HIDDEN_N = sizeof(hidden) / sizeof(hidden[0]),
};

bool
property_names_harmless(const char *name)
{
	assert(name != NULL);
	for (size_t i = 0; i < HARMLESS_N; i++)
		if (strcmp(harmless[i], name) == 0)
			return true;
	return false;
}

const char *
property_names_nearest(const char *name)
{
	struct nearest near;

	nearest_init(&near, name);
	for (size_t i = 0; i < HIDDEN_N; i++)
		nearest_offer(&near, hidden[i]);
	for (size_t i = 0; i < HARMLESS_N; i++)
		nearest_offer(&near, harmless[i]);
	return near.best;
}

const char *
property_names_instead(const char *name)
{
	static const struct {
		const char *java, *instead;
	} row[] = {
	    {"sasl.jaas.config", "sasl.mechanism, sasl.username and sasl.password"},
	    {"sasl.login.callback.handler.class", "sasl.oauthbearer.method and its properties"},
	    {"sasl.client.callback.handler.class", "sasl.oauthbearer.method and its properties"},
	    {"ssl.truststore.location", "ssl.ca.location, a file of PEM certificates"},
	    {"ssl.truststore.certificates", "ssl.ca.pem"},
	    {"ssl.truststore.password", "ssl.ca.location, which needs no password"},
	    {"ssl.truststore.type", "ssl.ca.location, a file of PEM certificates"},
	    {"ssl.keystore.type", "ssl.keystore.location, which is a PKCS#12 file"},
	    {"ssl.keystore.key", "ssl.key.pem"},
	    {"ssl.keystore.certificate.chain", "ssl.certificate.pem"},
	    {"fetch.max.wait.ms", "fetch.wait.max.ms"},
	    {"max.request.size", "message.max.bytes"},
	    {"buffer.memory", "queue.buffering.max.kbytes"},
	    {"default.api.timeout.ms", "socket.timeout.ms"},
	    {"send.buffer.bytes", "socket.send.buffer.bytes"},
	    {"receive.buffer.bytes", "socket.receive.buffer.bytes"},
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		if (strcmp(row[i].java, name) == 0)
			return row[i].instead;
	return NULL;
}
