/*
 * status_source.h -- how status_ask() is cut into files; private to status*.c.
 */
#ifndef CONSUMER_STATUS_SOURCE_H
#define CONSUMER_STATUS_SOURCE_H

#include <librdkafka/rdkafka.h>

#include "consumer/status.h"

enum {
	STATUS_ASK_MS = 15000, /* for one question */
	STATUS_SLICE_MS = 500,
};

struct status_source {
	const struct config *config;
	rd_kafka_t *admin;
	rd_kafka_t *reader;             /* is asked for watermarks too: then it knows the leaders */
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

/* Fills st->mixer from the election's members; they stay unknown where they cannot be asked. */
void status_ask_mixers(struct status_source *s, struct status *st);

/* Fills st->feedback from the tail of the feedback topic. */
enum fail_code status_ask_feedback(struct status_source *s, struct status *st, struct failure *f);

#endif
