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
 * names it every ten seconds, and only taking it out of mix.runs helps. The other way round, a
 * broker forgets the commits of a group in which nothing happens for offsets.retention.minutes.
 * Such a run would stand at step 0, and a mixer that is already m steps ahead of that would wait
 * for ever, while a resumed trainer would start from nothing. So each ledger record says where the
 * runs stood, and a mixer that attaches refuses (lead_check()) when the ledger knows a step of a
 * run and the broker no commit.
 *
 * Thread: one.
 */
#ifndef CONSUMER_PUBLISH_LEAD_H
#define CONSUMER_PUBLISH_LEAD_H

#include <librdkafka/rdkafka.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/config/config.h"
#include "common/record/ledger.h"

struct lead;

/* Gives *out, to be ended with lead_close(); borrows the configuration. */
enum fail_code lead_open(struct lead **out, const struct config *c, struct failure *f);
void lead_close(struct lead *l); /* NULL is accepted */

/* Asks the broker for every run's commits. FAIL_BROKER: it did not answer. FAIL_DATA: a
 * commit is no step. What was known of the runs that were not reached stays. */
enum fail_code lead_ask(struct lead *l, struct failure *f);

/* The first step that must not be published yet; UINT64_MAX: no limit. */
uint64_t lead_limit(const struct lead *l);

/* The run that stands lowest, and its step; "" and 0 where mix.runs is empty. Borrowed. */
const char *lead_slowest(const struct lead *l, uint64_t *step);

/* FAIL_CONFIG: a run stands at a step in the ledger, and the broker knows no commit of it. */
enum fail_code lead_check(const struct lead *l, const struct ledger *last, struct failure *f);

/* Fills l->run: what the ledger keeps of them. */
enum fail_code lead_save(const struct lead *l, struct ledger *to, struct failure *f);

#endif
