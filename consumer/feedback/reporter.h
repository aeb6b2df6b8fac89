/*
 * reporter.h -- losses of a rank on their way to <mix>.feedback.
 *
 * Connects with the first report. Reports are queued and delivered in the background; what the
 * broker did not take is remembered until somebody asks. At most REPORTER_QUEUED are on their way:
 * beyond that a report fails at once.
 *
 * Thread: one; librdkafka's come in only through rd_kafka_poll() here.
 */
#ifndef CONSUMER_FEEDBACK_REPORTER_H
#define CONSUMER_FEEDBACK_REPORTER_H

#include "common/base/failure.h"
#include "common/config/properties.h"
#include "common/record/feedback.h"

enum { REPORTER_QUEUED = 10000 };

struct reporter;

/* Gives *out, to be ended with reporter_close(). Borrows the properties; copies `mix`. */
enum fail_code reporter_open(struct reporter **out, const char *mix,
    const struct properties *properties, int timeout_ms, struct failure *f);
void reporter_close(struct reporter *r); /* NULL is accepted; drops what is not delivered */

/*
 * Queues one report. FAIL_CONFIG: the mix has no topic for it. A report that failed earlier is a
 * failure of this call, once, and the new one is not sent.
 */
enum fail_code reporter_send(struct reporter *r, const struct feedback *b, struct failure *f);

/* Waits until all is delivered. FAIL_TIMEOUT: not in time; else as above. */
enum fail_code reporter_flush(struct reporter *r, int timeout_ms, struct failure *f);

#endif
