/* recipe.h: which keys define a domain's records, and how two recipes differ. */
#include "common/config/recipe.h"

#include "common/base/text.h"
#include "tests/unit/config_file.h"

static const uint64_t tokenizer = 0xabcdef;

/* The recipe of domain `code` of the base with a line replaced. */
static char *
recipe_with(size_t line, const char *text, const uint64_t *fingerprint)
{
	struct config *c;
	struct failure f;
	char *out;

	if (open_with(&c, line, text, &f) != FAIL_NONE)
		print_error("%s: %s\n", text, f.text);
	assert_int_equal(
	    recipe_text(&out, c, &c->domains[config_domain_index(c, "code")], fingerprint, &f),
	    FAIL_NONE);
	config_close(c);
	return out;
}

static struct recipe_differences
compare(const char *logged, const char *present)
{
	struct recipe_differences d;
	struct failure f;

	assert_int_equal(recipe_compare(&d, logged, strlen(logged), present, &f), FAIL_NONE);
	return d;
}

static void
a_recipe_has_what_defines_the_records(void **state)
{
	char *r = recipe_with(0, "", &tokenizer);

	(void)state;
	assert_string_equal(r,
	    "{\"max_document_bytes\":\"64MiB\",\"packing\":\"concat\",\"sequence_length\":\"8\","
	    "\"split\":\"1,0,0\",\"text\":\"text\",\"tokenizer\":\"0000000000abcdef\","
	    "\"tokenizer.add_special\":\"false\",\"tokenizer.eos\":\"<|endoftext|>\","
	    "\"tokenizer.special_as_text\":\"false\",\"tokens\":\"none\","
	    "\"train\":[\"b.jsonl\",\"a.jsonl\"],\"utf8\":\"replace\"}");
	free(r);
}

/* A line of the base, and what it makes different: of the kind of records, or of their source. */
static const struct {
	size_t line;
	const char *text, *kind, *source;
} changes[] = {
    {3, "sequence_length: 16", "sequence_length: \"8\" in the log, \"16\" in the file", ""},
    {3, "sequence_length: 8\nsplit: 98,1,1", "split: \"1,0,0\" in the log, \"98,1,1\" in the file",
	""},
    {3, "sequence_length: 8\nsplit: 98,1,1\nsplit_unit: tokens",
	"split: \"1,0,0\" in the log, \"98,1,1\" in the file; split_unit: nothing in the log, "
	"\"tokens\" in the file",
	""},
    {3, "sequence_length: 8\nutf8: strict", "utf8: \"replace\" in the log, \"strict\" in the file",
	""},
    {3, "sequence_length: 8\nmax_document_bytes: 1MB",
	"max_document_bytes: \"64MiB\" in the log, \"1MB\" in the file", ""},
    {3, "sequence_length: 8\nmax_document_bytes: 67108864", "", ""},
    {2, "tokenizer: {file: other.tiktoken, pattern: gpt2, eos: \"</s>\"}",
	"tokenizer.eos: \"<|endoftext|>\" in the log, \"</s>\" in the file", ""},
    {2, "tokenizer: {file: v.tiktoken, pattern: gpt2, special_as_text: true}",
	"tokenizer.special_as_text: \"false\" in the log, \"true\" in the file", ""},
    {2, "tokenizer: {file: v.tiktoken, pattern: gpt2, add_special: true}",
	"tokenizer.add_special: \"false\" in the log, \"true\" in the file", ""},
    {8, "    train: [b.jsonl, a.jsonl, c.jsonl]", "",
	"train: [\"b.jsonl\",\"a.jsonl\"] in the log, [\"b.jsonl\",\"a.jsonl\",\"c.jsonl\"] in the "
	"file"},
    {8, "    train: [b.jsonl, a.jsonl]\n    text: body",
	"text: \"text\" in the log, \"body\" in the file", ""},
    {8, "    train: [b.jsonl, a.jsonl]\n    where: {field: lang, equals: c}",
	"where.equals: nothing in the log, \"c\" in the file; where.field: nothing in the log, "
	"\"lang\" in the file",
	""},
    {8, "    train: [b.jsonl, a.jsonl]\n    packing: none\n    over_long: reject\n    keep: [id]",
	"packing: \"concat\" in the log, \"none\" in the file; keep: nothing in the log, [\"id\"] "
	"in "
	"the file; over_long: nothing in the log, \"reject\" in the file",
	""},
    {8, "    train: [b.jsonl, a.jsonl]\n    file_order: listed",
	"file_order: nothing in the log, \"listed\" in the file", ""},
    {8, "    train: [b.jsonl, a.jsonl]\n    file_order: name", "", ""},
    /* What changes nothing: who mixes, how topics are kept, a key that has no effect. */
    {8, "    train: [b.jsonl, a.jsonl]\n    on_end: stop", "", ""},
    {3, "sequence_length: 8\non_reject: stop", "", ""},
    {11, "  global_batch: 32", "", ""},
};

static void
each_change_is_named(void **state)
{
	char *logged = recipe_with(0, "", &tokenizer);

	(void)state;
	EACH_NAMED_ROW(i, changes, text) {
		char *present = recipe_with(changes[i].line, changes[i].text, &tokenizer);
		struct recipe_differences d = compare(logged, present);

		assert_string_equal(d.kind, changes[i].kind);
		assert_string_equal(d.source, changes[i].source);
		free(present);
	}
	free(logged);
}

/* Keys that decide nothing about the records are no part of the recipe. */
static void
a_key_counts_only_where_it_has_an_effect(void **state)
{
#define SPECIALS "\"tokenizer.add_special\"", "\"tokenizer.special_as_text\""
	static const struct {
		const char *text, *absent[6], *there[6];
	} rows[] = {
	    {"    train: x",
		{"\"token_bytes\"", "\"over_long\"", "\"file_order\"", "\"no_target\"",
		    "\"split_unit\"", "\"split_piece\""},
		{"\"text\"", "\"utf8\"", "\"split\"", SPECIALS}},
	    {"    train: x\n    tokens: jsonl", {"\"text\"", "\"token_bytes\"", SPECIALS},
		{"\"utf8\"", "\"split\""}},
	    {"    train: x\n    tokens: npy\n    token_bytes: 2",
		{"\"text\"", "\"utf8\"", SPECIALS}, {"\"token_bytes\"", "\"split\""}},
	    {"    train: x\n    packing: none\n    prompt: p\n    response: r\n    no_target: skip",
		{"\"text\""},
		{"\"prompt\"", "\"response\"", "\"over_long\"", "\"no_target\"", SPECIALS}},
	    {"    train: x\n    packing: none\n    prompt: p", {"\"text\"", "\"response\""},
		{"\"prompt\"", SPECIALS}},
	    {"    train: x\n    valid: v", {"\"split\""}, {"\"valid\"", "\"text\""}},
	};

	(void)state;
	EACH_NAMED_ROW(i, rows, text) {
		char *recipe = recipe_with(8, rows[i].text, &tokenizer);

		for (size_t k = 0; k < 6 && rows[i].absent[k] != NULL; k++)
			assert_null(strstr(recipe, rows[i].absent[k]));
		for (size_t k = 0; k < 6 && rows[i].there[k] != NULL; k++)
			assert_non_null(strstr(recipe, rows[i].there[k]));
		free(recipe);
	}
}

static void
a_recipe_of_the_greatest_length_still_names_its_files(void **state)
{
	char *recipe = recipe_with(8, "    train: x", &tokenizer), *line;
	size_t n = RECIPE_BYTES_MAX - strlen(recipe) + 1;

	(void)state;
	free(recipe);
	line = malloc(n + 32);
	assert_non_null(line);
	for (size_t more = 0; more < 2; more++) {
		memcpy(line, "    train: ", 11);
		memset(line + 11, 'x', n + more);
		line[11 + n + more] = '\0';
		recipe = recipe_with(8, line, &tokenizer);
		assert_int_equal(strstr(recipe, "\"train\":[\"xxx") != NULL, more == 0);
		assert_int_equal(strstr(recipe, "\"train\":\"hash ") != NULL, more == 1);
		assert_int_equal(strlen(recipe) == RECIPE_BYTES_MAX, more == 0);
		free(recipe);
	}
	free(line);
}

static void
a_split_does_not_count_where_there_are_files_for_validation(void **state)
{
	char *logged = recipe_with(8, "    train: a\n    valid: v", &tokenizer);
	char *present = recipe_with(8, "    train: a\n    valid: v\nsplit: 8,1,1", &tokenizer);
	struct recipe_differences d = compare(logged, present);

	(void)state;
	assert_string_equal(d.kind, "");
	free(present);
	/* Without them it counts: their documents would be dealt again. */
	present = recipe_with(8, "    train: a\nsplit: 8,1,1", &tokenizer);
	d = compare(logged, present);
	assert_string_equal(
	    d.kind, "valid: [\"v\"] in the log, nothing in the file, where split counts again");
	assert_string_equal(d.source, "valid: [\"v\"] in the log, nothing in the file");
	/* And who adds such files has changed them, not the split. */
	d = compare(present, logged);
	assert_string_equal(d.kind,
	    "valid: nothing in the log, [\"v\"] in the file, which take the place of split");
	free(logged);
	/* So has who adds a program for the test set. */
	logged = recipe_with(8, "    train: a\n    test: {exec: cat hunter2}", &tokenizer);
	assert_null(strstr(logged, "hunter2"));
	d = compare(present, logged);
	assert_non_null(strstr(d.kind, "test.exec: nothing in the log, \"hash "));
	assert_non_null(strstr(d.kind, "in the file, which take the place of split"));
	free(present);
	/* Another program is another source, as of train. */
	present = recipe_with(8, "    train: a\n    test: {exec: cat others}", &tokenizer);
	d = compare(logged, present);
	assert_string_equal(d.kind, "");
	assert_non_null(strstr(d.source, "test.exec: \"hash "));
	free(present);
	free(logged);
}

static void
the_unit_of_a_split_counts_with_the_split(void **state)
{
	static const char tokens[] = "sequence_length: 8\nsplit: 8,1,1\nsplit_unit: tokens";
	char *logged = recipe_with(3, tokens, &tokenizer);
	char *present = recipe_with(
	    3, "sequence_length: 8\nsplit: 8,1,1\nsplit_unit: tokens\nsplit_piece: 9", &tokenizer);
	struct recipe_differences d = compare(logged, present);

	(void)state;
	assert_string_equal(d.kind, "split_piece: \"4096\" in the log, \"9\" in the file");
	free(present);
	present = recipe_with(3, "sequence_length: 8\nsplit: 8,1,1", &tokenizer);
	d = compare(logged, present);
	assert_string_equal(d.kind, "split_unit: \"tokens\" in the log, nothing in the file");
	free(present);
	/* Files for validation take the place of the split, with its unit. */
	present = recipe_with(8, "    train: [b.jsonl, a.jsonl]\n    valid: v", &tokenizer);
	d = compare(logged, present);
	assert_string_equal(d.kind,
	    "valid: nothing in the log, [\"v\"] in the file, which take the place of split");
	free(present);
	free(logged);
}

static void
a_tokenizer_counts_where_both_know_it(void **state)
{
	const uint64_t other = 1;
	char *one = recipe_with(0, "", &tokenizer), *two = recipe_with(0, "", &other),
	     *unknown = recipe_with(0, "", NULL);
	struct recipe_differences d = compare(one, two);

	(void)state;
	assert_string_equal(
	    d.kind, "tokenizer: \"0000000000abcdef\" in the log, \"0000000000000001\" in the file");
	d = compare(one, unknown);
	assert_string_equal(d.kind, "");
	free(one);
	free(two);
	free(unknown);
}

/* The text of a command may hold a token of somebody's account. */
static void
a_command_is_not_in_it(void **state)
{
	char *one = recipe_with(8, "    exec: fetch --token=hunter2", &tokenizer);
	char *two = recipe_with(8, "    exec: fetch --token=hunter3", &tokenizer);
	struct recipe_differences d = compare(one, two);

	(void)state;
	assert_null(strstr(one, "hunter2"));
	assert_non_null(strstr(d.source, "exec: \"hash "));
	free(one);
	free(two);
}

/* The recipe where `train` has 4,000 files, and one more. */
static char *
recipe_of_many(const char *more)
{
	struct text line = {0};
	char *text, *recipe;

	text_add(&line, "    train: [");
	for (int i = 0; i < 4000; i++)
		text_add(&line, "f%06d.jsonl,", i);
	text_add(&line, "%s]", more);
	text = text_take(&line);
	assert_non_null(text);
	recipe = recipe_with(8, text, &tokenizer);
	free(text);
	return recipe;
}

static void
long_lists_are_hashed(void **state)
{
	char *one = recipe_of_many("x"), *two = recipe_of_many("x, new");
	struct recipe_differences d = compare(one, two);

	(void)state;
	assert_true(strlen(one) < RECIPE_BYTES_MAX);
	assert_string_equal(d.kind, "");
	assert_non_null(strstr(d.source, "train: \"hash "));
	assert_non_null(strstr(d.source, "in the log, \"hash "));
	free(one);
	free(two);
}

/* A release to come may add keys, and one before may lack some: their defaults count. */
static void
a_key_that_one_side_lacks_has_its_default(void **state)
{
	struct recipe_differences d =
	    compare("{\"a\":\"1\"}", "{\"a\":\"1\",\"utf8\":\"replace\",\"text\":\"body\"}");

	(void)state;
	assert_string_equal(d.kind, "text: nothing in the log, \"body\" in the file");
	d = compare("{\"to_come\":\"x\",\"utf8\":\"replace\"}", "{}");
	assert_string_equal(d.kind, "to_come: \"x\" in the log, nothing in the file");
}

/* "": the file does not have the key, or has auto. */
static void
a_log_keeps_its_rule_for_documents_without_a_target(void **state)
{
	static const struct {
		const char *logged, *present, *kind;
		enum config_no_target rule;
	} cases[] = {
	    {"{}", "", "", CONFIG_NO_TARGET_KEEP},
	    {"{}", "\n    no_target: auto", "", CONFIG_NO_TARGET_KEEP},
	    {"{}", "\n    no_target: keep", "", CONFIG_NO_TARGET_KEEP},
	    {"{}", "\n    no_target: skip", "no_target: nothing in the log, \"skip\" in the file",
		CONFIG_NO_TARGET_KEEP},
	    {"{\"no_target\":\"skip\"}", "", "", CONFIG_NO_TARGET_SKIP},
	    {"{\"no_target\":\"skip\"}", "\n    no_target: skip", "", CONFIG_NO_TARGET_SKIP},
	    {"{\"no_target\":\"skip\"}", "\n    no_target: keep",
		"no_target: \"skip\" in the log, \"keep\" in the file", CONFIG_NO_TARGET_SKIP},
	    {"{\"no_target\":\"to come\"}", "",
		"no_target: \"to come\" in the log, nothing in the file", CONFIG_NO_TARGET_KEEP},
	    {"{\"no_target\":1}", "\n    no_target: keep",
		"no_target: 1 in the log, \"keep\" in the file", CONFIG_NO_TARGET_KEEP},
	};

	(void)state;
	EACH_NAMED_ROW(i, cases, logged) {
		char text[100], *present;
		struct recipe_differences d;
		const char *found;

		snprintf(text, sizeof(text), "    train: a%s", cases[i].present);
		present = recipe_with(8, text, &tokenizer);
		d = compare(cases[i].logged, present);
		found = strstr(d.kind, "no_target");
		assert_int_equal(found != NULL, cases[i].kind[0] != '\0');
		if (found != NULL)
			assert_int_equal(strncmp(found, cases[i].kind, strlen(cases[i].kind)), 0);
		assert_int_equal(d.no_target, cases[i].rule);
		free(present);
	}
}

static void
what_is_no_recipe_is_refused(void **state)
{
	static const char *const bad[] = {"", "[]", "\"x\"", "{", "{}x", "{\"a\":\"\xff\"}"};

	(void)state;
	EACH_ROW(i, bad) {
		struct recipe_differences d;
		struct failure f;

		assert_int_equal(recipe_compare(&d, bad[i], strlen(bad[i]), "{}", &f), FAIL_DATA);
		assert_non_null(strstr(f.text, "riffle.recipe"));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_recipe_has_what_defines_the_records),
	    cmocka_unit_test(each_change_is_named),
	    cmocka_unit_test(a_key_counts_only_where_it_has_an_effect),
	    cmocka_unit_test(a_recipe_of_the_greatest_length_still_names_its_files),
	    cmocka_unit_test(a_split_does_not_count_where_there_are_files_for_validation),
	    cmocka_unit_test(the_unit_of_a_split_counts_with_the_split),
	    cmocka_unit_test(a_tokenizer_counts_where_both_know_it),
	    cmocka_unit_test(a_command_is_not_in_it),
	    cmocka_unit_test(long_lists_are_hashed),
	    cmocka_unit_test(a_key_that_one_side_lacks_has_its_default),
	    cmocka_unit_test(a_log_keeps_its_rule_for_documents_without_a_target),
	    cmocka_unit_test(what_is_no_recipe_is_refused),
	};

	return cmocka_run_group_tests(tests, folder_open, folder_close);
}
