/*
 * inspect_time.h -- `riffle inspect --from-time`: the first step that holds what a live domain got
 * at a time or later (consumer/replay/time_step.h).
 */
#ifndef CLI_INSPECT_INSPECT_TIME_H
#define CLI_INSPECT_INSPECT_TIME_H

#include <stdbool.h>

#include "common/base/failure.h"
#include "common/config/config.h"

#define INSPECT_TIME_FORMS "2026-01-31T10:30:00Z, a date, or seconds since 1970"

/* Prints one line, or in JSON an object. `domain` NULL: the only live one. FAIL_USAGE: no time. */
enum fail_code inspect_time(const char *mix, const struct config *c, const char *time,
    const char *domain, bool json, struct failure *f);

#endif
