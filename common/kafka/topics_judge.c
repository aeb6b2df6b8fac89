#include "common/kafka/topics_judge.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Appends a problem to those found before: what differs, then what to do about it. Cut where the
 * report is full: the first problems are the ones to correct first. */
static void __attribute__((format(printf, 2, 3)))
problem(struct topics_report *r, const char *format, ...)
{
	size_t used = strlen(r->problem);
	va_list ap;

	if (used > 0)
		snprintf(r->problem + used, sizeof(r->problem) - used, "; ");
	used = strlen(r->problem);
	assert(used < sizeof(r->problem));
	va_start(ap, format);
	vsnprintf(r->problem + used, sizeof(r->problem) - used, format, ap);
	va_end(ap);
}

static const char *
plural(int n)
{
	return n == 1 ? "" : "s";
}

/* The key of the configuration that decides how many partitions a topic of the mix has. */
static const char *
partitions_key(const struct config *c, enum topic_kind kind)
{
	if (kind == TOPIC_BATCHES && c->mix.partitions < c->mix.lanes)
		return "mix.partitions";
	return kind == TOPIC_BATCHES || kind == TOPIC_LANES ? "mix.lanes" : "always";
}

static bool
has_key(enum topic_kind kind)
{
	return kind == TOPIC_BATCHES || kind == TOPIC_LANES || kind == TOPIC_DOMAIN;
}

/* Whether anything hangs on the topic already is not known here: that case comes first. */
static const char *
partitions_advice(enum topic_kind kind)
{
	if (kind == TOPIC_BATCHES || kind == TOPIC_LANES)
		return "give mix.name another name, because the lanes of a begun mix cannot "
		       "change; before its first step `riffle topics --delete --mix --create` "
		       "creates its topics again";
	if (kind == TOPIC_DOMAIN)
		return "publish the domain under another name, because the partitions of a "
		       "published one cannot change; where no mix draws from it, `riffle produce "
		       "--restart` publishes it again";
	return "delete the topic, and `riffle topics --create` creates it";
}

static void
compare_partitions(
    const struct config *c, const struct planned_topic *t, int partitions, struct topics_report *r)
{
	char key[NAME_MAX_BYTES + 32];

	if (partitions == t->partitions)
		return;
	if (t->kind == TOPIC_DOMAIN)
		snprintf(key, sizeof(key), "domains.%s.partitions", c->domains[t->domain].name);
	else
		snprintf(key, sizeof(key), "%s", partitions_key(c, t->kind));
	if (partitions > t->partitions && (t->kind == TOPIC_BATCHES || t->kind == TOPIC_LANES))
		problem(r,
		    "has %d partitions, the configuration wants %d (%s): set it back to %d; or "
		    "where "
		    "partitions were added, which Kafka does not take away, delete the topic: "
		    "`riffle topics --create` creates it, and %s",
		    partitions, t->partitions, key, partitions,
		    t->kind == TOPIC_LANES ? "`riffle runs --reset` sets a run's commits"
					   : "`riffle repair` fills it from ledger and domains");
	else if (partitions > 0 && has_key(t->kind))
		problem(r,
		    "has %d partition%s, the configuration wants %d (%s): set it back to %d, or %s",
		    partitions, plural(partitions), t->partitions, key, partitions,
		    partitions_advice(t->kind));
	else
		problem(r, "has %d partition%s, the configuration wants %d (%s): %s", partitions,
		    plural(partitions), t->partitions, key, partitions_advice(t->kind));
}

void
topics_judge_missing(struct topics_report *r)
{
	r->exists = false;
	r->problem[0] = '\0';
	problem(r, "missing");
}

void
topics_judge_metadata(struct topics_report *r, const struct config *c,
    const struct planned_topic *t, const struct rd_kafka_metadata_topic *m)
{
	int replicas = m->partition_cnt > 0 ? m->partitions[0].replica_cnt : 0;

	for (int i = 1; i < m->partition_cnt; i++)
		if (m->partitions[i].replica_cnt < replicas)
			replicas = m->partitions[i].replica_cnt;
	r->replicas = replicas;
	r->exists = true;
	r->partitions = m->partition_cnt;
	compare_partitions(c, t, m->partition_cnt, r);
	if (replicas > 0 && replicas < (int)c->replication)
		problem(r,
		    "has %d replica%s, the configuration wants %u (topics.replication): "
		    "kafka-reassign-partitions.sh adds some",
		    replicas, plural(replicas), (unsigned)c->replication);
	for (int i = 0; i < m->partition_cnt; i++)
		if (m->partitions[i].leader < 0) {
			problem(r, "partition %d has no leader: is a broker down?",
			    (int)m->partitions[i].id);
			break;
		}
}

/*
 * A setting with a `least` may also be any number above its value: it is then more generous. One
 * that differs is added to `add`.
 */
static void
compare_setting(
    struct topics_report *r, const struct topic_setting *s, const char *value, struct text *add)
{
	if (strcmp(value, s->value) == 0)
		return;
	if (s->least > 0 && strtoull(value, NULL, 10) >= s->least)
		return;
	if (s->least > 0)
		problem(r, "%s is %s, must be %" PRIu64 " or more", s->name, value, s->least);
	else
		problem(r, "%s is %s, must be %s", s->name, value, s->value);
	text_add(add, "%s%s=%s", add->n == 0 ? "" : ",", s->name, s->value);
}

static void
take_loss_setting(struct topics_report *r, const char *name, const char *value)
{
	if (strcmp(name, "min.insync.replicas") == 0)
		r->min_insync = strtoll(value, NULL, 10);
	else if (strcmp(name, "flush.messages") == 0)
		r->flush_messages = strtoll(value, NULL, 10);
	else if (strcmp(name, "unclean.leader.election.enable") == 0)
		r->unclean = strcmp(value, "true") == 0;
}

void
topics_judge_setting(struct topics_report *r,
    const struct topic_setting wanted[static TOPIC_SETTINGS], const char *name, const char *value,
    struct text *add)
{
	take_loss_setting(r, name, value);
	for (size_t i = 0; i < TOPIC_SETTINGS; i++)
		if (strcmp(name, wanted[i].name) == 0)
			compare_setting(r, &wanted[i], value, add);
}

void
topics_judge_advise(
    struct topics_report *r, const char *bootstrap, const char *topic, const char *add)
{
	static const char left_out[] = " ... (the command that sets them is too long to be shown)";
	size_t at = strlen(r->problem), last = sizeof(r->problem) - sizeof(left_out);
	int n = snprintf(r->problem + at, sizeof(r->problem) - at,
	    ": run `kafka-configs.sh --bootstrap-server %.*s --alter --entity-type topics "
	    "--entity-name %s --add-config %s`",
	    (int)strcspn(bootstrap, ","), bootstrap, topic, add);

	if (n < 0 || (size_t)n >= sizeof(r->problem) - at)
		memcpy(r->problem + (at < last ? at : last), left_out, sizeof(left_out));
}

const char *
topics_judge_problem(const struct topics_report *r, size_t room)
{
	return strlen(r->problem) < room ? r->problem
					 : "it is not as the configuration wants: `riffle topics` "
					   "shows what differs, and "
					   "the command that sets it";
}

bool
topics_judge_ready(const struct rd_kafka_metadata_topic *m)
{
	for (int i = 0; i < m->partition_cnt; i++)
		if (m->partitions[i].leader < 0)
			return false;
	return m->err == RD_KAFKA_RESP_ERR_NO_ERROR && m->partition_cnt > 0;
}

const char *
topics_judge_right(const struct planned_topic *t, struct topics_use use)
{
	if (use.deleted)
		return "DELETE";
	if (use.written & 1u << t->kind)
		return "WRITE";
	return (use.read & 1u << t->kind) != 0 && t->set == SET_TRAIN ? "READ" : "DESCRIBE";
}

static bool
is_held_out(const struct planned_topic *t)
{
	return t->kind == TOPIC_DOMAIN && t->set != SET_TRAIN;
}

bool
topics_judge_used(const struct planned_topic *t, struct topics_use use)
{
	unsigned used = is_held_out(t) ? use.written : use.read | use.written;

	return (used & 1u << t->kind) != 0;
}
