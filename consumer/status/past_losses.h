/*
 * past_losses.h -- looks into the feedback topic here and there: what trainers reported earlier.
 *
 *     past_losses_open   past_losses_ends   past_losses_look ...   past_losses_close
 *
 * A status has the means of the last reports. A look has the same of so many reports from an offset
 * on, whatever lies before and behind: who looks at even distances sees the losses over a mix's
 * steps, at a cost that does not grow with the topic.
 *
 * Thread: one.
 */
#ifndef CONSUMER_STATUS_PAST_LOSSES_H
#define CONSUMER_STATUS_PAST_LOSSES_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/config/config.h"
#include "consumer/status/status.h"

struct past_losses;

/*
 * Gives *out, to be ended with past_losses_close(), for the domains of a status. Borrows the
 * configuration until then. FAIL_CONFIG: the mix has no topic for reports.
 */
enum fail_code past_losses_open(struct past_losses **out, const struct config *c,
    char *const *domain, size_t domains_n, struct failure *f);
void past_losses_close(struct past_losses *p); /* NULL is accepted */

/* The first offset that is kept, in *low, and the end, in *high. */
enum fail_code past_losses_ends(
    struct past_losses *p, int64_t *low, int64_t *high, struct failure *f);

/*
 * Reads the reports of [from, end), and gives the means of each run's complete steps among them:
 * *out[*n], borrowed until the next call. FAIL_DATA: they were deleted meanwhile.
 */
enum fail_code past_losses_look(struct past_losses *p, int64_t from, int64_t end,
    const struct status_feedback **out, size_t *n, struct failure *f);

#endif
