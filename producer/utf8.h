/*
 * utf8.h -- checks UTF-8 and replaces what is not.
 *
 * Well-formed is Unicode 16.0 table 3-7: no overlong forms, no surrogates, nothing above U+10FFFF.
 * Replacement puts one U+FFFD for each maximal subpart of an ill-formed sequence (Unicode 16.0,
 * section 3.9, as Python's errors="replace"): "\xE2\x82A" becomes U+FFFD "A".
 */
#ifndef PRODUCER_UTF8_H
#define PRODUCER_UTF8_H

#include <stddef.h>

/* Length of the longest well-formed beginning; n: all of it is. */
size_t utf8_valid_length(const char *text, size_t n);

/* Writes text[n], repaired, to out, which has room for 3 * n bytes; returns what it took. */
size_t utf8_replace(char *out, const char *text, size_t n);

#endif
