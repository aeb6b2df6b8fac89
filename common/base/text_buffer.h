/*
 * text_buffer.h -- bytes that grow at their end. Zero-initialise, end with text_buffer_close().
 */
#ifndef COMMON_BASE_TEXT_BUFFER_H
#define COMMON_BASE_TEXT_BUFFER_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/base/failure.h"

struct text_buffer {
	uint8_t *bytes; /* [n], owned */
	size_t n, room;
};

/* Makes room for `more` further bytes. */
enum fail_code text_buffer_reserve(struct text_buffer *b, size_t more, struct failure *f);
void text_buffer_close(struct text_buffer *b);

/* Adds bytes[n]; there may be no room yet. */
enum fail_code text_buffer_add(
    struct text_buffer *b, const void *bytes, size_t n, struct failure *f);

#endif
