/*
 * table_memory.h -- memory for tables that are read at random places.
 *
 * Large pages where the table fills one, asked for before the first touch: fewer translations to
 * miss, for prefetches too. They come from the kernel, which has made them zero already.
 */
#ifndef PRODUCER_BPE_TABLE_MEMORY_H
#define PRODUCER_BPE_TABLE_MEMORY_H

#include <stddef.h>

/* bytes > 0, a power of two, all zero, at the start of a cache line; NULL: refused. */
void *table_memory(size_t bytes);

/* Gives back what table_memory(bytes) gave; NULL is accepted. */
void table_memory_free(void *memory, size_t bytes);

#endif
