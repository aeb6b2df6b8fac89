/*
 * topics_job.h -- the topics that a configuration needs, as the broker has them: asked about, made,
 * deleted, printed, judged.
 *
 *     TOPIC              PARTITIONS  MAX.MESSAGE.BYTES  STATE
 *     quick.code                  1            1048576  present
 *     quick.prose                 1            1048576  missing
 *     pretrain.batches            4            1048576  present
 *     pretrain.ledger             1           25231360  present
 *
 *     replication=1 retention.ms=-1 retention.bytes=-1 cleanup.policy=delete ...
 *
 * Numbers are those of the plan, also where the topic has others: STATE then says what differs.
 * What this command made is "created", what it deleted "deleted".
 *
 *     topics_job_open   [delete] [create]   warn, print   judge   topics_job_close
 *
 * Each change ends with a new report, so that what is printed and judged is what the broker has
 * now, and not what was asked for.
 */
#ifndef CLI_TOPICS_TOPICS_JOB_H
#define CLI_TOPICS_TOPICS_JOB_H

#include <librdkafka/rdkafka.h>
#include <stddef.h>
#include <stdio.h>

#include "common/base/failure.h"
#include "common/config/config.h"
#include "common/config/topic_plan.h"
#include "common/kafka/topics.h"

/* Which topics are deleted; all of the plan where nothing is named. */
struct topics_choice {
	bool mix;            /* those of the mix */
	bool corpus;         /* those of all domains, rejects and arrivals */
	char *const *domain; /* [domains_n]: those of these domains; borrowed */
	size_t domains_n;
};

enum topics_change { TOPICS_UNCHANGED, TOPICS_DELETED, TOPICS_CREATED };

struct topics_job {
	const struct config *config; /* borrowed: outlives the job */
	rd_kafka_t *rk;
	struct topic_plan *plan;
	struct topics_report *report; /* [plan->n], as asked last */
	struct topics_use use;        /* what is done with them */
	bool *chosen;                 /* [plan->n]: to be deleted */
	enum topics_change *change;   /* [plan->n]: what this job did last with each */
	bool *domain;                 /* [config->domains_n]: has a train topic that is chosen */
};

/* Gives *out, to be ended with topics_job_close(): connects, and asks about every topic. */
enum fail_code topics_job_open(
    struct topics_job **out, const struct config *c, bool deletes, struct failure *f);
void topics_job_close(struct topics_job *j); /* NULL is accepted */

/* How many of the topics exist, by the last report. */
size_t topics_job_existing(const struct topics_job *j);

/* FAIL_USAGE: a domain or a mix that the configuration does not have. */
enum fail_code topics_job_choose(
    struct topics_job *j, const struct topics_choice *choice, struct failure *f);

/*
 * Whether domains may go: FAIL_CONFIG names a mix of another file that has one of them, or with
 * `drawn` any mix that has drawn from one. `force`: they are named in a warning.
 */
enum fail_code topics_job_check_mixes(
    struct topics_job *j, bool drawn, bool force, struct failure *f);

/*
 * Lists what is chosen and exists, warns of an active mixer of a chosen mix, and asks.
 * FAIL_STOPPED: the person at the terminal answered something else than "yes". A script has no
 * terminal: it must give --yes (FAIL_USAGE).
 */
enum fail_code topics_job_confirm(const struct topics_job *j, bool yes, struct failure *f);

/*
 * Deletes those that are chosen and exist (only where the job was opened with `deletes`), makes
 * those that are missing; the report is new afterwards. A topic that exists is never changed.
 */
enum fail_code topics_job_delete(struct topics_job *j, struct failure *f);
enum fail_code topics_job_create(struct topics_job *j, struct failure *f);

/* A line a topic with what is wrong with it, and the settings that all have. */
void topics_job_print(const struct topics_job *j, FILE *to);

/*
 * Logs warnings: of settings by which records may be lost, of domains that have lost their first
 * ones, and where the broker forgets committed offsets too soon.
 */
enum fail_code topics_job_warn(const struct topics_job *j, struct failure *f);

/* FAIL_CONFIG: a topic is missing or wrong; so the exit code tells a script. */
enum fail_code topics_job_judge(const struct topics_job *j, struct failure *f);

#endif
