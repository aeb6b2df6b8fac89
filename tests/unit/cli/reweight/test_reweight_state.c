/* reweight_state.h: what a run has saved is what the next one has; no broker. */
#include "cli/reweight/reweight_state.h"
#include "tests/unit/folder.h"

enum { DOMAINS = 2 };

static char *names[] = {(char[]){"code"}, (char[]){"web"}};
static struct config_domain configured[DOMAINS] = {{.name = "code"}, {.name = "web"}};
static const struct config config = {.domains_n = DOMAINS, .domains = configured};
static struct failure f;

static struct reweight_job
opened(const struct reweight_job_arguments *a)
{
	static const double floor[DOMAINS], ceiling[DOMAINS] = {1, 1};
	const struct reweight_options o = {.method = a->method,
	    .floor = floor,
	    .ceiling = ceiling,
	    .domains_n = DOMAINS,
	    .eta = a->eta,
	    .smoothing = a->smoothing,
	    .memory = a->memory};
	struct reweight_job job = {.a = a,
	    .config = &config,
	    .domain = names,
	    .domains_n = DOMAINS,
	    .learner = calloc(1, sizeof(struct reweight)),
	    .id = "0000000000000000"};

	assert_non_null(job.learner);
	reweight_init(job.learner, &o);
	return job;
}

static struct reweight_job_arguments
arguments(enum reweight_method method)
{
	return (struct reweight_job_arguments){.mix = "pre",
	    .run = "trainers",
	    .out = folder_path("out.json"),
	    .method = method,
	    .eta = 0.1,
	    .smoothing = 1e-3,
	    .memory = 0.9};
}

/* Sums that no short decimal fraction is equal to; an excess where `excess`. */
static void
learn(struct reweight_job *job, int64_t step, bool excess)
{
	const struct losses_sum sum[DOMAINS] = {
	    {.loss_sum = 10.0 / 3, .excess_sum = excess ? 1.0 / 7 : 0, .tokens = 11},
	    {.loss_sum = 20.0 / 7, .excess_sum = excess ? 2.0 / 3 : 0, .tokens = 13}};

	reweight_step(job->learner, &(struct losses_step){.step = step, .world = 1, .sum = sum});
}

static void
check_same_learner(const struct reweight *a, const struct reweight *b)
{
	enum { BYTES = DOMAINS * sizeof(double) };

	assert_int_equal(reweight_steps(a), reweight_steps(b));
	assert_int_equal(a->excess_seen, b->excess_seen);
	if (a->method == REWEIGHT_DOREMI) {
		assert_memory_equal(a->of.doremi.weight, b->of.doremi.weight, BYTES);
		assert_memory_equal(a->of.doremi.excess, b->of.doremi.excess, BYTES);
		assert_memory_equal(a->of.doremi.average, b->of.doremi.average, BYTES);
	} else {
		assert_memory_equal(a->of.odm.weight, b->of.odm.weight, BYTES);
		assert_memory_equal(a->of.odm.reward, b->of.odm.reward, BYTES);
	}
}

static void
test_what_was_saved_is_what_the_next_run_has(void **unused)
{
	(void)unused;
	for (int k = 0; k < 4; k++) {
		struct reweight_job_arguments a = arguments(k < 2 ? REWEIGHT_DOREMI : REWEIGHT_ODM);
		struct reweight_job was = opened(&a), is = opened(&a);
		bool found;

		snprintf(was.id, sizeof(was.id), "9f0c9f0c9f0c9f0%u", (unsigned)k % 10);
		for (int64_t step = 0; step < 5; step++)
			learn(&was, step, k % 2 == 1);
		was.offset_next = 101;
		was.offset_counted = 102;
		was.step_next = 5;
		was.asked = 4;
		was.refused = 3;
		was.counts = (struct losses_counts){.reports = 11,
		    .duplicate = 12,
		    .late = 13,
		    .unknown_step = 14,
		    .malformed = 15,
		    .other_run = 16,
		    .replaced = 17,
		    .incomplete = 18,
		    .unknown_domain = 19,
		    .not_a_number = 20};
		assert_int_equal(reweight_state_save(&was, &f), FAIL_NONE);
		assert_int_equal(reweight_state_load(&is, &found, &f), FAIL_NONE);
		assert_true(found);
		assert_string_equal(is.id, was.id);
		assert_int_equal(is.offset_next, was.offset_next);
		assert_int_equal(is.offset_counted, was.offset_counted);
		assert_int_equal(is.step_next, was.step_next);
		assert_int_equal(is.asked, was.asked);
		assert_int_equal(is.refused, was.refused);
		assert_memory_equal(&is.counts, &was.counts, sizeof(is.counts));
		check_same_learner(is.learner, was.learner);
		for (int64_t step = 5; step < 9; step++) { /* and it goes on with the same bits */
			learn(&was, step, false);
			learn(&is, step, false);
		}
		check_same_learner(is.learner, was.learner);
		free(was.learner);
		free(is.learner);
	}
}

static void
test_a_state_of_another_learning_is_refused(void **unused)
{
	static const char *const what[] = {
	    "another mix", "another run", "another method", "another --eta", "another --smoothing"};
	struct reweight_job_arguments a = arguments(REWEIGHT_DOREMI);
	struct reweight_job was = opened(&a);

	(void)unused;
	learn(&was, 0, true);
	assert_int_equal(reweight_state_save(&was, &f), FAIL_NONE);
	EACH_ROW(i, what) {
		struct reweight_job_arguments other = arguments(REWEIGHT_DOREMI);
		struct reweight_job is;
		bool found;

		other.mix = i == 0 ? "post" : other.mix;
		other.run = i == 1 ? "eval" : other.run;
		other.method = i == 2 ? REWEIGHT_ODM : other.method;
		other.eta = i == 3 ? 0.2 : other.eta;
		other.smoothing = i == 4 ? 1e-2 : other.smoothing;
		is = opened(&other);
		assert_int_equal(reweight_state_load(&is, &found, &f), FAIL_CONFIG);
		assert_non_null(strstr(f.text, what[i]));
		free(is.learner);
	}
	free(was.learner);
}

static void
test_without_a_file_there_is_nothing_to_continue(void **unused)
{
	struct reweight_job_arguments a = arguments(REWEIGHT_ODM);
	struct reweight_job job = opened(&a);
	bool found = true;

	(void)unused;
	assert_int_equal(reweight_state_load(&job, &found, &f), FAIL_NONE);
	assert_false(found);
	free(job.learner);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(
		test_what_was_saved_is_what_the_next_run_has, folder_open, folder_close),
	    cmocka_unit_test_setup_teardown(
		test_a_state_of_another_learning_is_refused, folder_open, folder_close),
	    cmocka_unit_test_setup_teardown(
		test_without_a_file_there_is_nothing_to_continue, folder_open, folder_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
