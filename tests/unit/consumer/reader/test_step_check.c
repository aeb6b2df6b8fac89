#include "consumer/reader/step_check.h"

#include <math.h>

#include "tests/unit/test.h"

/* Two lanes of four, 8 sequences a step, step 5 is due. */
static const struct batch_head right = {
    .mix = {"pretrain", 8},
    .schedule = 11,
    .step = 5,
    .lane = 2,
    .lanes = 4,
    .global_batch = 8,
    .version = 1,
    .phase = {"", 0},
    .lr_scale = 1.0,
    .lead = 64,
    .tokenizer = 22,
};

static struct step_check
check_of(uint64_t step)
{
	struct step_check c;

	step_check_init(&c, "pretrain", 4, 2, step);
	return c;
}

/* Feeds both lanes of one step as `h` has it. */
static enum fail_code
feed(struct step_check *c, struct batch_head h, struct failure *f)
{
	size_t n = h.last ? 0 : h.global_batch / h.lanes;

	h.lane = 2;
	if (step_check_record(c, 2, &h, n, f) != FAIL_NONE)
		return f->code;
	h.lane = 3;
	return step_check_record(c, 3, &h, n, f);
}

static void
test_steps_in_order_are_taken(void **unused)
{
	struct step_check c = check_of(5);
	struct batch_head h = right;
	struct failure f;

	(void)unused;
	for (h.step = 5; h.step < 100; h.step++) {
		h.version = h.step / 10; /* what a step may change, it may change */
		h.lr_scale = h.step < 50 ? 1.0 : NAN;
		h.lead = h.step;
		h.phase = (struct text_view){"warm", h.step % 5};
		h.global_batch = h.step < 60 ? 8 : h.step < 80 ? 16 : 4;
		assert_int_equal(feed(&c, h, &f), FAIL_NONE);
		assert_false(c.last);
		assert_true(
		    c.lead == h.lead && c.global_batch == h.global_batch && c.version == h.version);
		assert_int_equal(strlen(c.phase), h.phase.n);
		step_check_advance(&c);
		assert_int_equal(c.step, h.step + 1);
	}
	h.last = true;
	assert_int_equal(feed(&c, h, &f), FAIL_NONE);
	assert_true(c.last);
	step_check_restart(&c); /* the same step once more: nothing of it is there */
	assert_false(c.last);
	assert_int_equal(feed(&c, h, &f), FAIL_NONE);
	h.tokenizer++; /* that of the first record still counts */
	step_check_restart(&c);
	assert_int_equal(feed(&c, h, &f), FAIL_DATA);
}

static void
set_mix(struct batch_head *h)
{
	h->mix = (struct text_view){"other", 5};
}

static void
set_mix_of_that_length(struct batch_head *h)
{
	h->mix = (struct text_view){"pretrail", 8};
}

static void
set_mix_prefix(struct batch_head *h)
{
	h->mix = (struct text_view){"pretrain", 7};
}

static void
set_lane(struct batch_head *h)
{
	h->lane = 1;
}

static void
set_lanes(struct batch_head *h)
{
	h->lanes = 8;
}

static void
set_batch_0(struct batch_head *h)
{
	h->global_batch = 0;
}

static void
set_batch_odd(struct batch_head *h)
{
	h->global_batch = 9;
}

static void
set_batch_other(struct batch_head *h)
{
	h->global_batch = 12;
}

static void
set_last(struct batch_head *h)
{
	h->last = true;
}

static void
set_phase_long(struct batch_head *h)
{
	static char text[STEP_PHASE_MAX + 1];

	h->phase = (struct text_view){text, sizeof(text)};
}

static void
set_earlier(struct batch_head *h)
{
	h->step = 4;
}

static void
set_later(struct batch_head *h)
{
	h->step = 6;
}

static const struct {
	void (*set)(struct batch_head *h);
	const char *says;
} rows[] = {
    {set_mix, "belongs to mix other, not to pretrain"},
    {set_mix_of_that_length, "belongs to mix pretrail, not to pretrain"},
    {set_mix_prefix, "belongs to mix pretrai, not to pretrain"},
    {set_lane, "says lane 1: partitions were added"},
    {set_lanes, "8 lanes, the topic has 4 partitions"},
    {set_batch_0, "global_batch 0"},
    {set_batch_odd, "global_batch 9, which 4 lanes do not divide"},
    {set_batch_other, "has 2 sequences, not 3"},
    {set_last, "ends the mix, but has 2 sequences"},
    {set_phase_long, "a phase name of 257 bytes"},
    {set_earlier, "duplicate: step 4 again, where step 5 is due: the lane is not the one"},
    {set_later, "gap: step 6, where step 5 is due: the lane is not the one that was read so far"},
    {set_later, "Start the trainer again: it searches step 5"},
};

static void
test_a_record_that_does_not_fit_is_refused_and_changes_nothing(void **unused)
{
	(void)unused;
	EACH_NAMED_ROW(i, rows, says) {
		struct step_check c = check_of(5);
		struct batch_head h = right;
		struct failure f = {0};

		rows[i].set(&h);
		assert_int_equal(step_check_record(&c, 2, &h, 2, &f), FAIL_DATA);
		assert_non_null(strstr(f.text, rows[i].says));
		assert_int_equal(feed(&c, right, &f), FAIL_NONE); /* the right one is still taken */
	}
}

static void
test_too_many_or_too_few_sequences_are_refused(void **unused)
{
	static const size_t wrong[] = {0, 1, 3};

	(void)unused;
	EACH_ROW(i, wrong) {
		struct step_check c = check_of(5);
		struct failure f = {0};

		assert_int_equal(step_check_record(&c, 2, &right, wrong[i], &f), FAIL_DATA);
	}
}

static void
test_what_is_constant_over_a_mix_must_not_change(void **unused)
{
	(void)unused;
	for (int i = 0; i < 2; i++) {
		struct step_check c = check_of(5);
		struct batch_head h = right;
		struct failure f = {0};

		assert_int_equal(feed(&c, right, &f), FAIL_NONE);
		step_check_advance(&c);
		h.step = 6;
		if (i == 0)
			h.schedule++;
		else
			h.tokenizer++;
		assert_int_equal(step_check_record(&c, 2, &h, 2, &f), FAIL_DATA);
		assert_non_null(strstr(f.text, "earlier records have"));
	}
}

/*
 * A checkpoint's schedule holds from the first record on, of either function, whichever lane it is
 * of: with one lane a first record that passes is a step to train on.
 */
static void
test_the_first_record_is_held_against_the_checkpoint(void **unused)
{
	static const struct {
		const char *claim;
		uint64_t wanted;
		uint32_t lanes_mine, behind; /* records that are right come before */
		bool constants, taken;
	} rows[] = {
	    {"any mix", 0, 1, 0, false, true},
	    {"this mix", 11, 1, 0, false, true},
	    {"another mix, one lane", 12, 1, 0, false, false},
	    {"another mix, two lanes", 12, 2, 0, false, false},
	    {"another mix, while seeking", 12, 1, 0, true, false},
	    {"this mix, while seeking", 11, 1, 0, true, true},
	    {"another mix, in the second lane", 12, 2, 1, false, false},
	    {"another mix, while seeking further", 12, 2, 1, true, false},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, claim) {
		struct step_check c, before;
		struct batch_head h = right;
		struct failure f = {0};
		enum fail_code code;

		step_check_init(&c, "pretrain", 4, rows[i].lanes_mine, 5);
		for (uint32_t k = 0; k < rows[i].behind; k++)
			assert_int_equal(step_check_record(&c, 2, &right, 2, &f), FAIL_NONE);
		c.schedule_wanted = rows[i].wanted;
		h.lane += rows[i].behind;
		before = c;
		code = rows[i].constants ? step_check_constants(&c, h.lane, &h, 2, &f)
					 : step_check_record(&c, h.lane, &h, 2, &f);
		assert_int_equal(code, rows[i].taken ? FAIL_NONE : FAIL_DATA);
		if (rows[i].taken)
			continue;
		assert_non_null(strstr(f.text, "mix pretrain is another one than then"));
		/* Nothing was learned of it: the right one is still taken. */
		assert_int_equal(c.known, before.known);
		assert_int_equal(c.lanes_there, before.lanes_there);
		h.schedule = rows[i].wanted;
		if (rows[i].behind == 0)
			assert_int_equal(step_check_record(&c, h.lane, &h, 2, &f), FAIL_NONE);
	}
}

static void
test_lanes_of_one_step_must_agree(void **unused)
{
	static const char *const says[] = {"the end of the mix", "the version", "the lead",
	    "lr_scale", "the phase", "global_batch"};

	(void)unused;
	EACH_ROW(i, says) {
		struct step_check c = check_of(5);
		struct batch_head h = right;
		struct failure f = {0};

		assert_int_equal(step_check_record(&c, 2, &right, 2, &f), FAIL_NONE);
		h.lane = 3;
		switch (i) {
		case 0: h.last = true; break;
		case 1: h.version++; break;
		case 2: h.lead++; break;
		case 3: h.lr_scale = 2.0; break;
		case 4: h.phase = (struct text_view){"anneal", 6}; break;
		case 5: h.global_batch = 16; break;
		}
		assert_int_equal(
		    step_check_record(&c, 3, &h, h.last ? 0 : h.global_batch / 4, &f), FAIL_DATA);
		assert_non_null(strstr(f.text, "torn"));
		assert_non_null(strstr(f.text, says[i]));
	}
}

static void
test_a_claim_is_bounded_by_the_bytes(void **unused)
{
	struct failure f = {0};

	(void)unused;
	assert_int_equal(step_check_claim(0, 0, &f), FAIL_NONE);
	assert_int_equal(step_check_claim(4, 4 * STEP_SEQUENCE_BYTES_MIN, &f), FAIL_NONE);
	assert_int_equal(step_check_claim(4, 4 * STEP_SEQUENCE_BYTES_MIN - 1, &f), FAIL_DATA);
	assert_non_null(strstr(f.text, "claims 4 sequences"));
}

static void
test_while_seeking_only_what_is_constant_is_checked(void **unused)
{
	struct step_check c = check_of(5);
	struct batch_head h = right;
	struct failure f = {0};

	(void)unused;
	h.step = 3;
	assert_int_equal(step_check_constants(&c, 2, &h, 2, &f), FAIL_NONE);
	h.schedule++;
	assert_int_equal(step_check_constants(&c, 2, &h, 2, &f), FAIL_DATA);
	assert_int_equal(c.lanes_there, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_steps_in_order_are_taken),
	    cmocka_unit_test(test_a_record_that_does_not_fit_is_refused_and_changes_nothing),
	    cmocka_unit_test(test_too_many_or_too_few_sequences_are_refused),
	    cmocka_unit_test(test_what_is_constant_over_a_mix_must_not_change),
	    cmocka_unit_test(test_the_first_record_is_held_against_the_checkpoint),
	    cmocka_unit_test(test_lanes_of_one_step_must_agree),
	    cmocka_unit_test(test_a_claim_is_bounded_by_the_bytes),
	    cmocka_unit_test(test_while_seeking_only_what_is_constant_is_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
