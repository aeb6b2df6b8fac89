/* Whether mix.memory holds the worst case, and the feed with what is left of it. */
#include <inttypes.h>

#include "common/config/topic_plan.h"
#include "consumer/publish/mix_state.h"

/*
 * The worst case: every block that one step can touch is in memory, with a fetch for each load, and
 * two transactions in the producer's queue. Blocks beyond those are kept only within the budget.
 */
enum fail_code
mix_check_memory(const struct mix *m, uint64_t *blocks_bytes, struct failure *f)
{
	const struct config_mix *c = &m->config->mix;
	uint64_t largest = 0, fetches, queue, step, touched;

	for (size_t i = 0; i < m->domains->n; i++) {
		const struct domain_facts *d = &m->domains->facts[i];
		uint64_t block = m->plan.block;

		if (!d->live && d->sequences_total < block)
			block = d->sequences_total;

		if (block * d->record_bytes_max > largest)
			largest = block * d->record_bytes_max;
	}
	/* k draws of a domain fall into at most k / block + 2 windows. */
	touched = c->window * (c->global_batch / m->plan.block + 2 * m->domains->n);
	if (touched > c->global_batch)
		touched = c->global_batch;
	fetches = FEED_LOADS_MAX * (largest + largest / 4);
	queue = 2 * c->transaction_bytes + topic_plan_lane_bytes(m->config, 3);
	step = touched * largest;
	if (fetches + queue + step > c->memory_bytes)
		return fail(f, FAIL_CONFIG,
		    "mix.memory: %" PRIu64 " MB are not enough: one step may touch %" PRIu64
		    " blocks of %" PRIu64 " KB, with %" PRIu64
		    " MB of fetches and transactions beside them; allow %" PRIu64 " MB, or make "
		    "mix.global_batch or mix.transaction_bytes smaller",
		    c->memory_bytes / 1000000, touched, largest / 1000, (fetches + queue) / 1000000,
		    (fetches + queue + step) / 1000000 + 1);
	*blocks_bytes = c->memory_bytes - fetches - queue;
	return FAIL_NONE;
}

enum fail_code
mix_open_feed(struct mix *m, struct failure *f)
{
	uint64_t block_bytes = 0;
	struct feed_options o = {
	    .properties = &m->config->kafka,
	    .tokenizer = m->domains->tokenizer,
	    .block = m->plan.block,
	};

	if (mix_check_memory(m, &o.memory_bytes, f) != FAIL_NONE)
		return f->code;
	for (size_t i = 0; i < m->domains->n; i++) {
		uint64_t bytes = m->plan.block * m->domains->facts[i].record_bytes;

		block_bytes = bytes > block_bytes ? bytes : block_bytes;
	}
	o.block_bytes = block_bytes;
	return feed_open(&m->feed, &o, f);
}
