/*
 * byte_buffer.h -- bytes in memory that grows. Zero-initialise; end with byte_buffer_close().
 */
#ifndef COMMON_BASE_BYTE_BUFFER_H
#define COMMON_BASE_BYTE_BUFFER_H

#include <stddef.h>

#include "common/base/failure.h"

struct byte_buffer {
	char *at; /* NULL: nothing was ever reserved */
	size_t n, room;
};

void byte_buffer_close(struct byte_buffer *b);

/* Makes room for `more` bytes behind at[n]; the bytes before stay, though elsewhere. */
enum fail_code byte_buffer_reserve(struct byte_buffer *b, size_t more, struct failure *f);

enum fail_code byte_buffer_add(
    struct byte_buffer *b, const char *bytes, size_t n, struct failure *f);

#endif
