#include "consumer/ledger/ledger_runs.h"

#include "tests/unit/test.h"

static const struct {
	const char *config;
	uint64_t lead;
	bool has; /* run `eval` */
	const char *list;
} rows[] = {
    {"{\"changeable\":{\"max_lead_steps\":64,\"runs\":[\"trainers\",\"eval\"]}}", 64, true,
	"trainers, eval"},
    {"{\"changeable\":{\"max_lead_steps\":0,\"runs\":[\"eval2\"]}}", 0, false, "eval2"},
    {"{\"changeable\":{\"runs\":[]}}", 0, false, ""},
    {"{\"changeable\":{\"max_lead_steps\":8}}", 8, true, ""}, /* any run may be meant */
    {"no JSON", 0, true, ""},
    {NULL, 0, true, ""},
};

static void
test_runs_are_those_of_the_recorded_configuration(void **unused)
{
	(void)unused;
	EACH_NAMED_ROW(i, rows, list) {
		struct ledger l = {.config = (char *)(uintptr_t)rows[i].config};
		struct ledger_runs runs;
		char list[32];

		ledger_runs_read(&runs, &l);
		assert_int_equal(runs.lead, rows[i].lead);
		assert_int_equal(ledger_runs_has(&runs, "eval"), rows[i].has);
		ledger_runs_list(&runs, list, sizeof(list));
		assert_string_equal(list, rows[i].list);
		ledger_runs_clear(&runs);
	}
}

static void
test_a_list_is_cut_to_its_room(void **unused)
{
	struct ledger_runs runs = {.text = (char[]){"[\"a\",\"b\",\"c\"]"}};
	char list[sizeof("a, b, c") + 2];

	(void)unused;
	for (size_t room = 1; room < sizeof(list); room++) {
		memset(list, 'x', sizeof(list));
		ledger_runs_list(&runs, list, room);
		assert_true(strlen(list) < room);
		assert_memory_equal(list, "a, b, c", strlen(list));
		assert_int_equal(list[room], 'x');
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_runs_are_those_of_the_recorded_configuration),
	    cmocka_unit_test(test_a_list_is_cut_to_its_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
