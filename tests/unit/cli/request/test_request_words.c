/* Words of a command line as requests. */
#include "cli/request/request_words.h"

#include <string.h>

#include "tests/unit/test.h"

static void
test_weights_are_name_equals_number(void **state)
{
	const struct {
		const char *word;
		double weight;
		const char *why; /* NULL: it is one */
	} rows[] = {
	    {"a=1", 1, NULL},
	    {"long.name-1_x=0.25", 0.25, NULL},
	    {"a=0", 0, NULL},
	    {"a=-1", 0, "not a weight: a number of at least 0"},
	    {"a/0=1", 0, "not a name of a domain"},
	    {"a=1e-9", 1e-9, NULL},
	    {"a", 0, "not DOMAIN=WEIGHT"},
	    {"=1", 0, "not DOMAIN=WEIGHT"},
	    {"a=", 0, "not a weight"},
	    {"a=nan", 0, "not a weight"},
	    {"a=inf", 0, "not a weight"},
	    {"a=1=2", 0, "not a weight"},
	    {"a=1e999", 0, "not a weight"},
	};

	(void)state;
	EACH_NAMED_ROW(i, rows, word) {
		struct control c = {0};
		struct failure f;
		char *word = (char *)(uintptr_t)rows[i].word;
		enum fail_code code = request_words_weights(&c, &word, 1, &f);

		assert_int_equal(code, rows[i].why == NULL ? FAIL_NONE : FAIL_USAGE);
		if (rows[i].why == NULL) {
			assert_int_equal(c.weights_n, 1);
			assert_true(c.weight[0].weight == rows[i].weight);
			assert_int_equal(
			    strlen(c.weight[0].domain), strchr(rows[i].word, '=') - rows[i].word);
		} else
			assert_non_null(strstr(f.text, rows[i].why));
		control_clear(&c);
	}
}

static void
test_a_domain_has_one_weight(void **state)
{
	char *words[] = {"a=1", "b=1", "a=2"};
	struct control c = {0};
	struct failure f;

	(void)state;
	assert_int_equal(request_words_weights(&c, words, 3, &f), FAIL_USAGE);
	assert_string_equal(f.text, "domain a has two weights, 1 and 2: give one");
	control_clear(&c);
	/* The domain of --join comes after the others, by another call. */
	assert_int_equal(request_words_weights(&c, words, 2, &f), FAIL_NONE);
	assert_int_equal(request_words_weights(&c, words + 2, 1, &f), FAIL_USAGE);
	control_clear(&c);
}

static void
test_places_and_ranges(void **state)
{
	const struct {
		const char *place, *range;
		int32_t partition;
		int64_t first, end;
		const char *why;
	} rows[] = {
	    {"a", "0..1", -1, 0, 1, NULL},
	    {"a/0", "5..9", 0, 5, 9, NULL},
	    {"a/2147483647", "0..9223372036854775807", INT32_MAX, 0, INT64_MAX, NULL},
	    {"a/2147483648", "0..1", 0, 0, 0, "not a partition"},
	    {"a/", "0..1", 0, 0, 0, "not a partition"},
	    {"a/x", "0..1", 0, 0, 0, "not a partition"},
	    {"/0", "0..1", 0, 0, 0, "not a name of a domain"},
	    {"a", "5..5", 0, 0, 0, "a single ordinal 5 is 5..6"},
	    {"a", "6..5", 0, 0, 0, "empty range"},
	    {"a", "5", 0, 0, 0, "not a range"},
	    {"a", "..5", 0, 0, 0, "not a range"},
	    {"a", "-1..5", 0, 0, 0, "not a range"},
	    {"a", "0..9223372036854775808", 0, 0, 0, "not a range"},
	    {"a", "000000000000000000000000001..5", 0, 0, 0, "not a range"},
	};

	(void)state;
	EACH_NAMED_ROW(i, rows, place) {
		struct control c = {0};
		struct failure f;
		enum fail_code code = request_words_place(&c, rows[i].place, &f);

		if (code == FAIL_NONE)
			code = request_words_range(&c, rows[i].range, &f);
		assert_int_equal(code, rows[i].why == NULL ? FAIL_NONE : FAIL_USAGE);
		if (rows[i].why == NULL) {
			assert_int_equal(c.partition, rows[i].partition);
			assert_int_equal(c.first, rows[i].first);
			assert_int_equal(c.end, rows[i].end);
		} else
			assert_non_null(strstr(f.text, rows[i].why));
		control_clear(&c);
	}
}

static void
test_a_request_without_an_id_gets_a_fresh_one(void **state)
{
	struct control one = {0}, two = {0}, named = {0}, large = {0};
	struct failure f;
	char id[130];

	(void)state;
	assert_int_equal(request_words_name(&one, NULL, "weights", &f), FAIL_NONE);
	assert_int_equal(request_words_name(&two, NULL, "weights", &f), FAIL_NONE);
	assert_int_equal(strlen(one.id), strlen("weights-") + 16);
	assert_string_not_equal(one.id, two.id);
	assert_non_null(strchr(one.who, '@'));
	memset(id, 'x', sizeof(id));
	id[128] = '\0';
	assert_int_equal(request_words_name(&named, id, "weights", &f), FAIL_NONE);
	assert_string_equal(named.id, id);
	id[128] = 'x';
	id[129] = '\0';
	assert_int_equal(request_words_name(&large, id, "weights", &f), FAIL_USAGE);
	control_clear(&one);
	control_clear(&two);
	control_clear(&named);
	control_clear(&large);
}

/* One id stands for one request, whoever asks and whenever. */
static void
test_the_same_request_is_told_from_another(void **unused)
{
	char web[] = "web", id[] = "w1", other[] = "w2";
	struct ledger_raw_weight nine = {web, 0.9}, eight = {web, 0.8};
	struct control a = {
	    .id = id, .kind = LEDGER_WEIGHTS, .at_step = -1, .weight = &nine, .weights_n = 1};
	struct control b = a;
	struct text t = {0};
	char *text;

	(void)unused;
	b.id = b.who = other;
	assert_true(request_words_same(&a, &b));
	b.kind = LEDGER_JOIN; /* it has joined since */
	b.domain = web;
	assert_true(request_words_same(&a, &b));
	b.kind = LEDGER_LEAVE;
	assert_false(request_words_same(&a, &b));
	b = a;
	b.weight = &eight;
	assert_false(request_words_same(&a, &b));
	b = a;
	b.at_step = 12;
	assert_false(request_words_same(&a, &b));
	request_words_text(&t, &b);
	text = text_take(&t);
	assert_string_equal(text, "weights web=0.9 at step 12");
	free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_weights_are_name_equals_number),
	    cmocka_unit_test(test_a_domain_has_one_weight),
	    cmocka_unit_test(test_places_and_ranges),
	    cmocka_unit_test(test_a_request_without_an_id_gets_a_fresh_one),
	    cmocka_unit_test(test_the_same_request_is_told_from_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
