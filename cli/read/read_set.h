/*
 * read_set.h -- `riffle read --set`: a domain's held-out set, once, in order of (partition,
 * ordinal).
 *
 * Printed as a mix is (read_output.h), READ_SET_SEQUENCES sequences as one step of one lane.
 */
#ifndef CLI_READ_READ_SET_H
#define CLI_READ_READ_SET_H

#include <stdbool.h>
#include <stdio.h>

#include "common/base/stop.h"
#include "cli/read/read_output.h"

enum { READ_SET_SEQUENCES = 64 };

struct read_set_plan {
	enum read_format format;
	uint64_t steps;                              /* at most so many */
	uint32_t timeout_s;                          /* for each step; 0: for ever */
	const struct stop *stop;                     /* asked: end after the step at hand */
	const struct riffle_validation_options *set; /* its token_bytes is 4 */
};

/* FAIL_NONE: read `steps`, or to the end of the set, or stopped. Borrows all of `p`. */
enum fail_code read_set(const struct read_set_plan *p, FILE *to, struct failure *f);

#endif
