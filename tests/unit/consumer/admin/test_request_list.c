/* request_list.h: what became of requests, from answers and the ledger's last record. */
#include "consumer/admin/request_list.h"

#include "tests/unit/test.h"

/* A request, its answer, and what the last record has of it. */
static struct request_entry
entry(const char *id, enum ledger_change_kind kind, const char *of, char answer)
{
	return (struct request_entry){
	    .asked = {.id = (char *)(uintptr_t)id, .kind = kind, .request = (char *)(uintptr_t)of},
	    .answer = {.id = answer == 0 ? NULL : (char *)(uintptr_t)id, .accepted = answer == 'y'},
	    .state = REQUEST_REFUSED + 1 /* of an earlier look */
	};
}

static void
test_each_request_has_the_state_that_its_answer_and_the_ledger_give(void **unused)
{
	static const struct {
		struct {
			const char *id;
			enum ledger_change_kind kind;
			const char *of; /* of a CANCEL: the request that it names */
			char answer;    /* 'y', 'n', 0: none yet */
		} asked[4];
		const char *pending[3];
		enum request_state state[4];
	} rows[] = {
	    {{{"a", LEDGER_WEIGHTS, NULL, 0}, {"b", LEDGER_SKIP, NULL, 'n'},
		 {"c", LEDGER_SKIP, NULL, 'y'}, {"d", LEDGER_JOIN, NULL, 'y'}},
		{"d", NULL}, {REQUEST_OPEN, REQUEST_REFUSED, REQUEST_IN_FORCE, REQUEST_ACCEPTED}},
	    /* Only an accepted CANCEL cancels: not a refused or open one, and no other kind. */
	    {{{"a", LEDGER_WEIGHTS, NULL, 'y'}, {"b", LEDGER_CANCEL, "a", 'y'},
		 {"c", LEDGER_WEIGHTS, NULL, 'y'}, {"d", LEDGER_CANCEL, "c", 'n'}},
		{"c", NULL},
		{REQUEST_CANCELLED, REQUEST_IN_FORCE, REQUEST_ACCEPTED, REQUEST_REFUSED}},
	    {{{"a", LEDGER_WEIGHTS, NULL, 'y'}, {"b", LEDGER_CANCEL, "a", 0},
		 {"c", LEDGER_SKIP, NULL, 'y'}, {"d", LEDGER_UNDO, "c", 'y'}},
		{"x", "a", NULL},
		{REQUEST_ACCEPTED, REQUEST_OPEN, REQUEST_IN_FORCE, REQUEST_IN_FORCE}},
	    /* a CANCEL of an unknown request */
	    {{{"a", LEDGER_CANCEL, "gone", 'y'}, {"b", LEDGER_CANCEL, "b", 'n'},
		 {"c", LEDGER_CANCEL, NULL, 'y'}, {"dd", LEDGER_SKIP, NULL, 'y'}},
		{"d", NULL},
		{REQUEST_IN_FORCE, REQUEST_REFUSED, REQUEST_IN_FORCE, REQUEST_IN_FORCE}},
	};

	(void)unused;
	EACH_ROW(i, rows) {
		struct request_entry e[4];
		struct request_list l = {.entry = e, .n = 4};
		struct ledger_change pending[3] = {{0}};
		struct ledger last = {.pending = pending};

		for (size_t k = 0; k < 4; k++)
			e[k] = entry(rows[i].asked[k].id, rows[i].asked[k].kind,
			    rows[i].asked[k].of, rows[i].asked[k].answer);
		for (; rows[i].pending[last.pending_n] != NULL; last.pending_n++)
			pending[last.pending_n].id =
			    (char *)(uintptr_t)rows[i].pending[last.pending_n];
		for (int twice = 0; twice < 2; twice++) {
			request_list_judge(&l, &last);
			for (size_t k = 0; k < 4; k++)
				assert_int_equal(e[k].state, rows[i].state[k]);
		}
		for (size_t k = 0; k < 4; k++)
			assert_ptr_equal(request_list_find(&l, rows[i].asked[k].id), &e[k]);
		assert_null(request_list_find(&l, "nobody"));
		assert_null(request_list_find(&l, NULL));
	}
}

/* An accepted request is in force once its step has come. */
static void
test_a_request_is_in_force_once_it_is_pending_no_more(void **unused)
{
	struct request_entry e = entry("a", LEDGER_WEIGHTS, NULL, 'y');
	struct request_list l = {.entry = &e, .n = 1};
	struct ledger_change pending = {.id = (char[]){"a"}};
	struct ledger last = {.pending = &pending, .pending_n = 1};

	(void)unused;
	request_list_judge(&l, &last);
	assert_int_equal(e.state, REQUEST_ACCEPTED);
	last.pending_n = 0;
	request_list_judge(&l, &last);
	assert_int_equal(e.state, REQUEST_IN_FORCE);
	request_list_judge(&l, NULL); /* a ledger that was deleted */
	assert_int_equal(e.state, REQUEST_IN_FORCE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_each_request_has_the_state_that_its_answer_and_the_ledger_give),
	    cmocka_unit_test(test_a_request_is_in_force_once_it_is_pending_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
