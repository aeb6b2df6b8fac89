#include "producer/bpe/table_memory.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { LINE_BYTES = 64, LARGE_PAGE_BYTES = 2 << 20 };

/*
 * A mapping begins at any small page. So one large page more than needed is mapped, and what is in
 * front of the first large page and behind the last is unmapped again.
 */
static void *
large(size_t bytes)
{
	size_t mapped = bytes + LARGE_PAGE_BYTES, before;
	char *memory =
	    mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return NULL;
	before = -(uintptr_t)memory & (LARGE_PAGE_BYTES - 1);
	if (before > 0)
		munmap(memory, before);
	memory += before;
	munmap(memory + bytes, LARGE_PAGE_BYTES - before);
	madvise(memory, bytes, MADV_HUGEPAGE); /* a wish; slower without */
	return memory;
}

void *
table_memory(size_t bytes)
{
	void *memory;

	assert(bytes > 0);
	assert((bytes & (bytes - 1)) == 0);
	if (bytes >= LARGE_PAGE_BYTES)
		return large(bytes);
	if (bytes < LINE_BYTES)
		bytes = LINE_BYTES;
	memory = aligned_alloc(LINE_BYTES, bytes);
	return memory == NULL ? NULL : memset(memory, 0, bytes);
}

void
table_memory_free(void *memory, size_t bytes)
{
	assert((bytes & (bytes - 1)) == 0);
	if (bytes < LARGE_PAGE_BYTES)
		free(memory);
	else if (memory != NULL)
		munmap(memory, bytes);
}
