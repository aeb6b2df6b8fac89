#include "consumer/ledger/commits.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char prefix[] = "step=";
enum { SHOWN_MAX = 64 };

void
commits_format(char out[static COMMITS_TEXT_MAX], uint64_t step)
{
	assert(step < COMMITS_STEP_MAX);
	snprintf(out, COMMITS_TEXT_MAX, "%s%" PRIu64, prefix, step);
}

/* False: not a plain decimal number below the limit. */
static bool
parse_number(uint64_t *out, const char *text)
{
	uint64_t value = 0;

	if (*text == '\0' || (text[0] == '0' && text[1] != '\0'))
		return false;
	for (; *text != '\0'; text++) {
		if (*text < '0' || *text > '9')
			return false;
		if (value >= COMMITS_STEP_MAX / 10 + 1)
			return false; /* the product below would leave the range of 64 bits */
		value = value * 10 + (uint64_t)(*text - '0');
		if (value >= COMMITS_STEP_MAX)
			return false;
	}
	*out = value;
	return true;
}

enum fail_code
commits_parse(uint64_t *step, const char *text, struct failure *f)
{
	size_t skip = sizeof(prefix) - 1;

	if (text == NULL)
		text = "";
	if (strncmp(text, prefix, skip) == 0 && parse_number(step, text + skip))
		return FAIL_NONE;
	return fail(f, FAIL_DATA, "the commit's metadata is \"%.*s\", not step=N", SHOWN_MAX, text);
}

enum fail_code
commits_lowest(struct commits_position *out, uint64_t *step, const int64_t *offset_next,
    char *const *metadata, size_t n, struct failure *f)
{
	assert(n > 0);

	*out = (struct commits_position){.all = true, .step = UINT64_MAX};
	for (size_t i = 0; i < n; i++) {
		step[i] = 0;
		if (offset_next[i] < 0)
			out->all = false;
		else if (commits_parse(&step[i], metadata[i], f) != FAIL_NONE)
			return fail_within(f, "lane %zu", i);
		else
			out->any = true;
		if (step[i] < out->step) {
			out->step = step[i];
			out->lane = i;
		}
		if (step[i] > out->step_ahead)
			out->step_ahead = step[i];
	}
	return FAIL_NONE;
}
