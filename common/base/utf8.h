/*
 * utf8.h -- is it UTF-8, and what it is read as where it is not.
 *
 * Well-formed is what the Unicode Standard (table 3-7) calls so: no surrogates, no overlong forms,
 * nothing above U+10FFFF. Each maximal part that begins like a character and does not go on like
 * one becomes one U+FFFD, as Python's errors="replace" does:
 *
 *     61 E2 82 62  ->  a FFFD b        61 ED A0 80 62  ->  a FFFD FFFD FFFD b
 */
#ifndef COMMON_BASE_UTF8_H
#define COMMON_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { UTF8_REPLACED_FACTOR = 3 }; /* replacing makes a text at most so many times as long */

/* Bytes of the longest prefix that is well-formed; n: all of it is. */
size_t utf8_valid_bytes(const char *text, size_t n);

static inline bool
utf8_valid(const char *text, size_t n)
{
	return utf8_valid_bytes(text, n) == n;
}

/*
 * The character that text[n], n > 0, begins with: its bytes, and its code point in *point. If it
 * begins with none: the bytes that utf8_replace() makes one U+FFFD of, and UTF8_NONE.
 */
#define UTF8_NONE UINT32_MAX
size_t utf8_next(const char *text, size_t n, uint32_t *point);

/*
 * Writes text[n], with U+FFFD for what is not well-formed, to `out`, which has room for
 * n * UTF8_REPLACED_FACTOR bytes and does not overlap; returns how many were written.
 */
size_t utf8_replace(char *out, const char *text, size_t n);

#endif
