#include "common/base/text_buffer.h"

#include <stdlib.h>

enum { ROOM_MIN = 1 << 12 };

void
text_buffer_close(struct text_buffer *b)
{
	free(b->bytes);
	*b = (struct text_buffer){NULL, 0, 0};
}

enum fail_code
text_buffer_reserve(struct text_buffer *b, size_t more, struct failure *f)
{
	size_t room = b->room < ROOM_MIN ? ROOM_MIN : b->room;
	uint8_t *bytes;

	if (b->room - b->n >= more)
		return FAIL_NONE;
	if (more > SIZE_MAX / 4 - b->n)
		return fail_memory(f);
	while (room - b->n < more)
		room *= 2;
	bytes = realloc(b->bytes, room);
	if (bytes == NULL)
		return fail_memory(f);
	b->bytes = bytes;
	b->room = room;
	return FAIL_NONE;
}

enum fail_code
text_buffer_add(struct text_buffer *b, const void *bytes, size_t n, struct failure *f)
{
	if (text_buffer_reserve(b, n, f) != FAIL_NONE)
		return f->code;
	if (n > 0)
		memcpy(b->bytes + b->n, bytes, n);
	b->n += n;
	return FAIL_NONE;
}
