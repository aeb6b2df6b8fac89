/*
 * plan_lengths.h -- how long the domains are that `riffle plan` plans for: as the command line
 * says, as the broker knows it, or without end.
 *
 * A length is kept for each partition, since the mixer draws from the partitions of a domain in
 * rounds, and one that ends drops out of them. --sizes names a total, which is dealt as evenly as
 * can be: 10 sequences on 4 partitions are 3 3 2 2. A producer deals whole documents, so that real
 * partitions differ a little, and with them the order of draws inside of a domain; how often the
 * domain is drawn does not depend on it.
 */
#ifndef CLI_PLAN_PLAN_LENGTHS_H
#define CLI_PLAN_PLAN_LENGTHS_H

#include "common/base/failure.h"
#include "common/config/config.h"
#include "consumer/plan/config_plan.h"
#include "consumer/status/status.h"

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

/*
 * What the topics hold now. Where a mix of this name has begun with this file and a request governs
 * it, its weights, temperature and batch take the place of the file's in `c`, and a warning says
 * so. FAIL_CONFIG: a domain that is neither live nor sealed, without a topic, or with other
 * partitions than the configuration says. FAIL_BROKER.
 */
enum fail_code plan_lengths_ask(struct plan_lengths *out, struct config *c, struct failure *f);

/*
 * Its two decisions, without I/O: of a status that was read; and of a derived status, for the
 * weights.
 */
enum fail_code plan_lengths_take(
    struct plan_lengths *out, const struct config *c, const struct status *st, struct failure *f);
void plan_lengths_take_weights(struct config *c, const struct status *st);

/* Every domain has PLAN_LENGTHS_ENDLESS sequences. */
enum fail_code plan_lengths_endless(
    struct plan_lengths *out, const struct config *c, struct failure *f);

enum { PLAN_LENGTHS_STEPS_MAX = 1000000 };

/*
 * As many steps as draw as many sequences as there are, and the first step of every phase.
 *
 * Example: 2115 + 4217 sequences, 16 a step: 6332 / 16 is 395.75, so 396 steps. With a phase that
 * starts at step 500 it is 501. A domain that is drawn more than its size asks for is repeated
 * then, which is what the table is to show.
 */
uint64_t plan_lengths_steps(const struct plan_lengths *lengths, const struct config *c);

void plan_lengths_close(struct plan_lengths *p); /* a zeroed one is accepted */

#endif
