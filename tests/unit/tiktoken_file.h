/* tiktoken_file.h -- .tiktoken files for tests, in a folder of their own. */
#ifndef TESTS_UNIT_TIKTOKEN_FILE_H
#define TESTS_UNIT_TIKTOKEN_FILE_H

#include <unistd.h>

#include "tests/unit/test.h"

static char tiktoken_path[] = P_tmpdir "/riffle-tiktoken-XXXXXX";

/* For cmocka: a file to write to, removed at the end. */
static inline int
tiktoken_file_setup(void **unused)
{
	int fd = mkstemp(tiktoken_path);

	(void)unused;
	return fd < 0 ? -1 : close(fd);
}

static inline int
tiktoken_file_teardown(void **unused)
{
	(void)unused;
	return unlink(tiktoken_path);
}

static inline void
tiktoken_file_write(const char *text, size_t n)
{
	FILE *out = fopen(tiktoken_path, "wb");

	assert_non_null(out);
	assert_int_equal(fwrite(text, 1, n, out), n);
	assert_int_equal(fclose(out), 0);
}

/* RFC 4648, section 4. Writes to `out` and returns the bytes written. */
static inline size_t
tiktoken_base64(char *out, const uint8_t *p, size_t n)
{
	static const char digits[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t written = 0;

	for (size_t i = 0; i < n; i += 3) {
		uint32_t bits = (uint32_t)p[i] << 16 | (i + 1 < n ? (uint32_t)p[i + 1] << 8 : 0) |
				(i + 2 < n ? p[i + 2] : 0);

		out[written++] = digits[bits >> 18];
		out[written++] = digits[bits >> 12 & 63];
		out[written++] = i + 1 < n ? digits[bits >> 6 & 63] : '=';
		out[written++] = i + 2 < n ? digits[bits & 63] : '=';
	}
	return written;
}

/* The 256 bytes with ranks 0 to 255, then `more`, up to a NULL. Gives the text (free). */
static inline char *
tiktoken_text(const char *const *more, size_t *n)
{
	size_t room = 256 * 16, rank = 0;
	char *text;

	for (size_t i = 0; more[i] != NULL; i++)
		room += strlen(more[i]) * 2 + 32;
	text = malloc(room);
	assert_non_null(text);
	*n = 0;
	for (; rank < 256; rank++) {
		*n += tiktoken_base64(text + *n, &(uint8_t){(uint8_t)rank}, 1);
		*n += (size_t)snprintf(text + *n, room - *n, " %zu\n", rank);
	}
	for (size_t i = 0; more[i] != NULL; i++, rank++) {
		*n += tiktoken_base64(text + *n, (const uint8_t *)more[i], strlen(more[i]));
		*n += (size_t)snprintf(text + *n, room - *n, " %zu\n", rank);
	}
	return text;
}

static inline void
tiktoken_file_of(const char *const *more)
{
	size_t n;
	char *text = tiktoken_text(more, &n);

	tiktoken_file_write(text, n);
	free(text);
}

#endif
