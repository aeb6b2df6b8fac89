/* failure.h: what a sentence says where the process has no file descriptor left. */
#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/base/failure.h"

static struct rlimit before;

static int
save_limit(void **state)
{
	(void)state;
	return getrlimit(RLIMIT_NOFILE, &before);
}

static int
restore_limit(void **state)
{
	(void)state;
	return setrlimit(RLIMIT_NOFILE, &before);
}

/* No further descriptor can be opened. Gives the limit. */
static int
use_all_up(void)
{
	struct rlimit limit = before;
	int next = dup(0);

	assert_true(next >= 0);
	assert_int_equal(close(next), 0);
	limit.rlim_cur = (rlim_t)next;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	return next;
}

static void
test_without_descriptors_the_sentence_says_so_and_how_to_raise_the_limit(void **unused)
{
	char expected[256];
	struct failure f;

	(void)unused;
	fail(&f, FAIL_BROKER, "no broker answers");
	assert_int_equal(fail_files(&f), FAIL_BROKER);
	assert_string_equal(f.text, "no broker answers"); /* there are some */
	snprintf(expected, sizeof(expected),
	    "no broker answers; Too many open files (this process may have %d; `ulimit -n` raises "
	    "it, up to %llu)",
	    use_all_up(), (unsigned long long)before.rlim_max);
	errno = EIO;
	assert_int_equal(fail_files(&f), FAIL_BROKER);
	assert_int_equal(errno, EIO);
	assert_string_equal(f.text, expected);
	fail_files(&f);
	assert_string_equal(f.text, expected); /* once */
}

static void
test_a_sentence_of_a_library_gets_the_limit_too(void **unused)
{
	struct failure f;

	(void)unused;
	fail(&f, FAIL_BROKER, "b:1: Failed to create socket: Too many open files");
	fail_files(&f); /* there are some again */
	assert_non_null(strstr(f.text, "Too many open files (this process may have "));
	assert_null(strstr(f.text, "files; "));
}

static void
test_a_file_that_finds_no_descriptor_says_the_limit_once(void **unused)
{
	char expected[256];
	struct failure f;

	(void)unused;
	snprintf(expected, sizeof(expected),
	    "x: cannot be opened: Too many open files (this process may have %d; `ulimit -n` "
	    "raises it, up to %llu)",
	    use_all_up(), (unsigned long long)before.rlim_max);
	assert_int_equal(open("/dev/null", O_RDONLY), -1);
	assert_int_equal(fail_errno(&f, FAIL_IO, "x: cannot be opened"), FAIL_IO);
	assert_string_equal(f.text, expected);
}

static void
test_the_exit_code_says_who_has_to_do_what(void **unused)
{
	static const struct {
		enum fail_code code;
		int exit;
	} rows[] = {
	    {FAIL_NONE, 0},
	    {FAIL_STOPPED, 0},
	    {FAIL_USAGE, 2},
	    {FAIL_CONFIG, 2},
	    {FAIL_FENCED, 3},
	    {FAIL_MEMORY, 1},
	    {FAIL_IO, 1},
	    {FAIL_DATA, 1},
	    {FAIL_BROKER, 1},
	    {FAIL_DENIED, 1},
	    {FAIL_TIMEOUT, 1},
	};

	(void)unused;
	EACH_ROW(i, rows)
		assert_int_equal(fail_exit(rows[i].code), rows[i].exit);
}

static void
test_errno_decides_about_memory_and_stays(void **unused)
{
	struct failure f;

	(void)unused;
	errno = ENOMEM;
	assert_int_equal(fail_errno(&f, FAIL_IO, "reading %s", "x"), FAIL_MEMORY);
	assert_int_equal(f.code, FAIL_MEMORY);
	errno = EACCES;
	assert_int_equal(fail_errno(&f, FAIL_IO, "reading %s", "x"), FAIL_IO);
	assert_string_equal(f.text, "reading x: Permission denied");
	assert_int_equal(errno, EACCES);
	errno = EMFILE;
	assert_int_equal(fail_errno(&f, FAIL_BROKER, "x"), FAIL_BROKER);
	assert_int_equal(errno, EMFILE);
}

static void
test_what_stands_around_a_sentence_cuts_its_end_alone(void **unused)
{
	char inner[FAILURE_TEXT_MAX];
	struct failure f;

	(void)unused;
	memset(inner, 'i', sizeof(inner) - 1);
	inner[sizeof(inner) - 1] = '\0';
	fail(&f, FAIL_DATA, "%s", inner);
	assert_int_equal(fail_within(&f, "topic %s", "t"), FAIL_DATA);
	assert_int_equal(strlen(f.text), FAILURE_TEXT_MAX - 1);
	assert_memory_equal(f.text, "topic t: iii", 12);
	fail(&f, FAIL_USAGE, "a");
	assert_int_equal(fail_more(&f, " (did you mean %s?)", "b"), FAIL_USAGE);
	assert_int_equal(fail_within(&f, "c"), FAIL_USAGE);
	assert_string_equal(f.text, "c: a (did you mean b?)");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, save_limit, restore_limit)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_without_descriptors_the_sentence_says_so_and_how_to_raise_the_limit),
	    TEST(test_a_sentence_of_a_library_gets_the_limit_too),
	    TEST(test_a_file_that_finds_no_descriptor_says_the_limit_once),
	    cmocka_unit_test(test_the_exit_code_says_who_has_to_do_what),
	    cmocka_unit_test(test_errno_decides_about_memory_and_stays),
	    cmocka_unit_test(test_what_stands_around_a_sentence_cuts_its_end_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
