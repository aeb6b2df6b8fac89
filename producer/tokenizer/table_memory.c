#include "producer/tokenizer/table_memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { LINE_BYTES = 64, LARGE_PAGE_BYTES = 2 << 20 };

void *
table_memory(size_t bytes)
{
	size_t page = bytes < LARGE_PAGE_BYTES ? LINE_BYTES : LARGE_PAGE_BYTES;
	void *memory;

	assert(bytes > 0 && (bytes & (bytes - 1)) == 0);
	memory = aligned_alloc(page, bytes < LINE_BYTES ? LINE_BYTES : bytes);
	if (memory == NULL)
		return NULL;
	if (page == LARGE_PAGE_BYTES)
		madvise(memory, bytes, MADV_HUGEPAGE); /* a wish; slower without */
	return memset(memory, 0, bytes);
}
