/*
 * lead.h -- how far the mixer may run ahead of the trainers.
 *
 * A run of trainers stands at the lowest step that its group has committed over all lanes; one
 * without a commit stands at step 0 (run_position.h). With max_lead_steps m > 0 only steps below
 * (lowest run's step + m) are published; 0: no limit. Example, m = 100:
 *
 *     run      stands at
 *     main     step 250
 *     eval     step 180      the slowest: steps 0..279 are published, then the mixer waits
 *
 * Why at all: broker topics are kept for a time or a size. A mixer without a limit would publish a
 * mix of weeks in hours, and a run that is slower than the topic's retention would lose steps.
 *
 * Dead runs. A run in mix.runs that nobody trains any more holds the mixer up for ever: MIX-LEAD
 * names it once a minute, and only taking it out of mix.runs helps. The other way round, a
 * broker forgets the commits of a group in which nothing happens for offsets.retention.minutes.
 * Such a run would stand at step 0, and a mixer that is already m steps ahead of that would wait
 * for ever, while a resumed trainer would start from nothing. So each ledger record says where the
 * runs stood, and a mixer that attaches refuses (lead_attach()) when the ledger knows a step of a
 * run and the broker no commit.
 *
 * The known position only grows. What a record says of a run is the highest step that the broker or
 * an earlier record has known, for every run that was ever in mix.runs. Were it the broker's answer
 * of the moment, one deleted group would undo itself:
 *
 *     1. main has committed step 250, and the ledger knows it. Somebody deletes the offsets of its
 *        group.
 *     2. A trainer that restarts now is refused, rightly: the ledger knows step 250.
 *     3. Any request is answered, and the mixer writes a record. With the broker's answer in it,
 *        that record would say step 0.
 *     4. The trainer restarts again. Ledger and broker agree on step 0, and it trains from there.
 *
 * A run may go back, because its trainer has loaded an older checkpoint: the lead goes by its
 * commits, the known position stays, and MIX-RUN-BACK names both. A run whose commits disappear
 * under a running mixer keeps the lead where it was: MIX-RUN-LOST.
 *
 * Only a request takes the known position back (lead_reset(), `riffle runs --reset`). Whoever asks
 * for it has set the run's commits to that step before, so that ledger and broker agree again. A
 * mixer that attaches takes what the ledger says: another mixer may have granted a reset meanwhile.
 *
 * Invariant: known >= step of each run.
 *
 * Thread: one.
 */
#ifndef CONSUMER_PUBLISH_LEAD_H
#define CONSUMER_PUBLISH_LEAD_H

#include <librdkafka/rdkafka.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/config/config.h"
#include "common/record/ledger.h"
#include "consumer/ledger/run_position.h"

struct lead;

/* Gives *out, to be ended with lead_close(); borrows the configuration. */
enum fail_code lead_open(struct lead **out, const struct config *c, struct failure *f);
void lead_close(struct lead *l); /* NULL is accepted */

/*
 * Asks the broker for every run's commits. FAIL_BROKER: it did not answer. FAIL_DATA: a commit is
 * no step. What was known of the runs that were not reached stays. Warns where a run went back, or
 * has lost its commits.
 */
enum fail_code lead_ask(struct lead *l, struct failure *f);

/* The first step that must not be published yet; UINT64_MAX: no limit. */
uint64_t lead_limit(const struct lead *l);

/* The run that stands lowest, and its step; "" and 0 where mix.runs is empty. Borrowed. */
const char *lead_slowest(const struct lead *l, uint64_t *step);

/* The runs of mix.runs: their number, and the i-th with its step. Borrowed. */
size_t lead_runs(const struct lead *l);
const char *lead_run(const struct lead *l, size_t i, uint64_t *step);

/* Whether the broker knows a commit of the i-th. */
bool lead_committed(const struct lead *l, size_t i);

/* How far apart its lanes stand, as run_position_apart() of the last lead_ask(). Borrowed. */
const char *lead_apart(const struct lead *l, size_t i);

/* The mixer has waited so long for lead_slowest(); how long so far for the i-th. */
void lead_blocked(struct lead *l, int64_t ms);
int64_t lead_blocked_ms(const struct lead *l, size_t i);

/*
 * Takes a run's known position to `to`, a published step, in the next record; *from: where it was
 * known before. FAIL_DATA: the reason why not, for who asked: ledger and mix.runs do not know the
 * run, or its commits do not stand at `to` on every lane. FAIL_BROKER as lead_ask().
 */
enum fail_code lead_reset(
    struct lead *l, const char *run, uint64_t to, uint64_t *from, struct failure *f);

/*
 * Takes what the ledger's last record knows of all runs; after lead_ask(). FAIL_CONFIG: a run of
 * mix.runs stands at a step in the ledger, and the broker knows no commit of it.
 */
enum fail_code lead_attach(struct lead *l, const struct ledger *last, struct failure *f);

/* Fills to->run: the known position of every run. FAIL_DATA: more than LEDGER_RUNS_MAX. */
enum fail_code lead_save(const struct lead *l, struct ledger *to, struct failure *f);

/* ---- one run, with plain values ---- */

enum { LEAD_BACK_AGAIN_MS = 60000 };

/* Zeroed: nothing is known. */
struct lead_run {
	bool any;        /* the broker knows a commit */
	uint64_t step;   /* that the lead counts from */
	uint64_t known;  /* the highest that broker or ledger have known */
	int64_t back_ms; /* when LEAD_BACK was returned last; 0: never */
};

enum lead_change {
	LEAD_STEADY, /* nothing to warn of */
	LEAD_LOST,   /* the broker knew a commit, and knows none any more */
	LEAD_BACK,   /* it went back */
};

/*
 * Takes what the broker reports of a run at the time `now_ms` > 0. Two trainers of one rank take
 * each other back with every commit: LEAD_BACK is returned once per LEAD_BACK_AGAIN_MS.
 */
enum lead_change lead_run_take(struct lead_run *r, const struct run_position *at, int64_t now_ms);

#endif
