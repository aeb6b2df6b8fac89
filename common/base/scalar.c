#include "common/base/scalar.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_TEXT_MAX = 64 };

/* Largest first, and the decimal unit of a rank before the binary one. */
static const struct {
	const char *name;
	uint64_t bytes;
} units[] = {
    {"GiB", UINT64_C(1) << 30},
    {"GB", UINT64_C(1000000000)},
    {"MiB", UINT64_C(1) << 20},
    {"MB", UINT64_C(1000000)},
    {"KiB", UINT64_C(1) << 10},
    {"KB", UINT64_C(1000)},
    {"B", 1},
};
enum { UNITS = sizeof(units) / sizeof(units[0]) };

/* Reads the digits in front of *text and moves it behind them. */
static enum scalar_result
take_digits(const char **text, uint64_t *out)
{
	uint64_t value = 0;
	bool over = false;

	if (**text < '0' || **text > '9')
		return SCALAR_MALFORMED;
	for (; **text >= '0' && **text <= '9'; ++*text) {
		unsigned digit = (unsigned)(**text - '0');

		over = over || value > (UINT64_MAX - digit) / 10;
		value = over ? UINT64_MAX : value * 10 + digit;
	}
	*out = value;
	return over ? SCALAR_RANGE : SCALAR_OK;
}

enum scalar_result
scalar_count(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
	uint64_t value;
	enum scalar_result result = take_digits(&text, &value);

	assert(min <= max);
	if (result == SCALAR_MALFORMED || *text != '\0')
		return SCALAR_MALFORMED;
	if (result == SCALAR_RANGE || value < min || value > max)
		return SCALAR_RANGE;
	*out = value;
	return SCALAR_OK;
}

enum scalar_result
scalar_size(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
	uint64_t value, unit = 1;
	enum scalar_result result = take_digits(&text, &value);
	size_t i = 0;

	assert(min <= max);
	if (result == SCALAR_MALFORMED)
		return result;
	if (*text != '\0') {
		while (i < UNITS && strcmp(text, units[i].name) != 0)
			i++;
		if (i == UNITS)
			return SCALAR_MALFORMED;
		unit = units[i].bytes;
	}
	if (result == SCALAR_RANGE || value > UINT64_MAX / unit)
		return SCALAR_RANGE;
	value *= unit;
	if (value < min || value > max)
		return SCALAR_RANGE;
	*out = value;
	return SCALAR_OK;
}

enum scalar_result
scalar_number(const char *text, double *out)
{
	size_t n = strlen(text);
	char *end;
	double value;
	int saved = errno;

	if (n == 0 || n > NUMBER_TEXT_MAX || strspn(text, "0123456789+-.eE") != n)
		return SCALAR_MALFORMED;
	errno = 0;
	value = strtod(text, &end);
	errno = saved;
	if (*end != '\0')
		return SCALAR_MALFORMED;
	if (!isfinite(value))
		return SCALAR_RANGE;
	*out = value;
	return SCALAR_OK;
}

enum scalar_result
scalar_bool(const char *text, bool *out)
{
	if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
		return SCALAR_MALFORMED;
	*out = *text == 't';
	return SCALAR_OK;
}

void
scalar_size_text(char out[static SCALAR_SIZE_TEXT_MAX], uint64_t bytes)
{
	for (size_t i = 0; i < UNITS - 1; i++)
		if (bytes != 0 && bytes % units[i].bytes == 0) {
			snprintf(out, SCALAR_SIZE_TEXT_MAX, "%" PRIu64 "%s", bytes / units[i].bytes,
			    units[i].name);
			return;
		}
	snprintf(out, SCALAR_SIZE_TEXT_MAX, "%" PRIu64, bytes);
}
