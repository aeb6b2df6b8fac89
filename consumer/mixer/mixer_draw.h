/*
 * mixer_draw.h -- one draw: which sequence of which domain, and the block that holds it. A value.
 */
#ifndef CONSUMER_MIXER_MIXER_DRAW_H
#define CONSUMER_MIXER_MIXER_DRAW_H

#include <stdint.h>

struct mixer_draw {
	uint32_t domain; /* index in the mix */
	uint32_t partition;
	uint64_t ordinal;
	uint64_t epoch;
	/*
	 * The block of its partition that holds it: first ordinal, and number of sequences. The
	 * last block of a partition has more sequences under the same first ordinal once the
	 * partition has grown: a live domain, or an extended one from its next epoch on.
	 */
	uint64_t block_first;
	uint32_t block_count;
};

#endif
