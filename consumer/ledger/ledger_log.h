/*
 * ledger_log.h -- reads a mix's ledger: its last record, or record after record from the one that
 * holds the state before a step; and the map of this room.
 *
 * The room answers, from what the mixer and the trainers have written: what the state of a mix was
 * at a step, which weights it has had, and where its runs stand.
 *
 * Files of this room:
 *     ledger_log      finds and reads records of the ledger
 *     weight_history  the versions of the weights, newest first
 *     mix_history     a mix over its steps, in memory that has a limit
 *     step_round      which round of the mix a step is of
 *     run_position    where a run stands, by its group's commits
 *     ledger_runs     for which runs the mixer waits
 *     batch_topic     whether the batch topic can be the one that the ledger speaks of
 *     mix_loss        whether the ledger, or the batch topic, was deleted
 *
 * Finding the state before a step. A record holds the state before its step_next, which never falls
 * from record to record: so the last record with step_next <= step holds the state from which that
 * step was drawn. It is found by halving the offsets. Not every offset has a record (control
 * records, aborted transactions), so a probe reads the first one at or after its offset; and the
 * last LEDGER_LOG_NEAR offsets are read through, because a probe costs as much as they do.
 *
 *     step 1000 wanted, 20,000 offsets
 *     probe offset 10000 -> a record with step_next 2480: too late, end = 10000
 *     probe offset  5000 -> a record with step_next 1240: too late, end =  5000
 *     probe offset  2500 -> a record with step_next  620: before,   low =  2500
 *     ... until end - low <= LEDGER_LOG_NEAR, then record after record
 *
 * At most LEDGER_LOG_PROBES_MAX probes, however long the ledger is.
 *
 * Invariants: `assigned` is -1, or no record below it is given any more; between two probes the
 * record at `low` is before the step, and no record at or after `end` is.
 *
 * Thread: one.
 */
#ifndef CONSUMER_LEDGER_LEDGER_LOG_H
#define CONSUMER_LEDGER_LEDGER_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/config/properties.h"
#include "common/record/ledger.h"

enum {
	LEDGER_LOG_PROBES_MAX = 64,
	LEDGER_LOG_NEAR = 32, /* offsets that are read through rather than halved once more */
};

struct ledger_log;

/*
 * Gives *out, to be ended with ledger_log_close(). FAIL_CONFIG: there is no such topic;
 * FAIL_DATA: it was deleted (mix_loss.h).
 * `timeout_ms` is the limit of each request. Borrows the properties during the call; copies `mix`.
 */
enum fail_code ledger_log_open(struct ledger_log **out, const char *mix,
    const struct properties *properties, int timeout_ms, struct failure *f);

/* The same for ledger_log_at() and ledger_log_seek(): little is fetched beside what they want. */
enum fail_code ledger_log_open_for_looks(struct ledger_log **out, const char *mix,
    const struct properties *properties, int timeout_ms, struct failure *f);
void ledger_log_close(struct ledger_log *l); /* NULL is accepted */

const char *ledger_log_topic(const struct ledger_log *l);

/*
 * The last record, into a zeroed *out, to be ended with ledger_clear(). *any: there is one.
 * FAIL_DATA: there is none, because the topic was deleted and created again (mix_loss.h).
 * Afterwards ledger_log_seek() must be called before ledger_log_next().
 */
enum fail_code ledger_log_last(
    struct ledger_log *l, struct ledger *out, bool *any, struct failure *f);

/* The same, and *value (free): its header called `name`; NULL: it has none. */
enum fail_code ledger_log_last_header(struct ledger_log *l, const char *name, struct ledger *out,
    bool *any, uint8_t **value, size_t *n, struct failure *f);

/* The offset of the record that ledger_log_last() found last; -1: none. */
int64_t ledger_log_last_offset(const struct ledger_log *l);

/* The first record kept, in the same way. */
enum fail_code ledger_log_first(
    struct ledger_log *l, struct ledger *out, bool *any, struct failure *f);

/* The same, with its offset and when it was written. */
enum fail_code ledger_log_first_at(struct ledger_log *l, struct ledger *out, int64_t *found,
    int64_t *time_ms, bool *any, struct failure *f);

/* The last record as ledger_log_last() gives it, with handles of its own. */
enum fail_code ledger_log_ask(struct ledger *out, bool *any, const char *mix,
    const struct properties *properties, int timeout_ms, struct failure *f);

/*
 * The first step that the first record kept allows to derive. A record holds the state after its
 * own steps. If the records before it were deleted (`cut`), these steps cannot be derived. Pure.
 */
uint64_t ledger_log_earliest(const struct ledger *first, bool cut);

/*
 * The step at which the ledger of a mix begins, with handles of its own; 0 where it is empty. Only
 * one that was republished begins with another step than 0. *cut: or one whose first records were
 * deleted: ledger_log_earliest().
 */
enum fail_code ledger_log_begins(uint64_t *step, bool *cut, const char *mix,
    const struct properties *properties, int timeout_ms, struct failure *f);

/*
 * ledger_log_next() will give the last record with step_next <= step, the state in which that step
 * was drawn; or with one_before, where there is one, the record before it. FAIL_DATA: the ledger
 * has none.
 */
enum fail_code ledger_log_seek(
    struct ledger_log *l, uint64_t step, bool one_before, struct failure *f);

/*
 * The same for whoever waits until there is such a record: *any says whether the ledger has one.
 */
enum fail_code ledger_log_find(
    struct ledger_log *l, uint64_t step, bool one_before, bool *any, struct failure *f);

/*
 * ledger_log_next() will give the last record that was written before the control topic's record
 * at `offset` was heard, or the first one that is kept: the answer is in one of those behind it.
 */
enum fail_code ledger_log_seek_control(struct ledger_log *l, int64_t offset, struct failure *f);

/*
 * The first record at or after `offset`, into a zeroed *out, with its own offset and when it was
 * written. *any is false where there is none.
 */
enum fail_code ledger_log_at(struct ledger_log *l, int64_t offset, struct ledger *out,
    int64_t *found, int64_t *time_ms, bool *any, struct failure *f);

/*
 * The next record, into a zeroed *out, and its offset. FAIL_TIMEOUT: there is none, at once or,
 * with `wait_ms` > 0, after so long. FAIL_DATA names the offset of one that cannot be read.
 */
enum fail_code ledger_log_next(
    struct ledger_log *l, int wait_ms, struct ledger *out, int64_t *offset, struct failure *f);

#endif
