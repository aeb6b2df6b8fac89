/*
 * topics_judge.h -- what a broker's answers say about a planned topic: whether it is as the plan
 * wants it, whether it can be used, and which right is missing. Nothing is asked here: answers come
 * in as librdkafka's plain structs and as texts, and go out as a struct topics_report.
 */
#ifndef COMMON_KAFKA_TOPICS_JUDGE_H
#define COMMON_KAFKA_TOPICS_JUDGE_H

#include <librdkafka/rdkafka.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/base/names.h"
#include "common/base/text.h"
#include "common/config/config.h"
#include "common/config/topic_plan.h"

struct topics_report {
	bool exists;
	int partitions;
	int replicas; /* of the partition that has fewest; 0: not known */
	/*
	 * Settings in force by which a broker may lose what it has acknowledged; no problem of the
	 * plan's, for the broker's owner decides. -1, false: the broker does not say.
	 */
	int64_t min_insync;     /* min.insync.replicas */
	int64_t flush_messages; /* flush.messages */
	bool unclean;           /* unclean.leader.election.enable */
	bool hidden;            /* its settings are not compared: the user lacks DESCRIBE_CONFIGS */
	char problem[1024];     /* "" where all is as planned; else what differs and what to do */
};

/* What the caller will do with the topics, as bits 1 << kind; READ is of training sets alone. */
struct topics_use {
	unsigned read, written;
	bool deleted; /* all of them */
};

/* The topic does not exist. Replaces what was reported before. */
void topics_judge_missing(struct topics_report *r);

/*
 * Compares the partitions, the replicas of each partition, and the leaders. Each problem adds
 * a sentence.
 */
void topics_judge_metadata(struct topics_report *r, const struct config *c,
    const struct planned_topic *t, const struct rd_kafka_metadata_topic *m);

/*
 * Compares one setting in force with the plan, and notes it if records may be lost by it. A setting
 * that no row names is ignored. What must change is added to `add`, as "retention.ms=-1,...".
 */
void topics_judge_setting(struct topics_report *r,
    const struct topic_setting wanted[static TOPIC_SETTINGS], const char *name, const char *value,
    struct text *add);

/*
 * Adds the command that sets what topics_judge_setting() has put into `add`: one for all of them,
 * because each is as long as a line. It names the first broker of the list, which is enough. If the
 * command does not fit the report, a note stands in its place.
 */
void topics_judge_advise(
    struct topics_report *r, const char *bootstrap, const char *topic, const char *add);

/* What a failure has room for next to the name of the topic and a sentence. */
enum { TOPICS_JUDGE_ROOM = FAILURE_TEXT_MAX - TOPIC_MAX_BYTES - 128 };

/* The problem if it is shorter than `room`; else the command that shows it. Borrowed from `r`. */
const char *topics_judge_problem(const struct topics_report *r, size_t room);

/* Whether a producer can start: the broker knows the topic and a leader of each partition. */
bool topics_judge_ready(const struct rd_kafka_metadata_topic *m);

/* The right that a user needs for what is to be done with a topic: the strongest of them. */
const char *topics_judge_right(const struct planned_topic *t, struct topics_use use);

/*
 * Whether a command checks the topic. A command that does not write domains reads no held-out set,
 * and its user may have no right to see one.
 */
bool topics_judge_used(const struct planned_topic *t, struct topics_use use);

#endif
