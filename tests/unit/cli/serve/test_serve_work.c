/*
 * serve_work.h: what a job is answered, by what the commands' functions give, which are the test's
 * own here; and how many jobs may wait.
 */
#include "cli/serve/serve_work.h"

#include <pthread.h>
#include <stdatomic.h>

#include "cli/inspect/inspect_lines.h"
#include "cli/inspect/inspect_output.h"
#include "cli/plan/plan_lengths.h"
#include "cli/plan/plan_print.h"
#include "cli/request/request_print.h"
#include "cli/request/weights_request.h"
#include "consumer/plan/config_plan.h"
#include "consumer/replay/published_step.h"
#include "tests/unit/capture.h"

/* ---- the commands by script ---- */

static const struct config config = {.mix = {.name = (char[]){"pre"}}};
static const struct options reload;
static int lines_of, output_of, forecast_of; /* for their addresses */
static struct config_plan_length length_of;
static atomic_int opened; /* and not closed yet */

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
	assert_ptr_equal(c, &config);
	assert_string_equal(mix, "pre");
	script.steps = step;
	*out = (struct published_step){.lanes = 3, .derived = step == 8};
	opened++;
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
	assert_int_equal(s->lanes, 3);
	opened--;
}

enum fail_code
inspect_lines_open(struct inspect_lines **out, const char *mix, const struct config *c,
    const struct published_step *s, int64_t lane, struct failure *f)
{
	assert_string_equal(mix, "pre");
	assert_ptr_equal(c, &config);
	assert_int_equal(s->lanes, 3);
	assert_int_equal(lane, -1);
	if (call("lines", f) != FAIL_NONE)
		return f->code;
	*out = (struct inspect_lines *)&lines_of;
	opened++;
	return FAIL_NONE;
}

void
inspect_lines_close(struct inspect_lines *l)
{
	opened -= l != NULL;
}

static FILE *step_to;

enum fail_code
inspect_output_open(
    struct inspect_output **out, const struct inspect_output_options *o, struct failure *f)
{
	assert_true(o->json && !o->ids && o->text == NULL);
	assert_ptr_equal(o->lines, (struct inspect_lines *)&lines_of);
	assert_int_equal(o->derived, script.steps == 8);
	step_to = o->to;
	if (call("output", f) != FAIL_NONE)
		return f->code;
	*out = (struct inspect_output *)&output_of;
	opened++;
	return FAIL_NONE;
}

enum fail_code
inspect_output_step(
    struct inspect_output *o, const struct published_step *s, int64_t lane, struct failure *f)
{
	assert_ptr_equal(o, (struct inspect_output *)&output_of);
	assert_int_equal(s->lanes, 3);
	assert_int_equal(lane, -1);
	fprintf(step_to, "the step");
	return call("print", f);
}

void
inspect_output_close(struct inspect_output *o)
{
	opened -= o != NULL;
}

static uint32_t batch, phase_batch;
static bool no_mix;

enum fail_code
options_config_named(
    struct config **out, const char *mix, const struct options *o, struct failure *f)
{
	struct config *c = calloc(1, sizeof(*c));

	assert_ptr_equal(o, &reload);
	assert_string_equal(mix, "named");
	*out = c;
	c->mix.name = no_mix ? NULL : strdup("pre");
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
	assert_string_equal(c->mix.name, "pre");
	out->length = &length_of;
	opened++;
	return call("lengths", f);
}

uint64_t
plan_lengths_steps(const struct plan_lengths *lengths, const struct config *c)
{
	assert_ptr_equal(lengths->length, &length_of);
	assert_string_equal(c->mix.name, "pre");
	return script.lengths_steps;
}

void
plan_lengths_close(struct plan_lengths *p)
{
	assert_ptr_equal(p->length, &length_of);
	opened--;
}

enum fail_code
config_plan_open(struct config_plan *out, const struct config *c,
    const struct config_plan_length *length, struct failure *f)
{
	(void)out;
	assert_string_equal(c->mix.name, "pre");
	assert_ptr_equal(length, &length_of);
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
	(void)plan;
	assert_null(stop);
	script.steps = steps;
	if (call("forecast", f) != FAIL_NONE)
		return f->code;
	*out = (struct forecast *)&forecast_of;
	opened++;
	return FAIL_NONE;
}

void
forecast_close(struct forecast *fc)
{
	opened -= fc != NULL;
}

enum fail_code
plan_print_json(const struct forecast *fc, const struct config *c, FILE *to, struct failure *f)
{
	assert_ptr_equal(fc, (const struct forecast *)&forecast_of);
	assert_string_equal(c->mix.name, "pre");
	fprintf(to, "the plan");
	return call("print", f);
}

enum fail_code
request_open(struct request **out, const struct request_options *o, struct failure *f)
{
	assert_string_equal(o->mix, "pre");
	assert_ptr_equal(o->properties, &config.kafka);
	assert_non_null(o->stop);
	if (call("open", f) != FAIL_NONE)
		return f->code;
	*out = (struct request *)&script;
	opened++;
	return FAIL_NONE;
}

void
request_close(struct request *r)
{
	assert_ptr_equal(r, (struct request *)&script);
	opened--;
}

static const struct ledger last_record;

const struct ledger *
request_ledger(const struct request *r)
{
	assert_ptr_equal(r, (const struct request *)&script);
	return &last_record;
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
	assert_ptr_equal(last, &last_record);
	assert_ptr_equal(c, &config);
	assert_int_equal(change->words_n, 1);
	assert_string_equal(change->word[0], "web=2");
	assert_true(change->temperature == (change->id == NULL ? 0 : 3));
	assert_true(change->lr_scale == (change->id == NULL ? 0 : 0.5));
	assert_int_equal(change->global_batch, change->id == NULL ? 0 : 32);
	assert_int_equal(change->at_step, change->id == NULL ? -1 : 77);
	out->id = strdup(change->id == NULL ? "new" : change->id);
	out->who = strdup("this process");
	return call("weights", f);
}

enum fail_code
request_print(struct request *r, const struct control *c, size_t n,
    const struct request_print_how *how, struct failure *f)
{
	assert_ptr_equal(r, (struct request *)&script);
	assert_ptr_equal(how->config, &config);
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

static struct serve_work *w;

static int
open_work(void **unused)
{
	(void)unused;
	done_n = begun_n = 0;
	batch = 16;
	phase_batch = 0;
	memset(&script, 0, sizeof(script));
	return serve_work_open(&w, &config, &reload, "named", &f) == FAIL_NONE ? 0 : -1;
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

#define CHANGE "{\"weights\":{\"web\":2},\"who\":\"ann\"}"
#define CHANGE_ID                                                                                  \
	"{\"weights\":{\"web\":2},\"who\":\"ann\",\"id\":\"q1\",\"dry_run\":true,\"temperature\":" \
	"3,"                                                                                       \
	"\"lr_scale\":0.5,\"global_batch\":32,\"at_step\":77}"

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
	    {SERVE_STEP, "", "output", FAIL_MEMORY, 0, false, 503, "{\"error\":\"output fails\"}",
		"step lines output "},
	    {SERVE_PLAN, "", "forecast", FAIL_MEMORY, 0, false, 503,
		"{\"error\":\"forecast fails\"}", "config lengths plan forecast "},
	    {SERVE_PLAN, "", "print", FAIL_IO, 0, false, 503, "{\"error\":\"print fails\"}",
		"config lengths plan forecast print "},
	    {SERVE_WEIGHTS, "{}", NULL, FAIL_NONE, 0, false, 400,
		"{\"error\":\"who: is needed: the mix keeps who asked for a change\"}", ""},
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
		assert_int_equal(j.sent, rows[i].sent == REQUEST_SENT);
		assert_int_equal(opened, 0);
		if (j.status == 200 && rows[i].route != SERVE_WEIGHTS)
			assert_int_equal(script.steps, rows[i].route == SERVE_STEP ? 7 : 9);
		free(j.text);
	}
}

/* The reloaded file may have lost its mix; a step may have been deleted, and is derived. */
static void
test_what_has_changed_since_the_server_began_is_seen(void **unused)
{
	struct serve_job plan = {.route = SERVE_PLAN, .done = note_done},
			 step = {.route = SERVE_STEP, .step = 8, .done = note_done};

	(void)unused;
	no_mix = true;
	serve_work_put(w, &plan);
	wait_done(1);
	no_mix = false;
	assert_int_equal(plan.status, 503);
	assert_non_null(strstr(plan.text, "mix: is missing"));
	assert_string_equal(script.trace, "config ");
	free(plan.text);
	serve_work_put(w, &step);
	wait_done(2);
	assert_int_equal(step.status, 200);
	free(step.text);
	assert_int_equal(opened, 0);
}

static void
test_a_change_that_was_sent_is_logged_with_its_id(void **unused)
{
	(void)unused;
	for (int sent = 0; sent < 2; sent++) {
		struct serve_job j = {.route = SERVE_WEIGHTS,
		    .body = (char[]){CHANGE},
		    .body_n = strlen(CHANGE),
		    .done = note_done};
		struct capture log;
		char text[512];

		memset(&script, 0, sizeof(script));
		script.sent = sent == 1 ? REQUEST_SENT : REQUEST_UNSENT;
		capture_begin(&log);
		serve_work_put(w, &j);
		wait_done(sent + 1);
		capture_end_lines(&log, text, sizeof(text));
		free(j.text);
		if (sent == 0)
			assert_string_equal(text, "");
		else
			assert_string_equal(strchr(text, ' '), " info serve: request=new\n");
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
		test_what_has_changed_since_the_server_began_is_seen, open_work, close_work),
	    cmocka_unit_test_setup_teardown(
		test_a_change_that_was_sent_is_logged_with_its_id, open_work, close_work),
	    cmocka_unit_test_setup_teardown(
		test_eight_jobs_wait_and_the_end_answers_them, open_work, close_work),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
