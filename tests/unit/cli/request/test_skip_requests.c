/*
 * skip_requests.h: the request of a range of the command line, and those of the sequences of steps,
 * which are the test's here.
 */
#include "cli/request/skip_requests.h"

#include "consumer/replay/published_step.h"
#include "tests/unit/printed.h"

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

/* ---- the sequences of steps ---- */

enum { PLACES_MAX = 16, STEP_FIRST = 40 };

/* What steps 40, 41 and 42 hold. The next one is not published. */
static const struct step {
	size_t n;
	struct published_place place[PLACES_MAX];
} steps[] = {
    {6, {{.domain = "web", .ordinal = 7}, {.domain = "code", .ordinal = 3},
	    {.domain = "web", .ordinal = 9}, {.domain = "web", .ordinal = 8, .lane = 1},
	    {.domain = "web", .partition = 1, .ordinal = 4, .lane = 1},
	    {.domain = "code", .ordinal = 3, .lane = 1}}},
    {4, {{.domain = "web", .ordinal = 10}, {.domain = "web", .partition = 1, .ordinal = 6},
	    {.domain = "code", .ordinal = 5, .lane = 1},
	    {.domain = "code", .ordinal = 4, .lane = 1}}},
    {0, {{.ordinal = 0}}},
};
static const struct config config;
static size_t opened, many;
static int64_t lane_asked;

enum fail_code
published_step_open(struct published_step *out, const char *mix, const struct config *c,
    uint64_t step, struct failure *f)
{
	assert_string_equal(mix, "pre");
	assert_ptr_equal(c, &config);
	*out = (struct published_step){.step = step};
	if (step - STEP_FIRST >= sizeof(steps) / sizeof(steps[0]))
		return fail(f, FAIL_DATA, "step %d is not published", (int)step);
	opened++;
	return FAIL_NONE;
}

void
published_step_close(struct published_step *s)
{
	opened -= s->step - STEP_FIRST < sizeof(steps) / sizeof(steps[0]);
}

enum fail_code
published_step_places(struct published_place **out, size_t *n, const struct published_step *s,
    int64_t lane, struct failure *f)
{
	const struct step *step = &steps[s->step - STEP_FIRST];

	lane_asked = lane;
	*n = 0;
	*out = calloc(PLACES_MAX + many, sizeof(**out));
	assert_non_null(*out);
	for (size_t i = 0; i < step->n; i++)
		if (lane < 0 || step->place[i].lane == lane)
			(*out)[(*n)++] = step->place[i];
	for (size_t i = 0; i < many; i++)
		(*out)[(*n)++] = (struct published_place){.domain = "d", .ordinal = 2 * i};
	return lane == 9 ? fail(f, FAIL_DATA, "no lane 9") : FAIL_NONE;
}

int
published_place_by_log(const void *a, const void *b)
{
	const struct published_place *x = a, *y = b;
	int domain = strcmp(x->domain, y->domain);

	if (domain != 0)
		return domain;
	if (x->partition != y->partition)
		return x->partition < y->partition ? -1 : 1;
	return (x->ordinal > y->ordinal) - (x->ordinal < y->ordinal);
}

static void
test_neighbours_of_steps_become_one_request(void **unused)
{
	static const struct {
		uint64_t first, end;
		int64_t lane;
		enum fail_code code;
		const char *text; /* of the requests, or the failure */
	} rows[] = {
	    {40, 41, -1, FAIL_NONE,
		"x-0 code/0 3..4\n"
		"x-1 web/0 7..10\n"
		"x-2 web/1 4..5\n"},
	    {40, 41, 0, FAIL_NONE,
		"x-0 code/0 3..4\n"
		"x-1 web/0 7..8\n"
		"x-2 web/0 9..10\n"},
	    {40, 41, 1, FAIL_NONE,
		"x-0 code/0 3..4\n"
		"x-1 web/0 8..9\n"
		"x-2 web/1 4..5\n"},
	    {40, 43, -1, FAIL_NONE,
		"x-0 code/0 3..6\n"
		"x-1 web/0 7..11\n"
		"x-2 web/1 4..5\n"
		"x-3 web/1 6..7\n"},
	    {42, 43, -1, FAIL_NONE, ""},
	    {42, 44, -1, FAIL_DATA, "step 43 is not published"},
	    {40, 41, 9, FAIL_DATA, "no lane 9"},
	};
	static const enum ledger_change_kind kinds[] = {LEDGER_SKIP, LEDGER_UNDO};

	(void)unused;
	EACH_ROW(k, kinds)
		EACH_NAMED_ROW(i, rows, text) {
			char text[512] = "";
			struct control *c;
			size_t n, used = 0;

			assert_int_equal(skip_requests_steps(&c, &n, kinds[k], "pre", &config,
					     rows[i].first, rows[i].end, rows[i].lane, "x", &f),
			    rows[i].code);
			assert_int_equal(lane_asked, rows[i].lane);
			assert_int_equal(opened, 0);
			for (size_t j = 0; rows[i].code == FAIL_NONE && j < n; j++) {
				assert_int_equal(c[j].kind, kinds[k]);
				assert_int_equal(c[j].at_step, -1);
				assert_non_null(strchr(c[j].who, '@'));
				used += (size_t)snprintf(text + used, sizeof(text) - used,
				    "%s %s/%d %d..%d\n", c[j].id, c[j].domain, (int)c[j].partition,
				    (int)c[j].first, (int)c[j].end);
			}
			printed_compare(rows[i].code == FAIL_NONE ? text : f.text, rows[i].text);
			skip_requests_free(c, n);
		}
}

static void
test_new_ids_of_one_command_differ_by_their_number(void **unused)
{
	struct control *c;
	size_t n;

	(void)unused;
	assert_int_equal(
	    skip_requests_steps(&c, &n, LEDGER_UNDO, "pre", &config, 40, 41, -1, NULL, &f),
	    FAIL_NONE);
	assert_int_equal(n, 3);
	assert_memory_equal(c[0].id, "undo-", 5);
	assert_int_equal(strlen(c[0].id), 5 + 16 + 2);
	assert_string_equal(c[0].id + 5 + 16, "-0");
	assert_memory_equal(c[1].id, c[0].id, 5 + 16);
	assert_string_equal(c[2].id + 5 + 16, "-2");
	skip_requests_free(c, n);
}

/* As many ranges as a ledger keeps are asked for, and one more is not. */
static void
test_more_ranges_than_a_ledger_keeps_are_refused(void **unused)
{
	struct control *c;
	size_t n;

	(void)unused;
	many = LEDGER_SKIPS_MAX;
	assert_int_equal(
	    skip_requests_steps(&c, &n, LEDGER_SKIP, "pre", &config, 42, 43, -1, "x", &f),
	    FAIL_NONE);
	assert_int_equal(n, LEDGER_SKIPS_MAX);
	assert_string_equal(c[n - 1].id, "x-4095");
	skip_requests_free(c, n);
	many++;
	assert_int_equal(
	    skip_requests_steps(&c, &n, LEDGER_SKIP, "pre", &config, 42, 43, -1, "x", &f),
	    FAIL_USAGE);
	assert_string_equal(f.text,
	    "steps 42..43 hold 4097 stretches of ordinals, and the ledger keeps 4096 ranges: name "
	    "fewer steps");
	skip_requests_free(c, n);
	many = 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_place_without_a_partition_has_one_only),
	    cmocka_unit_test(test_neighbours_of_steps_become_one_request),
	    cmocka_unit_test(test_new_ids_of_one_command_differ_by_their_number),
	    cmocka_unit_test(test_more_ranges_than_a_ledger_keeps_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
