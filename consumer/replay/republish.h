/*
 * republish.h -- writes replayed steps to the topics of another mix, with a ledger of its own.
 *
 * A replay derives steps; republishing gives them to a second mix as if a mixer had published them
 * there. The other mix can be read, and be replayed. Its ledger has the states of the first mix at
 * the same steps, under its own name, and ends with an END at the end of the range.
 *
 * Where its transactions end. Each record of the first ledger that was derived ends one
 * (republish_record()): what a record changes from outside (lengths, answers to requests, another
 * configuration) is then at the same step in both ledgers. A transaction that grows beyond
 * mix.transaction_bytes ends earlier, at the step at hand (republish_step()).
 *
 *     open -----> waiting for step `next` --republish_begin()--> writing --step `end`--> complete
 *       |                                    START                                END      ^
 *       +------ the other mix has its END already: nothing is left to write ---------------+
 *
 * Interrupted work is resumed. open fences whoever wrote there, then reads what is committed: steps
 * from `first` on, and no more than the range, with the rolling hash of all choices at `next`. When
 * the replay arrives at `next`, republish_begin() compares that hash: a mix that holds other steps
 * is refused.
 *
 * Thread: one.
 */
#ifndef CONSUMER_REPLAY_REPUBLISH_H
#define CONSUMER_REPLAY_REPUBLISH_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/config/config.h"
#include "common/record/ledger.h"
#include "consumer/derive/assembler.h"
#include "consumer/derive/lane_record.h"
#include "consumer/mixer/mixer.h"

struct republish_options {
	const struct config *config; /* of the mix that is replayed */
	const char *mix;             /* the other one */
	uint64_t first, end;         /* steps, half open; first < end */
};

struct republish;

/*
 * Makes the topics that are missing, fences earlier writers. Gives *out, to be ended with
 * republish_close(); what `o` points to is borrowed until then. FAIL_USAGE: it is the same mix.
 * FAIL_DATA: it holds other steps than a beginning of the range.
 */
enum fail_code republish_open(
    struct republish **out, const struct republish_options *o, struct failure *f);
void republish_close(struct republish *p); /* NULL is accepted */

/* The other mix holds the whole range, and its end. */
bool republish_complete(const struct republish *p);
/* Steps that were committed since the opening. */
uint64_t republish_steps(const struct republish *p);

/*
 * In all of these `now` is the ledger record that is being derived: its schedule, tokenizer and
 * configuration are the other ledger's too. FAIL_FENCED: another process writes the other mix.
 */

/* `m` is about to draw a step; where that is `next`, starts the other mix there or resumes it. */
enum fail_code republish_begin(
    struct republish *p, const struct mixer *m, const struct ledger *now, struct failure *f);
/* `step` was just taken by `m`, and `head` is what its records have of the mix. */
enum fail_code republish_step(struct republish *p, const struct mixer *m,
    const struct assembled *step, const struct lane_mix *head, const struct ledger *now,
    struct failure *f);
/* `now` is derived whole and found right: the other ledger gets it. */
enum fail_code republish_record(struct republish *p, const struct ledger *now, struct failure *f);

#endif
