/* special_list.h: whatever the order of the notes, ids ascend, and the last text of each counts. */
#include "producer/tokenizer/special_list.h"

#include "tests/unit/test.h"

enum { NOTES_MAX = 300, IDS = 40 };

struct note {
	uint32_t id;
	const char *text;
};

/* Gives notes[n], and compares what the tokenizer has with the last text of each id, in order. */
static void
check(const struct note *notes, size_t n)
{
	struct special_list l = {.entry = NULL};
	struct recipe recipe = {.byte_level = false};
	struct tokenizer t = {.recipe = &recipe};
	size_t at = 0;

	for (size_t i = 0; i < n; i++)
		assert_int_equal(
		    special_list_add(&l, notes[i].id, notes[i].text, strlen(notes[i].text), &f),
		    FAIL_NONE);
	assert_int_equal(special_list_give(&l, &t, &f), FAIL_NONE);
	for (uint32_t id = 0; id < IDS; id++) {
		const char *last = NULL;

		for (size_t i = 0; i < n; i++)
			if (notes[i].id == id)
				last = notes[i].text;
		if (last == NULL)
			continue;
		assert_true(at < t.specials_n);
		assert_int_equal(t.special[at].id, id);
		assert_string_equal(t.special[at++].text, last);
	}
	assert_int_equal(at, t.specials_n);
	assert_ptr_equal(t.special, t.special_owned);
	assert_int_equal(l.n, 0); /* the list is empty, and can be used again */
	assert_null(l.entry);
	free(t.special_owned);
	buffer_close(&recipe.texts);
	special_list_close(&l);
}

static void
test_the_last_text_of_an_id_counts(void **unused)
{
	static const struct {
		const char *claim;
		struct note notes[4];
		size_t n;
	} rows[] = {
	    {"none", {{0, NULL}}, 0},
	    {"one", {{7, "x"}}, 1},
	    {"in order", {{1, "a"}, {2, "b"}, {3, "c"}}, 3},
	    {"in the other order", {{3, "c"}, {2, "b"}, {1, "a"}}, 3},
	    {"twice", {{1, "old"}, {1, "new"}}, 2},
	    {"three times", {{1, "old"}, {1, "newer"}, {1, "new"}}, 3},
	    {"twice, with others between", {{2, "old"}, {1, "a"}, {3, "b"}, {2, "new"}}, 4},
	    {"two ids twice", {{2, "x"}, {1, "y"}, {2, "y"}, {1, "x"}}, 4},
	    {"the same text", {{1, "x"}, {2, "x"}, {1, "x"}}, 3},
	    {"empty at last", {{1, "x"}, {1, ""}}, 2},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, claim)
		check(rows[i].notes, rows[i].n);
}

static void
test_many_notes_in_any_order(void **unused)
{
	static char text[NOTES_MAX][12];
	struct note notes[NOTES_MAX];
	uint64_t seed = 1;

	(void)unused;
	for (size_t n = 1; n <= NOTES_MAX; n += n < 20 ? 1 : 40) {
		for (size_t i = 0; i < n; i++) {
			seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
			snprintf(text[i], sizeof(text[i]), "<%zu>", i);
			notes[i] = (struct note){(uint32_t)(seed >> 33) % IDS, text[i]};
		}
		check(notes, n);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_the_last_text_of_an_id_counts),
	    cmocka_unit_test(test_many_notes_in_any_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
