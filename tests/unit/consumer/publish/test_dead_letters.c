/* dead_letters.h: records that could not be used are kept as they were, until they are cleared. */
#include "tests/unit/test.h"

#include "consumer/publish/dead_letters.h"

static void
test_what_is_kept_is_a_copy(void **unused)
{
	char topic[] = "c.web.train", domain[] = "web", reason[] = "torn";
	uint8_t bytes[] = {1, 2, 3};
	struct transactions_reject sequence = {.topic = topic,
	    .partition = 4,
	    .offset = 17,
	    .domain = domain,
	    .ordinal = 12,
	    .reason = reason,
	    .bytes = bytes,
	    .n = sizeof(bytes)};
	struct dead_letters r = {0};

	(void)unused;
	dead_letters_keep(&r, &sequence);
	topic[0] = domain[0] = reason[0] = 'x';
	bytes[0] = 9;
	assert_int_equal(r.n, 1);
	assert_string_equal(r.reject[0].topic, "c.web.train");
	assert_string_equal(r.reject[0].domain, "web");
	assert_string_equal(r.reject[0].reason, "torn");
	assert_memory_equal(r.reject[0].bytes, "\1\2\3", 3);
	assert_int_equal(r.reject[0].partition, 4);
	assert_int_equal(r.reject[0].offset, 17);
	assert_int_equal(r.reject[0].ordinal, 12);
	dead_letters_clear(&r);
}

/* A record of the control topic has no domain; an ordinal that is missing has no bytes. */
static void
test_a_record_without_domain_or_bytes_is_kept(void **unused)
{
	struct transactions_reject control = {.topic = "m.control", .reason = "no request"};
	struct dead_letters r = {0};

	(void)unused;
	dead_letters_keep(&r, &control);
	assert_int_equal(r.n, 1);
	assert_null(r.reject[0].domain);
	assert_int_equal(r.reject[0].n, 0);
	dead_letters_clear(&r);
}

static void
test_they_stand_in_the_order_in_which_they_were_found_and_clearing_leaves_none(void **unused)
{
	struct dead_letters r = {0};

	(void)unused;
	for (uint64_t i = 0; i < 100; i++)
		dead_letters_keep(&r,
		    &(struct transactions_reject){
			.topic = "c.web.train", .domain = "web", .ordinal = i, .reason = "torn"});
	assert_int_equal(r.n, 100);
	for (uint64_t i = 0; i < 100; i++)
		assert_int_equal(r.reject[i].ordinal, i);
	dead_letters_clear(&r);
	assert_int_equal(r.n, 0);
	assert_null(r.reject);
	dead_letters_clear(&r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_what_is_kept_is_a_copy),
	    cmocka_unit_test(test_a_record_without_domain_or_bytes_is_kept),
	    cmocka_unit_test(
		test_they_stand_in_the_order_in_which_they_were_found_and_clearing_leaves_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
