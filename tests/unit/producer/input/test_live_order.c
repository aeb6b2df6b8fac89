/* live_order.h: one order of portions out of the records of several writers. */
#include "tests/unit/test.h"

#include "producer/input/live_order.h"

/* A record as a producer writes it, decoded from its bytes. */
static enum fail_code
apply(struct live_order *r, uint64_t writer, bool takes_over, uint64_t first, const char *files,
    struct failure *f)
{
	struct arrivals_portion p[8] = {0};
	struct arrivals a = {.input = {"a/0/1", 5},
	    .writer = writer,
	    .takes_over = takes_over,
	    .first = first,
	    .portions_n = strlen(files)};
	struct wire_writer w = {0};
	enum fail_code code;

	for (size_t i = 0; i < a.portions_n; i++)
		p[i] = (struct arrivals_portion){.file = {files + i, 1},
		    .byte = 10 * (first + i),
		    .end = 10 * (first + i) + 10,
		    .line = 1,
		    .hash = first + i};
	assert_int_equal(arrivals_encode(&w, &a, p, f), FAIL_NONE);
	assert_int_equal(arrivals_decode(&a, w.bytes, w.n, f), FAIL_NONE);
	code = live_order_apply(r, &a, f);
	wire_writer_close(&w);
	return code;
}

static void
check(struct live_order *r, const char *files)
{
	live_order_settle(r);
	assert_int_equal(r->n, strlen(files));
	for (size_t i = 0; i < r->n; i++)
		assert_int_equal(r->file[r->portion[i].file].name[0], files[i]);
}

static void
test_the_order_is_that_of_the_log_and_files_come_back(void **unused)
{
	struct live_order r = {0};
	struct failure f;

	(void)unused;
	assert_int_equal(apply(&r, 1, true, 0, "", &f), FAIL_NONE);
	assert_int_equal(apply(&r, 1, false, 0, "bca", &f), FAIL_NONE);
	assert_int_equal(apply(&r, 1, false, 3, "bb", &f), FAIL_NONE);
	check(&r, "bcabb");
	assert_int_equal(r.files_n, 3);
	assert_int_equal(r.file[live_order_find_file(&r, "b", 1)].last, 4);
	assert_int_equal(r.file[live_order_find_file(&r, "c", 1)].last, 1);
	assert_true(live_order_find_file(&r, "bc", 2) == LIVE_ORDER_NONE);
	live_order_close(&r);
}

static void
test_what_a_writer_appends_after_another_took_over_is_void(void **unused)
{
	struct live_order r = {0};
	struct failure f;

	(void)unused;
	assert_int_equal(apply(&r, 1, true, 0, "", &f), FAIL_NONE);
	assert_int_equal(apply(&r, 1, false, 0, "ab", &f), FAIL_NONE);
	assert_int_equal(apply(&r, 1, false, 2, "c", &f), FAIL_NONE); /* landed late: unseen by 2 */
	assert_int_equal(apply(&r, 2, true, 2, "", &f), FAIL_NONE);
	assert_int_equal(apply(&r, 1, false, 3, "d", &f), FAIL_NONE);
	check(&r, "abcd"); /* 2 has appended nothing yet */
	assert_int_equal(apply(&r, 2, false, 2, "ef", &f), FAIL_NONE);
	check(&r, "abef");
	assert_int_equal(apply(&r, 1, false, 3, "g", &f), FAIL_NONE);
	check(&r, "abef");
	assert_int_equal(apply(&r, 3, true, 0, "", &f), FAIL_NONE); /* restarts */
	assert_true(live_order_is_doubtful(&r));
	live_order_void(&r);
	check(&r, "");
	assert_true(r.file[live_order_find_file(&r, "a", 1)].last == LIVE_ORDER_NONE);
	live_order_close(&r);
}

static void
test_a_late_take_over_voids_nothing(void **unused)
{
	struct live_order r = {0};
	struct failure f;

	(void)unused;
	assert_int_equal(apply(&r, 1, true, 0, "", &f), FAIL_NONE);
	assert_int_equal(apply(&r, 1, false, 0, "a", &f), FAIL_NONE);
	assert_int_equal(apply(&r, 3, true, 1, "", &f), FAIL_NONE);
	assert_int_equal(apply(&r, 3, false, 1, "bc", &f), FAIL_NONE);
	assert_false(live_order_is_doubtful(&r));
	assert_int_equal(apply(&r, 2, true, 1, "", &f), FAIL_NONE); /* of one that was killed */
	assert_int_equal(apply(&r, 4, true, 0, "", &f), FAIL_NONE);
	check(&r, "abc");
	assert_int_equal(apply(&r, 3, false, 3, "d", &f), FAIL_NONE);
	check(&r, "abcd");
	assert_true(live_order_is_doubtful(&r));
	assert_int_equal(apply(&r, 5, true, 4, "", &f), FAIL_NONE);
	assert_false(live_order_is_doubtful(&r));
	assert_int_equal(apply(&r, 5, false, 4, "e", &f), FAIL_NONE);
	assert_int_equal(apply(&r, 4, false, 0, "x", &f), FAIL_NONE); /* 5 took over after it */
	check(&r, "abcde");
	live_order_close(&r);
}

static void
test_a_take_over_that_the_next_writer_has_not_seen_voids_nothing(void **unused)
{
	struct live_order r = {0};
	struct failure f;

	(void)unused;
	assert_int_equal(apply(&r, 1, true, 0, "", &f), FAIL_NONE);
	assert_int_equal(apply(&r, 1, false, 0, "abcd", &f), FAIL_NONE);
	assert_int_equal(apply(&r, 2, true, 1, "", &f), FAIL_NONE); /* killed, not visible */
	assert_int_equal(apply(&r, 3, true, 4, "", &f), FAIL_NONE);
	check(&r, "abcd");
	assert_int_equal(apply(&r, 3, false, 4, "e", &f), FAIL_NONE);
	check(&r, "abcde");
	/* One who has appended something was seen: nothing comes back after it. */
	assert_int_equal(apply(&r, 4, true, 1, "", &f), FAIL_NONE);
	assert_int_equal(apply(&r, 4, false, 1, "f", &f), FAIL_NONE);
	assert_int_equal(apply(&r, 5, true, 3, "", &f), FAIL_DATA);
	check(&r, "af");
	live_order_close(&r);
}

static void
test_records_that_are_missing_are_found(void **unused)
{
	struct live_order r = {0};
	struct failure f;

	(void)unused;
	assert_int_equal(apply(&r, 1, true, 0, "", &f), FAIL_NONE);
	assert_int_equal(apply(&r, 1, false, 0, "ab", &f), FAIL_NONE);
	assert_int_equal(apply(&r, 1, false, 3, "d", &f), FAIL_DATA);
	assert_string_equal(f.text,
	    "portion 3 of input a/0/1 stands where 2 belongs: records were deleted or damaged");
	assert_int_equal(apply(&r, 2, true, 3, "", &f), FAIL_DATA);
	check(&r, "ab");
	live_order_close(&r);
}

static void
test_a_place_is_found_by_file_and_byte(void **unused)
{
	static const struct {
		const char *file;
		uint64_t byte;
		size_t portion;
	} cases[] = {
	    {"a", 0, 0}, {"a", 9, 0}, {"a", 10, LIVE_ORDER_NONE}, {"a", 19, LIVE_ORDER_NONE},
	    {"a", 20, 2}, {"a", 30, LIVE_ORDER_NONE}, {"b", 9, LIVE_ORDER_NONE}, {"b", 10, 1},
	    {"c", 0, LIVE_ORDER_NONE}, {"w", 0, 3},
	    {"w", 99999, 3}, /* bytes of a compressed file count after decompression */
	};
	struct live_order r = {0};
	struct live_order_portion whole = {.whole = true, .end = 5, .line = 1};
	struct failure f;

	(void)unused;
	assert_int_equal(apply(&r, 1, true, 0, "", &f), FAIL_NONE);
	assert_int_equal(apply(&r, 1, false, 0, "aba", &f), FAIL_NONE);
	assert_int_equal(live_order_file(&r, "w", 1, &whole.file, &f), FAIL_NONE);
	assert_int_equal(live_order_add(&r, &whole, &f), FAIL_NONE);
	EACH_NAMED_ROW(i, cases, file)
		assert_int_equal(
		    live_order_find(&r, cases[i].file, cases[i].byte), cases[i].portion);
	live_order_close(&r);
}

static void
test_the_hash_tells_portions_apart_and_of_a_beginning_is_the_same(void **unused)
{
	struct live_order a = {0}, b = {0};
	struct failure f;

	(void)unused;
	assert_int_equal(apply(&a, 1, true, 0, "abc", &f), FAIL_NONE);
	assert_int_equal(apply(&b, 1, true, 0, "abd", &f), FAIL_NONE);
	assert_true(live_order_hash(&a, 0) == 0);
	assert_true(live_order_hash(&a, 2) == live_order_hash(&b, 2));
	assert_true(live_order_hash(&a, 3) != live_order_hash(&b, 3));
	assert_true(live_order_hash(&a, 1) != live_order_hash(&a, 2));
	live_order_close(&a);
	live_order_close(&b);
}

/* Each of name, end and hash of a portion, and their order. */
static void
test_the_hash_has_all_that_tells_a_portion(void **unused)
{
	static const struct {
		const char *files;
		uint64_t end[2], hash[2];
	} rows[] = {
	    {"ab", {5, 6}, {1, 2}},
	    {"ba", {5, 6}, {1, 2}},
	    {"ac", {5, 6}, {1, 2}},
	    {"ab", {5, 7}, {1, 2}},
	    {"ab", {4, 6}, {1, 2}},
	    {"ab", {5, 6}, {1, 3}},
	    {"ab", {5, 6}, {0, 2}},
	    {"ab", {6, 5}, {2, 1}},
	};
	uint64_t found[sizeof(rows) / sizeof(rows[0])];

	(void)unused;
	EACH_ROW(i, rows) {
		struct live_order r = {0};
		struct failure f;

		for (size_t k = 0; k < 2; k++) {
			struct live_order_portion p = {
			    .end = rows[i].end[k], .hash = rows[i].hash[k], .line = 1};

			assert_int_equal(
			    live_order_file(&r, rows[i].files + k, 1, &p.file, &f), FAIL_NONE);
			assert_int_equal(live_order_add(&r, &p, &f), FAIL_NONE);
		}
		found[i] = live_order_hash(&r, 2);
		for (size_t k = 0; k < i; k++)
			assert_true(found[k] != found[i]);
		live_order_close(&r);
	}
}

static void
test_what_was_read_of_a_file_last_is_its_own_or_of_its_former_name(void **unused)
{
	static const struct {
		bool last, after;
		uint64_t last_end, after_end;
		size_t behind;
	} rows[] = {
	    {false, false, 5, 5, LIVE_ORDER_NONE},
	    {true, false, 5, 9, 0},
	    {false, true, 9, 5, 1},
	    {true, true, 5, 6, 1},
	    {true, true, 5, 5, 0}, /* its own */
	    {true, true, 6, 5, 0},
	};

	(void)unused;
	EACH_ROW(i, rows) {
		struct live_order_file file = {
		    .last = rows[i].last ? 0 : LIVE_ORDER_NONE,
		    .after = rows[i].after ? 1 : LIVE_ORDER_NONE,
		};
		struct live_order_portion portion[] = {
		    {.end = rows[i].last_end}, {.end = rows[i].after_end}};
		struct live_order r = {.file = &file, .files_n = 1, .portion = portion, .n = 2};

		assert_true(live_order_behind(&r, 0) == rows[i].behind);
	}
}

static void
test_an_empty_portion_gives_up_its_file(void **unused)
{
	struct live_order r = {0};
	struct live_order_portion loss;
	struct failure f;
	uint64_t hash;

	(void)unused;
	assert_int_equal(apply(&r, 1, true, 0, "", &f), FAIL_NONE);
	assert_int_equal(apply(&r, 1, false, 0, "aba", &f), FAIL_NONE);
	hash = live_order_hash(&r, 3);
	loss = live_order_loss(&r, r.portion[0].file);
	assert_int_equal(loss.byte, 30);
	assert_int_equal(loss.end, 30);
	assert_int_equal(live_order_add(&r, &loss, &f), FAIL_NONE);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(live_order_is_lost(&r, i), i != 1);
	assert_int_equal(live_order_find(&r, "a", 25), 2); /* where it was */
	assert_true(live_order_hash(&r, 3) == hash);
	live_order_settle(&r);
	assert_true(live_order_is_lost(&r, 0) && !live_order_is_lost(&r, 1));
	loss.end = 40; /* whatever comes of it later */
	assert_int_equal(live_order_add(&r, &loss, &f), FAIL_NONE);
	assert_true(live_order_is_lost(&r, 0));
	live_order_settle(&r);
	assert_true(live_order_is_lost(&r, 0));
	r.n--;
	live_order_settle(&r);
	/* One that had not seen the loss takes over. */
	assert_int_equal(apply(&r, 2, true, 3, "", &f), FAIL_NONE);
	assert_int_equal(apply(&r, 2, false, 3, "b", &f), FAIL_NONE);
	check(&r, "abab");
	assert_false(live_order_is_lost(&r, 0));
	live_order_close(&r);
}

static void
test_a_whole_file_that_was_given_up_is_found_where_it_was(void **unused)
{
	struct live_order r = {0};
	struct live_order_portion whole = {.whole = true, .end = 5, .line = 1}, loss;
	struct failure f;

	(void)unused;
	assert_int_equal(live_order_file(&r, "w", 1, &whole.file, &f), FAIL_NONE);
	assert_int_equal(live_order_add(&r, &whole, &f), FAIL_NONE);
	loss = live_order_loss(&r, whole.file);
	assert_int_equal(live_order_add(&r, &loss, &f), FAIL_NONE);
	assert_int_equal(live_order_find(&r, "w", 3), 0);
	live_order_close(&r);
}

static void
test_a_hundred_thousand_files_are_found_again(void **unused)
{
	struct live_order r = {0};
	struct failure f;
	char name[32];
	size_t index;

	(void)unused;
	/* From the last number down: most names begin like one that came before. */
	for (size_t i = 0; i < 100000; i++) {
		int n = snprintf(name, sizeof(name), "in/%zu", 99999 - i);

		assert_int_equal(live_order_file(&r, name, (size_t)n, &index, &f), FAIL_NONE);
		assert_int_equal(index, i);
	}
	for (size_t i = 0; i < 100000; i++) {
		int n = snprintf(name, sizeof(name), "in/%zu", 99999 - i);

		assert_int_equal(live_order_find_file(&r, name, (size_t)n), i);
	}
	live_order_close(&r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_the_order_is_that_of_the_log_and_files_come_back),
	    cmocka_unit_test(test_what_a_writer_appends_after_another_took_over_is_void),
	    cmocka_unit_test(test_a_late_take_over_voids_nothing),
	    cmocka_unit_test(test_a_take_over_that_the_next_writer_has_not_seen_voids_nothing),
	    cmocka_unit_test(test_records_that_are_missing_are_found),
	    cmocka_unit_test(test_a_place_is_found_by_file_and_byte),
	    cmocka_unit_test(test_the_hash_tells_portions_apart_and_of_a_beginning_is_the_same),
	    cmocka_unit_test(test_the_hash_has_all_that_tells_a_portion),
	    cmocka_unit_test(test_what_was_read_of_a_file_last_is_its_own_or_of_its_former_name),
	    cmocka_unit_test(test_an_empty_portion_gives_up_its_file),
	    cmocka_unit_test(test_a_whole_file_that_was_given_up_is_found_where_it_was),
	    cmocka_unit_test(test_a_hundred_thousand_files_are_found_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
