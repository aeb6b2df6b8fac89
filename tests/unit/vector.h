/* vector.h -- golden bytes from tests/vectors, and a hostile world for decoders of bytes. */
#ifndef TESTS_UNIT_VECTOR_H
#define TESTS_UNIT_VECTOR_H

#include <ctype.h>

#include "common/base/failure.h"
#include "tests/unit/test.h"

struct vector {
	uint8_t *bytes; /* free */
	size_t n;
};

/* Reads tests/vectors/<name>.hex; the working directory is the root of the tree. */
static inline struct vector
vector_read(const char *name)
{
	struct vector v = {0};
	char path[128], digits[3] = {0};
	FILE *file;

	snprintf(path, sizeof(path), "tests/vectors/%s.hex", name);
	file = fopen(path, "r");
	if (file == NULL)
		print_error("cannot open %s: run the tests from the root of the tree\n", path);
	assert_non_null(file);
	v.bytes = malloc(65536);
	assert_non_null(v.bytes);
	while (fscanf(file, " %2[0-9a-f]", digits) == 1 && v.n < 65536)
		v.bytes[v.n++] = (uint8_t)strtoul(digits, NULL, 16);
	assert_true(feof(file));
	fclose(file);
	return v;
}

typedef enum fail_code vector_decode(const uint8_t *bytes, size_t n, struct failure *f);

/* Decodes a copy in memory of exactly its size, so that a sanitizer sees any look beyond it. */
static inline enum fail_code
vector_try(vector_decode *decode, const uint8_t *bytes, size_t n)
{
	uint8_t *copy = malloc(n == 0 ? 1 : n);
	struct failure f = {0};
	enum fail_code code;

	assert_non_null(copy);
	memcpy(copy, bytes, n);
	code = decode(copy, n, &f);
	assert_true(code == FAIL_NONE || code == FAIL_DATA);
	assert_true((code == FAIL_NONE) == (f.text[0] == '\0'));
	free(copy);
	return code;
}

static inline void
vector_refuses_every_truncation(vector_decode *decode, const struct vector *v)
{
	assert_int_equal(vector_try(decode, v->bytes, v->n), FAIL_NONE);
	for (size_t n = 0; n < v->n; n++)
		assert_int_equal(vector_try(decode, v->bytes, n), FAIL_DATA);
}

static inline void
vector_refuses_a_byte_more(vector_decode *decode, const struct vector *v)
{
	uint8_t *longer = calloc(1, v->n + 1);

	assert_non_null(longer);
	memcpy(longer, v->bytes, v->n);
	assert_int_equal(vector_try(decode, longer, v->n + 1), FAIL_DATA);
	free(longer);
}

/* Every byte, with each of 255 other values: refused or decoded, nothing else. */
static inline void
vector_survives_every_flip(vector_decode *decode, const struct vector *v)
{
	for (size_t at = 0; at < v->n; at++) {
		uint8_t was = v->bytes[at];

		for (unsigned flip = 1; flip < 256; flip++) {
			v->bytes[at] = (uint8_t)(was ^ flip);
			(void)vector_try(decode, v->bytes, v->n);
		}
		v->bytes[at] = was;
	}
}

/* The bytes with `n` at [at, at + cut) replaced; gives memory. */
static inline struct vector
vector_splice(const struct vector *v, size_t at, size_t cut, const void *bytes, size_t n)
{
	struct vector out = {malloc(v->n - cut + n), v->n - cut + n};

	assert_non_null(out.bytes);
	assert_true(at + cut <= v->n);
	memcpy(out.bytes, v->bytes, at);
	memcpy(out.bytes + at, bytes, n);
	memcpy(out.bytes + at + n, v->bytes + at + cut, v->n - at - cut);
	return out;
}

#endif
