/*
 * printed.h -- what the code under test prints, as one text.
 *
 * A test gives each field of a struct a distinct value and compares the whole text, which shows
 * fields that are swapped, stale or missing. JSON is compared in compact form, with ' instead of "
 * and with six digits per number.
 */
#ifndef TESTS_UNIT_PRINTED_H
#define TESTS_UNIT_PRINTED_H

#include <jansson.h>

#include "tests/unit/test.h"

struct printed {
	FILE *to, *stdout_was;
	char *text;
	size_t n;
};

/* Returns the stream to print to, which also replaces stdout. */
static inline FILE *
printed_begin(struct printed *p)
{
	p->to = open_memstream(&p->text, &p->n);
	assert_non_null(p->to);
	p->stdout_was = stdout;
	stdout = p->to;
	return p->to;
}

static inline void
printed_end(struct printed *p)
{
	stdout = p->stdout_was;
	assert_int_equal(fclose(p->to), 0);
}

static inline void
printed_compare(const char *text, const char *expected)
{
	if (strcmp(text, expected) != 0)
		fprintf(stderr, "printed:\n%s\nexpected:\n%s\n", text, expected);
	assert_int_equal(strcmp(text, expected), 0);
}

static inline void
printed_is(struct printed *p, const char *expected)
{
	printed_end(p);
	printed_compare(p->text, expected);
	free(p->text);
}

static inline void
printed_json_is(struct printed *p, const char *expected)
{
	json_t *value;
	char *text;

	printed_end(p);
	value = json_loads(p->text, JSON_DECODE_ANY, NULL);
	assert_non_null(value);
	text = json_dumps(
	    value, JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
	assert_non_null(text);
	for (char *at = text; (at = strchr(at, '"')) != NULL;)
		*at = '\'';
	printed_compare(text, expected);
	json_decref(value);
	free(text);
	free(p->text);
}

#endif
