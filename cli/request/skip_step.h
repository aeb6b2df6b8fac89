/*
 * skip_step.h -- the requests that keep all sequences of a step out of later draws.
 */
#ifndef CLI_REQUEST_SKIP_STEP_H
#define CLI_REQUEST_SKIP_STEP_H

#include "common/config/config.h"
#include "common/record/control.h"
#include "common/base/failure.h"

/*
 * Gives *out, [*n] (skip_step_free): one request for each stretch of neighbouring ordinals of one
 * partition that the step holds, on one lane, or, with lane -1, on all. FAIL_DATA: the step is not
 * published yet, or not kept any more.
 */
enum fail_code skip_step_requests(struct control **out, size_t *n, const char *mix,
    const struct config *c, uint64_t step, int64_t lane, struct failure *f);
void skip_step_free(struct control *c, size_t n);

#endif
