/* mixer_resume(): each field of a ledger on both sides of what a mixer can go on from. */
#include "tests/unit/test.h"

#include <math.h>

#include "common/base/names.h"
#include "common/schedule/weights.h"
#include "consumer/mixer/request_ids.h"
#include "tests/unit/mixes.h"

#define COUNT_MAX  (INT64_C(1) << 62)
#define LENGTH_MAX (INT64_C(1) << 48)

static const uint64_t lengths_a[] = {50}, lengths_b[] = {700, 30};
static const bool sealed_b[] = {false, true};
static const struct mixer_source two[] = {
    {.name = "a", .weight = 0.5, .partitions_n = 1, .sequences = lengths_a},
    {.name = "b",
	.weight = 0.5,
	.partitions_n = 2,
	.sequences = lengths_b,
	.sealed = sealed_b,
	.live = true},
};
static const struct mixer_source both_sealed[] = {
    {.name = "a", .weight = 0.5, .partitions_n = 1, .sequences = lengths_a},
    {.name = "b", .weight = 0.5, .partitions_n = 2, .sequences = lengths_b},
};

enum place { TOP, DOMAIN_A, DOMAIN_B, PART_A, PART_B, PENDING, WEIGHT, PENDING_SKIP, SKIP, BAD };
enum kind { I64, U64, U32, REAL, FLAG };

struct row {
	enum place place;
	enum kind kind;
	size_t at;
	double real; /* REAL */
	int64_t whole;
	bool taken;
};

#define ROW(place, kind, type, field, value, taken)                                                \
	{                                                                                          \
		place, kind, offsetof(struct type, field), 0, value, taken                         \
	}
#define ROW_REAL(place, type, field, value, taken)                                                 \
	{                                                                                          \
		place, REAL, offsetof(struct type, field), value, 0, taken                         \
	}

static void *
field_of(struct ledger *l, const struct row *r)
{
	switch (r->place) {
	case TOP: return (char *)l + r->at;
	case DOMAIN_A: return (char *)&l->domain[0] + r->at;
	case DOMAIN_B: return (char *)&l->domain[1] + r->at;
	case PART_A: return (char *)&l->domain[0].partition[0] + r->at;
	case PART_B: return (char *)&l->domain[1].partition[0] + r->at;
	case PENDING: return (char *)&l->pending[0] + r->at;
	case WEIGHT: return (char *)&l->pending[0].weight[1] + r->at;
	case PENDING_SKIP: return (char *)&l->pending[1] + r->at;
	case SKIP: return (char *)&l->skip[0] + r->at;
	case BAD: return (char *)&l->quarantined[0] + r->at;
	}
	return NULL;
}

/* Whether a mixer goes on from `l` with that one field changed; *l is as before afterwards. */
static bool
goes_on(const struct mixer_plan *p, struct ledger *l, const struct row *r)
{
	struct mixer *m = NULL;
	unsigned char was[8];
	void *field = field_of(l, r);
	struct failure f;
	bool flag = r->whole != 0;
	uint32_t narrow = (uint32_t)r->whole;
	const void *from = r->kind == REAL   ? (const void *)&r->real
			   : r->kind == FLAG ? (const void *)&flag
			   : r->kind == U32  ? (const void *)&narrow
					     : (const void *)&r->whole;
	size_t n = r->kind == FLAG ? sizeof(flag) : r->kind == U32 ? sizeof(narrow) : 8;
	bool taken;

	memcpy(was, field, n);
	memcpy(field, from, n);
	taken = mixer_resume(&m, p, l, &f) == FAIL_NONE;
	assert_true(taken || (f.code == FAIL_DATA && memcmp(f.text, "ledger: ", 8) == 0));
	memcpy(field, was, n);
	mixer_close(m);
	return taken;
}

static void
check_rows(const struct mixer_plan *p, struct ledger *l, const struct row *row, size_t rows_n)
{
	struct mixer *m = NULL;
	struct failure f;
	size_t wrong = rows_n;

	assert_int_equal(mixer_resume(&m, p, l, &f), FAIL_NONE);
	mixer_close(m);
	for (size_t i = 0; i < rows_n && wrong == rows_n; i++)
		if (goes_on(p, l, &row[i]) != row[i].taken)
			wrong = i;
	assert_int_equal(wrong, rows_n);
}

/* The ledger of a mixer after one step. */
static void
save_after_a_step(const struct mixer_plan *p, struct ledger *l, bool requests)
{
	struct ledger_raw_weight weight[] = {{(char *)"a", 0.2}, {(char *)"b", 0.8}};
	struct mixer *m = mixes_open(p);
	struct failure f;

	*l = (struct ledger){0};
	assert_int_equal(mixes_step(m, p, NULL), MIXER_DRAWN);
	if (requests) {
		struct control c = mixes_weight((char *)"w", 5, weight, 2);
		struct ledger_answer answer = mixes_ask(m, c, NULL);

		assert_true(answer.accepted);
		ledger_answer_clear(&answer);
		c = (struct control){.id = (char *)"s",
		    .kind = LEDGER_SKIP,
		    .at_step = 6,
		    .domain = (char *)"b",
		    .partition = 1,
		    .first = 3,
		    .end = 9};
		answer = mixes_ask(m, c, NULL);
		assert_true(answer.accepted);
		ledger_answer_clear(&answer);
		assert_int_equal(mixer_quarantine(m, 1, 0, 8, "torn", &f), FAIL_NONE);
	}
	assert_int_equal(mixer_save(m, l, &f), FAIL_NONE);
	mixer_close(m);
}

static void
test_each_number_has_a_range(void **state)
{
	static const struct row rows[] = {
	    ROW(TOP, I64, ledger, step_next, -1, false),
	    ROW(TOP, I64, ledger, step_next, COUNT_MAX, true),
	    ROW(TOP, I64, ledger, step_next, COUNT_MAX + 1, false),
	    ROW(TOP, I64, ledger, draws, -1, false),
	    ROW(TOP, I64, ledger, draws, COUNT_MAX, true),
	    ROW(TOP, I64, ledger, draws, COUNT_MAX + 1, false),
	    ROW(TOP, I64, ledger, version, -1, false),
	    ROW(TOP, I64, ledger, version, COUNT_MAX, true),
	    ROW(TOP, I64, ledger, version, COUNT_MAX + 1, false),
	    ROW(TOP, I64, ledger, version_step, -1, false),
	    ROW(TOP, I64, ledger, version_step, 0, true),
	    ROW(TOP, I64, ledger, round, -1, false),
	    ROW(TOP, I64, ledger, round, COUNT_MAX, true),
	    ROW(TOP, I64, ledger, round, COUNT_MAX + 1, false),
	    ROW(TOP, I64, ledger, greedy_draws, -1, false),
	    ROW(TOP, I64, ledger, greedy_draws, COUNT_MAX, true),
	    ROW(TOP, I64, ledger, greedy_draws, COUNT_MAX + 1, false),
	    ROW(TOP, I64, ledger, round_draws, -1, false),
	    ROW(TOP, I64, ledger, round_draws, 1, false),
	    ROW(TOP, I64, ledger, epoch_size, -1, false),
	    ROW_REAL(TOP, ledger, temperature, 0, false),
	    ROW_REAL(TOP, ledger, temperature, -1, false),
	    ROW_REAL(TOP, ledger, temperature, NAN, false),
	    ROW_REAL(TOP, ledger, temperature, INFINITY, false),
	    ROW_REAL(TOP, ledger, temperature, 0.5, true),
	    ROW_REAL(TOP, ledger, lr_scale, 0, false),
	    ROW_REAL(TOP, ledger, lr_scale, -1, false),
	    ROW_REAL(TOP, ledger, lr_scale, NAN, false),
	    ROW_REAL(TOP, ledger, lr_scale, INFINITY, false),
	    ROW_REAL(TOP, ledger, lr_scale, 0.5, true),
	    ROW(DOMAIN_A, U32, ledger_domain, index, 1, false),
	    ROW(DOMAIN_A, I64, ledger_domain, epoch, -1, false),
	    ROW(DOMAIN_A, I64, ledger_domain, epoch, COUNT_MAX, true),
	    ROW(DOMAIN_A, I64, ledger_domain, epoch, COUNT_MAX + 1, false),
	    ROW(DOMAIN_A, I64, ledger_domain, position, -1, false),
	    ROW(DOMAIN_A, I64, ledger_domain, position, 50, true),
	    ROW(DOMAIN_A, I64, ledger_domain, position, 51, false),
	    ROW(DOMAIN_A, I64, ledger_domain, taken, -1, false),
	    ROW(DOMAIN_A, I64, ledger_domain, taken, COUNT_MAX, true),
	    ROW(DOMAIN_A, I64, ledger_domain, taken, COUNT_MAX + 1, false),
	    ROW(DOMAIN_A, I64, ledger_domain, tokens, -1, false),
	    ROW(DOMAIN_A, I64, ledger_domain, tokens, COUNT_MAX, true),
	    ROW(DOMAIN_A, I64, ledger_domain, tokens, COUNT_MAX + 1, false),
	    ROW(DOMAIN_A, I64, ledger_domain, owed, -1, false),
	    ROW(DOMAIN_A, I64, ledger_domain, owed, COUNT_MAX, true),
	    ROW(DOMAIN_A, I64, ledger_domain, owed, COUNT_MAX + 1, false),
	    ROW(DOMAIN_A, I64, ledger_domain, repay, -1, false),
	    ROW(DOMAIN_A, I64, ledger_domain, repay, (int64_t)(2000 * WEIGHT_ONE), true),
	    ROW(DOMAIN_A, I64, ledger_domain, repay, (int64_t)(2000 * WEIGHT_ONE) + 1, false),
	    ROW(DOMAIN_A, I64, ledger_domain, credit, 7, false),
	    ROW(DOMAIN_A, U64, ledger_domain, weight, (int64_t)WEIGHT_ONE + 1, false),
	    ROW(DOMAIN_A, U64, ledger_domain, round_weight, 1, false),
	    ROW_REAL(DOMAIN_A, ledger_domain, raw_weight, -1, false),
	    ROW_REAL(DOMAIN_A, ledger_domain, raw_weight, NAN, false),
	    ROW_REAL(DOMAIN_A, ledger_domain, raw_weight, INFINITY, false),
	    ROW_REAL(DOMAIN_A, ledger_domain, raw_weight, 0, true),
	    ROW_REAL(DOMAIN_A, ledger_domain, base_weight, -1, false),
	    ROW_REAL(DOMAIN_A, ledger_domain, base_weight, NAN, false),
	    ROW_REAL(DOMAIN_A, ledger_domain, base_weight, INFINITY, false),
	    ROW_REAL(DOMAIN_A, ledger_domain, base_weight, 0, true),
	    ROW(PART_A, I64, ledger_partition, sequences, -1, false),
	    ROW(PART_A, I64, ledger_partition, taken, -1, false),
	    ROW(PART_A, I64, ledger_partition, sequences_next, 49, false),
	    ROW(PART_A, I64, ledger_partition, sequences_next, LENGTH_MAX, true),
	    ROW(PART_A, I64, ledger_partition, sequences_next, LENGTH_MAX + 1, false),
	    ROW(PART_A, FLAG, ledger_partition, sealed, false, false),      /* no live domain */
	    ROW(PART_B, I64, ledger_partition, sequences_next, 701, false), /* not sealed */
	    ROW(PART_B, I64, ledger_partition, sequences_next, 700, true),
	    ROW(DOMAIN_B, I64, ledger_domain, epoch, 1, false), /* not sealed, so in its first */
	    ROW(DOMAIN_B, FLAG, ledger_domain, live, false, false),
	};
	struct mixer_plan p = mixes_plan(two, 2);
	struct ledger l;
	size_t domains_n;
	struct mixer *m = NULL;
	struct failure f;

	(void)state;
	save_after_a_step(&p, &l, false);
	check_rows(&p, &l, rows, sizeof(rows) / sizeof(rows[0]));
	domains_n = l.domains_n;
	for (size_t i = 0; i < 2; i++) {
		l.domains_n = i == 0 ? 0 : LIMIT_DOMAINS + 1;
		assert_int_equal(mixer_resume(&m, &p, &l, &f), FAIL_DATA);
		assert_memory_equal(f.text, "ledger: ", 8);
	}
	l.domains_n = domains_n;
	ledger_clear(&l);
}

static void
test_each_number_of_what_waits_and_of_what_is_kept_out_has_a_range(void **state)
{
	static const struct row rows[] = {
	    ROW(PENDING, I64, ledger_change, step, 0, false), /* the mix is at step 1 */
	    ROW(PENDING, I64, ledger_change, step, 1, true),
	    ROW_REAL(PENDING, ledger_change, temperature, -1, false),
	    ROW_REAL(PENDING, ledger_change, temperature, NAN, false),
	    ROW_REAL(PENDING, ledger_change, temperature, INFINITY, false),
	    ROW_REAL(PENDING, ledger_change, temperature, 0, true),
	    ROW_REAL(PENDING, ledger_change, temperature, 0.5, true),
	    ROW_REAL(PENDING, ledger_change, lr_scale, -1, false),
	    ROW_REAL(PENDING, ledger_change, lr_scale, NAN, false),
	    ROW_REAL(PENDING, ledger_change, lr_scale, INFINITY, false),
	    ROW_REAL(PENDING, ledger_change, lr_scale, 0.5, true),
	    ROW_REAL(WEIGHT, ledger_raw_weight, weight, -1, false),
	    ROW_REAL(WEIGHT, ledger_raw_weight, weight, NAN, false),
	    ROW_REAL(WEIGHT, ledger_raw_weight, weight, INFINITY, false),
	    ROW_REAL(WEIGHT, ledger_raw_weight, weight, 0, true),
	    ROW(PENDING_SKIP, U32, ledger_change, partition, -1, false),
	    ROW(PENDING_SKIP, U32, ledger_change, partition, 0, true),
	    ROW(PENDING_SKIP, I64, ledger_change, first, -1, false),
	    ROW(PENDING_SKIP, I64, ledger_change, first, 0, true),
	    ROW(PENDING_SKIP, I64, ledger_change, first, 9, false),
	    ROW(PENDING_SKIP, I64, ledger_change, end, 3, false),
	    ROW(PENDING_SKIP, I64, ledger_change, end, 4, true),
	    ROW(SKIP, U32, ledger_skip, domain, 2, false),
	    ROW(SKIP, U32, ledger_skip, domain, 1, true),
	    ROW(SKIP, I64, ledger_skip, first, -1, false),
	    ROW(SKIP, I64, ledger_skip, first, 0, true),
	    ROW(SKIP, I64, ledger_skip, end, 20, false),
	    ROW(SKIP, I64, ledger_skip, end, 21, true),
	    ROW(BAD, U32, ledger_quarantined, domain, 2, false),
	    ROW(BAD, U32, ledger_quarantined, domain, 0, true),
	    ROW(BAD, I64, ledger_quarantined, ordinal, -1, false),
	    ROW(BAD, I64, ledger_quarantined, ordinal, 0, true),
	};
	struct mixer_plan p = mixes_plan(two, 2);
	struct mixer *m = NULL;
	struct ledger l, again = {0};
	uint8_t *bytes[2];
	size_t n[2];
	struct failure f;
	char *name;

	(void)state;
	save_after_a_step(&p, &l, true);
	assert_int_equal(l.pending_n, 2);
	assert_int_equal(l.pending[0].weights_n, 2);
	assert_int_equal(l.quarantined_n, 1);
	l.skip = calloc(1, sizeof(*l.skip));
	assert_non_null(l.skip);
	l.skip[0] = (struct ledger_skip){.domain = 1, .partition = 1, .first = 20, .end = 25};
	l.skips_n = 1;
	check_rows(&p, &l, rows, sizeof(rows) / sizeof(rows[0]));

	/* A domain that the mix does not have cannot be skipped in, or leave. */
	name = l.pending[1].domain;
	l.pending[1].domain = (char *)"c";
	assert_int_equal(mixer_resume(&m, &p, &l, &f), FAIL_DATA);
	l.pending[1].kind = LEDGER_LEAVE;
	assert_int_equal(mixer_resume(&m, &p, &l, &f), FAIL_DATA);
	l.pending[1].kind = LEDGER_SKIP;
	l.pending[1].domain = name;

	/* All that waits is saved again as it was. */
	assert_int_equal(mixer_resume(&m, &p, &l, &f), FAIL_NONE);
	assert_int_equal(mixer_save(m, &again, &f), FAIL_NONE);
	assert_int_equal(ledger_encode(&l, &bytes[0], &n[0], &f), FAIL_NONE);
	assert_int_equal(ledger_encode(&again, &bytes[1], &n[1], &f), FAIL_NONE);
	assert_int_equal(n[0], n[1]);
	assert_memory_equal(bytes[0], bytes[1], n[0]);
	free(bytes[0]);
	free(bytes[1]);
	mixer_close(m);
	ledger_clear(&again);
	ledger_clear(&l);
}

static void
test_what_a_round_has_dealt_out_fits_its_draws(void **state)
{
	/* 40 draws, 20 of each; 16 are drawn. */
	static const struct row rows[] = {
	    ROW(TOP, I64, ledger, round_draws, 39, true),
	    ROW(TOP, I64, ledger, round_draws, 40, false),
	    ROW(TOP, I64, ledger, epoch_size, 0, false),
	    ROW(TOP, I64, ledger, epoch_size, 1, false), /* fewer than domains */
	    ROW(TOP, I64, ledger, epoch_size, (int64_t)LIMIT_ROUND + 1, false),
	    ROW(DOMAIN_A, U64, ledger_domain, round_weight, 21, false),
	    ROW(DOMAIN_A, U64, ledger_domain, round_weight, 20, true),
	    ROW(DOMAIN_A, U64, ledger_domain, round_weight, 4, true),
	    ROW(DOMAIN_A, U64, ledger_domain, round_weight, 3, false),
	    ROW(DOMAIN_A, U64, ledger_domain, round_weight, 41, false),
	};
	struct mixer_plan p = mixes_plan(both_sealed, 2);
	struct ledger l;

	(void)state;
	p.epoch_size = 40;
	save_after_a_step(&p, &l, false);
	assert_int_equal(l.round_draws, 16);
	assert_int_equal(l.domain[0].round_weight, 20);
	check_rows(&p, &l, rows, sizeof(rows) / sizeof(rows[0]));
	ledger_clear(&l);
}

static void
test_what_schedules_without_credits_hold(void **state)
{
	static const struct row random[] = {
	    ROW(DOMAIN_A, I64, ledger_domain, credit, 0, true),
	    ROW(DOMAIN_A, I64, ledger_domain, credit, 1, false),
	};
	struct row greedy[] = {
	    ROW(DOMAIN_A, I64, ledger_domain, greedy_count, -1, false),
	    ROW(DOMAIN_A, I64, ledger_domain, greedy_count, 0, true),
	    ROW(DOMAIN_A, I64, ledger_domain, greedy_count, 99, true),
	    ROW(DOMAIN_A, U64, ledger_domain, weight, (int64_t)weights_bits(1), true),
	    ROW(DOMAIN_A, U64, ledger_domain, weight, (int64_t)weights_bits(1.1), false),
	    ROW(DOMAIN_A, U64, ledger_domain, weight, (int64_t)weights_bits(-0.1), false),
	    ROW(DOMAIN_A, U64, ledger_domain, weight, (int64_t)weights_bits(NAN), false),
	};
	struct mixer_plan p = mixes_plan(both_sealed, 2);
	struct ledger l;

	(void)state;
	p.schedule = SCHEDULE_RANDOM;
	save_after_a_step(&p, &l, false);
	check_rows(&p, &l, random, sizeof(random) / sizeof(random[0]));
	l.domain[0].credit = 1; /* their sum is 0, and yet */
	l.domain[1].credit = -1;
	assert_false(goes_on(&p, &l, &(struct row)ROW(TOP, I64, ledger, round, 0, true)));
	ledger_clear(&l);
	p.schedule = SCHEDULE_GREEDY;
	save_after_a_step(&p, &l, false);
	check_rows(&p, &l, greedy, sizeof(greedy) / sizeof(greedy[0]));
	ledger_clear(&l);
}

/* No domain is a draw ahead for each domain that there is; by sums, and in all. */
static void
test_credits_are_bounded_by_a_draw_for_each_domain(void **state)
{
	static const struct {
		int64_t credit;
		bool taken;
	} row[] = {
	    {0, true},
	    {INT64_C(1), true},
	    {INT64_C(2) << 32, true},
	    {(INT64_C(2) << 32) + 1, false},
	    {-(INT64_C(2) << 32), true},
	    {-(INT64_C(2) << 32) - 1, false},
	};
	struct mixer_plan p = mixes_plan(both_sealed, 2);
	struct ledger l;

	(void)state;
	save_after_a_step(&p, &l, false);
	EACH_ROW(i, row) {
		l.domain[0].credit = row[i].credit;
		l.domain[1].credit = -row[i].credit;
		assert_int_equal(
		    goes_on(&p, &l, &(struct row)ROW(TOP, I64, ledger, round, 0, true)),
		    row[i].taken);
	}
	ledger_clear(&l);
}

static void
test_names_of_what_is_in_force_have_a_length(void **state)
{
	static const struct {
		bool id;
		size_t length;
		bool taken;
	} row[] = {{true, MIXER_ID_BYTES_MAX, true}, {true, MIXER_ID_BYTES_MAX + 1, false},
	    {false, NAME_MAX_BYTES, true}, {false, NAME_MAX_BYTES + 1, false}, {true, 0, true}};
	struct mixer_plan p = mixes_plan(two, 2);

	(void)state;
	EACH_ROW(i, row) {
		char *text = calloc(1, row[i].length + 1), **field;
		struct mixer *m = NULL;
		struct ledger l, again = {0};
		struct failure f;

		assert_non_null(text);
		memset(text, 'n', row[i].length);
		save_after_a_step(&p, &l, false);
		field = row[i].id ? &l.reason_id : &l.phase;
		free(*field);
		*field = text;
		assert_int_equal(
		    mixer_resume(&m, &p, &l, &f), row[i].taken ? FAIL_NONE : FAIL_DATA);
		if (row[i].taken) {
			assert_int_equal(mixer_save(m, &again, &f), FAIL_NONE);
			assert_string_equal(row[i].id ? again.reason_id : again.phase, text);
			ledger_clear(&again);
		}
		mixer_close(m);
		ledger_clear(&l);
	}
}

/* Domain a is sealed and is extended. Domain b is live and ends if `b_ends`. */
static void
set_lengths(struct mixer *m, const uint64_t grown_a[2], const uint64_t ended_b[2], bool b_ends)
{
	const bool sealed[] = {true, true}, b_sealed[] = {true, b_ends};
	struct failure f;

	assert_int_equal(mixer_set_lengths(m, 0, grown_a, sealed, &f), FAIL_NONE);
	assert_int_equal(mixer_set_lengths(m, 1, ended_b, b_sealed, &f), FAIL_NONE);
}

/*
 * A mixer that resumes from the record of any step draws what the first mixer draws: in the middle
 * of an epoch, after the step that begins an epoch with new lengths, and after later steps. `at`
 * moves the growth to other places of the epoch.
 */
static void
test_the_record_behind_any_step_goes_on_as_the_mixer_does(void **state)
{
	enum { STEPS = 40, BATCH = 3, GROWTHS = 3 };
	static const uint64_t a_length[GROWTHS + 1][2] = {{4, 3}, {9, 3}, {9, 11}, {14, 13}};
	static const uint64_t b_length[GROWTHS + 1][2] = {{9, 9}, {20, 20}, {24, 40}, {31, 44}};
	static const bool b_sealed[] = {false, false};
	const struct mixer_source source[] = {{.name = "a",
						  .weight = 0.6,
						  .partitions_n = 2,
						  .sequences = a_length[0],
						  .on_end = MIX_END_REPEAT},
	    {.name = "b",
		.weight = 0.4,
		.partitions_n = 2,
		.sequences = b_length[0],
		.live = true,
		.sealed = b_sealed,
		.on_end = MIX_END_REPEAT}};
	struct mixer_plan p = mixes_plan(source, 2);
	uint64_t begun = 0; /* records saved after a step that began an epoch with new lengths */

	(void)state;
	p.global_batch = BATCH;
	p.block = 2;
	for (uint64_t at = 0; at < 10; at++)
		for (uint64_t cut = 1; cut < STEPS; cut++) {
			struct mixer *m = mixes_open(&p), *resumed = NULL;
			struct ledger l = {0};
			struct failure f;

			for (uint64_t step = 0; step < STEPS; step++) {
				struct mixer_draw drawn[BATCH], again[BATCH];
				enum mixer_result result;
				uint64_t k = step / 10 + (step % 10 >= at), before;

				before = mixes_stand(m, 0).length;
				if (k <= GROWTHS && step % 10 == at)
					set_lengths(m, a_length[k], b_length[k], k == GROWTHS);
				if (resumed != NULL && k <= GROWTHS && step % 10 == at)
					set_lengths(
					    resumed, a_length[k], b_length[k], k == GROWTHS);
				assert_int_equal(mixer_step(m, drawn, &result, &f), FAIL_NONE);
				assert_int_equal(result, MIXER_DRAWN);
				if (resumed != NULL) {
					assert_int_equal(
					    mixer_step(resumed, again, &result, &f), FAIL_NONE);
					assert_int_equal(result, MIXER_DRAWN);
					for (size_t d = 0; d < BATCH; d++) {
						assert_int_equal(again[d].domain, drawn[d].domain);
						assert_int_equal(
						    again[d].partition, drawn[d].partition);
						assert_int_equal(
						    again[d].ordinal, drawn[d].ordinal);
						assert_int_equal(again[d].epoch, drawn[d].epoch);
					}
				}
				if (step + 1 != cut)
					continue;
				begun += mixes_stand(m, 0).length != before;
				assert_int_equal(mixer_save(m, &l, &f), FAIL_NONE);
				assert_int_equal(mixer_resume(&resumed, &p, &l, &f), FAIL_NONE);
			}
			ledger_clear(&l);
			mixer_close(m);
			mixer_close(resumed);
		}
	assert_true(begun >= 10);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_each_number_has_a_range),
	    cmocka_unit_test(test_each_number_of_what_waits_and_of_what_is_kept_out_has_a_range),
	    cmocka_unit_test(test_what_a_round_has_dealt_out_fits_its_draws),
	    cmocka_unit_test(test_what_schedules_without_credits_hold),
	    cmocka_unit_test(test_credits_are_bounded_by_a_draw_for_each_domain),
	    cmocka_unit_test(test_names_of_what_is_in_force_have_a_length),
	    cmocka_unit_test(test_the_record_behind_any_step_goes_on_as_the_mixer_does),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
