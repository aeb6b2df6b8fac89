/*
 * status_query_internal.h -- what status_query.c and its parts share: the handles, and what each
 * part reads. Only the files of the query include it.
 *
 * Order matters, and status_query.c keeps it. First come the topics, by which the other parts know
 * what exists; then the ledger, which names domains and runs that the configuration does not. The
 * handles of groups are opened before the domain topics are read: a handle finds its coordinator
 * in the background meanwhile, which takes some 100 ms that nobody waits for then.
 */
#ifndef CONSUMER_STATUS_STATUS_QUERY_INTERNAL_H
#define CONSUMER_STATUS_STATUS_QUERY_INTERNAL_H

#include <librdkafka/rdkafka.h>

#include "common/kafka/kafka_groups.h"
#include "consumer/domain/last_drawn.h"
#include "consumer/feedback/feedback_feed.h"
#include "consumer/feedback/losses.h"
#include "consumer/plan/ledger_plan.h"
#include "consumer/status/status_query.h"

/* What is kept of a ledger record for the rates, and for when runs went on. */
struct status_record {
	int64_t offset;
	struct status_sample sample;
	struct status_step *run; /* [runs_n] */
	size_t runs_n;
};

/* The last record of the ledger, as bytes. */
struct status_last {
	uint8_t *bytes; /* [n]; NULL: none was read */
	size_t n;
	int64_t offset, time_ms;
	int64_t low, high; /* of the topic, when it was looked for */
};

struct status_step {
	char name[NAME_MAX_BYTES + 1];
	int64_t step;
};

enum {
	STATUS_RECORDS = 64, /* of the ledger, the last ones, are kept */
	STATUS_QUERY_SLICE_MS = 500,
};

/* Whose first and last offsets are asked for together. */
enum {
	STATUS_ENDS_LEDGER,
	STATUS_ENDS_BATCHES,
	STATUS_ENDS_CONTROL,
	STATUS_ENDS_REJECTS,
	STATUS_ENDS_ARRIVALS,
	STATUS_ENDS
};

/* What was seen of <corpus>.arrivals so far. */
struct status_arrivals {
	int64_t next;                  /* records below this offset were looked at */
	int64_t foreign, first_offset; /* records that cannot be read; of the first one */
	bool warned;                   /* that the topic may not be read */
};

struct status_queried_run; /* private to status_runs.c */

struct status_query {
	const struct config *config; /* borrowed */
	rd_kafka_t *admin;
	rd_kafka_t *reader; /* watermarks too are asked of it: it then knows the leaders */
	/*
	 * Of the groups <mix>.mixer and <mix>.election, each for that group alone. NULL: there is
	 * no mix; for the election also not asked yet, or it did not answer in time when it was.
	 */
	rd_kafka_t *mixer, *election;
	bool mixers_warned;             /* that the election does not answer */
	struct status_queried_run *run; /* [runs_n] */
	size_t runs_n;
	struct status_partition **seen; /* [config->domains_n][seen_n]: as at the last read */
	size_t *seen_n;
	bool ends_seen; /* the ends of the lanes were compared with the ledger */
	struct recipe_differences *differs;          /* [config->domains_n]; NULL: not asked yet */
	struct status_record record[STATUS_RECORDS]; /* [records_n], oldest first */
	size_t records_n;
	int64_t records_from; /* records below this offset were not read; -1: none was */
	struct status_last last;
	/* Of partition 0 of the topics of mix and corpus that have one; low -1: it is not there. */
	struct status_ends {
		int64_t low, high;
	} ends[STATUS_ENDS];
	struct status_arrivals arrivals;
	struct last_drawn drawn; /* beside the last record of the ledger */
	/* [others_n] by the ledger's index: status_domain.other; NULL: not compared yet. */
	char (*other)[STATUS_PROBLEM_BYTES];
	size_t others_n;
	int64_t others_of; /* the ends of all domains, summed up, when they were compared */
	struct status_query_pace pace;
	int64_t now_ms; /* monotonic, of this read */
	/* When each part was read last, monotonic; 0: it is to be read. */
	int64_t topics_ms, domains_ms, losses_ms, mixers_ms;
	struct topics_report *report; /* [reports_n] */
	size_t reports_n;
	struct status_mixer mixer_kept[STATUS_MIXERS]; /* [mixers_n] */
	size_t mixers_n;
	bool mixers_known;
	struct feedback_feed *feed;       /* NULL: not open */
	struct status_feedback *feedback; /* [feedback_n], of feedback_domains domains */
	size_t feedback_n, feedback_domains;
	/* Of the status, by the ledger's text (NULL: none was compared), topics and lengths. */
	struct failure config_why;
	bool config_fixed;
	char *config_of;
	int64_t config_topics_ms;
	uint64_t config_lengths; /* hash */
	struct ledger_plan plan; /* of the text plan_of (NULL: none), or empty where that is none */
	char *plan_of;
	bool kept_known; /* the first batch was read, when lane 0 began at kept_low */
	int64_t kept_low;
	uint64_t step_kept;
};

/* ---- status_query.c, for the parts ---- */

/*
 * Hands the visible records of [from, end) of partition 0 to `take` until it returns false, or the
 * partition ends, or time is up. Then *late is set: what was read is shown, and is incomplete.
 */
enum fail_code status_query_range(rd_kafka_t *rk, const char *topic, int64_t from, int64_t end,
    bool (*take)(const rd_kafka_message_t *, void *), void *to, bool *late, struct failure *f);

/* Whether a part that was read at `read_ms` is older than `pace_ms` allows. */
bool status_query_due(const struct status_query *q, int64_t read_ms, int64_t pace_ms);

/* The report of the plan's topic of that kind, and its name; NULL: the topic does not exist. */
const struct topics_report *status_query_topic(
    const struct status *st, enum topic_kind kind, int domain, const char **name);

/*
 * A handle that asks about group <mix>.<name>, to be ended with kafka_close(); NULL: it could not
 * be opened. Each group needs its own. librdkafka reports once that the user may not look for the
 * group's coordinator, to whoever polls the handle, and a handle that reads as well would swallow
 * that report.
 */
rd_kafka_t *status_query_open_group(const struct config *c, const char *name, struct failure *f);

/* ---- status_records.c ---- */

/*
 * Reads the records of the ledger from `from` on to its last one, which is st->ledger, but for
 * those that are kept from the last read; fills st->sample and st->seen from them.
 */
enum fail_code status_records_read(
    struct status_query *q, struct status *st, const char *topic, int64_t from, struct failure *f);
void status_records_close(struct status_query *q);

/* ---- status_arrivals.c ---- */

/* Counts foreign records of the arrivals topic. A right that is missing is a warning, once. */
enum fail_code status_arrivals_read(struct status_query *q, struct status *st, struct failure *f);

/* ---- status_domains.c ---- */

/* Fills st->domain from the configuration, the ledger and the domain topics. */
enum fail_code status_domains_read(struct status_query *q, struct status *st, struct failure *f);

/* ---- status_runs.c ---- */

/*
 * Fills st->run from the configuration and the ledger with what is known without a request, and
 * opens a handle for each run. What is open from the last read stays open. `groups`: also runs that
 * only a group of commits tells of.
 */
enum fail_code status_runs_open(
    struct status_query *q, struct status *st, bool groups, struct failure *f);
void status_runs_close(struct status_query *q);

/* Fills the positions of the runs. */
enum fail_code status_runs_read(struct status_query *q, struct status *st, struct failure *f);

/* ---- status_mixers.c ---- */

/* Opens the election's handle, where it is not open. */
enum fail_code status_mixers_open(struct status_query *q, struct failure *f);

/* Fills st->mixer from the election's members; they stay unknown where it does not answer. */
enum fail_code status_mixers_read(struct status_query *q, struct status *st, struct failure *f);

/* ---- status_losses.c ---- */

/*
 * Reports of a part of the feedback topic: each goes to every run's book of losses, which takes its
 * own. Fills st->feedback, which must be empty, by the names of st->domain.
 */
struct status_tail {
	struct status *st;                       /* borrowed */
	const char **domain;                     /* [st->domains_n] */
	struct losses *of[STATUS_FEEDBACK_RUNS]; /* [st->feedback_n] */
};

/* Begins the books of st->run; those of others begin with their first report. */
enum fail_code status_tail_open(struct status_tail *t, struct failure *f);
void status_tail_close(struct status_tail *t); /* also after a failure */

/*
 * The reports of [from, end); steps that are complete behind an open one count at the end. Sets
 * STATUS_PART_LOSSES of t->st->late if time is up before.
 */
enum fail_code status_tail_read(struct status_tail *t, struct feedback_feed *feed, int64_t from,
    int64_t end, struct failure *f);

void status_losses_close(struct status_query *q);

/* Fills st->feedback from the tail of the feedback topic. */
enum fail_code status_losses_read(struct status_query *q, struct status *st, struct failure *f);

/* ---- what answers mean; pure ---- */

enum { STATUS_SAMPLES_BYTES = 4 << 20 /* that the records read for the rates have together */ };

/* The ends of a partition. What its last record told stands while they are the same. */
void status_partition_take(struct status_partition *p, int64_t low, int64_t high);

/* Adds up what the partitions of a domain hold; its length is known once all are sealed. */
void status_domain_sum(struct status_domain *d);

/* Adds the members of the election: those that are active, then the standbys. */
void status_mixers_take(struct status *st, const struct kafka_member *member, size_t n);

/* Whether a topic with these ends is still the one in which `last` was found, and has it. */
bool status_last_stands(const struct status_last *last, int64_t low, int64_t high);

/*
 * From which offset the ledger is read for the rates. Each record of the ledger is the only one of
 * its partition in its transaction, and a marker follows it: n records take 2n offsets. So the
 * record that is n - 1 records older than the last one, at `offset`, is at offset - 2 * (n - 1).
 * Records may be large (a quarantine, thousands of partitions): the size of the last one limits how
 * many are read.
 */
int64_t status_samples_from(int64_t offset, size_t record_bytes, int64_t low);

#endif
