/* Reports of losses by riffle.h. The reporter, which writes to a topic, is replaced here. */
#include "consumer/reader/riffle_internal.h"

#include "common/base/clock.h"
#include "common/base/limits.h"
#include "consumer/feedback/reporter.h"
#include "tests/unit/test.h"

/* ---- in place of reporter.c ---- */

enum { FLUSH_CALLS_MAX = 64 };

static char opened[256], sent[512]; /* what the last calls were given */
static int reporters;               /* that are open */
static enum fail_code fails;        /* of the next call */
static int flush_ms[FLUSH_CALLS_MAX], flushes;

enum fail_code
reporter_open(struct reporter **out, const char *mix, const struct properties *properties,
    int timeout_ms, struct failure *why)
{
	snprintf(opened, sizeof(opened), "%s %s=%s %zu %d", mix, properties->item[0].name,
	    properties->item[0].value, properties->n, timeout_ms);
	if (fails != FAIL_NONE)
		return fail(why, fails, "no reporter");
	*out = (struct reporter *)&reporters;
	reporters++;
	return FAIL_NONE;
}

void
reporter_close(struct reporter *r)
{
	reporters -= r != NULL;
}

enum fail_code
reporter_send(struct reporter *r, const struct feedback *b, struct failure *why)
{
	int n = snprintf(sent, sizeof(sent), "%s %s step %d rank %u of %u", b->mix, b->run,
	    (int)b->step, b->rank, b->world);

	assert_ptr_equal((const void *)r, &reporters);
	for (size_t i = 0; i < b->losses_n; i++)
		n += snprintf(sent + n, sizeof(sent) - (size_t)n, " %s=%g/%g/%d", b->loss[i].domain,
		    b->loss[i].loss_sum, b->loss[i].excess_sum, (int)b->loss[i].tokens);
	return fails == FAIL_NONE ? FAIL_NONE : fail(why, fails, "not sent");
}

/* With FAIL_TIMEOUT it waits for all the time that it is given. */
enum fail_code
reporter_flush(struct reporter *r, int timeout_ms, struct failure *why)
{
	assert_ptr_equal((const void *)r, &reporters);
	assert_true(flushes < FLUSH_CALLS_MAX);
	flush_ms[flushes++] = timeout_ms;
	if (fails == FAIL_TIMEOUT)
		clock_pause_ms(timeout_ms);
	return fails == FAIL_NONE ? FAIL_NONE : fail(why, fails, "not delivered");
}

/* ---- tests ---- */

static const struct riffle_options options = {.size = sizeof(options),
    .mix = "m",
    .bootstrap = "b:1",
    .rank = 1,
    .world = 3,
    .open_timeout_ms = 77};

static void
test_a_report_has_the_place_of_its_reporter(void **unused)
{
	static const struct riffle_loss loss[] = {{"web", 1.5, 0.5, 10}, {"code", 2.5, 0.25, 20}};
	struct riffle_options o = options;
	struct riffle_reporter *r;
	struct riffle_error e;

	(void)unused;
	fails = FAIL_NONE;
	assert_int_equal(riffle_reporter_open(&r, &o, &e), RIFFLE_OK);
	assert_string_equal(opened, "m bootstrap.servers=b:1 1 77");
	assert_int_equal(riffle_reporter_report(r, 7, loss, 2, &e), RIFFLE_OK);
	assert_string_equal(sent, "m trainers step 7 rank 1 of 3 code=2.5/0.25/20 web=1.5/0.5/10");
	assert_int_equal(riffle_reporter_report(r, LIMIT_STEP - 1, NULL, 0, &e), RIFFLE_OK);
	sent[0] = '\0';
	assert_int_equal(riffle_reporter_report(r, LIMIT_STEP, loss, 2, &e), RIFFLE_ERROR_USAGE);
	assert_non_null(strstr(e.text, ": the step is out of range"));
	assert_int_equal(riffle_reporter_report(r, UINT64_MAX, loss, 2, &e), RIFFLE_ERROR_USAGE);
	assert_string_equal(e.text, "losses of step -1: the step is out of range");
	assert_string_equal(sent, "");
	fails = FAIL_BROKER;
	assert_int_equal(riffle_reporter_report(r, 8, loss, 1, &e), RIFFLE_ERROR_BROKER);
	assert_string_equal(e.text, "losses of step 8: not sent");
	riffle_reporter_close(r);
	assert_int_equal(reporters, 0);
	o.run = "eval";
	o.open_timeout_ms = 0;
	assert_int_equal(riffle_reporter_open(&r, &o, &e), RIFFLE_ERROR_BROKER);
	assert_null(r);
	assert_string_equal(e.text, "no reporter");
	assert_string_equal(opened, "m bootstrap.servers=b:1 1 10000");
	fails = FAIL_NONE;
	assert_int_equal(riffle_reporter_open(&r, &o, &e), RIFFLE_OK);
	assert_int_equal(riffle_reporter_report(r, 0, NULL, 0, &e), RIFFLE_OK);
	assert_string_equal(sent, "m eval step 0 rank 1 of 3");
	riffle_reporter_close(r);
	riffle_reporter_close(NULL);
	o.rank = 3;
	r = (struct riffle_reporter *)&o;
	assert_int_equal(riffle_reporter_open(&r, &o, &e), RIFFLE_ERROR_USAGE);
	assert_null(r);
}

static void
test_a_flush_waits_in_slices_until_its_deadline(void **unused)
{
	static const struct {
		int timeout_ms, calls; /* at most */
	} rows[] = {{-1, 1}, {0, 1}, {50, 2}, {250, 4}};
	struct riffle_reporter *r;
	struct riffle_error e;

	(void)unused;
	fails = FAIL_NONE;
	assert_int_equal(riffle_reporter_open(&r, &options, &e), RIFFLE_OK);
	flushes = 0;
	assert_int_equal(riffle_reporter_flush(r, 1000, &e), RIFFLE_OK);
	assert_int_equal(flushes, 1);
	EACH_ROW(i, rows) {
		int64_t begun_ms = clock_ms();

		flushes = 0;
		fails = FAIL_TIMEOUT;
		assert_int_equal(riffle_reporter_flush(r, rows[i].timeout_ms, &e), RIFFLE_TIMEOUT);
		assert_string_equal(e.text, "not delivered");
		assert_true(clock_ms() - begun_ms >= rows[i].timeout_ms);
		assert_true(flushes >= 1 && flushes <= rows[i].calls);
		for (int k = 0; k < flushes; k++)
			assert_true(flush_ms[k] >= 0 && flush_ms[k] <= RIFFLE_GATE_SLICE_MS);
	}
	fails = FAIL_BROKER;
	assert_int_equal(riffle_reporter_flush(r, 1000, &e), RIFFLE_ERROR_BROKER);
	flushes = 0;
	riffle_reporter_close(r); /* gives what is on its way a moment */
	assert_int_equal(flushes, 1);
	assert_int_equal(flush_ms[0], RIFFLE_CLOSE_TIMEOUT_MS);
}

static void
test_losses_are_sorted_and_those_without_tokens_are_left_out(void **unused)
{
	static const struct riffle_loss loss[] = {
	    {"web", 1.5, 0.5, 10}, {"empty", 9, 9, 0}, {"code", 2.5, 0, 20}};
	struct feedback b = {0};
	struct failure f;

	(void)unused;
	assert_int_equal(riffle_gather_losses(&b, loss, 3, &f), FAIL_NONE);
	assert_int_equal(b.losses_n, 2);
	assert_string_equal(b.loss[0].domain, "code");
	assert_int_equal(b.loss[0].tokens, 20);
	assert_string_equal(b.loss[1].domain, "web");
	assert_true(b.loss[1].loss_sum == 1.5 && b.loss[1].excess_sum == 0.5);
	free(b.loss);
}

static void
test_no_losses_are_a_report_too(void **unused)
{
	struct feedback b = {0};
	struct failure f;

	(void)unused;
	assert_int_equal(riffle_gather_losses(&b, NULL, 0, &f), FAIL_NONE);
	assert_int_equal(b.losses_n, 0);
	free(b.loss);
}

static void
test_what_is_wrong_with_losses_is_named(void **unused)
{
	static const struct {
		struct riffle_loss loss[2];
		const char *text;
	} rows[] = {
	    {{{"web", 1, 0, 1}, {NULL, 1, 0, 1}}, "\"\" is not a name of a domain"},
	    {{{"web", 1, 0, 1}, {"a b", 1, 0, 0}}, "\"a b\" is not a name of a domain"},
	    {{{"web", 1, 0, -1}, {"code", 1, 0, 1}}, "domain web: -1 tokens, must be at least 0"},
	    {{{"web", 1, 0, 1}, {"web", 1, 0, 2}}, "domain web twice"},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, text) {
		struct feedback b = {0};
		struct failure f = {0};

		assert_int_equal(riffle_gather_losses(&b, rows[i].loss, 2, &f), FAIL_USAGE);
		assert_string_equal(f.text, rows[i].text);
		free(b.loss);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_losses_are_sorted_and_those_without_tokens_are_left_out),
	    cmocka_unit_test(test_no_losses_are_a_report_too),
	    cmocka_unit_test(test_what_is_wrong_with_losses_is_named),
	    cmocka_unit_test(test_a_report_has_the_place_of_its_reporter),
	    cmocka_unit_test(test_a_flush_waits_in_slices_until_its_deadline),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
