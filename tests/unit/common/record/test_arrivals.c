/* arrivals.h: the golden bytes, and damage. */
#include "common/record/arrivals.h"

#include "tests/unit/sample.h"
#include "tests/unit/vector.h"

static const struct arrivals_portion sample[] = {
    {.file = {"a.jsonl", 7},
	.byte = UINT64_C(1) << 40,
	.end = (UINT64_C(1) << 40) + 70,
	.line = 9,
	.hash = 0x0123},
    {.file = {"\xc3\xa9/b.txt.gz", 11}, .whole = true, .line = 1, .hash = UINT64_MAX},
};

static const struct arrivals sample_arrivals = {
    .input = {"news.valid/1/4", 14},
    .writer = UINT64_C(0xa1a2a3a4a5a6a7a8),
    .takes_over = true,
    .first = 300,
    .portions_n = 2,
};

static enum fail_code
decode(const uint8_t *bytes, size_t n, struct failure *f)
{
	struct arrivals a;
	struct arrivals_portion *portion;
	enum fail_code code = arrivals_decode(&a, bytes, n, f);

	if (code != FAIL_NONE)
		return code;
	portion = calloc(a.portions_n + 1, sizeof(*portion));
	arrivals_portions(&a, portion);
	free(portion);
	return code;
}

static void
test_a_record_has_the_golden_bytes_and_values(void **unused)
{
	struct vector golden = vector_read("arrivals");
	struct arrivals_portion p[2];
	struct wire_writer w = {0};
	struct arrivals a;
	struct failure f;

	(void)unused;
	assert_int_equal(arrivals_encode(&w, &sample_arrivals, sample, &f), FAIL_NONE);
	assert_int_equal(w.n, golden.n);
	assert_memory_equal(w.bytes, golden.bytes, golden.n);
	assert_int_equal(arrivals_decode(&a, golden.bytes, golden.n, &f), FAIL_NONE);
	assert_view_equal(a.input, "news.valid/1/4");
	assert_true(a.writer == sample_arrivals.writer && a.takes_over && a.first == 300);
	assert_int_equal(a.portions_n, 2);
	arrivals_portions(&a, p);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(p[i].file.n, sample[i].file.n);
		assert_memory_equal(p[i].file.bytes, sample[i].file.bytes, p[i].file.n);
		assert_true(p[i].whole == sample[i].whole && p[i].line == sample[i].line);
		assert_true(p[i].byte == sample[i].byte && p[i].end == sample[i].end);
		assert_true(p[i].hash == sample[i].hash);
	}
	wire_writer_close(&w);
	free(golden.bytes);
}

static void
test_damaged_records_are_refused_or_decoded_and_nothing_else(void **unused)
{
	struct vector golden = vector_read("arrivals");

	(void)unused;
	vector_refuses_every_truncation(decode, &golden);
	vector_refuses_a_byte_more(decode, &golden);
	vector_survives_every_flip(decode, &golden);
	free(golden.bytes);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_record_has_the_golden_bytes_and_values),
	    cmocka_unit_test(test_damaged_records_are_refused_or_decoded_and_nothing_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
