/*
 * produce_job.h: which calls the words of riffle produce and riffle import become. What checks,
 * publishes and measures, the topics and the listener are the test's.
 */
#include "cli/produce/produce_job.h"

#include "cli/config/left_out.h"
#include "cli/metrics/metrics_listener.h"
#include "cli/signals.h"
#include "cli/topics/topics_job.h"
#include "producer/produce/measures.h"
#include "producer/produce/produce.h"
#include "producer/produce/source_check.h"
#include "tests/unit/config_file.h"
#include "tests/unit/run_command.h"

static char trace[1024];
static const char *fails; /* the call that fails */
static int handles;       /* that are open */

static void
note(const char *format, ...)
{
	size_t n = strlen(trace);
	va_list args;

	va_start(args, format);
	n += (size_t)vsnprintf(trace + n, sizeof(trace) - n, format, args);
	va_end(args);
	assert_true(n < sizeof(trace));
}

static enum fail_code
call(const char *name, struct failure *f)
{
	note("%s; ", name);
	return fails != NULL && strcmp(fails, name) == 0 ? fail(f, FAIL_BROKER, "%s failed", name)
							 : FAIL_NONE;
}

void
left_out_warn(const struct config *c, char *const *domain, size_t domains_n)
{
	note("%s", c->corpus);
	for (size_t i = 0; i < domains_n; i++)
		note(" %s", domain[i]);
	note("; ");
}

enum fail_code
source_check(const struct config *c, char *const *domain, size_t domains_n, struct failure *f)
{
	assert_non_null(c);
	assert_true(domains_n == 0 || domain[0] != NULL);
	return call("sources", f);
}

enum fail_code
source_check_shared(
    const struct config *c, char *const *domain, size_t domains_n, struct failure *f)
{
	assert_non_null(c);
	assert_true(domains_n == 0 || domain[0] != NULL);
	return call("shared", f);
}

enum fail_code
produce_check(const struct produce_options *o, struct failure *f)
{
	assert_false(o->restarted);
	return call("check", f);
}

enum fail_code
produce_check_idle(const struct produce_options *o, struct failure *f)
{
	assert_false(o->restarted);
	return call("idle", f);
}

enum fail_code
produce_run(const struct produce_options *o, struct failure *f)
{
	assert_ptr_equal(o->stop, signals_stop());
	note("%s", o->tokens ? "import" : "produce");
	for (size_t i = 0; i < o->domains_n; i++)
		note(" %s", o->domain[i]);
	if (o->only != NULL)
		note(" %s %u/%u", o->only, o->partition, o->partitions);
	note("%s%s%s%s%s%s workers %u ", o->append ? " append" : "", o->follow ? " follow" : "",
	    o->seal ? " seal" : "", o->skip_missing ? " skip-missing" : "",
	    o->restarted ? " restarted" : "", o->measures != NULL ? " measured" : "", o->workers);
	return call("run", f);
}

enum fail_code
topics_job_open(struct topics_job **out, const struct config *c, bool deletes, struct failure *f)
{
	assert_non_null(c);
	assert_true(deletes);
	if (call("topics", f) != FAIL_NONE)
		return f->code;
	*out = (struct topics_job *)&handles;
	handles++;
	return FAIL_NONE;
}

void
topics_job_close(struct topics_job *j)
{
	assert_ptr_equal((void *)j, &handles);
	handles--;
}

enum fail_code
topics_job_choose(struct topics_job *j, const struct topics_choice *choice, struct failure *f)
{
	(void)j;
	assert_true(!choice->mix && !choice->corpus);
	for (size_t i = 0; i < choice->domains_n; i++)
		note("%s ", choice->domain[i]);
	return call("choose", f);
}

enum fail_code
topics_job_check_mixes(struct topics_job *j, bool drawn, bool force, struct failure *f)
{
	(void)j;
	assert_true(drawn && !force);
	return call("mixes", f);
}

enum fail_code
topics_job_confirm(const struct topics_job *j, bool yes, struct failure *f)
{
	(void)j;
	note("%s", yes ? "yes " : "");
	return call("confirm", f);
}

enum fail_code
topics_job_delete(struct topics_job *j, struct failure *f)
{
	(void)j;
	return call("delete", f);
}

enum fail_code
topics_job_create(struct topics_job *j, struct failure *f)
{
	(void)j;
	return call("create", f);
}

enum fail_code
measures_open(struct measures **out, const struct config *c, struct failure *f)
{
	assert_non_null(c);
	*out = NULL;
	if (call("measures", f) != FAIL_NONE)
		return f->code;
	*out = (struct measures *)&handles;
	handles++;
	return FAIL_NONE;
}

void
measures_close(struct measures *m)
{
	handles -= m != NULL;
}

char *
measures_text(struct measures *m)
{
	assert_ptr_equal((void *)m, &handles);
	return strdup("the text");
}

enum fail_code
metrics_listener_open(struct metrics_listener **out, const struct metrics_options *o,
    char *(*text)(void *opaque), void *opaque, struct failure *f)
{
	char *given = text(opaque);

	assert_string_equal(given, "the text");
	free(given);
	note("%s ", o->address);
	*out = NULL;
	if (call("listen", f) != FAIL_NONE)
		return f->code;
	*out = (struct metrics_listener *)&handles;
	handles++;
	return FAIL_NONE;
}

void
metrics_listener_close(struct metrics_listener *l)
{
	handles -= l != NULL;
}

#define ALL     "demo; shared; "
#define WEB     "demo web; shared; "
#define CHECKED WEB "check; sources; idle; "
#define EMPTIED CHECKED "topics; web choose; mixes; confirm; delete; create; "

static void
test_words_become_calls(void **unused)
{
	static const struct {
		const struct command *command;
		const char *words, *fails;
		enum fail_code code;
		const char *calls, *failure;
	} rows[] = {
	    {&cmd_produce, "", NULL, FAIL_NONE, ALL "produce workers 0 run; ", ""},
	    {&cmd_import, "", NULL, FAIL_NONE, ALL "import workers 0 run; ", ""},
	    {&cmd_produce, "web code --workers 3 --append", NULL, FAIL_NONE,
		"demo web code; shared; produce web code append workers 3 run; ", ""},
	    {&cmd_produce, "--follow --skip-missing", NULL, FAIL_NONE,
		ALL "produce follow skip-missing workers 0 run; ", ""},
	    {&cmd_produce, "--seal --workers 1", NULL, FAIL_NONE,
		ALL "produce seal workers 1 run; ", ""},
	    {&cmd_produce, "web --partition 2/3", NULL, FAIL_NONE,
		WEB "produce web partition 2/3 workers 0 run; ", ""},
	    {&cmd_produce, "web --lane 0/4", NULL, FAIL_NONE,
		WEB "produce web lane 0/4 workers 0 run; ", ""},
	    {&cmd_produce, "--metrics 9640", NULL, FAIL_NONE,
		ALL "measures; 9640 listen; produce measured workers 0 run; ", ""},
	    {&cmd_produce, "web --restart", NULL, FAIL_NONE,
		EMPTIED "produce web restarted workers 0 run; ", ""},
	    {&cmd_import, "web --restart -y", NULL, FAIL_NONE,
		CHECKED "topics; web choose; mixes; yes confirm; delete; create; import web "
			"restarted workers 0 run; ",
		""},
	    {&cmd_produce, "--restart", NULL, FAIL_USAGE, ALL "check; sources; ",
		"--restart deletes what is published: name the domains, as in `riffle produce "
		"DOMAIN --restart`"},
	    {&cmd_import, "--restart", NULL, FAIL_USAGE, ALL "check; sources; ",
		"--restart deletes what is published: name the domains, as in `riffle import "
		"DOMAIN --restart`"},
	    {&cmd_produce, "", "shared", FAIL_BROKER, ALL, "shared failed"},
	    {&cmd_produce, "", "run", FAIL_BROKER, ALL "produce workers 0 run; ", "run failed"},
	    {&cmd_produce, "web --restart", "shared", FAIL_BROKER, WEB, "shared failed"},
	    {&cmd_produce, "web --restart", "check", FAIL_BROKER, WEB "check; ", "check failed"},
	    {&cmd_produce, "web --restart", "sources", FAIL_BROKER, WEB "check; sources; ",
		"sources failed"},
	    {&cmd_produce, "web --restart", "idle", FAIL_BROKER, CHECKED, "idle failed"},
	    {&cmd_produce, "web --restart", "topics", FAIL_BROKER, CHECKED "topics; ",
		"topics failed"},
	    {&cmd_produce, "web --restart", "choose", FAIL_BROKER, CHECKED "topics; web choose; ",
		"choose failed"},
	    {&cmd_produce, "web --restart", "mixes", FAIL_BROKER,
		CHECKED "topics; web choose; mixes; ", "mixes failed"},
	    {&cmd_produce, "web --restart", "confirm", FAIL_BROKER,
		CHECKED "topics; web choose; mixes; confirm; ", "confirm failed"},
	    {&cmd_produce, "web --restart", "delete", FAIL_BROKER,
		CHECKED "topics; web choose; mixes; confirm; delete; ", "delete failed"},
	    {&cmd_produce, "web --restart", "create", FAIL_BROKER, EMPTIED, "create failed"},
	    {&cmd_produce, "--metrics 1", "measures", FAIL_BROKER, ALL "measures; ",
		"measures failed"},
	    {&cmd_produce, "--metrics 1", "listen", FAIL_BROKER, ALL "measures; 1 listen; ",
		"listen failed"},
	    {&cmd_produce, "--metrics 1", "run", FAIL_BROKER,
		ALL "measures; 1 listen; produce measured workers 0 run; ", "run failed"},
	    {&cmd_produce, "--workers 0", NULL, FAIL_USAGE, "",
		"--workers: out of range: 0 (1 to 256)"},
	    {&cmd_produce, "--workers 257", NULL, FAIL_USAGE, "",
		"--workers: out of range: 257 (1 to 256)"},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, words) {
		char line[1024];

		fails = rows[i].fails;
		trace[0] = '\0';
		snprintf(line, sizeof(line), "-c %s %s", folder_path("run.yml"), rows[i].words);
		run_command_is(rows[i].command, line, rows[i].code, rows[i].failure);
		printed_compare(trace, rows[i].calls);
		assert_int_equal(handles, 0);
	}
}

static int
begin(void **state)
{
	struct config *c;

	unsetenv("JOB_COMPLETION_INDEX");
	unsetenv("SLURM_ARRAY_TASK_ID");
	if (folder_open(state) != 0 || open_with(&c, 0, NULL, &f) != FAIL_NONE)
		return -1;
	config_close(c);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_words_become_calls),
	};

	return cmocka_run_group_tests(tests, begin, folder_close);
}
