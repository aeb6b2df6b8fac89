/*
 * serve_work.h: what a job is answered, by what the commands' functions give, which are the test's
 * own here; and how many jobs may wait.
 */
#include "cli/serve/serve_work.h"

#include <pthread.h>

#include "cli/inspect/inspect_lines.h"
#include "cli/inspect/inspect_output.h"
#include "cli/plan/plan_lengths.h"
#include "cli/plan/plan_print.h"
#include "cli/request/request_print.h"
#include "cli/request/weights_request.h"
#include "consumer/plan/config_plan.h"
#include "consumer/replay/published_step.h"
#include "tests/unit/test.h"

/* ---- the commands by script ---- */

/* What fails, and how; "": nothing. */
static struct {
	const char *failing;
	enum fail_code code;
	enum request_sent sent;
	bool printed; /* also if it fails */
	uint64_t lengths_steps, steps;
	char trace[512];
} script;

static enum fail_code
call(const char *what, struct failure *f)
{
	size_t n = strlen(script.trace);

	snprintf(script.trace + n, sizeof(script.trace) - n, "%s ", what);
	return script.failing != NULL && strcmp(script.failing, what) == 0
		   ? fail(f, script.code, "%s fails", what)
		   : FAIL_NONE;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int begun_n;                                      /* steps */
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER; /* of a step */

enum fail_code
published_step_open(struct published_step *out, const char *mix, const struct config *c,
    uint64_t step, struct failure *f)
{
	(void)out, (void)c;
	assert_string_equal(mix, "pre");
	script.steps = step;
	pthread_mutex_lock(&lock);
	begun_n++;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	pthread_mutex_lock(&gate);
	pthread_mutex_unlock(&gate);
	return call("step", f);
}

void
published_step_close(struct published_step *s)
{
	(void)s;
}

enum fail_code
inspect_lines_open(struct inspect_lines **out, const char *mix, const struct config *c,
    const struct published_step *s, int64_t lane, struct failure *f)
{
	(void)out, (void)mix, (void)c, (void)s;
	assert_int_equal(lane, -1);
	return call("lines", f);
}

void
inspect_lines_close(struct inspect_lines *l)
{
	(void)l;
}

static FILE *step_to;

enum fail_code
inspect_output_open(
    struct inspect_output **out, const struct inspect_output_options *o, struct failure *f)
{
	(void)out;
	assert_true(o->json);
	step_to = o->to;
	return call("output", f);
}

enum fail_code
inspect_output_step(
    struct inspect_output *o, const struct published_step *s, int64_t lane, struct failure *f)
{
	(void)o, (void)s;
	assert_int_equal(lane, -1);
	fprintf(step_to, "the step");
	return call("print", f);
}

void
inspect_output_close(struct inspect_output *o)
{
	(void)o;
}

static uint32_t batch, phase_batch;

enum fail_code
options_config_named(
    struct config **out, const char *mix, const struct options *o, struct failure *f)
{
	struct config *c = calloc(1, sizeof(*c));

	(void)o;
	assert_string_equal(mix, "named");
	*out = c;
	c->mix.name = strdup("pre");
	c->mix.global_batch = batch;
	if (phase_batch > 0) {
		c->mix.phases = calloc(1, sizeof(*c->mix.phases));
		c->mix.phases[0].global_batch = phase_batch;
		c->mix.phases_n = 1;
	}
	return call("config", f);
}

enum fail_code
plan_lengths_ask(struct plan_lengths *out, struct config *c, struct failure *f)
{
	(void)out, (void)c;
	return call("lengths", f);
}

uint64_t
plan_lengths_steps(const struct plan_lengths *lengths, const struct config *c)
{
	(void)lengths, (void)c;
	return script.lengths_steps;
}

void
plan_lengths_close(struct plan_lengths *p)
{
	(void)p;
}

enum fail_code
config_plan_open(struct config_plan *out, const struct config *c,
    const struct config_plan_length *length, struct failure *f)
{
	(void)out, (void)c, (void)length;
	return call("plan", f);
}

void
config_plan_close(struct config_plan *p)
{
	(void)p;
}

enum fail_code
forecast_open(struct forecast **out, const struct mixer_plan *plan, uint64_t steps,
    const struct stop *stop, struct failure *f)
{
	(void)out, (void)plan, (void)stop;
	script.steps = steps;
	return call("forecast", f);
}

void
forecast_close(struct forecast *fc)
{
	(void)fc;
}

enum fail_code
plan_print_json(const struct forecast *fc, const struct config *c, FILE *to, struct failure *f)
{
	(void)fc, (void)c;
	fprintf(to, "the plan");
	return call("print", f);
}

enum fail_code
request_open(struct request **out, const struct request_options *o, struct failure *f)
{
	*out = (struct request *)&script;
	assert_string_equal(o->mix, "pre");
	return call("open", f);
}

void
request_close(struct request *r)
{
	(void)r;
}

const struct ledger *
request_ledger(const struct request *r)
{
	(void)r;
	return NULL;
}

enum request_sent
request_sent(const struct request *r)
{
	(void)r;
	return script.sent;
}

enum fail_code
weights_request(struct control *out, const struct weights_request_change *change,
    const struct ledger *last, const struct config *c, struct failure *f)
{
	(void)last, (void)c;
	assert_int_equal(change->words_n, 1);
	assert_string_equal(change->word[0], "web=2");
	out->id = strdup(change->id == NULL ? "new" : change->id);
	out->who = strdup("this process");
	return call("weights", f);
}

enum fail_code
request_print(struct request *r, const struct control *c, size_t n,
    const struct request_print_how *how, struct failure *f)
{
	(void)r;
	assert_int_equal(n, 1);
	assert_true(how->json);
	if (script.failing == NULL || script.printed)
		fprintf(how->to, "%s for %s%s%s", c->id, c->who, how->named ? ", named" : "",
		    how->dry_run ? ", dry" : "");
	return call("print", f);
}

/* ---- jobs ---- */

static int done_n;

static void
note_done(struct serve_job *job, void *of)
{
	(void)job, (void)of;
	pthread_mutex_lock(&lock);
	done_n++;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static void
wait_done(int n)
{
	pthread_mutex_lock(&lock);
	while (done_n < n)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

static const struct config config = {.mix = {.name = (char[]){"pre"}}};
static struct serve_work *w;

static int
open_work(void **unused)
{
	(void)unused;
	done_n = begun_n = 0;
	batch = 16;
	phase_batch = 0;
	memset(&script, 0, sizeof(script));
	return serve_work_open(&w, &config, NULL, "named", &f) == FAIL_NONE ? 0 : -1;
}

static int
close_work(void **unused)
{
	(void)unused;
	if (!serve_work_end(w, 60000))
		return -1;
	serve_work_close(w);
	return 0;
}

#define CHANGE    "{\"weights\":{\"web\":2},\"who\":\"ann\"}"
#define CHANGE_ID "{\"weights\":{\"web\":2},\"who\":\"ann\",\"id\":\"q1\",\"dry_run\":true}"

static void
test_a_job_is_answered_as_its_command_ends(void **unused)
{
	static const struct {
		enum serve_route route;
		const char *body, *failing;
		enum fail_code code;
		enum request_sent sent;
		bool printed;
		unsigned status;
		const char *text, *trace;
	} rows[] = {
	    {SERVE_STEP, "", NULL, FAIL_NONE, 0, false, 200, "the step",
		"step lines output print "},
	    {SERVE_STEP, "", "step", FAIL_DATA, 0, false, 404, "{\"error\":\"step fails\"}",
		"step "},
	    {SERVE_STEP, "", "step", FAIL_CONFIG, 0, false, 404, "{\"error\":\"step fails\"}",
		"step "},
	    {SERVE_STEP, "", "step", FAIL_BROKER, 0, false, 503, "{\"error\":\"step fails\"}",
		"step "},
	    {SERVE_STEP, "", "lines", FAIL_MEMORY, 0, false, 503, "{\"error\":\"lines fails\"}",
		"step lines "},
	    {SERVE_STEP, "", "print", FAIL_DATA, 0, false, 404, "{\"error\":\"print fails\"}",
		"step lines output print "},
	    {SERVE_PLAN, "", NULL, FAIL_NONE, 0, false, 200, "the plan",
		"config lengths plan forecast print "},
	    {SERVE_PLAN, "", "config", FAIL_CONFIG, 0, false, 503, "{\"error\":\"config fails\"}",
		"config "},
	    {SERVE_PLAN, "", "lengths", FAIL_DATA, 0, false, 503, "{\"error\":\"lengths fails\"}",
		"config lengths "},
	    {SERVE_PLAN, "", "plan", FAIL_USAGE, 0, false, 400, "{\"error\":\"plan fails\"}",
		"config lengths plan "},
	    {SERVE_WEIGHTS, CHANGE, NULL, FAIL_NONE, REQUEST_SENT, false, 200, "new for ann",
		"open weights print "},
	    {SERVE_WEIGHTS, CHANGE_ID, NULL, FAIL_NONE, REQUEST_UNSENT, false, 200,
		"q1 for ann, named, dry", "open weights print "},
	    /* If the mix refuses a change, that is an answer. If the words are wrong, it is not. */
	    {SERVE_WEIGHTS, CHANGE, "print", FAIL_DATA, REQUEST_SENT, true, 200, "new for ann",
		"open weights print "},
	    {SERVE_WEIGHTS, CHANGE, "print", FAIL_DATA, REQUEST_UNSENT, false, 400,
		"{\"error\":\"print fails\"}", "open weights print "},
	    {SERVE_WEIGHTS, CHANGE, "print", FAIL_TIMEOUT, REQUEST_SENT, false, 202,
		"{\"error\":\"print fails\"}", "open weights print "},
	    {SERVE_WEIGHTS, CHANGE, "print", FAIL_TIMEOUT, REQUEST_UNSENT, false, 503,
		"{\"error\":\"print fails\"}", "open weights print "},
	    {SERVE_WEIGHTS, CHANGE, "print", FAIL_BROKER, REQUEST_IN_DOUBT, false, 503,
		"{\"error\":\"whether the mix was asked for request new is not known "
		"(/api/v1/requests shows it if so; the same id can be sent again): print fails\"}",
		"open weights print "},
	    {SERVE_WEIGHTS, CHANGE, "weights", FAIL_USAGE, REQUEST_UNSENT, false, 400,
		"{\"error\":\"weights fails\"}", "open weights "},
	    {SERVE_WEIGHTS, CHANGE, "open", FAIL_CONFIG, REQUEST_UNSENT, false, 503,
		"{\"error\":\"open fails\"}", "open "},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, text) {
		struct serve_job j = {.route = rows[i].route,
		    .step = 7,
		    .steps = 9,
		    .body = (char *)(uintptr_t)rows[i].body,
		    .body_n = strlen(rows[i].body),
		    .done = note_done};

		memset(&script, 0, sizeof(script));
		script.failing = rows[i].failing;
		script.code = rows[i].code;
		script.sent = rows[i].sent;
		script.printed = rows[i].printed;
		serve_work_put(w, &j);
		wait_done((int)i + 1);
		assert_string_equal(j.text, rows[i].text);
		assert_int_equal(j.status, rows[i].status);
		assert_string_equal(script.trace, rows[i].trace);
		if (j.status == 200 && rows[i].route != SERVE_WEIGHTS)
			assert_int_equal(script.steps, rows[i].route == SERVE_STEP ? 7 : 9);
		free(j.text);
	}
}

/* Two seconds of draws at most: 8 Mi, by the largest batch that there is. */
static void
test_a_plan_has_as_many_steps_as_are_asked_for_and_can_be_drawn_soon(void **unused)
{
	static const struct {
		uint64_t asked, lengths; /* 0: as the lengths say */
		uint32_t batch, phase_batch;
		uint64_t steps; /* 0: refused */
	} rows[] = {
	    {9, 500, 16, 0, 9},
	    {0, 500, 16, 0, 500},
	    {0, 1 << 30, 16, 0, 524288},
	    {524288, 5, 16, 0, 524288},
	    {524289, 5, 16, 0, 0},
	    {262144, 5, 16, 32, 262144},
	    {262145, 5, 16, 32, 0},
	    {524288, 5, 16, 8, 524288},
	    {1, 5, 1 << 24, 0, 1},
	    {2, 5, 1 << 24, 0, 0},
	};

	(void)unused;
	EACH_ROW(i, rows) {
		struct serve_job j = {
		    .route = SERVE_PLAN, .steps = rows[i].asked, .done = note_done};

		memset(&script, 0, sizeof(script));
		script.lengths_steps = rows[i].lengths;
		batch = rows[i].batch;
		phase_batch = rows[i].phase_batch;
		serve_work_put(w, &j);
		wait_done((int)i + 1);
		assert_int_equal(j.status, rows[i].steps > 0 ? 200 : 400);
		assert_int_equal(script.steps, rows[i].steps);
		assert_int_equal(strstr(j.text, "the time that it takes") != NULL, j.status == 400);
		free(j.text);
	}
}

static void
test_eight_jobs_wait_and_the_end_answers_them(void **unused)
{
	enum { ALL = SERVE_JOBS + 3 };
	struct serve_job j[ALL];

	(void)unused;
	for (size_t i = 0; i < ALL; i++)
		j[i] = (struct serve_job){.route = SERVE_STEP, .done = note_done};
	pthread_mutex_lock(&gate);
	serve_work_put(w, &j[0]);
	pthread_mutex_lock(&lock);
	while (begun_n < 1)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	for (size_t i = 1; i <= SERVE_JOBS; i++)
		serve_work_put(w, &j[i]);
	assert_int_equal(done_n, 0);
	serve_work_put(w, &j[SERVE_JOBS + 1]); /* at once */
	assert_int_equal(j[SERVE_JOBS + 1].status, 429);
	assert_false(serve_work_end(w, 0)); /* one is under way */
	serve_work_put(w, &j[SERVE_JOBS + 2]);
	assert_int_equal(j[SERVE_JOBS + 2].status, 503);
	pthread_mutex_unlock(&gate);
	wait_done(ALL);
	assert_int_equal(j[0].status, 200);
	for (size_t i = 1; i <= SERVE_JOBS; i++) {
		assert_int_equal(j[i].status, 503);
		assert_string_equal(j[i].text, "{\"error\":\"the server ends\"}");
	}
	for (size_t i = 0; i < ALL; i++)
		free(j[i].text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(
		test_a_job_is_answered_as_its_command_ends, open_work, close_work),
	    cmocka_unit_test_setup_teardown(
		test_a_plan_has_as_many_steps_as_are_asked_for_and_can_be_drawn_soon, open_work,
		close_work),
	    cmocka_unit_test_setup_teardown(
		test_eight_jobs_wait_and_the_end_answers_them, open_work, close_work),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
