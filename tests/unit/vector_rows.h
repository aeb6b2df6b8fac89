/*
 * vector_rows.h -- the tables in tests/vectors: rows of columns, and columns that are lists of
 * numbers.
 */
#ifndef TESTS_UNIT_VECTOR_ROWS_H
#define TESTS_UNIT_VECTOR_ROWS_H

#include "tests/unit/test.h"

enum { VECTOR_ROW_MAX = 1 << 16 }; /* bytes */

/* Opens tests/vectors/<file>; the working directory is the root of the tree. */
static inline FILE *
vector_rows_open(const char *file)
{
	char path[128];
	FILE *in;

	snprintf(path, sizeof(path), "tests/vectors/%s", file);
	in = fopen(path, "r");
	if (in == NULL)
		print_error("cannot open %s: run the tests from the root of the tree\n", path);
	assert_non_null(in);
	return in;
}

/* Reads the next row into line[VECTOR_ROW_MAX]. Returns false after the last one. */
static inline bool
vector_rows_next(FILE *in, char *line)
{
	do
		if (fgets(line, VECTOR_ROW_MAX, in) == NULL)
			return false;
	while (line[0] == '#');
	return true;
}

/* Reads "a,b,c" into out[room]. Returns how many there were. */
static inline size_t
vector_rows_doubles(char *text, double *out, size_t room)
{
	size_t n = 0;

	for (char *at = text; *at != '\0'; at += *at == ',') {
		assert_true(n < room);
		out[n++] = strtod(at, &at);
	}
	return n;
}

static inline size_t
vector_rows_numbers(char *text, uint64_t *out, size_t room)
{
	size_t n = 0;

	for (char *at = text; *at != '\0' && *at != '\n'; at += *at == ',') {
		assert_true(n < room);
		out[n++] = strtoull(at, &at, 10);
	}
	return n;
}

#endif
