#include "tests/sim/heap.h"

#ifndef HEAP_NONE

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
	ALIGN = 16,
	SMALL_MAX = 1024,          /* up to it a class every ALIGN bytes, */
	SMALL = SMALL_MAX / ALIGN, /* then four for each power of two */
	STEPS_BITS = 2,
	STEPS = 1 << STEPS_BITS,
	SMALL_BITS = 10,
	CLASSES = SMALL + 1 + STEPS * (32 - SMALL_BITS),
};
#define HEAP_BYTES ((size_t)256 << 20) /* of address space */

/* Before each block. */
struct head {
	uint32_t class;
	uint32_t back; /* to the block's head from here, where more alignment was asked for */
	struct head *next;
};

struct heap {
	uint8_t *base;
	size_t used;
	struct head *freed[CLASSES];
};

static struct heap heaps[HEAPS_MAX];
static struct heap *heap; /* NULL: the library's */

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t count, size_t n);
void *__libc_realloc(void *block, size_t n);
void *__libc_memalign(size_t align, size_t n);
void __libc_free(void *block);

#define OURS __attribute__((visibility("default")))

void
heap_open(void)
{
	uint8_t *base;

	static_assert(sizeof(struct head) == ALIGN, "a head keeps the block aligned");
	if (heaps[0].base != NULL)
		return;
	base = mmap(NULL, HEAPS_MAX * HEAP_BYTES, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (base == MAP_FAILED) {
		perror("sim: no memory for heaps");
		exit(1);
	}
	for (size_t i = 0; i < HEAPS_MAX; i++)
		heaps[i].base = base + i * HEAP_BYTES;
}

void
heap_use(int number)
{
	assert(number < HEAPS_MAX);
	heap = number < 0 ? NULL : &heaps[number];
}

void
heap_clear(int number)
{
	heaps[number].used = 0;
	memset(heaps[number].freed, 0, sizeof(heaps[number].freed));
}

static bool
is_ours(const void *block)
{
	return (uintptr_t)block - (uintptr_t)heaps[0].base < HEAPS_MAX * HEAP_BYTES &&
	       heaps[0].base != NULL;
}

/* ---- classes ---- */

static uint32_t
class_of(size_t n)
{
	unsigned bits;

	if (n <= SMALL_MAX)
		return (uint32_t)((n + ALIGN - 1) / ALIGN);
	bits = 63 - (unsigned)__builtin_clzl(n - 1);
	return (uint32_t)(SMALL + 1 + (bits - SMALL_BITS) * STEPS +
			  ((n - 1) >> (bits - STEPS_BITS) & (STEPS - 1)));
}

static size_t
class_bytes(uint32_t class)
{
	unsigned bits, step;

	if (class <= SMALL)
		return (size_t) class * ALIGN;
	bits = SMALL_BITS + (class - SMALL - 1) / STEPS;
	step = (class - SMALL - 1) % STEPS;
	return ((size_t)1 << bits) + ((size_t)(step + 1) << (bits - STEPS_BITS));
}

static struct head *
head_of(void *block)
{
	struct head *h = (struct head *)block - 1;

	return (struct head *)((uint8_t *)h - h->back);
}

/* NULL, and errno, where the heap is full. */
static void *
take(size_t n)
{
	uint32_t class = class_of(n < HEAP_BYTES ? n : HEAP_BYTES);
	struct head *h = heap->freed[class];
	size_t bytes = sizeof(*h) + class_bytes(class);

	if (h != NULL) {
		heap->freed[class] = h->next;
	} else if (n < HEAP_BYTES && bytes <= HEAP_BYTES - heap->used) {
		h = (struct head *)(heap->base + heap->used);
		heap->used += bytes;
	} else {
		errno = ENOMEM;
		return NULL;
	}
	h->class = class;
	h->back = 0;
	return h + 1;
}

/* The block's own heap: that of a task which has rested meanwhile is used by it alone. */
static void
give_back(void *block)
{
	struct head *h = head_of(block);
	struct heap *of = &heaps[(size_t)((uint8_t *)h - heaps[0].base) / HEAP_BYTES];

	h->next = of->freed[h->class];
	of->freed[h->class] = h;
}

static size_t
room_of(void *block)
{
	struct head *h = head_of(block);

	return class_bytes(h->class) - (size_t)((uint8_t *)block - (uint8_t *)(h + 1));
}

/* ---- the functions of the C library ---- */

OURS void *
malloc(size_t n)
{
	return heap == NULL ? __libc_malloc(n) : take(n);
}

OURS void
free(void *block)
{
	if (is_ours(block))
		give_back(block);
	else
		__libc_free(block);
}

OURS void *
calloc(size_t count, size_t n)
{
	size_t bytes;
	void *block;

	if (heap == NULL)
		return __libc_calloc(count, n);
	if (__builtin_mul_overflow(count, n, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	block = take(bytes);
	return block == NULL ? NULL : memset(block, 0, bytes);
}

OURS void *
realloc(void *block, size_t n)
{
	void *grown;

	if (block == NULL)
		return malloc(n);
	if (!is_ours(block))
		return __libc_realloc(block, n);
	if (n <= room_of(block))
		return block;
	assert(heap != NULL);
	grown = take(n);
	if (grown == NULL)
		return NULL;
	memcpy(grown, block, room_of(block));
	give_back(block);
	return grown;
}

OURS void *
memalign(size_t align, size_t n)
{
	uint8_t *block;
	size_t more;

	if (heap == NULL)
		return __libc_memalign(align, n);
	if (align <= ALIGN)
		return take(n);
	block = take(n + align);
	if (block == NULL)
		return NULL;
	more = (size_t)(-(uintptr_t)block & (align - 1));
	if (more > 0)
		((struct head *)(block + more) - 1)->back = (uint32_t)more;
	return block + more;
}

OURS void *
aligned_alloc(size_t align, size_t n)
{
	return memalign(align, n);
}

OURS int
posix_memalign(void **out, size_t align, size_t n)
{
	*out = memalign(align, n);
	return *out == NULL ? ENOMEM : 0;
}

OURS size_t malloc_usable_size(void *block);

/* Of the library's blocks nobody asks here. */
OURS size_t
malloc_usable_size(void *block)
{
	return block == NULL || !is_ours(block) ? 0 : room_of(block);
}

#else

void
heap_open(void)
{
}

void
heap_use(int number)
{
	(void)number;
}

void
heap_clear(int number)
{
	(void)number;
}

#endif
