#include "common/base/nearest.h"

#include <dirent.h>
#include <stdio.h>

#include "tests/unit/folder.h"

static const char *
nearest_of(const char *word, const char *const *known, size_t n)
{
	struct nearest near;

	nearest_init(&near, word);
	for (size_t i = 0; i < n; i++)
		nearest_offer(&near, known[i]);
	return near.best;
}

static void
test_the_nearest_name_is_within_a_third_or_begins_with_the_word(void **unused)
{
	static const char *const known[] = {"lanes", "memory", "max_lead_steps", "config",
	    "commit-every", "train", "topics", "weights_unit", "weights"};
	static const struct {
		const char *word, *best;
	} rows[] = {
	    {"lane", "lanes"},
	    {"lnaes", "lanes"},
	    {"alnes", "lanes"},
	    {"Lanes", "lanes"},
	    {"lxnxs", "lanes"},
	    {"xxnxs", NULL},
	    {"momory", "memory"},
	    {"max-lead-steps", "max_lead_steps"},
	    {"commit", "commit-every"},
	    {"weight", "weights"}, /* of two that begin with it, the nearer */
	    {"co", NULL},
	    {"topcis", "topics"},
	    {"trian", "train"},
	    {"zzz", NULL},
	    {"", NULL},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, word) {
		const char *best =
		    nearest_of(rows[i].word, known, sizeof(known) / sizeof(known[0]));

		if (rows[i].best == NULL)
			assert_null(best);
		else
			assert_string_equal(best, rows[i].best);
	}
}

static void
test_the_first_of_equally_near_names_wins(void **unused)
{
	static const char *const known[] = {"bat", "cat"};

	(void)unused;
	assert_string_equal(nearest_of("hat", known, 2), "bat");
}

static void
test_words_of_no_common_letter_and_long_words_are_never_near(void **unused)
{
	static const char *const known[] = {"c", "ab"};
	char longest[NEAREST_BYTES_MAX + 2], same[NEAREST_BYTES_MAX + 2];
	const char *one = same;

	(void)unused;
	assert_null(nearest_of("x", known, 2));
	memset(longest, 'a', sizeof(longest));
	memset(same, 'a', sizeof(same));
	longest[NEAREST_BYTES_MAX] = same[NEAREST_BYTES_MAX] = '\0';
	assert_ptr_equal(nearest_of(longest, &one, 1), same);
	longest[NEAREST_BYTES_MAX] = 'a';
	longest[NEAREST_BYTES_MAX + 1] = '\0';
	assert_null(nearest_of(longest, &one, 1));
	one = longest;
	assert_null(nearest_of("aaa", &one, 1));
}

/* Optimal string alignment by its definition. */
static size_t
distance_slowly(const char *a, size_t a_n, const char *b, size_t b_n)
{
	size_t d, other;

	if (a_n == 0 || b_n == 0)
		return a_n + b_n;
	d = distance_slowly(a, a_n - 1, b, b_n - 1) + (a[a_n - 1] != b[b_n - 1]);
	other = distance_slowly(a, a_n - 1, b, b_n) + 1;
	d = other < d ? other : d;
	other = distance_slowly(a, a_n, b, b_n - 1) + 1;
	d = other < d ? other : d;
	if (a_n > 1 && b_n > 1 && a[a_n - 1] == b[b_n - 2] && a[a_n - 2] == b[b_n - 1]) {
		other = distance_slowly(a, a_n - 2, b, b_n - 2) + 1;
		d = other < d ? other : d;
	}
	return d;
}

static void
test_distances_are_those_of_the_definition(void **unused)
{
	uint32_t x = 5;

	(void)unused;
	print_message("seed %u\n", (unsigned)x);
	for (int round = 0; round < 5000; round++) {
		char word[2][8] = {"", ""};
		size_t n[2], longer, d;
		struct nearest near;
		bool begins;

		for (int k = 0; k < 2; k++) {
			x = x * 1664525 + 1013904223; /* Numerical Recipes, ranqd1 */
			n[k] = 1 + (x >> 16) % 6;
			for (size_t i = 0; i < n[k]; i++) {
				x = x * 1664525 + 1013904223;
				word[k][i] = (char)('a' + (x >> 16) % 3);
			}
		}
		longer = n[0] > n[1] ? n[0] : n[1];
		d = distance_slowly(word[0], n[0], word[1], n[1]);
		begins = n[0] >= 3 && strncmp(word[0], word[1], n[0]) == 0 && d > 0;
		nearest_init(&near, word[0]);
		nearest_offer(&near, word[1]);
		if ((begins ? 1 : d) > (longer + 2) / 3 || (begins ? 1 : d) == longer) {
			assert_null(near.best);
			continue;
		}
		assert_ptr_equal(near.best, word[1]);
		assert_int_equal(near.distance, begins ? 1 : d);
		assert_int_equal(near.exact, d);
	}
}

static void
test_a_failure_names_the_nearest_and_lists_what_there_is(void **unused)
{
	char name[] = "domain-00";
	struct nearest near;
	struct failure f;
	size_t n;

	(void)unused;
	nearest_init(&near, "wikki");
	nearest_list(&near, "code");
	nearest_list(&near, "wiki");
	nearest_offer(&near, "wikis"); /* not listed, and no nearer */
	fail(&f, FAIL_USAGE, "no domain wikki");
	assert_int_equal(nearest_fail_more(&near, "it has", &f), FAIL_USAGE);
	assert_string_equal(f.text, "no domain wikki (did you mean wiki?); it has code, wiki");

	nearest_init(&near, "zebra");
	fail(&f, FAIL_CONFIG, "no mix zebra");
	assert_int_equal(nearest_fail_more(&near, "the broker has the mixes", &f), FAIL_CONFIG);
	assert_string_equal(f.text, "no mix zebra");

	for (int i = 0; i < 60; i++) {
		snprintf(name, sizeof(name), "domain-%02u", (unsigned)i % 100);
		nearest_list(&near, name);
	}
	fail(&f, FAIL_USAGE, "no domain zebra");
	nearest_fail_more(&near, "it has", &f);
	n = strlen(f.text);
	assert_int_equal(n, strlen("no domain zebra; it has ") + NEAREST_NAMES_BYTES - 1 + 3);
	assert_string_equal(f.text + n - 3, "...");
}

static void
test_a_failure_names_none_of_several_equally_near(void **unused)
{
	static const struct {
		const char *names, *says;
	} rows[] = {
	    {"bat", "no hat (did you mean bat?); it has bat"},
	    {"bat bat", "no hat (did you mean bat?); it has bat, bat"},
	    {"bat cat", "no hat; it has bat, cat"},
	    {"bat cat bat", "no hat; it has bat, cat, bat"},
	    {"bat cat hat", "no hat (did you mean hat?); it has bat, cat, hat"},
	    {"hat bat cat", "no hat (did you mean hat?); it has hat, bat, cat"},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, names) {
		char names[64], *rest = NULL;
		struct nearest near;
		struct failure f;

		snprintf(names, sizeof(names), "%s", rows[i].names);
		nearest_init(&near, "hat");
		for (char *at = strtok_r(names, " ", &rest); at != NULL;
		     at = strtok_r(NULL, " ", &rest))
			nearest_list(&near, at);
		fail(&f, FAIL_USAGE, "no hat");
		nearest_fail_more(&near, "it has", &f);
		assert_string_equal(f.text, rows[i].says);
	}
}

static void
test_a_missing_path_is_ended_with_the_nearest_entry_of_its_kind(void **unused)
{
	static const struct {
		const char *path;
		unsigned char kind;
		const char *best; /* "": none */
	} rows[] = {
	    {"run.yaml", DT_REG, "run.yml"},
	    {"rnu", DT_DIR, "run"},
	    {"rnu", DT_REG, ""},
	    {"run/wbe", DT_DIR, "run/web"},
	    {"zebra", DT_REG, ""},
	    {"none/run.yaml", DT_REG, ""},
	    {"run/", DT_DIR, ""},
	    {".ru", DT_REG, ""},
	};
	struct failure f;

	(void)unused;
	folder_text("run.yml", "");
	folder_text(".run", "");
	folder_make("run");
	folder_make("run/web");
	EACH_NAMED_ROW(i, rows, path) {
		char expected[512] = "gone";

		if (rows[i].best[0] != '\0')
			snprintf(expected, sizeof(expected), "gone (did you mean %s?)",
			    folder_path(rows[i].best));
		fail(&f, FAIL_CONFIG, "gone");
		assert_int_equal(nearest_path_more(folder_path(rows[i].path), rows[i].kind, &f),
		    rows[i].best[0] != '\0');
		assert_string_equal(f.text, expected);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_the_nearest_name_is_within_a_third_or_begins_with_the_word),
	    cmocka_unit_test(test_the_first_of_equally_near_names_wins),
	    cmocka_unit_test(test_words_of_no_common_letter_and_long_words_are_never_near),
	    cmocka_unit_test(test_distances_are_those_of_the_definition),
	    cmocka_unit_test(test_a_failure_names_the_nearest_and_lists_what_there_is),
	    cmocka_unit_test(test_a_failure_names_none_of_several_equally_near),
	    cmocka_unit_test_setup_teardown(
		test_a_missing_path_is_ended_with_the_nearest_entry_of_its_kind, folder_open,
		folder_close),
	};

	return cmocka_run_group_tests_name("nearest", tests, NULL, NULL);
}
