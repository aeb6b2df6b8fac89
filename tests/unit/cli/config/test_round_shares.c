/* round_shares.h: which rounds are too short for their weights. */
#include "cli/config/round_shares.h"

#include <math.h>
#include <stdlib.h>

#include "tests/unit/capture.h"

static struct config_domain domains[] = {{.name = "a"}, {.name = "b"}};

static void
test_a_round_that_is_too_short_for_its_weights_is_named_with_what_comes_out(void **state)
{
	const struct {
		double a, b;
		uint64_t size;
		const char *says; /* NULL: nothing */
	} rows[] = {
	    {0.99, 0.01, 5,
		"a round of 5 draws gives other shares than the weights: a 80 % (not 99 %), b 20 % "
		"(not "
		"1 %); from 1000 draws on, none is off by a tenth"},
	    {0.99, 0.01, 100, NULL},
	    {0.99, 0.01, 109, NULL}, /* 1 of 109 is 0.917 %, off by 0.083 of 1 % */
	    {0.99, 0.01, 90,         /* 1 of 90 is 1.11 % */
		"a round of 90 draws gives other shares than the weights: b 1.11 % (not 1 %); from "
		"1000 "
		"draws on, none is off by a tenth"},
	    {0.99, 0.01, 1000, NULL}, {1, 0, 5, NULL},
	    {1, 1, 5,
		"a round of 5 draws gives other shares than the weights: a 60 % (not 50 %), b 40 % "
		"(not "
		"50 %); from 20 draws on, none is off by a tenth"},
	    {1, 1, 0, NULL},     /* no rounds */
	    {NAN, NAN, 5, NULL}, /* by size */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		double weight[] = {rows[i].a, rows[i].b};
		const struct config c = {.domains = domains,
		    .domains_n = 2,
		    .mix = {.weight = weight, .temperature = 1, .epoch_size = rows[i].size}};
		char *text = round_shares_compare(&c, NULL);

		if (rows[i].says == NULL)
			assert_null(text);
		else
			assert_string_equal(text, rows[i].says);
		free(text);
	}
}

static void
test_the_weights_of_a_phase_stand_for_those_of_the_mix(void **state)
{
	double weight[] = {1, 1}, in_phase[] = {NAN, 9};
	struct config_phase phase = {.name = (char[]){"late"}, .weight = in_phase};
	const struct config c = {.domains = domains,
	    .domains_n = 2,
	    .mix = {.weight = weight, .temperature = 1, .epoch_size = 4}};
	char *text = round_shares_compare(&c, &phase);

	(void)state;
	assert_null(round_shares_compare(&c, NULL));
	assert_string_equal(text,
	    "a round of 4 draws gives other shares than the weights of phase late: a 25 % (not 10 "
	    "%), b 75 % (not 90 %); from 100 draws on, none is off by a tenth");
	free(text);
}

/* Eight are listed. One whose weight is 0 is never drawn, and counts for nothing. */
static void
test_as_many_as_a_line_holds_are_listed(void **state)
{
	static struct config_domain many[] = {{.name = "a"}, {.name = "b"}, {.name = "c"},
	    {.name = "d"}, {.name = "e"}, {.name = "f"}, {.name = "g"}, {.name = "h"},
	    {.name = "i"}, {.name = "j"}};
	static const struct {
		size_t n;
		const char *text;
	} rows[] = {
	    {8, "a round of 9 draws gives other shares than the weights: a 33.3 % (not 93.8 %), "
		"c 11.1 % (not 1.03 %), d 11.1 % (not 1.03 %), e 11.1 % (not 1.03 %), f 11.1 % "
		"(not 1.03 %), g 11.1 % (not 1.03 %), h 11.1 % (not 1.03 %); from 971 draws on, "
		"none is off by a tenth"},
	    {9, "a round of 10 draws gives other shares than the weights: a 30 % (not 92.9 %), c "
		"10 % (not 1.02 %), d 10 % (not 1.02 %), e 10 % (not 1.02 %), f 10 % (not 1.02 %), "
		"g 10 % (not 1.02 %), h 10 % (not 1.02 %), i 10 % (not 1.02 %); from 980 draws on, "
		"none is off by a tenth"},
	    {10,
		"a round of 11 draws gives other shares than the weights: a 27.3 % (not 91.9 %), c "
		"9.09 % (not 1.01 %), d 9.09 % (not 1.01 %), e 9.09 % (not 1.01 %), f 9.09 % (not "
		"1.01 %), g 9.09 % (not 1.01 %), h 9.09 % (not 1.01 %), i 9.09 % (not 1.01 %) and "
		"1 more; from 991 draws on, none is off by a tenth"},
	};

	(void)state;
	EACH_ROW(i, rows) {
		double weight[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
		const struct config c = {.domains = many,
		    .domains_n = rows[i].n,
		    .mix = {.weight = weight, .temperature = 1, .epoch_size = rows[i].n + 1}};
		char *text;

		weight[0] = 91;
		weight[1] = 0;
		text = round_shares_compare(&c, NULL);
		assert_non_null(text);
		assert_string_equal(text, rows[i].text);
		free(text);
	}
}

#define WARNING                                                                                    \
	" warning config: CONFIG-ROUND-SHARES mix.epoch_size: a round of 5 draws gives other "     \
	"shares than "
#define DRAWS " draws on, none is off by a tenth\n"

/* The lines from their first blank on, in place. */
static const char *
strip_times(char *text)
{
	char *to = text;

	for (char *line = text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
		char *from = strchr(line, ' ');

		memmove(to, from, (size_t)(end + 1 - from));
		to += end + 1 - from;
	}
	*to = '\0';
	return text;
}

static void
test_the_mix_and_each_phase_are_warned_of(void **state)
{
	double weight[] = {1, 1}, second[] = {NAN, 9}, third[] = {NAN, NAN};
	struct config_phase phases[] = {{.name = (char[]){"late"}, .weight = second},
	    {.name = (char[]){"hot"}, .weight = third, .temperature = 2},
	    {.name = (char[]){"last"}, .weight = second, .temperature = 2}};
	struct config c = {.domains = domains,
	    .domains_n = 2,
	    .mix = {.name = (char[]){"pre"},
		.weight = weight,
		.temperature = 1,
		.epoch_size = 5,
		.phases = phases,
		.phases_n = 3}};
	struct capture log;
	char text[4096];

	(void)state;
	capture_begin(&log);
	round_shares_warn(&c);
	capture_end_lines(&log, text, sizeof(text));
	assert_string_equal(strip_times(text),
	    WARNING "the weights: a 60 % (not 50 %), b 40 % (not 50 %); from 20" DRAWS WARNING
		    "the weights of phase late: a 20 % (not 10 %), b 80 % (not 90 %); from "
		    "100" DRAWS WARNING "the weights of phase hot: a 60 % (not 50 %), b 40 % (not "
		    "50 %); from 20" DRAWS WARNING
		    "the weights of phase last: a 20 % (not 25 %); from 40" DRAWS);
	c.mix.name = NULL; /* no mix */
	capture_begin(&log);
	round_shares_warn(&c);
	assert_int_equal(capture_end_lines(&log, text, sizeof(text)), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(
		test_a_round_that_is_too_short_for_its_weights_is_named_with_what_comes_out),
	    cmocka_unit_test(test_the_weights_of_a_phase_stand_for_those_of_the_mix),
	    cmocka_unit_test(test_as_many_as_a_line_holds_are_listed),
	    cmocka_unit_test(test_the_mix_and_each_phase_are_warned_of),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
