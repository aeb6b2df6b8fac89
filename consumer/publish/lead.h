/*
 * lead.h -- how far the mixer may run ahead of the trainers.
 *
 * A run stands at the lowest step that its group has committed over all lanes; no commit is step 0.
 * With max_lead_steps m > 0 only steps below (lowest run's step + m) are published; 0: no bound.
 * Commits of a run that only the ledger knows (the broker forgot them) are an error.
 */
#ifndef CONSUMER_PUBLISH_LEAD_H
#define CONSUMER_PUBLISH_LEAD_H

#include <librdkafka/rdkafka.h>
#include <stdint.h>

#include "common/config/config.h"
#include "common/base/failure.h"
#include "common/record/ledger.h"

struct lead;

/* Gives *out, to be ended with lead_close(); borrows the configuration. */
enum fail_code lead_open(struct lead **out, const struct config *c, struct failure *f);
void lead_close(struct lead *l); /* NULL is accepted */

/* Asks the broker for every run's commits. FAIL_BROKER: it did not answer; what was known stays. */
enum fail_code lead_ask(struct lead *l, struct failure *f);

/* The first step that must not be published yet; UINT64_MAX: no bound. */
uint64_t lead_limit(const struct lead *l);

/* The run that stands lowest, and its step. */
const char *lead_slowest(const struct lead *l, uint64_t *step);

/* FAIL_CONFIG: a run stands at a step in the ledger, and the broker knows no commit of it. */
enum fail_code lead_check(const struct lead *l, const struct ledger *last, struct failure *f);

/* Fills l->run: what the ledger keeps of them. */
enum fail_code lead_save(const struct lead *l, struct ledger *to, struct failure *f);

#endif
