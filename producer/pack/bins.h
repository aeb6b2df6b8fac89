/*
 * bins.h -- best-fit decreasing: which bin each of some items goes to.
 *
 * Items are placed in the order of their length, the longest first, equal ones by index. Each goes
 * to the bin with the least room that is enough; of several with that room, to the one that came to
 * have it last; and to a new bin if none has enough. Bins are numbered as they were opened. All of
 * that is part of the contract: sequences that were published must come out the same when a stream
 * resumes. Example, capacity 4, lengths 2 3 2 1:
 *
 *     item 1, length 3     a new bin 0      room 1
 *     item 0, length 2     a new bin 1      room 1 2      as bin 0 has not enough
 *     item 2, length 2     bin 1            room 1 0
 *     item 3, length 1     bin 0            room 0 0      bin = 1 0 1 0, two bins
 *
 * Why decreasing: long items leave few choices, short ones fill what is left. The bins needed are
 * at most 11/9 of the fewest possible and a constant more (Johnson 1973).
 *
 * How the least room is found. Bins with the same room are a list, and a bitmap has a bit for each
 * room that some bin has. Above it are three more, each with a bit for every word of the one below
 * that is not 0: 64 to the power of 4 rooms are searched with two looks at each level, up and down
 * again. So after sorting an item takes about 10 ns (arXiv 2404.10830 has a tree over the rooms).
 *
 * Pure memory. Thread: one.
 */
#ifndef PRODUCER_PACK_BINS_H
#define PRODUCER_PACK_BINS_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"

enum { BINS_ITEMS_MAX = 4096, BINS_CAPACITY_MAX = (1 << 20) + 1 };

struct bins;

/*
 * Gives *out, to be ended with bins_close(); `capacity` is 1 to BINS_CAPACITY_MAX. FAIL_MEMORY
 * only. Memory is about 2 bytes for each unit of capacity.
 */
enum fail_code bins_open(struct bins **out, uint32_t capacity, struct failure *f);
void bins_close(struct bins *b); /* NULL is accepted */

/*
 * Fills bin[n] with the bin of each item, n at most BINS_ITEMS_MAX; lengths are 1 to capacity.
 * Returns the number of bins. Each call begins with no bins.
 */
size_t bins_assign(struct bins *b, const uint32_t *length, size_t n, uint32_t *bin);

#endif
