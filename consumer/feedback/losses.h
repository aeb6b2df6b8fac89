/*
 * losses.h -- from the reports of ranks to the losses of whole steps.
 *
 * A step is complete when each of its `world` ranks has reported; then the sums of the ranks are
 * added up, and steps are handed out in order. What cannot be used is dropped and counted:
 *
 *     duplicate       the rank has reported this step already; the first report counts
 *     late            a step at or below one that was handed out, or given up: what a resumed
 *                     trainer reports again is such a one
 *     unknown_step    a step that the mix has not published
 *     unknown_domain  (a loss) a domain that is not followed
 *     not_a_number    (a loss) NaN, infinite, an excess or a count that is negative
 *     malformed       no report, another mix, a rank outside of its world
 *     other_run       a report of another run
 *     replaced        reports of an incomplete step that another world begins anew: the run was
 *                     resumed with more or fewer ranks
 *     incomplete      steps given up because LOSSES_PATIENCE later ones were complete, or more than
 *                     LOSSES_OPEN_MAX were open: a rank's report was lost
 *
 * Not every step need be reported. Sums are added in the order in which the reports come: the same
 * topic gives the same bits.
 *
 * No I/O. Thread: one. Memory: at most LOSSES_OPEN_MAX * (24 bytes * domains + 512).
 */
#ifndef CONSUMER_FEEDBACK_LOSSES_H
#define CONSUMER_FEEDBACK_LOSSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/record/feedback.h"

enum {
	LOSSES_DOMAINS_MAX = 4096,
	LOSSES_RANKS_MAX = 4096,
	LOSSES_OPEN_MAX = 256,
	LOSSES_PATIENCE = 32,
};

#define LOSSES_MEAN_MAX                                                                            \
	1e6 /* nats a token; what is above counts as so much, lest sums overflow                   \
	     */

/* Over the tokens of one domain. */
struct losses_sum {
	double loss_sum, excess_sum;
	int64_t tokens;
};

struct losses_counts {
	uint64_t reports; /* that count */
	uint64_t duplicate, late, unknown_step, malformed, other_run, replaced, incomplete;
	uint64_t unknown_domain, not_a_number; /* losses */
};

/* A mean loss, within LOSSES_MEAN_MAX either way; tokens > 0. */
double losses_mean(double sum, int64_t tokens);

/* A complete step. */
struct losses_step {
	int64_t step;
	uint32_t world;
	const struct losses_sum *sum; /* [domains_n], in the order of losses_options.domain */
};

struct losses_options {
	const char *mix, *run;
	const char *const *domain; /* [domains_n], distinct */
	size_t domains_n;
	int64_t step_first; /* lower ones are late */
};

struct losses;

/* Gives *out, to be ended with losses_close(). Copies the options. */
enum fail_code losses_open(struct losses **out, const struct losses_options *o, struct failure *f);
void losses_close(struct losses *l); /* NULL is accepted */

/* The mix has published the steps below; INT64_MAX at first. */
void losses_set_limit(struct losses *l, int64_t step_limit);

/*
 * Takes one report, which stood at `offset`, or drops and counts it. NULL stands for a record that
 * is no report. After each report the caller takes what losses_next() has. FAIL_MEMORY only.
 */
enum fail_code losses_add(
    struct losses *l, const struct feedback *b, int64_t offset, struct failure *f);

/*
 * The next complete step, borrowed until the next call on `l`; false: there is none yet. With
 * `last`, for no more reports will come, incomplete steps below a complete one are given up.
 */
bool losses_next(struct losses *l, bool last, struct losses_step *out);

/* All steps below were handed out or given up. */
int64_t losses_step_next(const struct losses *l);

/* Offset of the first report that an open step rests on; -1: none is open. */
int64_t losses_open_offset(const struct losses *l);

/* What was dropped so far; the caller may set it, to go on from an earlier run. */
struct losses_counts *losses_counted(struct losses *l);

#endif
