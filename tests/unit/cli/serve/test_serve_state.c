/* serve_state.h: what clients get is the newest that was put, and why it is old. */
#include "cli/serve/serve_state.h"

#include "tests/unit/test.h"

/* A snapshot of an empty status, told apart by when it was read. */
static struct serve_snapshot *
snapshot(int64_t read_ms)
{
	struct serve_snapshot *s;
	struct status *st = calloc(1, sizeof(*st));

	assert_non_null(st);
	assert_int_equal(serve_snapshot_make(&s, st, read_ms, &f), FAIL_NONE);
	return s;
}

/*
 * Letters are events in their order: p and q put a snapshot that is read at 1 and 2 s, e and h fail
 * for one reason or another.
 */
static void
test_a_client_gets_the_newest_snapshot_and_what_failed_since(void **unused)
{
	static const struct {
		const char *events;
		int64_t read_ms; /* 0: none */
		const char *why;
	} rows[] = {
	    {"", 0, ""},
	    {"e", 0, "no broker"},
	    {"p", 1000, ""},
	    {"pe", 1000, "no broker"},
	    {"ep", 1000, ""}, /* what failed before it is over */
	    {"pq", 2000, ""},
	    {"peq", 2000, ""},
	    {"peh", 1000, "no"},
	    {"eh", 0, "no"},
	    {"phe", 1000, "no broker"},
	    {"pehqe", 2000, "no broker"},
	    {"pehqep", 1000, ""},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, events) {
		struct serve_state s;
		struct serve_snapshot *got;
		char why[FAILURE_TEXT_MAX] = "not set";

		serve_state_init(&s);
		for (const char *at = rows[i].events; *at != '\0'; at++)
			switch (*at) {
			case 'p': serve_state_put(&s, snapshot(1000)); break;
			case 'q': serve_state_put(&s, snapshot(2000)); break;
			case 'e': serve_state_fail(&s, "no broker"); break;
			default: serve_state_fail(&s, "no"); break;
			}
		for (int twice = 0; twice < 2; twice++) { /* asking changes nothing */
			serve_state_get(&s, &got, why);
			assert_string_equal(why, rows[i].why);
			if (rows[i].read_ms == 0)
				assert_null(got);
			else
				assert_int_equal(got->read_ms, rows[i].read_ms);
			serve_snapshot_release(got);
		}
		serve_state_clear(&s);
	}
}

static void
test_a_reason_that_is_too_long_is_cut(void **unused)
{
	static const size_t lengths[] = {
	    FAILURE_TEXT_MAX - 1, FAILURE_TEXT_MAX, FAILURE_TEXT_MAX + 1};

	(void)unused;
	EACH_ROW(i, lengths) {
		char text[FAILURE_TEXT_MAX + 2] = "", why[FAILURE_TEXT_MAX];
		struct serve_state s;
		struct serve_snapshot *got;

		memset(text, 'x', lengths[i]);
		serve_state_init(&s);
		serve_state_fail(&s, text);
		serve_state_get(&s, &got, why);
		assert_int_equal(strlen(why), FAILURE_TEXT_MAX - 1);
		serve_state_clear(&s);
	}
}

/* Who has got it keeps it, whatever is put or cleared meanwhile; the last one frees it. */
static void
test_a_snapshot_lives_as_long_as_one_uses_it(void **unused)
{
	struct serve_state s;
	struct serve_snapshot *first, *again, *second;
	char why[FAILURE_TEXT_MAX];

	(void)unused;
	serve_state_init(&s);
	serve_state_put(&s, snapshot(1));
	serve_state_get(&s, &first, why);
	serve_state_get(&s, &again, why);
	assert_ptr_equal(first, again);
	assert_int_equal(atomic_load(&first->references), 3);
	serve_snapshot_release(again);
	assert_int_equal(atomic_load(&first->references), 2);
	serve_state_put(&s, snapshot(2));
	assert_int_equal(atomic_load(&first->references), 1);
	assert_int_equal(first->read_ms, 1);
	serve_state_get(&s, &second, why);
	assert_int_equal(second->read_ms, 2);
	serve_state_fail(&s, "no broker");
	assert_int_equal(atomic_load(&second->references), 2); /* a failure lets go of none */
	serve_state_clear(&s);
	assert_int_equal(atomic_load(&second->references), 1);
	serve_snapshot_release(first);
	serve_snapshot_release(second);
	serve_snapshot_release(NULL);
}

/* Once for all who ask; the two texts are apart. */
static void
test_texts_are_made_for_the_first_who_asks(void **unused)
{
	char corpus[] = "demo", mix[] = "pre";
	const struct config config = {.corpus = corpus,
	    .sequence_length = 8,
	    .split = {1, 0, 0},
	    .mix = {.name = mix, .global_batch = 8, .lanes = 1, .partitions = 1}};
	struct serve_snapshot *s = snapshot(1);
	const char *status, *metrics;

	(void)unused;
	s->of->config = &config;
	s->of->state = STATUS_NOT_STARTED;
	s->of->first_end = -1;
	s->of->next_phase_step = -1;
	s->of->problem = calloc(1, sizeof(*s->of->problem));
	assert_int_equal(topic_plan_open(&s->of->plan, &config, &f), FAIL_NONE);
	s->of->report = calloc(s->of->plan->n, sizeof(*s->of->report));
	assert_null(s->status);
	assert_null(s->metrics);
	status = serve_snapshot_status(s);
	assert_null(s->metrics);
	metrics = serve_snapshot_metrics(s);
	assert_non_null(strstr(status, "\"corpus\":\"demo\""));
	assert_ptr_equal(strchr(status, '\n'), status + strlen(status) - 1); /* one line */
	assert_ptr_equal(strstr(metrics, "# "), metrics);
	assert_null(strstr(metrics, "riffle_up"));
	assert_ptr_equal(serve_snapshot_status(s), status);
	assert_ptr_equal(serve_snapshot_metrics(s), metrics);
	serve_snapshot_release(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_client_gets_the_newest_snapshot_and_what_failed_since),
	    cmocka_unit_test(test_a_reason_that_is_too_long_is_cut),
	    cmocka_unit_test(test_a_snapshot_lives_as_long_as_one_uses_it),
	    cmocka_unit_test(test_texts_are_made_for_the_first_who_asks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
