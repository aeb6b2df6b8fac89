/*
 * worst_case.h -- how much memory a mix may need at worst, compared with mix.memory at the start.
 *
 * A mixer that ran out of memory in the middle of the night would be one that nobody warned of. So
 * the worst case must fit from the beginning, and what is left beyond it is no limit: the feed uses
 * it for blocks that will be needed later.
 *
 *     mix.memory >= fetches   FEED_LOADS_MAX blocks, each with a quarter more for whole batches
 *                 + queue     what waits to be sent, in librdkafka's queue, and a record
 *                 + step      every block that one step can touch: all must be there at once
 *
 * Blocks a step touches: its draws of a domain follow the domain's order, in which a window of
 * `window` blocks is shuffled together. k draws in a row fall into at most k / block + 2 windows
 * (one is half over, one is just begun), so that B draws over n domains touch at most
 * window * (B / block + 2 n) blocks, and never more than B, the largest batch of the mix. Example:
 * B = 1024, block = 64, window = 4, 8 domains: 4 * (16 + 16) = 128 blocks.
 *
 * So it is of domains in the order `block`. Of the others every draw may be a record of its own;
 * and where the n partitions of one take turns (`none`), 2 n pieces of it (feed_pieces.h) are begun
 * or not at their ends. What memory has beyond the worst case may hold domains in `full` order.
 *
 * Pure. Thread: any.
 */
#ifndef CONSUMER_PUBLISH_WORST_CASE_H
#define CONSUMER_PUBLISH_WORST_CASE_H

#include <stdint.h>

#include "common/base/failure.h"
#include "common/config/config.h"
#include "consumer/domain/domains.h"

/*
 * Bytes that may wait to be sent: two transactions, at most a quarter of mix.memory. A transaction
 * may be larger: what does not fit waits for the broker.
 */
uint64_t worst_case_queue(const struct config_mix *mix);

struct worst_case_room {
	uint64_t blocks_bytes; /* what of mix.memory is for blocks, */
	uint64_t spare_bytes;  /* and of that what no step needs */
};

/*
 * FAIL_CONFIG: mix.memory cannot hold the worst case; the sentence has the figure that would do.
 * `block`: sequences of a whole one, >= 1.
 */
enum fail_code worst_case_check(const struct config *c, const struct domains *d, uint32_t block,
    struct worst_case_room *room, struct failure *f);

#endif
