/*
 * riffle status: what is read and printed, once or again and again. The status, what prints it and
 * the clock are the test's.
 */
#include <inttypes.h>

#include "cli/signals.h"
#include "cli/status/status_print.h"
#include "common/base/clock.h"
#include "consumer/status/status_query.h"
#include "producer/produce/produce.h"
#include "tests/unit/capture.h"
#include "tests/unit/config_file.h"
#include "tests/unit/run_command.h"

static struct stop stop;
static int64_t now_ms;
static char trace[1024];
static int handles;
/* What each read gives, a letter each: "o": a status; "b", "t", "d": a failure. Then it stops. */
static const char *reads;
static struct status st;
static struct status_problem problems[] = {{"STATUS-ONE", "the first"}, {"STATUS-TWO", "another"}};
static bool print_fails, wakes;

const struct stop *
signals_stop(void)
{
	return &stop;
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

/* A signal that asks nothing ends the first pause of each round early, where `wakes`. */
void
clock_pause_ms(int64_t ms)
{
	int64_t slept = wakes && ms > 500 ? 500 : ms;

	note("pause %" PRId64 "; ", ms);
	now_ms += slept;
	if (*reads == '\0')
		stop_ask(&stop);
}

void
produce_note_tokenizer(struct config *c)
{
	note("tokenizer of %s; ", c->corpus);
}

enum fail_code
status_query_open(struct status_query **out, const struct config *c, struct failure *f)
{
	if (*reads == 'x')
		return fail(f, FAIL_BROKER, "not opened");
	note("open %s; ", c->mix.name);
	*out = (struct status_query *)&st;
	handles++;
	return FAIL_NONE;
}

void
status_query_close(struct status_query *q)
{
	assert_ptr_equal((void *)q, &st);
	handles--;
}

enum fail_code
status_query_read(struct status_query *q, struct status **out, struct failure *f)
{
	assert_ptr_equal((void *)q, &st);
	*out = &st;
	switch (*reads++) {
	case 'o': handles++; return FAIL_NONE;
	case 'b': return fail(f, FAIL_BROKER, "no broker");
	case 't': return fail(f, FAIL_TIMEOUT, "no answer");
	default: return fail(f, FAIL_DATA, "damaged");
	}
}

void
status_free(struct status *s)
{
	assert_ptr_equal(s, &st);
	handles--;
}

void
status_print_table(const struct status *s, FILE *to)
{
	assert_ptr_equal(s, &st);
	fprintf(to, "table\n");
}

enum fail_code
status_print_json(const struct status *s, FILE *to, bool compact, struct failure *f)
{
	assert_ptr_equal(s, &st);
	fprintf(to, "json%s\n", compact ? " in a line" : "");
	return print_fails ? fail(f, FAIL_MEMORY, "out of memory") : FAIL_NONE;
}

#define READ  "tokenizer of demo; open pretrain; "
#define PAUSE "pause 2000; "

static void
test_what_is_read_and_printed(void **unused)
{
	static const struct {
		const char *words, *reads;
		size_t problems, more;
		bool print_fails, wakes;
		enum fail_code code;
		const char *calls, *printed, *failure, *said;
	} rows[] = {
	    {"", "o", 0, 0, false, false, FAIL_NONE, READ, "table\n", "", ""},
	    {"", "o", 2, 0, false, false, FAIL_NONE, READ, "table\n", "", ""},
	    {"--json --mix other", "o", 0, 0, false, false, FAIL_NONE,
		"tokenizer of demo; open other; ", "json\n", "", ""},
	    {"--check", "o", 0, 0, false, false, FAIL_NONE, READ, "table\n", "", ""},
	    {"--check", "o", 1, 0, false, false, FAIL_DATA, READ, "table\n",
		"1 problem: STATUS-ONE the first", ""},
	    {"--check --json", "o", 2, 0, false, false, FAIL_DATA, READ, "json\n",
		"2 problems, the first: STATUS-ONE the first", ""},
	    {"--check", "o", 2, 5, false, false, FAIL_DATA, READ, "table\n",
		"7 problems, the first: STATUS-ONE the first", ""},
	    {"--check", "o", 1, 1, false, false, FAIL_DATA, READ, "table\n",
		"2 problems, the first: STATUS-ONE the first", ""},
	    {"--json --check", "o", 2, 0, true, false, FAIL_MEMORY, READ, "json\n", "out of memory",
		""},
	    {"", "b", 0, 0, false, false, FAIL_BROKER, READ, "", "no broker", ""},
	    {"", "x", 0, 0, false, false, FAIL_BROKER, "tokenizer of demo; ", "", "not opened", ""},
	    {"--check --watch", "o", 0, 0, false, false, FAIL_USAGE, "", "",
		"--check and --watch exclude each other", ""},
	    {"-w", "oo", 1, 0, false, false, FAIL_NONE, READ PAUSE PAUSE, "table\ntable\n", "", ""},
	    {"--watch --json", "oo", 0, 0, false, false, FAIL_NONE, READ PAUSE PAUSE,
		"json in a line\njson in a line\n", "", ""},
	    {"--watch", "oo", 0, 0, false, true, FAIL_NONE,
		READ "pause 2000; pause 1500; pause 1000; pause 500; pause 2000; ",
		"table\ntable\n", "", ""},
	    {"--watch", "bot", 0, 0, false, false, FAIL_NONE, READ PAUSE PAUSE PAUSE, "table\n", "",
		"warning status: STATUS-BROKER no broker; asking again\n"
		"warning status: STATUS-BROKER no answer; asking again\n"},
	    {"--watch", "od", 0, 0, false, false, FAIL_DATA, READ PAUSE, "table\n", "damaged", ""},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, words) {
		char line[1024], whole[1024], said[1024] = "";
		struct capture log;
		struct printed p;
		enum fail_code code;
		size_t n = 0;

		stop = (struct stop){0};
		reads = rows[i].reads;
		st = (struct status){.problem = problems,
		    .problems_n = rows[i].problems,
		    .problems_more = rows[i].more};
		print_fails = rows[i].print_fails;
		wakes = rows[i].wakes;
		trace[0] = '\0';
		snprintf(line, sizeof(line), "-c %s %s", folder_path("run.yml"), rows[i].words);
		capture_begin(&log);
		code = run_command(&p, &cmd_status, line);
		capture_end_lines(&log, whole, sizeof(whole));
		for (char *rest = NULL, *at = strtok_r(whole, "\n", &rest); at != NULL;
		     at = strtok_r(NULL, "\n", &rest))
			n += (size_t)snprintf(
			    said + n, sizeof(said) - n, "%s\n", strchr(at, ' ') + 1);
		assert_int_equal(code, rows[i].code);
		printed_compare(p.text, rows[i].printed);
		printed_compare(trace, rows[i].calls);
		printed_compare(said, rows[i].said);
		if (code != FAIL_NONE)
			assert_string_equal(f.text, rows[i].failure);
		assert_int_equal(handles, 0);
		free(p.text);
	}
}

static void
test_a_full_disk_is_a_failure_at_once(void **unused)
{
	FILE *full = fopen("/dev/full", "w"), *was = stdout;
	char *argv[] = {(char[]){"status"}, (char[]){"-c"},
	    (char *)(uintptr_t)folder_path("run.yml"), (char[]){"--watch"}, NULL};
	enum fail_code code;

	(void)unused;
	assert_non_null(full);
	stop = (struct stop){0};
	reads = "ooo";
	trace[0] = '\0';
	stdout = full;
	code = cmd_status.run(4, argv, &f);
	stdout = was;
	fclose(full);
	assert_int_equal(code, FAIL_IO);
	assert_string_equal(f.text, "writing to stdout: No space left on device");
	assert_string_equal(trace, READ);
	assert_int_equal(handles, 0);
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
	    cmocka_unit_test(test_what_is_read_and_printed),
	    cmocka_unit_test(test_a_full_disk_is_a_failure_at_once),
	};

	return cmocka_run_group_tests(tests, begin, folder_close);
}
