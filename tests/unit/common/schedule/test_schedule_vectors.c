/* Schedules and quantising against the files of tests/vectors, and the index that Nanotron's page
 * shows.
 */
#include "tests/unit/test.h"

#include "common/schedule/schedule.h"

enum { DOMAINS = 64, SHOWN = 200, DRAWS = 5000, LINE = 1 << 16 };

static const char *name[DOMAINS];

/* "a,b,c" into out; how many there were. */
static size_t
read_doubles(char *text, double *out)
{
	size_t n = 0;

	for (char *at = text; *at != '\0'; at += *at == ',') {
		assert_true(n < DOMAINS);
		out[n++] = strtod(at, &at);
	}
	return n;
}

static size_t
read_numbers(char *text, uint64_t *out, size_t room)
{
	size_t n = 0;

	for (char *at = text; *at != '\0' && *at != '\n'; at += *at == ',') {
		assert_true(n < room);
		out[n++] = strtoull(at, &at, 10);
	}
	return n;
}

static FILE *
open_vectors(const char *file)
{
	char path[128];
	FILE *in;

	snprintf(path, sizeof(path), "tests/vectors/%s", file);
	in = fopen(path, "r");
	if (in == NULL)
		print_error("cannot open %s: run the tests from the root of the tree\n", path);
	assert_non_null(in);
	for (size_t i = 0; i < DOMAINS; i++)
		name[i] = "x";
	return in;
}

static bool
next_row(FILE *in, char *line)
{
	do
		if (fgets(line, LINE, in) == NULL)
			return false;
	while (line[0] == '#');
	return true;
}

static void
test_weights_are_quantised_as_exact_fractions_say(void **state)
{
	FILE *in = open_vectors("weights.tsv");
	static char line[LINE];
	int rows = 0;

	(void)state;
	for (; next_row(in, line); rows++) {
		char *rest = line;
		uint64_t total = strtoull(strsep(&rest, "\t"), NULL, 10), want[DOMAINS],
			 got[DOMAINS];
		double temperature = strtod(strsep(&rest, "\t"), NULL), raw[DOMAINS];
		size_t n = read_doubles(strsep(&rest, "\t"), raw);
		struct failure f;

		assert_int_equal(read_numbers(rest, want, DOMAINS), n);
		assert_int_equal(
		    weights_count(got, raw, name, n, temperature, total, &f), FAIL_NONE);
		for (size_t i = 0; i < n; i++)
			assert_int_equal(got[i], want[i]);
	}
	fclose(in);
	assert_int_equal(rows, 14);
}

struct rule {
	const char *file;
	enum schedule_kind kind;
	uint64_t unit;
};

static void
check_row(const struct rule *r, char *line)
{
	static struct schedule s;
	static uint64_t shown[SHOWN], weight[DOMAINS], want[DOMAINS], count[DOMAINS];
	char *rest = line;
	double raw[DOMAINS];
	size_t n = read_doubles(strsep(&rest, "\t"), raw);
	struct failure f;

	assert_int_equal(read_numbers(strsep(&rest, "\t"), shown, SHOWN), SHOWN);
	assert_int_equal(read_numbers(rest, want, DOMAINS), n);
	assert_int_equal((r->kind == SCHEDULE_GREEDY ? weights_share : weights_quantise)(
			     weight, raw, name, n, 1, &f),
	    FAIL_NONE);
	schedule_init(&s, r->kind, r->unit, 1234);
	schedule_set_weights(&s, weight, n);
	memset(count, 0, sizeof(count));
	for (uint64_t k = 0; k < DRAWS; k++) {
		size_t i = schedule_pick(&s);

		schedule_charge(&s, i, r->unit == 1 ? 1 : 1 + k % 127 * 7919 % 65);
		count[i]++;
		if (k < SHOWN)
			assert_int_equal(i, shown[k]);
	}
	for (size_t i = 0; i < n; i++)
		assert_int_equal(count[i], want[i]);
}

static void
test_schedules_draw_what_an_independent_implementation_draws(void **state)
{
	static const struct rule rules[] = {
	    {"schedule_deficit.tsv", SCHEDULE_DEFICIT, 1},
	    {"schedule_tokens.tsv", SCHEDULE_DEFICIT, 65},
	    {"schedule_greedy.tsv", SCHEDULE_GREEDY, 1},
	    {"schedule_random.tsv", SCHEDULE_RANDOM, 1},
	};
	static char line[LINE];

	(void)state;
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		FILE *in = open_vectors(rules[i].file);
		int rows = 0;

		for (; next_row(in, line); rows++)
			check_row(&rules[i], line);
		fclose(in);
		assert_int_equal(rows, 6);
	}
}

static void
test_greedy_has_the_index_of_the_page(void **state)
{
	static const double raw[] = {0.1, 0.5, 0.3, 0.1};
	static const size_t dataset[] = {
	    1, 2, 0, 1, 3, 1, 2, 1, 2, 1, 0, 1, 2, 1, 3, 1, 2, 1, 2, 1};
	static const int64_t sample[] = {
	    0, 0, 0, 1, 0, 2, 1, 3, 2, 4, 1, 5, 3, 6, 1, 7, 4, 8, 5, 9};
	static struct schedule s;
	uint64_t weight[4];
	struct failure f;

	(void)state;
	assert_int_equal(weights_share(weight, raw, name, 4, 1, &f), FAIL_NONE);
	schedule_init(&s, SCHEDULE_GREEDY, 1, 0);
	for (int again = 0; again < 2; again++) { /* new weights begin k and the counts again */
		schedule_set_weights(&s, weight, 4);
		for (size_t k = 0; k < 20; k++) {
			size_t i = schedule_pick(&s);

			assert_int_equal(i, dataset[k]);
			assert_int_equal(s.credit[i], sample[k]);
			schedule_charge(&s, i, 1);
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_weights_are_quantised_as_exact_fractions_say),
	    cmocka_unit_test(test_schedules_draw_what_an_independent_implementation_draws),
	    cmocka_unit_test(test_greedy_has_the_index_of_the_page),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
