#include "common/base/buffer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM_MIN = 1 << 12 };

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
