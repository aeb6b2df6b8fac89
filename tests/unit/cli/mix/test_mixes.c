/*
 * mixes.h: when mixes begin, how they are stopped, and what is said of those that failed. The mixes
 * are processes, which write what they see into memory that all of them share. Signals are the
 * test's own here, since a stop is never taken back.
 */
#include "cli/mix/mixes.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/signals.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "tests/unit/capture.h"
#include "tests/unit/printed.h"

enum { MIXES = 20, WAIT_MS = 30000, PAUSE_MS = 2 };

static struct failure f;
static struct stop stop;
static const char *const names[MIXES] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l",
    "m", "n", "o", "p", "q", "r", "s", "t"};

/* What the mixes have seen. */
static struct shared {
	atomic_int begun, running, running_most;
	struct seen {
		int place; /* the number of mixes that had begun, with this one; 0: it has not */
		int files; /* that are open */
		char text[FAILURE_TEXT_MAX]; /* of its failure */
	} of[MIXES];
} * shared;

/* What they do. */
static struct script {
	enum fail_code code[MIXES];
	int killed[MIXES]; /* by that signal; 0: it is not */
	int together;      /* each waits until so many have begun */
	bool waits;        /* ... and lets the next one begin before */
	bool stops;        /* the first one stops the command; all wait for that */
	bool logs;
} script;

static void
ask(int signal_number)
{
	(void)signal_number;
	stop_ask(&stop);
}

const struct stop *
signals_stop(void)
{
	return &stop;
}

const struct stop *
signals_stop_child(void)
{
	struct sigaction action = {.sa_handler = ask};

	sigemptyset(&action.sa_mask);
	sigaction(SIGNALS_CHILD, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	return &stop;
}

static int
count_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	assert_non_null(dir);
	while (readdir(dir) != NULL)
		n++;
	closedir(dir);
	return n;
}

static void
note_most(int running)
{
	int most = atomic_load(&shared->running_most);

	while (
	    running > most && !atomic_compare_exchange_weak(&shared->running_most, &most, running))
		continue;
}

/* A process that waits in vain ends with an exit code that no test expects. */
static void
wait_for(const atomic_int *n, int wanted)
{
	for (int64_t end = clock_ms() + WAIT_MS; atomic_load(n) < wanted; clock_pause_ms(PAUSE_MS))
		if (clock_ms() > end)
			_exit(99);
}

static void
wait_stop(void)
{
	for (int64_t end = clock_ms() + WAIT_MS; !stop_asked(&stop); clock_pause_ms(PAUSE_MS))
		if (clock_ms() > end)
			_exit(98);
}

static enum fail_code
run_mix(void *opaque, size_t i, struct mixes_link *link, struct failure *f)
{
	int parent_death = 0;

	if (opaque != &script || prctl(PR_GET_PDEATHSIG, &parent_death) != 0 ||
	    parent_death != SIGKILL || getpgrp() != getpid())
		_exit(97);
	note_most(atomic_fetch_add(&shared->running, 1) + 1);
	shared->of[i].files = count_files();
	shared->of[i].place = atomic_fetch_add(&shared->begun, 1) + 1;
	if (script.logs)
		log_info("test: hello");
	if (script.waits) {
		mixes_waits(link);
		mixes_waits(link);
	}
	wait_for(&shared->begun, script.together);
	if (script.stops) {
		if (i == 0)
			kill(getppid(), SIGTERM);
		wait_stop();
	}
	atomic_fetch_sub(&shared->running, 1);
	if (script.killed[i] != 0)
		raise(script.killed[i]);
	return script.code[i] == FAIL_NONE ? FAIL_NONE : fail(f, script.code[i], "reason %zu", i);
}

/* `said`: what the processes log, without times. */
static enum fail_code
run_mixes(size_t n, size_t at_once, const struct script *s, char *said, size_t room)
{
	const struct mixes m = {
	    .n = n, .name = names, .at_once = at_once, .run = run_mix, .opaque = &script};
	const pid_t parent = getpid();
	const int files = count_files();
	char whole[8192];
	struct capture log;
	enum fail_code code;
	size_t at = 0;

	script = *s;
	stop = (struct stop){0};
	memset(shared, 0, sizeof(*shared));
	f = (struct failure){0};
	capture_begin(&log);
	code = mixes_run(&m, &f);
	if (getpid() != parent) {
		for (size_t i = 0; i < n; i++)
			if (code != FAIL_NONE && script.code[i] == code)
				snprintf(
				    shared->of[i].text, sizeof(shared->of[i].text), "%s", f.text);
		_exit(fail_exit(code));
	}
	capture_end_lines(&log, whole, sizeof(whole));
	assert_int_equal(count_files(), files);
	said[0] = '\0';
	for (char *rest = whole, *line; (line = strsep(&rest, "\n")) != NULL && *line != '\0';)
		at += (size_t)snprintf(said + at, room - at, "%s\n", strchr(line, ' ') + 1);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* all have ended */
	return code;
}

static char said[8192];

static void
test_at_most_so_many_work_at_once(void **unused)
{
	static const struct {
		const char *claim;
		size_t n, at_once;
		bool waits;
		int together, most; /* that run at once; 0: it depends */
	} rows[] = {
	    {"one", 1, 1, false, 1, 1},
	    {"one after the other", 4, 1, false, 1, 1},
	    {"two by two", 2, 2, false, 2, 2},
	    {"one that waits lets the next begin", 5, 1, true, 5, 5},
	    {"so does each of two", 5, 2, true, 5, 5},
	    {"all", 4, 9, false, 4, 4},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, claim) {
		const struct script s = {.together = rows[i].together, .waits = rows[i].waits};
		char expected[64];

		assert_int_equal(
		    run_mixes(rows[i].n, rows[i].at_once, &s, said, sizeof(said)), FAIL_NONE);
		snprintf(expected, sizeof(expected), "info mix: mixes=%zu failed=0\n", rows[i].n);
		assert_string_equal(said, expected);
		assert_int_equal(shared->begun, rows[i].n);
		assert_int_equal(shared->running_most, rows[i].most);
		for (size_t k = 0; k < rows[i].n; k++) {
			if (rows[i].at_once == 1) /* in the order of the command line */
				assert_int_equal(shared->of[k].place, k + 1);
			/* no mix has the pipe of another one */
			assert_int_equal(shared->of[k].files, shared->of[0].files);
		}
	}
}

static void
test_two_of_four_work_at_once(void **unused)
{
	const struct script s = {.together = 2};

	(void)unused;
	assert_int_equal(run_mixes(4, 2, &s, said, sizeof(said)), FAIL_NONE);
	assert_int_equal(shared->begun, 4);
	assert_int_equal(shared->running_most, 2);
}

static void
test_lines_of_the_log_end_in_the_name_of_the_mix(void **unused)
{
	const struct script s = {.logs = true, .code = {FAIL_NONE, FAIL_IO}};

	(void)unused;
	assert_int_equal(run_mixes(3, 1, &s, said, sizeof(said)), FAIL_DATA);
	assert_string_equal(said, "info test: hello mix=a\n"
				  "info test: hello mix=b\n"
				  "info test: hello mix=c\n"
				  "info mix: mixes=3 failed=1\n");
	assert_string_equal(shared->of[1].text, "mix b: reason 1");
}

static void
test_the_exit_code_is_the_highest_of_all(void **unused)
{
	static const struct {
		const char *text;
		enum fail_code code, of[3];
		int killed;
	} rows[] = {
	    {"", FAIL_NONE, {FAIL_NONE, FAIL_STOPPED, FAIL_NONE}, 0},
	    {"1 of 3 mixes failed: a (exit 1)", FAIL_DATA, {FAIL_IO}, 0},
	    {"1 of 3 mixes failed: c (exit 2)", FAIL_CONFIG, {FAIL_NONE, FAIL_NONE, FAIL_USAGE}, 0},
	    {"2 of 3 mixes failed: a (exit 2), b (exit 1)", FAIL_CONFIG, {FAIL_CONFIG, FAIL_BROKER},
		0},
	    {"3 of 3 mixes failed: a (exit 1), b (exit 3), c (exit 2)", FAIL_FENCED,
		{FAIL_IO, FAIL_FENCED, FAIL_CONFIG}, 0},
	    {"1 of 3 mixes failed: b (exit 137)", FAIL_DATA, {FAIL_NONE}, SIGKILL},
	    {"2 of 3 mixes failed: a (exit 2), b (exit 137)", FAIL_CONFIG, {FAIL_CONFIG}, SIGKILL},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, text) {
		struct script s = {.killed = {0, rows[i].killed}};

		memcpy(s.code, rows[i].of, sizeof(rows[i].of));
		assert_int_equal(run_mixes(3, 3, &s, said, sizeof(said)), rows[i].code);
		assert_string_equal(rows[i].code == FAIL_NONE ? "" : f.text, rows[i].text);
		if (rows[i].killed != 0)
			assert_non_null(strstr(said,
			    "error mix: mix=b: its process was ended by signal 9 (Killed)\n"));
	}
}

static void
test_of_many_that_failed_the_first_are_named(void **unused)
{
	struct script s = {.code = {FAIL_NONE}};

	(void)unused;
	for (size_t i = 1; i < 17; i++)
		s.code[i] = FAIL_IO;
	assert_int_equal(run_mixes(MIXES, MIXES, &s, said, sizeof(said)), FAIL_DATA);
	assert_string_equal(f.text,
	    "16 of 20 mixes failed: b (exit 1), c (exit 1), d (exit 1), e (exit 1), f (exit 1), g "
	    "(exit 1), h (exit 1), i (exit 1), j (exit 1), k (exit 1), l (exit 1), m (exit 1), n "
	    "(exit 1), o (exit 1), p (exit 1), q (exit 1)");
	s.code[19] = FAIL_IO;
	assert_int_equal(run_mixes(MIXES, MIXES, &s, said, sizeof(said)), FAIL_DATA);
	assert_string_equal(f.text,
	    "17 of 20 mixes failed: b (exit 1), c (exit 1), d (exit 1), e (exit 1), f (exit 1), g "
	    "(exit 1), h (exit 1), i (exit 1), j (exit 1), k (exit 1), l (exit 1), m (exit 1), n "
	    "(exit 1), o (exit 1), p (exit 1), q (exit 1), ...");
}

/* Those that work and those that wait are asked to stop; those that have not begun never do. */
static void
test_a_stop_ends_all(void **unused)
{
	static const struct {
		const char *claim;
		size_t n, at_once;
		bool waits;
		int begun;
	} rows[] = {
	    {"one works, three are held", 4, 1, false, 1},
	    {"two work, one is held", 3, 2, false, 2},
	    {"all wait", 3, 1, true, 3},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, claim) {
		const struct script s = {
		    .stops = true, .waits = rows[i].waits, .together = rows[i].begun};

		assert_int_equal(
		    run_mixes(rows[i].n, rows[i].at_once, &s, said, sizeof(said)), FAIL_NONE);
		assert_int_equal(shared->begun, rows[i].begun);
	}
}

/* The limit of descriptors that leaves so many more. */
static rlim_t
limit_for(int more)
{
	int fd = 0;

	for (; more > 0; fd++)
		more -= fcntl(fd, F_GETFD) < 0;
	return (rlim_t)fd;
}

static void
test_without_descriptors_for_all_none_begins(void **unused)
{
	const struct script s = {.together = 1};
	struct rlimit was, less;
	enum fail_code code;

	(void)unused;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	less = was;
	less.rlim_cur = limit_for(2 + 3); /* two for the log; a pipe takes two and keeps one */
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &less), 0);
	code = run_mixes(4, 4, &s, said, sizeof(said));
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
	assert_int_equal(code, FAIL_IO);
	assert_non_null(strstr(f.text, "mix c: making a pipe to its process: Too many open files"));
	assert_int_equal(shared->begun, 0);
	assert_string_equal(said, "");
}

static int
begin(void **state)
{
	(void)state;
	/* A loop that starts mixes without end finds no descriptor for the 250th. */
	if (setrlimit(RLIMIT_NOFILE, &(struct rlimit){256, 256}) != 0)
		return 1;
	shared =
	    mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return shared == MAP_FAILED;
}

static int
end(void **state)
{
	(void)state;
	return munmap(shared, sizeof(*shared));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_at_most_so_many_work_at_once),
	    cmocka_unit_test(test_two_of_four_work_at_once),
	    cmocka_unit_test(test_lines_of_the_log_end_in_the_name_of_the_mix),
	    cmocka_unit_test(test_the_exit_code_is_the_highest_of_all),
	    cmocka_unit_test(test_of_many_that_failed_the_first_are_named),
	    cmocka_unit_test(test_a_stop_ends_all),
	    cmocka_unit_test(test_without_descriptors_for_all_none_begins),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
