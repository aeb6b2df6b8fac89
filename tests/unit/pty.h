/* pty.h -- a terminal of a test's own in the place of stderr. */
#ifndef TESTS_UNIT_PTY_H
#define TESTS_UNIT_PTY_H

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tests/unit/test.h"

struct pty {
	int master, before; /* `before`: stderr, until the end */
};

static inline void
pty_begin(struct pty *t, unsigned short columns)
{
	struct winsize size = {.ws_row = 24, .ws_col = columns};
	int slave;

	fflush(stderr);
	t->master = posix_openpt(O_RDWR | O_NOCTTY);
	assert_true(t->master >= 0);
	assert_int_equal(grantpt(t->master), 0);
	assert_int_equal(unlockpt(t->master), 0);
	slave = open(ptsname(t->master), O_RDWR | O_NOCTTY);
	assert_true(slave >= 0);
	assert_int_equal(ioctl(slave, TIOCSWINSZ, &size), 0);
	t->before = dup(STDERR_FILENO);
	assert_true(t->before >= 0);
	assert_int_equal(dup2(slave, STDERR_FILENO), STDERR_FILENO);
	assert_int_equal(close(slave), 0);
}

/* What the terminal got, into text[room]: no end of a line but the one from here. */
static inline void
pty_end(struct pty *t, char *text, size_t room)
{
	size_t used = 0;

	fputc('\n', stderr); /* it ends what is read below */
	fflush(stderr);
	while (used == 0 || text[used - 1] != '\n') {
		ssize_t n = read(t->master, text + used, room - 1 - used);

		assert_true(n > 0);
		used += (size_t)n;
	}
	text[used] = '\0';
	assert_int_equal(dup2(t->before, STDERR_FILENO), STDERR_FILENO);
	assert_int_equal(close(t->before), 0);
	assert_int_equal(close(t->master), 0);
}

#endif
