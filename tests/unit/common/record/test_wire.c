#include "common/record/wire.h"

#include "tests/unit/test.h"

#include <inttypes.h>

struct long_case {
	int64_t value;
	const char *bytes;
	size_t n;
};

/* The first five are those of the Avro specification. */
static const struct long_case longs[] = {
    {0, "\x00", 1},
    {-1, "\x01", 1},
    {1, "\x02", 1},
    {-64, "\x7f", 1},
    {64, "\x80\x01", 2},
    {63, "\x7e", 1},
    {-65, "\x81\x01", 2},
    {8191, "\xfe\x7f", 2},
    {8192, "\x80\x80\x01", 3},
    {INT32_MAX, "\xfe\xff\xff\xff\x0f", 5},
    {INT32_MIN, "\xff\xff\xff\xff\x0f", 5},
    {INT64_MAX, "\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10},
    {INT64_MIN, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10},
};

static void
test_longs_have_the_bytes_of_the_specification(void **unused)
{
	(void)unused;
	EACH_NAMED_ROW(i, longs, bytes) {
		struct wire_writer w = {0};
		struct wire_reader r;
		struct failure f;

		wire_put_long(&w, longs[i].value);
		assert_int_equal(w.n, longs[i].n);
		assert_memory_equal(w.bytes, longs[i].bytes, longs[i].n);
		wire_reader_init(&r, w.bytes, w.n);
		assert_true(wire_long(&r) == longs[i].value);
		assert_int_equal(wire_reader_check(&r, true, "long", &f), FAIL_NONE);
		wire_writer_close(&w);
	}
}

static void
test_a_long_of_more_than_64_bits_is_refused(void **unused)
{
	static const struct long_case refused[] = {
	    {0, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10},
	    {0, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 10},
	    {0, "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 11},
	};

	(void)unused;
	EACH_NAMED_ROW(i, refused, bytes) {
		struct wire_reader r;
		struct failure f;

		wire_reader_init(&r, refused[i].bytes, refused[i].n);
		assert_true(wire_long(&r) == 0);
		assert_int_equal(wire_reader_check(&r, false, "field", &f), FAIL_DATA);
		assert_string_equal(f.text, "field: a number of more than 64 bits at byte 0");
	}
}

static void
test_a_range_includes_both_its_ends(void **unused)
{
	static const struct {
		int64_t value, min, max;
		bool good;
	} cases[] = {
	    {5, 5, 9, true},
	    {9, 5, 9, true},
	    {4, 5, 9, false},
	    {10, 5, 9, false},
	    {0, 0, -1, false},
	    {-1, INT64_MIN, INT64_MAX, true},
	};

	(void)unused;
	EACH_ROW(i, cases) {
		struct wire_writer w = {0};
		struct wire_reader r;

		wire_put_long(&w, cases[i].value);
		wire_reader_init(&r, w.bytes, w.n);
		assert_true(wire_ranged(&r, cases[i].min, cases[i].max) ==
			    (cases[i].good ? cases[i].value : 0));
		assert_int_equal(r.bad == NULL, cases[i].good);
		wire_writer_close(&w);
	}
}

static void
test_a_record_of_every_kind_of_value_reads_back(void **unused)
{
	struct wire_writer w = {0};
	struct wire_reader r;
	struct failure f;
	const uint8_t *bytes;
	size_t n;

	(void)unused;
	wire_put_double(&w, -0.1);
	wire_put_boolean(&w, true);
	wire_put_boolean(&w, false);
	wire_put_hash(&w, UINT64_C(0x0102030405060708));
	wire_put_bytes(&w, "riffle", 6);
	wire_put_bytes(&w, NULL, 0);
	assert_memory_equal(w.bytes + 10, "\x08\x07\x06\x05\x04\x03\x02\x01\x0criffle\x00", 16);
	wire_reader_init(&r, w.bytes, w.n);
	assert_true(wire_double(&r) == -0.1);
	assert_true(wire_boolean(&r));
	assert_false(wire_boolean(&r));
	assert_true(wire_hash(&r) == UINT64_C(0x0102030405060708));
	bytes = wire_bytes(&r, &n);
	assert_int_equal(n, 6);
	assert_memory_equal(bytes, "riffle", 6);
	assert_non_null(wire_bytes(&r, &n));
	assert_int_equal(n, 0);
	assert_int_equal(wire_reader_check(&r, true, "record", &f), FAIL_NONE);
	wire_writer_close(&w);
}

static void
take_double(struct wire_reader *r)
{
	(void)wire_double(r);
}

static void
take_hash(struct wire_reader *r)
{
	(void)wire_hash(r);
}

static void
take_boolean(struct wire_reader *r)
{
	(void)wire_boolean(r);
}

static void
take_bytes(struct wire_reader *r)
{
	size_t n;

	assert_null(wire_bytes(r, &n));
	assert_int_equal(n, 0);
}

static void
take_block(struct wire_reader *r)
{
	assert_int_equal(wire_block(r), 0);
}

static void
test_what_does_not_fit_is_refused_with_its_reason(void **unused)
{
	static const struct {
		void (*take)(struct wire_reader *r);
		const char *bytes;
		size_t n;
		const char *bad;
	} cases[] = {
	    {take_double, "1234567", 7, "the record ends in the middle of eight bytes"},
	    {take_hash, "", 0, "the record ends in the middle of eight bytes"},
	    {take_boolean, "", 0, "the record ends before a boolean"},
	    {take_boolean, "\x02", 1, "a boolean that is neither 0 nor 1"},
	    {take_bytes, "", 0, "the record ends in the middle of a number"},
	    {take_bytes, "\x80", 1, "the record ends in the middle of a number"},
	    {take_bytes, "\x01", 1, "a negative length"},
	    {take_bytes, "\x04x", 2, "a length beyond the end of the record"},
	    {take_bytes, "\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10,
		"a length beyond the end of the record"},
	    {take_block, "\x04x", 2, "a block of more items than there are bytes left"},
	    {take_block, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00", 11,
		"a block of more than 63 bits"},
	    {take_block, "\x01\x04x", 3, "a block whose size goes beyond the end of the record"},
	    {take_block, "\x01\x01x", 3, "a block whose size goes beyond the end of the record"},
	    {take_block, "\x01", 1, "the record ends in the middle of a number"},
	};

	(void)unused;
	EACH_NAMED_ROW(i, cases, bytes) {
		struct wire_reader r;
		struct failure f;

		wire_reader_init(&r, cases[i].bytes, cases[i].n);
		cases[i].take(&r);
		assert_non_null(r.bad);
		assert_string_equal(r.bad, cases[i].bad);
		assert_int_equal(wire_reader_check(&r, true, "x", &f), FAIL_DATA);
	}
}

static void
test_the_first_complaint_stays_and_nothing_is_read_after_it(void **unused)
{
	struct wire_reader r;
	size_t n;

	(void)unused;
	wire_reader_init(&r, "\x02\x05\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02", 12);
	assert_true(wire_long(&r) == 1);
	assert_false(wire_boolean(&r));
	assert_string_equal(r.bad, "a boolean that is neither 0 nor 1");
	assert_true(wire_long(&r) == 0 && wire_hash(&r) == 0 && wire_block(&r) == 0);
	assert_true(wire_double(&r) == 0 && !wire_boolean(&r) && wire_ranged(&r, 1, 2) == 0);
	assert_null(wire_bytes(&r, &n));
	assert_string_equal(r.bad, "a boolean that is neither 0 nor 1");
	assert_int_equal(r.at - r.start, 1);
}

static void
test_a_block_with_a_size_counts_like_one_without(void **unused)
{
	struct wire_reader r;

	(void)unused;
	wire_reader_init(&r, "\x03\x04\x02\x04\x02\x06\x00", 7);
	assert_int_equal(wire_block(&r), 2);
	assert_true(wire_long(&r) == 1 && wire_long(&r) == 2);
	assert_int_equal(wire_block(&r), 1);
	assert_true(wire_long(&r) == 3);
	assert_int_equal(wire_block(&r), 0);
	assert_null(r.bad);
	assert_ptr_equal(r.at, r.end);
}

static void
test_trailing_bytes_are_refused_only_where_the_whole_is_asked_for(void **unused)
{
	struct wire_reader r;
	struct failure f;

	(void)unused;
	wire_reader_init(&r, "\x02xy", 3);
	assert_true(wire_long(&r) == 1);
	assert_int_equal(wire_reader_check(&r, false, "record", &f), FAIL_NONE);
	assert_int_equal(wire_reader_check(&r, true, "record", &f), FAIL_DATA);
	assert_string_equal(f.text, "record: 2 trailing bytes at byte 1");
}

static void
test_a_writer_gives_its_bytes_away_and_restarts(void **unused)
{
	struct wire_writer w = {0};
	uint8_t *bytes = NULL;
	size_t n = 99;
	struct failure f;

	(void)unused;
	assert_int_equal(wire_writer_take(&w, &bytes, &n, &f), FAIL_NONE);
	assert_int_equal(n, 0);
	for (int i = 0; i < 10000; i++)
		wire_put_raw(&w, "abcdefg", 7);
	assert_int_equal(wire_writer_take(&w, &bytes, &n, &f), FAIL_NONE);
	assert_int_equal(n, 70000);
	for (size_t i = 0; i < n; i += 7)
		assert_memory_equal(bytes + i, "abcdefg", 7);
	assert_null(w.bytes);
	assert_int_equal(w.n + w.room, 0);
	free(bytes);
}

static void
test_a_writer_past_its_limit_fails_once_and_for_all(void **unused)
{
	struct wire_writer w = {0};
	uint8_t *bytes = NULL;
	size_t n = 0;
	struct failure f;

	(void)unused;
	wire_put_raw(&w, "abc", 3);
	wire_reserve(&w, WIRE_WRITER_MAX_BYTES - 2);
	assert_true(w.failed);
	wire_put_long(&w, 1);
	wire_put_bytes(&w, "abc", 3);
	assert_int_equal(w.n, 3);
	assert_int_equal(wire_writer_take(&w, &bytes, &n, &f), FAIL_MEMORY);
	assert_null(bytes);
	assert_false(w.failed);
	assert_null(w.bytes);
}

static void
test_random_longs_read_back(void **unused)
{
	uint64_t state = UINT64_C(0x9e3779b97f4a7c15);
	struct wire_writer w = {0};
	struct wire_reader r;

	(void)unused;
	print_message("seed %" PRIx64 "\n", state);
	for (int round = 0; round < 2; round++) {
		uint64_t x = state;

		if (round == 1)
			wire_reader_init(&r, w.bytes, w.n);
		for (unsigned i = 0; i < 20000; i++) {
			int64_t value;

			x ^= x << 13; /* xorshift64, Marsaglia 2003 */
			x ^= x >> 7;
			x ^= x << 17;
			value = (int64_t)x >> (i % 64);
			if (round == 0)
				wire_put_long(&w, value);
			else
				assert_true(wire_long(&r) == value);
		}
	}
	assert_ptr_equal(r.at, r.end);
	wire_writer_close(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_longs_have_the_bytes_of_the_specification),
	    cmocka_unit_test(test_a_long_of_more_than_64_bits_is_refused),
	    cmocka_unit_test(test_a_range_includes_both_its_ends),
	    cmocka_unit_test(test_a_record_of_every_kind_of_value_reads_back),
	    cmocka_unit_test(test_what_does_not_fit_is_refused_with_its_reason),
	    cmocka_unit_test(test_the_first_complaint_stays_and_nothing_is_read_after_it),
	    cmocka_unit_test(test_a_block_with_a_size_counts_like_one_without),
	    cmocka_unit_test(test_trailing_bytes_are_refused_only_where_the_whole_is_asked_for),
	    cmocka_unit_test(test_a_writer_gives_its_bytes_away_and_restarts),
	    cmocka_unit_test(test_a_writer_past_its_limit_fails_once_and_for_all),
	    cmocka_unit_test(test_random_longs_read_back),
	};

	return cmocka_run_group_tests_name("wire", tests, NULL, NULL);
}
