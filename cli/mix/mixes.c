#include "cli/mix/mixes.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/signals.h"
#include "common/base/log.h"
#include "common/base/text.h"

enum {
	LOOK_MS = 200,     /* between two looks for a stop */
	NAMED_MAX = 16,    /* failed mixes that the last sentence names */
	BEGIN = 'b',       /* from the parent */
	WAITS = 'w',       /* from a child */
	KILLED_EXIT = 128, /* and the signal's number: as a shell has it */
};

struct mixes_link {
	int fd;
	bool told;
};

enum child_state { CHILD_HELD, CHILD_WORKS, CHILD_WAITS, CHILD_ENDED };

struct child {
	pid_t pid;
	int fd; /* -1: closed */
	enum child_state state;
	int exit;
};

/* ---- a child ---- */

void
mixes_waits(void *opaque)
{
	struct mixes_link *link = opaque;
	const char byte = WAITS;

	if (link->told)
		return;
	link->told = true;
	if (send(link->fd, &byte, 1, MSG_NOSIGNAL) < 0)
		log_debug("mix: telling the parent failed: %s", strerror(errno));
}

/* Whether this child may begin: not where the parent stops first. */
static bool
wait_begin(int fd, const struct stop *stop)
{
	char byte;
	ssize_t n;

	do
		n = read(fd, &byte, 1);
	while (n < 0 && errno == EINTR && !stop_asked(stop));
	return n == 1 && byte == BEGIN;
}

static enum fail_code
run_child(const struct mixes *m, size_t i, int fd, pid_t parent, struct failure *f)
{
	struct mixes_link link = {.fd = fd};
	const struct stop *stop = signals_stop();
	char tail[LOG_TAIL_MAX];
	enum fail_code code = FAIL_NONE;

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent) /* it died before the line above */
		_exit(KILLED_EXIT + SIGKILL);
	snprintf(tail, sizeof(tail), "mix=%s", m->name[i]);
	log_set_tail(tail);
	if (wait_begin(fd, stop) && !stop_asked(stop))
		code = m->run(m->opaque, i, &link, f);
	if (code != FAIL_NONE)
		fail_within(f, "mix %s", m->name[i]);
	return code;
}

/* ---- the parent ---- */

static void
close_child(struct child *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
}

/* The pipe has ended, and so does the process, at once. */
static void
take_exit(const struct mixes *m, size_t i, struct child *c)
{
	int status = 0;

	while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
		continue;
	c->state = CHILD_ENDED;
	c->exit = WIFSIGNALED(status) ? KILLED_EXIT + WTERMSIG(status) : WEXITSTATUS(status);
	if (WIFSIGNALED(status))
		log_error("mix: mix=%s: its process was ended by signal %d (%s)", m->name[i],
		    WTERMSIG(status), strsignal(WTERMSIG(status)));
	close_child(c);
}

static void
hear(const struct mixes *m, size_t i, struct child *c)
{
	char byte;
	ssize_t n = recv(c->fd, &byte, 1, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0)
		c->state = CHILD_WAITS;
	else
		take_exit(m, i, c);
}

/* Lets as many begin as may work at once, in the order of the command line. */
static void
begin(const struct mixes *m, struct child *child)
{
	const char byte = BEGIN;
	size_t works = 0;

	for (size_t i = 0; i < m->n; i++)
		works += child[i].state == CHILD_WORKS;
	for (size_t i = 0; i < m->n && works < m->at_once; i++)
		if (child[i].state == CHILD_HELD) {
			(void)send(child[i].fd, &byte, 1, MSG_NOSIGNAL); /* else it has ended */
			child[i].state = CHILD_WORKS;
			works++;
		}
}

/* Those that have not begun end by the end of the pipe. */
static void
stop_all(const struct mixes *m, struct child *child)
{
	for (size_t i = 0; i < m->n; i++) {
		if (child[i].state == CHILD_HELD)
			shutdown(child[i].fd, SHUT_WR);
		if (child[i].state != CHILD_ENDED)
			kill(child[i].pid, SIGNALS_CHILD);
	}
}

/* Until all have ended. */
static void
attend(const struct mixes *m, struct child *child)
{
	const struct stop *stop = signals_stop();
	struct pollfd look[MIXES_MAX];
	size_t which[MIXES_MAX], n;
	bool stopping = false;

	do {
		if (stop_asked(stop) && !stopping) {
			stopping = true;
			stop_all(m, child);
		}
		if (!stopping)
			begin(m, child);
		n = 0;
		for (size_t i = 0; i < m->n; i++)
			if (child[i].state != CHILD_ENDED) {
				look[n] = (struct pollfd){.fd = child[i].fd, .events = POLLIN};
				which[n++] = i;
			}
		if (n == 0 || poll(look, n, LOOK_MS) <= 0)
			continue;
		for (size_t k = 0; k < n; k++)
			if (look[k].revents != 0)
				hear(m, which[k], &child[which[k]]);
	} while (n > 0);
}

/* The code whose exit is the highest of all. */
static enum fail_code
worst(const struct mixes *m, const struct child *child)
{
	static const enum fail_code of_exit[] = {FAIL_NONE, FAIL_DATA, FAIL_CONFIG, FAIL_FENCED};
	enum fail_code code = FAIL_NONE;

	for (size_t i = 0; i < m->n; i++) {
		enum fail_code c =
		    child[i].exit >= 0 && child[i].exit <= 3 ? of_exit[child[i].exit] : FAIL_DATA;

		if (fail_exit(c) > fail_exit(code))
			code = c;
	}
	return code;
}

static enum fail_code
conclude(const struct mixes *m, const struct child *child, struct failure *f)
{
	enum fail_code code = worst(m, child);
	size_t failed = 0;

	for (size_t i = 0; i < m->n; i++)
		failed += child[i].exit != 0;
	log_info("mix: mixes=%zu failed=%zu", m->n, failed);
	if (code == FAIL_NONE)
		return FAIL_NONE;
	fail(f, code, "%zu of %zu mixes failed:", failed, m->n);
	for (size_t i = 0, named = 0; i < m->n && named < NAMED_MAX; i++)
		if (child[i].exit != 0)
			fail_more(f, "%s%s (exit %d)", named++ == 0 ? " " : ", ", m->name[i],
			    child[i].exit);
	if (failed > NAMED_MAX)
		fail_more(f, ", ...");
	return code;
}

/* *own: this is the child, whose end of the pipe it is. */
static enum fail_code
fork_one(struct child *c, bool *own, int *fd, struct failure *f)
{
	int pair[2];

	*own = false;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
		return fail_errno(f, FAIL_IO, "making a pipe to its process");
	c->pid = fork();
	if (c->pid < 0) {
		fail_errno(f, FAIL_IO, "starting its process");
		close(pair[0]);
		close(pair[1]);
		return f->code;
	}
	*own = c->pid == 0;
	*fd = pair[1];
	c->fd = pair[0];
	c->state = CHILD_HELD;
	close(pair[*own ? 0 : 1]);
	return FAIL_NONE;
}

enum fail_code
mixes_run(const struct mixes *m, struct failure *f)
{
	struct child *child = calloc(m->n, sizeof(*child));
	const pid_t parent = getpid();
	enum fail_code code = FAIL_NONE;
	size_t forked = 0;

	assert(m->n > 0 && m->n <= MIXES_MAX && m->at_once > 0);
	if (child == NULL)
		return fail_memory(f);
	(void)signals_stop_child(); /* here, so that no child is without it for a moment */
	for (; forked < m->n; forked++) {
		bool own;
		int fd;

		code = fork_one(&child[forked], &own, &fd, f);
		if (code != FAIL_NONE)
			break;
		if (own) {
			for (size_t i = 0; i < forked; i++)
				close_child(&child[i]);
			free(child);
			code = run_child(m, forked, fd, parent, f);
			close(fd);
			return code;
		}
	}
	if (code == FAIL_NONE) {
		attend(m, child);
		code = conclude(m, child, f);
	} else {
		fail_within(f, "mix %s", m->name[forked]);
		for (size_t i = 0; i < forked; i++) /* none has begun */
			close_child(&child[i]);
		for (size_t i = 0; i < forked; i++)
			(void)waitpid(child[i].pid, NULL, 0);
	}
	free(child);
	return code;
}
