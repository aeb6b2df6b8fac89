#include "common/base/scalar.h"

#include "tests/unit/test.h"

static void
test_counts_are_plain_digits_within_their_range(void **unused)
{
	static const struct {
		const char *text;
		uint64_t min, max;
		enum scalar_result result;
		uint64_t value;
	} rows[] = {
	    {"0", 0, 9, SCALAR_OK, 0},
	    {"9", 0, 9, SCALAR_OK, 9},
	    {"10", 0, 9, SCALAR_RANGE, 0},
	    {"1", 2, 9, SCALAR_RANGE, 0},
	    {"2", 2, 9, SCALAR_OK, 2},
	    {"007", 0, 9, SCALAR_OK, 7},
	    {"18446744073709551615", 0, UINT64_MAX, SCALAR_OK, UINT64_MAX},
	    {"18446744073709551616", 0, UINT64_MAX, SCALAR_RANGE, 0},
	    {"99999999999999999999999999", 0, UINT64_MAX, SCALAR_RANGE, 0},
	    {"99999999999999999999999999x", 0, UINT64_MAX, SCALAR_MALFORMED, 0},
	    {"", 0, 9, SCALAR_MALFORMED, 0},
	    {"-1", 0, 9, SCALAR_MALFORMED, 0},
	    {"+1", 0, 9, SCALAR_MALFORMED, 0},
	    {" 1", 0, 9, SCALAR_MALFORMED, 0},
	    {"1 ", 0, 9, SCALAR_MALFORMED, 0},
	    {"0x1", 0, 9, SCALAR_MALFORMED, 0},
	    {"1e3", 0, 9999, SCALAR_MALFORMED, 0},
	    {"1_000", 0, 9999, SCALAR_MALFORMED, 0},
	    {"1.0", 0, 9, SCALAR_MALFORMED, 0},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, text) {
		uint64_t value = 77;

		assert_int_equal(
		    scalar_count(rows[i].text, rows[i].min, rows[i].max, &value), rows[i].result);
		assert_int_equal(value, rows[i].result == SCALAR_OK ? rows[i].value : 77);
	}
}

static void
test_sizes_have_decimal_and_binary_units(void **unused)
{
	static const struct {
		const char *text;
		enum scalar_result result;
		uint64_t value;
	} rows[] = {
	    {"4096", SCALAR_OK, 4096},
	    {"4096B", SCALAR_OK, 4096},
	    {"1KB", SCALAR_OK, 1000},
	    {"1KiB", SCALAR_OK, 1024},
	    {"512MB", SCALAR_OK, 512000000},
	    {"16MiB", SCALAR_OK, 16777216},
	    {"2GB", SCALAR_OK, 2000000000},
	    {"2GiB", SCALAR_OK, UINT64_C(2) << 30},
	    {"17179869183GiB", SCALAR_OK, UINT64_C(17179869183) << 30},
	    {"17179869184GiB", SCALAR_RANGE, 0},
	    {"18446744073709551615", SCALAR_OK, UINT64_MAX},
	    {"18446744073709551616", SCALAR_RANGE, 0},
	    {"18446744073709551616B", SCALAR_RANGE, 0},
	    {"18446744073709551616KB", SCALAR_RANGE, 0},
	    {"MB", SCALAR_MALFORMED, 0},
	    {"1mb", SCALAR_MALFORMED, 0},
	    {"1M", SCALAR_MALFORMED, 0},
	    {"1 MB", SCALAR_MALFORMED, 0},
	    {"1.5MB", SCALAR_MALFORMED, 0},
	    {"-1MB", SCALAR_MALFORMED, 0},
	    {"1MBs", SCALAR_MALFORMED, 0},
	    {"", SCALAR_MALFORMED, 0},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, text) {
		uint64_t value = 77;

		assert_int_equal(scalar_size(rows[i].text, 0, UINT64_MAX, &value), rows[i].result);
		assert_int_equal(value, rows[i].result == SCALAR_OK ? rows[i].value : 77);
	}
}

static void
test_the_range_of_a_size_is_in_bytes(void **unused)
{
	uint64_t value;

	(void)unused;
	assert_int_equal(scalar_size("1KiB", 1024, 1024, &value), SCALAR_OK);
	assert_int_equal(scalar_size("1KB", 1024, 1024, &value), SCALAR_RANGE);
	assert_int_equal(scalar_size("1025", 1024, 1024, &value), SCALAR_RANGE);
}

static void
test_a_size_is_written_as_it_is_read(void **unused)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} rows[] = {{0, "0"}, {1, "1"}, {999, "999"}, {1000, "1KB"}, {1024, "1KiB"},
	    {67108864, "64MiB"}, {512000000, "512MB"}, {UINT64_C(1) << 30, "1GiB"},
	    {UINT64_C(1000000000000), "1000GB"}, {UINT64_MAX, "18446744073709551615"}};

	(void)unused;
	EACH_NAMED_ROW(i, rows, text) {
		char text[SCALAR_SIZE_TEXT_MAX];
		uint64_t value;

		scalar_size_text(text, rows[i].bytes);
		assert_string_equal(text, rows[i].text);
		assert_int_equal(scalar_size(text, 0, UINT64_MAX, &value), SCALAR_OK);
		assert_int_equal(value, rows[i].bytes);
	}
}

static void
test_numbers_are_finite_decimals(void **unused)
{
	static const struct {
		const char *text;
		enum scalar_result result;
		double value;
	} rows[] = {
	    {"0", SCALAR_OK, 0},
	    {"0.25", SCALAR_OK, 0.25},
	    {".5", SCALAR_OK, 0.5},
	    {"-1.5", SCALAR_OK, -1.5},
	    {"3e-7", SCALAR_OK, 3e-7},
	    {"1e-400", SCALAR_OK, 0},
	    {"1.7976931348623157e308", SCALAR_OK, 1.7976931348623157e308},
	    {"1.8e308", SCALAR_RANGE, 0},
	    {"nan", SCALAR_MALFORMED, 0},
	    {"inf", SCALAR_MALFORMED, 0},
	    {".inf", SCALAR_MALFORMED, 0},
	    {"-infinity", SCALAR_MALFORMED, 0},
	    {"0x10", SCALAR_MALFORMED, 0},
	    {"1,5", SCALAR_MALFORMED, 0},
	    {"1.5x", SCALAR_MALFORMED, 0},
	    {"1.5.5", SCALAR_MALFORMED, 0},
	    {"e", SCALAR_MALFORMED, 0},
	    {"", SCALAR_MALFORMED, 0},
	    {" 1", SCALAR_MALFORMED, 0},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, text) {
		double value = 77;

		assert_int_equal(scalar_number(rows[i].text, &value), rows[i].result);
		assert_true(value == (rows[i].result == SCALAR_OK ? rows[i].value : 77));
	}
}

static void
test_truth_values_are_true_and_false_only(void **unused)
{
	static const char *const wrong[] = {"yes", "no", "on", "True", "1", "", "truee"};
	bool value = false;

	(void)unused;
	assert_int_equal(scalar_bool("true", &value), SCALAR_OK);
	assert_true(value);
	assert_int_equal(scalar_bool("false", &value), SCALAR_OK);
	assert_false(value);
	EACH_ROW(i, wrong)
		assert_int_equal(scalar_bool(wrong[i], &value), SCALAR_MALFORMED);
}

static void
test_moments_are_seconds_or_rfc_3339(void **unused)
{
	static const struct {
		const char *text;
		enum scalar_result result;
		int64_t ms;
	} rows[] = {
	    {"0", SCALAR_OK, 0},
	    {"1769855430", SCALAR_OK, 1769855430000},
	    {"1769855430.5", SCALAR_OK, 1769855430500},
	    {"1769855430.1239", SCALAR_OK, 1769855430123},
	    {"1970-01-01", SCALAR_OK, 0},
	    {"1970-01-01T00:00:00Z", SCALAR_OK, 0},
	    {"2026-01-31T10:30:30Z", SCALAR_OK, 1769855430000},
	    {"2026-01-31 10:30:30.5Z", SCALAR_OK, 1769855430500},
	    {"2026-01-31T12:30:30+02:00", SCALAR_OK, 1769855430000},
	    {"2026-01-31t05:00:30-05:30", SCALAR_OK, 1769855430000},
	    {"2000-02-29", SCALAR_OK, 951782400000},
	    {"2024-12-31", SCALAR_OK, 1735603200000},
	    {"9999-12-31T23:59:59.999Z", SCALAR_OK, 253402300799999},
	    {"253402300799.999", SCALAR_OK, 253402300799999},
	    {"253402300800", SCALAR_RANGE, 0},
	    {"9999-12-31T23:59:60Z", SCALAR_RANGE, 0},
	    {"9999-12-31T23:00:00-01:00", SCALAR_RANGE, 0},
	    {"9999-12-31T23:59:59-00:01", SCALAR_RANGE, 0},
	    {"2400-02-29", SCALAR_OK, 13574563200000},
	    {"2100-02-29", SCALAR_MALFORMED, 0},
	    {"99999999999999999999999999", SCALAR_RANGE, 0},
	    {"1970-01-01T00:00:00+01:00", SCALAR_RANGE, 0},
	    {"1969-12-31", SCALAR_RANGE, 0},
	    {"", SCALAR_MALFORMED, 0},
	    {".5", SCALAR_MALFORMED, 0},
	    {"5.", SCALAR_MALFORMED, 0},
	    {"1769855430s", SCALAR_MALFORMED, 0},
	    {"99999999999999999999999999s", SCALAR_MALFORMED, 0},
	    {"-5", SCALAR_MALFORMED, 0},
	    {"2026-1-31", SCALAR_MALFORMED, 0},
	    {"2025-02-29", SCALAR_MALFORMED, 0},
	    {"1900-02-29", SCALAR_MALFORMED, 0},
	    {"2026-04-31", SCALAR_MALFORMED, 0},
	    {"2026-13-01", SCALAR_MALFORMED, 0},
	    {"2026-01-31T10:30Z", SCALAR_MALFORMED, 0},
	    {"2026-01-31T10:30:30", SCALAR_MALFORMED, 0},
	    {"2026-01-31T24:00:00Z", SCALAR_MALFORMED, 0},
	    {"2026-01-31T10:30:30Zx", SCALAR_MALFORMED, 0},
	    {"2026-01-31x", SCALAR_MALFORMED, 0},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, text) {
		int64_t ms = 77;

		if (scalar_moment(rows[i].text, &ms) != rows[i].result)
			print_error("%s\n", rows[i].text);
		assert_int_equal(scalar_moment(rows[i].text, &ms), rows[i].result);
		assert_int_equal(ms, rows[i].result == SCALAR_OK ? rows[i].ms : 77);
	}
}

static void
test_a_moment_is_written_as_it_is_read(void **unused)
{
	static const int64_t rows[] = {
	    0, 1, 951782399999, 951782400000, 1769855430500, 253402300799999};
	char text[SCALAR_MOMENT_TEXT_MAX];

	(void)unused;
	scalar_moment_text(text, 1769855430500);
	assert_string_equal(text, "2026-01-31T10:30:30.500Z");
	EACH_ROW(i, rows) {
		int64_t ms;

		scalar_moment_text(text, rows[i]);
		assert_int_equal(scalar_moment(text, &ms), SCALAR_OK);
		assert_int_equal(ms, rows[i]);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_counts_are_plain_digits_within_their_range),
	    cmocka_unit_test(test_sizes_have_decimal_and_binary_units),
	    cmocka_unit_test(test_the_range_of_a_size_is_in_bytes),
	    cmocka_unit_test(test_a_size_is_written_as_it_is_read),
	    cmocka_unit_test(test_numbers_are_finite_decimals),
	    cmocka_unit_test(test_truth_values_are_true_and_false_only),
	    cmocka_unit_test(test_moments_are_seconds_or_rfc_3339),
	    cmocka_unit_test(test_a_moment_is_written_as_it_is_read),
	};

	return cmocka_run_group_tests_name("scalar", tests, NULL, NULL);
}
