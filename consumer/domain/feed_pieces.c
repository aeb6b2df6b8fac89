#include "consumer/domain/feed_pieces.h"

#include <assert.h>

#include "consumer/domain/feed_block.h"

uint32_t
feed_pieces_turn(uint32_t block, size_t partitions_n)
{
	uint32_t piece = block;

	assert(block >= 1);
	while (piece > 1 && (uint64_t)piece * partitions_n > block)
		piece /= 2;
	return piece;
}

/* Records, what describes each, and of each block a chunk that is not full. */
static uint64_t
bytes_to_hold(const struct feed_piece *d, uint32_t block)
{
	uint64_t blocks = d->sequences / block + d->partitions_n;

	return d->bytes + d->sequences * sizeof(struct feed_block_record) +
	       blocks * FEED_BLOCK_CHUNK_BYTES;
}

/* The smallest of those that are not held; NULL: all are. */
static struct feed_piece *
smallest(struct feed_piece *domain, size_t n)
{
	struct feed_piece *found = NULL;

	for (size_t i = 0; i < n; i++)
		if (domain[i].shuffle == MIX_SHUFFLE_FULL && !domain[i].held &&
		    (found == NULL || domain[i].held_bytes < found->held_bytes))
			found = &domain[i];
	return found;
}

void
feed_pieces(struct feed_piece *domain, size_t n, uint32_t block, uint64_t room_bytes)
{
	struct feed_piece *next;

	for (size_t i = 0; i < n; i++) {
		struct feed_piece *d = &domain[i];

		d->piece = block;
		d->held = false;
		d->held_bytes = d->lacks_bytes = 0;
		switch (d->shuffle) {
		case MIX_SHUFFLE_BLOCK: break;
		case MIX_SHUFFLE_NONE: d->piece = feed_pieces_turn(block, d->partitions_n); break;
		case MIX_SHUFFLE_FULL:
			d->piece = 1;
			d->held_bytes = bytes_to_hold(d, block);
			break;
		}
	}
	while ((next = smallest(domain, n)) != NULL && next->held_bytes <= room_bytes) {
		room_bytes -= next->held_bytes;
		next->held = true;
		next->piece = block;
	}
	for (size_t i = 0; i < n; i++)
		if (!domain[i].held && domain[i].held_bytes > 0)
			domain[i].lacks_bytes = domain[i].held_bytes - room_bytes;
}
