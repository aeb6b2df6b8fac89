/* riffle read: which words go together, and what is then read. The reading is the test's own. */
#include "cli/read/read_steps.h"

#include "consumer/replay/time_step.h"
#include "tests/unit/capture.h"
#include "tests/unit/config_file.h"
#include "tests/unit/run_command.h"

/* ---- what is read, instead ---- */

static char called[1024];
static enum fail_code ends_with;

static enum fail_code
note(const char *what, const struct read_steps_arguments *a, const struct config *c,
    const struct stop *stop, FILE *to, struct failure *f)
{
	assert_non_null(c);
	assert_non_null(stop);
	assert_non_null(to);
	snprintf(called, sizeof(called),
	    "%s mix=%s run=%s domain=%s time=%s rank=%u/%u timeout=%u metrics=%s token=%s "
	    "from=%llu%s steps=%llu commit=%llu format=%d set=%d%s",
	    what, a->mix == NULL ? "-" : a->mix, a->run, a->domain == NULL ? "-" : a->domain,
	    a->time == NULL ? "-" : a->time, a->rank, a->world, a->timeout_s,
	    a->metrics.address == NULL ? "-" : a->metrics.address,
	    a->metrics.token_file == NULL ? "-" : a->metrics.token_file,
	    (unsigned long long)a->from_step, a->from_step_given ? "!" : "",
	    (unsigned long long)a->steps, (unsigned long long)a->commit_every, (int)a->format,
	    (int)a->set, a->uneven ? " uneven" : "");
	return ends_with == FAIL_NONE ? FAIL_NONE : fail(f, ends_with, "it cannot be read");
}

enum fail_code
read_steps_mix(const struct read_steps_arguments *a, const struct config *c,
    const struct stop *stop, FILE *to, struct failure *f)
{
	return note("mix", a, c, stop, to, f);
}

enum fail_code
read_steps_set(const struct read_steps_arguments *a, const struct config *c,
    const struct stop *stop, FILE *to, struct failure *f)
{
	return note("set", a, c, stop, to, f);
}

static bool drawn;

/* Its step is the time in seconds. */
enum fail_code
time_step_find(struct time_step *out, const struct time_step_options *o, struct failure *f)
{
	assert_string_equal(o->mix, "pretrain");
	assert_non_null(o->stop);
	if (o->domain != NULL && strcmp(o->domain, "none") == 0)
		return fail(f, FAIL_CONFIG, "no live domain none");
	*out = (struct time_step){.step = (uint64_t)o->time_ms / 1000,
	    .domain = "web",
	    .drawn = drawn,
	    .partition = 3,
	    .ordinal = 4};
	return FAIL_NONE;
}

/* ---- the tests ---- */

#define REST " metrics=- token=- "
#define ALL  "steps=18446744073709551615 commit=0 format=0 set=0"

/* "@" is the configuration. */
static enum fail_code
run(const char *words)
{
	const char *at = strchr(words, '@');
	char line[1024];
	struct printed p;
	enum fail_code code;

	snprintf(line, sizeof(line), "%.*s%s%s",
	    at == NULL ? (int)strlen(words) : (int)(at - words), words,
	    at == NULL ? "" : folder_path("run.yml"), at == NULL ? "" : at + 1);
	snprintf(called, sizeof(called), "nothing");
	code = run_command(&p, &cmd_read, line);
	assert_string_equal(p.text, "");
	free(p.text);
	return code;
}

static void
open_folder_file(void)
{
	struct config *c;

	assert_int_equal(open_with(&c, 0, "", &f), FAIL_NONE);
	config_close(c);
}

static void
test_the_options_reach_what_is_read(void **unused)
{
	static const struct {
		const char *words, *called;
	} rows[] = {
	    {"-c @", "mix mix=pretrain run=trainers domain=- time=- rank=0/1 timeout=0" REST
		     "from=0 " ALL},
	    {"--mix m -X bootstrap.servers=h:1",
		"mix mix=m run=trainers domain=- time=- rank=0/1 timeout=0" REST "from=0 " ALL},
	    {"-c @ --rank 1 --world 2 --uneven --run eval --from-step 0 --steps 7 --commit-every 8 "
	     "--format tokens --timeout 9 --metrics 1 --metrics-token-file t",
		"mix mix=pretrain run=eval domain=- time=- rank=1/2 timeout=9 metrics=1 token=t "
		"from=0! steps=7 commit=8 format=2 set=0 uneven"},
	    {"-c @ --rank 0 --world 2",
		"mix mix=pretrain run=trainers domain=- time=- rank=0/2 timeout=0" REST
		"from=0 " ALL},
	    {"-c @ --from-time 60 --domain web",
		"mix mix=pretrain run=trainers domain=web time=60 rank=0/1 timeout=0" REST
		"from=60! " ALL},
	    {"-c @ --set train --domain code --steps 3 --timeout 4 --format none",
		"set mix=- run=trainers domain=code time=- rank=0/1 timeout=4" REST
		"from=0 steps=3 commit=0 format=3 set=0"},
	    {"-c @ --set valid --domain web",
		"set mix=- run=trainers domain=web time=- rank=0/1 timeout=0" REST
		"from=0 steps=18446744073709551615 commit=0 format=0 set=1"},
	};

	(void)unused;
	open_folder_file();
	EACH_NAMED_ROW(i, rows, words) {
		assert_int_equal(run(rows[i].words), FAIL_NONE);
		assert_string_equal(called, rows[i].called);
	}
	ends_with = FAIL_TIMEOUT;
	assert_int_equal(run("-c @"), FAIL_TIMEOUT);
	assert_string_equal(f.text, "it cannot be read");
	assert_int_equal(run("-c @ --set test --domain web"), FAIL_TIMEOUT);
	ends_with = FAIL_NONE;
}

static void
test_words_that_do_not_go_together_are_refused(void **unused)
{
	static const struct {
		const char *words;
		enum fail_code code;
		const char *why;
	} rows[] = {
	    {"-c @ --domain web", FAIL_USAGE, "--domain is for --set and --from-time"},
	    {"-c @ --from-step 1 --from-time 1", FAIL_USAGE,
		"--from-step or --from-time, not both"},
	    {"-c @ --world 2", FAIL_USAGE, "--world 2: which of them is this? give --rank"},
	    {"-c @ --rank 1", FAIL_USAGE, "--rank 1: of how many? give --world"},
	    {"-c @ --rank 3 --world 3", FAIL_USAGE,
		"--rank: out of range: 3 (0 to 2, as --world is 3)"},
	    {"-c @ --from-time noon", FAIL_USAGE,
		"--from-time: \"noon\" is no time: 2026-01-31T10:30:00Z, a date, or seconds since "
		"1970"},
	    {"-c @ --from-time 1 --domain none", FAIL_CONFIG, "--from-time: no live domain none"},
	    {"-c @ --set valid", FAIL_USAGE, "--set: which domain? give --domain NAME"},
	    {"-c @ --set valid --domain a/b", FAIL_USAGE,
		"--set: which domain? give --domain NAME"},
	    {"--set valid --domain web", FAIL_USAGE, "--set: which corpus? give -c FILE"},
	    {"-c @ --set valid --domain web --mix m", FAIL_USAGE,
		"--mix is for a mix, not for a --set"},
	    {"-c @ --set valid --domain web --rank 0", FAIL_USAGE,
		"--rank is for a mix, not for a --set"},
	    {"-c @ --set valid --domain web --world 1", FAIL_USAGE,
		"--world is for a mix, not for a --set"},
	    {"-c @ --set valid --domain web --uneven", FAIL_USAGE,
		"--uneven is for a mix, not for a --set"},
	    {"-c @ --set valid --domain web --run r", FAIL_USAGE,
		"--run is for a mix, not for a --set"},
	    {"-c @ --set valid --domain web --from-step 0", FAIL_USAGE,
		"--from-step is for a mix, not for a --set"},
	    {"-c @ --set valid --domain web --from-time 0", FAIL_USAGE,
		"--from-time is for a mix, not for a --set"},
	    {"-c @ --set valid --domain web --commit-every 1", FAIL_USAGE,
		"--commit-every is for a mix, not for a --set"},
	    {"-c @ --set valid --domain web --metrics 1", FAIL_USAGE,
		"--metrics is for a mix, not for a --set"},
	    {"-c @ --set valid --domain web --metrics-token-file t", FAIL_USAGE,
		"--metrics-token-file is for a mix, not for a --set"},
	    {"-c @ --commit-every 0", FAIL_USAGE,
		"--commit-every: out of range: 0 (1 to 18446744073709551615)"},
	    {"-c @ --world 0", FAIL_USAGE, "--world: out of range: 0 (1 to 4096)"},
	    {"-c @ --rank 4096 --world 4096", FAIL_USAGE, "--rank: out of range: 4096 (0 to 4095)"},
	};

	(void)unused;
	open_folder_file();
	EACH_NAMED_ROW(i, rows, words) {
		assert_int_equal(run(rows[i].words), rows[i].code);
		assert_string_equal(f.text, rows[i].why);
		assert_string_equal(called, "nothing");
	}
	assert_int_not_equal(run("-c @ --set valid --domain none"), FAIL_NONE);
	assert_memory_equal(f.text, "--domain: ", 10);
}

static void
test_the_step_of_a_time_is_logged(void **unused)
{
	(void)unused;
	open_folder_file();
	for (int i = 0; i < 2; i++) {
		struct capture log;
		char text[1024];

		drawn = i == 1;
		capture_begin(&log);
		assert_int_equal(run("-c @ --from-time 7"), FAIL_NONE);
		capture_end_lines(&log, text, sizeof(text));
		assert_string_equal(strchr(text, ' '),
		    drawn ? " info read: step=7 is the first one that holds what domain=web got at "
			    "7 or later: partition=3 ordinal=4\n"
			  : " info read: nothing that domain=web got at 7 or later is drawn yet: "
			    "step=7 is the next one\n");
	}
	drawn = false;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(
		test_the_options_reach_what_is_read, folder_open, folder_close),
	    cmocka_unit_test_setup_teardown(
		test_words_that_do_not_go_together_are_refused, folder_open, folder_close),
	    cmocka_unit_test_setup_teardown(
		test_the_step_of_a_time_is_logged, folder_open, folder_close),
	};

	unsetenv("RIFFLE_CONFIG");
	unsetenv("RIFFLE_BOOTSTRAP");
	log_set_level(LOG_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
