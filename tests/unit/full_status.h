/* full_status.h -- a status whose fields are all distinct, for tests of outputs. */
#ifndef TESTS_UNIT_FULL_STATUS_H
#define TESTS_UNIT_FULL_STATUS_H

#include <math.h>

#include "consumer/status/status.h"
#include "tests/unit/test.h"

enum { DOMAINS = 3, RUNS = 3, LANES = 4 };

static struct config_domain configured[] = {
    {.name = (char[]){"code"}, .partitions = 1},
    {.name = (char[]){"web"}, .partitions = 4, .live = true},
};
static struct config config = {
    .path = (char[]){"run.yml"},
    .corpus = (char[]){"demo"},
    .sequence_length = 128,
    .split = {1, 0, 0},
    .replication = 1,
    .domains = configured,
    .domains_n = 2,
    .mix = {.name = (char[]){"pre"}, .global_batch = 16, .lanes = LANES, .partitions = LANES},
};

static struct ledger_change pending[] = {
    {.id = (char[]){"q1"}, .step = 71, .kind = LEDGER_SKIP, .domain = (char[]){"web"}},
    {.id = (char[]){"q2"}, .step = 72, .kind = LEDGER_WEIGHTS},
    {.id = (char[]){"q3"}, .step = 73, .kind = LEDGER_UNDO, .domain = (char[]){"code"}},
};
static struct lane_end ends[LANES] = {{.state = LANE_ENDS_BEHIND, .next = 51},
    {.state = LANE_ENDS_AHEAD, .next = 52}, {.state = LANE_ENDS_BEHIND, .next = 53},
    {.state = LANE_ENDS_BEHIND, .next = 54}};
static bool apart[LANES] = {true, true, false, true};
static struct losses_means reported[DOMAINS] = {{2.25, 0.125, 41}, {0, 0, 0}, {2.75, 0.375, 43}};
static struct losses_means others[DOMAINS] = {{0, 0, 0}, {1.25, 0.625, 44}, {0, 0, 0}};
static struct status_feedback feedback[] = {
    {.run = "idle", .configured = true, .domain = others},
    {.run = "main",
	.configured = true,
	.steps = 31,
	.step_first = 32,
	.step_last = 33,
	.world = 34,
	.counts = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10},
	.all = {2.5, 0.25, 42},
	.domain = reported},
    {.run = "tune",
	.steps = 35,
	.step_first = 36,
	.step_last = 37,
	.world = 38,
	.all = {1.5, 0.5, 44},
	.domain = others},
};
static struct status_domain domains[DOMAINS] = {
    {.name = "code",
	.configured = 0,
	.mixed = 1,
	.state = LEDGER_ACTIVE,
	.weight = 1.5,
	.intended = 0.25,
	.realised = 0.26,
	.target = 0.27,
	.deviation = -0.75,
	.taken = 101,
	.epoch = 102,
	.tokens = 103,
	.position = 104,
	.sealed_length = 205,
	.sequences = 205,
	.mixer_commit = 107,
	.partitions_n = 1,
	.partitions_sealed = 1},
    {.name = "web",
	.configured = 1,
	.mixed = 0,
	.live = true,
	.dry = true,
	.state = LEDGER_JOINING,
	.owed = 9,
	.weight = 2.5,
	.intended = 0.75,
	.realised = 0.74,
	.target = 0.73,
	.deviation = 1.5,
	.taken = 111,
	.epoch = 0,
	.tokens = 113,
	.position = 114,
	.sealed_length = -1,
	.sequences = 216,
	.mixer_commit = -1,
	.partitions_n = 4,
	.partitions_sealed = 3},
    {.name = "longest",
	.configured = -1,
	.mixed = 2,
	.state = LEDGER_LEFT,
	.weight = 3.5,
	.target = NAN,
	.deviation = NAN,
	.taken = 121,
	.epoch = 122,
	.tokens = 123,
	.position = 124,
	.sealed_length = -1,
	.mixer_commit = 127},
};
static struct status_run runs[RUNS] = {
    {.name = "main",
	.bounds = true,
	.known = 61,
	.seen_ms = 5000,
	.committed = true,
	.committed_all = true,
	.step = 62,
	.step_ahead = 63,
	.lane = 3,
	.lag_steps = 7,
	.waited_for = true},
    {.name = "evaluation",
	.known = 64,
	.seen_ms = -1,
	.committed = true,
	.step = 65,
	.step_ahead = 66,
	.lane = 2,
	.lag_steps = 4},
    {.name = "new", .bounds = true, .seen_ms = -1, .lag_steps = 69, .bad = "of no run"},
};
static struct status_problem problems[] = {
    {"STATUS-ONE", "the first"}, {"STATUS-TWO", "the second"}};
static char reason_id[] = "r7", phase[] = "warm";
static struct topics_report *report;
static size_t topics_n;

/* Also has facts that no single state of a mix has together. */
static inline struct status
full_status(enum status_state state)
{
	struct status st = {
	    .config = &config,
	    .state = state,
	    .ledger = {.step_next = 69,
		.draws = 1201,
		.choices = 0xc,
		.schedule = 0xa,
		.tokenizer = 0xb,
		.version = 11,
		.version_step = 12,
		.reason = LEDGER_BY_REQUEST,
		.reason_id = reason_id,
		.phase = phase,
		.lr_scale = 0.5,
		.temperature = 2,
		.global_batch = 24,
		.pending = pending,
		.pending_n = 3,
		.skips_n = 13,
		.quarantined_n = 14},
	    .now_ms = 1000000,
	    .ledger_time_ms = 988000,
	    .ledger_offset = 15,
	    .end = ends,
	    .apart = apart,
	    .ends_n = LANES,
	    .batches_kept = true,
	    .step_kept = 16,
	    .rejects = 17,
	    .arrivals_foreign = 18,
	    .arrivals_offset = 19,
	    .domain = domains,
	    .domains_n = DOMAINS,
	    .run = runs,
	    .runs_n = RUNS,
	    .feedback = feedback,
	    .feedback_n = 3,
	    .mixers_known = true,
	    .mixer = {{"host-a", false}, {"host-b", false}, {"host-c", true}, {"host-d", true}},
	    .mixers_n = 4,
	    .rate_ms = 2500,
	    .steps_per_s = 4,
	    .sequences_per_s = 1500,
	    .tokens_per_s = 2500000,
	    .lead_steps = 20,
	    .step_limit = 21,
	    .next_phase_step = 89,
	    .next_phase = "cool",
	    .tokens = 22,
	    .first_end = 1,
	    .first_end_steps = 24,
	    .headline = "2 problems",
	    .problem = problems,
	    .problems_n = 2,
	    .problems_more = 25,
	};

	assert_int_equal(topic_plan_open(&st.plan, &config, &f), FAIL_NONE);
	report = calloc(st.plan->n, sizeof(*report));
	st.report = report;
	topics_n = st.plan->n;
	for (size_t i = 0; i < topics_n; i++) {
		report[i].exists = i % 2 == 0;
		report[i].partitions = (int)i + 30;
		snprintf(report[i].problem, sizeof(report[i].problem), "p%zu", i);
	}
	return st;
}

static inline void
full_status_end(struct status *st)
{
	st->plan->n = topics_n;
	topic_plan_close(st->plan);
	free(report);
}

#endif
