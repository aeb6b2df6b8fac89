#include "consumer/reader/watchdog.h"

#include "tests/unit/test.h"

static struct ledger_run slow_run[] = {{(char[]){"eval"}, 90}, {(char[]){"trainers"}, 40}};

static struct ledger_run level_run[] = {{(char[]){"eval"}, 40}, {(char[]){"trainers"}, 40}};
static char with_eval[] =
    "{\"changeable\":{\"max_lead_steps\":64,\"runs\":[\"trainers\",\"eval\"]}}";
static char without_eval[] = "{\"changeable\":{\"max_lead_steps\":64,\"runs\":[\"trainers\"]}}";
static char without_trainers[] =
    "{\"changeable\":{\"max_lead_steps\":64,\"runs\":[\"eval\",\"trainers2\"]}}";
static char without_runs[] = "{\"changeable\":{\"max_lead_steps\":64}}";
static char without_lead[] =
    "{\"changeable\":{\"max_lead_steps\":0,\"runs\":[\"trainers\",\"eval\"]}}";

static const struct {
	struct ledger ledger;
	int64_t age_ms;
	uint64_t step;
	const char *says;
} rows[] = {
    {{.step_next = 101}, 0, 100, "the mixer has published it (all steps below 101)"},
    {{.step_next = 100}, 9999, 100,
	"not published yet: step 100 is next, and the mixer wrote last 9 s"},
    {{.step_next = 100}, 10000, 100, "has stopped, or waits for its domains"},
    {{.step_next = 100}, -5, 100,
	"not published yet: step 100 is next, and the mixer wrote last 0 s"},
    {{.step_next = 100, .kind = LEDGER_END}, 10000, 100, "has ended before step 100"},
    {{.step_next = 103, .run = slow_run, .runs_n = 2, .config = without_runs}, 50, 103,
	"it is not published yet: step 10"},
    {{.step_next = 104, .run = slow_run, .runs_n = 2, .config = without_runs}, 50, 104,
	"at most 64 steps ahead and waits for run trainers, which has committed step 40"},
    {{.step_next = 104, .run = level_run, .runs_n = 2, .config = with_eval}, 50, 104,
	"and waits for runs eval, trainers, which have committed step 40 as far as it knows"},
    {{.step_next = 104, .run = level_run, .runs_n = 2, .config = without_eval}, 50, 104,
	"and waits for run trainers, which has committed step 40"},
    {{.step_next = 104, .run = slow_run, .runs_n = 2, .config = without_trainers}, 50, 104,
	"it is not published yet: step 10"},
    {{.step_next = 104, .run = slow_run, .runs_n = 2, .config = with_eval}, 50, 150,
	"step 104 is next: the mixer may be at most 64 steps ahead"},
    {{.step_next = 104, .run = slow_run, .runs_n = 2, .config = with_eval}, 50, 150,
	"Is the checkpoint that named this step of this mix?"},
    {{.step_next = 104, .run = slow_run, .runs_n = 2, .config = without_lead}, 50, 104,
	"it is not published yet: step 10"},
};

static void
test_the_last_record_says_what_is_waited_for(void **unused)
{
	char reason[512];

	(void)unused;
	EACH_NAMED_ROW(i, rows, says) {
		watchdog_judge(
		    &rows[i].ledger, rows[i].age_ms, rows[i].step, reason, sizeof(reason));
		if (strstr(reason, rows[i].says) == NULL)
			print_message("row %zu says: %s\n", i, reason);
		assert_non_null(strstr(reason, rows[i].says));
	}
}

static void
test_a_reason_is_cut_to_its_room(void **unused)
{
	char reason[16];

	(void)unused;
	watchdog_judge(&rows[0].ledger, 0, 100, reason, sizeof(reason));
	assert_int_equal(strlen(reason), sizeof(reason) - 1);
}

static void
test_a_broker_that_does_not_answer_is_said(void **unused)
{
	struct property item = {(char[]){"bootstrap.servers"}, (char[]){"127.0.0.1:1"}};
	struct properties properties = {.n = 1, .item = &item};
	struct watchdog *w = watchdog_open("m", &properties);
	char reason[512];

	(void)unused;
	assert_non_null(w);
	watchdog_why(w, 5, reason, sizeof(reason));
	assert_non_null(strstr(reason, "the broker does not answer: "));
	watchdog_close(w);
	watchdog_close(NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_the_last_record_says_what_is_waited_for),
	    cmocka_unit_test(test_a_reason_is_cut_to_its_room),
	    cmocka_unit_test(test_a_broker_that_does_not_answer_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
