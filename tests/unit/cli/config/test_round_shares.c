/* round_shares.h: which rounds are too short for their weights. */
#include "cli/config/round_shares.h"

#include <math.h>
#include <stdlib.h>

#include "tests/unit/test.h"

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

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(
		test_a_round_that_is_too_short_for_its_weights_is_named_with_what_comes_out),
	    cmocka_unit_test(test_the_weights_of_a_phase_stand_for_those_of_the_mix),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
