/* mixer.h: steps, exhaustion, quarantine, and resuming from the ledger at every step. */
#include "tests/unit/test.h"

#include <math.h>

#include "common/schedule/order.h"
#include "consumer/mixer/mixer.h"
#include "tests/unit/mixes.h"

enum { B = 16, STEPS = 60 };

static const uint64_t lengths_a[] = {50, 0, 31}, lengths_b[] = {700}, lengths_c[] = {9};

static struct mixer_source three[] = {
    {.name = "a", .weight = 0.5, .partitions_n = 3, .sequences = lengths_a},
    {.name = "b", .weight = 0.3, .partitions_n = 1, .sequences = lengths_b},
    {.name = "c", .weight = 0.2, .partitions_n = 1, .sequences = lengths_c},
};

static struct mixer_plan
plan_of(struct mixer_source *source, size_t n)
{
	return (struct mixer_plan){
	    .seed = 1234,
	    .sequence_length = 8,
	    .global_batch = B,
	    .lanes = 4,
	    .block = 16,
	    .window = 1,
	    .permute = true,
	    .lane_order = MIX_LANES_CONTIGUOUS,
	    .temperature = 1,
	    .source = source,
	    .sources_n = n,
	};
}

static struct mixer *
open_three(void)
{
	struct mixer_plan p = plan_of(three, 3);
	struct mixer *m = NULL;
	struct failure f;

	assert_int_equal(mixer_open(&m, &p, &f), FAIL_NONE);
	return m;
}

static void
step(struct mixer *m, struct mixer_draw *draws)
{
	struct failure f;
	enum mixer_result result = MIXER_UNKNOWN;

	assert_int_equal(mixer_step(m, draws, &result, &f), FAIL_NONE);
	assert_int_equal(result, MIXER_DRAWN);
}

static void
save(const struct mixer *m, struct ledger *l)
{
	struct failure f;

	memset(l, 0, sizeof(*l));
	assert_int_equal(mixer_save(m, l, &f), FAIL_NONE);
}

static bool
same_draw(const struct mixer_draw *a, const struct mixer_draw *b)
{
	return a->domain == b->domain && a->partition == b->partition && a->ordinal == b->ordinal &&
	       a->epoch == b->epoch && a->block_first == b->block_first &&
	       a->block_count == b->block_count;
}

static void
assert_same_draws(const struct mixer_draw *a, const struct mixer_draw *b)
{
	for (int i = 0; i < B; i++)
		assert_true(same_draw(&a[i], &b[i]));
}

/* Two states are equal when their ledgers are, field by field, through the codec. */
static void
assert_same_state(const struct mixer *a, const struct mixer *b)
{
	struct ledger la, lb;
	struct failure f;
	uint8_t *ba, *bb;
	size_t na, nb;

	save(a, &la);
	save(b, &lb);
	assert_int_equal(ledger_encode(&la, &ba, &na, &f), FAIL_NONE);
	assert_int_equal(ledger_encode(&lb, &bb, &nb, &f), FAIL_NONE);
	assert_int_equal(na, nb);
	assert_memory_equal(ba, bb, na);
	free(ba);
	free(bb);
	ledger_clear(&la);
	ledger_clear(&lb);
}

static void
test_resuming_at_any_step_equals_the_straight_run(void **state)
{
	static struct mixer_draw straight[STEPS][B], resumed[B];
	struct mixer_plan p = plan_of(three, 3);

	(void)state;
	for (int cut = 0; cut < STEPS; cut++) {
		struct mixer *m = open_three(), *again = NULL;
		struct ledger l;
		struct failure f;

		for (int s = 0; s < cut; s++)
			step(m, straight[s]);
		save(m, &l);
		assert_int_equal(mixer_resume(&again, &p, &l, &f), FAIL_NONE);
		ledger_clear(&l);
		for (int s = cut; s < STEPS; s++) {
			step(m, straight[s]);
			step(again, resumed);
			assert_same_draws(straight[s], resumed);
		}
		assert_same_state(m, again);
		mixer_close(m);
		mixer_close(again);
	}
}

static void
test_an_undone_step_leaves_no_trace(void **state)
{
	struct mixer *m = open_three(), *plain = open_three();
	struct mixer_draw draws[B], expected[B];

	(void)state;
	for (int s = 0; s < STEPS; s++) {
		step(m, draws);
		mixer_undo(m);
		assert_same_state(m, plain);
		step(m, draws);
		step(plain, expected);
		assert_same_draws(draws, expected);
	}
	mixer_close(m);
	mixer_close(plain);
}

static void
test_a_copy_goes_its_own_way_the_same_way(void **state)
{
	struct mixer *m = open_three(), *copy = NULL;
	struct mixer_draw draws[B], expected[B];
	struct failure f;

	(void)state;
	for (int s = 0; s < 7; s++)
		step(m, draws);
	assert_int_equal(mixer_copy(&copy, m, &f), FAIL_NONE);
	for (int s = 0; s < STEPS; s++)
		step(copy, draws);
	mixer_close(copy);
	assert_int_equal(mixer_copy(&copy, m, &f), FAIL_NONE);
	for (int s = 0; s < STEPS; s++) {
		step(m, expected);
		step(copy, draws);
		assert_same_draws(draws, expected);
	}
	mixer_close(copy);
	mixer_close(m);
}

static void
test_each_epoch_draws_every_sequence_once_and_in_another_order(void **state)
{
	struct mixer *m = open_three();
	struct mixer_draw draws[B];
	uint8_t seen[12][9] = {{0}};
	uint64_t order[12] = {0};

	(void)state;
	for (int s = 0; s < STEPS / 2; s++) {
		step(m, draws);
		for (int i = 0; i < B; i++) {
			if (draws[i].domain != 2)
				continue;
			assert_true(draws[i].epoch < 12 && draws[i].ordinal < 9);
			assert_int_equal(seen[draws[i].epoch][draws[i].ordinal]++, 0);
		}
	}
	mixer_close(m);
	m = NULL;
	/* 30 steps * 16 * 0.2 = 96 draws of c: ten whole epochs of nine. */
	for (int e = 0; e < 10; e++)
		for (int i = 0; i < 9; i++)
			assert_int_equal(seen[e][i], 1);
	for (uint64_t e = 0; e < 3; e++) {
		const struct order_rule rule = {MIX_SHUFFLE_BLOCK, 16, 1};
		struct order *o;
		struct order_window w;
		struct failure f;

		assert_int_equal(
		    order_open(&o, lengths_c, 1, &rule, permutation_key("c", 1234), &f), FAIL_NONE);
		order_restart(o, e);
		order_window_at(o, 0, &w);
		for (uint64_t t = 0; t < 9; t++)
			order[e] = order[e] * 9 + order_place_at(o, &w, t).ordinal;
		order_close(o);
	}
	assert_true(order[0] != order[1] && order[1] != order[2] && order[0] != order[2]);
}

static void
test_the_order_of_the_batch_is_a_permutation_that_changes_each_step(void **state)
{
	struct mixer_plan bare = plan_of(three, 3);
	struct mixer *m = open_three(), *unpermuted = NULL;
	struct mixer_draw draws[B], plain[B];
	int moved = 0;
	struct failure f;

	(void)state;
	bare.permute = false;
	assert_int_equal(mixer_open(&unpermuted, &bare, &f), FAIL_NONE);
	for (int s = 0; s < STEPS; s++) {
		step(m, draws);
		step(unpermuted, plain);
		for (int i = 0; i < B; i++) {
			int found = 0;

			for (int k = 0; k < B; k++)
				found += same_draw(&draws[i], &plain[k]);
			assert_int_equal(found, 1);
			moved += !same_draw(&draws[i], &plain[i]);
		}
	}
	assert_true(moved > STEPS * B / 2);
	mixer_close(m);
	mixer_close(unpermuted);
}

static void
test_strided_lanes_are_the_same_batch_dealt_differently(void **state)
{
	struct mixer_plan p = plan_of(three, 3);
	struct mixer *m = open_three(), *strided = NULL;
	struct mixer_draw draws[B], dealt[B];
	struct failure f;

	(void)state;
	p.lane_order = MIX_LANES_STRIDED;
	assert_int_equal(mixer_open(&strided, &p, &f), FAIL_NONE);
	step(m, draws);
	step(strided, dealt);
	for (int k = 0; k < B; k++)
		assert_true(same_draw(&draws[k], &dealt[k % 4 * (B / 4) + k / 4]));
	mixer_close(m);
	mixer_close(strided);
}

/* Runs to the end; returns the whole steps. */
static uint64_t
run_out(enum mix_on_end a, enum mix_on_end b, enum mix_on_end c, struct ledger *l)
{
	struct mixer_source source[3] = {three[0], three[1], three[2]};
	struct mixer_plan p = plan_of(source, 3);
	struct mixer *m = NULL;
	struct mixer_draw draws[B];
	struct failure f;
	enum mixer_result result = MIXER_DRAWN;
	uint64_t steps;

	source[0].on_end = a;
	source[1].on_end = b;
	source[2].on_end = c;
	assert_int_equal(mixer_open(&m, &p, &f), FAIL_NONE);
	for (steps = 0; result != MIXER_ENDED && steps < 1000; steps++)
		assert_int_equal(mixer_step(m, draws, &result, &f), FAIL_NONE);
	assert_int_equal(result, MIXER_ENDED);
	assert_int_equal(mixer_step_next(m), steps - 1);
	save(m, l);
	mixer_close(m);
	return steps - 1;
}

static void
test_a_domain_that_stops_ends_the_mix_at_its_last_whole_step(void **state)
{
	struct ledger l;

	(void)state;
	/* c has 9 sequences at 0.2 of 16 a step: the tenth is asked for in step 2 or 3. */
	run_out(MIX_END_REPEAT, MIX_END_REPEAT, MIX_END_STOP, &l);
	assert_true(l.step_next >= 2 && l.step_next <= 3);
	assert_true(l.domain[2].taken <= 9);
	assert_int_equal(l.draws, l.step_next * B);
	ledger_clear(&l);
}

static void
test_dropped_domains_share_their_weight_until_none_is_left(void **state)
{
	struct ledger l;
	uint64_t steps = run_out(MIX_END_DROP, MIX_END_DROP, MIX_END_DROP, &l);

	(void)state;
	assert_int_equal(steps, (50 + 31 + 700 + 9) / B);
	assert_int_equal(l.domain[2].state, LEDGER_DROPPED);
	assert_int_equal(l.domain[2].weight, 0);
	assert_int_equal(l.domain[2].taken, 9);
	assert_int_equal(l.domain[0].taken, 81);
	ledger_clear(&l);
}

static void
test_a_quarantined_sequence_is_never_drawn_and_the_next_one_is(void **state)
{
	struct mixer *m = open_three();
	struct mixer_draw draws[B], bad;
	struct failure f;

	(void)state;
	step(m, draws);
	bad = draws[3];
	mixer_undo(m);
	assert_int_equal(
	    mixer_quarantine(m, bad.domain, bad.partition, bad.ordinal, "test", &f), FAIL_NONE);
	for (int s = 0; s < STEPS * 3; s++) {
		step(m, draws);
		for (int i = 0; i < B; i++)
			assert_false(draws[i].domain == bad.domain &&
				     draws[i].partition == bad.partition &&
				     draws[i].ordinal == bad.ordinal);
	}
	mixer_close(m);
}

static void
test_a_domain_that_is_all_quarantined_is_an_error_not_a_loop(void **state)
{
	struct mixer *m = open_three();
	struct mixer_draw draws[B];
	struct failure f;
	enum mixer_result result;

	(void)state;
	for (uint64_t i = 0; i < 9; i++)
		assert_int_equal(mixer_quarantine(m, 2, 0, i, "test", &f), FAIL_NONE);
	assert_int_equal(mixer_step(m, draws, &result, &f), FAIL_DATA);
	assert_string_equal(
	    f.text, "domain c: every one of its sequences is quarantined or skipped");
	assert_int_equal(mixer_step_next(m), 0);
	mixer_close(m);
}

static void
test_a_changed_configuration_joins_leaves_and_keeps_the_cursors(void **state)
{
	struct mixer_source changed[] = {three[1], three[2],
	    {.name = "aa", .weight = 1, .partitions_n = 1, .sequences = lengths_b}};
	struct mixer_source sorted[] = {changed[2], changed[0], changed[1]};
	struct mixer_plan p = plan_of(sorted, 3);
	struct mixer *m = open_three();
	struct mixer_draw draws[B];
	struct ledger before, after;
	struct failure f;
	int64_t credits = 0;

	(void)state;
	for (int s = 0; s < 20; s++)
		step(m, draws);
	save(m, &before);
	assert_int_equal(mixer_replan(m, &p, NULL, &f), FAIL_NONE);
	save(m, &after);
	assert_int_equal(after.version, 2);
	assert_int_equal(after.version_step, 20);
	assert_int_equal(after.domains_n, 4);
	assert_string_equal(after.domain[3].name, "aa");
	assert_int_equal(after.domain[0].state, LEDGER_LEFT);
	assert_int_equal(after.domain[0].weight, 0);
	for (int i = 0; i < 4; i++)
		credits += after.domain[i].credit;
	assert_int_equal(credits, 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(after.domain[i].position, before.domain[i].position);
	for (int s = 0; s < STEPS; s++) {
		step(m, draws);
		for (int i = 0; i < B; i++)
			assert_true(draws[i].domain != 0);
	}
	ledger_clear(&before);
	ledger_clear(&after);
	mixer_close(m);
}

static void
test_ledgers_that_contradict_themselves_are_refused(void **state)
{
	struct mixer *m = open_three(), *again = NULL;
	struct mixer_plan p = plan_of(three, 3);
	struct ledger l;
	struct failure f;

	(void)state;
	for (int kind = 0; kind < 10; kind++) {
		save(m, &l);
		switch (kind) {
		case 0: l.domain[1].weight++; break;
		case 1: l.domain[1].credit--; break;
		case 2: l.domain[2].position = 10; break;
		case 3: l.domain[0].index = 1; break;
		case 4: l.domain[0].partition[1].sequences = -1; break;
		case 5: l.domain[2].partition[0].sequences = 0; break; /* with a weight */
		case 6: l.domain[1].state = LEDGER_DROPPED; break;
		case 7: /* a credit that could never be drawn */
			l.domain[1].weight += l.domain[0].weight;
			l.domain[0].weight = 0;
			l.domain[0].credit += 1;
			l.domain[1].credit -= 1;
			break;
		case 8: /* the sum is 0 modulo 2^64 */
			l.domain[0].credit = INT64_MAX;
			l.domain[1].credit = INT64_MAX;
			l.domain[2].credit = 2;
			break;
		default: l.step_next = -1;
		}
		assert_int_equal(mixer_resume(&again, &p, &l, &f), FAIL_DATA);
		assert_memory_equal(f.text, "ledger: ", 8);
		ledger_clear(&l);
	}
	mixer_close(m);
}

static void
test_a_greedy_ledger_without_weights_or_with_rounds_is_refused(void **state)
{
	struct mixer_plan p = plan_of(three, 3);
	struct mixer *m = NULL, *again = NULL;
	struct ledger l;
	struct failure f;

	(void)state;
	p.schedule = SCHEDULE_GREEDY;
	assert_int_equal(mixer_open(&m, &p, &f), FAIL_NONE);
	for (int negative = 0; negative < 2; negative++) {
		save(m, &l);
		for (size_t i = 0; i < l.domains_n; i++) /* 0.0, and -0.0 */
			l.domain[i].weight = negative ? UINT64_C(1) << 63 : 0;
		assert_int_equal(mixer_resume(&again, &p, &l, &f), FAIL_DATA);
		assert_string_equal(f.text, "ledger: no domain has a weight");
		ledger_clear(&l);
	}
	save(m, &l);
	l.epoch_size = 9;
	assert_int_equal(mixer_resume(&again, &p, &l, &f), FAIL_DATA);
	assert_string_equal(f.text, "ledger: rounds of 9 draws in a mix without rounds");
	ledger_clear(&l);
	mixer_close(m);
}

static void
test_catch_up_out_of_range_is_refused_wherever_it_stands(void **state)
{
	static const double wrong[] = {-1, 0.99, 1000.1, NAN};
	struct mixer_source source[] = {three[0]};
	struct mixer_plan p = plan_of(source, 1);
	struct mixer *m;
	struct failure f;

	(void)state;
	EACH_ROW(i, wrong) {
		source[0].catch_up = wrong[i];
		assert_int_equal(mixer_open(&m, &p, &f), FAIL_CONFIG);
		assert_non_null(strstr(f.text, "catch_up must be a number from 1 to 1000, not "));
	}
}

static void
test_a_weight_without_sequences_is_refused(void **state)
{
	static const uint64_t none[] = {0};
	struct mixer_source source[] = {
	    three[0], {.name = "empty", .weight = 0.1, .partitions_n = 1, .sequences = none}};
	struct mixer_plan p = plan_of(source, 2);
	struct mixer *m = NULL;
	struct failure f;

	(void)state;
	assert_int_equal(mixer_open(&m, &p, &f), FAIL_CONFIG);
	assert_string_equal(f.text,
	    "domain empty has weight 0.1 and not one sequence: give it weight 0 or longer input");
	source[1].weight = 0;
	assert_int_equal(mixer_open(&m, &p, &f), FAIL_NONE);
	mixer_close(m);
}

static uint32_t
three_tokens(void *opaque, const struct mixer_draw *draw)
{
	(void)opaque;
	return draw->domain == 0 ? 3 : 30; /* as short ones have; a wrong one counts as full */
}

static uint64_t
tokens_of_domain(const struct mixer *m, uint32_t domain)
{
	struct mixer_standing s;

	mixer_stand(m, domain, &s);
	return s.tokens;
}

static void
test_tokens_are_asked_where_sequences_can_be_short(void **state)
{
	struct mixer_source source[] = {three[0], three[1]};
	struct mixer_plan p = plan_of(source, 2);
	struct mixer_draw draws[B];
	struct mixer_standing s;

	(void)state;
	p.weights_unit = MIX_BY_TOKENS;
	for (int asked = 0; asked < 2; asked++)
		for (int brief = 0; brief < 2; brief++) {
			struct mixer *m = NULL;
			struct failure f;

			source[0].short_ones = source[1].short_ones = brief;
			assert_int_equal(mixer_open(&m, &p, &f), FAIL_NONE);
			if (asked)
				mixer_set_tokens(m, three_tokens, NULL);
			step(m, draws);
			mixer_stand(m, 0, &s);
			assert_int_equal(s.tokens, s.taken * (asked && brief ? 3 : 9));
			mixer_stand(m, 1, &s);
			assert_int_equal(s.tokens, s.taken * 9);
			mixer_close(m);
		}
}

static void
test_tokens_are_corrected_where_sequences_are_counted(void **state)
{
	struct mixer_plan p = plan_of(three, 3);
	struct mixer_draw draws[B];

	(void)state;
	for (int by_tokens = 0; by_tokens < 2; by_tokens++) {
		struct mixer *m = NULL;
		struct failure f;
		uint64_t before;

		p.weights_unit = by_tokens ? MIX_BY_TOKENS : MIX_BY_SEQUENCES;
		assert_int_equal(mixer_open(&m, &p, &f), FAIL_NONE);
		step(m, draws);
		before = tokens_of_domain(m, 0);
		mixer_correct_tokens(m, 0, 9); /* a full one */
		assert_int_equal(tokens_of_domain(m, 0), before);
		mixer_correct_tokens(m, 0, 8);
		assert_int_equal(tokens_of_domain(m, 0), by_tokens ? before : before - 1);
		mixer_correct_tokens(m, 0, 4);
		assert_int_equal(tokens_of_domain(m, 0), by_tokens ? before : before - 6);
		mixer_close(m);
	}
}

static void
test_a_round_is_as_long_as_the_largest_domain(void **state)
{
	struct mixer_plan p = plan_of(three, 3);
	struct mixer *m = NULL;
	struct ledger l;
	struct failure f;

	(void)state;
	p.epoch_size = MIXER_EPOCH_LARGEST;
	assert_int_equal(mixer_open(&m, &p, &f), FAIL_NONE);
	save(m, &l);
	assert_int_equal(l.epoch_size, 700); /* the second of three */
	ledger_clear(&l);
	mixer_close(m);
}

static void
test_live_cannot_change_in_the_first_pass(void **state)
{
	struct mixer_source changed[] = {three[0], three[1], three[2]};
	struct mixer_plan p = plan_of(changed, 3);
	struct mixer *m = open_three();
	struct mixer_draw draws[B];
	struct failure f;

	(void)state;
	changed[2].live = true;
	step(m, draws);
	assert_int_equal(mixer_replan(m, &p, NULL, &f), FAIL_CONFIG);
	assert_non_null(strstr(f.text, "domain c: live decides the order of its first pass"));
	mixer_close(m);
	m = open_three();
	for (int s = 0; s < 5; s++) /* 16 of c's 9 are drawn: it is in its second */
		step(m, draws);
	assert_int_equal(mixer_replan(m, &p, NULL, &f), FAIL_NONE);
	mixer_close(m);
}

/* What is appended to it changes nothing: a draw would find its epoch 0 used up. */
static void
test_a_domain_that_was_taken_in_empty_keeps_weight_0(void **state)
{
	static const uint64_t none[] = {0}, some[] = {9};
	static const bool sealed[] = {true};
	struct ledger_raw_weight weight[] = {{"empty", 0.5}};
	struct mixer_phase phase = {
	    .name = "late", .start_step = 9, .weight = weight, .weights_n = 1};
	struct mixer_source source[] = {
	    three[0], {.name = "empty", .partitions_n = 1, .sequences = none}};
	struct mixer_plan p = plan_of(source, 2);
	struct mixer *m;
	struct mixer_draw draws[B];
	struct failure f;

	(void)state;
	assert_int_equal(mixer_open(&m, &p, &f), FAIL_NONE);
	step(m, draws);
	assert_int_equal(mixer_set_lengths(m, 1, some, sealed, &f), FAIL_NONE);
	source[1].sequences = some;
	assert_int_equal(mixer_replan(m, &p, NULL, &f), FAIL_NONE);
	source[1].weight = 1;
	assert_int_equal(mixer_replan(m, &p, NULL, &f), FAIL_CONFIG);
	assert_string_equal(f.text,
	    "domain empty has weight 1, but it was empty when this mix first counted it. The mix "
	    "never draws what was appended later: give the domain weight 0, or start another mix");
	source[1].weight = 0;
	p.phase = &phase;
	p.phases_n = 1;
	assert_int_equal(mixer_replan(m, &p, NULL, &f), FAIL_CONFIG);
	assert_non_null(strstr(f.text, "domain empty has weight 0.5, but it was empty"));
	weight[0].weight = 0;
	assert_int_equal(mixer_replan(m, &p, NULL, &f), FAIL_NONE);
	mixer_close(m);
}

/*
 * By a plan until now, and one of now: what was drawn in one order cannot go on in another, also
 * where the domain is gone meanwhile. Before its first draw it can.
 */
static void
test_the_order_of_a_domain_cannot_change_once_it_was_drawn(void **state)
{
	struct mixer_source changed[] = {three[0], three[1], three[2]};
	struct mixer_plan was = plan_of(three, 3), p = plan_of(changed, 3),
			  less = plan_of(three, 2), rest = plan_of(changed, 2);
	struct mixer *m = open_three();
	struct mixer_draw draws[B];
	struct failure f;

	(void)state;
	changed[2].shuffle = MIX_SHUFFLE_FULL;
	assert_int_equal(mixer_replan(m, &p, &was, &f), FAIL_NONE); /* nothing is drawn yet */
	step(m, draws);
	assert_int_equal(mixer_replan(m, &p, &p, &f), FAIL_NONE);
	assert_int_equal(mixer_replan(m, &was, &p, &f), FAIL_CONFIG);
	assert_string_equal(f.text,
	    "domain c: shuffle decides the order of its sequences, and cannot change once some "
	    "were drawn; give it shuffle: full");
	assert_int_equal(mixer_replan(m, &rest, &p, &f), FAIL_CONFIG);
	assert_non_null(strstr(f.text, "shuffle: full in the file, with weight 0 where"));
	/* Of the mix's order it may leave; and it comes back with no other one. */
	assert_int_equal(mixer_replan(m, &less, &was, &f), FAIL_NONE);
	assert_int_equal(mixer_replan(m, &was, &less, &f), FAIL_NONE);
	assert_int_equal(mixer_replan(m, &p, &less, &f), FAIL_CONFIG);
	assert_non_null(strstr(f.text, "give it shuffle: block"));
	mixer_close(m);
}

/* A domain that the configuration has again is drawn again; one that it keeps changes nothing. */
static void
test_a_domain_that_left_comes_back_with_the_configuration(void **state)
{
	struct mixer_plan p = plan_of(three, 3), less = plan_of(three + 1, 2);
	struct mixer *m = open_three();
	struct mixer_draw draws[B];
	struct mixer_standing s;
	struct failure f;
	uint64_t version;

	(void)state;
	step(m, draws);
	version = mixer_version(m);
	assert_int_equal(mixer_replan(m, &p, NULL, &f), FAIL_NONE);
	assert_int_equal(mixer_version(m), version);
	assert_int_equal(mixer_replan(m, &less, NULL, &f), FAIL_NONE);
	assert_int_equal(mixer_version(m), version + 1);
	mixer_stand(m, 0, &s);
	assert_int_equal(s.state, LEDGER_LEFT);
	assert_true(s.share == 0);
	assert_int_equal(mixer_replan(m, &p, NULL, &f), FAIL_NONE);
	mixer_stand(m, 0, &s);
	assert_int_equal(s.state, LEDGER_ACTIVE);
	assert_true(s.share > 0.49);
	step(m, draws);
	mixer_close(m);
}

/*
 * A request set the weight of a and lr_scale. The file then changes b alone: a and lr_scale stay as
 * the request left them. By the rule that mixers had first, they are the file's.
 */
static void
test_a_changed_plan_keeps_what_a_request_changed_and_the_plan_did_not(void **state)
{
	for (int keeps = 0; keeps < 2; keeps++) {
		struct mixer_source changed[] = {three[0], three[1], three[2]};
		struct mixer_plan was = plan_of(three, 3), p = plan_of(changed, 3);
		struct ledger_raw_weight five = {(char *)(uintptr_t)three[0].name, 5};
		struct control request = {.id = (char *)(uintptr_t) "r",
		    .at_step = -1,
		    .weight = &five,
		    .weights_n = 1,
		    .lr_scale = 0.5};
		struct mixer *m = open_three();
		struct mixer_draw draws[B];
		struct ledger_answer answer;
		struct mixer_standing s;
		struct failure f;
		bool duplicate;

		assert_int_equal(
		    mixer_request(m, &request, NULL, &answer, &duplicate, &f), FAIL_NONE);
		assert_true(answer.accepted);
		ledger_answer_clear(&answer);
		step(m, draws);
		changed[1].weight = 0.7;
		assert_int_equal(mixer_replan(m, &p, keeps ? &was : NULL, &f), FAIL_NONE);
		mixer_stand(m, 0, &s);
		assert_true(s.weight == (keeps ? 5 : three[0].weight));
		assert_true(mixer_lr_scale(m) == (keeps ? 0.5 : 1));
		mixer_stand(m, 1, &s);
		assert_true(s.weight == 0.7);
		changed[0].weight = 0.2; /* now the file changes it, too */
		was = plan_of(three, 3);
		assert_int_equal(mixer_replan(m, &p, keeps ? &was : NULL, &f), FAIL_NONE);
		mixer_stand(m, 0, &s);
		assert_true(s.weight == 0.2);
		mixer_close(m);
	}
	(void)state;
}

/* What the configuration says now counts, at once and where a phase falls back to it. */
static void
test_a_changed_weight_of_the_configuration_is_the_base_of_phases(void **state)
{
	struct mixer_source changed[] = {three[0], three[1], three[2]};
	const struct mixer_phase phase = {.name = "p", .start_step = 3, .lr_scale = 0.5};
	struct mixer_plan p = plan_of(changed, 3);
	struct mixer *m = open_three();
	struct mixer_draw draws[B];
	struct mixer_standing s;
	struct failure f;

	(void)state;
	step(m, draws);
	changed[0].weight = 0.1;
	changed[1].weight = 0.7;
	p.phase = &phase;
	p.phases_n = 1;
	assert_int_equal(mixer_replan(m, &p, NULL, &f), FAIL_NONE);
	for (int i = 0; i < 4; i++) {
		mixer_stand(m, 0, &s);
		assert_true(fabs(s.share - 0.1) < 1e-6);
		mixer_stand(m, 1, &s);
		assert_true(fabs(s.share - 0.7) < 1e-6);
		step(m, draws);
	}
	assert_string_equal(mixer_phase_name(m), "p");
	mixer_close(m);
}

static void
test_shares_and_credits_are_told_for_each_schedule(void **state)
{
	static const enum schedule_kind kinds[] = {
	    SCHEDULE_DEFICIT, SCHEDULE_GREEDY, SCHEDULE_RANDOM};
	struct mixer_plan p = plan_of(three, 3);
	struct mixer_draw draws[B];

	(void)state;
	for (int k = 0; k < 3; k++) {
		struct mixer *m = NULL;
		double credits = 0;
		struct failure f;

		p.schedule = kinds[k];
		assert_int_equal(mixer_open(&m, &p, &f), FAIL_NONE);
		step(m, draws);
		for (uint32_t d = 0; d < 3; d++) {
			struct mixer_standing s;
			double due;

			mixer_stand(m, d, &s);
			assert_true(fabs(s.share - three[d].weight) < 1e-6);
			due = B * three[d].weight - (double)s.taken;
			if (kinds[k] == SCHEDULE_RANDOM)
				assert_true(s.credit == 0);
			else
				assert_true(fabs(s.credit - due) < 1e-6);
			credits += s.credit;
		}
		assert_true(fabs(credits) < 1e-6);
		mixer_close(m);
	}
}

/* The ledger's witness of all draws: it goes on from draw to draw, and is the same for ever. */
static void
test_each_choice_is_in_the_rolling_hash(void **state)
{
	static const uint64_t pinned[] = {
	    0, UINT64_C(4054390161240118967), UINT64_C(1598912055716214684)};
	struct mixer *m = open_three();
	struct mixer_draw draws[B];

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct ledger l;

		save(m, &l);
		assert_true(l.choices == pinned[i]);
		for (size_t d = 0; d < l.domains_n; d++)
			assert_int_equal(l.domain[d].tokens, 9 * l.domain[d].taken);
		ledger_clear(&l);
		step(m, draws);
	}
	mixer_close(m);
}

static void
test_a_dropped_domain_comes_back_where_it_gets_more_passes(void **state)
{
	struct mixer_source source[] = {three[1], three[2]};
	struct mixer_plan p = plan_of(source, 2);
	struct mixer *m = NULL;
	struct mixer_draw draws[B];
	struct mixer_standing s;
	struct failure f;

	(void)state;
	source[1].on_end = MIX_END_DROP;
	assert_int_equal(mixer_open(&m, &p, &f), FAIL_NONE);
	for (int i = 0; i < 3; i++)
		step(m, draws);
	mixer_stand(m, 1, &s);
	assert_int_equal(s.state, LEDGER_DROPPED);
	assert_int_equal(mixer_replan(m, &p, NULL, &f), FAIL_NONE);
	mixer_stand(m, 1, &s);
	assert_int_equal(s.state, LEDGER_DROPPED);
	source[1].max_epochs = 1; /* as it was */
	assert_int_equal(mixer_replan(m, &p, NULL, &f), FAIL_NONE);
	mixer_stand(m, 1, &s);
	assert_int_equal(s.state, LEDGER_DROPPED);
	source[1].max_epochs = 2;
	assert_int_equal(mixer_replan(m, &p, NULL, &f), FAIL_NONE);
	mixer_stand(m, 1, &s);
	assert_int_equal(s.state, LEDGER_ACTIVE);
	step(m, draws);
	mixer_close(m);
}

/* A changed plan replaces all that was in force, in any phase. */
static void
test_after_another_plan_all_in_force_is_as_from_the_start(void **state)
{
	static const uint64_t lengths[][1] = {{4000}, {4000}};
	static char a[] = "a", b[] = "b";
	struct ledger_raw_weight only_a[] = {{a, 1}, {b, 0}}, twice_b[] = {{b, 2}};
	const struct mixer_source source[] = {
	    {.name = "a", .weight = 1, .partitions_n = 1, .sequences = lengths[0]},
	    {.name = "b", .weight = 3, .partitions_n = 1, .sequences = lengths[1]},
	};
	const struct mixer_phase phases[] = {
	    {.name = "p",
		.start_step = 2,
		.weight = only_a,
		.weights_n = 2,
		.temperature = 3,
		.lr_scale = 0.5,
		.global_batch = 32},
	    {.name = "q", .start_step = 5},
	    {.name = "r",
		.start_step = 5,
		.weight = twice_b,
		.weights_n = 1,
		.lr_scale = 2,
		.global_batch = 4},
	};
	/* The first phase of a plan, how many it has, and its temperature. */
	static const struct {
		size_t first, n;
		double temperature;
	} plans[] = {{0, 0, 1}, {0, 1, 1}, {0, 2, 1}, {1, 1, 2}, {2, 1, 1}, {0, 0, 2}};

	(void)state;
	EACH_ROW(i, plans)
		EACH_ROW(k, plans)
			for (uint64_t steps = 0; steps < 8; steps++) {
				struct mixer_plan was = mixes_plan(source, 2), p = was;
				struct mixer *m, *fresh;
				struct ledger l, fresh_l;
				struct failure f;

				was.phase = &phases[plans[i].first];
				was.phases_n = plans[i].n;
				was.temperature = plans[i].temperature;
				p.phase = &phases[plans[k].first];
				p.phases_n = plans[k].n;
				p.temperature = plans[k].temperature;
				m = mixes_open(&was);
				fresh = mixes_open(&p);
				for (uint64_t n = 0; n < steps; n++) {
					mixes_step(m, &was, NULL);
					mixes_step(fresh, &p, NULL);
				}
				/* Changes the plan, changes it back, and changes it again. */
				for (int n = 0; n < 3; n++)
					assert_int_equal(
					    mixer_replan(m, n == 1 ? &was : &p, NULL, &f),
					    FAIL_NONE);
				for (int n = 0; n < 4; n++) {
					assert_true(mixer_global_batch_most(m) >= p.global_batch);
					assert_int_equal(mixer_global_batch_most(m),
					    mixer_global_batch_most(fresh));
					mixes_step(m, &p, NULL);
					mixes_step(fresh, &p, NULL);
					assert_string_equal(
					    mixer_phase_name(m), mixer_phase_name(fresh));
					assert_true(mixer_lr_scale(m) == mixer_lr_scale(fresh));
					assert_true(
					    mixer_temperature(m) == mixer_temperature(fresh));
					assert_int_equal(
					    mixer_global_batch(m), mixer_global_batch(fresh));
					for (uint32_t d = 0; d < 2; d++)
						assert_true(mixes_stand(m, d).share ==
							    mixes_stand(fresh, d).share);
				}
				save(m, &l);
				save(fresh, &fresh_l);
				assert_true(l.base == fresh_l.base); /* what the next replan sees */
				ledger_clear(&l);
				ledger_clear(&fresh_l);
				mixer_close(m);
				mixer_close(fresh);
			}
}

/* What blocks the original blocks the copy, too. */
static void
test_a_copy_of_a_mixer_that_is_dry_says_what_it_lacks(void **state)
{
	static const uint64_t lengths[][1] = {{40}, {3}};
	const struct mixer_source source[] = {
	    {.name = "a", .weight = 1, .partitions_n = 1, .sequences = lengths[0]},
	    {.name = "b", .weight = 1, .partitions_n = 1, .sequences = lengths[1], .live = true},
	};
	struct mixer_plan p = mixes_plan(source, 2);
	struct mixer *m = mixes_open(&p), *copy;
	struct failure f;

	(void)state;
	assert_int_equal(mixes_step(m, &p, NULL), MIXER_DRY);
	assert_int_equal(mixer_copy(&copy, m, &f), FAIL_NONE);
	assert_int_equal(mixer_blocked(copy)->domain, 1);
	assert_int_equal(mixer_blocked(copy)->ordinal, 3);
	mixer_close(copy);
	mixer_close(m);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_resuming_at_any_step_equals_the_straight_run),
	    cmocka_unit_test(test_an_undone_step_leaves_no_trace),
	    cmocka_unit_test(test_a_copy_goes_its_own_way_the_same_way),
	    cmocka_unit_test(test_each_epoch_draws_every_sequence_once_and_in_another_order),
	    cmocka_unit_test(test_the_order_of_the_batch_is_a_permutation_that_changes_each_step),
	    cmocka_unit_test(test_strided_lanes_are_the_same_batch_dealt_differently),
	    cmocka_unit_test(test_a_domain_that_stops_ends_the_mix_at_its_last_whole_step),
	    cmocka_unit_test(test_dropped_domains_share_their_weight_until_none_is_left),
	    cmocka_unit_test(test_a_quarantined_sequence_is_never_drawn_and_the_next_one_is),
	    cmocka_unit_test(test_a_domain_that_is_all_quarantined_is_an_error_not_a_loop),
	    cmocka_unit_test(test_a_changed_configuration_joins_leaves_and_keeps_the_cursors),
	    cmocka_unit_test(test_ledgers_that_contradict_themselves_are_refused),
	    cmocka_unit_test(test_a_greedy_ledger_without_weights_or_with_rounds_is_refused),
	    cmocka_unit_test(test_catch_up_out_of_range_is_refused_wherever_it_stands),
	    cmocka_unit_test(test_a_weight_without_sequences_is_refused),
	    cmocka_unit_test(test_tokens_are_asked_where_sequences_can_be_short),
	    cmocka_unit_test(test_tokens_are_corrected_where_sequences_are_counted),
	    cmocka_unit_test(test_a_round_is_as_long_as_the_largest_domain),
	    cmocka_unit_test(test_live_cannot_change_in_the_first_pass),
	    cmocka_unit_test(test_the_order_of_a_domain_cannot_change_once_it_was_drawn),
	    cmocka_unit_test(test_a_domain_that_left_comes_back_with_the_configuration),
	    cmocka_unit_test(test_shares_and_credits_are_told_for_each_schedule),
	    cmocka_unit_test(test_a_changed_plan_keeps_what_a_request_changed_and_the_plan_did_not),
	    cmocka_unit_test(test_a_changed_weight_of_the_configuration_is_the_base_of_phases),
	    cmocka_unit_test(test_each_choice_is_in_the_rolling_hash),
	    cmocka_unit_test(test_a_dropped_domain_comes_back_where_it_gets_more_passes),
	    cmocka_unit_test(test_a_domain_that_was_taken_in_empty_keeps_weight_0),
	    cmocka_unit_test(test_after_another_plan_all_in_force_is_as_from_the_start),
	    cmocka_unit_test(test_a_copy_of_a_mixer_that_is_dry_says_what_it_lacks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
