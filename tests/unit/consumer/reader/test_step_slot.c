/* step_slot.h: who holds a slot, when it goes back, and what the pool keeps. */
#include "consumer/reader/step_slot.h"

#include "tests/unit/capture.h"

enum { LANES = 2, MANY = STEP_POOL_FREE_MAX + 2 };

static struct step_pool *pool;

static int
open_pool(void **unused)
{
	(void)unused;
	return step_pool_open(&pool, LANES, 4, &f) != FAIL_NONE;
}

/* A slot keeps its mark while it is in the pool. The mark of a new slot is 0. */
static struct step_slot *
get(uint64_t mark)
{
	struct step_slot *slot;

	assert_int_equal(step_pool_get(pool, &slot, &f), FAIL_NONE);
	assert_int_equal(slot->lanes, LANES);
	assert_true(!slot->lent && !slot->kept);
	if (mark > 0)
		slot->lead = mark;
	return slot;
}

static void
test_the_pool_keeps_so_many_slots_and_gives_them_again(void **unused)
{
	(void)unused;
	for (int round = 0; round < 3; round++) {
		struct step_slot *slot[MANY];
		int used = 0;

		for (int i = 0; i < MANY; i++) {
			slot[i] = get(0);
			used += slot[i]->lead > 0;
			slot[i]->lead = 1;
		}
		assert_int_equal(used, round == 0 ? 0 : STEP_POOL_FREE_MAX);
		for (int i = 0; i < MANY; i++)
			step_pool_put(slot[i]);
	}
	step_pool_close(pool);
}

/* The slot is in the pool once neither the reader nor the trainer holds it. */
static void
test_a_slot_goes_back_when_its_last_holder_ends(void **unused)
{
	static const struct {
		const char *what;
		bool kept, trainer_first;
	} rows[] = {
	    {"lent alone", false, false},
	    {"the trainer ends last", true, false},
	    {"the reader ends last", true, true},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, what) {
		struct step_slot *slot = get(i + 1), *other;

		step_slot_hand_out(slot);
		if (rows[i].kept) {
			step_slot_keep(slot);
			if (rows[i].trainer_first)
				step_slot_let_go(&slot->step);
			else
				step_slot_take_back(slot);
			other = get(0);
			assert_true(other != slot); /* one holds it still */
			step_pool_put(other);
			other = get(0);
			other = other == slot ? NULL : other;
			assert_non_null(other);
			step_pool_put(other);
		}
		if (rows[i].kept && !rows[i].trainer_first)
			step_slot_let_go(&slot->step);
		else
			step_slot_take_back(slot);
		other = get(0);
		assert_ptr_equal(other, slot); /* the last to come back */
		assert_int_equal(other->lead, i + 1);
		step_pool_put(other);
	}
	step_slot_take_back(NULL);
	step_slot_let_go(NULL);
	step_pool_close(pool);
}

static void
test_a_step_that_nobody_keeps_is_logged_and_stays(void **unused)
{
	struct step_slot *slot = get(1);
	struct capture c;
	char text[512];

	(void)unused;
	step_slot_hand_out(slot);
	step_slot_keep(slot);
	capture_begin(&c);
	step_slot_let_go(&slot->step);
	assert_int_equal(capture_end_lines(&c, text, sizeof(text)), 0);
	capture_begin(&c);
	step_slot_let_go(&slot->step);
	assert_int_equal(capture_end_lines(&c, text, sizeof(text)), 1);
	assert_non_null(strstr(text, "free each kept step once"));
	assert_true(slot->lent);
	step_slot_take_back(slot);
	step_pool_close(pool);
}

/* Its pool with it, with the last one. */
static void
test_kept_steps_outlive_their_reader(void **unused)
{
	struct step_slot *slot[2] = {get(1), get(2)};

	(void)unused;
	for (int i = 0; i < 2; i++) {
		step_slot_hand_out(slot[i]);
		step_slot_keep(slot[i]);
		step_slot_take_back(slot[i]);
	}
	step_pool_close(pool);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(slot[i]->lead, i + 1);
		assert_true(slot[i]->kept && slot[i]->pool == pool);
		step_slot_let_go(&slot[i]->step);
	}
	step_pool_close(NULL);
}

static void
test_a_slot_counts_the_memory_of_its_lanes(void **unused)
{
	struct step_slot *two = get(0), *five;
	struct step_pool *wide;

	(void)unused;
	assert_int_equal(step_pool_open(&wide, LANES + 3, 4, &f), FAIL_NONE);
	assert_int_equal(step_pool_get(wide, &five, &f), FAIL_NONE);
	assert_true(step_slot_bytes(two) >= sizeof(*two) + LANES * sizeof(two->lane[0]));
	assert_int_equal(
	    step_slot_bytes(five) - step_slot_bytes(two), 3 * sizeof(struct step_slot_lane));
	step_pool_put(two);
	step_pool_put(five);
	step_pool_close(wide);
	step_pool_close(pool);
}

static void
test_a_lane_that_cannot_be_decoded_is_named(void **unused)
{
	const struct batch_head head = {
	    .mix = {"m", 1}, .step = 7, .lane = 5, .lanes = 8, .global_batch = 8, .lr_scale = 1};
	const struct batch_domain domain = {0, {"web", 3}};
	const struct batch_drawn drawn = {.ordinal = 3};
	struct step_slot *slot = get(0);
	struct wire_writer w = {0};

	(void)unused;
	assert_int_equal(batch_begin(&w, &head, &domain, 1, 1, &f), FAIL_NONE);
	assert_int_equal(batch_add(&w, &drawn, (const uint8_t *)"x", 1, &f), FAIL_NONE);
	assert_int_equal(batch_end(&w, &f), FAIL_NONE);
	for (int i = 0; i < LANES; i++) {
		assert_int_equal(batch_decode(&slot->lane[i].view, w.bytes, w.n, &f), FAIL_NONE);
		slot->lane[i].number = 5;
		slot->lane[i].offset = 9;
	}
	slot->step.step = 7;
	assert_int_equal(step_slot_decode(slot, NULL, "m.batches", &f), FAIL_DATA);
	assert_memory_equal(f.text, "topic m.batches, lane 5, offset 9: step 7: ",
	    strlen("topic m.batches, lane 5, offset 9: step 7: "));
	step_pool_put(slot);
	step_pool_close(pool);
	wire_writer_close(&w);
}

#define TEST(name) cmocka_unit_test_setup(name, open_pool)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_the_pool_keeps_so_many_slots_and_gives_them_again),
	    TEST(test_a_slot_goes_back_when_its_last_holder_ends),
	    TEST(test_a_step_that_nobody_keeps_is_logged_and_stays),
	    TEST(test_kept_steps_outlive_their_reader),
	    TEST(test_a_slot_counts_the_memory_of_its_lanes),
	    TEST(test_a_lane_that_cannot_be_decoded_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
