/* source_check.h: what is said of inputs before anything is published. */
#include "producer/produce/source_check.h"

#include <unistd.h>

#include "tests/unit/capture.h"
#include "tests/unit/config_file.h"
#include "tests/unit/tiktoken_file.h"

/* Checks a configuration whose domains are these lines. */
static enum fail_code
check(const char *domains, char *const *named, size_t n)
{
	struct config *c = NULL;
	enum fail_code code;
	char *text;

	assert_true(asprintf(&text,
			"corpus: demo\ntokenizer: {file: %s, pattern: gpt2, eos: \"<end>\"}\n"
			"sequence_length: 8\ndomains:\n%s",
			tiktoken_path, domains) > 0);
	folder_text("run.yml", text);
	free(text);
	assert_int_equal(config_open(&c, folder_path("run.yml"), &f), FAIL_NONE);
	code = source_check(c, named, n, &f);
	config_close(c);
	return code;
}

static void
assert_says(enum fail_code code, enum fail_code expected, const char *says)
{
	assert_int_equal(code, says == NULL ? FAIL_NONE : expected);
	if (says != NULL)
		assert_non_null(strstr(f.text, says));
}

static void
test_fields_that_no_record_has_are_named_with_those_that_are_there(void **unused)
{
	static const struct {
		const char *keys, *file, *says; /* NULL: nothing is wrong */
		enum fail_code code;
	} rows[] = {
	    {"", "{\"text\": \"a\"}\n", NULL, 0},
	    {"", "{\"body\": \"a\", \"id\": 1}\n",
		":5: domains.web.text: no field `text` with a text in the first 1 record of ",
		FAIL_CONFIG},
	    {"", "{\"body\": \"a\", \"id\": 1}\n", "; the first has: body, id", FAIL_CONFIG},
	    {"", "{\"text\": 7}\n{\"text\": null}\n",
		"domains.web.text: field `text` holds a number, not a text, in the first 2 "
		"records of ",
		FAIL_CONFIG},
	    {"", "{\"text\": null}\n", "field `text` holds null, not a text, in the first 1 ",
		FAIL_CONFIG},
	    {"text: body, ", "{\"body\": \"a\"}\n", NULL, 0},
	    {"packing: none, prompt: q, response: a, ", "{\"q\": \"a\", \"a\": \"b\"}\n", NULL, 0},
	    {"packing: none, prompt: q, response: a, ", "{\"q\": \"a\"}\n",
		"domains.web.response: no field `a`", FAIL_CONFIG},
	    {"packing: none, prompt: q, response: a, ", "{\"a\": \"a\"}\n",
		"domains.web.prompt: no field `q`", FAIL_CONFIG},
	    {"where: {field: kind, equals: x}, ", "{\"kind\": \"x\", \"text\": \"a\"}\n", NULL, 0},
	    {"where: {field: kind, equals: x}, ", "{\"text\": \"a\"}\n",
		"domains.web.where.field: no field `kind` in the first 1 record of ", FAIL_CONFIG},
	    /* No record is this domain's, so none needs a text. */
	    {"where: {field: kind, equals: x}, ", "{\"kind\": \"y\"}\n", NULL, 0},
	    {"where: {field: kind, equals: x}, ", "{\"kind\": \"xx\"}\n", NULL, 0},
	    {"where: {field: kind, equals: xy}, ", "{\"kind\": \"x\"}\n", NULL, 0},
	    {"where: {field: kind, equals: x}, ", "{\"kind\": \"\"}\n", NULL, 0},
	    {"where: {field: kind, equals: x}, ",
		"{\"kind\": \"y\", \"text\": \"a\"}\n"
		"{\"kind\": \"x\"}\n",
		"domains.web.text: no field `text`", FAIL_CONFIG},
	    {"tokens: jsonl, ", "{\"tokens\": [1, 2]}\n", NULL, 0},
	    {"tokens: jsonl, ", "{\"tokens\": []}\n", NULL, 0},
	    {"tokens: jsonl, ", "{\"tokens\": [ \t7]}\n", NULL, 0},
	    {"tokens: jsonl, ", "{\"tokens\": [[1]]}\n",
		"domains.web.tokens: no field `tokens` with a list of ids", FAIL_CONFIG},
	    {"tokens: jsonl, ", "{\"tokens\": \"1\"}\n",
		"domains.web.tokens: no field `tokens` with a list of ids", FAIL_CONFIG},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, file) {
		char line[160];

		snprintf(line, sizeof(line), "  web: {%strain: a.jsonl}\n", rows[i].keys);
		folder_text("a.jsonl", rows[i].file);
		assert_says(check(line, NULL, 0), rows[i].code, rows[i].says);
	}
}

static void
test_files_whose_records_cannot_be_read_are_refused(void **unused)
{
	static const struct {
		const char *file, *says;
	} rows[] = {
	    {"nothing\n", "domains.web.train: none of the first 1 records of "},
	    {"nothing\nat all\n", "none of the first 2 records of "},
	    {"nothing\n{\"text\": \"a\"}\n",
		"1 of the first 2 records would be rejected, "}, /* one can */
	    /* An array or object that continues in the next lines. */
	    {"[\n{\"text\": \"a\"}\n]\n", "domains.web.train: the first record of "},
	    {"{\n\"text\": \"a\"\n}\n{\"text\": \"a\"}\n", "the first record of "},
	    {"[1]\n{\"text\": \"a\"}\n", "1 of the first 2 records would be rejected, "},
	    {"7\n{\"text\": \"a\"}\n", "1 of the first 2 records would be rejected, "},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, file) {
		folder_text("a.jsonl", rows[i].file);
		assert_says(check("  web: {train: a.jsonl}\n", NULL, 0), FAIL_DATA, rows[i].says);
	}
}

#define GOOD   "{\"text\": \"a\"}\n"
#define BAD    "{\"body\": \"a\"}\n"
#define GOOD_8 GOOD GOOD GOOD GOOD GOOD GOOD GOOD GOOD

static void
test_what_becomes_of_the_first_records_is_said(void **unused)
{
	static const struct {
		const char *where, *keys, *file, *says, *warns; /* NULL: nothing */
	} rows[] = {
	    {"", "", BAD GOOD GOOD_8, NULL,
		"CONFIG-REJECTS FILE:5: domains.web.train: 1 of the first 10 records "
		"would be rejected; the first is a.jsonl:1: no field `text`"},
	    {"", "", GOOD_8 BAD,
		":5: domains.web.train: 1 of the first 9 records would be rejected, "
		"more than max_rejects allows (10 %); the first is a.jsonl:9: no field `text`",
		NULL},
	    {"", "max_rejects: 0.5", BAD GOOD, NULL, "CONFIG-REJECTS "},
	    {"", "max_rejects: 0.4", BAD GOOD, "more than max_rejects allows (40 %)", NULL},
	    {"", "on_reject: stop", GOOD GOOD_8 BAD,
		"1 of the first 10 records would be rejected, which on_reject: stop "
		"does not allow; the first is a.jsonl:10: ",
		NULL},
	    {"", "", "{\"text\": \"\xe9t\xe9\"}\n", NULL,
		"CONFIG-ENCODING FILE:5: domains.web.train: 1 of the first 1 record is not "
		"UTF-8, as in a.jsonl, and bytes would become U+FFFD. If the text has "
		"another encoding, convert"},
	    {"", "utf8: strict", "{\"text\": \"\xe9t\xe9\"}\n",
		"1 of the first 1 record would be rejected, more than max_rejects "
		"allows (10 %); the first is a.jsonl:1: invalid UTF-8 at byte 0 of the text",
		NULL},
	    /* The records of the next file count, too. */
	    {", file_order: listed", "", BAD GOOD, "1 of the first 2 records would be", NULL},
	    {", b.jsonl], file_order: listed", "", BAD GOOD, NULL,
		"1 of the first 10 records would be rejected; the first is a.jsonl:1"},
	    {", where: {field: text, equals: b}", "", GOOD GOOD, NULL,
		"CONFIG-UNMATCHED FILE:5: domains.web.where.equals: none of the first 2 records "
		"has text = \"b\""},
	    {", where: {field: text, equals: a}", "", GOOD, NULL, NULL},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, file) {
		char lines[200], said[2048], *path;
		struct capture c;
		enum fail_code code;

		snprintf(lines, sizeof(lines), "  web: {train: %sa.jsonl%s}\n%s\n",
		    strchr(rows[i].where, ']') == NULL ? "" : "[", rows[i].where, rows[i].keys);
		folder_text("a.jsonl", rows[i].file);
		folder_text("b.jsonl", GOOD_8);
		capture_begin(&c);
		code = check(lines, NULL, 0);
		capture_end_lines(&c, said, sizeof(said));
		assert_says(code, FAIL_DATA, rows[i].says);
		if (rows[i].warns == NULL) {
			assert_string_equal(said, "");
			continue;
		}
		path = strstr(said, folder_path("run.yml"));
		assert_non_null(path);
		memmove(path + 4, path + strlen(folder_path("run.yml")),
		    strlen(path + strlen(folder_path("run.yml"))) + 1);
		memcpy(path, "FILE", 4);
		assert_non_null(strstr(said, rows[i].warns));
		/* Who reads the records next counts them all. */
		assert_int_equal(check(lines, (char *[]){(char *)"web"}, 1), FAIL_NONE);
	}
}

/* The first records alone: a field that comes later is not seen. */
static void
test_so_many_records_of_a_file_are_read(void **unused)
{
	static const char other[] = "{\"body\": \"a\"}\n", ours[] = "{\"text\": \"a\"}\n";
	char *text = malloc((SOURCE_CHECK_RECORDS + 1) * sizeof(other)), *at;

	(void)unused;
	for (int n = SOURCE_CHECK_RECORDS - 1; n <= SOURCE_CHECK_RECORDS; n++) {
		at = text;
		for (int i = 0; i < n; i++, at += sizeof(other) - 1)
			memcpy(at, other, sizeof(other) - 1);
		memcpy(at, ours, sizeof(ours));
		folder_text("a.jsonl", text);
		assert_says(check("  web: {train: a.jsonl}\n", NULL, 0),
		    n < SOURCE_CHECK_RECORDS ? FAIL_DATA : FAIL_CONFIG,
		    n < SOURCE_CHECK_RECORDS ? "99 of the first 100 records would be "
					     : "in the first 100 records of ");
	}
	free(text);
}

static void
test_a_file_of_two_inputs_is_refused_unless_where_deals_it_out(void **unused)
{
	static const struct {
		const char *domains, *says;
	} rows[] = {
	    {"  a: {train: a.jsonl}\n  b: {train: b.jsonl}\n", NULL},
	    {"  a: {train: a.jsonl}\n  b: {train: [a.jsonl, b.jsonl]}\n",
		":6: domains.b.train: a.jsonl is a file of domain a (train), too"},
	    {"  a: {train: a.jsonl}\n  b: {train: \"*.jsonl\"}\n",
		"domains.b.train: a.jsonl is a file of domain a (train), too"},
	    {"  a: {train: a.jsonl}\n  b: {train: link.jsonl}\n",
		"domains.b.train: link.jsonl is a file of domain a (train), too"},
	    {"  a: {train: [a.jsonl, link.jsonl]}\n",
		"domains.a.train: a.jsonl and link.jsonl are one file under two names"},
	    {"  a: {train: a.jsonl, valid: a.jsonl}\n",
		"domains.a.valid: a.jsonl is a file of train, too"},
	    {"  a: {train: b.jsonl, test: b.jsonl}\n",
		"domains.a.test: b.jsonl is a file of train, too"},
	    {"  a: {train: a.jsonl, valid: b.jsonl, test: b.jsonl}\n", NULL},
	    {"  a: {train: a.jsonl, valid: c.jsonl}\n  b: {train: b.jsonl, valid: c.jsonl}\n",
		NULL},
	    {"  a: {train: a.jsonl, valid: c.jsonl}\n  b: {train: [b.jsonl, c.jsonl]}\n",
		"domains.b.train: c.jsonl is a file of domain a (valid), too"},
	    {"  a: {train: a.jsonl, where: {field: text, equals: x}}\n"
	     "  b: {train: [a.jsonl, b.jsonl], where: {field: text, equals: y}}\n",
		NULL},
	    {"  a: {train: a.jsonl, where: {field: text, equals: x}}\n"
	     "  b: {train: [a.jsonl, b.jsonl], where: {field: text, equals: x}}\n",
		"a.jsonl is a file of domain a (train), too"},
	    {"  a: {train: a.jsonl, where: {field: text, equals: x}}\n"
	     "  b: {train: [a.jsonl, b.jsonl]}\n",
		"a.jsonl is a file of domain a (train), too"},
	    /* The third of them is another input's than the first. */
	    {"  a: {train: a.jsonl, where: {field: text, equals: x}}\n"
	     "  b: {train: [a.jsonl, b.jsonl], where: {field: text, equals: y}}\n"
	     "  c: {train: [a.jsonl, c.jsonl], where: {field: text, equals: y}}\n",
		"domains.c.train: a.jsonl is a file of domain b (train), too"},
	};

	(void)unused;
	folder_text("a.jsonl", "{\"text\": \"a\"}\n");
	folder_text("b.jsonl", "{\"text\": \"b\"}\n");
	folder_text("c.jsonl", "{\"text\": \"c\"}\n");
	assert_int_equal(link(folder_path("a.jsonl"), folder_path("link.jsonl")), 0);
	EACH_NAMED_ROW(i, rows, domains) {
		/* A pattern would meet the link. */
		if (strchr(rows[i].domains, '*') != NULL)
			unlink(folder_path("link.jsonl"));
		assert_says(check(rows[i].domains, NULL, 0), FAIL_CONFIG, rows[i].says);
		if (strchr(rows[i].domains, '*') != NULL)
			assert_int_equal(
			    link(folder_path("a.jsonl"), folder_path("link.jsonl")), 0);
	}
	unlink(folder_path("link.jsonl"));
}

static void
test_domains_that_are_named_are_checked_alone(void **unused)
{
	static const char domains[] = "  a: {train: a.jsonl}\n  b: {train: none.jsonl}\n"
				      "  c: {train: c.jsonl}\n";
	static const struct {
		char *name;
		const char *says;
		size_t n;
	} rows[] = {
	    {(char *)"b", "domains.b.train: ", 0}, /* none is named: all are checked */
	    {(char *)"a", NULL, 1},
	    {(char *)"b", "domains.b.train: ", 1},
	    {(char *)"c", NULL, 1},
	};

	(void)unused;
	folder_text("c.jsonl", "{\"text\": \"c\"}\n");
	folder_text("a.jsonl", "{\"text\": \"a\"}\n");
	EACH_NAMED_ROW(i, rows, says) {
		const enum fail_code code = check(domains, (char *[]){rows[i].name}, rows[i].n);

		assert_int_equal(code == FAIL_NONE, rows[i].says == NULL);
		if (rows[i].says != NULL)
			assert_non_null(strstr(f.text, rows[i].says));
	}
}

static void
test_a_list_out_of_order_that_must_keep_its_order_is_warned_of(void **unused)
{
	static const struct {
		const char *keys;
		bool warned;
	} rows[] = {
	    {"shuffle: none, train: [b.jsonl, a.jsonl]", true},
	    {"shuffle: none, train: [a.jsonl, b.jsonl]", false},
	    {"shuffle: none, file_order: listed, train: [b.jsonl, a.jsonl]", false},
	    {"train: [b.jsonl, a.jsonl]", false},
	    {"shuffle: full, train: [b.jsonl, a.jsonl]", false},
	};

	(void)unused;
	folder_text("a.jsonl", "{\"text\": \"a\"}\n");
	folder_text("b.jsonl", "{\"text\": \"b\"}\n");
	EACH_NAMED_ROW(i, rows, keys) {
		char line[128], text[1024];
		struct capture c;
		enum fail_code code;

		snprintf(line, sizeof(line), "  web: {%s}\n", rows[i].keys);
		capture_begin(&c);
		code = check(line, NULL, 0);
		capture_end_lines(&c, text, sizeof(text));
		assert_int_equal(code, FAIL_NONE);
		assert_int_equal(strstr(text, "CONFIG-FILE-ORDER") != NULL, rows[i].warned);
		if (rows[i].warned)
			assert_non_null(strstr(text, "b.jsonl is listed before a.jsonl"));
	}
}

static int
begin(void **state)
{
	static const char *const more[] = {"<end>", NULL};

	if (tiktoken_file_setup(state) != 0 || folder_open(state) != 0)
		return -1;
	tiktoken_file_of(more);
	return 0;
}

static int
end(void **state)
{
	return tiktoken_file_teardown(state) | folder_close(state);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_fields_that_no_record_has_are_named_with_those_that_are_there),
	    cmocka_unit_test(test_files_whose_records_cannot_be_read_are_refused),
	    cmocka_unit_test(test_what_becomes_of_the_first_records_is_said),
	    cmocka_unit_test(test_so_many_records_of_a_file_are_read),
	    cmocka_unit_test(test_a_file_of_two_inputs_is_refused_unless_where_deals_it_out),
	    cmocka_unit_test(test_domains_that_are_named_are_checked_alone),
	    cmocka_unit_test(test_a_list_out_of_order_that_must_keep_its_order_is_warned_of),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
