/*
 * topics.h -- which topics a configuration needs, with which settings; makes and checks them.
 *
 * The plan is plain data computed from the configuration alone: name, partitions, settings,
 * largest record. topics_create() makes what is missing, topics_check() compares what is there.
 */
#ifndef COMMON_TOPICS_H
#define COMMON_TOPICS_H

#include "common/config.h"
#include "common/failure.h"
#include "common/names.h"
#include <librdkafka/rdkafka.h>

enum topics_kind {
	TOPIC_DOMAIN,
	TOPIC_REJECTS,
	TOPIC_BATCHES,
	TOPIC_LEDGER,
	TOPIC_CONTROL,
	TOPIC_FEEDBACK
};

struct topic_plan {
	char name[TOPIC_MAX_BYTES + 1];
	enum topics_kind kind;
	int domain; /* index in the configuration; -1 for the others */
	enum names_set set;
	int partitions;
	size_t message_bytes_max; /* max.message.bytes */
};

struct topics_plan {
	size_t n;
	struct topic_plan *topic;
};

/* Largest batch record of one lane in bytes: ((S+1) * width + 64) * B/L, plus its header. */
size_t topics_lane_bytes(const struct config *c, unsigned token_width);
/* Largest record of a domain topic. */
size_t topics_sequence_bytes(const struct config *c, unsigned token_width);

/* Gives *out (topics_plan_close). Domain topics always; the mix's where there is a mix section. */
enum fail_code topics_plan_open(
    struct topics_plan **out, const struct config *c, struct failure *f);
void topics_plan_close(struct topics_plan *p);

struct topics_report {
	bool exists;
	int partitions;
	char problem[256]; /* "" where all is as planned; else what differs and what to do */
};

/* Asks the broker about every topic of the plan; report[p->n] is the caller's. */
enum fail_code topics_ask(rd_kafka_t *rk, const struct topics_plan *p, struct topics_report *report,
    int timeout_ms, struct failure *f);
/* Makes those that do not exist. */
enum fail_code topics_create(rd_kafka_t *rk, const struct config *c, const struct topics_plan *p,
    const struct topics_report *report, int timeout_ms, struct failure *f);
enum fail_code topics_delete(rd_kafka_t *rk, const struct topics_plan *p,
    const struct topics_report *report, int timeout_ms, struct failure *f);

/*
 * FAIL_CONFIG with one sentence for the first topic of `kinds` (bits 1 << kind) that is missing or
 * wrong ("topic demo.code: has 1 partition, the configuration wants 4; ..."). Every command that
 * reads or writes topics asks this at its start.
 */
enum fail_code topics_check(
    rd_kafka_t *rk, const struct config *c, unsigned kinds, int timeout_ms, struct failure *f);

#endif
