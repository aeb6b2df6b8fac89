/* metrics.h: the text that Prometheus reads. `promtool check metrics` is run by test_serve.py. */
#include "common/metrics/metrics.h"

#include <ctype.h>
#include <math.h>

#include "tests/unit/test.h"

static void
test_help_and_type_stand_once_in_front_of_all_samples_of_a_metric(void **unused)
{
	struct metrics_text m = {0};
	char *text;

	(void)unused;
	metrics_count(&m, METRICS_MIX_STEPS, 1200, "pretrain", NULL);
	metrics_number(&m, METRICS_DOMAIN_SHARE_INTENDED, 0.3, "pretrain", "code");
	metrics_number(&m, METRICS_DOMAIN_SHARE_INTENDED, 1, "pretrain", "web");
	text = metrics_take(&m);
	assert_string_equal(text,
	    "# HELP riffle_mix_steps_total Steps that are published.\n"
	    "# TYPE riffle_mix_steps_total counter\n"
	    "riffle_mix_steps_total{mix=\"pretrain\"} 1200\n"
	    "# HELP riffle_domain_share_intended_ratio Share of the draws by the weights in "
	    "force.\n"
	    "# TYPE riffle_domain_share_intended_ratio gauge\n"
	    "riffle_domain_share_intended_ratio{mix=\"pretrain\",domain=\"code\"} "
	    "0.29999999999999999\n"
	    "riffle_domain_share_intended_ratio{mix=\"pretrain\",domain=\"web\"} 1\n");
	free(text);
}

static void
test_a_number_that_is_not_known_is_no_sample(void **unused)
{
	struct metrics_text m = {0};
	char *text;

	(void)unused;
	metrics_number(&m, METRICS_DOMAIN_DEVIATION, NAN, "m", "code");
	text = metrics_take(&m);
	assert_string_equal(text, "");
	free(text);
}

static void
test_quotes_backslashes_and_line_ends_of_labels_are_escaped(void **unused)
{
	struct metrics_text m = {0};
	char *text;

	(void)unused;
	metrics_count(&m, METRICS_UP, 1, "a\"b\\c\nd", NULL);
	text = metrics_take(&m);
	assert_non_null(strstr(text, "\nriffle_up{mix=\"a\\\"b\\\\c\\nd\"} 1\n"));
	free(text);
}

static void
test_a_value_belongs_to_the_bucket_whose_limit_it_does_not_pass(void **unused)
{
	struct metrics_histogram h = {0};

	(void)unused;
	metrics_observe(&h, 0);
	metrics_observe(&h, metrics_seconds[0]);
	metrics_observe(&h, metrics_seconds[0] + 0.0001);
	metrics_observe(&h, metrics_seconds[METRICS_BUCKETS - 1]);
	metrics_observe(&h, metrics_seconds[METRICS_BUCKETS - 1] + 1);
	assert_int_equal(h.bucket[0], 2);
	assert_int_equal(h.bucket[1], 1);
	assert_int_equal(h.bucket[METRICS_BUCKETS - 1], 1);
	assert_int_equal(h.bucket[METRICS_BUCKETS], 1);
}

static void
test_a_histogram_counts_up_and_keeps_all_digits_of_its_sum(void **unused)
{
	struct metrics_histogram h = {0};
	struct metrics_text m = {0};
	char *text;

	(void)unused;
	metrics_observe(&h, 0.1);
	metrics_observe(&h, 0.2);
	metrics_observe(&h, 31);
	metrics_histogram(&m, METRICS_MIXER_SECONDS, &h, NULL, NULL);
	metrics_histogram(&m, METRICS_MIXER_SECONDS, &h, "m", NULL);
	text = metrics_take(&m);
	assert_string_equal(strstr(text, "# TYPE"),
	    "# TYPE riffle_mixer_transaction_seconds histogram\n"
	    "riffle_mixer_transaction_seconds_bucket{le=\"0.001\"} 0\n"
	    "riffle_mixer_transaction_seconds_bucket{le=\"0.0025\"} 0\n"
	    "riffle_mixer_transaction_seconds_bucket{le=\"0.005\"} 0\n"
	    "riffle_mixer_transaction_seconds_bucket{le=\"0.01\"} 0\n"
	    "riffle_mixer_transaction_seconds_bucket{le=\"0.025\"} 0\n"
	    "riffle_mixer_transaction_seconds_bucket{le=\"0.05\"} 0\n"
	    "riffle_mixer_transaction_seconds_bucket{le=\"0.1\"} 1\n"
	    "riffle_mixer_transaction_seconds_bucket{le=\"0.25\"} 2\n"
	    "riffle_mixer_transaction_seconds_bucket{le=\"0.5\"} 2\n"
	    "riffle_mixer_transaction_seconds_bucket{le=\"1\"} 2\n"
	    "riffle_mixer_transaction_seconds_bucket{le=\"5\"} 2\n"
	    "riffle_mixer_transaction_seconds_bucket{le=\"30\"} 2\n"
	    "riffle_mixer_transaction_seconds_bucket{le=\"+Inf\"} 3\n"
	    "riffle_mixer_transaction_seconds_sum 31.300000000000001\n"
	    "riffle_mixer_transaction_seconds_count 3\n"
	    "riffle_mixer_transaction_seconds_bucket{mix=\"m\",le=\"0.001\"} 0\n"
	    "riffle_mixer_transaction_seconds_bucket{mix=\"m\",le=\"0.0025\"} 0\n"
	    "riffle_mixer_transaction_seconds_bucket{mix=\"m\",le=\"0.005\"} 0\n"
	    "riffle_mixer_transaction_seconds_bucket{mix=\"m\",le=\"0.01\"} 0\n"
	    "riffle_mixer_transaction_seconds_bucket{mix=\"m\",le=\"0.025\"} 0\n"
	    "riffle_mixer_transaction_seconds_bucket{mix=\"m\",le=\"0.05\"} 0\n"
	    "riffle_mixer_transaction_seconds_bucket{mix=\"m\",le=\"0.1\"} 1\n"
	    "riffle_mixer_transaction_seconds_bucket{mix=\"m\",le=\"0.25\"} 2\n"
	    "riffle_mixer_transaction_seconds_bucket{mix=\"m\",le=\"0.5\"} 2\n"
	    "riffle_mixer_transaction_seconds_bucket{mix=\"m\",le=\"1\"} 2\n"
	    "riffle_mixer_transaction_seconds_bucket{mix=\"m\",le=\"5\"} 2\n"
	    "riffle_mixer_transaction_seconds_bucket{mix=\"m\",le=\"30\"} 2\n"
	    "riffle_mixer_transaction_seconds_bucket{mix=\"m\",le=\"+Inf\"} 3\n"
	    "riffle_mixer_transaction_seconds_sum{mix=\"m\"} 31.300000000000001\n"
	    "riffle_mixer_transaction_seconds_count{mix=\"m\"} 3\n");
	free(text);
}

/* Labels that a program has not are left out, each by itself. */
static void
test_a_text_that_was_taken_leaves_an_empty_one(void **unused)
{
	struct metrics_text m = {0};
	char *first, *second;

	(void)unused;
	for (size_t i = 0; i < METRICS_N; i++)
		assert_false(m.begun[i]);
	metrics_number(&m, METRICS_UP, 1, NULL, NULL);
	metrics_number(&m, METRICS_UP, 1, "m", NULL);
	metrics_number(&m, METRICS_DOMAIN_SHARE_INTENDED, 1, NULL, "code");
	first = metrics_take(&m);
	assert_non_null(strstr(first, "\nriffle_up 1\nriffle_up{mix=\"m\"} 1\n"));
	assert_non_null(strstr(first, "_ratio{domain=\"code\"} 1\n"));
	metrics_number(&m, METRICS_UP, 1, NULL, NULL);
	metrics_number(&m, METRICS_UP, 1, "m", NULL);
	metrics_number(&m, METRICS_DOMAIN_SHARE_INTENDED, 1, NULL, "code");
	second = metrics_take(&m);
	assert_string_equal(second, first);
	free(first);
	free(second);
}

/* The page of the docs is what the program prints. */
static void
test_the_page_has_a_row_for_each_metric(void **unused)
{
	char *printed = NULL, *written;
	size_t n = 0, room = 1 << 20, written_n;
	FILE *to = open_memstream(&printed, &n), *docs = fopen("docs/METRICS.md", "r");

	(void)unused;
	metrics_print_page(to);
	fclose(to);
	assert_non_null(docs);
	written = malloc(room);
	assert_non_null(written);
	written_n = fread(written, 1, room - 1, docs);
	written[written_n] = '\0';
	fclose(docs);
	assert_string_equal(printed, written);
	free(printed);
	free(written);
}

#define NAMES(id, kind, name, first, second, programs, meaning)                                    \
	{METRICS_##kind, name, first, second, meaning},
static const struct {
	enum metrics_kind kind;
	const char *name, *first, *second, *meaning;
} rows[] = {METRICS(NAMES)};

static bool
ends(const char *name, const char *end)
{
	return text_ends_with(name, end);
}

static void
test_every_name_follows_the_conventions(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < METRICS_N; i++) {
		const char *name = rows[i].name;

		assert_memory_equal(name, "riffle_", 7);
		for (const char *at = name; *at != '\0'; at++)
			assert_true(islower((unsigned char)*at) || *at == '_');
		assert_int_equal(ends(name, "_total"), rows[i].kind == METRICS_COUNTER);
		assert_true(rows[i].kind != METRICS_HISTOGRAM || ends(name, "_seconds"));
		assert_false(ends(name, "_count") || ends(name, "_sum") || ends(name, "_bucket"));
		assert_true(rows[i].first != NULL || rows[i].second == NULL);
		assert_int_equal(rows[i].meaning[strlen(rows[i].meaning) - 1], '.');
		assert_null(strpbrk(rows[i].meaning, "\n\\|"));
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(name, rows[k].name);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_help_and_type_stand_once_in_front_of_all_samples_of_a_metric),
	    cmocka_unit_test(test_a_number_that_is_not_known_is_no_sample),
	    cmocka_unit_test(test_quotes_backslashes_and_line_ends_of_labels_are_escaped),
	    cmocka_unit_test(test_a_value_belongs_to_the_bucket_whose_limit_it_does_not_pass),
	    cmocka_unit_test(test_a_histogram_counts_up_and_keeps_all_digits_of_its_sum),
	    cmocka_unit_test(test_a_text_that_was_taken_leaves_an_empty_one),
	    cmocka_unit_test(test_the_page_has_a_row_for_each_metric),
	    cmocka_unit_test(test_every_name_follows_the_conventions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
