#include "common/base/scalar.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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

/* ---- moments ---- */

#define DAY_MS    (INT64_C(24) * 60 * 60 * 1000)
#define MOMENT_MS (INT64_C(2932897) * DAY_MS) /* 10000-01-01 */

/* Days from 1970-01-01 to the first of a month; years are counted from March, so that a leap day is
 * a year's last. */
static int64_t
days_before(int64_t year, int64_t month)
{
	int64_t y = month <= 2 ? year - 1 : year, m = (month + 9) % 12;

	return 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 - 719468;
}

/* Exactly n digits, of a value from min to max. */
static bool
take_number(const char **at, size_t n, int64_t min, int64_t max, int64_t *out)
{
	*out = 0;
	for (size_t i = 0; i < n; i++) {
		if ((*at)[i] < '0' || (*at)[i] > '9')
			return false;
		*out = 10 * *out + ((*at)[i] - '0');
	}
	*at += n;
	return *out >= min && *out <= max;
}

static bool
take_char(const char **at, char c)
{
	if (**at != c)
		return false;
	++*at;
	return true;
}

/* ".5" and the like, if it is there. */
static bool
take_fraction(const char **at, int64_t *ms)
{
	int64_t unit = 100;

	*ms = 0;
	if (!take_char(at, '.'))
		return true;
	if (**at < '0' || **at > '9')
		return false;
	for (; **at >= '0' && **at <= '9'; ++*at, unit /= 10)
		*ms += unit * (**at - '0');
	return true;
}

/* "Z" or "+02:00". */
static bool
take_zone(const char **at, int64_t *ms)
{
	int64_t hours, minutes, sign = **at == '-' ? -1 : 1;

	*ms = 0;
	if (take_char(at, 'Z') || take_char(at, 'z'))
		return true;
	if (!take_char(at, '+') && !take_char(at, '-'))
		return false;
	if (!take_number(at, 2, 0, 23, &hours) || !take_char(at, ':') ||
	    !take_number(at, 2, 0, 59, &minutes))
		return false;
	*ms = sign * (hours * 60 + minutes) * 60000;
	return true;
}

static enum scalar_result
calendar_moment(const char *at, int64_t *out)
{
	int64_t year, month, day, hours = 0, minutes = 0, seconds = 0, fraction = 0, zone = 0;

	if (!take_number(&at, 4, 0, 9999, &year) || !take_char(&at, '-') ||
	    !take_number(&at, 2, 1, 12, &month) || !take_char(&at, '-') ||
	    !take_number(&at, 2, 1, 31, &day))
		return SCALAR_MALFORMED;
	if (day >
	    days_before(month == 12 ? year + 1 : year, month % 12 + 1) - days_before(year, month))
		return SCALAR_MALFORMED;
	if (*at != '\0' &&
	    ((!take_char(&at, 'T') && !take_char(&at, 't') && !take_char(&at, ' ')) ||
		!take_number(&at, 2, 0, 23, &hours) || !take_char(&at, ':') ||
		!take_number(&at, 2, 0, 59, &minutes) || !take_char(&at, ':') ||
		!take_number(&at, 2, 0, 60, &seconds) || !take_fraction(&at, &fraction) ||
		!take_zone(&at, &zone) || *at != '\0'))
		return SCALAR_MALFORMED;
	*out = (days_before(year, month) + day - 1) * DAY_MS +
	       ((hours * 60 + minutes) * 60 + seconds) * 1000 + fraction - zone;
	return SCALAR_OK;
}

enum scalar_result
scalar_moment(const char *text, int64_t *out)
{
	enum scalar_result result;
	const char *at = text;
	int64_t ms = 0, fraction;

	if (strchr(text, '-') != NULL) {
		result = calendar_moment(text, &ms);
		if (result != SCALAR_OK)
			return result;
	} else {
		while (*at >= '0' && *at <= '9' && ms < MOMENT_MS)
			ms = 10 * ms + (*at++ - '0');
		if (at == text)
			return SCALAR_MALFORMED;
		if (ms >= MOMENT_MS / 1000 && strspn(text, "0123456789.") == strlen(text))
			return SCALAR_RANGE;
		ms *= 1000;
		if (!take_fraction(&at, &fraction) || *at != '\0')
			return SCALAR_MALFORMED;
		ms += fraction;
	}
	if (ms < 0 || ms >= MOMENT_MS)
		return SCALAR_RANGE;
	*out = ms;
	return SCALAR_OK;
}

void
scalar_moment_text(char out[static SCALAR_MOMENT_TEXT_MAX], int64_t ms)
{
	time_t seconds = (time_t)(ms / 1000);
	struct tm when;
	size_t n;

	assert(ms >= 0);
	assert(ms < MOMENT_MS);
	gmtime_r(&seconds, &when);
	n = strftime(out, SCALAR_MOMENT_TEXT_MAX, "%Y-%m-%dT%H:%M:%S", &when);
	snprintf(out + n, SCALAR_MOMENT_TEXT_MAX - n, ".%03dZ", (int)(ms % 1000));
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
