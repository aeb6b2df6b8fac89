/*
 * losses.h -- from the reports of ranks to the losses of whole steps; and the map of this room.
 *
 * The room carries losses from trainers to those who learn from them: a rank sends a report a step
 * to <mix>.feedback, and a reader of that topic puts the ranks' reports together again.
 *
 * Files of this room:
 *     reporter       sends a rank's reports
 *     feedback_feed  follows the topic, report by report
 *     losses         whole steps out of the reports of ranks; pure
 *     loss_history   the losses of a run over its steps; pure
 *
 *     rank 0: reporter --+
 *     rank 1: reporter --+--> <mix>.feedback --> feedback_feed --> losses --> whole steps, in order
 *     rank 2: reporter --+
 *
 * A step is open from its first report, and complete when each of its `world` ranks has reported.
 * Sums of the ranks are added up as they come. Steps leave in ascending order: the lowest open step
 * when it is complete. Where it is not, it is waited for, but not for ever, because a report can be
 * lost: once LOSSES_PATIENCE later steps are complete the lowest is given up. Example with a
 * patience of 2, two ranks; a letter is a rank's report:
 *
 *     reports     5a 5b | 6a | 7a 7b | 8b 8a |
 *     open        -     | 6  | 6 7   | 6 7 8 |   6 lacks b; 7 and 8 are complete
 *     handed out  5     |    |       |       |   6 is given up, then 7 and 8 are handed out
 *
 * What cannot be used is dropped and counted:
 *
 *     duplicate       the rank has reported this step already; the first report counts
 *     late            a step at or below one that was handed out, or given up: what a resumed
 *                     trainer reports again is such a one
 *     unknown_step    a step that the mix has not published
 *     unknown_domain  (a loss) a domain that is not followed
 *     not_a_number    (a loss) NaN, infinite, an excess or a count that is negative
 *     malformed       no report, another mix, a rank outside of its world
 *     other_run       a report of another run
 *     replaced        reports of an incomplete step that another world restarts: the run was
 *                     resumed with more or fewer ranks
 *     incomplete      steps given up because LOSSES_PATIENCE later ones were complete, or more than
 *                     LOSSES_OPEN_MAX were open: a rank's report was lost
 *
 * Not every step need be reported. Sums are added in the order in which the reports come: the same
 * topic gives the same bits.
 *
 * A reader that stopped continues at losses_step_next(), and reads the reports again from
 * losses_open_offset() on. It stopped at offset `again_end`. No step is handed out until the
 * reports below that offset are read again. Otherwise a step that had waited for a lower one could
 * be complete before the lower one's first report is read, and that report would count as late.
 *
 *     reports     4a 6a 6b 5a 4b |          4 is handed out; 5 and 6 are open, since 6a: it stops
 *     again          6a 6b 5a 4b | 5b       hands out 5 and 6, after the bar
 *
 * Invariants: open steps ascend, are at or above step_next, and at most LOSSES_OPEN_MAX; `reported`
 * is the number of bits set in a step's `rank`, at most its world; complete_n counts the open steps
 * that are complete.
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

/* Nats a token; a mean beyond it counts as this, so that what learns from it cannot overflow. */
#define LOSSES_MEAN_MAX 1e6

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

/* The mean loss, within LOSSES_MEAN_MAX either way; tokens > 0. */
double losses_mean(double sum, int64_t tokens);

/* Means over tokens, in nats a token. */
struct losses_means {
	double loss, excess;
	int64_t tokens; /* 0: none were reported, and the means are 0 */
};

/*
 * The mean m of n tokens with another one x of k tokens is m + (x - m) * k / (n + k), which needs
 * no sum of losses: a sum of large sums may be infinite, a mean of means is not.
 */
void losses_add_mean(struct losses_means *to, const struct losses_sum *s);

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
	int64_t again_end;  /* reports at lower offsets are read again; 0: none */
};

struct losses;

/* Gives *out, to be ended with losses_close(). Copies the options. FAIL_MEMORY only. */
enum fail_code losses_open(struct losses **out, const struct losses_options *o, struct failure *f);
void losses_close(struct losses *l); /* NULL is accepted */

/* The mix has published the steps below `step_limit`, which is INT64_MAX at first. */
void losses_set_limit(struct losses *l, int64_t step_limit);

/*
 * Takes one report, which stood at `offset`, or drops and counts it. NULL stands for a record that
 * is no report. After each report the caller takes what losses_next() has. FAIL_MEMORY only.
 */
enum fail_code losses_add(
    struct losses *l, const struct feedback *b, int64_t offset, struct failure *f);

/*
 * The next complete step, borrowed until the next call on `l`; false: there is none yet. With
 * `last`, because no more reports will come, incomplete steps below a complete one are given up.
 */
bool losses_next(struct losses *l, bool last, struct losses_step *out);

/* All steps below were handed out or given up. */
int64_t losses_step_next(const struct losses *l);

/* Offset of the first report that an open step rests on; -1: none is open. */
int64_t losses_open_offset(const struct losses *l);

/* The domain of the first loss that was dropped because the domain is not followed; "": none. */
const char *losses_unknown(const struct losses *l);

/* What was dropped so far, borrowed; the caller may set it, to continue an earlier run's counts. */
struct losses_counts *losses_counted(struct losses *l);

#endif
