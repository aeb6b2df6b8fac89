/*
 * plan_lengths.h -- how long the domains are that `riffle plan` plans for: as the command line
 * says, as the broker knows it, or without end.
 */
#ifndef CLI_PLAN_PLAN_LENGTHS_H
#define CLI_PLAN_PLAN_LENGTHS_H

#include "common/config/config.h"
#include "common/base/failure.h"
#include "consumer/plan/config_plan.h"

/* Sequences of a domain that has no end: more than any plan draws. */
#define PLAN_LENGTHS_ENDLESS (UINT64_C(1) << 40)

struct plan_lengths {
	size_t n; /* domains of the configuration */
	struct config_plan_length *length;
};

/* Each gives *out, to be ended with plan_lengths_close(). */

/* "web=7000,code=1000": every domain, in any order; dealt evenly to the domain's partitions. */
enum fail_code plan_lengths_parse(
    struct plan_lengths *out, const struct config *c, const char *text, struct failure *f);

/* What the topics hold now. FAIL_CONFIG: one that is neither live nor sealed. */
enum fail_code plan_lengths_ask(
    struct plan_lengths *out, const struct config *c, struct failure *f);

enum fail_code plan_lengths_endless(
    struct plan_lengths *out, const struct config *c, struct failure *f);

void plan_lengths_close(struct plan_lengths *p); /* a zeroed one is accepted */

#endif
