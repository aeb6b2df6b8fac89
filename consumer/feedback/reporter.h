/*
 * reporter.h -- losses of a rank on their way to <mix>.feedback.
 *
 * Reports are queued, and delivered in the background. What the broker did not take is counted, and
 * is a failure of the next call, once: a trainer hears that reports are lost without waiting for
 * each. At most REPORTER_QUEUED are on their way: beyond that a report fails at once.
 *
 * Invariant: lost > 0 exactly while there are lost reports that no call has failed with yet.
 *
 * Thread: one; librdkafka's come in only through rd_kafka_poll() and rd_kafka_flush() here.
 */
#ifndef CONSUMER_FEEDBACK_REPORTER_H
#define CONSUMER_FEEDBACK_REPORTER_H

#include "common/base/failure.h"
#include "common/config/properties.h"
#include "common/record/feedback.h"

enum { REPORTER_QUEUED = 10000 };

struct reporter;

/*
 * Gives *out, to be ended with reporter_close(). Waits for the topic, timeout_ms at most.
 * FAIL_CONFIG: the mix has no topic for reports. Borrows the properties during the call; copies
 * `mix`.
 */
enum fail_code reporter_open(struct reporter **out, const char *mix,
    const struct properties *properties, int timeout_ms, struct failure *f);
void reporter_close(struct reporter *r); /* NULL is accepted; drops what is not delivered */

/*
 * Queues one report, which it copies. Where earlier ones were lost this call fails with that, once,
 * and the new one is not sent.
 */
enum fail_code reporter_send(struct reporter *r, const struct feedback *b, struct failure *f);

/* Waits until all are delivered. FAIL_TIMEOUT: not within timeout_ms. Lost ones as above. */
enum fail_code reporter_flush(struct reporter *r, int timeout_ms, struct failure *f);

#endif
