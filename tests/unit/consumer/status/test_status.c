/* status.h: shares, rates, lags and problems from plain values; no broker. */
#include "tests/unit/test.h"

#include <math.h>

#include "common/schedule/weights.h"
#include "consumer/plan/bound_config.h"
#include "consumer/status/status.h"

enum { DOMAINS = 2, NOW_MS = 1000000 };

static struct failure f;

static struct config_domain configured[DOMAINS] = {
    {.name = "code", .partitions = 1},
    {.name = "web", .partitions = 2},
};
static double weight[DOMAINS] = {1, 3};
static char *run_names[] = {"trainers", "ablation"};

static struct config config = {
    .path = "run.yml",
    .corpus = "demo",
    .sequence_length = 128,
    .split = {1, 0, 0},
    .replication = 1,
    .min_insync_replicas = 1,
    .domains_n = DOMAINS,
    .domains = configured,
    .mix = {.name = "pre",
	.global_batch = 8,
	.lanes = 2,
	.partitions = 2,
	.max_lead_steps = 64,
	.runs = {1, run_names},
	.weight = weight,
	.temperature = 1},
};

/* A mix that is ready: all topics are there, all partitions sealed, nothing mixed yet. */
static struct status *
ready(void)
{
	struct status *st = calloc(1, sizeof(*st));

	assert_non_null(st);
	assert_int_equal(topic_plan_open(&st->plan, &config, &f), FAIL_NONE);
	st->config = &config;
	st->report = calloc(st->plan->n, sizeof(*st->report));
	for (size_t i = 0; i < st->plan->n; i++)
		st->report[i].exists = true;
	st->state = STATUS_NOT_STARTED;
	st->now_ms = NOW_MS;
	st->ledger_time_ms = -1;
	st->domain = calloc(DOMAINS + 1, sizeof(*st->domain));
	st->domains_n = DOMAINS;
	for (int i = 0; i < DOMAINS; i++) {
		st->domain[i] = (struct status_domain){.configured = i,
		    .mixed = -1,
		    .sequences = 100,
		    .sealed_length = 100,
		    .partitions_n = configured[i].partitions,
		    .partitions_sealed = configured[i].partitions};
		snprintf(st->domain[i].name, sizeof(st->domain[i].name), "%s", configured[i].name);
	}
	st->run = calloc(2, sizeof(*st->run));
	st->runs_n = config.mix.runs.n;
	for (size_t i = 0; i < st->runs_n; i++) {
		st->run[i].configured = true;
		snprintf(st->run[i].name, sizeof(st->run[i].name), "%s", run_names[i]);
	}
	return st;
}

/* The same, 10 steps on: shares in force are 1/4 and 3/4, trainers have read 4. */
static struct status *
mixing(void)
{
	struct status *st = ready();
	struct ledger *l = &st->ledger;

	st->state = STATUS_STARTED;
	st->ledger_time_ms = NOW_MS - 100;
	l->kind = LEDGER_STEPS;
	l->step_next = 10;
	l->draws = 80;
	l->domains_n = DOMAINS;
	l->domain = calloc(DOMAINS, sizeof(*l->domain));
	for (uint32_t i = 0; i < DOMAINS; i++) {
		l->domain[i].name = strdup(configured[i].name);
		l->domain[i].index = i;
		st->domain[i].mixed = (int)i;
	}
	l->domain[0].weight = WEIGHT_ONE / 4;
	l->domain[1].weight = WEIGHT_ONE / 4 * 3;
	st->domain[0].taken = 20;
	st->domain[1].taken = 60;
	st->run[0].committed = st->run[0].committed_all = true;
	st->run[0].step = 4;
	return st;
}

static void
derive(struct status *st)
{
	assert_int_equal(status_derive(st, &f), FAIL_NONE);
}

/* Checks that there is exactly this problem (NULL: none), and ends the status. */
static void
check_problem(struct status *st, const char *text)
{
	derive(st);
	if (text == NULL && st->problems_n > 0)
		assert_string_equal(st->problem[0].text, "");
	if (text != NULL) {
		assert_int_equal(st->problems_n, 1);
		assert_string_equal(st->problem[0].text, text);
	}
	status_free(st);
}

static void
test_a_mix_that_runs_well_has_no_problems(void **state)
{
	(void)state;
	check_problem(mixing(), NULL);
}

static void
test_what_did_not_come_in_time_is_a_problem(void **state)
{
	struct status *st;

	(void)state;
	for (size_t i = 0; i < STATUS_PARTS; i++) {
		st = mixing();
		st->late[i] = true;
		derive(st);
		assert_int_equal(st->problems_n, 1);
		assert_string_equal(st->problem[0].code, "STATUS-INCOMPLETE");
		assert_non_null(strstr(st->headline, "1 problem"));
		status_free(st);
	}
	st = mixing();
	st->domain[1].partitions_late = 1;
	st->domain[1].partitions_sealed--; /* as far as is known */
	st->domain[1].sealed_length = -1;
	derive(st);
	assert_int_equal(st->problems_n, 1);
	assert_string_equal(st->problem[0].code, "STATUS-INCOMPLETE");
	assert_non_null(strstr(st->problem[0].text, "the last record of 1 of "));
	status_free(st);
}

static void
test_a_mix_that_could_start_is_told_how(void **state)
{
	struct status *st = ready();

	(void)state;
	st->run[0].committed = true; /* of an earlier mix of that name; no matter */
	check_problem(st, "the mix has not started: `riffle mix` starts it");
}

static void
test_shares_come_from_the_ledger_and_before_it_from_the_configuration(void **state)
{
	struct status *st = mixing();

	(void)state;
	derive(st);
	assert_true(st->domain[0].intended == 0.25 && st->domain[1].intended == 0.75);
	assert_true(st->domain[0].realised == 0.25 && st->domain[1].realised == 0.75);
	status_free(st);

	st = ready();
	derive(st);
	assert_true(st->domain[0].intended == 0.25 && st->domain[1].intended == 0.75);
	assert_true(st->domain[0].realised == 0);
	status_free(st);
}

static void
test_the_target_is_what_was_taken_and_what_is_owed(void **state)
{
	struct status *st = mixing();

	(void)state;
	st->ledger.domain[0].credit = (int64_t)(WEIGHT_ONE / 2); /* half a draw behind */
	st->ledger.domain[1].credit = -(int64_t)(WEIGHT_ONE / 2);
	derive(st);
	assert_true(st->domain[0].deviation == -0.5 && st->domain[1].deviation == 0.5);
	assert_true(st->domain[0].target == 20.5 / 80 && st->domain[1].target == 59.5 / 80);
	status_free(st);

	st = mixing();
	st->ledger.epoch_size = 100; /* a round in which 20 draws are left */
	st->ledger.domain[0].weight = 25;
	st->ledger.domain[1].weight = 75;
	st->ledger.domain[0].round_weight = 5;
	st->ledger.domain[1].round_weight = 15;
	st->ledger.domain[0].credit = 10;
	st->ledger.domain[1].credit = -10;
	derive(st);
	assert_true(st->domain[0].deviation == -0.5 && st->domain[1].deviation == 0.5);
	status_free(st);
}

static void
test_random_draws_have_no_target(void **state)
{
	struct status *st = mixing();
	struct config random = *st->config;

	(void)state;
	random.mix.schedule = SCHEDULE_RANDOM;
	st->config = &random;
	derive(st);
	assert_true(isnan(st->domain[0].target) && isnan(st->domain[0].deviation));
	assert_true(st->domain[0].realised == 0.25);
	status_free(st);
}

static void
test_greedy_weights_are_the_bits_of_doubles(void **state)
{
	struct status *st = mixing();
	const double w[DOMAINS] = {0.1, 0.3};

	(void)state;
	for (int i = 0; i < DOMAINS; i++)
		memcpy(&st->ledger.domain[i].weight, &w[i], sizeof(w[i]));
	derive(st);
	assert_true(st->domain[0].intended > 0.2499 && st->domain[0].intended < 0.2501);
	status_free(st);

	st = mixing(); /* the weights changed 8 draws ago; 3 of them were of domain 0 */
	for (int i = 0; i < DOMAINS; i++)
		memcpy(&st->ledger.domain[i].weight, &w[i], sizeof(w[i]));
	st->ledger.greedy_draws = 8;
	st->ledger.domain[0].greedy_count = 3;
	st->ledger.domain[1].greedy_count = 5;
	derive(st);
	assert_true(fabs(st->domain[0].deviation - 1) < 1e-9);
	assert_true(fabs(st->domain[1].deviation + 1) < 1e-9);
	status_free(st);
}

static void
test_lag_and_limit_are_counted_in_steps(void **state)
{
	struct status *st = mixing();

	(void)state;
	derive(st);
	assert_int_equal(st->run[0].lag_steps, 6);
	assert_int_equal(st->step_limit, 68);
	status_free(st);

	st = mixing();
	st->run[0].configured = false; /* only the ledger knows it: it bounds nothing */
	st->run[0].step = 12;          /* ahead of what is published: a ledger cut short */
	derive(st);
	assert_int_equal(st->run[0].lag_steps, 0);
	assert_true(st->step_limit == UINT64_MAX);
	status_free(st);
}

static void
add_samples(struct status *st, const struct status_sample *sample, size_t n)
{
	st->sample = calloc(n, sizeof(*sample));
	memcpy(st->sample, sample, n * sizeof(*sample));
	st->samples_n = n;
}

static void
test_rates_span_the_last_minute_of_one_mixer(void **state)
{
	static const struct status_sample all[] = {
	    {7, 0, 0, 0, 0},            /* another mixer's */
	    {8, 900, 10, 80, 10000},    /* too old by 1 ms */
	    {8, 901, 20, 160, 20000},   /* the first that counts */
	    {8, 30000, 40, 320, 40000}, /* in between: no matter */
	    {8, 60901, 80, 640, 80000},
	};
	struct status *st = mixing();

	(void)state;
	add_samples(st, all, 5);
	derive(st);
	assert_int_equal(st->rate_ms, 60000);
	assert_true(st->steps_per_s == 1 && st->sequences_per_s == 8 && st->tokens_per_s == 1000);
	status_free(st);

	for (size_t n = 0; n <= 2; n++) { /* none, one, and two of different mixers */
		st = mixing();
		add_samples(st, all, n);
		derive(st);
		assert_int_equal(st->rate_ms, 0);
		assert_true(st->steps_per_s == 0);
		status_free(st);
	}
}

static void
test_a_clock_that_stands_or_runs_back_gives_no_rate(void **state)
{
	static const struct status_sample same[] = {{8, 5, 1, 8, 1}, {8, 5, 2, 16, 2}},
					  back[] = {{8, 9, 1, 8, 1}, {8, 5, 2, 16, 2}};
	struct status *st = mixing();

	(void)state;
	add_samples(st, same, 2);
	derive(st);
	assert_int_equal(st->rate_ms, 0);
	status_free(st);
	st = mixing();
	add_samples(st, back, 2);
	derive(st);
	assert_int_equal(st->rate_ms, 0);
	status_free(st);
}

static void
test_topics_that_are_missing_or_wrong_are_told_with_what_to_do(void **state)
{
	struct status *st = mixing();

	(void)state;
	st->report[1].exists = st->report[2].exists = false;
	check_problem(
	    st, "2 of 7 topics are missing, the first: demo.web: run `riffle topics --create`");
	st = mixing();
	snprintf(st->report[0].problem, sizeof(st->report[0].problem), "has 3 partitions");
	check_problem(st, "topic demo.code: has 3 partitions");
}

static void
test_a_domain_that_is_not_sealed_is_told_with_what_to_do(void **state)
{
	struct status *st = mixing();

	(void)state;
	st->domain[1].partitions_sealed = 1;
	check_problem(
	    st, "domain web is not sealed (1 of 2 partitions are): run `riffle produce web`");
	st = mixing();
	st->domain[1].partitions_sealed = 0;
	st->domain[1].sequences = 0;
	check_problem(st, "domain web has no sequences yet: run `riffle produce web`");
	st = mixing();
	st->rejects = 3;
	st->domain[1].partitions_sealed = 0;
	st->domain[1].sequences = 0;
	check_problem(st,
	    "domain web has no sequences yet: run `riffle produce web`. If `riffle rejects "
	    "--domain web` lists its records, it also says why: correct domains.web first");
	st = mixing();
	st->domain[1].partitions_sealed = 0;
	st->domain[1].sequences = 3;
	st->ledger.domain[1].partition = calloc(2, sizeof(struct ledger_partition));
	st->ledger.domain[1].partitions_n = 2;
	st->ledger.domain[1].partition[0].sequences = 600;
	st->ledger.domain[1].partition[1].sequences = 9;
	check_problem(st,
	    "domain web: its topic holds 3 sequences, and the mix counts with 609: its log is "
	    "gone. Run `riffle produce web` with the same files and keys as before: the mix "
	    "continues only with equal sequences");
	st = mixing();
	st->domain[1].partitions_sealed = 0;
	st->domain[1].live = true; /* it need not be */
	check_problem(st, NULL);
	st = mixing();
	st->domain[1].sequences = st->domain[1].sealed_length + 7;
	check_problem(st,
	    "domain web has 7 sequences behind its End, which do not count yet: `riffle produce "
	    "web --append` completes them");
	st = mixing();
	st->domain[1].sequences = st->domain[1].sealed_length + 7;
	st->domain[1].live = true; /* it was sealed once, and is followed again */
	check_problem(st, NULL);
	st = mixing();
	st->domain[0].sequences = 0;
	check_problem(
	    st, "domain code is sealed and empty: its sources hold less than one sequence");
	st = mixing();
	snprintf(st->domain[0].bad, sizeof(st->domain[0].bad), "partition 0, offset 5: truncated");
	check_problem(st, "domain code: partition 0, offset 5: truncated");
}

/* Partitions go round robin, one sequence each; one drops out at its End. */
static void
test_a_live_domain_is_dry_when_the_next_sequence_of_its_round_is_missing(void **state)
{
	const struct {
		uint64_t sequences[2];
		bool sealed[2];
		int64_t position, epoch;
		bool dry;
	} rows[] = {
	    {{0, 0}, {false, false}, 0, 0, true},
	    {{1, 0}, {false, false}, 0, 0, false},
	    {{1, 0}, {false, false}, 1, 0, true},
	    {{1, 1}, {false, false}, 1, 0, false},
	    {{9, 1}, {false, false}, 3, 0, true},
	    {{9, 1}, {false, false}, 2, 0, false},
	    {{9, 1}, {false, true}, 3, 0, false}, /* the second has ended: the first goes on */
	    {{9, 1}, {false, true}, 9, 0, false},
	    {{9, 1}, {false, true}, 10, 0, true},
	    {{9, 1}, {true, true}, 10, 0, false}, /* both have: it is over, not dry */
	    {{9, 1}, {false, true}, 10, 1, false},
	};

	(void)state;
	EACH_ROW(i, rows) {
		struct status_partition p[2] = {0};
		struct status_domain d = {.live = true,
		    .partition = p,
		    .partitions_n = 2,
		    .position = rows[i].position,
		    .epoch = rows[i].epoch};

		for (size_t k = 0; k < 2; k++) {
			p[k].known = rows[i].sequences[k] > 0;
			p[k].sealed = rows[i].sealed[k];
			p[k].sequences = p[k].sealed_sequences = rows[i].sequences[k];
			d.partitions_sealed += p[k].sealed;
		}
		if (status_is_dry(&d) != rows[i].dry)
			print_error("row %zu\n", i);
		assert_int_equal(status_is_dry(&d), rows[i].dry);
		d.live = false;
		assert_false(status_is_dry(&d));
	}
}

static void
test_domains_of_one_side_only_are_told(void **state)
{
	struct status *st = mixing();

	(void)state;
	st->domain[1].mixed = -1;
	check_problem(st, "domain web is in the configuration and not in the mix: `riffle mix "
			  "--accept-config` takes it in");
	st = mixing();
	st->domain[st->domains_n++] =
	    (struct status_domain){.name = "books", .configured = -1, .mixed = 0};
	check_problem(st, "domain books is in the mix and not in the configuration");
}

#define NEW                                                                                        \
	"; start its trainers; in a trial `riffle read --run trainers --commit-every "             \
	"1` takes their place"
#define GONE                                                                                       \
	"; start its trainers again; if nobody trains it any more, take it out of mix.runs and "   \
	"restart the mixer with `riffle mix --accept-config`"

static void
test_a_run_without_commits_is_a_problem_once_the_mixer_waited_a_minute(void **state)
{
	struct status *st = mixing();

	(void)state;
	st->run[0].committed = false;
	st->run[0].step = 0;
	st->ledger.step_next = 64;
	st->ledger_time_ms = NOW_MS - STATUS_SILENT_MS;
	check_problem(st, NULL); /* its trainers may have just begun */
	st = mixing();
	st->run[0].committed = false;
	st->run[0].step = 0;
	st->ledger.step_next = 64;
	st->ledger_time_ms = NOW_MS - STATUS_SILENT_MS - 1;
	check_problem(st, "run trainers has committed nothing: the mixer waits at step 64" NEW);
	st = mixing();
	st->run[0].configured = st->run[0].committed = false;
	check_problem(st, NULL);
}

static void
test_a_mixer_that_waits_long_for_a_run_is_told(void **state)
{
	struct status *st = mixing();

	(void)state;
	st->ledger.step_next = 68;
	st->ledger_time_ms = NOW_MS - STATUS_WAIT_MS;
	check_problem(st, NULL);
	st = mixing();
	st->ledger.step_next = 68;
	st->ledger_time_ms = NOW_MS - STATUS_WAIT_MS - 1;
	st->run[0].lane = 1;
	check_problem(
	    st, "the mixer waits at step 68 for run trainers, which is at step 4 (lane 1)" GONE);
	st = mixing();
	st->ledger.step_next = 68;
	st->ledger_time_ms = NOW_MS - STATUS_WAIT_MS - 1;
	snprintf(st->run[0].apart, sizeof(st->run[0].apart),
	    "lane 0 up to step 68, and lane 1 only up to step 4");
	check_problem(st,
	    "the mixer waits at step 68 for run trainers, which has committed lane 0 up to step "
	    "68, and lane 1 only up to step 4: is the rank that reads them running? If nobody "
	    "trains it any more, take it out of mix.runs and restart the mixer with `riffle mix "
	    "--accept-config`");
}

/* What a problem advises is not refused by the command that it names. */
static void
test_what_is_advised_is_possible(void **state)
{
	struct status *st = mixing();

	(void)state;
	/* a run that went back below what is kept: that step is no place to be reset to */
	st->batches_kept = true;
	st->step_kept = 6;
	st->run[0].known = 8;
	check_problem(st,
	    "run trainers is at step 4, and the first step that is kept is 6: `riffle runs "
	    "--reset trainers --to 6`, while no trainer runs, lets it continue there; "
	    "`riffle replay --republish` publishes the steps before it again");
	st = mixing();
	st->ledger.step_next = 68;
	st->ledger_time_ms = NOW_MS - STATUS_WAIT_MS - 1;
	st->mixers_known = true;
	check_problem(st,
	    "no mixer runs, and one would wait at step 68 for run trainers, which is at step 4 "
	    "(lane 0)" GONE);
	/* no mixer begins a mix whose steps are there */
	st = ready();
	st->loss = MIX_LOSS_LEDGER_EMPTY;
	derive(st);
	assert_string_equal(st->problem[st->problems_n - 1].code, "STATUS-LEDGER-EMPTY");
	assert_non_null(strstr(
	    st->problem[st->problems_n - 1].text, "`riffle topics --delete --mix --create`"));
	status_free(st);
	/* no mixer starts where a domain cannot be read */
	st = mixing();
	st->ledger_time_ms = NOW_MS - STATUS_SILENT_MS - 1;
	st->mixers_known = true;
	snprintf(st->domain[0].bad, sizeof(st->domain[0].bad), "damaged");
	derive(st);
	assert_int_equal(st->problems_n, 2);
	assert_string_equal(st->problem[1].code, "STATUS-NO-MIXER");
	assert_non_null(strstr(st->problem[1].text, "none starts before the other problems"));
	status_free(st);
}

static void
test_a_mixer_that_is_silent_without_a_reason_is_told(void **state)
{
	struct status *st = mixing();

	(void)state;
	st->ledger_time_ms = NOW_MS - STATUS_SILENT_MS;
	check_problem(st, NULL);
	st = mixing();
	st->ledger_time_ms = NOW_MS - STATUS_SILENT_MS - 1;
	check_problem(st, "the mixer has written nothing for 1 min 0 s, at step 10: is `riffle "
			  "mix` running?");
	st = mixing();
	st->ledger_time_ms = NOW_MS - STATUS_SILENT_MS - 1;
	st->mixers_known = true;
	st->mixers_n = 1;
	check_problem(st,
	    "the mixer has written nothing for 1 min 0 s, at step 10: its log says what "
	    "it waits for");
	st = mixing();
	st->ledger_time_ms = NOW_MS - STATUS_SILENT_MS - 1;
	st->mixers_known = true;
	st->mixers_n = 1;
	st->mixer[0].standby = true;
	check_problem(st, "no mixer runs, and the last one wrote 1 min 0 s ago: `riffle mix` "
			  "continues the mix at step 10");
	st = mixing();
	st->ledger_time_ms = NOW_MS - STATUS_SILENT_MS - 1;
	st->state = STATUS_ENDED;
	check_problem(st, NULL);
}

static void
test_a_mix_runs_while_a_mixer_is_active(void **state)
{
	static const struct {
		enum status_state state;
		bool known;
		size_t mixers;
		bool standby; /* the last one */
		const char *name;
	} row[] = {
	    {STATUS_NO_MIX, false, 0, false, "no mix"},
	    {STATUS_NOT_STARTED, true, 1, false, "not started"},
	    {STATUS_STARTED, false, 0, false, "unknown"},
	    {STATUS_STARTED, true, 0, false, "stopped"},
	    {STATUS_STARTED, true, 1, true, "stopped"},
	    {STATUS_STARTED, true, 1, false, "running"},
	    {STATUS_STARTED, true, 2, true, "running"},
	    {STATUS_ENDED, true, 1, false, "ended"},
	};

	(void)state;
	EACH_NAMED_ROW(i, row, name) {
		struct status st = {
		    .state = row[i].state, .mixers_known = row[i].known, .mixers_n = row[i].mixers};

		if (row[i].mixers > 0)
			st.mixer[row[i].mixers - 1].standby = row[i].standby;
		assert_string_equal(status_state_name(&st), row[i].name);
	}
}

static void
test_a_run_whose_position_is_lost_is_told(void **state)
{
	struct status *st = mixing();

	(void)state;
	st->run[0].known = 7;
	st->run[0].committed = st->run[0].committed_all = false;
	st->run[0].step = 0;
	check_problem(st,
	    "run trainers is at step 7 in the ledger, and the broker has no commit of group "
	    "pre.trainers for every lane: they were deleted, or have expired "
	    "(offsets.retention.minutes). No trainer starts from its commits before `riffle runs "
	    "--reset trainers --to 7` sets them again");
	st = mixing();
	st->run[0].known = 7;
	check_problem(st,
	    "run trainers went back to step 4, and the ledger knows it at step 7: the steps "
	    "between are read again (a trainer that was started there, or two trainers of one "
	    "rank). `riffle runs --reset trainers --to 4`, while no "
	    "trainer runs, takes the ledger's step back, too");
	st = mixing();
	st->batches_kept = true;
	st->step_kept = 4;
	check_problem(st, NULL);
	st = mixing();
	snprintf(st->run[0].bad, sizeof(st->run[0].bad), "lane 1: the commit's metadata is \"\"");
	check_problem(st, "run trainers: lane 1: the commit's metadata is \"\"");
}

static void
test_what_was_left_out_is_counted(void **state)
{
	struct status *st = mixing();
	struct ledger_quarantined *q = calloc(2, sizeof(*q));

	(void)state;
	q[1] = (struct ledger_quarantined){
	    .domain = 1, .partition = 0, .ordinal = 55, .reason = strdup("wrong hash")};
	st->ledger.quarantined = q;
	st->ledger.quarantined_n = 2;
	check_problem(st, "2 sequences failed the mixer's check and were left out, the last one: "
			  "domain web, partition 0, ordinal 55: wrong hash");
	st = mixing();
	st->rejects = 12; /* `riffle produce` has judged them by max_rejects */
	check_problem(st, NULL);
}

static void
test_more_problems_than_kept_are_counted(void **state)
{
	struct status *st = mixing();
	enum { MANY = STATUS_PROBLEMS_MAX + 3 };

	(void)state;
	st->domain = realloc(st->domain, (DOMAINS + MANY) * sizeof(*st->domain));
	for (int i = 0; i < MANY; i++)
		st->domain[st->domains_n++] =
		    (struct status_domain){.name = "x", .configured = -1, .mixed = 0};
	derive(st);
	assert_int_equal(st->problems_n, STATUS_PROBLEMS_MAX);
	assert_int_equal(st->problems_more, 3);
	assert_int_equal(strncmp(st->headline, "67 problems;", 12), 0); /* all of them */
	status_free(st);
}

/* 64 lanes, of which the first `behind` lack step 9. */
static struct status *
with_lanes_behind(uint32_t behind)
{
	struct status *st = mixing();

	st->ends_n = 64;
	st->end = calloc(st->ends_n, sizeof(*st->end));
	st->ledger.step_first = 9;
	st->ledger_time_ms = NOW_MS - STATUS_WAIT_MS - 1;
	for (uint32_t i = 0; i < st->ends_n; i++)
		st->end[i] =
		    (struct lane_end){.state = i < behind ? LANE_ENDS_BEHIND : LANE_ENDS_LEVEL,
			.next = i < behind ? 9 : 10};
	derive(st);
	return st;
}

static void
test_of_many_lanes_that_lost_their_end_the_first_are_named_and_the_rest_counted(void **state)
{
	struct status *st = with_lanes_behind(STATUS_LANES_SAID);

	(void)state;
	assert_int_equal(st->problems_n, STATUS_LANES_SAID);
	assert_non_null(strstr(st->problem[2].text, "lane 2 ends before step 9"));
	status_free(st);
	st = with_lanes_behind(64);
	assert_int_equal(st->problems_n, STATUS_LANES_SAID + 1);
	assert_string_equal(st->problem[3].text, "and 61 more lanes do not end with the ledger");
	assert_true(st->apart[63]); /* the JSON has them all */
	status_free(st);
}

/* Steps 9 and 10 are of the ledger's last transaction, which ends before 11. */
static void
test_a_lane_has_lost_its_end_where_no_marker_can_be_on_its_way(void **state)
{
	static const struct {
		enum lane_ends_state state;
		uint64_t next;
		int64_t age_ms;
		bool apart;
	} row[] = {
	    {LANE_ENDS_LEVEL, 11, 0, false},
	    {LANE_ENDS_LEVEL, 11, STATUS_WAIT_MS + 1, false},
	    {LANE_ENDS_BEHIND, 9, 0, false}, /* it lacks the last transaction alone */
	    {LANE_ENDS_BEHIND, 9, STATUS_WAIT_MS, false},
	    {LANE_ENDS_BEHIND, 9, STATUS_WAIT_MS + 1, true},
	    {LANE_ENDS_BEHIND, 10, 0, false},
	    {LANE_ENDS_BEHIND, 10, STATUS_WAIT_MS + 1, true},
	    {LANE_ENDS_BEHIND, 8, 0, true}, /* and the one before */
	    {LANE_ENDS_BEHIND, 0, 0, true},
	    {LANE_ENDS_AHEAD, 12, 0, false}, /* the ledger's own marker */
	    {LANE_ENDS_AHEAD, 12, STATUS_WAIT_MS, false},
	    {LANE_ENDS_AHEAD, 12, STATUS_WAIT_MS + 1, true},
	};

	(void)state;
	EACH_ROW(i, row) {
		struct status *st = mixing();

		st->ends_n = 1;
		st->end = calloc(1, sizeof(*st->end));
		st->end[0].state = row[i].state;
		st->end[0].next = row[i].next;
		st->ledger.step_first = 9;
		st->ledger.step_next = 11;
		st->ledger_time_ms = NOW_MS - row[i].age_ms;
		derive(st);
		assert_int_equal(st->apart[0], row[i].apart);
		assert_int_equal(st->problems_n, row[i].apart);
		if (row[i].apart)
			assert_string_equal(st->problem[0].code, "STATUS-LANE-END");
		status_free(st);
	}
}

static void
test_a_corpus_without_a_mix_has_only_its_own_problems(void **state)
{
	struct config c = config;
	struct status *st = ready();

	(void)state;
	c.mix.name = NULL;
	st->config = &c;
	st->state = STATUS_NO_MIX;
	st->runs_n = 0;
	check_problem(st, NULL);
	status_free(NULL);
}

/* mixing(), of which a mixer runs. */
static struct status *
mixed(void)
{
	struct status *st = mixing();

	st->mixers_known = true;
	st->mixers_n = 1;
	return st;
}

static void
check_headline(struct status *st, const char *text)
{
	derive(st);
	assert_string_equal(st->headline, text);
	status_free(st);
}

static void
test_the_headline_says_how_all_is(void **state)
{
	struct config without = config;
	struct status *st;

	(void)state;
	check_headline(mixed(), "All is well: the mix is running");
	st = mixed();
	st->mixers_n = 0;
	check_headline(st, "Nothing is wrong, and no mixer runs: the mix is stopped");
	st = mixed();
	st->mixers_n = 0;
	st->ends_n = 1;
	st->end = calloc(1, sizeof(*st->end));
	assert_non_null(st->end);
	st->end[0] =
	    (struct lane_end){.state = LANE_ENDS_BEHIND, .next = (uint64_t)st->ledger.step_first};
	check_headline(st, "It is too early to judge, because not every lane ends with the ledger "
			   "yet. Run it again in 10 s. No mixer runs: the mix is stopped");
	check_headline(mixing(), "All is well: the mix has started, and the election does not say "
				 "whether a mixer runs");
	check_headline(ready(), "1 problem; the mix has not started");
	st = mixed();
	st->state = STATUS_ENDED;
	check_headline(st, "All is well: the mix has ended");
	st = mixed();
	snprintf(st->domain[0].bad, sizeof(st->domain[0].bad), "a record is damaged");
	st->ledger.step_next = 68;
	check_headline(st, "1 problem; the mix is running; it waits for run trainers");
	st = mixed();
	st->runs_n = 2;
	st->run[1] = st->run[0];
	snprintf(st->run[1].name, sizeof(st->run[1].name), "second");
	st->ledger.step_next = 68;
	check_headline(
	    st, "All is well: the mix is running; it waits for run trainers, run second");
	st = ready();
	without.mix.name = NULL;
	st->config = &without;
	st->state = STATUS_NO_MIX;
	st->runs_n = 0;
	check_headline(st, "All is well: a corpus without a mix");
}

static void
test_a_run_is_waited_for_where_a_mixer_runs_and_it_bounds_the_lead(void **state)
{
	struct status *st = mixed();

	(void)state;
	st->ledger.step_next = 67;
	derive(st);
	assert_false(st->run[0].waited_for);
	status_free(st);
	st = mixed();
	st->ledger.step_next = 68;
	derive(st);
	assert_true(st->run[0].waited_for);
	status_free(st);
	st = mixing(); /* no mixer is known */
	st->ledger.step_next = 68;
	derive(st);
	assert_false(st->run[0].waited_for);
	status_free(st);
}

/* Shares are 1/4 and 3/4 of 8 sequences a step: 2 and 6. */
static void
test_the_first_end_of_an_epoch_is_that_of_the_domain_with_the_fewest_steps_left(void **state)
{
	struct status *st = mixed();

	(void)state;
	st->domain[0].position = 81; /* 19 left: 10 steps */
	st->domain[1].position = 35; /* 65 left: 11 steps */
	st->sample = calloc(2, sizeof(*st->sample));
	st->samples_n = 2;
	st->sample[0] = (struct status_sample){1, NOW_MS - 2100, 6, 48, 0};
	st->sample[1] = (struct status_sample){1, NOW_MS - 100, 10, 80, 0};
	derive(st);
	assert_int_equal(status_remaining(&st->domain[0]), 19);
	assert_int_equal(st->first_end, 0);
	assert_int_equal(st->first_end_steps, 10);
	assert_true(status_seconds(st, 10) == 5);
	st->mixers_n = 0; /* its rate is that of earlier */
	assert_true(status_seconds(st, 10) < 0);
	status_free(st);

	st = mixed();
	st->domain[0].position = 100; /* of two that end at one step the first */
	st->domain[1].position = 100;
	derive(st);
	assert_int_equal(st->first_end, 0);
	assert_int_equal(st->first_end_steps, 0);
	status_free(st);

	st = mixed();
	st->domain[0].state = LEDGER_DROPPED;
	st->domain[1].sealed_length = -1;
	derive(st);
	assert_int_equal(st->first_end, -1);
	assert_int_equal(status_remaining(&st->domain[1]), -1);
	st->domain[1].live = true;
	assert_int_equal(status_remaining(&st->domain[1]), 100);
	status_free(st);
}

static void
test_a_deviation_below_two_is_promised_for_deficit_without_lending(void **state)
{
	struct config other = config;
	struct config_domain live[DOMAINS] = {configured[0], configured[1]};
	struct status *st = mixing();

	(void)state;
	assert_true(status_promises_deviation(st));
	st->config = &other;
	other.mix.schedule = SCHEDULE_GREEDY;
	assert_false(status_promises_deviation(st));
	other.mix.schedule = SCHEDULE_DEFICIT;
	other.domains = live;
	live[1].on_dry = MIX_DRY_LEND;
	assert_true(status_promises_deviation(st)); /* it is not live */
	live[1].live = true;
	assert_false(status_promises_deviation(st));
	status_free(st);
}

/* How many problems have that code. */
static size_t
count_problems(const struct status *st, const char *code)
{
	size_t n = 0;

	for (size_t i = 0; i < st->problems_n; i++)
		n += strcmp(st->problem[i].code, code) == 0;
	return n;
}

/* Partition 1 of domain web, the ledger's number 1. */
static void
test_records_that_were_cut_off_are_told_unless_the_mix_skips_them_all(void **state)
{
	static const struct {
		int64_t low;
		uint64_t sequences;
		struct ledger_skip skip[3];
		size_t skips_n;
		const char *told; /* NULL: no problem */
	} rows[] = {
	    {0, 100, {{0, 0, 0, 0}}, 0, NULL},
	    {10, 100, {{0, 0, 0, 0}}, 0, "web/1 0..10` leaves them out"},
	    {10, 100, {{1, 1, 0, 10}}, 1, NULL},
	    {10, 100, {{1, 1, 0, 99}}, 1, NULL},
	    {10, 100, {{1, 1, 0, 9}}, 1, "web/1 0..10`"},
	    {10, 100, {{1, 1, 1, 10}}, 1, "web/1 0..10`"},
	    {10, 100, {{1, 1, 7, 10}, {1, 1, 0, 4}, {1, 1, 4, 7}}, 3, NULL},
	    {10, 100, {{1, 1, 7, 10}, {1, 1, 0, 4}, {1, 1, 5, 7}}, 3, "web/1 0..10`"},
	    {10, 100, {{1, 0, 0, 10}}, 1, "web/1 0..10`"}, /* of another partition, */
	    {10, 100, {{0, 1, 0, 10}}, 1, "web/1 0..10`"}, /* or domain */
	    {250, 100, {{1, 1, 0, 100}}, 1, NULL},         /* the log is cut to its end */
	    {250, 100, {{1, 1, 0, 99}}, 1, "web/1 0..100`"},
	};

	(void)state;
	EACH_ROW(i, rows) {
		struct status *st = mixing();

		st->domain[1].partition = calloc(2, sizeof(*st->domain[1].partition));
		st->domain[1].partition[1] = (struct status_partition){.low = rows[i].low,
		    .high = 300,
		    .known = true,
		    .sealed = true,
		    .sequences = rows[i].sequences};
		st->ledger.skips_n = rows[i].skips_n;
		st->ledger.skip = calloc(3, sizeof(*st->ledger.skip));
		memcpy(st->ledger.skip, rows[i].skip, sizeof(rows[i].skip));
		derive(st);
		assert_int_equal(count_problems(st, "STATUS-DOMAIN-CUT"), rows[i].told != NULL);
		if (rows[i].told != NULL)
			assert_non_null(strstr(st->problem[0].text, rows[i].told));
		status_free(st);
	}
}

static void
test_the_next_phase_is_the_first_that_no_step_has_begun(void **state)
{
	static const struct {
		uint64_t start[3];
		size_t n;
		enum status_state state;
		int64_t next;
	} rows[] = {
	    {{5, 10, 20}, 3, STATUS_STARTED, 10},
	    {{5, 9, 20}, 3, STATUS_STARTED, 20},
	    {{5, 9, 11}, 3, STATUS_STARTED, 11},
	    {{5, 9, 0}, 2, STATUS_STARTED, -1},
	    {{0, 0, 0}, 0, STATUS_STARTED, -1},
	    {{5, 10, 20}, 3, STATUS_ENDED, -1},
	};
	struct config_phase phases[3] = {
	    {.name = (char[]){"a"}}, {.name = (char[]){"b"}}, {.name = (char[]){"c"}}};

	(void)state;
	EACH_ROW(i, rows) {
		struct status *st = mixing();

		for (size_t k = 0; k < 3; k++)
			phases[k].start_step = rows[i].start[k];
		config.mix.phases = phases;
		config.mix.phases_n = rows[i].n;
		st->state = rows[i].state;
		derive(st);
		assert_int_equal(st->next_phase_step, rows[i].next);
		for (size_t k = 0; k < rows[i].n; k++)
			if ((int64_t)rows[i].start[k] == rows[i].next)
				assert_string_equal(st->next_phase, phases[k].name);
		config.mix.phases_n = 0;
		status_free(st);
	}
}

static void
test_what_remains_is_what_is_not_drawn_and_never_less_than_nothing(void **state)
{
	static const struct {
		int64_t sealed, sequences, position, remaining;
		bool live;
	} rows[] = {
	    {100, 100, 40, 60, false},
	    {100, 120, 100, 0, false},
	    {100, 120, 110, 0, false},
	    {100, 120, 40, 60, true},
	    {-1, 50, 40, 10, true},
	    {-1, 50, 60, 0, true},
	    {-1, 50, 40, -1, false},
	    {0, 0, 0, 0, false},
	};

	(void)state;
	EACH_ROW(i, rows) {
		const struct status_domain d = {.sealed_length = rows[i].sealed,
		    .sequences = rows[i].sequences,
		    .position = rows[i].position,
		    .live = rows[i].live};

		assert_int_equal(status_remaining(&d), rows[i].remaining);
	}
}

static void
test_a_run_is_where_ledger_and_commits_say_together(void **state)
{
	static const struct {
		uint64_t known, step;
		bool committed, all;
		enum status_run_state is;
	} rows[] = {
	    {0, 0, false, false, STATUS_RUN_NEW},
	    {0, 0, true, false, STATUS_RUN_PART},
	    {0, 5, true, true, STATUS_RUN_GOOD},
	    {5, 5, true, true, STATUS_RUN_GOOD},
	    {5, 6, true, true, STATUS_RUN_GOOD},
	    {5, 4, true, true, STATUS_RUN_BACK},
	    {5, 0, true, false, STATUS_RUN_LOST},
	    {5, 0, false, false, STATUS_RUN_LOST},
	};

	(void)state;
	EACH_ROW(i, rows) {
		const struct status_run r = {.known = rows[i].known,
		    .step = rows[i].step,
		    .committed = rows[i].committed,
		    .committed_all = rows[i].all};

		assert_int_equal(status_run_state(&r), rows[i].is);
	}
}

/* A run without commits begins at step 0, if the mix waits for it. */
static void
test_a_run_whose_steps_are_deleted_is_told_if_it_stands_there(void **state)
{
	static const struct {
		bool committed, bounds, kept;
		uint64_t step, step_kept;
		size_t told;
	} rows[] = {
	    {true, true, true, 4, 5, 1},
	    {true, false, true, 4, 5, 1},
	    {true, true, true, 5, 5, 0},
	    {true, true, false, 4, 5, 0},
	    {false, true, true, 0, 1, 1},
	    {false, true, true, 0, 0, 0},
	    {false, false, true, 0, 5, 0},
	};

	(void)state;
	EACH_ROW(i, rows) {
		struct status *st = mixing();

		st->run[0].committed = st->run[0].committed_all = rows[i].committed;
		st->run[0].configured = rows[i].bounds;
		st->run[0].step = rows[i].step;
		st->batches_kept = rows[i].kept;
		st->step_kept = rows[i].step_kept;
		derive(st);
		assert_int_equal(count_problems(st, "STATUS-RUN-NOT-KEPT"), rows[i].told);
		status_free(st);
	}
}

/* A mixer that waits for its trainers has a reason to be silent. */
static void
test_a_mixer_at_its_limit_is_not_silent_but_waits(void **state)
{
	for (int64_t step = 67; step < 70; step++) {
		struct status *st = mixing();

		(void)state;
		st->ledger.step_next = step; /* the run is at 4, and may be 64 behind */
		st->ledger_time_ms = NOW_MS - STATUS_SILENT_MS - 1;
		derive(st);
		assert_int_equal(st->step_limit, 68);
		assert_int_equal(count_problems(st, "STATUS-SILENT"), step < 68);
		assert_int_equal(count_problems(st, "STATUS-LEAD"), step >= 68);
		status_free(st);
	}
}

/* A mix whose ledger has the text of `config`, and whose partitions have lengths. */
static struct status *
bound(void)
{
	static const uint64_t sequences[] = {100, 120, 180};
	const struct config_plan_length length[] = {
	    {1, &sequences[0], NULL}, {2, &sequences[1], NULL}};
	struct status *st = mixing();
	struct config_plan plan;

	assert_int_equal(config_plan_open(&plan, &config, length, &f), FAIL_NONE);
	assert_int_equal(bound_config_text(&st->ledger.config, &config, &plan, 7, &f), FAIL_NONE);
	config_plan_close(&plan);
	st->ledger.tokenizer = 7;
	for (size_t i = 0; i < 2; i++) {
		struct status_domain *d = &st->domain[i];

		d->partition = calloc(d->partitions_n, sizeof(*d->partition));
		for (size_t p = 0; p < d->partitions_n; p++)
			d->partition[p] = (struct status_partition){
			    .sequences = sequences[i + p], .sealed = true};
	}
	return st;
}

/* Weights by size follow from the lengths of each domain's own partitions. */
static void
test_a_file_is_compared_with_the_ledger_by_the_lengths_of_its_own_domains(void **state)
{
	struct status *st = bound();

	(void)state;
	config.mix.weights_kind = CONFIG_WEIGHTS_SIZE;
	derive(st);
	config.mix.weights_kind = CONFIG_WEIGHTS_MAP;
	assert_int_equal(count_problems(st, "STATUS-CONFIG"), 1);
	assert_non_null(strstr(st->config_why.text, "code.weight: 1.0 in the ledger, 0.25 in the"));
	assert_non_null(strstr(st->config_why.text, "web.weight: 3.0 in the ledger, 0.75 in the"));
	status_free(st);
}

static void
test_a_tokenizer_that_does_not_fit_its_file_is_a_problem(void **state)
{
	struct status *st = mixing();

	(void)state;
	fail(&config.tokenizer.misfit, FAIL_CONFIG, "eos is not a token");
	derive(st);
	config.tokenizer.misfit.code = FAIL_NONE;
	assert_int_equal(count_problems(st, "STATUS-CONFIG"), 1);
	assert_string_equal(st->config_why.text, "eos is not a token");
	status_free(st);
}

static void
test_a_changed_key_of_a_domain_is_set_back_or_published_again_if_nobody_draws(void **state)
{
	struct status *st = mixing();

	(void)state;
	snprintf(st->domain[1].differs.kind, sizeof(st->domain[1].differs.kind), "tokenizer: A");
	check_problem(
	    st, "domain web was published with another configuration: tokenizer: A; set it back");
	st = ready();
	snprintf(st->domain[1].differs.kind, sizeof(st->domain[1].differs.kind), "tokenizer: A");
	derive(st);
	assert_string_equal(st->problem[0].text,
	    "domain web was published with another configuration: tokenizer: A; set it back, or, "
	    "if no mix draws from it yet, run `riffle produce web --restart`");
	status_free(st);
}

/* Of two partitions: a longer one does not make up for a shorter one. */
static void
test_a_domain_recreated_with_other_data_is_told_although_it_is_sealed(void **state)
{
	static const struct {
		uint64_t sequences[2];
		bool other, told;
	} rows[] = {
	    {{120, 180}, false, false}, {{121, 181}, false, false}, {{120, 179}, false, true},
	    {{119, 200}, false, true},
	    {{119, 200}, true, false}, /* STATUS-DOMAIN-REPLACED says more */
	};

	(void)state;
	EACH_ROW(i, rows) {
		struct status *st = bound();
		struct status_domain *d = &st->domain[1];
		struct ledger_domain *l = &st->ledger.domain[1];
		char text[160];

		l->partitions_n = 2;
		l->partition = calloc(2, sizeof(*l->partition));
		l->partition[0].sequences = 120;
		l->partition[1].sequences = 180;
		d->sequences = d->sealed_length = 0;
		for (size_t p = 0; p < 2; p++) {
			d->partition[p].sequences = d->partition[p].sealed_sequences =
			    rows[i].sequences[p];
			d->sequences = d->sealed_length += (int64_t)rows[i].sequences[p];
		}
		if (rows[i].other)
			snprintf(d->other, sizeof(d->other), "other");
		st->mixers_known = true;
		st->ledger_time_ms = NOW_MS - STATUS_SILENT_MS - 1;
		derive(st);
		assert_int_equal(count_problems(st, "STATUS-NOT-PRODUCED"), rows[i].told);
		snprintf(text, sizeof(text),
		    "domain web: its topic holds %" PRId64 " sequences, and the mix counts with "
		    "300: it was recreated with other data. `riffle topics --delete ",
		    d->sequences);
		if (rows[i].told) {
			assert_ptr_equal(strstr(st->problem[0].text, text), st->problem[0].text);
			assert_non_null(strstr(st->problem[1].text, ": none starts before"));
		}
		status_free(st);
	}
}

/* One that --accept-config accepts stays at the end: it can wait. */
static void
test_no_mixer_starts_with_a_changed_file_and_a_fixed_key_comes_first(void **state)
{
	static const struct {
		uint64_t seed;
		double weight;
		int64_t step_next; /* the run is at 4, and may be 64 behind */
		size_t config_at;
		const char *other_code, *other;
	} rows[] = {
	    {7, 1, 10, 0, "STATUS-NO-MIXER", "none starts before the other problems are mended"},
	    {0, 2, 10, 1, "STATUS-NO-MIXER", "none starts before the other problems are mended"},
	    {0, 1, 10, 2, "STATUS-NO-MIXER", " ago: `riffle mix` continues the mix at step 10"},
	    {7, 1, 68, 0, "STATUS-LEAD", "; once this file is set back (STATUS-CONFIG), start its"},
	    {0, 2, 68, 1, "STATUS-LEAD", "(lane 0); start its trainers again"},
	};

	(void)state;
	EACH_ROW(i, rows) {
		struct status *st = bound();
		size_t at = rows[i].config_at;

		st->mixers_known = true;
		st->ledger_time_ms = NOW_MS - STATUS_SILENT_MS - 1;
		st->ledger.step_next = rows[i].step_next;
		config.mix.seed = rows[i].seed;
		weight[0] = rows[i].weight;
		derive(st);
		config.mix.seed = 0;
		weight[0] = 1;
		assert_int_equal(st->config_fixed, at == 0);
		assert_int_equal(st->problems_n, at > 1 ? 1 : 2);
		if (at <= 1)
			assert_string_equal(st->problem[at].code, "STATUS-CONFIG");
		assert_string_equal(st->problem[at == 0].code, rows[i].other_code);
		assert_non_null(strstr(st->problem[at == 0].text, rows[i].other));
		status_free(st);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_mix_that_runs_well_has_no_problems),
	    cmocka_unit_test(test_what_did_not_come_in_time_is_a_problem),
	    cmocka_unit_test(test_a_mix_that_could_start_is_told_how),
	    cmocka_unit_test(test_shares_come_from_the_ledger_and_before_it_from_the_configuration),
	    cmocka_unit_test(test_the_target_is_what_was_taken_and_what_is_owed),
	    cmocka_unit_test(test_random_draws_have_no_target),
	    cmocka_unit_test(test_greedy_weights_are_the_bits_of_doubles),
	    cmocka_unit_test(test_lag_and_limit_are_counted_in_steps),
	    cmocka_unit_test(test_rates_span_the_last_minute_of_one_mixer),
	    cmocka_unit_test(test_a_clock_that_stands_or_runs_back_gives_no_rate),
	    cmocka_unit_test(test_topics_that_are_missing_or_wrong_are_told_with_what_to_do),
	    cmocka_unit_test(test_a_domain_that_is_not_sealed_is_told_with_what_to_do),
	    cmocka_unit_test(
		test_a_live_domain_is_dry_when_the_next_sequence_of_its_round_is_missing),
	    cmocka_unit_test(test_domains_of_one_side_only_are_told),
	    cmocka_unit_test(
		test_a_run_without_commits_is_a_problem_once_the_mixer_waited_a_minute),
	    cmocka_unit_test(test_a_mixer_that_waits_long_for_a_run_is_told),
	    cmocka_unit_test(test_what_is_advised_is_possible),
	    cmocka_unit_test(test_a_mixer_that_is_silent_without_a_reason_is_told),
	    cmocka_unit_test(test_a_mix_runs_while_a_mixer_is_active),
	    cmocka_unit_test(test_a_run_whose_position_is_lost_is_told),
	    cmocka_unit_test(test_what_was_left_out_is_counted),
	    cmocka_unit_test(test_more_problems_than_kept_are_counted),
	    cmocka_unit_test(
		test_of_many_lanes_that_lost_their_end_the_first_are_named_and_the_rest_counted),
	    cmocka_unit_test(test_a_lane_has_lost_its_end_where_no_marker_can_be_on_its_way),
	    cmocka_unit_test(test_a_corpus_without_a_mix_has_only_its_own_problems),
	    cmocka_unit_test(test_the_headline_says_how_all_is),
	    cmocka_unit_test(test_a_run_is_waited_for_where_a_mixer_runs_and_it_bounds_the_lead),
	    cmocka_unit_test(
		test_the_first_end_of_an_epoch_is_that_of_the_domain_with_the_fewest_steps_left),
	    cmocka_unit_test(test_a_deviation_below_two_is_promised_for_deficit_without_lending),
	    cmocka_unit_test(test_records_that_were_cut_off_are_told_unless_the_mix_skips_them_all),
	    cmocka_unit_test(test_the_next_phase_is_the_first_that_no_step_has_begun),
	    cmocka_unit_test(test_what_remains_is_what_is_not_drawn_and_never_less_than_nothing),
	    cmocka_unit_test(test_a_run_is_where_ledger_and_commits_say_together),
	    cmocka_unit_test(test_a_run_whose_steps_are_deleted_is_told_if_it_stands_there),
	    cmocka_unit_test(test_a_mixer_at_its_limit_is_not_silent_but_waits),
	    cmocka_unit_test(
		test_a_file_is_compared_with_the_ledger_by_the_lengths_of_its_own_domains),
	    cmocka_unit_test(test_no_mixer_starts_with_a_changed_file_and_a_fixed_key_comes_first),
	    cmocka_unit_test(test_a_domain_recreated_with_other_data_is_told_although_it_is_sealed),
	    cmocka_unit_test(test_a_tokenizer_that_does_not_fit_its_file_is_a_problem),
	    cmocka_unit_test(
		test_a_changed_key_of_a_domain_is_set_back_or_published_again_if_nobody_draws),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
