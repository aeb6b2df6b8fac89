/*
 * tokenize.h -- a tokenizer that a fuzzed file made is used: every id is one of the table's, and
 * equal texts have equal ids, whatever the cache holds.
 */
#ifndef TESTS_FUZZ_TOKENIZE_H
#define TESTS_FUZZ_TOKENIZE_H

#include <string.h>

#include "producer/encoder/encoder.h"
#include "producer/tokenizer/tokenizer.h"
#include "tests/fuzz/fuzz.h"

enum { TOKENIZE_TEXT_MAX = 4096 };

static inline void
tokenize_text(struct encoder *e, const struct tokenizer *t, const char *text, size_t n)
{
	struct token_buffer first = {0}, again = {0};
	struct failure f;
	size_t bytes;

	FUZZ_CHECK(encoder_encode(e, text, n, &first, &f) == FAIL_NONE);
	FUZZ_CHECK(encoder_encode(e, text, n, &again, &f) == FAIL_NONE);
	FUZZ_CHECK(first.n == again.n);
	FUZZ_CHECK(first.n == 0 || memcmp(first.id, again.id, first.n * sizeof(*first.id)) == 0);
	for (size_t i = 0; i < first.n; i++) {
		FUZZ_CHECK(first.id[i] < tokenizer_entries(t));
		FUZZ_CHECK(tokenizer_bytes(t, first.id[i], &bytes) != NULL);
	}
	token_buffer_close(&first);
	token_buffer_close(&again);
}

static inline void
tokenize_with(const struct tokenizer *t, const uint8_t *data, size_t n)
{
	static const char sample[] =
	    "  The 1234 don't\r\n\t\xc3\x9c"
	    "ber \xe4\xb8\xad\xe6\x96\x87 "
	    "\xcc\x81 \xf0\x9f\x98\x80 <s> [MASK] \xff\xe2\x82 aaaaaaaaaaaa";
	struct encoder *e;
	struct failure f;

	FUZZ_CHECK(encoder_open(&e, t, &f) == FAIL_NONE);
	tokenize_text(e, t, sample, sizeof(sample) - 1);
	tokenize_text(e, t, (const char *)data, n < TOKENIZE_TEXT_MAX ? n : TOKENIZE_TEXT_MAX);
	tokenize_text(e, t, "", 0);
	encoder_close(e);
}

#endif
