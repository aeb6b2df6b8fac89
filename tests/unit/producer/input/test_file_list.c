#include "producer/input/file_list.h"

#include "common/config/config.h"
#include "producer/input/brace.h"
#include "tests/unit/folder.h"

/* Joins names with spaces. */
static char joined[8192];

static void
join(const char *name)
{
	size_t n = strlen(joined);

	snprintf(joined + n, sizeof(joined) - n, "%s%s", n > 0 ? " " : "", name);
}

static void
test_braces_expand_as_in_bash(void **unused)
{
	/* The right column was printed by bash 5.2. */
	static const char *const rows[][2] = {
	    {"a{b,c}d", "abd acd"},
	    {"{1..3}", "1 2 3"},
	    {"{01..3}", "01 02 03"},
	    {"{3..1}", "3 2 1"},
	    {"{1..9..4}", "1 5 9"},
	    {"{9..1..-4}", "9 5 1"},
	    {"{-2..1}", "-2 -1 0 1"},
	    {"{-01..1}", "-01 000 001"},
	    {"{-0..1}", "0 1"},
	    {"{-00..1}", "000 001"},
	    {"{08..11}", "08 09 10 11"},
	    {"{1..002}", "001 002"},
	    {"{+1..3}", "1 2 3"},
	    {"{5..5}", "5"},
	    {"{-5..-3}", "-5 -4 -3"},
	    {"{-1..10..-3}", "-1 2 5 8"},
	    {"{0..10..05}", "0 5 10"},
	    {"{a..e..2}", "a c e"},
	    {"{c..a}", "c b a"},
	    {"x{,y}", "x xy"},
	    {"{x,y,}z", "xz yz z"},
	    {"{a,b{1,2}}", "a b1 b2"},
	    {"{a{1..2},b}z", "a1z a2z bz"},
	    {"{a,b}{1,2}", "a1 a2 b1 b2"},
	    {"{1..3,5}", "1..3 5"},
	    {"{}", "{}"},
	    {"{a}", "{a}"},
	    {"{a,b", "{a,b"},
	    {"a,b}", "a,b}"},
	    {"{{a,b}", "{a {b"},
	    {"{a,b}}", "a} b}"},
	    {"{a}b{c,d}", "{a}bc {a}bd"},
	    {"{a{b,c}}", "{ab} {ac}"},
	    {"{1..b}", "{1..b}"},
	    {"{1..}", "{1..}"},
	    {"{..2}", "{..2}"},
	    {"{1..2..x}", "{1..2..x}"},
	    {"{1..3..0}", "1 2 3"},
	    /* bash takes the backslash away at once; here the matcher does it. */
	    {"a\\{b,c\\}", "a\\{b,c\\}"},
	    {"{a\\,b,c}", "a\\,b c"},
	    {"\\{a,b}", "\\{a,b}"},
	    {"{Z..a..3}", "Z \\] \\`"},
	};

	(void)unused;
	EACH_ROW(i, rows) {
		struct brace_words w = {0};
		struct failure f;

		joined[0] = '\0';
		assert_int_equal(brace_expand(&w, rows[i][0], &f), FAIL_NONE);
		for (size_t k = 0; k < w.n; k++)
			join(w.word[k]);
		assert_string_equal(joined, rows[i][1]);
		brace_words_close(&w);
	}
}

static void
test_braces_stop_at_their_limits(void **unused)
{
	static char long_pattern[BRACE_WORD_BYTES + 2];
	struct brace_words w = {0};
	struct failure f;

	(void)unused;
	assert_int_equal(brace_expand(&w, "{1..1048576}", &f), FAIL_NONE);
	assert_int_equal(w.n, BRACE_WORDS_MAX);
	assert_int_equal(brace_expand(&w, "{a,b}", &f), FAIL_NONE); /* of another pattern */
	assert_int_equal(w.n, BRACE_WORDS_MAX + 2);
	brace_words_close(&w);
	assert_int_equal(brace_expand(&w, "{0..1048576}", &f), FAIL_CONFIG);
	assert_string_equal(f.text, "pattern {0..1048576}: stands for more than 1048576 names");
	brace_words_close(&w);
	assert_int_equal(brace_expand(&w, "{1..4611686018427387902}", &f), FAIL_CONFIG);
	brace_words_close(&w);

	memset(long_pattern, 'a', BRACE_WORD_BYTES);
	assert_int_equal(brace_expand(&w, long_pattern, &f), FAIL_NONE);
	long_pattern[BRACE_WORD_BYTES] = 'a';
	assert_int_equal(brace_expand(&w, long_pattern, &f), FAIL_CONFIG);
	assert_non_null(strstr(f.text, "longer than 4095 bytes"));
	memcpy(long_pattern, "{1..10}", 7);
	long_pattern[BRACE_WORD_BYTES] = '\0';
	assert_int_equal(brace_expand(&w, long_pattern, &f), FAIL_NONE);
	brace_words_close(&w);
}

/* Lists the files of patterns (separated by spaces) into `joined`; finds each by its name. */
static enum fail_code
list_in(enum config_file_order order, const char *patterns, uint32_t partition, uint32_t partitions,
    struct failure *f)
{
	char text[512], *pattern[8];
	struct config_list l = {0, pattern};
	struct file_list *files;
	enum fail_code code;
	char *rest = NULL;

	snprintf(text, sizeof(text), "%s", patterns);
	for (char *at = strtok_r(text, " ", &rest); at != NULL; at = strtok_r(NULL, " ", &rest))
		pattern[l.n++] = at;
	joined[0] = '\0';
	f->text[0] = '\0';
	code = file_list_open(&files, &l, order, folder, partition, partitions, f);
	if (code != FAIL_NONE)
		return code;
	for (size_t i = 0; i < files->n; i++) {
		join(files->file[i].name);
		assert_int_equal(file_list_find(files, files->file[i].name), i);
	}
	assert_int_equal(file_list_find(files, "none"), files->n);
	file_list_close(files);
	return FAIL_NONE;
}

static enum fail_code
list(const char *patterns, uint32_t partition, uint32_t partitions, struct failure *f)
{
	return list_in(CONFIG_FILES_BY_NAME, patterns, partition, partitions, f);
}

static void
make_tree(void)
{
	static const char *const folders[] = {"d", "d/e", "d/e/f", "d/.hidden", "only", "only/x"};
	static const char *const files[] = {"a.1", "a.2", "a.10", "b.1", "B.1", ".secret.1",
	    "[x].1", "s p.1", "d/a.1", "d/e/a.1", "d/e/f/a.1", "d/.hidden/a.1", "a*b.1"};

	EACH_ROW(i, folders)
		folder_make(folders[i]);
	EACH_ROW(i, files)
		folder_text(files[i], "x\n");
	assert_int_equal(symlink("d", folder_path("link")), 0);
	assert_int_equal(symlink("b.1", folder_path("linked.2")), 0);
}

static void
test_patterns_become_sorted_distinct_names(void **unused)
{
	static const char *const rows[][2] = {
	    {"a.1", "a.1"},
	    {"./a.1 a.1 .//a.1", "a.1"},
	    {"b.1 a.1 B.1", "B.1 a.1 b.1"},
	    {"a.{1,2,10}", "a.1 a.10 a.2"},
	    {"a.?", "a.1 a.2"},
	    {"a.* a.1", "a.1 a.10 a.2"},
	    {"[ab].1", "a.1 b.1"},
	    {"[!a].1", "B.1 b.1"},
	    {"[a-b].1", "a.1 b.1"},
	    {"*.1", "B.1 [x].1 a*b.1 a.1 b.1 s p.1"},
	    {".s*", ".secret.1"},
	    {"a\\*b.1", "a*b.1"},
	    {"\\[x\\].1", "[x].1"},
	    {"d/*", "d/a.1"},
	    {"d/./a.1", "d/a.1"},
	    {"d/../a.1", "d/../a.1"},
	    {"*/a.1", "d/a.1 link/a.1"},
	    {"d/*/a.1", "d/e/a.1"},
	    {"d/.h*/a.1", "d/.hidden/a.1"},
	    {"**/a.1", "a.1 d/a.1 d/e/a.1 d/e/f/a.1"},
	    {"d/**/a.1", "d/a.1 d/e/a.1 d/e/f/a.1"},
	    {"d/**/**/f/*", "d/e/f/a.1"},
	    {"d/**", "d/a.1 d/e/a.1 d/e/f/a.1"},
	    {"*.2", "a.2 linked.2"},
	};
	struct failure f;

	(void)unused;
	make_tree();
	EACH_ROW(i, rows) {
		assert_int_equal(list(rows[i][0], 0, 1, &f), FAIL_NONE);
		assert_string_equal(joined, rows[i][1]);
	}
	{
		char absolute[300];

		snprintf(absolute, sizeof(absolute), "%s/*.10", folder);
		assert_int_equal(list(absolute, 0, 1, &f), FAIL_NONE);
		assert_string_equal(joined, folder_path("a.10"));
	}
}

static void
test_listed_files_keep_the_order_of_the_list(void **unused)
{
	static const char *const rows[][2] = {
	    {"b.1 a.1 B.1", "b.1 a.1 B.1"},
	    {"a.{1,2,10}", "a.1 a.2 a.10"},
	    {"a.{10,2,1}", "a.10 a.2 a.1"},
	    {"b.1 a.*", "b.1 a.1 a.10 a.2"},
	    {"{d,d/e}/*", "d/a.1 d/e/a.1"},
	    {"{d/e,d}/*", "d/e/a.1 d/a.1"},
	    {"a.10 a.* b.1", "a.10 a.1 a.2 b.1"}, /* a name that several match: the first place */
	    {"a.* a.1", "a.1 a.10 a.2"},
	    {"./a.2 a.1 .//a.2", "a.2 a.1"},
	};
	struct failure f;

	(void)unused;
	make_tree();
	EACH_ROW(i, rows) {
		assert_int_equal(list_in(CONFIG_FILES_LISTED, rows[i][0], 0, 1, &f), FAIL_NONE);
		assert_string_equal(joined, rows[i][1]);
	}
	assert_int_equal(list_in(CONFIG_FILES_LISTED, "b.1 a.{10,1} a.*", 0, 2, &f), FAIL_NONE);
	assert_string_equal(joined, "b.1 a.1");
	assert_int_equal(list_in(CONFIG_FILES_LISTED, "b.1 a.{10,1} a.*", 1, 2, &f), FAIL_NONE);
	assert_string_equal(joined, "a.10 a.2");
}

static void
test_a_path_is_written_as_the_pattern_that_stands_for_it_alone(void **unused)
{
	static const struct {
		const char *path, *pattern;
	} rows[] = {
	    {"data/a.jsonl", "data/a.jsonl"},
	    {"[D]/x*?.{1,2}", "\\[D\\]/x\\*\\?.\\{1\\,2\\}"},
	    {"a\\b", "a\\\\b"},
	    {"$a/$b/c$d", "[$]a/[$]b/c$d"},
	    {"~a/~b", "[~]a/~b"},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, path) {
		char *pattern = file_list_pattern(rows[i].path);

		assert_string_equal(pattern, rows[i].pattern);
		free(pattern);
	}
}

static void
test_what_names_no_file_is_refused_by_name(void **unused)
{
	static const char *const rows[][2] = {
	    {"none", "pattern none: matches no file"},
	    {"a.1 none.*", "pattern none.*: matches no file"},
	    {"a.{1,2,3}", "pattern a.{1,2,3}: a.3 matches no file"},
	    {"none/a.1", "pattern none/a.1: folder none does not exist in "},
	    {"a.1/x", "pattern a.1/x: matches no file"},
	    {"none/*", "pattern none/*: folder none does not exist in "},
	    {"onyl/x", "(did you mean only?); its folders are "},
	    {"d/f/*", "pattern d/f/*: folder f does not exist in "},
	    {"only/*", "only folders; ** goes down into them"},
	    {"d", "pattern d: d is a folder; name its files, as d/*"},
	    {"d/e/", "d/e is a folder"},
	    {"pipe", "pipe is not a regular file"},
	    {"pip*", "pipe is not a regular file"},
	    {"dangling", "pattern dangling: dangling is a link to /nosuch, which does not exist"},
	    {"dangl*", "dangling is a link to /nosuch, which does not exist"},
	    {"/", "names no file"},
	};
	static const struct {
		const char *pattern, *folder;
	} where[] = {
	    {"none", ""},
	    {"d/none", "/d"},
	    {"d/e/non*", "/d/e"},
	    {"d/non*/x", "/d"},
	};
	struct failure f;

	(void)unused;
	make_tree();
	assert_int_equal(mkfifo(folder_path("pipe"), 0644), 0);
	assert_int_equal(symlink("/nosuch", folder_path("dangling")), 0);
	EACH_ROW(i, rows) {
		assert_int_equal(list(rows[i][0], 0, 1, &f), FAIL_CONFIG);
		assert_non_null(strstr(f.text, rows[i][1]));
	}
	EACH_NAMED_ROW(i, where, pattern) {
		char whole[4096], said[5000];

		assert_non_null(realpath(folder, whole));
		snprintf(
		    said, sizeof(said), "matches no file in %s%s; it has ", whole, where[i].folder);
		assert_int_equal(list(where[i].pattern, 0, 1, &f), FAIL_CONFIG);
		assert_non_null(strstr(f.text, said));
		snprintf(whole, sizeof(whole), "%s/%s", folder, where[i].pattern);
		assert_int_equal(list(whole, 0, 1, &f), FAIL_CONFIG);
		assert_non_null(strstr(f.text, said));
	}
	assert_int_equal(list("only/* none.*", 0, 1, &f), FAIL_CONFIG);
	assert_int_equal(list("a.* d/** none.*", 0, 1, &f), FAIL_CONFIG);
	assert_non_null(strstr(f.text, "pattern none.*: matches no file"));
	assert_null(strstr(f.text, "only folders")); /* that was another pattern's */
	folder_text("[q]", "x");
	folder_text("y{1,2}", "x");
	assert_int_equal(list("[q]", 0, 1, &f), FAIL_CONFIG);
	assert_non_null(strstr(f.text, "; to name the file [q] itself, write '\\[q\\]'"));
	assert_int_equal(list("y{1,2}", 0, 1, &f), FAIL_CONFIG);
	assert_non_null(strstr(f.text, "; to name the file y{1,2} itself, write 'y\\{1\\,2\\}'"));
	assert_int_equal(list("\\[q\\] y\\{1\\,2\\}", 0, 1, &f), FAIL_NONE);
	folder_text("bad\xff.name", "x");
	assert_int_equal(list("bad*", 0, 1, &f), FAIL_CONFIG);
	assert_non_null(strstr(f.text, "is not UTF-8"));
}

static void
test_a_folder_that_cannot_be_read_is_an_io_failure(void **unused)
{
	uid_t before = geteuid();
	struct failure f;

	(void)unused;
	folder_make("closed");
	folder_text("closed/a", "x");
	assert_int_equal(chmod(folder_path("closed"), 0), 0);
	if (before == 0)
		assert_int_equal(seteuid(65534), 0);
	assert_int_equal(list("closed/*", 0, 1, &f), FAIL_IO);
	assert_non_null(strstr(f.text, "folder closed cannot be read: Permission denied"));
	assert_int_equal(list("closed/a", 0, 1, &f), FAIL_IO);
	if (before == 0)
		assert_int_equal(seteuid(before), 0);
	assert_int_equal(chmod(folder_path("closed"), 0755), 0);
}

static void
test_lanes_deal_the_names_out(void **unused)
{
	struct failure f;

	(void)unused;
	for (int i = 0; i < 7; i++) {
		char name[8] = {(char)('a' + i), '\0'};

		folder_text(name, "x");
	}
	assert_int_equal(list("[a-g] a", 0, 3, &f), FAIL_NONE);
	assert_string_equal(joined, "a d g");
	assert_int_equal(list("[a-g]", 1, 3, &f), FAIL_NONE);
	assert_string_equal(joined, "b e");
	assert_int_equal(list("[a-g]", 2, 3, &f), FAIL_NONE);
	assert_string_equal(joined, "c f");
	assert_int_equal(list("{a,b}", 7, 8, &f), FAIL_NONE);
	assert_string_equal(joined, "");
}

static void
test_a_pattern_goes_down_64_folders(void **unused)
{
	char path[512] = "p";
	struct failure f;

	(void)unused;
	folder_make(path);
	for (int depth = 1; depth < FILE_LIST_DEPTH_MAX; depth++) {
		strncat(path, "/p", sizeof(path) - strlen(path) - 1);
		folder_make(path);
	}
	folder_text("p/one", "x");
	assert_int_equal(list("**/one", 0, 1, &f), FAIL_NONE);
	strncat(path, "/p", sizeof(path) - strlen(path) - 1);
	folder_make(path);
	assert_int_equal(list("**/one", 0, 1, &f), FAIL_CONFIG);
	assert_non_null(strstr(f.text, "more than 64 deep"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_braces_expand_as_in_bash),
	    cmocka_unit_test(test_braces_stop_at_their_limits),
	    cmocka_unit_test_setup_teardown(
		test_patterns_become_sorted_distinct_names, folder_open, folder_close),
	    cmocka_unit_test_setup_teardown(
		test_listed_files_keep_the_order_of_the_list, folder_open, folder_close),
	    cmocka_unit_test(test_a_path_is_written_as_the_pattern_that_stands_for_it_alone),
	    cmocka_unit_test_setup_teardown(
		test_what_names_no_file_is_refused_by_name, folder_open, folder_close),
	    cmocka_unit_test_setup_teardown(
		test_a_folder_that_cannot_be_read_is_an_io_failure, folder_open, folder_close),
	    cmocka_unit_test_setup_teardown(
		test_lanes_deal_the_names_out, folder_open, folder_close),
	    cmocka_unit_test_setup_teardown(
		test_a_pattern_goes_down_64_folders, folder_open, folder_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
