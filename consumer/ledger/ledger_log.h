/*
 * ledger_log.h -- reads a mix's ledger: its last record, or record after record from the one that
 * holds the state before a step.
 *
 * Records stand in the order of their step_next, so that the record before a step is found by
 * halving the offsets: at most LEDGER_LOG_PROBES_MAX questions and LEDGER_LOG_NEAR records read on,
 * however long the ledger is.
 *
 * Thread: one.
 */
#ifndef CONSUMER_LEDGER_LEDGER_LOG_H
#define CONSUMER_LEDGER_LEDGER_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/config/properties.h"
#include "common/record/ledger.h"

enum {
	LEDGER_LOG_PROBES_MAX = 64,
	LEDGER_LOG_NEAR = 32, /* offsets that are read through rather than halved again */
};

struct ledger_log;

/*
 * Gives *out, to be ended with ledger_log_close(). FAIL_CONFIG: there is no such topic.
 * `timeout_ms` bounds each question.
 */
enum fail_code ledger_log_open(struct ledger_log **out, const char *mix,
    const struct properties *properties, int timeout_ms, struct failure *f);
void ledger_log_close(struct ledger_log *l); /* NULL is accepted */

const char *ledger_log_topic(const struct ledger_log *l);

/* The last record, into a zeroed *out. *any: there is one. Afterwards a step must be sought. */
enum fail_code ledger_log_last(
    struct ledger_log *l, struct ledger *out, bool *any, struct failure *f);

/* The same of the first record kept. */
enum fail_code ledger_log_first(
    struct ledger_log *l, struct ledger *out, bool *any, struct failure *f);

/*
 * ledger_log_next() will give the last record with step_next <= step, what was true when that step
 * was drawn; or, where there is one, the record before it. FAIL_DATA: the ledger has none.
 */
enum fail_code ledger_log_seek(
    struct ledger_log *l, uint64_t step, bool one_before, struct failure *f);

/*
 * The next record, into a zeroed *out, and its offset. FAIL_TIMEOUT: there is none, at once or,
 * with `wait_ms` > 0, after so long. FAIL_DATA names the offset of one that cannot be read.
 */
enum fail_code ledger_log_next(
    struct ledger_log *l, int wait_ms, struct ledger *out, int64_t *offset, struct failure *f);

#endif
