/*
 * topics.h -- which topics a configuration needs, with which settings; makes and checks them.
 *
 * The plan is plain data computed from the configuration alone: name, partitions, settings,
 * largest record. topics_create() makes what is missing, topics_check() compares what is there.
 */
#ifndef COMMON_CONFIG_TOPICS_H
#define COMMON_CONFIG_TOPICS_H

#include <librdkafka/rdkafka.h>

#include "common/config/config.h"
#include "common/base/failure.h"
#include "common/base/names.h"

enum {
	TOPICS_RECORD_SLACK = 64 << 10,      /* what names, document spans and framing may add */
	TOPICS_LEDGER_BYTES = 8 << 20,       /* of a ledger record, at most */
	TOPICS_MESSAGE_BYTES_MIN = 1 << 20,  /* below it, batches of small records would suffer */
	TOPICS_MESSAGE_BYTES_MAX = 80 << 20, /* LIMIT_RECORD_BYTES and what may surround it */
	TOPICS_OFFSETS_RETENTION_MINUTES = 30 * 24 * 60, /* less deserves a warning */
};

enum topics_kind {
	TOPIC_DOMAIN,
	TOPIC_REJECTS,
	TOPIC_BATCHES,
	TOPIC_LEDGER,
	TOPIC_CONTROL,
	TOPIC_FEEDBACK,
	TOPIC_ARRIVALS, /* where files of a live domain keep arriving */
};

struct topic_plan {
	char name[TOPIC_MAX_BYTES + 1];
	enum topics_kind kind;
	int domain; /* index in the configuration; -1 for the others */
	enum names_set set;
	int partitions;
	size_t message_bytes_max; /* max.message.bytes: more than any record, framing included */
};

struct topics_plan {
	size_t n;
	struct topic_plan *topic;
};

/*
 * Bytes of one lane's batch record: ((S+1) * width + 64) * B/L, and where some domain keeps fields
 * of its documents, LIMIT_KEEP_BYTES more a sequence. Names and the spans of many short
 * documents may come on top; message_bytes_max leaves room for them.
 */
size_t topics_lane_bytes(const struct config *c, unsigned token_width);
/* Bytes of a record of a domain topic, in the same way. */
size_t topics_sequence_bytes(const struct config *c, unsigned token_width);

/* Whether documents can reach the set of a domain: own files, or a part of the split. */
bool topics_has_set(const struct config *c, const struct config_domain *d, enum names_set set);

/* Gives *out (topics_plan_close). Domain topics always; the mix's where there is a mix section. */
enum fail_code topics_plan_open(
    struct topics_plan **out, const struct config *c, struct failure *f);
void topics_plan_close(struct topics_plan *p);

/* A topic's setting: what it is created with, and what is right where it exists. */
enum { TOPICS_SETTINGS = 8, TOPICS_VALUE_MAX = 24 };

struct topics_setting {
	const char *name;
	char value[TOPICS_VALUE_MAX];
	uint64_t least; /* any number from here on is right; 0: only `value` is */
};

/* Fills the settings of one topic of the plan. */
void topics_settings(struct topics_setting out[static TOPICS_SETTINGS], const struct config *c,
    const struct topic_plan *t);

struct topics_report {
	bool exists;
	int partitions;
	bool hidden;       /* its settings are not compared: the user lacks DESCRIBE_CONFIGS */
	char problem[512]; /* "" where all is as planned; else what differs and what to do */
};

/* What the caller will do with the topics, as bits 1 << kind; READ is of training sets alone. */
struct topics_use {
	unsigned read, written;
	bool deleted; /* all of them */
};

/*
 * Asks the broker about every topic of the plan; report[p->n] is the caller's. A problem of a
 * topic that does not exist is "missing". One that the user may not even see is FAIL_DENIED, which
 * names the right that `use` needs. Settings that the user may not see are not compared.
 */
enum fail_code topics_ask(rd_kafka_t *rk, const struct config *c, const struct topics_plan *p,
    struct topics_use use, struct topics_report *report, int timeout_ms, struct failure *f);
/* Makes those that do not exist and waits until every partition has a leader. */
enum fail_code topics_create(rd_kafka_t *rk, const struct config *c, const struct topics_plan *p,
    const struct topics_report *report, int timeout_ms, struct failure *f);
/* Deletes those that exist, with all records, and waits until they are gone. */
enum fail_code topics_delete(rd_kafka_t *rk, const struct topics_plan *p,
    const struct topics_report *report, int timeout_ms, struct failure *f);

/*
 * FAIL_CONFIG with one sentence for the first topic of `use` that is missing or
 * wrong ("topic demo.code: has 1 partition, the configuration wants 4; ..."). Every command that
 * reads or writes topics asks this at its start, about those that it uses. Held-out sets of domains
 * are checked only for those who write them.
 */
enum fail_code topics_check(rd_kafka_t *rk, const struct config *c, struct topics_use use,
    int timeout_ms, struct failure *f);

/* Says once which settings nobody compared, where some are hidden. */
void topics_warn_hidden(
    rd_kafka_t *rk, const struct topics_plan *p, const struct topics_report *report);

/*
 * How long the broker keeps the committed offsets of a group without members, in minutes; -1: it
 * does not say. Trainers that pause for longer lose their position there. FAIL_DENIED: the user may
 * not ask.
 */
enum fail_code topics_offsets_retention(
    rd_kafka_t *rk, int64_t *minutes, int timeout_ms, struct failure *f);

#endif
