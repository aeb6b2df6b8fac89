/*
 * runs_reset.h: which runs may be reset, from plain values; and call by call what resets or forgets
 * one, where the status, the commits, the request and the clock are the test's.
 */
#include "cli/request/runs_reset.h"

#include "cli/request/request_print.h"
#include "cli/request/request_words.h"
#include "cli/signals.h"
#include "common/base/clock.h"
#include "consumer/admin/request.h"
#include "consumer/admin/run_commit.h"
#include "tests/unit/capture.h"
#include "tests/unit/printed.h"

enum { IDLE_MS = 60000 };

static struct config config = {.mix = {.name = "pre"}};
static struct status_run run = {.name = "trainers", .known = 20, .seen_ms = -1};
static struct status st = {
    .config = &config, .state = STATUS_STARTED, .run = &run, .runs_n = 1, .ledger.step_next = 28};

static void
check(const char *name, uint64_t to, const char *refused)
{
	struct runs_reset r = {.config = &config, .run = name, .to_step = to, .idle_ms = IDLE_MS};
	struct failure f = {0};

	assert_int_equal(runs_reset_check(&r, &st, &f), refused == NULL ? FAIL_NONE
							: strstr(refused, "no run nobody") != NULL
							    ? FAIL_USAGE
							    : FAIL_DATA);
	if (refused != NULL)
		assert_non_null(strstr(f.text, refused));
}

static void
test_a_published_step_of_a_known_silent_run_is_taken(void **state)
{
	(void)state;
	check("trainers", 0, NULL);
	check("trainers", 28, NULL); /* the next one: all are read */
	check("trainers", 29, "step 29 is not published: mix pre is at step 28");
	check("nobody", 5, "mix pre has no run nobody");
	run.seen_ms = IDLE_MS - 1;
	check("trainers", 5, "is active: the ledger saw it advance 59 s ago, to step 20");
	run.seen_ms = IDLE_MS;
	check("trainers", 5, NULL);
	run.seen_ms = -1;
}

static void
test_a_mix_without_a_ledger_that_goes_on_refuses(void **state)
{
	(void)state;
	st.state = STATUS_ENDED;
	check("trainers", 5, "has ended, and its ledger with it: start the trainers at a step");
	st.state = STATUS_NOT_STARTED;
	check("trainers", 0, "has not started");
	st.state = STATUS_STARTED;
}

/* `step` is that of the rank that stands lowest, `step_ahead` that of the one furthest on. */
static void
test_a_run_of_which_any_rank_commits_is_active(void **state)
{
	static const struct {
		uint64_t before[2], now[2];
		bool active;
	} row[] = {
	    {{20, 20}, {20, 20}, false},
	    {{18, 20}, {18, 20}, false},
	    {{0, 0}, {0, 0}, false},
	    {{18, 20}, {18, 21}, true}, /* one goes on, and another holds the lowest step */
	    {{18, 20}, {19, 20}, true},
	    {{18, 20}, {17, 20}, true}, /* back, by an older checkpoint */
	    {{18, 20}, {18, 19}, true},
	    {{0, 0}, {0, 1}, true},
	};
	const struct runs_reset r = {.config = &config, .run = "trainers", .to_step = 5};

	(void)state;
	EACH_ROW(i, row) {
		const struct status_run before = {
		    .step = row[i].before[0], .step_ahead = row[i].before[1]};
		const struct status_run now = {.step = row[i].now[0], .step_ahead = row[i].now[1]};
		struct failure f = {0};

		assert_int_equal(runs_reset_check_silent(&r, &before, &now, &f),
		    row[i].active ? FAIL_DATA : FAIL_NONE);
		if (row[i].active)
			assert_non_null(strstr(f.text, "run trainers is active: it has just"));
	}
}

/* ---- resetting and forgetting, call by call ---- */

static char trace[1024];
static const char *fails;    /* the call that fails */
static bool answered, moves; /* the id was answered before; a trainer commits meanwhile */
static int looks, open_now;

static void
note(const char *format, ...) /* one line */
{
	size_t n = strlen(trace);
	va_list args;

	va_start(args, format);
	n += (size_t)vsnprintf(trace + n, sizeof(trace) - n, format, args);
	va_end(args);
	assert_true(n + 2 < sizeof(trace));
	memcpy(trace + n, "\n", 2);
}

static enum fail_code
may_fail(const char *call, struct failure *f)
{
	return fails != NULL && strcmp(fails, call) == 0 ? fail(f, FAIL_BROKER, "%s failed", call)
							 : FAIL_NONE;
}

int64_t
clock_ms(void)
{
	return 0;
}

int64_t
clock_wall_ms(void)
{
	return 0;
}

const char *
clock_span(char out[static CLOCK_SPAN_BYTES], int64_t ms)
{
	(void)ms;
	out[0] = '\0';
	return out;
}

void
clock_pause_ms(int64_t ms)
{
	note("pause %d ms", (int)ms);
	run.step_ahead += moves;
}

enum fail_code
status_query_runs(struct status_query *q, struct status **out, struct failure *f)
{
	static struct status_run copy[2];
	static struct status seen[2];

	(void)q;
	note("look");
	if (may_fail(looks++ == 0 ? "look" : "look again", f) != FAIL_NONE)
		return f->code;
	*out = &seen[open_now];
	copy[open_now] = run;
	seen[open_now] = st;
	seen[open_now].run = &copy[open_now];
	open_now++;
	return FAIL_NONE;
}

void
status_free(struct status *s)
{
	assert_non_null(s);
	open_now--;
}

enum fail_code
run_commit_find(struct run_commit **out, const char *mix, const char *run, uint64_t step,
    const struct ledger *last, const struct properties *properties, struct failure *f)
{
	assert_int_equal(last->step_next, 28);
	assert_ptr_equal(properties, &config.kafka);
	note("find %s.%s %d", mix, run, (int)step);
	*out = (struct run_commit *)&config;
	return may_fail("find", f);
}

void
run_commit_close(struct run_commit *r)
{
	if (r != NULL)
		note("close");
}

enum fail_code
run_commit_set(struct run_commit *r, struct failure *f)
{
	(void)r;
	note("set");
	return may_fail("set", f);
}

uint32_t
run_commit_lanes(const struct run_commit *r)
{
	(void)r;
	return 4;
}

enum fail_code
run_commit_forget(
    const char *mix, const char *run, const struct properties *properties, struct failure *f)
{
	assert_ptr_equal(properties, &config.kafka);
	note("forget %s.%s", mix, run);
	return may_fail("forget", f);
}

enum fail_code
request_open(struct request **out, const struct request_options *o, struct failure *f)
{
	assert_ptr_equal(o->properties, &config.kafka);
	assert_ptr_equal(o->stop, signals_stop());
	note("request to %s", o->mix);
	*out = (struct request *)&config;
	return may_fail("request", f);
}

void
request_close(struct request *r)
{
	assert_ptr_equal((void *)r, &config);
}

enum fail_code
request_earlier(
    struct request *r, const char *id, struct ledger_answer *out, bool *found, struct failure *f)
{
	(void)r;
	note("earlier %s", id);
	out->text = strdup("an answer");
	*found = answered;
	return may_fail("earlier", f);
}

enum fail_code
request_words_name(struct control *c, const char *id, const char *prefix, struct failure *f)
{
	c->id = strdup(id == NULL ? prefix : id);
	return may_fail("name", f);
}

enum fail_code
request_print(struct request *r, const struct control *c, size_t n,
    const struct request_print_how *how, struct failure *f)
{
	(void)r;
	assert_ptr_equal(how->config, &config);
	assert_int_equal(c->kind, LEDGER_RESET);
	note("ask %d: %s %s to %d, at %d, partition %d%s%s, %d ms", (int)n, c->id, c->run,
	    (int)c->to_step, (int)c->at_step, (int)c->partition, how->json ? ", json" : "",
	    how->named ? ", named" : "", how->timeout_ms);
	assert_true(how->to == NULL && !how->dry_run);
	return may_fail("ask", f);
}

#define LOOKED  "look\nfind pre.trainers 5\npause 1500 ms\nlook\n"
#define SET     LOOKED "set\nclose\n"
#define REQUEST "request to pre\n"
#define NEW_ASK "ask 1: reset trainers to 5, at -1, partition -1, 7000 ms\n"
#define ID_ASK  "ask 1: my trainers to 5, at -1, partition -1, json, named, 7000 ms\n"
#define DONE    "info runs: group=pre.trainers commits=5 lanes=4\n"

static void
test_commits_are_set_before_the_mixer_is_asked(void **unused)
{
	static const struct {
		const char *id, *fails;
		bool answered, moves;
		uint64_t to;
		enum fail_code code;
		const char *trace, *text; /* the log, or the failure */
	} rows[] = {
	    {NULL, NULL, false, false, 5, FAIL_NONE, REQUEST SET NEW_ASK, DONE},
	    {"my", NULL, false, false, 5, FAIL_NONE, REQUEST "earlier my\n" SET ID_ASK, DONE},
	    {"my", NULL, true, false, 5, FAIL_NONE, REQUEST "earlier my\n" ID_ASK, ""},
	    {NULL, NULL, false, true, 5, FAIL_DATA, REQUEST LOOKED "close\n",
		"run trainers is active: it has just committed step 22. Stop its trainers"},
	    {NULL, NULL, false, false, 29, FAIL_DATA, REQUEST "look\n",
		"step 29 is not published: mix pre is at step 28"},
	    {NULL, "request", false, false, 5, FAIL_BROKER, REQUEST, "request failed"},
	    {"my", "earlier", false, false, 5, FAIL_BROKER, REQUEST "earlier my\n",
		"earlier failed"},
	    {NULL, "look", false, false, 5, FAIL_BROKER, REQUEST "look\n", "look failed"},
	    {NULL, "find", false, false, 5, FAIL_BROKER,
		REQUEST "look\nfind pre.trainers 5\nclose\n", "find failed"},
	    {NULL, "look again", false, false, 5, FAIL_BROKER, REQUEST LOOKED "close\n",
		"look again failed"},
	    {NULL, "set", false, false, 5, FAIL_BROKER, REQUEST SET, "set failed"},
	    {NULL, "name", false, false, 5, FAIL_BROKER, REQUEST SET, "name failed"},
	    {NULL, "ask", false, false, 5, FAIL_BROKER, REQUEST SET NEW_ASK, "ask failed"},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, text) {
		const struct runs_reset r = {.config = &config,
		    .run = "trainers",
		    .id = rows[i].id,
		    .to_step = rows[i].to,
		    .idle_ms = IDLE_MS,
		    .timeout_ms = 7000,
		    .json = rows[i].id != NULL};
		struct capture log;
		char said[512];
		enum fail_code code;

		fails = rows[i].fails;
		answered = rows[i].answered;
		moves = rows[i].moves;
		run.step_ahead = 21;
		looks = 0;
		trace[0] = '\0';
		capture_begin(&log);
		code = runs_reset(NULL, &r, &f);
		capture_end_lines(&log, said, sizeof(said));
		assert_int_equal(code, rows[i].code);
		printed_compare(trace, rows[i].trace);
		printed_compare(code != FAIL_NONE ? f.text
				: said[0] == '\0' ? ""
						  : strchr(said, ' ') + 1,
		    rows[i].text);
		assert_int_equal(open_now, 0);
	}
	fails = NULL;
}

static void
test_a_run_that_somebody_names_is_not_forgotten(void **unused)
{
	static const struct {
		const char *name, *fails;
		bool configured;
		uint64_t known;
		enum fail_code code;
		const char *trace, *text; /* the log, or the failure */
	} rows[] = {
	    {"trainers", NULL, false, 0, FAIL_NONE, "look\nforget pre.trainers\n",
		"info runs: group=pre.trainers is deleted, with its commits\n"},
	    {"trainers", NULL, true, 0, FAIL_DATA, "look\n",
		"mix.runs names run trainers, which would be taken for one that has lost its "
		"commits: nothing was deleted; --reset trainers --to STEP moves it"},
	    {"trainers", NULL, false, 1, FAIL_DATA, "look\n",
		"the ledger names run trainers, which would be taken for one that has lost its "
		"commits: nothing was deleted; --reset trainers --to STEP moves it"},
	    {"trainer", NULL, false, 0, FAIL_USAGE, "look\n",
		"mix pre has no run trainer (did you mean trainers?); it has trainers"},
	    {".x", NULL, false, 0, FAIL_USAGE, "", "--forget: \".x\" is not a name of a run"},
	    {"trainers", "look", false, 0, FAIL_BROKER, "look\n", "look failed"},
	    {"trainers", "forget", false, 0, FAIL_BROKER, "look\nforget pre.trainers\n",
		"forget failed"},
	};
	const struct status_run was = run;

	(void)unused;
	EACH_NAMED_ROW(i, rows, text) {
		struct capture log;
		char said[512];
		enum fail_code code;

		fails = rows[i].fails;
		run.configured = rows[i].configured;
		run.known = rows[i].known;
		looks = 0;
		trace[0] = '\0';
		capture_begin(&log);
		code = runs_forget(NULL, &config, rows[i].name, &f);
		capture_end_lines(&log, said, sizeof(said));
		assert_int_equal(code, rows[i].code);
		printed_compare(trace, rows[i].trace);
		printed_compare(code != FAIL_NONE ? f.text : strchr(said, ' ') + 1, rows[i].text);
		assert_int_equal(open_now, 0);
	}
	fails = NULL;
	run = was;
}

static void
test_a_run_that_only_its_commits_know_is_not_reset(void **unused)
{
	const struct status_run was = run;
	struct runs_reset r = {.config = &config, .run = ".x", .to_step = 5};

	(void)unused;
	assert_int_equal(runs_reset(NULL, &r, &f), FAIL_USAGE);
	assert_string_equal(f.text, "--reset: \".x\" is not a name of a run");
	run.known = 0;
	check("trainers", 5,
	    "mix pre has no run trainers: neither mix.runs nor the ledger names it; --forget "
	    "deletes its commits");
	run.configured = true;
	check("trainers", 5, NULL);
	run = was;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_published_step_of_a_known_silent_run_is_taken),
	    cmocka_unit_test(test_a_mix_without_a_ledger_that_goes_on_refuses),
	    cmocka_unit_test(test_a_run_of_which_any_rank_commits_is_active),
	    cmocka_unit_test(test_commits_are_set_before_the_mixer_is_asked),
	    cmocka_unit_test(test_a_run_that_somebody_names_is_not_forgotten),
	    cmocka_unit_test(test_a_run_that_only_its_commits_know_is_not_reset),
	};

	return cmocka_run_group_tests_name("runs_reset", tests, NULL, NULL);
}
