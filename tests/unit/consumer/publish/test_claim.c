/* claim.h: who has taken over, by what stands last in the ledger, at each step of the race. */
#include "tests/unit/test.h"

#include "consumer/publish/claim.h"

enum { US = 7, BEFORE_US = 3, OTHER = 9, NOBODY = 0 };

static struct claim c;

/* The ledger is read: its last record stands at `offset`, and is of `mixer`. */
static bool
lost(int64_t offset, uint64_t mixer)
{
	claim_read(&c, offset);
	return claim_lost(&c, mixer);
}

static bool
lost_yet(int64_t offset, uint64_t mixer)
{
	claim_read(&c, offset);
	return claim_lost_yet(&c, mixer);
}

/* Looked when `mixer`'s record stood last, at `offset`. */
static void
look(int64_t offset, uint64_t mixer)
{
	claim_init(&c, US);
	assert_false(lost(offset, mixer));
	claim_look(&c, mixer);
}

static void
test_before_it_has_looked_no_record_says_that_it_has_lost(void **unused)
{
	(void)unused;
	claim_init(&c, US);
	assert_false(lost(0, OTHER));
	assert_false(lost(70, BEFORE_US));
	assert_false(lost_yet(0, OTHER));
	assert_false(lost_yet(70, BEFORE_US));
}

/* A third mixer takes the id between our look and our START. */
static void
test_a_record_of_another_that_came_after_the_look_has_taken_over(void **unused)
{
	(void)unused;
	look(70, BEFORE_US);
	assert_false(lost_yet(70, BEFORE_US));
	assert_false(lost(71, BEFORE_US)); /* of the one that stood there: it was committing */
	assert_true(lost(71, OTHER));
	assert_true(lost_yet(71, OTHER));
}

static void
test_after_a_look_at_an_empty_ledger_any_record_of_another_has_taken_over(void **unused)
{
	(void)unused;
	look(-1, NOBODY);
	assert_true(lost(0, OTHER));
	assert_true(lost_yet(0, OTHER));
	assert_false(lost(0, US));
}

/* The START is committed, and its markers are on their way: the record before it stands last. */
static void
test_what_stood_before_the_start_proves_nothing_until_transactions_are_decided(void **unused)
{
	(void)unused;
	look(70, BEFORE_US);
	claim_start(&c);
	assert_false(lost_yet(70, BEFORE_US));
	assert_false(lost_yet(-1, OTHER));
	assert_true(lost(70, BEFORE_US));
	assert_true(lost_yet(72, BEFORE_US));
}

static void
test_a_start_behind_ours_has_taken_over(void **unused)
{
	(void)unused;
	look(70, BEFORE_US);
	claim_start(&c);
	assert_false(lost(72, US));
	assert_false(lost_yet(72, US));
	assert_true(lost(75, OTHER));
	assert_true(lost_yet(75, OTHER));
}

/* The broker timed our transaction out, and nobody else came: our own record stands last. */
static void
test_a_second_look_keeps_what_stood_before_the_start(void **unused)
{
	(void)unused;
	look(70, BEFORE_US);
	claim_start(&c);
	assert_false(lost(80, US));
	claim_look(&c, US);
	assert_int_equal(c.before, 70);
	assert_true(lost_yet(81, OTHER));
	assert_false(lost_yet(70, BEFORE_US));
}

/* Every transaction is decided, and what stood there when it looked, or its START, is gone. */
static void
test_a_ledger_that_lost_its_end_is_no_other_mixer(void **unused)
{
	(void)unused;
	look(70, BEFORE_US);
	claim_read(&c, 60);
	assert_true(claim_cut(&c, OTHER));
	assert_false(claim_cut(&c, BEFORE_US)); /* the lanes will tell */
	claim_start(&c);
	claim_read(&c, 70);
	assert_true(claim_cut(&c, BEFORE_US));
	claim_read(&c, 72);
	assert_false(claim_cut(&c, OTHER));
	assert_false(claim_cut(&c, US));
}

/* The ledger was deleted under a mixer that runs: nothing stands there, and nobody took over. */
static void
test_an_empty_ledger_is_looked_at_also_after_the_start(void **unused)
{
	(void)unused;
	look(70, BEFORE_US);
	claim_start(&c);
	claim_read(&c, -1);
	claim_look(&c, NOBODY);
	assert_true(c.started);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_before_it_has_looked_no_record_says_that_it_has_lost),
	    cmocka_unit_test(test_a_record_of_another_that_came_after_the_look_has_taken_over),
	    cmocka_unit_test(
		test_after_a_look_at_an_empty_ledger_any_record_of_another_has_taken_over),
	    cmocka_unit_test(
		test_what_stood_before_the_start_proves_nothing_until_transactions_are_decided),
	    cmocka_unit_test(test_a_start_behind_ours_has_taken_over),
	    cmocka_unit_test(test_a_second_look_keeps_what_stood_before_the_start),
	    cmocka_unit_test(test_a_ledger_that_lost_its_end_is_no_other_mixer),
	    cmocka_unit_test(test_an_empty_ledger_is_looked_at_also_after_the_start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
