#include "cli/options_value.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/limits.h"
#include "common/base/scalar.h"

static uint64_t
row_max(const struct option_row *row)
{
	if (row->max != 0)
		return row->max;
	return row->kind == OPTION_COUNT32 ? UINT32_MAX : UINT64_MAX;
}

static enum fail_code
set_count(const struct option_row *row, void *to, const char *text, struct failure *f)
{
	uint64_t value = 0, max = row_max(row);
	char low[SCALAR_SIZE_TEXT_MAX], high[SCALAR_SIZE_TEXT_MAX];
	bool size = row->kind == OPTION_SIZE;
	enum scalar_result result = size ? scalar_size(text, row->min, max, &value)
					 : scalar_count(text, row->min, max, &value);

	if (result == SCALAR_OK) {
		if (row->kind == OPTION_COUNT32)
			*(uint32_t *)to = (uint32_t)value;
		else
			*(uint64_t *)to = value;
		return FAIL_NONE;
	}
	if (size) {
		scalar_size_text(low, row->min);
		scalar_size_text(high, max);
	} else {
		snprintf(low, sizeof(low), "%" PRIu64, row->min);
		snprintf(high, sizeof(high), "%" PRIu64, max);
	}
	return fail(f, FAIL_USAGE, "--%s: %s: %s (%s to %s%s)", row->name,
	    result == SCALAR_RANGE ? "out of range"
	    : size                 ? "not a size"
				   : "not a whole number",
	    text, low, high, size ? ", as 4096, 16MiB or 512MB" : "");
}

static enum fail_code
set_number(const struct option_row *row, double *to, const char *text, struct failure *f)
{
	enum scalar_result result = scalar_number(text, to);
	bool bounded = row->max != 0;

	if (result == SCALAR_OK && bounded && (*to < (double)row->min || *to > (double)row->max))
		result = SCALAR_RANGE;
	if (result == SCALAR_OK)
		return FAIL_NONE;
	if (result == SCALAR_RANGE && bounded)
		return fail(f, FAIL_USAGE, "--%s: out of range: %s (%" PRIu64 " to %" PRIu64 ")",
		    row->name, text, row->min, row->max);
	return fail(f, FAIL_USAGE, "--%s: not a finite number: %s", row->name, text);
}

static enum fail_code
set_choice(const struct option_row *row, int *to, const char *text, struct failure *f)
{
	char all[256];
	size_t used = 0;

	for (int i = 0; row->choice[i] != NULL; i++)
		if (strcmp(text, row->choice[i]) == 0) {
			*to = i;
			return FAIL_NONE;
		}
	for (int i = 0; row->choice[i] != NULL && used < sizeof(all); i++)
		used += (size_t)snprintf(
		    all + used, sizeof(all) - used, "%s%s", i == 0 ? "" : ", ", row->choice[i]);
	return fail(f, FAIL_USAGE, "--%s: unknown: %s (one of %s)", row->name, text, all);
}

/* Cuts "left<separator>right" into two counts; `left` has room for `text`. */
static bool
pair(const char *text, const char *separator, uint64_t *left, uint64_t *right)
{
	char first[SCALAR_SIZE_TEXT_MAX];
	const char *cut = strstr(text, separator);

	if (cut == NULL || (size_t)(cut - text) >= sizeof(first))
		return false;
	memcpy(first, text, (size_t)(cut - text));
	first[cut - text] = '\0';
	return scalar_count(first, 0, INT64_MAX, left) == SCALAR_OK &&
	       scalar_count(cut + strlen(separator), 0, INT64_MAX, right) == SCALAR_OK;
}

static enum fail_code
set_pair(const struct option_row *row, void *to, const char *text, struct failure *f)
{
	struct option_range range;

	if (row->kind == OPTION_RANGE) {
		if (!pair(text, "..", &range.first, &range.end) || range.first > range.end)
			return fail(f, FAIL_USAGE,
			    "--%s: not a range: %s (a..b: a up to, but without, b)", row->name,
			    text);
		*(struct option_range *)to = range;
		return FAIL_NONE;
	}
	if (!pair(text, "/", &range.first, &range.end) || range.first >= range.end ||
	    range.end > LIMIT_LANES)
		return fail(f, FAIL_USAGE,
		    "--%s: not a lane: %s (k/n: lane k, from 0 to n-1, of n)", row->name, text);
	*(struct option_lane *)to =
	    (struct option_lane){(uint32_t)range.first, (uint32_t)range.end};
	return FAIL_NONE;
}

static enum fail_code
set_text(const struct option_row *row, const char **to, const char *text, struct failure *f)
{
	if (*text == '\0')
		return fail(
		    f, FAIL_USAGE, "--%s: is empty: needs a value: %s", row->name, row->value);
	*to = text;
	return FAIL_NONE;
}

static enum fail_code
set_list(const struct option_row *row, struct option_list *to, const char *text, struct failure *f)
{
	if (to->n == OPTIONS_LIST_MAX)
		return fail(
		    f, FAIL_USAGE, "--%s: given more than %d times", row->name, OPTIONS_LIST_MAX);
	return set_text(row, &to->text[to->n++], text, f);
}

enum fail_code
options_set(const struct option_row *row, void *values, const char *text, struct failure *f)
{
	void *to = (char *)values + row->at;

	switch (row->kind) {
	case OPTION_FLAG: *(bool *)to = true; return FAIL_NONE;
	case OPTION_TEXT: return set_text(row, to, text, f);
	case OPTION_COUNT32:
	case OPTION_COUNT:
	case OPTION_SIZE: return set_count(row, to, text, f);
	case OPTION_NUMBER: return set_number(row, to, text, f);
	case OPTION_CHOICE: return set_choice(row, to, text, f);
	case OPTION_RANGE:
	case OPTION_LANE: return set_pair(row, to, text, f);
	case OPTION_LIST: return set_list(row, to, text, f);
	}
	assert(false);
	return FAIL_NONE;
}
