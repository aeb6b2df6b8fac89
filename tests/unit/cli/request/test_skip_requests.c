/* skip_requests.h: the request of a range of the command line. */
#include "cli/request/skip_requests.h"

#include "tests/unit/test.h"

static struct ledger_partition partition[3];
static struct ledger_domain mixed[] = {
    {.name = (char[]){"web"}, .partition = partition, .partitions_n = 3},
    {.name = (char[]){"code"}, .partition = partition, .partitions_n = 1},
};
static const struct ledger started = {.domain = mixed, .domains_n = 2};

/* What the ledger does not know is for the mixer to judge. */
static void
test_a_place_without_a_partition_has_one_only(void **unused)
{
	static const struct {
		const char *place, *range;
		const struct ledger *last;
		enum fail_code code;
		const char *says, *domain;
		int32_t partition;
		int64_t first, end;
	} rows[] = {
	    {"code", "5..8", &started, FAIL_NONE, "", "code", 0, 5, 8},
	    {"code/0", "0..1", &started, FAIL_NONE, "", "code", 0, 0, 1},
	    {"web/0", "5..8", &started, FAIL_NONE, "", "web", 0, 5, 8},
	    {"web/2", "5..8", &started, FAIL_NONE, "", "web", 2, 5, 8},
	    {"web", "5..8", NULL, FAIL_NONE, "", "web", 0, 5, 8},
	    {"web/7", "5..8", NULL, FAIL_NONE, "", "web", 7, 5, 8},
	    {"other", "5..8", &started, FAIL_NONE, "", "other", 0, 5, 8},
	    {"other/7", "5..8", &started, FAIL_NONE, "", "other", 7, 5, 8},
	    {"web", "5..8", &started, FAIL_USAGE,
		"domain web has 3 partitions, each with its own ordinals: say which, as web/0", "",
		0, 0, 0},
	    {"web/3", "5..8", &started, FAIL_DATA, "domain web has no partition 3 (0 to 2)", "", 0,
		0, 0},
	    {"code/1", "5..8", &started, FAIL_DATA, "domain code has no partition 1 (0 to 0)", "",
		0, 0, 0},
	    {"code/x", "5..8", &started, FAIL_USAGE, "code/x", "", 0, 0, 0},
	    {"code", "5", &started, FAIL_USAGE, "5", "", 0, 0, 0},
	    {"code", "8..5", &started, FAIL_USAGE, "8..5", "", 0, 0, 0},
	    {"code", "5..5", &started, FAIL_USAGE, "5..5", "", 0, 0, 0},
	};
	static const enum ledger_change_kind kinds[] = {LEDGER_SKIP, LEDGER_UNDO};

	(void)unused;
	EACH_ROW(k, kinds)
		EACH_NAMED_ROW(i, rows, place) {
			struct control *c;
			size_t n;

			assert_int_equal(
			    skip_requests_range(&c, &n, kinds[k], rows[i].place, rows[i].range,
				rows[i].last, i % 2 == 0 ? "an-id" : NULL, &f),
			    rows[i].code);
			if (rows[i].code == FAIL_NONE) {
				assert_int_equal(n, 1);
				assert_int_equal(c->kind, kinds[k]);
				assert_int_equal(c->at_step, -1);
				assert_string_equal(c->domain, rows[i].domain);
				assert_int_equal(c->partition, rows[i].partition);
				assert_int_equal(c->first, rows[i].first);
				assert_int_equal(c->end, rows[i].end);
				if (i % 2 == 0)
					assert_string_equal(c->id, "an-id");
				else
					assert_memory_equal(c->id, k == 0 ? "skip-" : "undo-", 5);
			} else {
				assert_non_null(strstr(f.text, rows[i].says));
			}
			skip_requests_free(c, n);
		}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_place_without_a_partition_has_one_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
