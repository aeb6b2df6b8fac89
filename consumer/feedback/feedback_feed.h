/*
 * feedback_feed.h -- follows the feedback topic of a mix: the reports of its trainers, one by one.
 *
 * Thread: one. Memory: what librdkafka has fetched, at most some FEEDBACK_FEED_BYTES.
 */
#ifndef CONSUMER_FEEDBACK_FEEDBACK_FEED_H
#define CONSUMER_FEEDBACK_FEEDBACK_FEED_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/config/properties.h"
#include "common/record/feedback.h"

enum { FEEDBACK_FEED_BYTES = 8 << 20, FEEDBACK_FEED_ASK_MS = 15000 };

struct feedback_feed;

struct feedback_feed_record {
	int64_t offset;
	const struct feedback *feedback; /* borrowed until the next call; NULL: it is no report, */
	char reason[256];                /* and why */
};

/* Gives *out, to be ended with feedback_feed_close(). FAIL_CONFIG: the mix has no such topic. */
enum fail_code feedback_feed_open(struct feedback_feed **out, const char *mix,
    const struct properties *properties, struct failure *f);
void feedback_feed_close(struct feedback_feed *d); /* NULL is accepted */

const char *feedback_feed_topic(const struct feedback_feed *d);

/* First offset that is kept, and the end. */
enum fail_code feedback_feed_ends(
    struct feedback_feed *d, int64_t *low, int64_t *high, struct failure *f);

/* Reads on from offset_next, which is kept, or the end. */
enum fail_code feedback_feed_seek(struct feedback_feed *d, int64_t offset_next, struct failure *f);

/* Offset of the record that comes next, as far as it is known: at the end of the topic, the end. */
int64_t feedback_feed_position(const struct feedback_feed *d);

/*
 * The next record; *any is false: none came within timeout_ms. FAIL_DATA: records that were to come
 * have been deleted.
 */
enum fail_code feedback_feed_next(struct feedback_feed *d, int timeout_ms,
    struct feedback_feed_record *out, bool *any, struct failure *f);

#endif
