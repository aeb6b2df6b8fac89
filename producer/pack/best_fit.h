/*
 * best_fit.h -- best-fit decreasing: which bin each of some items goes to.
 *
 * Items go in the order of their length, the longest first, equal ones by index; each to the bin
 * with the least room that has enough, of equal ones to that which came to have it last, and where
 * none has enough to a new one. Bins are numbered as they were begun. Capacity 4, lengths 2 3 2 1:
 * bins 1 0 1 0.
 *
 * Bins stand in lists by their room, and a bitmap of four levels finds the next room that some bin
 * has: O(n log n) for sorting, then about 10 ns an item (as in arXiv 2404.10830, where it is a tree
 * over the rooms).
 *
 * Pure memory. Thread: one.
 */
#ifndef PRODUCER_PACK_BEST_FIT_H
#define PRODUCER_PACK_BEST_FIT_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"

enum { BEST_FIT_ITEMS_MAX = 4096, BEST_FIT_CAPACITY_MAX = (1 << 20) + 1 };

struct best_fit;

/* Gives *out, to be ended with best_fit_close(). Memory is about 4 bytes a unit of capacity. */
enum fail_code best_fit_open(struct best_fit **out, uint32_t capacity, struct failure *f);
void best_fit_close(struct best_fit *b); /* NULL is accepted */

/*
 * Fills bin[n], n at most BEST_FIT_ITEMS_MAX; lengths are 1 to capacity. Returns the number of
 * bins. Each call begins with no bins.
 */
size_t best_fit_assign(struct best_fit *b, const uint32_t *length, size_t n, uint32_t *bin);

#endif
