#include "common/config/yaml_tree.h"

#include <time.h>

#include "tests/unit/folder.h"

static enum fail_code
decode_n(struct yaml_tree **t, const char *bytes, size_t n, struct failure *f)
{
	return yaml_tree_decode(t, "run.yml", bytes, n, f);
}

static void
test_a_tree_has_kinds_texts_and_lines(void **unused)
{
	static const char text[] = "# a comment\n"
				   "a: 1\n"
				   "b:\n"
				   "  - \"x y\"\n"
				   "  - {c: 2}\n"
				   "d:\n"
				   "e: ''\n";
	struct yaml_tree *t;
	struct failure f;
	const struct yaml_node *root, *b, *d;

	(void)unused;
	assert_int_equal(decode_n(&t, text, strlen(text), &f), FAIL_NONE);
	root = yaml_tree_root(t);
	assert_int_equal(root->kind, YAML_MAP);
	assert_int_equal(root->children_n, 4);
	assert_string_equal(yaml_node_get(root, "a")->text, "1");
	assert_true(yaml_node_get(root, "a")->plain);
	assert_int_equal(yaml_node_get(root, "a")->line, 2);
	b = yaml_node_get(root, "b");
	assert_int_equal(b->kind, YAML_LIST);
	assert_int_equal(b->line, 3); /* the key's, though the list begins in line 4 */
	assert_int_equal(b->children_n, 2);
	assert_string_equal(b->child[0].text, "x y");
	assert_false(b->child[0].plain);
	assert_null(b->child[0].key);
	assert_int_equal(b->child[1].line, 5);
	assert_string_equal(yaml_node_get(&b->child[1], "c")->text, "2");
	d = yaml_node_get(root, "d");
	assert_string_equal(d->text, "");
	assert_true(d->plain);
	assert_false(yaml_node_get(root, "e")->plain);
	assert_null(yaml_node_get(root, "f"));
	assert_null(yaml_node_get(d, "f"));
	assert_null(yaml_node_get(NULL, "f"));
	yaml_tree_close(t);
	yaml_tree_close(NULL);
}

static void
test_an_alias_is_the_node_it_names(void **unused)
{
	static const char text[] = "a: &x {k: v}\nb: *x\n";
	struct yaml_tree *t;
	struct failure f;
	const struct yaml_node *b;

	(void)unused;
	assert_int_equal(decode_n(&t, text, strlen(text), &f), FAIL_NONE);
	b = yaml_node_get(yaml_tree_root(t), "b");
	assert_string_equal(yaml_node_get(b, "k")->text, "v");
	assert_int_equal(b->line, 2);
	yaml_tree_close(t);
}

static void
test_a_tag_that_says_what_the_value_is_changes_nothing(void **unused)
{
	static const char text[] = "a: !!str 12\nb: !!int -12\nc: !!float 1.5e3\nd: !!bool true\n"
				   "e: ! x\n!!str f: !!seq [!!map {}]\n";
	static const char *const expected[] = {"12", "-12", "1.5e3", "true", "x"};
	struct yaml_tree *t;
	struct failure f;

	(void)unused;
	assert_int_equal(decode_n(&t, text, strlen(text), &f), FAIL_NONE);
	EACH_ROW(i, expected)
		assert_string_equal(yaml_tree_root(t)->child[i].text, expected[i]);
	assert_int_equal(yaml_node_get(yaml_tree_root(t), "f")->child[0].kind, YAML_MAP);
	yaml_tree_close(t);
}

#define ROW(text, expected)                                                                        \
	{                                                                                          \
		text, sizeof(text) - 1, expected                                                   \
	}

static void
test_every_error_names_file_and_line(void **unused)
{
	static const struct {
		const char *text;
		size_t n;
		const char *expected;
	} rows[] = {
	    ROW("",
		"run.yml:1: is empty: `riffle config --init DATA` prints a first configuration"),
	    ROW("a: 1\nlanes 4\n# x\nb: 1\n",
		"run.yml:2: not YAML: while scanning a simple key: could not find expected ':'"),
	    ROW("a:\n  b: 1\n c: 1\n",
		"run.yml:3: not YAML: while parsing a block mapping: did not find expected key; is "
		"this line indented like its neighbors, and does nothing follow a quoted text?"),
	    ROW("# only this\n",
		"run.yml:1: is empty: `riffle config --init DATA` prints a first configuration"),
	    ROW("a: 1\na: 2\n", "run.yml:2: a: given twice, first in line 1"),
	    ROW("m:\n  n: {x: 1,\n    y: 2,\n    x: 3}\n",
		"run.yml:4: m.n.x: given twice, first in line 2"),
	    ROW("a: 1\nb: 1\n\"a\": 1\n", "run.yml:3: a: given twice, first in line 1"),
	    ROW("a: 1\n? [b]\n: 2\n", "run.yml:2: a key must be a text, not a map or a list"),
	    ROW("a: 1\n---\nb: 2\n", "run.yml:2: a second document begins; one is allowed"),
	    ROW("a: \"x\\0y\"\n", "run.yml:1: a text holds a NUL byte"),
	    ROW("a: 1\n\"x\\0y\": 1\n", "run.yml:2: a text holds a NUL byte"),
	    ROW("a:\n\tb: 1\n", "run.yml:2: a tab cannot indent in YAML: use blanks"),
	    ROW("a:\n  \tb: 1\n", "run.yml:2: a tab cannot indent in YAML: use blanks"),
	    ROW("a: 1\nb: \xff\n",
		"run.yml:2: not UTF-8 text: invalid leading UTF-8 octet at byte 8"),
	    ROW("a: \xc3(\n", "run.yml:1: not UTF-8 text: invalid trailing UTF-8 octet at byte 4"),
	    ROW("a: \xed\xa0\x80\n",
		"run.yml:1: not UTF-8 text: invalid Unicode character at byte 3"),
	    ROW("a: x\0y\n",
		"run.yml:1: not UTF-8 text: control characters are not allowed at byte 4"),
	    ROW("a: *x\n", "run.yml:1: not YAML: found undefined alias"),
	    ROW("a: [1\nb: 2\n",
		"run.yml:2: not YAML: while parsing a flow sequence: did not find expected ',' "
		"or ']'"),
	    ROW("a: b: c\n",
		"run.yml:1: not YAML: mapping values are not allowed in this context; is a `:` "
		"missing in this line or the one before?"),
	    ROW("corpus day4\ntokenizer: {}\n",
		"run.yml:2: not YAML: mapping values are not allowed in this context; is a `:` "
		"missing in this line or the one before?"),
	    ROW("a: @x\n",
		"run.yml:1: not YAML: while scanning for the next token: found character that "
		"cannot start any token"),
	    ROW("a: 1\nb: {c: [x,\n  !!binary d2lraQ==]}\n",
		"run.yml:3: b.c: the tag !!binary is not supported: remove it, and write the value "
		"itself"),
	    ROW("a: !!python/object:os.system x\n",
		"run.yml:1: a: the tag !!python/object:os.system is not supported: remove it, and "
		"write the value itself"),
	    ROW("a: !foo x\n", "run.yml:1: a: the tag !foo is not supported: remove it, and write "
			       "the value itself"),
	    ROW("a: !<tag:b,2026:c> x\n", "run.yml:1: a: the tag tag:b,2026:c is not supported: "
					  "remove it, and write the value "
					  "itself"),
	    ROW("!k a: x\n",
		"run.yml:1: the tag !k is not supported: remove it, and write the value itself"),
	    ROW("!!omap\na: x\n", "run.yml:1: the tag !!omap is not supported: remove it, and "
				  "write the value itself"),
	    ROW("a: !!set {b: c}\n", "run.yml:1: a: the tag !!set is not supported: remove it, and "
				     "write the value itself"),
	    ROW("a: !!str [b]\n", "run.yml:1: a: the tag !!str is not supported: remove it, and "
				  "write the value itself"),
	    ROW("a: !!null\n",
		"run.yml:1: a: the tag !!null is not supported: remove it, and write the value "
		"itself"),
	    ROW("a: !!int x\n", "run.yml:1: a: the tag !!int is not supported: remove it, and "
				"write the value itself"),
	    ROW("a: !!int 0x1f\n", "run.yml:1: a: the tag !!int is not supported: remove it, and "
				   "write the value itself"),
	    ROW("a: !!int\n", "run.yml:1: a: the tag !!int is not supported: remove it, and write "
			      "the value itself"),
	    ROW("a: !!float .inf\n",
		"run.yml:1: a: the tag !!float is not supported: remove it, and write the value "
		"itself"),
	    ROW("a: !!bool yes\n",
		"run.yml:1: a: the tag !!bool is not supported: remove it, and write the value "
		"itself"),
	    ROW("a: &x [*x]\n",
		"run.yml:1: aliases put more than 64 maps and lists inside each other"),
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, text) {
		struct failure f = {0};
		struct yaml_tree *t = (struct yaml_tree *)&f;

		assert_int_equal(decode_n(&t, rows[i].text, rows[i].n, &f), FAIL_CONFIG);
		assert_string_equal(f.text, rows[i].expected);
		assert_null(t);
	}
}

/* n times `open`, then n times `close`. */
static char *
nested(size_t n, char open, char close)
{
	char *text = malloc(2 * n + 1);

	memset(text, open, n);
	memset(text + n, close, n);
	text[2 * n] = '\0';
	return text;
}

static void
test_the_depth_is_bounded(void **unused)
{
	struct yaml_tree *t;
	struct failure f;
	char *text = nested(YAML_DEPTH_MAX, '[', ']');

	(void)unused;
	assert_int_equal(decode_n(&t, text, strlen(text), &f), FAIL_NONE);
	yaml_tree_close(t);
	free(text);
	text = nested(YAML_DEPTH_MAX + 1, '[', ']');
	assert_int_equal(decode_n(&t, text, strlen(text), &f), FAIL_CONFIG);
	assert_string_equal(f.text, "run.yml:1: more than 64 maps and lists inside each other");
	free(text);
}

/* `a` holds lists inside each other; `b` holds the same in one list more, and the root is a map. */
static void
test_the_depth_counts_through_aliases(void **unused)
{
	char text[512];

	(void)unused;
	for (int over = 0; over < 2; over++) {
		char *lists = nested((size_t)(YAML_DEPTH_MAX - 2 + over), '[', ']');
		struct yaml_tree *t;
		struct failure f;

		snprintf(text, sizeof(text), "a: &x %s\nb: [*x]\n", lists);
		free(lists);
		assert_int_equal(decode_n(&t, text, strlen(text), &f), over ? FAIL_CONFIG : 0);
		yaml_tree_close(t);
		if (over)
			assert_string_equal(f.text,
			    "run.yml:1: aliases put more than 64 maps and lists inside each other");
	}
}

/* A list of n - 1 values: n nodes. */
static char *
flat(size_t n)
{
	char *text = malloc(2 * n + 2);

	text[0] = '[';
	for (size_t i = 0; i < n - 1; i++)
		memcpy(text + 1 + 2 * i, "a,", 2);
	memcpy(text + 1 + 2 * (n - 1), "]", 2);
	return text;
}

static void
test_the_number_of_values_is_bounded(void **unused)
{
	struct yaml_tree *t;
	struct failure f;
	char *text = flat(YAML_NODES_MAX);

	(void)unused;
	assert_int_equal(decode_n(&t, text, strlen(text), &f), FAIL_NONE);
	assert_int_equal(yaml_tree_root(t)->children_n, YAML_NODES_MAX - 1);
	yaml_tree_close(t);
	free(text);
	text = flat(YAML_NODES_MAX + 1);
	assert_int_equal(decode_n(&t, text, strlen(text), &f), FAIL_CONFIG);
	assert_string_equal(f.text, "run.yml:1: more than 262144 keys and values in one file");
	free(text);
}

static void
test_a_bomb_of_aliases_is_refused_before_it_grows(void **unused)
{
	char text[1024] = "l0: &l0 [x, x, x, x, x, x, x, x, x, x]\n";
	struct yaml_tree *t;
	struct failure f;

	(void)unused;
	for (int i = 1; i < 10; i++) {
		size_t used = strlen(text);

		used += (size_t)snprintf(
		    text + used, sizeof(text) - used, "l%d: &l%d [*l%d", i, i, i - 1);
		for (int k = 1; k < 10; k++)
			used += (size_t)snprintf(text + used, sizeof(text) - used, ", *l%d", i - 1);
		snprintf(text + used, sizeof(text) - used, "]\n");
	}
	assert_int_equal(decode_n(&t, text, strlen(text), &f), FAIL_CONFIG);
	assert_non_null(strstr(f.text, ": aliases stand for more than 262144 values"));
}

enum { HOSTILE_SECONDS = 5 };

static double
seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void
test_hostile_files_end_soon(void **unused)
{
	static const char *const patterns[] = {"[", "{", "- ", "? ", "a: ", "&a ", "!", "\"", "a\n",
	    "- &a b\n", "[a, ", "'", "|\n", "{a: ", "%", "\\"};

	(void)unused;
	EACH_ROW(i, patterns) {
		size_t n = YAML_FILE_BYTES_MAX / 8, length = strlen(patterns[i]);
		char *text = malloc(n);
		double begun = seconds();
		struct yaml_tree *t;
		struct failure f;

		for (size_t k = 0; k < n; k++)
			text[k] = patterns[i][k % length];
		decode_n(&t, text, n, &f);
		yaml_tree_close(t);
		free(text);
		begun = seconds() - begun;
		if (begun > HOSTILE_SECONDS)
			print_error("%zu bytes of \"%s\" took %.1f s\n", n, patterns[i], begun);
		assert_true(begun <= HOSTILE_SECONDS);
	}
}

static void
test_the_size_of_a_file_is_bounded(void **unused)
{
	char *text = malloc(YAML_FILE_BYTES_MAX + 1);
	struct yaml_tree *t;
	struct failure f;

	(void)unused;
	memset(text, ' ', YAML_FILE_BYTES_MAX + 1);
	memcpy(text, "a: 1\n#", 6);
	folder_write("fits.yml", text, YAML_FILE_BYTES_MAX);
	assert_int_equal(yaml_tree_open(&t, folder_path("fits.yml"), &f), FAIL_NONE);
	yaml_tree_close(t);
	folder_write("over.yml", text, YAML_FILE_BYTES_MAX + 1);
	assert_int_equal(yaml_tree_open(&t, folder_path("over.yml"), &f), FAIL_CONFIG);
	assert_non_null(strstr(f.text, "over.yml: larger than 16777216 bytes"));
	free(text);
}

static void
test_what_cannot_be_read_is_said(void **unused)
{
	struct yaml_tree *t;
	struct failure f;

	(void)unused;
	assert_int_equal(yaml_tree_open(&t, folder, &f), FAIL_CONFIG);
	assert_non_null(strstr(f.text, "reading the configuration "));
	assert_non_null(strstr(f.text, ": Is a directory"));
	assert_int_equal(yaml_tree_open(&t, folder_path("none.yml"), &f), FAIL_CONFIG);
	assert_non_null(strstr(f.text, "opening the configuration "));
	assert_non_null(strstr(f.text, "none.yml: No such file or directory"));
}

static void
test_a_pipe_is_read_to_its_end(void **unused)
{
	int ends[2];
	char path[64];
	struct yaml_tree *t;
	struct failure f;

	(void)unused;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], "a: 1\n", 5), 5);
	close(ends[1]);
	snprintf(path, sizeof(path), "/dev/fd/%d", ends[0]);
	assert_int_equal(yaml_tree_open(&t, path, &f), FAIL_NONE);
	close(ends[0]);
	assert_string_equal(yaml_node_get(yaml_tree_root(t), "a")->text, "1");
	yaml_tree_close(t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_tree_has_kinds_texts_and_lines),
	    cmocka_unit_test(test_an_alias_is_the_node_it_names),
	    cmocka_unit_test(test_a_tag_that_says_what_the_value_is_changes_nothing),
	    cmocka_unit_test(test_every_error_names_file_and_line),
	    cmocka_unit_test(test_the_depth_is_bounded),
	    cmocka_unit_test(test_the_depth_counts_through_aliases),
	    cmocka_unit_test(test_the_number_of_values_is_bounded),
	    cmocka_unit_test(test_a_bomb_of_aliases_is_refused_before_it_grows),
	    cmocka_unit_test(test_hostile_files_end_soon),
	    cmocka_unit_test_setup_teardown(
		test_the_size_of_a_file_is_bounded, folder_open, folder_close),
	    cmocka_unit_test_setup_teardown(
		test_what_cannot_be_read_is_said, folder_open, folder_close),
	    cmocka_unit_test(test_a_pipe_is_read_to_its_end),
	};

	return cmocka_run_group_tests_name("yaml_tree", tests, NULL, NULL);
}
