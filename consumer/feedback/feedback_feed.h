/*
 * feedback_feed.h -- follows the feedback topic of a mix: the reports of its trainers, one by one.
 *
 *     feedback_feed_open  feedback_feed_ends  feedback_feed_seek(offset)  feedback_feed_next ...
 *
 * Whoever follows keeps the offset from which it must read again (feedback_feed_position(), or that
 * of an open step, losses.h). Anybody may write to the topic, so a record that is no report is
 * handed out as such, with the reason, and is no failure.
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

/*
 * Gives *out, to be ended with feedback_feed_close(). FAIL_CONFIG: the mix has no such topic.
 * Borrows the properties during the call; copies `mix`. `fetch_bytes` come with each fetch, at
 * least a record; 0: librdkafka's default, for who reads much in a row.
 */
enum fail_code feedback_feed_open(struct feedback_feed **out, const char *mix,
    const struct properties *properties, size_t fetch_bytes, struct failure *f);
void feedback_feed_close(struct feedback_feed *d); /* NULL is accepted */

const char *feedback_feed_topic(const struct feedback_feed *d);

/* The first offset that is kept, in *low, and the end, in *high. */
enum fail_code feedback_feed_ends(
    struct feedback_feed *d, int64_t *low, int64_t *high, struct failure *f);

/* Reads from offset_next on, which must be kept, or be the end. */
enum fail_code feedback_feed_seek(struct feedback_feed *d, int64_t offset_next, struct failure *f);

/* Fetches nothing until the next feedback_feed_seek(), which must come first then. */
void feedback_feed_rest(struct feedback_feed *d);

/* Offset of the record that comes next, as far as it is known: at the end of the topic, the end. */
int64_t feedback_feed_position(const struct feedback_feed *d);

/*
 * The next record in *out; *any is false: none came within timeout_ms. FAIL_DATA: records that were
 * to come next have been deleted. Other errors of the broker are waited out.
 */
enum fail_code feedback_feed_next(struct feedback_feed *d, int timeout_ms,
    struct feedback_feed_record *out, bool *any, struct failure *f);

#endif
