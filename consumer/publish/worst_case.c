#include "consumer/publish/worst_case.h"

#include <assert.h>
#include <inttypes.h>

#include "common/config/topic_plan.h"
#include "consumer/domain/feed.h"

enum { QUEUE_PART = 4 };

/* The largest block of any domain, in bytes. A domain that cannot grow may be smaller than one. */
static uint64_t
largest_block(const struct domains *d, uint32_t block)
{
	uint64_t largest = 0;

	for (size_t i = 0; i < d->n; i++) {
		const struct domains_facts *facts = &d->facts[i];
		uint64_t sequences = block;

		if (!facts->live && facts->sequences_total < sequences)
			sequences = facts->sequences_total;
		if (sequences * facts->record_bytes_max > largest)
			largest = sequences * facts->record_bytes_max;
	}
	return largest;
}

uint64_t
worst_case_queue(const struct config_mix *mix)
{
	uint64_t most = mix->memory_bytes / QUEUE_PART;

	return 2 * mix->transaction_bytes < most ? 2 * mix->transaction_bytes : most;
}

enum fail_code
worst_case_check(const struct config *c, const struct domains *d, uint32_t block,
    uint64_t *blocks_bytes, struct failure *f)
{
	const struct config_mix *mix = &c->mix;
	uint64_t largest = largest_block(d, block), fetches, queue, step, touched;

	assert(block >= 1);
	touched = mix->window * (mix->global_batch / block + 2 * d->n);
	if (touched > mix->global_batch)
		touched = mix->global_batch;
	fetches = FEED_LOADS_MAX * (largest + largest / 4);
	queue = worst_case_queue(mix) + topic_plan_lane_bytes(c, 3);
	step = touched * largest;
	if (fetches + queue + step > mix->memory_bytes)
		return fail(f, FAIL_CONFIG,
		    "mix.memory: %" PRIu64 " MB are not enough: one step may touch %" PRIu64
		    " blocks of %" PRIu64 " KB, with %" PRIu64
		    " MB of fetches and transactions beside them; allow %" PRIu64 " MB, or make "
		    "mix.global_batch or mix.transaction_bytes smaller",
		    mix->memory_bytes / 1000000, touched, largest / 1000,
		    (fetches + queue) / 1000000, (fetches + queue + step) / 1000000 + 1);
	*blocks_bytes = mix->memory_bytes - fetches - queue;
	return FAIL_NONE;
}
