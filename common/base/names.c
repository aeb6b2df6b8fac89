#include "common/base/names.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

const char *const names_set_text[SETS_COUNT] = {
    [SET_TRAIN] = "train",
    [SET_VALID] = "valid",
    [SET_TEST] = "test",
};
const char *const names_set_suffix[SETS_COUNT] = {
    [SET_TRAIN] = "",
    [SET_VALID] = ".valid",
    [SET_TEST] = ".test",
};

static bool
alphanumeric(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool
names_valid(const char *name)
{
	if (!alphanumeric(name[0]))
		return false;
	for (const char *c = name; *c != '\0'; c++)
		if (!alphanumeric(*c) && *c != '.' && *c != '_' && *c != '-')
			return false;
	return strlen(name) <= NAME_MAX_BYTES;
}

bool
names_run_valid(const char *run)
{
	return names_valid(run) && strcmp(run, "mixer") != 0 && strcmp(run, "election") != 0;
}

void
names_domain_topic(char out[static TOPIC_MAX_BYTES + 1], const char *corpus, const char *domain,
    enum names_set set)
{
	char what[NAME_MAX_BYTES + 8];

	assert(names_valid(domain));
	assert(set <= SET_TEST);
	snprintf(what, sizeof(what), "%s%s", domain, names_set_suffix[set]);
	names_topic(out, corpus, what);
}

void
names_topic(char out[static TOPIC_MAX_BYTES + 1], const char *owner, const char *what)
{
	int length;

	assert(names_valid(owner));
	length = snprintf(out, TOPIC_MAX_BYTES + 1, "%s.%s", owner, what);
	assert(length > 0 && length <= TOPIC_MAX_BYTES);
	(void)length;
}
