/*
 * capture.h -- what the code under test writes to stderr.
 */
#ifndef TESTS_UNIT_CAPTURE_H
#define TESTS_UNIT_CAPTURE_H

#include <stdio.h>
#include <unistd.h>

#include "common/base/log.h"
#include "tests/unit/test.h"

/* Between begin and end, stderr goes to a file; the end gives its text and number of lines. */
struct capture {
	FILE *file;
	int saved;
};

static inline void
capture_begin(struct capture *c)
{
	fflush(stderr);
	c->file = tmpfile();
	assert_non_null(c->file);
	log_set_level(LOG_INFO);
	c->saved = dup(STDERR_FILENO);
	assert_true(dup2(fileno(c->file), STDERR_FILENO) >= 0);
}

static inline int
capture_end_lines(struct capture *c, char *text, size_t room)
{
	int lines = 0;
	size_t n;

	fflush(stderr);
	assert_true(dup2(c->saved, STDERR_FILENO) >= 0);
	close(c->saved);
	log_set_level(LOG_ERROR);
	rewind(c->file);
	n = fread(text, 1, room - 1, c->file);
	text[n] = '\0';
	for (size_t i = 0; i < n; i++)
		lines += text[i] == '\n';
	fclose(c->file);
	return lines;
}

#endif
