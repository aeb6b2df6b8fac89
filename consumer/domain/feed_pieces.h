/*
 * feed_pieces.h -- in which pieces the domains of a mix are read, and which stay in memory.
 *
 * A piece is what one load of the feed brings: neighbours of one partition. It is a block, and less
 * where an order (order.h) would have too many blocks in memory at once:
 *
 *     block           a block: a window draws all of it before the next window begins
 *     none            n partitions take turns, each with a piece in memory: a block / n
 *     full, held      a block: each is read once, and stays for all epochs
 *     full, not held  one sequence: the next draw of its block is so far that the block cannot stay
 *
 * Domains in `full` order are held as far as there is room, the smallest first, so that most of
 * them are. What is read, per sequence that is drawn, of records that come in batches of the
 * producer: 1 / block loads in the first three, one load and one batch in the last.
 *
 * Pure. Thread: any.
 */
#ifndef CONSUMER_DOMAIN_FEED_PIECES_H
#define CONSUMER_DOMAIN_FEED_PIECES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/schedule/mix_rules.h"

struct feed_piece {
	/* A domain: in. `sequences` and `bytes` of a live one: so far. */
	enum mix_shuffle shuffle;
	bool live;
	size_t partitions_n;
	uint64_t sequences, bytes;

	/* Out. */
	uint32_t piece; /* sequences of one load; but for the first pass of a live domain in FULL
			 * order, which is dealt, and read in blocks */
	bool held;      /* stays in memory */
	uint64_t held_bytes;  /* FULL: what that takes, */
	uint64_t lacks_bytes; /* and not held: how much more room it would take */
};

/* Decides for domain[n], where `room_bytes` may be held. `block`: sequences of a whole one. */
void feed_pieces(struct feed_piece *domain, size_t n, uint32_t block, uint64_t room_bytes);

/* A power of two: what a partition is read in where `partitions_n` take turns. */
uint32_t feed_pieces_turn(uint32_t block, size_t partitions_n);

#endif
