/*
 * status_source.h -- how status_ask() is cut into files; private to status*.c.
 */
#ifndef CONSUMER_STATUS_STATUS_SOURCE_H
#define CONSUMER_STATUS_STATUS_SOURCE_H

#include <librdkafka/rdkafka.h>

#include "consumer/status/status.h"

enum {
	STATUS_ASK_MS = 15000, /* for one question */
	STATUS_SLICE_MS = 500,
};

struct status_asked_run; /* private to status_runs.c */

struct status_source {
	const struct config *config;
	rd_kafka_t *admin;
	rd_kafka_t *reader; /* is asked for watermarks too: then it knows the leaders */
	/*
	 * Of the groups <mix>.mixer and <mix>.election, each for its question alone; NULL: there is
	 * no mix, or the election was not asked yet, or did not answer in time when it was.
	 */
	rd_kafka_t *mixer, *election;
	bool mixers_warned;           /* that the election cannot be asked */
	struct status_asked_run *run; /* [runs_n] */
	size_t runs_n;
	struct status_partition **seen; /* [config->domains_n]: as it was at the last question */
	size_t *seen_n;
	bool kept_known; /* the first batch was read, when lane 0 began at kept_low */
	int64_t kept_low;
	uint64_t step_kept;
};

/* The report of the plan's topic of that kind and its name; NULL: it does not exist. */
const struct topics_report *status_topic(
    const struct status *st, enum topics_kind kind, int domain, const char **name);

/* Fills st->domain from the configuration, the ledger and the domain topics. */
enum fail_code status_ask_domains(struct status_source *s, struct status *st, struct failure *f);

/*
 * Fills st->run from the configuration and the ledger, with what is known of them without asking,
 * and opens what asks for each: it finds its coordinator while other questions are asked. What is
 * open from the last question stays so.
 */
enum fail_code status_open_runs(struct status_source *s, struct status *st, struct failure *f);
void status_close_runs(struct status_source *s);

/* Fills where the runs stand. */
enum fail_code status_ask_runs(struct status_source *s, struct status *st, struct failure *f);

/*
 * A handle that asks about group <mix>.<name>, to be ended with kafka_close(); NULL: it could not
 * be opened. Not the reader: that the user may not look for the group's coordinator librdkafka
 * tells once, to whoever polls the handle, and the reader would swallow it.
 */
rd_kafka_t *status_open_group(const struct config *c, const char *name, struct failure *f);

/* Opens what asks the election, where it is not: it finds the coordinator meanwhile. */
enum fail_code status_open_mixers(struct status_source *s, struct failure *f);

/* Fills st->mixer from the election's members; they stay unknown where they cannot be asked. */
enum fail_code status_ask_mixers(struct status_source *s, struct status *st, struct failure *f);

/* Fills st->feedback from the tail of the feedback topic. */
enum fail_code status_ask_feedback(struct status_source *s, struct status *st, struct failure *f);

#endif
