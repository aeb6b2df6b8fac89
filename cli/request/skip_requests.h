/*
 * skip_requests.h -- the requests of `riffle skip`: for a range of the command line, or for all
 * sequences of a step.
 */
#ifndef CLI_REQUEST_SKIP_REQUESTS_H
#define CLI_REQUEST_SKIP_REQUESTS_H

#include "common/base/failure.h"
#include "common/config/config.h"
#include "common/record/control.h"
#include "common/record/ledger.h"

/*
 * Each gives *out, [*n], to be ended with skip_requests_free(), also where it failed: requests that
 * take effect at once, with their ids. `id` NULL: new ones.
 */

/*
 * One request: `place` is "DOMAIN[/PARTITION]", `range` "a..b". `last`, the ledger's last record or
 * NULL, says whether a domain without a /PARTITION has one only. FAIL_USAGE names the word.
 */
enum fail_code skip_requests_range(struct control **out, size_t *n, const char *place,
    const char *range, const struct ledger *last, const char *id, struct failure *f);

/*
 * One request for each stretch of neighbouring ordinals of one partition that the step holds, on
 * one lane, or, with lane -1, on all; ids get a number behind them. FAIL_DATA: the step is not
 * published yet, or not kept any more.
 */
enum fail_code skip_requests_step(struct control **out, size_t *n, const char *mix,
    const struct config *c, uint64_t step, int64_t lane, const char *id, struct failure *f);

void skip_requests_free(struct control *c, size_t n);

#endif
