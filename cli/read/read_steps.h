/*
 * read_steps.h -- what `riffle read` does once its options are read: reads step after step, of a
 * mix as a trainer or of a domain's held-out set, prints each, commits what is out.
 *
 * A step is printed and flushed before it is committed: whoever is killed prints it a second time,
 * and never skips it. A signal ends the reading after the step at hand.
 */
#ifndef CLI_READ_READ_STEPS_H
#define CLI_READ_READ_STEPS_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/metrics/metrics_listener.h"
#include "cli/read/read_output.h"
#include "common/base/failure.h"
#include "common/base/names.h"
#include "common/base/stop.h"
#include "common/config/config.h"

/* The options of the command, checked. */
struct read_steps_arguments {
	const char *mix, *run; /* of a mix */
	const char *domain;    /* of a set, or of `time` */
	const char *time;      /* from where on; NULL: `from_step` says it */
	uint32_t rank, world;  /* rank < world */
	uint32_t timeout_s;    /* for each step; 0: for ever */
	struct metrics_options metrics;
	uint64_t from_step;    /* where `from_step_given`; else the committed one */
	uint64_t steps;        /* at most so many */
	uint64_t commit_every; /* 0: nothing is committed */
	enum read_output_format format;
	enum names_set set;
	bool from_step_given;
	bool uneven; /* `world` need not divide the lanes */
};

/*
 * FAIL_NONE: read `steps`, or to the end of the mix, or stopped. FAIL_CONFIG: the batch topic has
 * other lanes than `c`, where that names this mix.
 */
enum fail_code read_steps_mix(const struct read_steps_arguments *a, const struct config *c,
    const struct stop *stop, FILE *to, struct failure *f);

/*
 * The set of a domain, once, in order of (partition, ordinal). It is printed as a mix is, 64
 * sequences as one step of one lane. FAIL_NONE: read `steps`, or to the end of the set, or stopped.
 */
enum fail_code read_steps_set(const struct read_steps_arguments *a, const struct config *c,
    const struct stop *stop, FILE *to, struct failure *f);

/*
 * Whether a read that ends must still commit: commits are on, and of the `steps` that were printed
 * whole only the first `committed` are committed. `cut` means that another step was printed in
 * part; a commit would count it, so there is none. Pure.
 */
bool read_steps_owes_commit(uint64_t commit_every, uint64_t steps, uint64_t committed, bool cut);

#endif
