/*
 * test.h -- cmocka and what it needs; its macro `fail` gives way to failure.h's function.
 *
 * The assertions below replace cmocka's. If one fails, it also prints
 *
 *     where in which tables the test is, for loops made by EACH_ROW;
 *     the sentence in `f`, if a struct failure (or a pointer to one) of that name is in scope;
 *     numbers in decimal, with the expressions that they come from.
 *
 * For example:
 *
 *     test_scalar.c:41: scalar_u64(rows[i].text, &value) is 0, not 5 (FAIL_DATA)
 *         in row 3 of rows: "12x"
 *
 * Every file has a static `f` from here, so that the assertions always find one. A file may repeat
 * its definition and use it.
 */
#ifndef TESTS_UNIT_TEST_H
#define TESTS_UNIT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#undef fail

#include "common/base/failure.h"

/* ---- tables ---- */

enum { TEST_TABLES_MAX = 4 };

/* The tables that the test is inside of, the innermost last. */
static struct test_table {
	const char *name;
	size_t *row;      /* the loop's own variable */
	const char *text; /* row 0's text, a `const char *`; NULL: rows have none */
	size_t row_size;
} test_table[TEST_TABLES_MAX];
static size_t test_tables;

static inline size_t
test_table_begin(const char *name, size_t *row, const void *text, size_t row_size)
{
	assert_true(test_tables < TEST_TABLES_MAX); /* cmocka's own: it has no table to name */
	test_table[test_tables++] = (struct test_table){name, row, text, row_size};
	return 0;
}

/* Each test begins outside of all tables: one that crashed inside of a loop did not leave it. */
static inline int
test_begin(void **state)
{
	(void)state;
	test_tables = 0;
	return 0;
}

#undef cmocka_unit_test
#define cmocka_unit_test(test)                                                                     \
	{                                                                                          \
#test, test, test_begin, NULL, NULL                                                \
	}

/* Runs when the loop's variable goes out of scope, also by break and return. */
static inline void
test_table_end(size_t *row)
{
	(void)row;
	test_tables--;
}

#define EACH_ROW_FROM(i, table, first_text)                                                        \
	for (size_t i __attribute__((cleanup(test_table_end))) =                                   \
		 test_table_begin(#table, &i, first_text, sizeof((table)[0]));                     \
	     i < sizeof(table) / sizeof((table)[0]); i++)

/* A loop over the rows of an array: `i` is 0, 1, ... If rows are texts, a failure prints it. */
#define EACH_ROW(i, table)                                                                         \
	EACH_ROW_FROM(i, table,                                                        \
	    _Generic(&(table)[0], const char *const *: &(table)[0],                    \
		const char **: &(table)[0], default: NULL))

/* The same. A failure prints the row's member `text`, a `const char *`. */
#define EACH_NAMED_ROW(i, table, text) EACH_ROW_FROM(i, table, &(table)[0].text)

/* ---- what a failed assertion prints ---- */

/* A local `f` hides it on purpose. */
#pragma GCC diagnostic ignored "-Wshadow"
static struct failure f __attribute__((unused));

/* NULL if `f` is something else. */
#define TEST_F                                                                                     \
	_Generic(&f, struct failure *: (void *)&f,                                     \
	    struct failure **: *(struct failure **)(void *)&f,                         \
	    struct failure *const *: *(struct failure **)(void *)&f, default: NULL)

#define TEST_HERE TEST_F, __FILE__, __LINE__

/* For what runs once, when a test fails: it keeps the thousands of assertions small. */
#define TEST_COLD __attribute__((unused, noinline, cold))

static TEST_COLD void
test_print_rows(void)
{
	for (size_t i = test_tables; i-- > 0 && test_table[i].name != NULL;) {
		const struct test_table *t = &test_table[i];
		const char *text = NULL;

		if (t->text != NULL)
			memcpy(&text, t->text + *t->row * t->row_size, sizeof(text));
		fprintf(stderr, "    in row %zu of %s", *t->row, t->name);
		fprintf(stderr, text == NULL ? "\n" : ": \"%s\"\n", text);
	}
}

/*
 * A struct failure holds something only after a call has failed. Until then its bytes are random,
 * and a pointer to const would make the compiler warn of that.
 */
static TEST_COLD void
test_print_sentence(struct failure *f)
{
	if (f != NULL && f->code > FAIL_NONE && f->code <= FAIL_DENIED && f->text[0] != '\0' &&
	    memchr(f->text, '\0', sizeof(f->text)) != NULL)
		fprintf(stderr, "    f.text is \"%s\"\n", f->text);
}

static TEST_COLD void
test_explain(struct failure *f)
{
	test_print_rows();
	test_print_sentence(f);
}

struct test_number {
	const char *text; /* the expression */
	uintmax_t value;
	bool is_signed;
};

/* clang-format off */
#define TEST_NUMBER(text, a)                                                                       \
	((struct test_number){text, cast_to_largest_integral_type(a),                              \
	    _Generic((a) + 0, int: true, long: true, long long: true, default: false)})
/* clang-format on */

static TEST_COLD void
test_print_number(const char *before, const struct test_number *n)
{
	char digits[24];

	snprintf(digits, sizeof(digits), n->is_signed ? "%jd" : "%ju", n->value);
	fprintf(stderr, "%s%s", before, digits);
	if (strcmp(digits, n->text) != 0)
		fprintf(stderr, " (%s)", n->text);
}

static TEST_COLD void
test_number_fails(const char *relation, struct test_number a, struct test_number b,
    struct failure *f, const char *file, int line)
{
	fprintf(stderr, "%s:%d: ", file, line);
	test_print_number("", &a);
	test_print_number(relation, &b);
	fputc('\n', stderr);
	test_explain(f);
	_fail(file, line);
}

static inline void
test_equal(bool wanted, struct test_number a, struct test_number b, struct failure *f,
    const char *file, int line)
{
	if ((a.value == b.value) != wanted)
		test_number_fails(wanted ? " is not " : " is also ", a, b, f, file, line);
}

static inline void
test_in_range(struct test_number a, struct test_number least, struct test_number most,
    struct failure *f, const char *file, int line)
{
	if (a.value < least.value)
		test_number_fails(" is less than ", a, least, f, file, line);
	if (a.value > most.value)
		test_number_fails(" is greater than ", a, most, f, file, line);
}

static inline void
test_true(bool holds, const char *text, struct failure *f, const char *file, int line)
{
	if (holds)
		return;
	test_explain(f);
	_assert_true(false, text, file, line);
	abort(); /* cmocka does not come back, which the compiler learns here */
}

static inline void
test_string(
    bool wanted, const char *a, const char *b, struct failure *f, const char *file, int line)
{
	if ((strcmp(a, b) == 0) != wanted)
		test_explain(f);
	(wanted ? _assert_string_equal : _assert_string_not_equal)(a, b, file, line);
}

static inline void
test_memory(bool wanted, const void *a, const void *b, size_t n, struct failure *f,
    const char *file, int line)
{
	if ((n == 0 || memcmp(a, b, n) == 0) != wanted) /* of nothing, NULL will do */
		test_explain(f);
	(wanted ? _assert_memory_equal : _assert_memory_not_equal)(a, b, n, file, line);
}

/* ---- the assertions ---- */

#undef assert_int_equal
#undef assert_int_not_equal
#undef assert_in_range
#undef assert_true
#undef assert_false
#undef assert_null
#undef assert_ptr_equal
#undef assert_non_null
#undef assert_string_equal
#undef assert_string_not_equal
#undef assert_memory_equal
#undef assert_memory_not_equal

#define assert_int_equal(a, b) test_equal(true, TEST_NUMBER(#a, a), TEST_NUMBER(#b, b), TEST_HERE)
#define assert_int_not_equal(a, b)                                                                 \
	test_equal(false, TEST_NUMBER(#a, a), TEST_NUMBER(#b, b), TEST_HERE)
#define assert_in_range(a, least, most)                                                            \
	test_in_range(                                                                             \
	    TEST_NUMBER(#a, a), TEST_NUMBER(#least, least), TEST_NUMBER(#most, most), TEST_HERE)
#define assert_true(c)                   test_true((c), #c, TEST_HERE)
#define assert_false(c)                  test_true(!(c), "!(" #c ")", TEST_HERE)
#define assert_null(c)                   test_true((c) == NULL, #c " == NULL", TEST_HERE)
#define assert_non_null(c)               test_true((c) != NULL, #c " != NULL", TEST_HERE)
#define assert_ptr_equal(a, b)           test_true((a) == (b), #a " == " #b, TEST_HERE)
#define assert_string_equal(a, b)        test_string(true, a, b, TEST_HERE)
#define assert_string_not_equal(a, b)    test_string(false, a, b, TEST_HERE)
#define assert_memory_equal(a, b, n)     test_memory(true, a, b, n, TEST_HERE)
#define assert_memory_not_equal(a, b, n) test_memory(false, a, b, n, TEST_HERE)

#endif
