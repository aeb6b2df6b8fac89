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
	    {"a=-1", 0, "a=-1: \"-1\" is not a weight: a number of at least 0"},
	    {"a/0=1", 0, "a/0=1: \"a/0\" is not a name of a domain"},
	    {"a=1e-9", 1e-9, NULL},
	    {"a", 0, "\"a\" is not DOMAIN=WEIGHT"},
	    {"=1", 0, "\"=1\" is not DOMAIN=WEIGHT"},
	    {"0.5=a", 0, "\"0.5=a\" is not DOMAIN=WEIGHT: write a=0.5"},
	    {"1.=long.name", 0, "\"1.=long.name\" is not DOMAIN=WEIGHT: write long.name=1."},
	    {"5=a", 0, "5=a: \"a\" is not a weight: a number of at least 0"},
	    {"5=1", 1, NULL},
	    {"0.5=/", 0, "0.5=/: \"/\" is not a weight: a number of at least 0"},
	    {"0.5x=a", 0, "0.5x=a: \"a\" is not a weight: a number of at least 0"},
	    {"a=", 0, "a=: \"\" is not a weight: a number of at least 0"},
	    {"a=nan", 0, "a=nan: \"nan\" is not a weight: a number of at least 0"},
	    {"a=inf", 0, "a=inf: \"inf\" is not a weight: a number of at least 0"},
	    {"a=1=2", 0, "a=1=2: \"1=2\" is not a weight: a number of at least 0"},
	    {"a=1e999", 0, "a=1e999: \"1e999\" is not a weight: a number of at least 0"},
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
			assert_string_equal(f.text, rows[i].why);
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
	    {"a/2147483648", "0..1", 0, 0, 0, "a/2147483648: \"2147483648\" is not a partition"},
	    {"a/", "0..1", 0, 0, 0, "a/: \"\" is not a partition"},
	    {"a/x", "0..1", 0, 0, 0, "a/x: \"x\" is not a partition"},
	    {"5..6", "0..1", 0, 0, 0,
		"\"5..6\" is not a name of a domain: DOMAIN comes first, then a..b"},
	    {"/0", "0..1", 0, 0, 0, "\"\" is not a name of a domain"},
	    {"a", "5..5", 0, 0, 0,
		"5..5 is an empty range: it is half open, and a single ordinal 5 is 5..6"},
	    {"a", "6..5", 0, 0, 0,
		"6..5 is an empty range: it is half open, and a single ordinal 6 is 6..7"},
	    {"a", "0..0", 0, 0, 0,
		"0..0 is an empty range: it is half open, and a single ordinal 0 is 0..1"},
	    {"a", "00000000000000000000001..5", -1, 1, 5, NULL},
	    {"a", "000000000000000000000001..5", 0, 0, 0,
		"\"000000000000000000000001..5\" is not a range of ordinals, a..b"},
	    {"a", "5..", 0, 0, 0, "\"5..\" is not a range of ordinals, a..b"},
	    {"a", "5", 0, 0, 0, "\"5\" is not a range of ordinals, a..b"},
	    {"a", "..5", 0, 0, 0, "\"..5\" is not a range of ordinals, a..b"},
	    {"a", "-1..5", 0, 0, 0, "\"-1..5\" is not a range of ordinals, a..b"},
	    {"a", "0..9223372036854775808", 0, 0, 0,
		"\"0..9223372036854775808\" is not a range of ordinals, a..b"},
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
			assert_string_equal(f.text, rows[i].why);
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
	assert_string_equal(f.text, "--id: longer than 128 bytes");
	assert_memory_equal(one.id, "weights-", strlen("weights-"));
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

static void
test_the_text_of_a_request_has_all_that_it_asks_for(void **unused)
{
	static char web[] = "web", code[] = "code", run[] = "main", id[] = "w1", none[] = "";
	static struct ledger_raw_weight weight[] = {{web, 0.5}, {code, 2}};
	static const struct {
		const char *text;
		struct control c;
	} rows[] = {
	    {"weights web=0.5 code=2 temperature 0.5 lr_scale 0.25 global_batch 64 at step 0",
		{.kind = LEDGER_WEIGHTS,
		    .weight = weight,
		    .weights_n = 2,
		    .temperature = 0.5,
		    .lr_scale = 0.25,
		    .global_batch = 64}},
	    {"weights", {.kind = LEDGER_WEIGHTS,
			    .at_step = -1,
			    .domain = none,
			    .run = none,
			    .request = none}},
	    {"weights global_batch 1", {.kind = LEDGER_WEIGHTS, .at_step = -1, .global_batch = 1}},
	    {"skip web/3 0..1",
		{.kind = LEDGER_SKIP, .at_step = -1, .domain = web, .partition = 3, .end = 1}},
	    {"undo web/0 5..7 at step 9",
		{.kind = LEDGER_UNDO, .at_step = 9, .domain = web, .first = 5, .end = 7}},
	    {"leave code", {.kind = LEDGER_LEAVE, .at_step = -1, .domain = code}},
	    {"reset main to step 12",
		{.kind = LEDGER_RESET, .at_step = -1, .run = run, .to_step = 12}},
	    {"cancel w1", {.kind = LEDGER_CANCEL, .at_step = -1, .request = id}},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, text) {
		struct text t = {0};
		char *text;

		request_words_text(&t, &rows[i].c);
		text = text_take(&t);
		assert_string_equal(text, rows[i].text);
		free(text);
	}
}

/* A weight of a domain that joined since is the same; nothing else of another kind is. */
static void
test_only_a_weight_and_a_join_are_the_same_kind(void **unused)
{
	static const struct {
		enum ledger_change_kind a, b;
		bool same;
	} rows[] = {
	    {LEDGER_JOIN, LEDGER_WEIGHTS, true},
	    {LEDGER_JOIN, LEDGER_JOIN, true},
	    {LEDGER_WEIGHTS, LEDGER_WEIGHTS, true},
	    {LEDGER_LEAVE, LEDGER_WEIGHTS, false},
	    {LEDGER_LEAVE, LEDGER_JOIN, false},
	    {LEDGER_JOIN, LEDGER_LEAVE, false},
	    {LEDGER_SKIP, LEDGER_UNDO, false},
	    {LEDGER_SKIP, LEDGER_SKIP, true},
	};

	(void)unused;
	EACH_ROW(i, rows) {
		struct control a = {.kind = rows[i].a}, b = {.kind = rows[i].b};

		assert_int_equal(request_words_same(&a, &b), rows[i].same);
	}
}

static void
test_a_domain_is_known_to_the_mix_or_to_the_configuration(void **unused)
{
	static char web[] = "web", code[] = "code", books[] = "books", papers[] = "papers";
	static struct config_domain configured[] = {{.name = code}, {.name = papers}};
	static const struct config config = {.domains = configured, .domains_n = 2};
	static struct ledger_domain mixed[] = {{.name = web}, {.name = books}};
	static const struct ledger last = {.domain = mixed, .domains_n = 2};
	static const struct {
		const char *domain;
		bool started;
		const char *why; /* NULL: it is known */
	} rows[] = {
	    {"web", true, NULL},
	    {"code", true, NULL},
	    {"papers", false, NULL},
	    {"code", false, NULL},
	    {"web", false, "the mix has no domain web; it has code, papers"},
	    {"paper", false,
		"the mix has no domain paper (did you mean papers?); it has code, papers"},
	    {"paper", true,
		"the mix has no domain paper (did you mean papers?); it has web, books"},
	    {"book", true, "the mix has no domain book (did you mean books?); it has web, books"},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, domain) {
		assert_int_equal(request_words_known(
				     rows[i].domain, rows[i].started ? &last : NULL, &config, &f),
		    rows[i].why == NULL ? FAIL_NONE : FAIL_USAGE);
		if (rows[i].why != NULL)
			assert_string_equal(f.text, rows[i].why);
	}
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
	    cmocka_unit_test(test_the_text_of_a_request_has_all_that_it_asks_for),
	    cmocka_unit_test(test_only_a_weight_and_a_join_are_the_same_kind),
	    cmocka_unit_test(test_a_domain_is_known_to_the_mix_or_to_the_configuration),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
