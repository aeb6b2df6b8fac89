/*
 * reweight_job.h -- what `riffle reweight` works on: its options, the domains that it learns
 * weights for, and what it has learned.
 *
 *     reweight_job_open  [reweight_state_load]  reweight_loop  reweight_print_  reweight_job_close
 *
 * A job that is opened has learned nothing, under a new id. reweight_state.h sets what an earlier
 * run has learned, and its id.
 */
#ifndef CLI_REWEIGHT_REWEIGHT_JOB_H
#define CLI_REWEIGHT_REWEIGHT_JOB_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/config/config.h"
#include "common/record/ledger.h"
#include "consumer/feedback/losses.h"
#include "consumer/reweight/reweight.h"

enum { REWEIGHT_JOB_ID_BYTES = 17 };

/* The options of the command, checked. NULL: not given. */
struct reweight_job_arguments {
	const char *mix, *run, *out, *reference, *floor, *ceiling;
	enum reweight_method method;
	bool offline, live, anew, json;
	uint64_t every, interval_s, until_step;
	double eta, smoothing, memory;
};

struct reweight_job {
	const struct reweight_job_arguments *a;
	const struct config *config;
	char **domain;     /* [domains_n], learned, sorted by bytes */
	double *reference; /* [domains_n], sum 1; NULL: none */
	size_t domains_n;
	struct reweight *learner;

	/* Its position; with the learner this is what the state file holds. */
	char id[REWEIGHT_JOB_ID_BYTES]; /* of this learning: requests are named after it */
	int64_t offset_next;    /* feedback to read next, also a second time for open steps */
	int64_t offset_counted; /* what was dropped below is counted already */
	int64_t step_next;
	uint64_t asked, refused; /* requests */
	struct losses_counts counts;

	/* The last step that was learned from, over all domains; not kept. */
	int64_t last_step; /* -1: none since the start */
	struct losses_means last;
};

/*
 * Fills a zeroed *job, to be ended with reweight_job_close(), also where it failed: domains of the
 * ledger that are drawn from and, with a configuration, in it. Keeps `a` and `c`. FAIL_USAGE,
 * FAIL_CONFIG: bounds or the reference's weights do not fit these domains.
 */
enum fail_code reweight_job_open(struct reweight_job *job, const struct reweight_job_arguments *a,
    const struct config *c, const struct ledger *last, struct failure *f);
void reweight_job_close(struct reweight_job *job);

/* Gives *out (json_decref): the object in a file of weights or of a state. FAIL_CONFIG. */
enum fail_code reweight_job_read_json(json_t **out, const char *path, struct failure *f);

#endif
