/* names.h: which names are allowed, and the names of topics. */
#include "common/base/names.h"

#include "tests/unit/test.h"

static void
test_which_names_are_valid(void **unused)
{
	static const struct {
		const char *name;
		bool valid, run;
	} rows[] = {
	    {"a", true, true},
	    {"azAZ09", true, true},
	    {"0", true, true},
	    {"9", true, true},
	    {"a.b_c-d", true, true},
	    {"", false, false},
	    {".a", false, false},
	    {"-a", false, false},
	    {"_a", false, false},
	    {"a b", false, false},
	    {"a/b", false, false},
	    {"a`", false, false}, /* next to the letters and digits */
	    {"a{", false, false},
	    {"a@", false, false},
	    {"a[", false, false},
	    {"a:", false, false},
	    {"a\xc3\xbc", false, false},
	    {"mixer", true, false},
	    {"election", true, false},
	    {"mixers", true, true},
	    {"elections", true, true},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, name) {
		assert_int_equal(names_valid(rows[i].name), rows[i].valid);
		assert_int_equal(names_run_valid(rows[i].name), rows[i].run);
	}
}

static void
test_a_name_has_its_longest(void **unused)
{
	char name[NAME_MAX_BYTES + 2];

	(void)unused;
	memset(name, 'a', sizeof(name) - 1);
	name[NAME_MAX_BYTES + 1] = '\0';
	assert_false(names_valid(name));
	name[NAME_MAX_BYTES] = '\0';
	assert_true(names_valid(name));
}

static void
test_topics_are_named_after_corpus_domain_and_set(void **unused)
{
	static const char *const expected[SETS_COUNT] = {
	    [SET_TRAIN] = "c.web", [SET_VALID] = "c.web.valid", [SET_TEST] = "c.web.test"};
	static const char *const text[SETS_COUNT] = {
	    [SET_TRAIN] = "train", [SET_VALID] = "valid", [SET_TEST] = "test"};
	char topic[TOPIC_MAX_BYTES + 1];

	(void)unused;
	EACH_ROW(set, expected) {
		names_domain_topic(topic, "c", "web", (enum names_set)set);
		assert_string_equal(topic, expected[set]);
		assert_string_equal(names_set_text[set], text[set]);
	}
	names_topic(topic, "m", "batches");
	assert_string_equal(topic, "m.batches");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_which_names_are_valid),
	    cmocka_unit_test(test_a_name_has_its_longest),
	    cmocka_unit_test(test_topics_are_named_after_corpus_domain_and_set),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
