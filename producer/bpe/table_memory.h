/*
 * table_memory.h -- memory for tables that are read at random places.
 *
 * A lookup at a random place of a large table waits for its memory, and with pages of 4 KiB nearly
 * always for the translation of the address as well, before the memory can even be requested. With
 * pages of 2 MiB a few translations cover the table. So a table that fills such a page is mapped at
 * the start of one, and the kernel is advised to use them before the first touch. It may decline:
 * then lookups are slower, nothing else. Smaller tables come from the heap.
 *
 * Thread: any; the memory is the caller's.
 */
#ifndef PRODUCER_BPE_TABLE_MEMORY_H
#define PRODUCER_BPE_TABLE_MEMORY_H

#include <stddef.h>

/*
 * Gives zeroed memory that begins at a cache line, to be ended with table_memory_free(). `bytes` is
 * a power of two. NULL: memory is refused.
 */
void *table_memory(size_t bytes);

/* Frees what table_memory() gave for as many `bytes`; NULL is accepted. */
void table_memory_free(void *memory, size_t bytes);

#endif
