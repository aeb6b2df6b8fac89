/*
 * signals.h: what each signal does to a process, a child of the test's. Whether a connection to
 * Kafka is being opened, and the alarm, are the test's own here.
 */
#include "cli/signals.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/kafka/kafka.h"
#include "tests/unit/test.h"

static bool opening;
static const struct stop *kafka_stop;
static unsigned alarm_s;

bool
kafka_opening(void)
{
	return opening;
}

void
kafka_set_stop(const struct stop *stop)
{
	kafka_stop = stop;
}

unsigned
alarm(unsigned seconds)
{
	alarm_s = seconds;
	return 0;
}

enum { RUNS = 10, STOPPED = 1, ALARM_SET = 2 };

/*
 * Raises the signals: "t" SIGTERM, "i" SIGINT, "u" that of a parent, "a" SIGALRM; "o": a connection
 * is being opened from here on, "c": no more. Returns how the process ends: by itself with RUNS and
 * what it knows then, or as the handlers end it. `said`: its stderr.
 */
static int
end_of(const char *events, bool child, char said[static 512])
{
	int status, to[2];
	ssize_t n;
	pid_t pid;

	assert_int_equal(pipe(to), 0);
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		const struct stop *stop = child ? signals_stop_child() : signals_stop();

		dup2(to[1], STDERR_FILENO);
		for (; *events != '\0'; events++)
			switch (*events) {
			case 't': raise(SIGTERM); break;
			case 'i': raise(SIGINT); break;
			case 'u': raise(SIGNALS_CHILD); break;
			case 'a': raise(SIGALRM); break;
			default: opening = *events == 'o'; break;
			}
		_exit(
		    kafka_stop != stop || (alarm_s != 0 && alarm_s != 4)
			? 99
			: RUNS + (stop_asked(stop) ? STOPPED : 0) + (alarm_s > 0 ? ALARM_SET : 0));
	}
	close(to[1]);
	n = read(to[0], said, 511);
	said[n > 0 ? n : 0] = '\0';
	close(to[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void
test_the_first_signal_asks_and_the_second_ends_the_process(void **unused)
{
	static const struct {
		const char *events;
		bool child;
		int ends;
		bool says;
	} rows[] = {
	    {"", false, RUNS, false},
	    {"t", false, RUNS + STOPPED, false},
	    {"i", false, RUNS + STOPPED, false},
	    {"tt", false, 128 + SIGTERM, false},
	    {"it", false, 128 + SIGTERM, false},
	    {"ti", false, 128 + SIGINT, false},
	    /* A connection that is being opened has four seconds. */
	    {"ot", false, RUNS + STOPPED + ALARM_SET, false},
	    {"ota", false, 1, true},
	    {"otca", false, RUNS + STOPPED + ALARM_SET, false},
	    {"toa", false, 1, true},
	    {"ott", false, 128 + SIGTERM, false},
	    /* What the parent hands on is no second signal. */
	    {"t", true, RUNS + STOPPED, false},
	    {"u", true, RUNS + STOPPED, false},
	    {"ut", true, RUNS + STOPPED, false},
	    {"tu", true, RUNS + STOPPED, false},
	    {"uu", true, RUNS + STOPPED, false},
	    {"utt", true, 128 + SIGTERM, false},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, events) {
		char said[512];

		assert_int_equal(end_of(rows[i].events, rows[i].child, said), rows[i].ends);
		assert_int_equal(
		    strncmp(said, "riffle: starting a connection to Kafka hangs", 44) == 0,
		    rows[i].says);
		assert_int_equal(said[0] != '\0', rows[i].says);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_the_first_signal_asks_and_the_second_ends_the_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
