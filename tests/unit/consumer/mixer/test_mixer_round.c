/* epoch_size: exact counts, whole passes, changes inside a round. */
#include "common/base/limits.h"
#include "tests/unit/mixes.h"

/* The four examples of VERL's page on weighted sampling: sizes, ratios, epoch size -> draws. */
static const struct {
	size_t n;
	uint64_t size[3];
	double ratio[3];
	uint64_t epoch_size, counts[3];
} examples[] = {
    {2, {10000, 2000}, {0.5, 0.5}, MIXER_EPOCH_LARGEST, {5000, 5000}},
    {2, {5000, 5000}, {0.9, 0.1}, MIXER_EPOCH_LARGEST, {4500, 500}},
    {3, {8000, 4000, 1000}, {0.5, 0.3, 0.2}, MIXER_EPOCH_LARGEST, {4000, 2400, 1600}},
    {2, {5000, 3000}, {0.6, 0.4}, 12000, {7200, 4800}},
    {2, {7000, 1000}, {0.5, 0.5}, MIXER_EPOCH_LARGEST, {3500, 3500}},
};

static const char *const letters[] = {"a", "b", "c"};

/* Draws one round, one sequence a step, counting how often each sequence comes. */
static void
draw_round(struct mixer *m, uint64_t draws, uint64_t *count, uint8_t (*seen)[10000])
{
	struct mixer_draw draw;
	enum mixer_result result;
	struct failure f;

	for (uint64_t k = 0; k < draws; k++) {
		assert_int_equal(mixer_step(m, &draw, &result, &f), FAIL_NONE);
		assert_int_equal(result, MIXER_DRAWN);
		count[draw.domain]++;
		seen[draw.domain][draw.ordinal]++;
	}
}

static void
test_each_round_has_exact_counts_and_whole_passes(void **state)
{
	static uint8_t seen[3][10000];

	(void)state;
	EACH_ROW(e, examples) {
		struct mixer_source source[3] = {{0}};
		struct mixer_plan p = mixes_plan(source, examples[e].n);
		uint64_t draws = 0, total[3] = {0};
		struct mixer *m;

		for (size_t i = 0; i < examples[e].n; i++) {
			source[i] = (struct mixer_source){.name = letters[i],
			    .weight = examples[e].ratio[i],
			    .partitions_n = 1,
			    .sequences = &examples[e].size[i]};
			draws += examples[e].counts[i];
		}
		p.epoch_size = examples[e].epoch_size;
		p.global_batch = 1;
		m = mixes_open(&p);
		memset(seen, 0, sizeof(seen));
		for (uint64_t round = 1; round <= 3; round++) {
			uint64_t count[3] = {0}, open;

			draw_round(m, draws, count, seen);
			assert_int_equal(mixer_round(m, &open), round);
			assert_int_equal(open, 0);
			for (size_t i = 0; i < examples[e].n; i++) {
				assert_int_equal(count[i], examples[e].counts[i]);
				assert_true(mixes_stand(m, (uint32_t)i).credit == 0);
				total[i] += count[i];
				/* Each was drawn as often as any other, or once more. */
				for (uint64_t o = 0; o < examples[e].size[i]; o++)
					assert_true(
					    seen[i][o] - total[i] / examples[e].size[i] <= 1);
			}
		}
		mixer_close(m);
	}
}

static void
test_a_change_inside_a_round_deals_what_remains_and_says_so(void **state)
{
	static const uint64_t size[] = {500};
	const struct mixer_source source[] = {
	    {.name = "a", .weight = 1, .partitions_n = 1, .sequences = size},
	    {.name = "b", .weight = 1, .partitions_n = 1, .sequences = size}};
	struct mixer_plan p = mixes_plan(source, 2);
	struct ledger_raw_weight nine = {"a", 9};
	uint64_t count[2] = {0}, open;
	struct ledger_answer answer;
	struct mixer *m;

	(void)state;
	p.epoch_size = 100;
	p.global_batch = 10;
	m = mixes_open(&p);
	for (int i = 0; i < 5; i++)
		mixes_step(m, &p, count);
	answer = mixes_ask(m, mixes_weight("r", 6, &nine, 1), NULL);
	assert_true(answer.accepted);
	assert_non_null(strstr(
	    answer.text, "the 40 draws of round 0 that remain are dealt again by the new weights"));
	ledger_answer_clear(&answer);
	for (int i = 5; i < 10; i++)
		mixes_step(m, &p, count);
	assert_int_equal(count[0], 30 + 36);
	assert_int_equal(count[1], 30 + 4);
	assert_int_equal(mixer_round(m, &open), 1);
	for (int i = 0; i < 10; i++)
		mixes_step(m, &p, count);
	assert_int_equal(count[0], 66 + 90);
	assert_int_equal(count[1], 34 + 10);
	mixer_close(m);
}

static void
test_rounds_that_cannot_be_are_refused(void **state)
{
	static const uint64_t size[] = {500};
	struct mixer_source source[] = {
	    {.name = "a", .weight = 1, .partitions_n = 1, .sequences = size},
	    {.name = "b", .weight = 1, .partitions_n = 1, .sequences = size}};
	static const struct {
		enum schedule_kind schedule;
		enum mix_unit unit;
		uint64_t epoch_size;
		const char *text;
	} cases[] = {
	    {SCHEDULE_DEFICIT, MIX_BY_SEQUENCES, 1, "epoch_size: 1 draws are too few"},
	    {SCHEDULE_GREEDY, MIX_BY_SEQUENCES, 9, "epoch_size counts draws exactly"},
	    {SCHEDULE_DEFICIT, MIX_BY_TOKENS, 9, "epoch_size counts draws exactly"},
	    {SCHEDULE_DEFICIT, MIX_BY_SEQUENCES, LIMIT_ROUND + 1, "epoch_size: 1099511627777"},
	};

	(void)state;
	EACH_NAMED_ROW(i, cases, text) {
		struct mixer_plan p = mixes_plan(source, 2);
		struct mixer *m = NULL;
		struct failure f;

		p.schedule = cases[i].schedule;
		p.weights_unit = cases[i].unit;
		p.epoch_size = cases[i].epoch_size;
		assert_int_equal(mixer_open(&m, &p, &f), FAIL_CONFIG);
		assert_memory_equal(f.text, cases[i].text, strlen(cases[i].text));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_each_round_has_exact_counts_and_whole_passes),
	    cmocka_unit_test(test_a_change_inside_a_round_deals_what_remains_and_says_so),
	    cmocka_unit_test(test_rounds_that_cannot_be_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
