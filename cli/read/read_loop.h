/*
 * read_loop.h -- what `riffle read` does once its options are read: opens a reader, prints step
 * after step, commits what is out, ends.
 */
#ifndef CLI_READ_READ_LOOP_H
#define CLI_READ_READ_LOOP_H

#include <stdbool.h>
#include <stdio.h>

#include "common/base/stop.h"
#include "cli/read/read_output.h"

struct read_plan {
	enum read_format format;
	uint64_t steps;          /* at most so many */
	uint64_t commit_every;   /* 0: nothing is committed */
	uint32_t timeout_s;      /* for each step; 0: for ever */
	uint32_t lanes;          /* what the configuration says; 0: any number is right */
	const struct stop *stop; /* asked: end after the step at hand */
	const struct riffle_options *reader; /* its token_bytes is 4 */
};

/* FAIL_NONE: read `steps`, or to the end of the mix, or stopped. Borrows all of `p`. */
enum fail_code read_loop(const struct read_plan *p, FILE *to, struct failure *f);

/* An error of libriffle's as ours. */
enum fail_code read_loop_fail(struct failure *f, const struct riffle_error *e);

#endif
