/*
 * buffer.h -- bytes and arrays in memory that grow at their end.
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

/*
 * ---- arrays that grow ----
 *
 * `array` is the address of the pointer to the items, which are of size_bytes each. FAIL_MEMORY
 * leaves pointer and room as they were.
 */

/* Makes room for exactly n > 0 items, of which the caller keeps the count. */
enum fail_code buffer_resize_items(void *array, size_t n, size_t size_bytes, struct failure *f);

/* Makes *room at least `needed`: twice as much, so that items are copied a few times only. */
enum fail_code buffer_reserve_items(
    void *array, size_t *room, size_t needed, size_t size_bytes, struct failure *f);

#endif
