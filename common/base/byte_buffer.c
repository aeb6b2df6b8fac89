#include "common/base/byte_buffer.h"

#include <stdlib.h>
#include <string.h>

void
byte_buffer_close(struct byte_buffer *b)
{
	free(b->at);
	*b = (struct byte_buffer){0};
}

enum fail_code
byte_buffer_reserve(struct byte_buffer *b, size_t more, struct failure *f)
{
	size_t room = b->n + more + b->room / 2;
	char *grown;

	if (b->room - b->n >= more)
		return FAIL_NONE;
	grown = realloc(b->at, room);
	if (grown == NULL)
		return fail_memory(f);
	b->at = grown;
	b->room = room;
	return FAIL_NONE;
}

enum fail_code
byte_buffer_add(struct byte_buffer *b, const char *bytes, size_t n, struct failure *f)
{
	if (byte_buffer_reserve(b, n, f) != FAIL_NONE)
		return f->code;
	if (n > 0)
		memcpy(b->at + b->n, bytes, n);
	b->n += n;
	return FAIL_NONE;
}
