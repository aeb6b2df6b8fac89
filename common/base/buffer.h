/*
 * buffer.h -- bytes in memory that grow at their end.
 *
 * A zeroed buffer is a valid empty one; end it with buffer_close(). It is emptied, and its memory
 * kept for the next use, by setting n to 0. Whoever has reserved room may write behind bytes[n] and
 * add to n itself. Growing moves the bytes: a pointer into them holds until the next call.
 */
#ifndef COMMON_BASE_BUFFER_H
#define COMMON_BASE_BUFFER_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"

struct buffer {
	uint8_t *bytes; /* [n], owned; NULL: nothing was ever reserved */
	size_t n, room; /* n <= room */
};

/* Makes room for `more` bytes behind the n. FAIL_MEMORY leaves the buffer as it was. */
enum fail_code buffer_reserve(struct buffer *b, size_t more, struct failure *f);

/* Appends a copy of bytes[n], for which it makes room; n may be 0. FAIL_MEMORY as above. */
enum fail_code buffer_add(struct buffer *b, const void *bytes, size_t n, struct failure *f);

void buffer_close(struct buffer *b);

#endif
