/*
 * riffle reweight: which options go together, and what is opened, learned and printed in which
 * order. The ledger, the job, its loop, what prints it, the clock and the stop are the test's.
 */
#include <inttypes.h>

#include "cli/reweight/reweight_loop.h"
#include "cli/reweight/reweight_print.h"
#include "cli/reweight/reweight_state.h"
#include "cli/signals.h"
#include "common/base/clock.h"
#include "tests/unit/capture.h"
#include "tests/unit/config_file.h"
#include "tests/unit/run_command.h"

static struct stop stop;
static int64_t now_ms;
static char trace[1024];
static const char *fails; /* the call that fails */
static int handles;
static int empty_looks;        /* the ledger has no record for so many looks */
static int pauses, stop_after; /* a signal comes in that pause; 0: none comes */

const struct stop *
signals_stop(void)
{
	return &stop;
}

int64_t
clock_ms(void)
{
	return now_ms;
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
	now_ms += ms;
	if (++pauses == stop_after)
		stop_ask(&stop);
}

static void
note(const char *format, ...)
{
	size_t n = strlen(trace);
	va_list args;

	va_start(args, format);
	vsnprintf(trace + n, sizeof(trace) - n, format, args);
	va_end(args);
}

static enum fail_code
may_fail(const char *call, struct failure *f)
{
	return fails != NULL && strcmp(fails, call) == 0 ? fail(f, FAIL_BROKER, "%s failed", call)
							 : FAIL_NONE;
}

enum fail_code
ledger_log_open(struct ledger_log **out, const char *mix, const struct properties *properties,
    int timeout_ms, struct failure *f)
{
	assert_non_null(properties_value(properties, "bootstrap.servers"));
	note("ledger of %s, %d ms; ", mix, timeout_ms);
	if (may_fail("ledger", f) != FAIL_NONE)
		return f->code;
	*out = (struct ledger_log *)&handles;
	handles++;
	return FAIL_NONE;
}

void
ledger_log_close(struct ledger_log *l)
{
	handles -= l != NULL;
}

enum fail_code
ledger_log_last(struct ledger_log *l, struct ledger *out, bool *any, struct failure *f)
{
	assert_ptr_equal((void *)l, &handles);
	note("look at %" PRId64 "; ", now_ms);
	*any = empty_looks-- <= 0;
	if (*any)
		out->step_next = 7;
	return may_fail("look", f);
}

enum fail_code
reweight_job_open(struct reweight_job *job, const struct reweight_job_arguments *a,
    const struct config *c, const struct ledger *last, struct failure *f)
{
	assert_int_equal(last->step_next, 7);
	assert_true(job->a == NULL);
	job->a = a;
	job->config = c;
	handles++;
	note("open; ");
	return may_fail("open", f);
}

void
reweight_job_close(struct reweight_job *job)
{
	handles -= job->a != NULL;
}

enum fail_code
reweight_state_load(struct reweight_job *job, bool *found, struct failure *f)
{
	assert_non_null(job->a);
	*found = false;
	note("load; ");
	return may_fail("load", f);
}

enum fail_code
reweight_loop(
    struct reweight_job *job, struct ledger_log *ledger, const struct stop *s, struct failure *f)
{
	const struct reweight_job_arguments *a = job->a;

	assert_ptr_equal((void *)ledger, &handles);
	assert_ptr_equal(s, &stop);
	note("%s %s%s to %s: run %s, eta %g, smoothing %g, memory %g, every %" PRIu64
	     ", interval %" PRIu64 ", until %" PRIu64 ", floor %s, ceiling %s, reference %s; ",
	    reweight_method_name[a->method], a->mix, a->live ? " live" : "",
	    strrchr(a->out, '/') + 1, a->run, a->eta, a->smoothing, a->memory, a->every,
	    a->interval_s, a->until_step, a->floor == NULL ? "-" : a->floor,
	    a->ceiling == NULL ? "-" : a->ceiling, a->reference == NULL ? "-" : a->reference);
	return may_fail("loop", f);
}

void
reweight_print_table(const struct reweight_job *job, FILE *to)
{
	assert_non_null(job->a);
	fprintf(to, "table\n");
}

enum fail_code
reweight_print_json(const struct reweight_job *job, FILE *to, struct failure *f)
{
	assert_non_null(job->a);
	fprintf(to, "json\n");
	return may_fail("json", f);
}

static enum fail_code
run_reweight(struct printed *p, const char *words, const char *failing, char *said, size_t room)
{
	char line[2048], whole[1024];
	struct capture log;
	enum fail_code code;
	size_t n = 0;

	stop = (struct stop){0};
	now_ms = 5000;
	pauses = 0;
	fails = failing;
	trace[0] = '\0';
	said[0] = '\0';
	snprintf(
	    line, sizeof(line), "-c %s --out %s/o.json %s", folder_path("run.yml"), folder, words);
	capture_begin(&log);
	code = run_command(p, &cmd_reweight, line);
	capture_end_lines(&log, whole, sizeof(whole));
	for (char *rest = NULL, *at = strtok_r(whole, "\n", &rest); at != NULL;
	     at = strtok_r(NULL, "\n", &rest))
		n += (size_t)snprintf(said + n, room - n, "%s\n", strchr(at, ' ') + 1);
	assert_int_equal(handles, 0);
	return code;
}

#define OPENED  "ledger of pretrain, 15000 ms; look at 5000; open; load; "
#define USUAL   "eta 1, smoothing 0.001, memory 0.9, every 100, interval 10, until "
#define TO_END  USUAL "9223372036854775807, floor -, ceiling -, reference -; "
#define LEARNED "odm pretrain to o.json: run trainers, " TO_END

static void
test_a_job_is_opened_continued_learned_and_printed(void **unused)
{
	static const struct {
		const char *words, *fails;
		enum fail_code code;
		const char *calls, *printed, *failure;
	} rows[] = {
	    {"--method odm", NULL, FAIL_NONE, OPENED LEARNED, "table\n", ""},
	    {"--method odm --json --offline", NULL, FAIL_NONE, OPENED LEARNED, "json\n", ""},
	    {"--method odm --anew", NULL, FAIL_NONE,
		"ledger of pretrain, 15000 ms; look at 5000; open; " LEARNED, "table\n", ""},
	    {"--method doremi --mix other --live --every 1 --interval 0 --until-step 1 --eta 0.5 "
	     "--smoothing 0 --floor 0.1 --ceiling 0.9 --reference r.json --run main",
		NULL, FAIL_NONE,
		"ledger of other, 15000 ms; look at 5000; open; load; doremi other live to "
		"o.json: run main, eta 0.5, smoothing 0, memory 0.9, every 1, interval 0, until 1, "
		"floor 0.1, ceiling 0.9, reference r.json; ",
		"table\n", ""},
	    {"--method odm --memory 0 --live", NULL, FAIL_NONE,
		OPENED "odm pretrain live to o.json: run trainers, eta 1, smoothing 0.001, memory "
		       "0, every 100, interval 10, until 9223372036854775807, floor -, ceiling -, "
		       "reference -; ",
		"table\n", ""},
	    {"--method odm", "ledger", FAIL_BROKER, "ledger of pretrain, 15000 ms; ", "",
		"ledger failed"},
	    {"--method odm", "look", FAIL_BROKER, "ledger of pretrain, 15000 ms; look at 5000; ",
		"", "look failed"},
	    {"--method odm", "open", FAIL_BROKER,
		"ledger of pretrain, 15000 ms; look at 5000; open; ", "", "open failed"},
	    {"--method odm", "load", FAIL_BROKER, OPENED, "", "load failed"},
	    {"--method odm", "loop", FAIL_BROKER, OPENED LEARNED, "", "loop failed"},
	    {"--method odm --json", "json", FAIL_BROKER, OPENED LEARNED, "json\n", "json failed"},
	};

	(void)unused;
	empty_looks = stop_after = 0;
	EACH_NAMED_ROW(i, rows, words) {
		struct printed p;
		char said[1024];

		assert_int_equal(run_reweight(&p, rows[i].words, rows[i].fails, said, sizeof(said)),
		    rows[i].code);
		printed_compare(trace, rows[i].calls);
		printed_compare(p.text, rows[i].printed);
		if (rows[i].code != FAIL_NONE)
			assert_string_equal(f.text, rows[i].failure);
		free(p.text);
	}
}

/* Offline that is a failure. Live it looks again every second, until a signal comes. */
static void
test_a_live_learner_waits_for_the_mix_to_start(void **unused)
{
	static const struct {
		const char *words;
		int empty_looks, stop_after;
		enum fail_code code;
		const char *calls, *failure, *said;
		int pauses;
	} rows[] = {
	    {"--method odm", 1, 0, FAIL_DATA, "ledger of pretrain, 15000 ms; look at 5000; ",
		"mix pretrain has not started: its ledger is empty", "", 0},
	    {"--method odm --live --anew", 2, 0, FAIL_NONE,
		"ledger of pretrain, 15000 ms; look at 5000; look at 6000; look at 7000; open; odm "
		"pretrain live to o.json: run trainers, " TO_END,
		"", "info reweight: mix=pretrain has not started: `riffle mix` starts it\n", 40},
	    {"--method odm --live", 9, 23, FAIL_STOPPED,
		"ledger of pretrain, 15000 ms; look at 5000; look at 6000; ", "stopped",
		"info reweight: mix=pretrain has not started: `riffle mix` starts it\n", 23},
	    {"--method odm --live", 9, 20, FAIL_STOPPED,
		"ledger of pretrain, 15000 ms; look at 5000; ", "stopped",
		"info reweight: mix=pretrain has not started: `riffle mix` starts it\n", 20},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, calls) {
		struct printed p;
		char said[1024];

		empty_looks = rows[i].empty_looks;
		stop_after = rows[i].stop_after;
		assert_int_equal(
		    run_reweight(&p, rows[i].words, NULL, said, sizeof(said)), rows[i].code);
		printed_compare(trace, rows[i].calls);
		printed_compare(said, rows[i].said);
		assert_int_equal(pauses, rows[i].pauses);
		if (rows[i].code != FAIL_NONE)
			assert_string_equal(f.text, rows[i].failure);
		free(p.text);
	}
	empty_looks = stop_after = 0;
}

static void
test_options_that_do_not_go_together_are_refused(void **unused)
{
	static const struct {
		const char *words, *failure;
	} rows[] = {
	    {"", "--method is needed: doremi or odm"},
	    {"--method odm --offline --live", "give --offline or --live, not both"},
	    {"--method odm --eta 0", "--eta: must be more than 0"},
	    {"--method doremi --smoothing 1",
		"--smoothing: must be at least 0 and below 1, which would give all domains the "
		"same weight whatever their losses"},
	    {"--method doremi --smoothing -0.1",
		"--smoothing: must be at least 0 and below 1, which would give all domains the "
		"same weight whatever their losses"},
	    {"--method odm --memory 1", "--memory: must be at least 0 and below 1"},
	    {"--method odm --memory -0.1", "--memory: must be at least 0 and below 1"},
	    {"--method odm --run .x", "--run: \".x\" is not a name of a run"},
	    {"--method odm --smoothing 0.5", "--reference and --smoothing are of --method doremi"},
	    {"--method odm --reference r", "--reference and --smoothing are of --method doremi"},
	    {"--method doremi --memory 0.5", "--memory is of --method odm"},
	    {"--method odm --every 5", "--every and --interval are of --live"},
	    {"--method odm --interval 5", "--every and --interval are of --live"},
	    {"--method odm --live --every 0",
		"--every: out of range: 0 (1 to 9223372036854775807)"},
	    {"--method odm --live --interval 86401",
		"--interval: out of range: 86401 (0 to 86400)"},
	    {"--method odm --until-step 0",
		"--until-step: out of range: 0 (1 to 9223372036854775807)"},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, words) {
		struct printed p;
		char said[1024];

		assert_int_equal(
		    run_reweight(&p, rows[i].words, NULL, said, sizeof(said)), FAIL_USAGE);
		assert_string_equal(f.text, rows[i].failure);
		assert_string_equal(trace, "");
		free(p.text);
	}
}

static void
test_the_file_of_the_result_needs_a_name_and_a_folder(void **unused)
{
	char line[1024];

	(void)unused;
	snprintf(line, sizeof(line), "-c %s --method odm", folder_path("run.yml"));
	run_command_is(
	    &cmd_reweight, line, FAIL_USAGE, "--out FILE.json is needed: where the weights go");
	run_command_is(&cmd_reweight, "--mix pre --method odm --out none/o.json", FAIL_USAGE,
	    "--out none/o.json: folder none does not exist: `mkdir -p none` makes it");
}

static int
begin(void **state)
{
	struct config *c;

	if (folder_open(state) != 0 || open_with(&c, 0, NULL, &f) != FAIL_NONE)
		return -1;
	config_close(c);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_job_is_opened_continued_learned_and_printed),
	    cmocka_unit_test(test_a_live_learner_waits_for_the_mix_to_start),
	    cmocka_unit_test(test_options_that_do_not_go_together_are_refused),
	    cmocka_unit_test(test_the_file_of_the_result_needs_a_name_and_a_folder),
	};

	return cmocka_run_group_tests(tests, begin, folder_close);
}
