/* past_losses.h: looks into the feedback topic, compared with a count of its reports. */
#include "consumer/status/past_losses.h"

#include <math.h>

#include "common/base/log.h"
#include "consumer/feedback/reporter.h"
#include "tests/unit/mock_cluster.h"
#include "tests/unit/test.h"

enum { WAIT_MS = 10000, STEPS = 20, RANKS = 2, RUNS = 2, REPORTS = STEPS * RANKS * RUNS };

static struct failure f;
static char at_broker[256];
static struct property item[] = {{(char[]){"bootstrap.servers"}, at_broker}};
static char *run_names[] = {(char[]){"main"}, (char[]){"tune"}};
static char *domain_names[] = {(char[]){"code"}, (char[]){"web"}};
static struct config config = {
    .kafka = {1, item}, .mix = {.name = (char[]){"m"}, .runs = {1, run_names}}};

/* The report at an offset. The ranks of one step follow each other, run after run. */
struct report {
	size_t run;
	int64_t step;
	uint32_t rank;
	double loss[2], excess[2];
	int64_t tokens[2];
};

static struct report
report_at(int64_t offset)
{
	struct report r = {.run = (size_t)offset / RANKS % RUNS,
	    .step = offset / (RANKS * RUNS),
	    .rank = (uint32_t)(offset % RANKS)};

	for (size_t d = 0; d < 2; d++) {
		r.tokens[d] = d == 1 && r.run == 1 ? 0 : 10 + offset % 7;
		r.loss[d] = (double)(r.tokens[d] * (offset + 1)) / (double)(d + 1);
		r.excess[d] = r.loss[d] / 4;
	}
	return r;
}

static void
send_all(void)
{
	struct reporter *r;

	assert_int_equal(reporter_open(&r, "m", &config.kafka, WAIT_MS, &f), FAIL_NONE);
	for (int64_t k = 0; k < REPORTS; k++) {
		const struct report x = report_at(k);
		struct feedback_loss loss[2];
		const struct feedback b = {.mix = config.mix.name,
		    .run = run_names[x.run],
		    .step = x.step,
		    .rank = x.rank,
		    .world = RANKS,
		    .loss = loss,
		    .losses_n = 2};

		for (size_t d = 0; d < 2; d++)
			loss[d] = (struct feedback_loss){
			    domain_names[d], x.loss[d], x.excess[d], x.tokens[d]};
		assert_int_equal(reporter_send(r, &b, &f), FAIL_NONE);
	}
	assert_int_equal(reporter_flush(r, WAIT_MS, &f), FAIL_NONE);
	reporter_close(r);
}

static bool
near(double a, double b)
{
	return fabs(a - b) < 1e-9 * (1 + fabs(b));
}

/* Tokens and sums of a run's steps whose reports all lie in [from, end). */
static void
check_run(const struct status_feedback *b, size_t run, int64_t from, int64_t end)
{
	int64_t first = -1, last = -1, tokens[2] = {0};
	double loss[2] = {0}, excess[2] = {0};
	uint64_t steps = 0;

	for (int64_t step = 0; step < STEPS; step++) {
		int64_t at = step * RANKS * RUNS + (int64_t)run * RANKS;

		if (at < from || at + RANKS > end)
			continue;
		first = first < 0 ? step : first;
		last = step;
		steps++;
		for (int64_t k = at; k < at + RANKS; k++)
			for (size_t d = 0; d < 2; d++) {
				const struct report r = report_at(k);

				tokens[d] += r.tokens[d];
				loss[d] += r.loss[d];
				excess[d] += r.excess[d];
			}
	}
	assert_int_equal(b->steps, steps);
	if (steps == 0)
		return;
	assert_string_equal(b->run, run_names[run]);
	assert_int_equal(b->configured, run == 0);
	assert_true(b->step_first == first && b->step_last == last && b->world == RANKS);
	for (size_t d = 0; d < 2; d++) {
		assert_int_equal(b->domain[d].tokens, tokens[d]);
		if (tokens[d] == 0)
			continue;
		assert_true(near(b->domain[d].loss, loss[d] / (double)tokens[d]));
		assert_true(near(b->domain[d].excess, excess[d] / (double)tokens[d]));
	}
	assert_int_equal(b->all.tokens, tokens[0] + tokens[1]);
	assert_true(near(b->all.loss, (loss[0] + loss[1]) / (double)(tokens[0] + tokens[1])));
	assert_true(near(b->all.excess, (excess[0] + excess[1]) / (double)(tokens[0] + tokens[1])));
}

/* One object looks several times. No look finds reports of an earlier one. */
static void
test_each_look_finds_the_whole_steps_of_its_reports(void **unused)
{
	static const int64_t ranges[][2] = {{0, REPORTS}, {0, 1}, {40, 60}, {41, 59}, {2, 4},
	    {3, 3}, {REPORTS - 5, REPORTS}, {0, REPORTS}};
	struct past_losses *p;
	int64_t low, high;

	(void)unused;
	send_all();
	assert_int_equal(past_losses_open(&p, &config, domain_names, 2, &f), FAIL_NONE);
	assert_int_equal(past_losses_ends(p, &low, &high, &f), FAIL_NONE);
	assert_true(low == 0 && high == REPORTS);
	EACH_ROW(i, ranges) {
		const struct status_feedback *b;
		bool met[RUNS] = {false};
		size_t n;

		assert_int_equal(
		    past_losses_look(p, ranges[i][0], ranges[i][1], &b, &n, &f), FAIL_NONE);
		for (size_t k = 0; k < n; k++) {
			size_t run = strcmp(b[k].run, run_names[0]) == 0 ? 0 : 1;

			assert_false(met[run]);
			met[run] = true;
			check_run(&b[k], run, ranges[i][0], ranges[i][1]);
		}
		for (size_t run = 0; run < RUNS; run++)
			if (!met[run])
				check_run(&(const struct status_feedback){.steps = 0}, run,
				    ranges[i][0], ranges[i][1]);
	}
	past_losses_close(p);
}

static int
open_cluster(void **unused)
{
	(void)unused;
	if (open_mock_cluster(&f) != FAIL_NONE)
		return -1;
	snprintf(at_broker, sizeof(at_broker), "%s", rd_kafka_mock_cluster_bootstraps(cluster));
	return rd_kafka_mock_topic_create(cluster, "m.feedback", 1, 1);
}

static int
close_cluster(void **unused)
{
	(void)unused;
	kafka_close(owner);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_each_look_finds_the_whole_steps_of_its_reports),
	};

	log_set_level(LOG_ERROR);
	return cmocka_run_group_tests(tests, open_cluster, close_cluster);
}
