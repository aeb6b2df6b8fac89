/*
 * stream_exec.c -- a stream of what a program prints.
 *
 * sh reports only how the last program of a pipe ended. So bash runs a command that may have a
 * pipe: it prints what sh would print, and fails if any program of the pipe fails.
 *
 * Its life: the shell is spawned with a pipe for its output, in a process group of its own.
 * exec_read() waits for the pipe, or for the eventfd that stops the reader. At the end of the
 * output it waits for the shell, because its status says whether that was all. exec_close() ends
 * the whole group if it still runs.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/text.h"
#include "producer/input/stream_internal.h"

enum {
	EXIT_POLL_MS = 10, /* between two looks at a program that has printed all */
	EXIT_WARN_MS = 10000,
	EXIT_SIGPIPE = 128 + SIGPIPE, /* how a shell reports a program that SIGPIPE ended */
};

/*
 * In POSIX mode the echo of bash takes either -n or escapes such as \t; that of Debian's sh takes
 * both. On the command's own line, so that messages of the shell have the right line number.
 */
#define ECHO_OF_SH                                                                                 \
	"echo() if [ \"${1-}\" = -n ]; then shift; local IFS=' '; printf %b \"$*\"; "              \
	"else command echo \"$@\"; fi; "

struct program {
	char *command;
	pid_t pid; /* also its process group; 0: is not run, or was waited for */
	int stop_fd, idle_ms;
};

/* Our environment with RIFFLE_RESUME. Gives *out (free): borrows environ and `resume`. */
static enum fail_code
make_environment(char ***out, char *resume, struct failure *f)
{
	size_t n = 0, kept = 0;
	char **made;

	while (environ[n] != NULL)
		n++;
	made = malloc((n + 2) * sizeof(*made));
	if (made == NULL)
		return fail_memory(f);
	for (size_t i = 0; i < n; i++)
		if (strncmp(environ[i], "RIFFLE_RESUME=", 14) != 0)
			made[kept++] = environ[i];
	if (resume != NULL)
		made[kept++] = resume;
	made[kept] = NULL;
	*out = made;
	return FAIL_NONE;
}

/*
 * Nothing of ours is inherited but stderr, the folder and the environment: not the files, nor the
 * signals that riffle ignores or blocks.
 */
static int
prepare(posix_spawn_file_actions_t *actions, posix_spawnattr_t *attributes, const char *folder,
    int write_fd)
{
	sigset_t all, none;
	int refused;

	sigfillset(&all);
	sigemptyset(&none);
	refused = posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0);
	if (refused == 0)
		refused = posix_spawn_file_actions_adddup2(actions, write_fd, 1);
	if (refused == 0)
		refused = posix_spawn_file_actions_addclosefrom_np(actions, 3);
	if (refused == 0)
		refused = posix_spawn_file_actions_addchdir_np(actions, folder);
	if (refused == 0)
		refused = posix_spawnattr_setpgroup(attributes, 0);
	if (refused == 0)
		refused = posix_spawnattr_setsigdefault(attributes, &all);
	if (refused == 0)
		refused = posix_spawnattr_setsigmask(attributes, &none);
	if (refused == 0)
		refused = posix_spawnattr_setflags(
		    attributes, (short)(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF |
					POSIX_SPAWN_SETSIGMASK));
	return refused;
}

/* Whether the command may have a pipe: a quoted | counts as one, and || does not. */
static bool
may_have_pipe(const char *command)
{
	const char *at = command;

	while ((at = strchr(at, '|')) != NULL) {
		if (at[1] != '|')
			return true;
		at += 2;
	}
	return false;
}

/* Finds the first program with this name in PATH. */
static bool
find_program(char path[static PATH_MAX], const char *name)
{
	for (const char *at = getenv("PATH"); at != NULL; at = strchr(at, ':')) {
		at += *at == ':';
		snprintf(path, PATH_MAX, "%.*s/%s", (int)strcspn(at, ":"), at, name);
		if (*at == '/' && access(path, X_OK) == 0)
			return true;
	}
	return false;
}

/* Runs the command by bash, or by sh if `bash` is NULL; returns an errno. */
static int
spawn(
    pid_t *pid, const struct stream_program *o, const char *bash, int write_fd, char **environment)
{
	struct text text = {0};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	char *command;
	int refused;

	if (access(o->folder, X_OK) != 0) /* a child under valgrind could not report it */
		return errno;
	text_add(&text, "%s%s", bash == NULL ? "" : ECHO_OF_SH, o->command);
	command = text_take(&text);
	if (command == NULL)
		return ENOMEM;
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attributes);
	refused = prepare(&actions, &attributes, o->folder, write_fd);
	if (refused == 0) {
		const char *const as_sh[] = {"sh", "-c", command, NULL};
		/* +B: braces are no lists, as in sh. */
		const char *const as_bash[] = {"bash", "--posix", "+B", "-O", "xpg_echo", "-o",
		    "pipefail", "-c", command, NULL};

		refused = posix_spawn(pid, bash == NULL ? "/bin/sh" : bash, &actions, &attributes,
		    (char *const *)(uintptr_t)(bash == NULL ? as_sh : as_bash), environment);
	}
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	free(command);
	return refused;
}

/* Starts the program with its output in a pipe that s->fd reads. */
static enum fail_code
start(struct stream *s, const struct stream_program *o, struct failure *f)
{
	struct program *p = s->state;
	bool pipe = may_have_pipe(o->command);
	char resume[48], bash[PATH_MAX];
	char **environment = NULL;
	int ends[2], refused;

	if (pipe && !find_program(bash, "bash"))
		return fail(f, FAIL_CONFIG,
		    "exec:%s: its command has a |, and PATH has no bash. In a pipe sh hides the "
		    "failure of every program but the last one, so that incomplete data would pass "
		    "as complete. Install bash",
		    o->name);
	snprintf(resume, sizeof(resume), "RIFFLE_RESUME=%" PRIu64, o->resume);
	if (make_environment(&environment, o->says_resume ? resume : NULL, f) != FAIL_NONE)
		return f->code;
	if (pipe2(ends, O_CLOEXEC) != 0) {
		free(environment);
		return fail_errno(f, FAIL_IO, "exec:%s: no pipe", o->name);
	}
	s->fd = ends[0];
	fcntl(s->fd, F_SETPIPE_SZ, STREAM_STORED_BYTES); /* the default will do if it is refused */
	refused = spawn(&p->pid, o, pipe ? bash : NULL, ends[1], environment);
	close(ends[1]);
	free(environment);
	if (refused != 0) {
		p->pid = 0;
		errno = refused;
		return fail_errno(
		    f, FAIL_IO, "exec:%s: cannot be run in folder %s", o->name, o->folder);
	}
	return FAIL_NONE;
}

/* Waits for the pipe (fd -1: for nothing) or for the stop. FAIL_TIMEOUT, FAIL_STOPPED. */
static enum fail_code
wait_readable(const struct stream *s, int fd, int timeout_ms, struct failure *f)
{
	const struct program *p = s->state;
	struct pollfd fds[] = {{fd, POLLIN, 0}, {p->stop_fd, POLLIN, 0}};
	int n;

	do
		n = poll(fds, 2, timeout_ms);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return fail_errno(f, FAIL_IO, "exec:%s: cannot wait for its output", s->name);
	if (fds[1].revents != 0)
		return fail(f, FAIL_STOPPED, "exec:%s: stopped", s->name);
	if (n == 0)
		return fail(f, FAIL_TIMEOUT, "exec:%s: prints nothing", s->name);
	return FAIL_NONE;
}

/* The usual cause of an exit status, and what to do if it is no failure. "" for others. */
static const char *
explain(int code, const char *command)
{
	char path[PATH_MAX];

	if (code == 127 && strstr(command, "riffle-source") != NULL &&
	    !find_program(path, "riffle-source"))
		return " (command not found: riffle-source comes with riffle's Python package. "
		       "In a checkout of riffle, run `pip install './python[source]'`)";
	if (code == 127)
		return " (command not found)";
	if (code == 126)
		return " (command cannot be executed)";
	if (code == EXIT_SIGPIPE && may_have_pipe(command))
		return " (a program in the pipe had more to print when the next one ended, as head "
		       "does; if that is intended, write `(PROGRAM || true) | head -n 1000`)";
	if (code == 1 && strstr(command, "grep") != NULL)
		return " (grep also ends with 1 if it selects no line; if that is no failure, write"
		       " `{ grep -v x || [ $? = 1 ]; }`)";
	return "";
}

/* What a wait status of the command means; FAIL_NONE for status 0. */
static enum fail_code
judge(int status, const char *command, struct failure *f)
{
	int code = WEXITSTATUS(status);

	if (WIFSIGNALED(status))
		return fail(f, FAIL_DATA, "the program was ended by signal %d (%s)",
		    WTERMSIG(status), strsignal(WTERMSIG(status)));
	if (code == 0)
		return FAIL_NONE;
	return fail(
	    f, FAIL_DATA, "the program ended with exit status %d%s", code, explain(code, command));
}

/*
 * The program has closed its output; how it ends shows whether that was all. It is looked at every
 * EXIT_POLL_MS, not waited for, so that a stop is noticed: a program may close its output and run
 * on for ever.
 */
static enum fail_code
wait_exit(struct stream *s, struct failure *f)
{
	struct program *p = s->state;
	int status = 0, waited_ms = 0;
	struct failure why;

	if (p->pid == 0)
		return FAIL_NONE;
	for (;;) {
		pid_t pid = waitpid(p->pid, &status, WNOHANG);

		if (pid < 0 && errno != EINTR)
			return fail_errno(f, FAIL_IO, "exec:%s: its end is not known", s->name);
		if (pid > 0)
			break;
		if (wait_readable(s, -1, EXIT_POLL_MS, &why) == FAIL_STOPPED) {
			*f = why;
			return f->code;
		}
		waited_ms += EXIT_POLL_MS;
		if (waited_ms == EXIT_WARN_MS)
			log_warning(
			    "input: INPUT-EXEC-LINGERS command=\"%s\" has closed its output and "
			    "still runs: riffle waits for it",
			    s->name);
	}
	p->pid = 0;
	return judge(status, p->command, f);
}

static enum fail_code
exec_read(struct stream *s, char *out, size_t room, size_t *got, struct failure *f)
{
	const struct program *p = s->state;
	ssize_t n;

	*got = 0;
	if (s->ended)
		return wait_exit(s, f);
	if (wait_readable(s, s->fd, p->idle_ms, f) != FAIL_NONE)
		return f->code;
	do
		n = read(s->fd, out, room);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return fail_errno(f, FAIL_IO, "exec:%s: its output cannot be read", s->name);
	if (n == 0) {
		s->ended = true;
		return wait_exit(s, f);
	}
	s->read_bytes += (uint64_t)n;
	*got = (size_t)n;
	return FAIL_NONE;
}

/*
 * Ends what still runs: the whole group, since the shell's children do the work. The shell is
 * waited for after the last signal, so that its number cannot have become another's meanwhile.
 */
static void
kill_group(const struct program *p)
{
	const struct timespec pause = {0, EXIT_POLL_MS * 1000000L};
	siginfo_t ended = {0};

	kill(-p->pid, SIGTERM);
	for (int waited_ms = 0; waited_ms < STREAM_TERM_MS; waited_ms += EXIT_POLL_MS) {
		if (waitid(P_PID, (id_t)p->pid, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 ||
		    ended.si_pid != 0)
			break;
		nanosleep(&pause, NULL);
	}
	kill(-p->pid, SIGKILL);
	while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static void
exec_close(struct stream *s)
{
	struct program *p = s->state;

	if (p == NULL)
		return;
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
	if (p->pid > 0)
		kill_group(p);
	free(p->command);
	free(p);
}

static const struct stream_kind kind_exec = {NULL, exec_read, exec_close};

enum fail_code
stream_open_program(struct stream **out, const struct stream_program *o, struct failure *f)
{
	struct stream *s = calloc(1, sizeof(*s));
	struct program *p;

	if (s == NULL)
		return fail_memory(f);
	s->kind = &kind_exec;
	s->fd = -1;
	s->name = strdup(o->name);
	if (s->name == NULL) {
		fail_memory(f);
		goto failed;
	}
	s->state = p = calloc(1, sizeof(*p));
	if (p == NULL) {
		fail_memory(f);
		goto failed;
	}
	p->command = strdup(o->command);
	if (p->command == NULL) {
		fail_memory(f);
		goto failed;
	}
	p->stop_fd = o->stop_fd;
	p->idle_ms = o->idle_ms;
	if (start(s, o, f) != FAIL_NONE)
		goto failed;
	*out = s;
	return FAIL_NONE;
failed:
	stream_close(s);
	return f->code;
}
