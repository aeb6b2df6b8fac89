/* riffle inspect: which words go together, and what is then shown. What shows it is the test's. */
#include "cli/inspect/inspect_document.h"
#include "cli/inspect/inspect_lines.h"
#include "cli/inspect/inspect_output.h"
#include "cli/inspect/inspect_time.h"
#include "producer/produce/produce.h"
#include "tests/unit/config_file.h"
#include "tests/unit/run_command.h"

/* ---- what shows, instead: one word per call, and what was open at the end is closed ---- */

static char calls[1024];
static const char *failing = ""; /* the word of the call that fails */
static int opened;
static int lines_of, output_of, tokenizer_of; /* for their addresses */

static enum fail_code
note(struct failure *f, const char *format, ...)
{
	size_t n = strlen(calls), word;
	va_list list;

	va_start(list, format);
	vsnprintf(calls + n, sizeof(calls) - n, format, list);
	va_end(list);
	word = strcspn(calls + n, " ");
	strncat(calls, "; ", sizeof(calls) - strlen(calls) - 1);
	return word == strlen(failing) && memcmp(calls + n, failing, word) == 0
		   ? fail(f, FAIL_DATA, "%s failed", failing)
		   : FAIL_NONE;
}

enum fail_code
inspect_time(const char *mix, const struct config *c, const char *time, const char *domain,
    bool json, struct failure *f)
{
	assert_non_null(c);
	return note(
	    f, "time %s %s %s%s", mix, time, domain == NULL ? "-" : domain, json ? " json" : "");
}

enum fail_code
inspect_document(const struct inspect_document_options *o, struct failure *f)
{
	assert_non_null(o->config);
	return note(f, "document %s %s %llu..%llu%s%s", o->mix, o->what,
	    (unsigned long long)o->first, (unsigned long long)o->end, o->plan ? " plan" : "",
	    o->json ? " json" : "");
}

enum fail_code
published_step_open(struct published_step *out, const char *mix, const struct config *c,
    uint64_t step, struct failure *f)
{
	assert_non_null(c);
	*out = (struct published_step){.step = step, .lanes = 4, .derived = step == 9};
	opened++;
	return note(f, "step %s %llu", mix, (unsigned long long)step);
}

void
published_step_close(struct published_step *s)
{
	assert_int_equal(s->lanes, 4);
	opened--;
}

enum fail_code
inspect_lines_open(struct inspect_lines **out, const char *mix, const struct config *c,
    const struct published_step *s, int64_t lane, struct failure *f)
{
	assert_non_null(c);
	assert_int_equal(s->lanes, 4);
	if (note(f, "lines %s %lld", mix, (long long)lane) != FAIL_NONE)
		return f->code;
	opened++;
	*out = (struct inspect_lines *)&lines_of;
	return FAIL_NONE;
}

void
inspect_lines_close(struct inspect_lines *l)
{
	opened -= l != NULL;
}

enum fail_code
inspect_output_open(
    struct inspect_output **out, const struct inspect_output_options *o, struct failure *f)
{
	assert_ptr_equal(o->to, stdout);
	assert_ptr_equal(o->lines, (struct inspect_lines *)&lines_of);
	if (note(f, "output%s%s%s%s", o->json ? " json" : "", o->ids ? " ids" : "",
		o->text != NULL ? " text" : "", o->derived ? " derived" : "") != FAIL_NONE)
		return f->code;
	opened++;
	*out = (struct inspect_output *)&output_of;
	return FAIL_NONE;
}

enum fail_code
inspect_output_step(
    struct inspect_output *o, const struct published_step *s, int64_t lane, struct failure *f)
{
	assert_ptr_equal(o, (struct inspect_output *)&output_of);
	assert_int_equal(s->lanes, 4);
	return note(f, "print %lld", (long long)lane);
}

void
inspect_output_close(struct inspect_output *o)
{
	opened -= o != NULL;
}

enum fail_code
produce_open_tokenizer(struct tokenizer **out, const struct config *c, struct failure *f)
{
	assert_non_null(c);
	if (note(f, "tokenizer") != FAIL_NONE)
		return f->code;
	opened++;
	*out = (struct tokenizer *)&tokenizer_of;
	return FAIL_NONE;
}

void
tokenizer_close(struct tokenizer *t)
{
	opened -= t != NULL;
}

/* ---- the tests ---- */

/* "@" is the configuration. */
static enum fail_code
run(const char *words)
{
	const char *at = strchr(words, '@');
	char line[1024];
	struct printed p;
	struct config *c;
	enum fail_code code;

	assert_int_equal(open_with(&c, 0, "", &f), FAIL_NONE);
	config_close(c);
	snprintf(line, sizeof(line), "%.*s%s%s",
	    at == NULL ? (int)strlen(words) : (int)(at - words), words,
	    at == NULL ? "" : folder_path("run.yml"), at == NULL ? "" : at + 1);
	calls[0] = '\0';
	code = run_command(&p, &cmd_inspect, line);
	free(p.text);
	assert_int_equal(opened, 0);
	return code;
}

#define BARE "-X bootstrap.servers=h:1 --mix m "

static void
test_the_words_lead_to_what_is_shown(void **unused)
{
	static const struct {
		const char *words, *calls;
	} rows[] = {
	    {"-c @ 7", "step pretrain 7; lines pretrain -1; output; print -1; "},
	    {"-c @ 9 0", "step pretrain 9; lines pretrain 0; output derived; print 0; "},
	    {BARE "0 3", "step m 0; lines m 3; output; print 3; "},
	    {BARE "--tokens --json 7", "step m 7; lines m -1; output json ids; print -1; "},
	    {"-c @ --mix m --text 7", "tokenizer; step m 7; lines m -1; output text; print -1; "},
	    {"-c @ 4611686018427387903",
		"step pretrain 4611686018427387903; lines pretrain -1; output; print -1; "},
	    {"-c @ --document a:1", "document pretrain a:1 0..18446744073709551615; "},
	    {BARE "--document a:1 --plan --json --steps 3..4", "document m a:1 3..4 plan json; "},
	    {"-c @ --from-time 60", "time pretrain 60 -; "},
	    {"-c @ --from-time 60 --domain web --json", "time pretrain 60 web json; "},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, words) {
		assert_int_equal(run(rows[i].words), FAIL_NONE);
		assert_string_equal(calls, rows[i].calls);
	}
}

static void
test_words_that_do_not_go_together_are_refused(void **unused)
{
#define TIME_ALONE                                                                                 \
	"--from-time: goes without STEP, --document, --plan, --steps, --text and --tokens"
#define DOCUMENT_ALONE "--document: goes without STEP, --text and --tokens"
	static const struct {
		const char *words, *why, *calls;
	} rows[] = {
	    {"-c @ --from-time 1 --document a", TIME_ALONE, ""},
	    {"-c @ --from-time 1 7", TIME_ALONE, ""},
	    {"-c @ --from-time 1 --text", TIME_ALONE, ""},
	    {"-c @ --from-time 1 --tokens", TIME_ALONE, ""},
	    {"-c @ --from-time 1 --plan", TIME_ALONE, ""},
	    {"-c @ --from-time 1 --steps 0..1", TIME_ALONE, ""},
	    {"-c @ --domain web 7", "--domain: only with --from-time", ""},
	    {"-c @ --document a 7", DOCUMENT_ALONE, ""},
	    {"-c @ --document a --text", DOCUMENT_ALONE, ""},
	    {"-c @ --document a --tokens", DOCUMENT_ALONE, ""},
	    {"-c @ --document a --steps 3..3", "--steps: holds no step", ""},
	    {"-c @ --steps 3..4 7", "--steps: only with --document", ""},
	    {"-c @ --steps 3..3 7", "--steps: only with --document", ""},
	    {"-c @ --plan 7", "--plan: only with --document", ""},
	    {"-c @", "which STEP? or --document FILE[:LINE]", ""},
	    {"-c @ -- -1", "STEP: not a step: -1", ""},
	    {"-c @ 4611686018427387904", "STEP: not a step: 4611686018427387904", ""},
	    {"-c @ 7 4096", "LANE: not a lane: 4096 (0 to 4095)", ""},
	    {"-c @ 7 x", "LANE: not a lane: x (0 to 4095)", ""},
	    {"-c @ 7 4", "LANE: out of range: 4 (mix pretrain has 4)", "step pretrain 7; "},
	    {BARE "--text 7", "--text: the configuration names the tokenizer: add -c FILE", ""},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, words) {
		assert_int_equal(run(rows[i].words), FAIL_USAGE);
		assert_string_equal(f.text, rows[i].why);
		assert_string_equal(calls, rows[i].calls);
	}
}

static void
test_the_first_failure_ends_it(void **unused)
{
	static const struct {
		const char *fails, *words, *calls;
	} rows[] = {
	    {"tokenizer", "-c @ --text 7", "tokenizer; "},
	    {"step", "-c @ --text 7", "tokenizer; step pretrain 7; "},
	    {"lines", "-c @ 7", "step pretrain 7; lines pretrain -1; "},
	    {"output", "-c @ --json 7", "step pretrain 7; lines pretrain -1; output json; "},
	    {"print", "-c @ --text 7",
		"tokenizer; step pretrain 7; lines pretrain -1; output text; print -1; "},
	    {"document", "-c @ --document a", "document pretrain a 0..18446744073709551615; "},
	    {"time", "-c @ --from-time 1", "time pretrain 1 -; "},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, fails) {
		char why[64];

		failing = rows[i].fails;
		snprintf(why, sizeof(why), "%s failed", failing);
		assert_int_equal(run(rows[i].words), FAIL_DATA);
		assert_string_equal(f.text, why);
		assert_string_equal(calls, rows[i].calls);
	}
	failing = "";
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(
		test_the_words_lead_to_what_is_shown, folder_open, folder_close),
	    cmocka_unit_test_setup_teardown(
		test_words_that_do_not_go_together_are_refused, folder_open, folder_close),
	    cmocka_unit_test_setup_teardown(
		test_the_first_failure_ends_it, folder_open, folder_close),
	};

	unsetenv("RIFFLE_CONFIG");
	unsetenv("RIFFLE_BOOTSTRAP");
	log_set_level(LOG_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
