/*
 * control_feed.h -- follows the control topic of a mix from the first record that is not answered.
 *
 * The mixer asks control_feed_waits() as often as it likes, takes records only between
 * transactions, and keeps the offset behind them in its ledger. A record that is no request is
 * handed out as one all the same, with the reason: it must be passed over in the ledger, too.
 *
 * Thread: one. Memory: what librdkafka has fetched, at most CONTROL_FEED_BYTES.
 */
#ifndef CONSUMER_PUBLISH_CONTROL_FEED_H
#define CONSUMER_PUBLISH_CONTROL_FEED_H

#include <stdbool.h>
#include <stdint.h>

#include "common/config/properties.h"
#include "common/record/control.h"
#include "common/base/failure.h"

enum { CONTROL_FEED_BYTES = 1 << 20 };

struct control_feed;

struct control_feed_record {
	int64_t offset;
	bool garbage;         /* it is no request: */
	char reason[256];     /* why, */
	const uint8_t *bytes; /* and what it is; borrowed until the next call */
	size_t n;
	struct control *control; /* else; borrowed in the same way */
};

/* Gives *out, to be ended with control_feed_close(). */
enum fail_code control_feed_open(struct control_feed **out, const char *mix,
    const struct properties *properties, struct failure *f);
void control_feed_close(struct control_feed *c); /* NULL is accepted */

const char *control_feed_topic(const struct control_feed *c);

/*
 * Reads on from offset_next. Where that lies outside of what the topic holds, because records were
 * deleted or the topic was made anew, it begins at the first one that is kept, and says so in the
 * log: nothing that was asked since is passed over.
 */
enum fail_code control_feed_seek(struct control_feed *c, int64_t offset_next, struct failure *f);

/* *waits: a record is there. Costs no question to the broker. FAIL_BROKER: it cannot be read. */
enum fail_code control_feed_waits(struct control_feed *c, bool *waits, struct failure *f);

/*
 * The same, waiting until a record is there or the topic's end was met: what was asked before the
 * mixer started is answered before it takes a step.
 */
enum fail_code control_feed_catch_up(
    struct control_feed *c, int timeout_ms, bool *waits, struct failure *f);

/* Takes the record that waits. Only after control_feed_waits() has said that there is one. */
enum fail_code control_feed_take(
    struct control_feed *c, struct control_feed_record *out, struct failure *f);

#endif
