#include "producer/encoder/token_buffer.h"

#include <assert.h>
#include <stdlib.h>

enum { ROOM_MIN = 1024 };

void
token_buffer_close(struct token_buffer *b)
{
	free(b->id);
	*b = (struct token_buffer){NULL, 0, 0};
}

enum fail_code
token_buffer_reserve(struct token_buffer *b, size_t more, struct failure *f)
{
	size_t room = b->room < ROOM_MIN ? ROOM_MIN : b->room;
	uint32_t *id;

	assert(b->n <= b->room);
	if (b->room - b->n >= more)
		return FAIL_NONE;
	if (more > SIZE_MAX / sizeof(*id) / 4 - b->n)
		return fail_memory(f);
	while (room - b->n < more)
		room *= 2;
	id = realloc(b->id, room * sizeof(*id));
	if (id == NULL)
		return fail_memory(f);
	b->id = id;
	b->room = room;
	return FAIL_NONE;
}
