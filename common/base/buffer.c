#include "common/base/buffer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM_MIN = 1 << 12, ITEMS_MORE = 16 };

enum fail_code
buffer_reserve(struct buffer *b, size_t more, struct failure *f)
{
	size_t room = b->room < ROOM_MIN / 2 ? ROOM_MIN : b->room * 2;
	uint8_t *bytes;

	assert(b->n <= b->room);
	if (b->room - b->n >= more)
		return FAIL_NONE;
	if (more > SIZE_MAX / 4 - b->n)
		return fail_memory(f);
	/*
	 * Twice as much, so that many small pieces are copied a few times only; a large one fits.
	 */
	if (room < b->n + more)
		room = b->n + more;
	assert(room >= b->n + more);
	bytes = realloc(b->bytes, room);
	if (bytes == NULL)
		return fail_memory(f);
	b->bytes = bytes;
	b->room = room;
	return FAIL_NONE;
}

enum fail_code
buffer_add(struct buffer *b, const void *bytes, size_t n, struct failure *f)
{
	assert(bytes != NULL || n == 0);
	if (buffer_reserve(b, n, f) != FAIL_NONE)
		return f->code;
	if (n > 0)
		memcpy(b->bytes + b->n, bytes, n);
	b->n += n;
	return FAIL_NONE;
}

void
buffer_close(struct buffer *b)
{
	free(b->bytes);
	*b = (struct buffer){0};
}

enum fail_code
buffer_resize_items(void *array, size_t n, size_t size_bytes, struct failure *f)
{
	void *items;

	assert(n > 0);
	memcpy(&items, array, sizeof(items)); /* it is a pointer of another type */
	items = realloc(items, n * size_bytes);
	if (items == NULL)
		return fail_memory(f);
	memcpy(array, &items, sizeof(items));
	return FAIL_NONE;
}

enum fail_code
buffer_reserve_items(void *array, size_t *room, size_t needed, size_t size_bytes, struct failure *f)
{
	size_t more = 2 * *room + ITEMS_MORE;

	if (needed <= *room)
		return FAIL_NONE;
	if (more < needed)
		more = needed;
	if (buffer_resize_items(array, more, size_bytes, f) != FAIL_NONE)
		return f->code;
	*room = more;
	return FAIL_NONE;
}
