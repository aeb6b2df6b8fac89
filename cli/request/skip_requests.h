/*
 * skip_requests.h -- the requests of `riffle skip`, and of `riffle skip --undo`: for a range of the
 * command line, or for all sequences of some steps.
 *
 * How the sequences of steps are found. The record of a lane says for each sequence which it was:
 * domain, partition, ordinal, epoch. So
 *   1. published_step.h gives the records of each step, of all lanes;
 *   2. each record is decoded, and the places of its sequences are collected;
 *   3. the places are sorted by domain, partition and ordinal;
 *   4. neighbours become one range, since the ledger keeps a limited number of ranges.
 *
 * Example, step 48210 on two lanes:
 *
 *     lane 0   web/0 7   code/0 3   web/0 9
 *     lane 1   web/0 8   web/1 4    code/0 3 (a later epoch)
 *
 *     sorted   code/0 3   code/0 3   web/0 7   web/0 8   web/0 9   web/1 4
 *     ranges   code/0 3..4   web/0 7..10   web/1 4..5
 *     ids      skip-5a1f...-0   skip-5a1f...-1   skip-5a1f...-2
 *
 * The same steps and --id give the same ids, so that a command that is repeated finds the earlier
 * answers (request_print.h).
 */
#ifndef CLI_REQUEST_SKIP_REQUESTS_H
#define CLI_REQUEST_SKIP_REQUESTS_H

#include "common/base/failure.h"
#include "common/config/config.h"
#include "common/record/control.h"
#include "common/record/ledger.h"

/*
 * Each gives *out, [*n], to be ended with skip_requests_free(), also where it failed: requests that
 * take effect at once, with their ids. `kind` is LEDGER_SKIP or LEDGER_UNDO; `id` NULL: new ones.
 */

/*
 * One request: `place` is "DOMAIN[/PARTITION]", `range` "a..b". `last`, the ledger's last record or
 * NULL, says whether a domain without a /PARTITION has one only. FAIL_USAGE names the word.
 */
enum fail_code skip_requests_range(struct control **out, size_t *n, enum ledger_change_kind kind,
    const char *place, const char *range, const struct ledger *last, const char *id,
    struct failure *f);

/*
 * One request for each stretch of neighbouring ordinals of one partition that the steps from
 * `first` on, below `end`, hold, on one lane, or, with lane -1, on all; ids get a number behind
 * them. FAIL_DATA: a step is not published yet. FAIL_USAGE: more stretches than a ledger keeps
 * ranges.
 */
enum fail_code skip_requests_steps(struct control **out, size_t *n, enum ledger_change_kind kind,
    const char *mix, const struct config *c, uint64_t first, uint64_t end, int64_t lane,
    const char *id, struct failure *f);

void skip_requests_free(struct control *c, size_t n);

#endif
