/* serve_metrics.h -- a status as metrics (common/metrics/metrics.h): the figures of its JSON. */
#ifndef CLI_SERVE_SERVE_METRICS_H
#define CLI_SERVE_SERVE_METRICS_H

#include <stdbool.h>

#include "consumer/status/status.h"

/* Each gives a text (free), NULL: no memory. /metrics is the second, then the first. */

/* Of a derived status. */
char *serve_metrics(const struct status *st);

/* Whether the broker answers now. */
char *serve_metrics_up(const char *mix, bool up);

#endif
