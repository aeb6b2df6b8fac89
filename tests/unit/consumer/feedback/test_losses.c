#include "consumer/feedback/losses.h"

#include <math.h>

#include "tests/unit/test.h"

static const char *const names[] = {"web", "code"}; /* not in the order of their bytes */

static struct losses *
from_step(int64_t step, int64_t again_end)
{
	struct losses_options o = {.mix = "pretrain",
	    .run = "trainers",
	    .step_first = step,
	    .again_end = again_end,
	    .domain = names,
	    .domains_n = 2};
	struct losses *l = NULL;
	struct failure f;

	assert_int_equal(losses_open(&l, &o, &f), FAIL_NONE);
	return l;
}

static struct losses *
fresh(void)
{
	return from_step(0, 0);
}

/* A report of 10 tokens of code and 20 of web, the losses told by step and rank. */
static void
report_at(
    struct losses *l, int64_t offset, const char *run, int64_t step, uint32_t rank, uint32_t world)
{
	struct feedback_loss loss[] = {
	    {(char *)(uintptr_t) "code", (double)step + 0.5, 0.25, 10},
	    {(char *)(uintptr_t) "web", (double)rank, 1, 20},
	};
	struct feedback b = {.mix = (char *)(uintptr_t) "pretrain",
	    .run = (char *)(uintptr_t)run,
	    .step = step,
	    .rank = rank,
	    .world = world,
	    .loss = loss,
	    .losses_n = 2};
	struct failure f;

	assert_int_equal(losses_add(l, &b, offset, &f), FAIL_NONE);
}

static void
report_to(struct losses *l, const char *run, int64_t step, uint32_t rank, uint32_t world)
{
	report_at(l, step * 100 + rank, run, step, rank, world);
}

static void
report(struct losses *l, int64_t step, uint32_t rank, uint32_t world)
{
	report_to(l, "trainers", step, rank, world);
}

static int64_t
next_step(struct losses *l, bool last)
{
	struct losses_step s;

	return losses_next(l, last, &s) ? s.step : -1;
}

static void
test_a_step_is_complete_when_all_ranks_have_reported(void **unused)
{
	struct losses *l = fresh();
	struct losses_step s;

	(void)unused;
	report(l, 7, 2, 3);
	report(l, 7, 0, 3);
	assert_false(losses_next(l, false, &s));
	assert_int_equal(losses_open_offset(l), 702);
	report(l, 7, 1, 3);
	assert_true(losses_next(l, false, &s));
	assert_true(s.step == 7 && s.world == 3);
	/* In the order of the options: web, code. */
	assert_true(s.sum[0].loss_sum == 3 && s.sum[0].excess_sum == 3 && s.sum[0].tokens == 60);
	assert_true(s.sum[1].loss_sum == 22.5 && s.sum[1].tokens == 30);
	assert_int_equal(losses_open_offset(l), -1);
	assert_int_equal(losses_step_next(l), 8);
	assert_false(losses_next(l, false, &s));
	losses_close(l);
}

static void
test_steps_come_in_order_however_the_ranks_mingle(void **unused)
{
	struct losses *l = fresh();

	(void)unused;
	for (int64_t step = 0; step < 20; step++)
		report(l, step, 0, 2);
	for (int64_t step = 0; step < 20; step++) {
		assert_int_equal(next_step(l, false), -1);
		report(l, step, 1, 2);
		assert_int_equal(next_step(l, false), step);
	}
	assert_int_equal(losses_counted(l)->reports, 40);
	losses_close(l);
}

static void
test_what_cannot_be_used_is_dropped_and_counted(void **unused)
{
	struct losses *l = fresh();
	struct losses_counts *c = losses_counted(l);
	struct failure f;

	(void)unused;
	losses_set_limit(l, 10);
	report(l, 5, 0, 2);
	report(l, 5, 0, 2);
	assert_int_equal(c->duplicate, 1);
	report(l, 5, 1, 2);
	assert_int_equal(next_step(l, false), 5);
	report(l, 5, 1, 2);
	report(l, 4, 0, 1);
	report(l, -1, 0, 1);
	assert_int_equal(c->late, 3);
	report(l, 10, 0, 1);
	assert_int_equal(c->unknown_step, 1);
	report(l, 9, 0, 1);
	assert_int_equal(c->unknown_step, 1);
	report_to(l, "other", 6, 0, 1);
	assert_int_equal(c->other_run, 1);
	report(l, 6, 2, 2);
	report(l, 6, 0, 0);
	report(l, 6, 0, LOSSES_RANKS_MAX + 1);
	assert_int_equal(losses_add(l, NULL, 1, &f), FAIL_NONE);
	assert_int_equal(c->malformed, 4);
	report(l, 8, LOSSES_RANKS_MAX - 1, LOSSES_RANKS_MAX);
	assert_int_equal(c->malformed, 4);
	assert_int_equal(c->reports, 4);
	losses_close(l);
}

static void
test_losses_that_are_no_numbers_are_dropped_one_by_one(void **unused)
{
	const struct {
		struct feedback_loss loss;
		bool taken;
	} rows[] = {
	    {{(char[]){"web"}, 1, 0, 0}, true}, {{(char[]){"web"}, -1, 0, 1}, true},
	    {{(char[]){"web"}, NAN, 0, 1}, false}, {{(char[]){"web"}, INFINITY, 0, 1}, false},
	    {{(char[]){"web"}, 1, NAN, 1}, false}, {{(char[]){"web"}, 1, -0.001, 1}, false},
	    {{(char[]){"web"}, 1, 0, -1}, false}, {{(char[]){"web"}, 1.7e308, 0, 1}, true},
	    {{(char[]){"web"}, 1.7e308, 0, 1}, false}, /* the sum would be infinite */
	};
	struct losses *l = fresh();
	struct losses_step s;
	uint32_t world = sizeof(rows) / sizeof(rows[0]), rank = 0;
	uint64_t dropped = 0;

	(void)unused;
	for (; rank < world; rank++) {
		struct feedback_loss loss[] = {
		    rows[rank].loss, {(char[]){"code"}, 1, 0, 1}, {(char[]){"news"}, 1, 0, 1}};
		struct feedback b = {.mix = (char[]){"pretrain"},
		    .run = (char[]){"trainers"},
		    .rank = rank,
		    .world = world,
		    .loss = loss,
		    .losses_n = 3};
		struct failure f;

		assert_int_equal(losses_add(l, &b, 0, &f), FAIL_NONE);
		dropped += !rows[rank].taken;
		assert_int_equal(losses_counted(l)->not_a_number, dropped);
	}
	assert_true(losses_next(l, false, &s));
	assert_int_equal(s.sum[1].tokens, world);
	assert_int_equal(losses_counted(l)->unknown_domain, world);
	assert_string_equal(losses_unknown(l), "news");
	losses_close(l);
}

static void
test_a_step_that_stays_incomplete_is_given_up(void **unused)
{
	struct losses *l = fresh();
	int64_t step;

	(void)unused;
	report(l, 0, 0, 2); /* rank 1's is lost */
	for (step = 1; step < LOSSES_PATIENCE; step++) {
		report(l, step, 0, 2);
		report(l, step, 1, 2);
		assert_int_equal(next_step(l, false), -1);
	}
	report(l, step, 0, 2);
	report(l, step, 1, 2);
	for (int64_t i = 1; i <= step; i++)
		assert_int_equal(next_step(l, false), i);
	assert_int_equal(losses_counted(l)->incomplete, 1);
	report(l, 0, 1, 2);
	assert_int_equal(losses_counted(l)->late, 1);
	losses_close(l);
}

static void
test_open_steps_are_bounded(void **unused)
{
	struct losses *l = fresh();

	(void)unused;
	for (int64_t step = 0; step < LOSSES_OPEN_MAX; step++)
		report(l, step + 10, 0, 2);
	assert_int_equal(losses_counted(l)->incomplete, 0);
	report(l, 5, 0, 2); /* below them all: no room */
	assert_int_equal(losses_counted(l)->late, 1);
	report(l, 1000, 0, 2);
	assert_int_equal(losses_counted(l)->incomplete, 1);
	assert_int_equal(losses_step_next(l), 11);
	assert_int_equal(losses_open_offset(l), 1100);
	losses_close(l);
}

static void
test_another_world_restarts_an_incomplete_step(void **unused)
{
	struct losses *l = fresh();
	struct losses_step s;

	(void)unused;
	report(l, 3, 0, 4);
	report(l, 3, 1, 4);
	report(l, 3, 0, 2);
	report(l, 3, 1, 2);
	assert_true(losses_next(l, false, &s));
	assert_true(s.world == 2 && s.sum[0].tokens == 40);
	assert_int_equal(losses_counted(l)->replaced, 2);
	losses_close(l);
}

static void
test_at_the_end_all_that_is_complete_comes(void **unused)
{
	struct losses *l = fresh();

	(void)unused;
	report(l, 0, 0, 2);
	report(l, 1, 0, 1);
	report(l, 2, 0, 2);
	assert_int_equal(next_step(l, false), -1);
	assert_int_equal(next_step(l, true), 1);
	assert_int_equal(next_step(l, true), -1);
	assert_int_equal(losses_counted(l)->incomplete, 1);
	report(l, 2, 1, 2); /* it came after all */
	assert_int_equal(next_step(l, true), 2);
	losses_close(l);
}

/* ---- against a slow recount ---- */

enum { MODEL_STEPS = 3 * LOSSES_OPEN_MAX, MODEL_REPORTS = 3000 };

/* What losses.h says, over all steps: a step is open if it has reports and was not closed. */
struct model {
	struct model_step {
		uint32_t world, ranks; /* one bit per rank */
		int64_t offset, tokens;
	} step[MODEL_STEPS];
	int64_t step_next, step_limit;
	struct losses_counts counts;
};

static size_t
model_count(const struct model *m, bool complete_only)
{
	size_t n = 0;

	for (int64_t i = m->step_next; i < MODEL_STEPS; i++)
		n += m->step[i].ranks != 0 &&
		     (!complete_only || m->step[i].ranks == (1U << m->step[i].world) - 1);
	return n;
}

static int64_t
model_lowest(const struct model *m)
{
	int64_t i = m->step_next;

	while (i < MODEL_STEPS && m->step[i].ranks == 0)
		i++;
	return i;
}

static void
model_report(
    struct model *m, const char *run, int64_t step, uint32_t rank, uint32_t world, int64_t offset)
{
	struct model_step *s = step < 0 ? NULL : &m->step[step];
	bool mine = strcmp(run, "trainers") == 0, late = step < m->step_next;
	bool full = mine && !late && step < m->step_limit && s->ranks == 0 &&
		    model_count(m, false) == LOSSES_OPEN_MAX;

	if (rank >= world)
		m->counts.malformed++;
	else if (!mine)
		m->counts.other_run++;
	else if (step >= m->step_limit)
		m->counts.unknown_step++;
	else if (late || (full && step < model_lowest(m)))
		m->counts.late++;
	else if (s->ranks != 0 && s->world == world && (s->ranks >> rank & 1) != 0)
		m->counts.duplicate++;
	else {
		if (full) {
			m->step_next = model_lowest(m) + 1;
			m->counts.incomplete++;
		}
		if (s->world != world) {
			m->counts.replaced += (uint64_t)__builtin_popcount(s->ranks);
			*s = (struct model_step){.world = world, .offset = offset};
		}
		s->ranks |= 1U << rank;
		s->tokens += 20;
		m->counts.reports++;
	}
}

/* The step that is handed out; -1: none. */
static int64_t
model_next(struct model *m, bool last)
{
	for (;;) {
		int64_t at = model_lowest(m);
		bool complete =
		    at < MODEL_STEPS && m->step[at].ranks == (1U << m->step[at].world) - 1;

		if (at == MODEL_STEPS ||
		    (!complete && model_count(m, true) < (last ? 1 : LOSSES_PATIENCE)))
			return -1;
		m->step_next = at + 1;
		if (complete)
			return at;
		m->counts.incomplete++;
	}
}

static void
test_every_report_and_answer_are_those_of_a_recount_of_all_steps(void **unused)
{
	static struct model m;
	uint64_t replaced = 0, incomplete = 0;

	(void)unused;
	for (uint32_t seed = 1; seed <= 20; seed++) {
		struct losses *l = fresh();
		/*
		 * Worlds of 1 to 3 ranks; the reader asks often, or so seldom that steps pile up.
		 */
		uint32_t worlds = 1 + seed % 3, pace = seed % 4 == 0 ? 400 : 3;

		m = (struct model){.step_limit = INT64_MAX};
		srandom(seed);
		for (int64_t offset = 0; offset < MODEL_REPORTS; offset++) {
			int64_t step = offset * (MODEL_STEPS - 300) / MODEL_REPORTS +
				       random() % (pace == 3 ? 60 : 300) - 5;
			uint32_t world = 1 + (uint32_t)random() % worlds;
			uint32_t rank = (uint32_t)random() % (world + (random() % 9 == 0));
			const char *run = random() % 20 == 0 ? "other" : "trainers";

			if (random() % 50 == 0) {
				m.step_limit = step + 20;
				losses_set_limit(l, m.step_limit);
			}
			report_at(l, offset, run, step, rank, world);
			model_report(&m, run, step, rank, world, offset);
			while (random() % pace == 0) {
				bool last = random() % 40 == 0;
				struct losses_step s;
				int64_t expected = model_next(&m, last);

				assert_int_equal(losses_next(l, last, &s), expected >= 0);
				if (expected < 0)
					break;
				assert_int_equal(s.step, expected);
				assert_int_equal(s.world, m.step[expected].world);
				assert_int_equal(s.sum[0].tokens, m.step[expected].tokens);
			}
			int64_t first = -1;
			for (int64_t i = m.step_next; i < MODEL_STEPS; i++)
				if (m.step[i].ranks != 0 && (first < 0 || m.step[i].offset < first))
					first = m.step[i].offset;
			assert_int_equal(losses_open_offset(l), first);
			assert_int_equal(losses_step_next(l), m.step_next);
			if (memcmp(losses_counted(l), &m.counts, sizeof(m.counts)) != 0)
				print_error("seed %u, report %d\n", (unsigned)seed, (int)offset);
			assert_memory_equal(losses_counted(l), &m.counts, sizeof(m.counts));
		}
		replaced += m.counts.replaced;
		incomplete += m.counts.incomplete;
		losses_close(l);
	}
	assert_true(replaced > 100 && incomplete > 100);
}

/* ---- stopped and started again ---- */

enum { LOG_STEPS = 3 * LOSSES_PATIENCE, LOG_MAX = 4 * LOG_STEPS };

struct log {
	struct log_report {
		int64_t step;
		uint32_t rank, world;
	} report[LOG_MAX];
	size_t n;
};

static void
swap(struct log *log, size_t i, size_t k)
{
	struct log_report held = log->report[i];

	log->report[i] = log->report[k];
	log->report[k] = held;
}

/*
 * Steps overtake one another, one never gets complete, and the world changes on the way: of one
 * step a rank of the world before has reported first.
 */
static void
fill_log(struct log *log, uint64_t seed)
{
	const int64_t change = LOG_STEPS / 2;
	size_t first, i;

	log->n = 0;
	for (int64_t step = 0; step < LOG_STEPS; step++) {
		uint32_t world = step < change ? 3 : 2;

		for (uint32_t rank = 0; rank < world; rank++)
			if (step != 5 || rank != 1)
				log->report[log->n++] = (struct log_report){step, rank, world};
		if (step == change)
			log->report[log->n++] = (struct log_report){step, 1, 3};
	}
	for (i = 0; i < log->n; i++) {
		size_t left = log->n - i;

		seed = seed * 6364136223846793005U + 1442695040888963407U;
		swap(log, i, i + (seed >> 33) % (left < 9 ? left : 9));
	}
	for (first = 0; log->report[first].step != change;)
		first++;
	for (i = first; log->report[i].step != change || log->report[i].world != 3;)
		i++;
	swap(log, first, i);
}

/* The steps that are complete now, behind given[n]. */
static size_t
take_steps(struct losses *l, struct losses_sum given[][2], int64_t *step, size_t n)
{
	struct losses_step s;

	while (losses_next(l, false, &s)) {
		assert_true(n < LOG_STEPS);
		step[n] = s.step;
		memcpy(given[n++], s.sum, sizeof(given[0]));
	}
	return n;
}

/* The same for reports [from, end) of the log, whose offsets are their places. */
static size_t
read_log(struct losses *l, const struct log *log, size_t from, size_t end,
    struct losses_sum given[][2], int64_t *step, size_t n)
{
	for (size_t i = from; i < end; i++) {
		report_at(l, (int64_t)i, "trainers", log->report[i].step, log->report[i].rank,
		    log->report[i].world);
		n = take_steps(l, given, step, n);
	}
	return n;
}

/*
 * Wherever it stops: behind the steps that a report has completed, or in front of them, because a
 * request came between.
 */
static void
test_one_that_starts_again_gives_the_steps_that_one_without_a_stop_gives(void **unused)
{
	static struct losses_sum expected[LOG_STEPS][2], given[LOG_STEPS][2];
	static struct log log;
	int64_t expected_step[LOG_STEPS], step[LOG_STEPS];

	(void)unused;
	for (uint64_t seed = 1; seed <= 8; seed++) {
		struct losses *l = fresh();
		size_t n;

		fill_log(&log, seed);
		n = read_log(l, &log, 0, log.n, expected, expected_step, 0);
		assert_true(n > LOG_STEPS / 2);
		assert_true(losses_counted(l)->incomplete > 0);
		losses_close(l);
		for (size_t k = 0; k < 2 * log.n; k++) {
			size_t last = k / 2, again;
			int64_t open, next;

			l = fresh();
			again = read_log(l, &log, 0, last, given, step, 0);
			report_at(l, (int64_t)last, "trainers", log.report[last].step,
			    log.report[last].rank, log.report[last].world);
			if (k % 2 == 0)
				again = take_steps(l, given, step, again);
			open = losses_open_offset(l);
			next = losses_step_next(l);
			losses_close(l);
			l = from_step(next, (int64_t)last + 1);
			again = read_log(
			    l, &log, open < 0 ? last + 1 : (size_t)open, log.n, given, step, again);
			losses_close(l);
			assert_int_equal(again, n);
			assert_memory_equal(step, expected_step, n * sizeof(step[0]));
			assert_memory_equal(given, expected, n * sizeof(given[0]));
		}
	}
}

static void
test_means_over_domains_need_no_sum_of_losses(void **unused)
{
	struct losses_means all = {0};

	(void)unused;
	losses_add_mean(&all, &(struct losses_sum){.loss_sum = 99, .tokens = 0});
	assert_int_equal(all.tokens, 0);
	losses_add_mean(&all, &(struct losses_sum){.loss_sum = 30, .excess_sum = 3, .tokens = 10});
	losses_add_mean(&all, &(struct losses_sum){.loss_sum = 30, .excess_sum = 9, .tokens = 30});
	assert_true(fabs(all.loss - 1.5) < 1e-15 && fabs(all.excess - 0.3) < 1e-15);
	assert_int_equal(all.tokens, 40);
	losses_add_mean(&all, &(struct losses_sum){.loss_sum = 1e308, .tokens = 1});
	losses_add_mean(&all, &(struct losses_sum){.loss_sum = 1e308, .tokens = 1});
	assert_true(isfinite(all.loss) && all.loss < LOSSES_MEAN_MAX);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_step_is_complete_when_all_ranks_have_reported),
	    cmocka_unit_test(test_steps_come_in_order_however_the_ranks_mingle),
	    cmocka_unit_test(test_what_cannot_be_used_is_dropped_and_counted),
	    cmocka_unit_test(test_losses_that_are_no_numbers_are_dropped_one_by_one),
	    cmocka_unit_test(test_a_step_that_stays_incomplete_is_given_up),
	    cmocka_unit_test(test_open_steps_are_bounded),
	    cmocka_unit_test(test_another_world_restarts_an_incomplete_step),
	    cmocka_unit_test(test_at_the_end_all_that_is_complete_comes),
	    cmocka_unit_test(test_every_report_and_answer_are_those_of_a_recount_of_all_steps),
	    cmocka_unit_test(
		test_one_that_starts_again_gives_the_steps_that_one_without_a_stop_gives),
	    cmocka_unit_test(test_means_over_domains_need_no_sum_of_losses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
