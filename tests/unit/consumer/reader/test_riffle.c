/* Structs of programs that were compiled with an older or a newer riffle.h; no broker is there. */
#include "tests/unit/test.h"

#include "consumer/reader/riffle.h"

static const struct riffle_options options = {
    .size = sizeof(options),
    .mix = "m",
    .bootstrap = "127.0.0.1:1",
    .world = 1,
    .token_bytes = 4,
    .open_timeout_ms = 1,
    .threads = 999, /* too many */
};

/* Opens a reader by the first `size` bytes of from[bytes], which nothing follows in memory. */
static int
open_by(size_t size, const void *from, size_t bytes, struct riffle_error *e)
{
	struct riffle_options *o = malloc(bytes);
	struct riffle *r;
	int code;

	assert_non_null(o);
	memcpy(o, from, bytes);
	memcpy(o, &size, sizeof(size));
	code = riffle_open(&r, o, e);
	assert_null(r);
	free(o);
	return code;
}

static void
test_what_an_older_program_has_not_is_not_read(void **unused)
{
	size_t older = offsetof(struct riffle_options, threads);
	struct riffle_error e;

	(void)unused;
	assert_int_equal(
	    open_by(sizeof(options), &options, sizeof(options), &e), RIFFLE_ERROR_USAGE);
	assert_string_equal(e.text, "threads is 999; it is 1 to 64, or 0 for the default");
	assert_int_equal(open_by(older, &options, older, &e), RIFFLE_ERROR_BROKER);
}

static void
test_a_newer_program_may_not_set_what_is_not_known(void **unused)
{
	struct {
		struct riffle_options o;
		uint64_t later;
	} newer = {.o = options};
	struct riffle_error e;

	(void)unused;
	newer.o.threads = 0;
	assert_int_equal(open_by(sizeof(newer), &newer, sizeof(newer), &e), RIFFLE_ERROR_BROKER);
	newer.later = UINT64_C(1) << 63;
	assert_int_equal(open_by(sizeof(newer), &newer, sizeof(newer), &e), RIFFLE_ERROR_USAGE);
	assert_string_equal(e.text,
	    "struct riffle_options: the program sets a field that libriffle " RIFFLE_VERSION
	    " does not know");
}

static void
test_a_size_that_is_not_set_is_refused(void **unused)
{
	static const size_t size[] = {0, sizeof(size_t) - 1, 4097, SIZE_MAX};
	const struct riffle_validation_options set = {
	    .corpus = "c", .domain = "d", .token_bytes = 4};
	const struct riffle_options none = {.mix = "m", .world = 1};
	const struct riffle_targets targets = {.ignored = -100};
	const struct riffle_step step = {.tokens_each = 2};
	struct riffle_rounds rounds = {.size = 0};
	struct riffle_extent extent = {.size = 0};
	struct riffle_checkpoint checkpoint = {.size = 0, .step = 7};
	struct riffle_options begins = options;
	struct riffle_validation *v;
	struct riffle_progress *p;
	struct riffle_reporter *r;
	struct riffle_error e;
	uint64_t at;

	(void)unused;
	EACH_ROW(i, size)
		assert_int_equal(
		    open_by(size[i], &options, sizeof(options), &e), RIFFLE_ERROR_USAGE);
	assert_string_equal(e.text,
	    "struct riffle_options: its size is not set (18446744073709551615): set it to sizeof");
	assert_int_equal(riffle_progress_open(&p, &none, &e), RIFFLE_ERROR_USAGE);
	assert_int_equal(riffle_reporter_open(&r, &none, &e), RIFFLE_ERROR_USAGE);
	assert_int_equal(riffle_find_committed(&none, &at, &e), RIFFLE_ERROR_USAGE);
	assert_int_equal(riffle_validation_open(&v, &set, &e), RIFFLE_ERROR_USAGE);
	assert_int_equal(riffle_find_rounds(&options, &rounds, &e), RIFFLE_ERROR_USAGE);
	assert_int_equal(riffle_find_extent(&options, &extent, &e), RIFFLE_ERROR_USAGE);
	assert_non_null(strstr(e.text, "struct riffle_extent: its size is not set (0)"));
	assert_int_equal(riffle_find_checkpoint(&options, 7, &checkpoint, &e), RIFFLE_ERROR_USAGE);
	assert_non_null(strstr(e.text, "struct riffle_checkpoint: its size is not set (0)"));
	begins.checkpoint = &checkpoint;
	assert_int_equal(riffle_check_checkpoint(&begins, &e), RIFFLE_ERROR_USAGE);
	assert_non_null(strstr(e.text, "struct riffle_checkpoint: its size is not set (0)"));
	assert_int_equal(riffle_check_checkpoint(&options, &e), RIFFLE_ERROR_USAGE);
	assert_string_equal(e.text, "checkpoint is not set");
	assert_int_equal(riffle_step_targets(&step, 4, &targets), RIFFLE_ERROR_USAGE);
}

/* A broker that is away is no reason to take a checkpoint without a look at its mix. */
static void
test_a_checkpoint_is_not_checked_without_a_broker(void **unused)
{
	struct riffle_checkpoint checkpoint = {.size = sizeof(checkpoint), .step = 7};
	struct riffle_options begins = options;
	struct riffle_error e;

	(void)unused;
	begins.checkpoint = &checkpoint;
	assert_int_equal(riffle_check_checkpoint(&begins, &e), RIFFLE_ERROR_BROKER);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_what_an_older_program_has_not_is_not_read),
	    cmocka_unit_test(test_a_newer_program_may_not_set_what_is_not_known),
	    cmocka_unit_test(test_a_size_that_is_not_set_is_refused),
	    cmocka_unit_test(test_a_checkpoint_is_not_checked_without_a_broker),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
