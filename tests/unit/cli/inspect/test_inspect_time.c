/* inspect_time.h: what is asked, and how the answer is printed. */
#include "cli/inspect/inspect_time.h"

#include "consumer/replay/time_step.h"
#include "tests/unit/printed.h"

/* ---- the search, of this test's own ---- */

static struct time_step answer;
static struct time_step_options asked;
static enum fail_code ends_with;

enum fail_code
time_step_find(struct time_step *out, const struct time_step_options *o, struct failure *f)
{
	asked = *o;
	*out = answer;
	return ends_with == FAIL_NONE ? FAIL_NONE : fail(f, ends_with, "no live domain");
}

static const struct config config = {0};

static void
test_an_answer_is_printed_with_all_its_numbers(void **unused)
{
	static const struct {
		const char *time, *domain;
		bool json;
		struct time_step found;
		int64_t time_ms;
		const char *printed;
	} rows[] = {
	    {"2026-01-31T10:30:00Z", NULL, false,
		{.step = 11,
		    .domain = "web",
		    .drawn = true,
		    .partition = 12,
		    .lane = 13,
		    .slot = 14,
		    .ordinal = 15},
		1769855400000,
		"step 11 is the first that holds what domain web got at 2026-01-31T10:30:00.000Z "
		"or "
		"later: lane 13, slot 14, partition 12, ordinal 15\n"},
	    {"0", "code", false, {.step = 16, .domain = "code"}, 0,
		"step 16 is the mix's next one: nothing that domain code got at "
		"1970-01-01T00:00:00.000Z or later is drawn yet\n"},
	    {"60", "web", true,
		{.step = 11,
		    .domain = "web",
		    .drawn = true,
		    .partition = 12,
		    .lane = 13,
		    .slot = 14,
		    .ordinal = 15},
		60000,
		"{'mix':'pre','from_time':'1970-01-01T00:01:00.000Z','domain':'web','step':11,"
		"'published':true,'lane':13,'slot':14,'partition':12,'ordinal':15}"},
	    {"2026-01-31", NULL, true, {.step = 16, .domain = "web", .lane = 1, .slot = 2},
		1769817600000,
		"{'mix':'pre','from_time':'2026-01-31T00:00:00.000Z','domain':'web','step':16,"
		"'published':false,'lane':null,'slot':null,'partition':null,'ordinal':null}"},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, time) {
		struct printed p;

		answer = rows[i].found;
		asked = (struct time_step_options){0};
		printed_begin(&p);
		assert_int_equal(
		    inspect_time("pre", &config, rows[i].time, rows[i].domain, rows[i].json, &f),
		    FAIL_NONE);
		if (rows[i].json)
			printed_json_is(&p, rows[i].printed);
		else
			printed_is(&p, rows[i].printed);
		assert_ptr_equal(asked.config, &config);
		assert_string_equal(asked.mix, "pre");
		assert_ptr_equal(asked.domain, rows[i].domain);
		assert_int_equal(asked.time_ms, rows[i].time_ms);
		assert_non_null(asked.stop);
	}
}

static void
test_a_failure_names_the_option_and_prints_nothing(void **unused)
{
	struct printed p;

	(void)unused;
	printed_begin(&p);
	assert_int_equal(inspect_time("pre", &config, "noon", NULL, false, &f), FAIL_USAGE);
	assert_string_equal(f.text,
	    "--from-time: \"noon\" is no time: 2026-01-31T10:30:00Z, a date, or seconds "
	    "since 1970");
	ends_with = FAIL_CONFIG;
	assert_int_equal(inspect_time("pre", &config, "1", "web", false, &f), FAIL_CONFIG);
	assert_string_equal(f.text, "--from-time: no live domain");
	ends_with = FAIL_NONE;
	printed_is(&p, "");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_an_answer_is_printed_with_all_its_numbers),
	    cmocka_unit_test(test_a_failure_names_the_option_and_prints_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
