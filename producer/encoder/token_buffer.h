/*
 * token_buffer.h -- ids that grow at their end. Zero-initialise, end with token_buffer_close().
 */
#ifndef PRODUCER_ENCODER_TOKEN_BUFFER_H
#define PRODUCER_ENCODER_TOKEN_BUFFER_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"

struct token_buffer {
	uint32_t *id; /* [n], owned; NULL before anything was reserved */
	size_t n;
	size_t room;
};

/* Makes room for `more` further ids. FAIL_MEMORY leaves the buffer as it is. */
enum fail_code token_buffer_reserve(struct token_buffer *b, size_t more, struct failure *f);
void token_buffer_close(struct token_buffer *b);

#endif
