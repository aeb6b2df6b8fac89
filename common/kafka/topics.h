/*
 * topics.h -- the topics of a plan on a broker: queried, compared, created, deleted.
 *
 * common/config/topic_plan.h says which topics a configuration implies. Here is what a cluster has
 * of them: one report a topic, with a sentence on what differs and what to do about it.
 *
 * A list of all topics leaves out those that the user may not see; what is missing there is queried
 * once more by name, so that a missing right is never reported as a missing topic.
 *
 * Thread: that of the handle.
 */
#ifndef COMMON_KAFKA_TOPICS_H
#define COMMON_KAFKA_TOPICS_H

#include <librdkafka/rdkafka.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/config/config.h"
#include "common/config/topic_plan.h"
#include "common/kafka/topics_judge.h"

enum { TOPICS_OFFSETS_RETENTION_MINUTES = 30 * 24 * 60 }; /* less deserves a warning */

/*
 * Queries every topic of the plan; fills report[p->n], which is the caller's. The problem of a
 * topic that does not exist is "missing". One that the user may not even see is FAIL_DENIED, which
 * names the right that `use` needs. Settings that the user may not see are not compared.
 */
enum fail_code topics_query(rd_kafka_t *rk, const struct config *c, const struct topic_plan *p,
    struct topics_use use, struct topics_report *report, int timeout_ms, struct failure *f);
/*
 * Creates the topics that do not exist by the report, and waits until every partition of the plan
 * has a leader. Repeating it after a failure is safe: what exists by then is left alone.
 */
enum fail_code topics_create(rd_kafka_t *rk, const struct config *c, const struct topic_plan *p,
    const struct topics_report *report, int timeout_ms, struct failure *f);
/* Deletes those that exist by the report, with all records, and waits until no broker has them. */
enum fail_code topics_delete(rd_kafka_t *rk, const struct topic_plan *p,
    const struct topics_report *report, int timeout_ms, struct failure *f);

/*
 * FAIL_CONFIG with one sentence for the topics of the plan that do not exist by the report, and the
 * command that creates them.
 */
enum fail_code topics_fail_missing(const struct config *c, const struct topic_plan *p,
    const struct topics_report *report, struct failure *f);

/*
 * Asks whether the mix.name of the file was meant, because a mix with another name does not exist.
 * "Otherwise: " ends what it adds to the sentence.
 */
void topics_add_other_name(const struct config *c, struct failure *f);

/*
 * FAIL_CONFIG with one sentence for the first topic of `use` that is wrong ("topic demo.code: has 1
 * partition, the configuration wants 4; ..."). FAIL_BROKER as topics_fail_missing() if some are
 * missing: somebody may be about to create them, so that a scheduler that starts the command again
 * helps. Every command that reads or writes topics calls this at its start, for those that it uses.
 * Held-out sets of domains are checked only for those who write them.
 */
enum fail_code topics_check(rd_kafka_t *rk, const struct config *c, struct topics_use use,
    int timeout_ms, struct failure *f);

/*
 * Whether steps of that many sequences, a multiple of the lanes, fit the mix's topic of batches as
 * it is. FAIL_DATA: a lane's record could be larger than 64 MiB, or than the topic takes.
 * FAIL_BROKER: there is no answer, or no topic, which says nothing about the batch.
 */
enum fail_code topics_check_batch(rd_kafka_t *rk, const struct config *c, uint32_t global_batch,
    int timeout_ms, struct failure *f);

/* Warns, with one line, of the settings that were not compared because the user lacks a right. */
void topics_warn_hidden(
    rd_kafka_t *rk, const struct topic_plan *p, const struct topics_report *report);

/*
 * Warns, a line a cause, of topics that can lose acknowledged records: min.insync.replicas under 2
 * with 3 replicas or more (the last replica in sync may be the one that dies), an unclean election
 * (a replica that lags becomes leader, and the others are cut to its end), and a single replica
 * that is not flushed record by record (Kafka leaves that to the kernel, so that a machine that
 * dies takes the end of the log with it). With two replicas in sync flush settings do not matter,
 * unless all machines lose power together.
 */
void topics_warn_losses(const struct topic_plan *p, const struct topics_report *report);

/*
 * How long the broker keeps the committed offsets of a group without members, in minutes; -1: the
 * broker does not report it. Trainers that pause for longer lose their position there. FAIL_DENIED:
 * the user lacks DESCRIBE_CONFIGS on the cluster.
 */
enum fail_code topics_offsets_retention(
    rd_kafka_t *rk, int64_t *minutes, int timeout_ms, struct failure *f);

#endif
