/* rejects.h: reasons that are one kind, the bound on kinds, the summary. */
#include "tests/unit/test.h"

#include "producer/produce/rejects.h"

static const struct {
	const char *claim;
	const char *reason[4]; /* up to NULL */
	const char *expected;
} cases[] = {
    {"none", {NULL}, ""},
    {"one", {"no field `text`"}, "1 no field `text`"},
    {"numbers behind a space do not tell kinds apart",
	{"invalid JSON at byte 7: x", "invalid JSON at byte 12345: x"},
	"2 invalid JSON at byte N: x"},
    {"numbers inside a name do", {"no field `t1`", "no field `t2`", "no field `t1`"},
	"2 no field `t1`, 1 no field `t2`"},
    {"a number at the start and one at the end", {"1 of 2", "10 of 20", "3 of"},
	"2 N of N, 1 N of"},
    {"kinds stand in the order in which they came", {"b", "a", "a"}, "1 b, 2 a"},
};

static void
test_reasons_are_counted_by_kind(void **state)
{
	(void)state;
	EACH_NAMED_ROW(i, cases, claim) {
		struct rejects r = {0};
		char text[REJECTS_TEXT_BYTES];
		size_t n = 0;

		print_message("%s\n", cases[i].claim);
		for (; n < 4 && cases[i].reason[n] != NULL; n++)
			rejects_add(&r, cases[i].reason[n]);
		rejects_format(&r, text);
		assert_string_equal(text, cases[i].expected);
		assert_int_equal(r.total, n);
	}
}

static void
test_more_kinds_than_are_kept_count_as_others(void **state)
{
	struct rejects r = {0};
	char text[REJECTS_TEXT_BYTES], reason[2] = "a";

	(void)state;
	for (int i = 0; i < REJECTS_KINDS_MAX; i++, reason[0]++)
		rejects_add(&r, reason);
	assert_int_equal(r.others, 0);
	rejects_add(&r, reason);
	rejects_add(&r, "a");
	rejects_format(&r, text);
	assert_int_equal(r.others, 1);
	assert_int_equal(r.total, REJECTS_KINDS_MAX + 2);
	assert_int_equal(r.kind[0].count, 2);
	assert_string_equal(text, "2 a, 1 b, 1 c, 1 d, 1 e, 1 f, 1 g, 1 h, 1 for other reasons");
}

static void
test_the_longest_kinds_and_counts_fit_the_text(void **state)
{
	struct rejects r = {0};
	char text[REJECTS_TEXT_BYTES], reason[200];

	(void)state;
	memset(reason, 'x', sizeof(reason) - 1);
	reason[sizeof(reason) - 1] = '\0';
	for (int i = 0; i <= REJECTS_KINDS_MAX; i++) {
		reason[0] = (char)('a' + i);
		rejects_add(&r, reason);
	}
	for (uint32_t i = 0; i < r.kinds_n; i++) {
		assert_int_equal(strlen(r.kind[i].reason), REJECTS_KIND_BYTES - 1);
		r.kind[i].count = UINT64_MAX;
	}
	r.others = UINT64_MAX;
	rejects_format(&r, text);
	assert_non_null(strstr(text, "for other reasons"));
}

static void
test_a_reason_is_not_cut_inside_a_character(void **state)
{
	char reason[REJECTS_KIND_BYTES + 8];
	struct rejects r = {0};

	(void)state;
	memset(reason, 'x', sizeof(reason));
	memcpy(reason + REJECTS_KIND_BYTES - 3, "\xf0\x9f\x99\x82", 5);
	rejects_add(&r, reason);
	assert_int_equal(strlen(r.kind[0].reason), REJECTS_KIND_BYTES - 3);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_reasons_are_counted_by_kind),
	    cmocka_unit_test(test_more_kinds_than_are_kept_count_as_others),
	    cmocka_unit_test(test_the_longest_kinds_and_counts_fit_the_text),
	    cmocka_unit_test(test_a_reason_is_not_cut_inside_a_character),
	};

	return cmocka_run_group_tests_name("rejects", tests, NULL, NULL);
}
