/*
 * scalar.h -- texts that people write for numbers: of the configuration and the command line alike.
 *
 * Pure functions. A number is plain decimal digits: no sign, blank, underscore, hexadecimal or
 * exponent for counts. The destination is written on SCALAR_OK only.
 */
#ifndef COMMON_BASE_SCALAR_H
#define COMMON_BASE_SCALAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum scalar_result {
	SCALAR_OK,
	SCALAR_MALFORMED, /* not such a number at all */
	SCALAR_RANGE,     /* one, but below min, above max or beyond the type */
};

enum { SCALAR_SIZE_TEXT_MAX = 32, SCALAR_MOMENT_TEXT_MAX = 40 };

/* "0" to "18446744073709551615". */
enum scalar_result scalar_count(const char *text, uint64_t min, uint64_t max, uint64_t *out);

/* Bytes: digits, then nothing, "B", "KB" "MB" "GB" (10^3 and up) or "KiB" "MiB" "GiB" (2^10). */
enum scalar_result scalar_size(const char *text, uint64_t min, uint64_t max, uint64_t *out);

/* A decimal fraction, with sign and exponent where wanted; "inf", "nan" and hexadecimal are
 * SCALAR_MALFORMED, a magnitude beyond double is SCALAR_RANGE. */
enum scalar_result scalar_number(const char *text, double *out);

/* "true" or "false", nothing else: "yes" and "on" mean different things to different readers. */
enum scalar_result scalar_bool(const char *text, bool *out);

/*
 * A moment, in milliseconds since 1970-01-01 UTC: seconds since then as a decimal number
 * ("1769855430.5"), or ISO 8601 as RFC 3339 has it: "2026-01-31T10:20:30.5Z", "+02:00" in place of
 * the Z, a blank in place of the T, or a date alone, which is its midnight in UTC. Years 1970 to
 * 9999; what is finer than a millisecond is cut off.
 */
enum scalar_result scalar_moment(const char *text, int64_t *out);

/* Writes one as scalar_moment() reads it: "2026-01-31T10:20:30.500Z". `ms` is 0 or more. */
void scalar_moment_text(char out[static SCALAR_MOMENT_TEXT_MAX], int64_t ms);

/* Writes bytes as scalar_size() reads them, in the largest unit that is exact: "64MiB", "512MB". */
void scalar_size_text(char out[static SCALAR_SIZE_TEXT_MAX], uint64_t bytes);

#endif
