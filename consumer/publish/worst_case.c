#include "consumer/publish/worst_case.h"

#include <assert.h>
#include <inttypes.h>

#include "common/config/topic_plan.h"
#include "consumer/domain/feed.h"

enum { QUEUE_PART = 4 };

/* Bytes of a domain's largest block. One that cannot grow may be smaller than a block. */
static uint64_t
block_bytes(const struct domains_facts *facts, uint32_t block)
{
	uint64_t sequences = block;

	if (!facts->live && facts->sequences_total < sequences)
		sequences = facts->sequences_total;
	return sequences * facts->record_bytes_max;
}

static uint64_t
larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Bytes that one step may need. */
static uint64_t
step_bytes(const struct config *c, const struct domains *d, uint32_t block)
{
	uint64_t largest = 0, record = 0, pieces = 0, touched, blocked = 0;
	uint32_t batch = config_global_batch_most(c);

	for (size_t i = 0; i < d->n; i++) {
		const struct domains_facts *facts = &d->facts[i];

		if (facts->shuffle == MIX_SHUFFLE_BLOCK) {
			blocked++;
			largest = larger(largest, block_bytes(facts, block));
			continue;
		}
		record = larger(record, facts->record_bytes_max);
		if (facts->shuffle == MIX_SHUFFLE_NONE)
			pieces += 2 * facts->partitions_n * facts->record_bytes_max *
				  feed_pieces_turn(block, facts->partitions_n);
	}
	touched = c->mix.window * (batch / block + 2 * blocked);
	if (touched > batch)
		touched = batch;
	return (blocked == 0 ? 0 : touched * largest) + batch * record + pieces;
}

uint64_t
worst_case_queue(const struct config_mix *mix)
{
	uint64_t most = mix->memory_bytes / QUEUE_PART;

	return 2 * mix->transaction_bytes < most ? 2 * mix->transaction_bytes : most;
}

enum fail_code
worst_case_check(const struct config *c, const struct domains *d, uint32_t block,
    struct worst_case_room *room, struct failure *f)
{
	const struct config_mix *mix = &c->mix;
	uint64_t largest = 0, fetches, queue, step, rest, enough;

	assert(block >= 1);
	for (size_t i = 0; i < d->n; i++)
		largest = larger(largest, block_bytes(&d->facts[i], block));
	fetches = FEED_LOADS_MAX * (largest + largest / 4);
	queue = worst_case_queue(mix) + topic_plan_lane_bytes(c, 3);
	step = step_bytes(c, d, block);
	rest = fetches + topic_plan_lane_bytes(c, 3) + step;
	enough = rest + rest / (QUEUE_PART - 1) + 1; /* where the queue is its part of memory */
	if (enough > rest + 2 * mix->transaction_bytes)
		enough = rest + 2 * mix->transaction_bytes;
	if (fetches + queue + step > mix->memory_bytes)
		return fail(f, FAIL_CONFIG,
		    "mix.memory: %" PRIu64 " MB are not enough: one step of %" PRIu32
		    " sequences may need %" PRIu64 " MB of them, in blocks of at most %" PRIu64
		    " KB, with %" PRIu64
		    " MB of fetches and transactions beside them; allow %" PRIu64 " MB, or make "
		    "global_batch or mix.transaction_bytes smaller",
		    mix->memory_bytes / 1000000, config_global_batch_most(c), step / 1000000,
		    largest / 1000, (fetches + queue) / 1000000, enough / 1000000 + 1);
	room->blocks_bytes = mix->memory_bytes - fetches - queue;
	room->spare_bytes = room->blocks_bytes - step;
	return FAIL_NONE;
}
