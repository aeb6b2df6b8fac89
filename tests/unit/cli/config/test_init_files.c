/*
 * init_files.h, init_field.h and init_print.h: folders of files become domains, and domains a
 * configuration. Each test makes its files below a folder of its own, in which it runs.
 */
#include "cli/config/init_files.h"

#include "cli/config/init_print.h"
#include "common/base/log.h"
#include "tests/unit/capture.h"
#include "tests/unit/folder.h"
#include "tests/unit/printed.h"
#include "tests/unit/tiktoken_file.h"

#define TEXT "{\"text\": \"some\"}\n"

static struct failure f;

static int
enter_folder(void **state)
{
	if (folder_open(state) != 0)
		return -1;
	log_set_level(LOG_ERROR);
	unsetenv("RIFFLE_BOOTSTRAP");
	return chdir(folder);
}

static int
leave_folder(void **state)
{
	return chdir("/") != 0 || folder_close(state) != 0;
}

/* Writes a file, and the folders that its name needs. */
static void
put(const char *name, const char *text)
{
	char path[256];

	snprintf(path, sizeof(path), "%s", name);
	for (char *slash = path; (slash = strchr(slash, '/')) != NULL; *slash++ = '/') {
		*slash = '\0';
		if (access(folder_path(path), F_OK) != 0)
			folder_make(path);
	}
	folder_text(name, text);
}

/*
 * "NAME: " and each file of the domain, in its order; "+" in front of one for `valid`, "*" for
 * `test`.
 */
static void
describe(FILE *to, const struct init_files *l)
{
	for (size_t d = 0; d < l->domains_n; d++) {
		fprintf(to, "%s%s:", d == 0 ? "" : "; ", l->domain[d].name);
		for (size_t i = 0; i < l->n; i++)
			if (init_files_taken(&l->file[i]) && l->file[i].domain == d)
				fprintf(to, " %s%s", (const char *[]){"", "+", "*"}[l->file[i].set],
				    l->file[i].path + 2);
	}
}

/* ---- which files are which domains ---- */

enum { FILES_MAX = 8 };

static void
test_files_become_domains_by_folder_kind_and_field(void **unused)
{
	static const struct {
		const char *domains;
		const char *file[FILES_MAX]; /* in the folder "d", with one record */
	} rows[] = {
	    {"", {"a.md"}},
	    {"d: a.jsonl", {"a.jsonl"}},
	    {"d: a.jsonl b.ndjson c.json", {"c.json", "a.jsonl", "b.ndjson"}},
	    {"d: a.jsonl; code: code/a.jsonl; web: web/a.jsonl",
		{"code/a.jsonl", "a.jsonl", "web/a.jsonl"}},
	    {"web: web/deep/er/a.jsonl web/z.jsonl", {"web/z.jsonl", "web/deep/er/a.jsonl"}},
	    /* The larger group gets the folder's name, the smaller one also its kind's. */
	    {"d-text: a.jsonl; d: b.txt c.txt", {"a.jsonl", "b.txt", "c.txt"}},
	    {"d: a.jsonl; d-txt: b.txt", {"a.jsonl", "b.txt"}},
	    /* Sets in one folder are one domain. */
	    {"d: train/a.jsonl +valid/b.jsonl", {"train/a.jsonl", "valid/b.jsonl"}},
	    {"d: +Dev/b.jsonl TRAIN/a.jsonl *test/c.jsonl",
		{"TRAIN/a.jsonl", "Dev/b.jsonl", "test/c.jsonl"}},
	    {"other: other/a.jsonl; train: train/a.jsonl; valid: valid/b.jsonl",
		{"train/a.jsonl", "valid/b.jsonl", "other/a.jsonl"}},
	    {"trains: trains/a.jsonl; valid: valid/b.jsonl", {"trains/a.jsonl", "valid/b.jsonl"}},
	    {"tests: tests/a.jsonl; valid: valid/b.jsonl", {"tests/a.jsonl", "valid/b.jsonl"}},
	    /* A word between separators holds a file out, but not all files of a domain. */
	    {"d: a.jsonl +b-val.jsonl +dev.jsonl +x_validation_2.jsonl",
		{"a.jsonl", "b-val.jsonl", "dev.jsonl", "x_validation_2.jsonl"}},
	    {"d: device.jsonl evaluate.jsonl", {"device.jsonl", "evaluate.jsonl"}},
	    {"d: a.dev.jsonl b.val.jsonl", {"a.dev.jsonl", "b.val.jsonl"}},
	    {"d: a.dev.jsonl b.test.jsonl", {"a.dev.jsonl", "b.test.jsonl"}},
	    {"d: a.jsonl *b-test-dev.jsonl +c.dev.test.jsonl",
		{"a.jsonl", "b-test-dev.jsonl", "c.dev.test.jsonl"}},
	    /* Hidden ones are not looked at. */
	    {"d: a.jsonl", {"a.jsonl", ".git/b.jsonl", ".c.jsonl"}},
	    /* Names that a topic's cannot have, or that are taken. */
	    {"arrivals-text: arrivals/x.jsonl; rejects-text: rejects/x.jsonl",
		{"arrivals/x.jsonl", "rejects/x.jsonl"}},
	    {"a-b: a b/x.jsonl; a-b-text: a+b/x.jsonl; a-b-2: a,b/x.jsonl; a-b-3: a-b/x.jsonl",
		{"a b/x.jsonl", "a+b/x.jsonl", "a,b/x.jsonl", "a-b/x.jsonl"}},
	    {"w.valid-text: w.valid/x.jsonl; y.test-text: y.test/x.jsonl",
		{"w.valid/x.jsonl", "y.test/x.jsonl"}},
	};
	char *const root = (char[]){"d"};

	(void)unused;
	EACH_NAMED_ROW(i, rows, domains) {
		struct init_files l;
		struct printed p;

		assert_int_equal(mkdir("d", 0755), 0);
		for (size_t k = 0; k < FILES_MAX && rows[i].file[k] != NULL; k++) {
			char name[128];

			snprintf(name, sizeof(name), "d/%s", rows[i].file[k]);
			put(name, TEXT);
		}
		assert_int_equal(init_files_open(&l, &root, 1, &f), FAIL_NONE);
		describe(printed_begin(&p), &l);
		init_files_close(&l);
		printed_is(&p, rows[i].domains);
		assert_int_equal(nftw("d", folder_remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
	}
}

/* ---- which files are not taken ---- */

static void
test_each_file_that_is_not_taken_says_why(void **unused)
{
	static const unsigned char npy[] = "\x93NUMPY\1", u16[] = {0x88, 0xD8, 0x34, 0x01},
				   u32[] = {0xA1, 0xD9, 0x34, 0x01};
	char *const root = (char[]){"d/"};
	struct init_files l;
	struct printed p;
	FILE *to;

	(void)unused;
	put("d/.keep", "");
	put("d/empty.jsonl", "");
	put("d/a.parquet", "x");
	put("d/b.arrow", "x");
	put("d/c.xyz", "x");
	put("d/tokenizer.json", "{}");
	put("d/my-tokenizer.json", TEXT);
	put("d/v.tiktoken", "x");
	put("d/mega.bin", "x");
	put("d/mega.idx", "x");
	put("d/lone.bin", "xxxxx");
	put("d/short.bin", "x");
	put("d/data.ds", "x");
	put("d/data.ds.index", "x");
	put("d/data.ds.metadata", "x");
	put("d/bare.ds", "x");
	put("d/raw.npy", "xxxxxxxxx");
	put("d/ids.jsonl", "{\"tokens\": [1, 2]}\n");
	put("d/bad\xff.jsonl", TEXT);
	folder_write("d/good.npy", npy, 7);
	folder_write("d/llmc16.bin", u16, 4);
	folder_write("d/llmc32.bin", u32, 4);
	assert_int_equal(symlink("nowhere", "d/link.jsonl"), 0);
	assert_int_equal(symlink(".", "d/link"), 0);
	assert_int_equal(init_files_open(&l, &root, 1, &f), FAIL_NONE);
	to = printed_begin(&p);
	for (size_t i = 0; i < l.n; i++) {
		const struct init_file *x = &l.file[i];

		fprintf(to, "%s: %s%s%s%s\n", x->path + 2, x->tokenizer ? "(tokenizer) " : "",
		    x->side                          ? "(side) "
		    : x->tokens != TOKEN_FORMAT_NONE ? token_format_names[x->tokens]
						     : "",
		    x->why != NULL && x->tokens != TOKEN_FORMAT_NONE ? ", " : "",
		    x->why == NULL ? "" : x->why);
	}
	init_files_close(&l);
	printed_is(&p,
	    "a.parquet: Parquet: `exec: riffle-source FILE` reads it\n"
	    "b.arrow: Arrow: `exec: riffle-source FILE` reads it\n"
	    "bad\xff.jsonl: its name is not UTF-8\n"
	    "bare.ds: ds, no .ds.metadata beside it: a domain with `tokens: ds` needs "
	    "`token_bytes`\n"
	    "c.xyz: riffle does not know the ending of its name\n"
	    "data.ds: ds\n"
	    "data.ds.index: (side) \n"
	    "data.ds.metadata: (side) \n"
	    "empty.jsonl: it is empty\n"
	    "good.npy: npy\n"
	    "ids.jsonl: jsonl\n"
	    "link: links to folders are not entered\n"
	    "link.jsonl: not a regular file\n"
	    "llmc16.bin: llmc\n"
	    "llmc32.bin: llmc\n"
	    "lone.bin: megatron, neither Megatron's, which has an .idx beside it, nor llm.c's\n"
	    "mega.bin: megatron\n"
	    "mega.idx: (side) \n"
	    "my-tokenizer.json: \n"
	    "raw.npy: npy, tokens without a header: a domain with `tokens: npy` needs "
	    "`token_bytes`\n"
	    "short.bin: megatron, neither Megatron's, which has an .idx beside it, nor llm.c's\n"
	    "tokenizer.json: (tokenizer) a tokenizer\n"
	    "v.tiktoken: (tokenizer) a tokenizer\n");
}

static void
test_a_folder_of_a_domain_says_what_of_it_is_not_read(void **unused)
{
	static const struct {
		const char *path, *why; /* NULL: it belongs to another file */
	} rows[] = {
	    {"d/a.jsonl", "domains_from takes .jsonl, .json and .txt, plain, .gz or .zst"},
	    {"d/empty.txt", "it is empty"},
	    {"d/a.parquet", "Parquet: `exec: riffle-source FILE` reads it"},
	    {"d/m.bin", "tokens: a domain with `tokens` and `train` reads it"},
	    {"d/lone.bin", "neither Megatron's, which has an .idx beside it, nor llm.c's"},
	    {"d/m.idx", NULL},
	    {"d/sub", "folders in the folder of a domain are not entered"},
	    {"d/missing.jsonl", "not a regular file"},
	    {"d/x", "riffle does not know the ending of its name"},
	};

	(void)unused;
	put("d/a.jsonl", TEXT);
	put("d/empty.txt", "");
	put("d/a.parquet", "x");
	put("d/m.bin", "x");
	put("d/m.idx", "x");
	put("d/lone.bin", "x");
	put("d/x", "x");
	put("d/sub/.keep", "");
	EACH_NAMED_ROW(i, rows, path) {
		char *why = init_files_why(rows[i].path);

		if (rows[i].why == NULL)
			assert_null(why);
		else
			assert_string_equal(why, rows[i].why);
		free(why);
	}
}

static void
test_a_name_keeps_what_a_topic_may_have(void **unused)
{
	static const struct {
		const char *name, *out;
	} rows[] = {
	    {"web", "web"},
	    {"A9z.b_c-d", "A9z.b_c-d"},
	    {"a b", "a-b"},
	    {"a  +b", "a-b"},
	    {"a-+b", "a-b"},
	    {"a._-", "a"},
	    {"a+", "a"},
	    {"a", "a"},
	    {"._-a", "a"},
	    {"+a", "a"},
	    {"\xc3\xa9t\xc3\xa9", "t"},
	    {"", "data"},
	    {"...", "data"},
	    {"+", "data"},
	};
	char out[NAME_MAX_BYTES + 1], longest[NAME_MAX_BYTES + 2];

	(void)unused;
	EACH_NAMED_ROW(i, rows, name) {
		init_files_name(out, rows[i].name);
		assert_string_equal(out, rows[i].out);
	}
	memset(longest, 'x', sizeof(longest));
	longest[NAME_MAX_BYTES + 1] = '\0';
	init_files_name(out, longest);
	assert_int_equal(strlen(out), NAME_MAX_BYTES - 16); /* room for an addition */
}

static void
test_the_last_part_of_a_path_names_what_it_leads_to(void **unused)
{
	static const struct {
		const char *path, *out;
	} rows[] = {
	    {"d/web", "web"},
	    {"d/web/", "web"},
	    {"d/web/.", "web"},
	    {"d/web/..", "d"},
	    {"missing/a b//", "a-b"},
	    {"/", "data"},
	};
	char out[NAME_MAX_BYTES + 1], here[NAME_MAX_BYTES + 1];

	(void)unused;
	put("d/web/.keep", "");
	EACH_NAMED_ROW(i, rows, path) {
		init_files_last(out, rows[i].path);
		assert_string_equal(out, rows[i].out);
	}
	init_files_last(out, ".");
	init_files_name(here, strrchr(folder, '/') + 1);
	assert_string_equal(out, here);
}

/* ---- which field holds the text ---- */

static void
test_the_field_with_the_text_is_found_in_the_records(void **unused)
{
	static const struct {
		const char *records, *path, *rival, *why;
		size_t n;
		uint64_t bytes;
		bool tokens;
	} rows[] = {
	    {"{\"text\": \"abc\"}\n", "text", "", "", 1, 3, false},
	    {"{\"text\": \"abc\"}\n{\"text\": \"de\"}", "text", "", "", 2, 5, false},
	    /* "text" counts before a longer one, which is then a rival. */
	    {"{\"body\": \"abcdef\", \"text\": \"a\"}\n", "text", "body", "", 1, 1, false},
	    {"{\"text\": \"\", \"body\": \"ab\"}\n", "body", "", "", 1, 2, false},
	    /* A rival has half as many bytes. */
	    {"{\"a\": \"1234\", \"b\": \"12\"}\n", "a", "b", "", 1, 4, false},
	    {"{\"a\": \"1234\", \"b\": \"1\"}\n", "a", "", "", 1, 4, false},
	    {"{\"a\": \"12\", \"b\": \"12\"}\n", "a", "b", "", 1, 2, false}, /* the first */
	    {"{\"m\": {\"n\": {\"o\": {\"p\": \"ab\"}}}}\n", "m.n.o.p", "", "", 1, 2, false},
	    {"{\"m\": {\"n\": {\"o\": {\"p\": {\"q\": \"ab\"}}}}}\n", "", "",
		"no field holds a text in its first 1 records; the first has: m", 1, 0, false},
	    {"{\"a.b\": \"x\", \"\": \"x\", \"c\": 1}\n", "", "",
		"no field holds a text in its first 1 records; the first has: a.b, , c", 1, 0,
		false},
	    {"{}\n", "", "", "no field holds a text in its first 1 records; the first has: ", 1, 0,
		false},
	    {"{\"tokens\": [1]}\n", "", "", "", 1, 0, true},
	    {"{\"tokens\": [1], \"text\": \"x\"}\n", "", "", "", 1, 0, true},
	    {"{\"tokens\": []}\n", "", "",
		"no field holds a text in its first 1 records; the first has: tokens", 1, 0, false},
	    {"[1]\n{\"text\": \"ab\"}\n", "text", "", "", 1, 2, false},
	    {"\n", "", "", "it has no record", 0, 0, false},
	    {"1\n2\n", "", "", "none of its first 2 records is read: '[' or '{' expected near '1'",
		0, 0, false},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, records) {
		struct init_field x;

		folder_text("a.jsonl", rows[i].records);
		assert_int_equal(init_field_find(&x, "a.jsonl", &f), FAIL_NONE);
		assert_string_equal(x.why, rows[i].why);
		assert_string_equal(x.path, rows[i].path);
		assert_string_equal(x.rival, rows[i].rival);
		assert_int_equal(x.records, rows[i].n);
		assert_int_equal(x.bytes, rows[i].bytes);
		assert_int_equal(x.tokens, rows[i].tokens);
	}
}

/* A field is common if nine of ten records have it. Records after the 100th do not count. */
static void
test_nine_of_ten_of_the_first_hundred_records_decide(void **unused)
{
	static const struct {
		size_t with, without; /* records with a text, then some with another field */
		const char *path;
		size_t records;
	} rows[] = {
	    {9, 1, "text", 10}, {8, 1, "", 9}, {90, 10, "text", 100}, {89, 11, "", 100},
	    {100, 100, "text", 100}, /* the others are not looked at */
	};

	(void)unused;
	EACH_ROW(i, rows) {
		FILE *out = fopen(folder_path("a.jsonl"), "w");
		struct init_field x;

		assert_non_null(out);
		for (size_t k = 0; k < rows[i].with + rows[i].without; k++)
			fprintf(out, "{\"%s\": \"abcd\"}\n", k < rows[i].with ? "text" : "x");
		assert_int_equal(fclose(out), 0);
		assert_int_equal(init_field_find(&x, "a.jsonl", &f), FAIL_NONE);
		assert_string_equal(x.path, rows[i].path);
		assert_int_equal(x.records, rows[i].records);
		assert_int_equal(x.bytes, rows[i].path[0] == '\0' ? 0 : 4 * rows[i].with);
	}
}

/* The files after the first 16 of a folder are taken to be like them. */
static void
test_only_the_first_files_of_a_folder_are_read(void **unused)
{
	char *const root = (char[]){"d"};
	struct init_files l;
	char name[64];

	(void)unused;
	for (int i = 0; i < INIT_LOOKS_MAX + 2; i++) {
		snprintf(name, sizeof(name), "d/%02d.jsonl", i);
		put(name, i == 0                    ? "{\"none\": 1}\n"
			  : i == INIT_LOOKS_MAX + 1 ? "{\"other\": \"text\"}\n"
						    : "{\"body\": \"text\"}\n");
	}
	assert_int_equal(init_files_open(&l, &root, 1, &f), FAIL_NONE);
	assert_int_equal(l.domains_n, 1);
	assert_int_equal(l.domain[0].files_n, INIT_LOOKS_MAX + 1);
	assert_int_equal(l.domain[0].looks_n, INIT_LOOKS_MAX - 1);
	assert_int_equal(l.domain[0].bytes, 16 * 17 + 18);
	assert_string_equal(
	    l.file[0].why, "no field holds a text in its first 1 records; the first has: none");
	assert_true(l.file[INIT_LOOKS_MAX - 1].looked);
	assert_false(l.file[INIT_LOOKS_MAX].looked);
	assert_string_equal(l.file[INIT_LOOKS_MAX + 1].field.path, "body");
	init_files_close(&l);

	for (int i = 1; i < INIT_LOOKS_MAX; i++) {
		snprintf(name, sizeof(name), "d/%02d.jsonl", i);
		put(name, "{\"none\": 1}\n");
	}
	assert_int_equal(init_files_open(&l, &root, 1, &f), FAIL_NONE);
	assert_int_equal(l.domains_n, 0);
	assert_string_equal(l.file[INIT_LOOKS_MAX].why,
	    "not looked at: none of the first 16 files here has a text");
	init_files_close(&l);
}

static void
test_what_cannot_be_walked_is_refused_or_left_out(void **unused)
{
	char *const missing = (char[]){"nowhere"}, *const root = (char[]){"d"};
	char path[256] = "d";
	struct init_files l;
	size_t n = 1;

	(void)unused;
	assert_int_equal(init_files_open(&l, &missing, 1, &f), FAIL_IO);
	assert_string_equal(f.text, "reading folder nowhere: No such file or directory");
	init_files_close(&l);
	for (int i = 0; i <= INIT_DEPTH_MAX; i++) {
		if (i == INIT_DEPTH_MAX) { /* next to the folder that is too deep */
			snprintf(path + n, sizeof(path) - n, "/b.jsonl");
			put(path, TEXT);
		}
		n += (size_t)snprintf(path + n, sizeof(path) - n, "/%d", i % 10);
	}
	snprintf(path + n, sizeof(path) - n, "/a.jsonl");
	put(path, TEXT);
	assert_int_equal(init_files_open(&l, &root, 1, &f), FAIL_NONE);
	assert_int_equal(l.n, 2);
	assert_string_equal(l.file[0].why, "folders so deep are not entered");
	assert_null(l.file[1].why);
	init_files_close(&l);
}

/* ---- the configuration ---- */

static void
print_init(struct printed *p, char *const *root, size_t n, const char *tokenizer)
{
	const struct init_print_options o = {
	    .folder = root, .folders_n = n, .tokenizer = tokenizer};
	struct init_files l;

	assert_int_equal(init_files_open(&l, root, n, &f), FAIL_NONE);
	assert_int_equal(init_print(&l, &o, printed_begin(p), &f), FAIL_NONE);
	init_files_close(&l);
}

/* Compares the text from `first` on, up to `last`. */
static void
part_is(struct printed *p, const char *first, const char *last, const char *expected)
{
	char *from, *to;

	printed_end(p);
	from = strstr(p->text, first);
	assert_non_null(from);
	to = last == NULL ? from + strlen(from) : strstr(from, last);
	assert_non_null(to);
	*to = '\0';
	printed_compare(from, expected);
	free(p->text);
}

static void
test_folders_become_a_whole_configuration(void **unused)
{
	char *const root[] = {(char[]){"data"}};
	struct printed p;
	char *here = realpath(".", NULL), expected[8192];

	(void)unused;
	put("data/code/a.jsonl", "{\"title\": \"ab\", \"body\": \"abcd\"}\n");
	put("data/code/t.jsonl", "{\"tokens\": [1, 2, 3]}\n");
	put("data/code/z.ndjson", "{\"title\": \"ab\", \"body\": \"abcd\"}\n");
	put("data/loose.txt", "some text\n");
	put("data/notes.md", "x");
	put("data/we\"b/2024/b.jsonl", TEXT TEXT);
	put("data/we\"b/a.jsonl", TEXT);
	put("data/we\"b/valid/c.jsonl", TEXT);
	print_init(&p, root, 1, NULL);
	printed_end(&p);
	snprintf(expected, sizeof(expected),
	    "# By `riffle config --init data`. Read it, change it, then\n"
	    "#\n"
	    "#     riffle config --check -c run.yml\n"
	    "#     riffle topics -c run.yml --create\n"
	    "#     riffle produce -c run.yml\n"
	    "#     riffle import -c run.yml     # domains with `tokens`\n"
	    "#     riffle mix -c run.yml\n"
	    "#     riffle read -c run.yml --steps 3\n"
	    "#\n"
	    "# Paths are relative to the folder of this file: put it where it was made, into\n"
	    "# %s\n"
	    "# `riffle config --keys` explains all keys.\n"
	    "\n"
	    "corpus: \"data\"\n"
	    "\n"
	    "# No tokenizer was found. Name one: a tokenizer.json, or a .tiktoken and its "
	    "pattern.\n"
	    "# tokenizer:\n"
	    "#   file: \"tokenizer.json\"\n"
	    "#   pattern: cl100k  # of a .tiktoken: gpt2, cl100k, o200k or qwen2\n"
	    "#   eos: \"<|endoftext|>\"  # the special token behind each document\n"
	    "\n"
	    "sequence_length: 32  # tokens of one sequence; so short because the smallest domain "
	    "is small\n"
	    "\n"
	    "domains:\n"
	    "  \"code\":  # 2 files, 64 bytes as stored\n"
	    "    train: [\"data/code/a.jsonl\", \"data/code/*.ndjson\"]\n"
	    "    text: \"body\"  # not clear: `title` holds much text, too; 4 bytes on average in "
	    "the first 1 record\n"
	    "  \"code-jsonl\":  # 1 file, 22 bytes as stored; tokens already: `riffle import` "
	    "publishes them\n"
	    "    train: [\"data/code/t.jsonl\"]\n"
	    "    tokens: jsonl  # made with the tokenizer above?\n"
	    "  \"data\":  # 1 file, 10 bytes as stored; each file is a document\n"
	    "    train: [\"data/*.txt\"]\n"
	    "  \"we-b\":  # 3 files, 68 bytes as stored\n"
	    "    train: [\"data/we\\\"b/2024/b.jsonl\", \"data/we\\\"b/a.jsonl\"]\n"
	    "    valid: [\"data/we\\\"b/valid/*.jsonl\"]\n"
	    "    text: \"text\"  # 4 bytes on average in the first 2 records\n"
	    "\n"
	    "# Not taken:\n"
	    "#   data/notes.md: riffle does not know the ending of its name\n"
	    "\n"
	    "mix:\n"
	    "  name: \"data-mix\"\n"
	    "  global_batch: 64  # sequences of one step, over all ranks\n"
	    "  lanes: 8  # the most ranks that can read it\n"
	    "  weights: size  # proportional to their sequences; or a weight for each, as\n"
	    "  # weights: {\"code\": 0.3902, \"code-jsonl\": 0.1341, \"data\": 0.0610, \"we-b\": "
	    "0.4146}  # their shares of the bytes\n"
	    "\n"
	    "kafka:\n"
	    "  bootstrap.servers: \"localhost:9092\"\n",
	    here);
	printed_compare(p.text, expected);
	free(p.text);
	free(here);
}

/* Files of token lines, or of text, need one of the two commands alone. */
static void
test_only_the_commands_that_the_data_needs_are_named(void **unused)
{
	char *const root[] = {(char[]){"t"}, (char[]){"i"}};
	struct printed p;

	(void)unused;
	put("t/a.txt", "text");
	put("i/a.jsonl", "{\"tokens\": [1, 2, 3]}\n");
	print_init(&p, root, 1, NULL);
	part_is(&p, "--create\n", "#\n# Paths",
	    "--create\n#     riffle produce -c run.yml\n#     riffle mix -c run.yml\n"
	    "#     riffle read -c run.yml --steps 3\n");
	print_init(&p, root + 1, 1, NULL);
	part_is(&p, "--create\n", "#\n# Paths",
	    "--create\n#     riffle import -c run.yml     # domains with `tokens`\n"
	    "#     riffle mix -c run.yml\n#     riffle read -c run.yml --steps 3\n");
	print_init(&p, root, 2, NULL); /* of two folders neither names the corpus */
	part_is(&p, "corpus:", "\n", "corpus: \"corpus\"");
	setenv("RIFFLE_BOOTSTRAP", "there:1", 1);
	print_init(&p, root, 2, NULL);
	part_is(&p, "kafka:", NULL, "kafka:\n  bootstrap.servers: \"there:1\"\n");
	setenv("RIFFLE_BOOTSTRAP", "", 1);
	print_init(&p, root, 2, NULL);
	part_is(&p, "kafka:", NULL, "kafka:\n  bootstrap.servers: \"localhost:9092\"\n");
	unsetenv("RIFFLE_BOOTSTRAP");
}

/* A pattern stands for the files of a domain, of a set, and for no others. */
static void
test_a_pattern_takes_what_the_domain_has_and_no_more(void **unused)
{
	static const struct {
		const char *lists;
		const char *file[FILES_MAX]; /* one of ".md" is not taken, nor an empty one */
	} rows[] = {
	    {"    train: [\"d/*.jsonl\"]\n", {"a.jsonl", "b.jsonl"}},
	    {"    train: [\"d/*.jsonl\", \"d/*.ndjson\"]\n", {"b.ndjson", "a.jsonl", "c.jsonl"}},
	    {"    train: [\"d/a.jsonl\", \"d/b.jsonl\"]\n", {"a.jsonl", "b.jsonl", "c.jsonl!"}},
	    {"    train: [\"d/*.jsonl\"]\n", {"a.jsonl", "b.jsonl", "c.ndjson!"}},
	    {"    train: [\"d/train/*.jsonl\"]\n    valid: [\"d/valid/*.jsonl\"]\n",
		{"train/a.jsonl", "valid/b.jsonl"}},
	    {"    train: [\"d/train/**/*.jsonl\"]\n    valid: [\"d/valid/*.jsonl\"]\n",
		{"train/x/a.jsonl", "train/c.jsonl", "valid/b.jsonl"}},
	    {"    train: [\"d/a.jsonl\", \"d/b.jsonl\"]\n    valid: [\"d/c.val.jsonl\"]\n",
		{"a.jsonl", "b.jsonl", "c.val.jsonl"}},
	    {"    train: [\"d/*.jsonl\"]\n    valid: [\"d/*.ndjson\"]\n",
		{"a.jsonl", "c.val.ndjson"}},
	    {"    train: [\"d/a\\\\*.jsonl\", \"d/b.jsonl\"]\n",
		{"a*.jsonl", "b.jsonl", "c.jsonl!"}},
	    {"    train: [\"d/x/**/*.jsonl\"]\n", {"x/a.jsonl", "x/y/b.jsonl"}},
	    {"    train: [\"d/x/a.jsonl\", \"d/x/y/b.jsonl\"]\n",
		{"x/a.jsonl", "x/y/b.jsonl", "x/z/c.jsonl!"}},
	    {"    train: [\"d/x/y/*.jsonl\"]\n    valid: [\"d/x/z/val/*.jsonl\"]\n",
		{"x/y/a.jsonl", "x/y/b.jsonl", "x/z/val/c.jsonl"}},
	    /* a folder is not below another one whose name its own name begins with */
	    {"    train: [\"d/train/**/*.jsonl\"]\n    valid: [\"d/valid/*.jsonl\"]\n",
		{"train/x/a.jsonl", "train/xy/b.jsonl", "valid/c.jsonl"}},
	    {"    train: [\"d/train/**/*.jsonl\"]\n    valid: [\"d/valid/*.jsonl\"]\n",
		{"train/xy/a.jsonl", "train/xz/b.jsonl", "valid/c.jsonl"}},
	};
	char *const root[] = {(char[]){"d"}};

	(void)unused;
	EACH_NAMED_ROW(i, rows, lists) {
		struct printed p;

		assert_int_equal(mkdir("d", 0755), 0);
		for (size_t k = 0; k < FILES_MAX && rows[i].file[k] != NULL; k++) {
			char name[128];
			size_t n = (size_t)snprintf(name, sizeof(name), "d/%s", rows[i].file[k]);
			bool empty = name[n - 1] == '!';

			if (empty)
				name[n - 1] = '\0';
			put(name, empty ? "" : TEXT);
		}
		print_init(&p, root, 1, NULL);
		part_is(&p, "    train:", "    text:", rows[i].lists);
		assert_int_equal(nftw("d", folder_remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
	}
}

/* A sequence is so long that the smallest domain has 16 of them, from 32 to 2048 tokens. */
static void
test_the_length_follows_the_smallest_domain(void **unused)
{
	static const struct {
		const char *ending;
		size_t bytes; /* per token: 5 of text, 5/3 of packed text, 4 of ids */
		unsigned length;
	} rows[] = {
	    {".txt", 16 * 2048 * 5, 2048},
	    {".txt", 16 * 2048 * 5 - 1, 1024},
	    {".txt", 16 * 1024 * 5, 1024},
	    {".txt", 16 * 1024 * 5 - 1, 512},
	    {".txt", 16 * 64 * 5 - 1, 32},
	    {".txt", 1, 32},
	    {".txt.gz", 16 * 1024 * 5 / 3 + 1, 1024},
	    {".txt.zst", 16 * 1024 * 5 / 3, 512},
	    {".npy", 16 * 1024 * 4, 1024},
	    {".npy", 16 * 1024 * 4 - 1, 512},
	};
	char *const root[] = {(char[]){"d"}};
	static char bytes[16 * 2048 * 5 + 1] = "\x93NUMPY";

	(void)unused;
	EACH_ROW(i, rows) {
		struct printed p;
		char name[64], line[128];

		assert_int_equal(mkdir("d", 0755), 0);
		folder_make("d/large");
		folder_write("d/large/a.txt", bytes, sizeof(bytes));
		folder_make("d/small");
		snprintf(name, sizeof(name), "d/small/a%s", rows[i].ending);
		folder_write(name, bytes, rows[i].bytes);
		print_init(&p, root, 1, NULL);
		snprintf(line, sizeof(line), "sequence_length: %u  # tokens of one sequence%s\n",
		    rows[i].length,
		    rows[i].length == 2048 ? ""
					   : "; so short because the smallest domain is small");
		part_is(&p, "sequence_length:", "\ndomains", line);
		assert_int_equal(nftw("d", folder_remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
	}
}

static void
test_sizes_have_the_unit_that_is_next_below(void **unused)
{
	static const struct {
		const char *text;
		off_t bytes;
	} rows[] = {
	    {"1 file, 999 bytes as stored", 999},
	    {"1 file, 1.0 KB as stored", 1000},
	    {"1 file, 1000.0 KB as stored", 999999},
	    {"1 file, 1.0 MB as stored", 1000000},
	    {"1 file, 1.0 GB as stored", 1000000000},
	};
	char *const root[] = {(char[]){"d"}};
	struct printed p;

	(void)unused;
	put("d/a.txt", "x");
	print_init(&p, root, 1, NULL);
	part_is(&p, "  # weights", "\nkafka",
	    "  # weights: {\"d\": 1.0000}  # their shares of the bytes\n");
	EACH_NAMED_ROW(i, rows, text) {
		assert_int_equal(truncate("d/a.txt", rows[i].bytes), 0);
		print_init(&p, root, 1, NULL);
		part_is(&p, "1 file", ";", rows[i].text);
	}
}

static void
test_the_first_files_that_are_not_taken_are_listed_and_the_others_counted(void **unused)
{
	char *const root[] = {(char[]){"d"}};
	struct printed p;
	char name[32];

	(void)unused;
	put("d/z.txt", "x");
	for (int i = 0; i < 40; i++) {
		snprintf(name, sizeof(name), "d/%02d.md", i);
		put(name, "x");
	}
	print_init(&p, root, 1, NULL);
	part_is(
	    &p, "#   d/39", "mix", "#   d/39.md: riffle does not know the ending of its name\n\n");
	put("d/40.md", "x");
	print_init(&p, root, 1, NULL);
	part_is(&p, "#   d/39", "mix",
	    "#   d/39.md: riffle does not know the ending of its name\n#   and 1 more\n\n");
}

static void
test_folders_without_data_are_refused_with_the_first_reason(void **unused)
{
	static const struct {
		const char *says;
		size_t folders_n;
		const char *file[2];
	} rows[] = {
	    {"d: no file that riffle takes", 1, {NULL}},
	    {"d: no file that riffle takes; d/a.md: riffle does not know the ending of its name", 1,
		{"d/a.md"}},
	    {"d: no file that riffle takes; d/a.md: riffle does not know the ending of its name; "
	     "...",
		1, {"d/b.md"}},
	    {"d, ...: no file that riffle takes; d/a.md: riffle does not know the ending of its "
	     "name; ...",
		2, {NULL}},
	};
	char *const root[] = {(char[]){"d"}, (char[]){"e"}};
	struct printed p;

	(void)unused;
	put("d/.keep", "");
	put("e/.keep", "");
	EACH_NAMED_ROW(i, rows, says) {
		const struct init_print_options o = {
		    .folder = root, .folders_n = rows[i].folders_n};
		struct init_files l;

		if (rows[i].file[0] != NULL)
			put(rows[i].file[0], "x");
		assert_int_equal(init_files_open(&l, root, o.folders_n, &f), FAIL_NONE);
		assert_int_equal(init_print(&l, &o, printed_begin(&p), &f), FAIL_DATA);
		printed_is(&p, "");
		init_files_close(&l);
		assert_string_equal(f.text, rows[i].says);
	}
}

/* ---- the tokenizer ---- */

/* A tokenizer that opens is not a comment. That of --tokenizer counts, then one of the folders. */
static void
test_the_tokenizer_is_tried_and_its_pattern_known_by_its_name(void **unused)
{
#define FOUND(FILE, PATTERN)                                                                       \
	"tokenizer:\n  file: \"" FILE "\"\n  pattern: " PATTERN                                    \
	"\n#   eos: which special token of it ends a document?\n"
#define REFUSED(FILE, WHY, PATTERN)                                                                \
	"# This tokenizer cannot be used as it is: tokenizer " FILE ": " WHY                       \
	"\n# tokenizer:\n#   file: \"" FILE "\"\n" PATTERN                                         \
	"#   eos: \"<|endoftext|>\"  # the special token behind each document\n"
#define NO_PATTERN                                                                                 \
	"a .tiktoken file does not say its pattern; name one of: gpt2, cl100k, o200k, qwen2"
	static const struct {
		const char *file; /* with the 256 bytes; "!": with the first of them */
		const char *given, *says;
	} rows[] = {
	    {"d/gpt2.tiktoken", NULL, FOUND("d/gpt2.tiktoken", "gpt2")},
	    {"d/r50k_base.tiktoken", NULL, FOUND("d/r50k_base.tiktoken", "gpt2")},
	    {"d/my_p50k.tiktoken", NULL, FOUND("d/my_p50k.tiktoken", "gpt2")},
	    {"d/cl100k_base.tiktoken", NULL, FOUND("d/cl100k_base.tiktoken", "cl100k")},
	    {"d/o200k.tiktoken", NULL, FOUND("d/o200k.tiktoken", "o200k")},
	    {"d/qwen.tiktoken", NULL, FOUND("d/qwen.tiktoken", "qwen2")},
	    {"gpt2.tiktoken", "gpt2.tiktoken", FOUND("gpt2.tiktoken", "gpt2")},
	    {"d/own.tiktoken", NULL,
		REFUSED("d/own.tiktoken", NO_PATTERN,
		    "#   pattern: cl100k  # of a .tiktoken: gpt2, cl100k, o200k or qwen2\n")},
	    {"d/gpt2.tiktoken!", NULL,
		REFUSED("d/gpt2.tiktoken",
		    "no token is the single byte 0x01; without all 256 some text has no tokens",
		    "#   pattern: gpt2\n")},
	    {"d/tokenizer.json!", NULL, REFUSED("d/tokenizer.json", NO_PATTERN, "")},
	    {"tokenizer.json!", NULL, REFUSED("tokenizer.json", NO_PATTERN, "")},
	    {"d/tokenizer.json!", "e/none.json",
		REFUSED("e/none.json", "cannot be opened: No such file or directory", "")},
	};
	char *const root[] = {(char[]){"d"}};
	const char *none[] = {NULL};
	size_t bytes_n;
	char *bytes = tiktoken_text(none, &bytes_n);

	(void)unused;
	EACH_NAMED_ROW(i, rows, file) {
		struct printed p;
		struct capture log;
		char said[2048], expected[256];
		char name[64];
		size_t n = (size_t)snprintf(name, sizeof(name), "%s", rows[i].file);
		bool broken = name[n - 1] == '!';

		if (broken)
			name[n - 1] = '\0';
		put("d/a.txt", "x");
		folder_write(name, bytes, broken ? 7 : bytes_n);
		capture_begin(&log);
		print_init(&p, root, 1, rows[i].given);
		capture_end_lines(&log, said, sizeof(said));
		part_is(&p, rows[i].says[0] == '#' ? "# This" : "tokenizer:", "\nsequence",
		    rows[i].says);
		if (rows[i].says[0] == '#') {
			snprintf(expected, sizeof(expected),
			    " warning config: INIT-TOKENIZER %s cannot be used as it is: "
			    "tokenizer ",
			    rows[i].given != NULL ? rows[i].given : name);
			assert_non_null(strstr(said, expected));
		} else {
			assert_string_equal(said, "");
		}
		assert_int_equal(unlink(name), 0);
	}
	free(bytes);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(
		test_files_become_domains_by_folder_kind_and_field, enter_folder, leave_folder),
	    cmocka_unit_test_setup_teardown(
		test_each_file_that_is_not_taken_says_why, enter_folder, leave_folder),
	    cmocka_unit_test_setup_teardown(
		test_a_folder_of_a_domain_says_what_of_it_is_not_read, enter_folder, leave_folder),
	    cmocka_unit_test_setup_teardown(
		test_a_name_keeps_what_a_topic_may_have, enter_folder, leave_folder),
	    cmocka_unit_test_setup_teardown(
		test_the_last_part_of_a_path_names_what_it_leads_to, enter_folder, leave_folder),
	    cmocka_unit_test_setup_teardown(
		test_the_field_with_the_text_is_found_in_the_records, enter_folder, leave_folder),
	    cmocka_unit_test_setup_teardown(
		test_nine_of_ten_of_the_first_hundred_records_decide, enter_folder, leave_folder),
	    cmocka_unit_test_setup_teardown(
		test_only_the_first_files_of_a_folder_are_read, enter_folder, leave_folder),
	    cmocka_unit_test_setup_teardown(
		test_what_cannot_be_walked_is_refused_or_left_out, enter_folder, leave_folder),
	    cmocka_unit_test_setup_teardown(
		test_folders_become_a_whole_configuration, enter_folder, leave_folder),
	    cmocka_unit_test_setup_teardown(
		test_only_the_commands_that_the_data_needs_are_named, enter_folder, leave_folder),
	    cmocka_unit_test_setup_teardown(
		test_a_pattern_takes_what_the_domain_has_and_no_more, enter_folder, leave_folder),
	    cmocka_unit_test_setup_teardown(
		test_the_length_follows_the_smallest_domain, enter_folder, leave_folder),
	    cmocka_unit_test_setup_teardown(
		test_sizes_have_the_unit_that_is_next_below, enter_folder, leave_folder),
	    cmocka_unit_test_setup_teardown(
		test_the_first_files_that_are_not_taken_are_listed_and_the_others_counted,
		enter_folder, leave_folder),
	    cmocka_unit_test_setup_teardown(
		test_folders_without_data_are_refused_with_the_first_reason, enter_folder,
		leave_folder),
	    cmocka_unit_test_setup_teardown(
		test_the_tokenizer_is_tried_and_its_pattern_known_by_its_name, enter_folder,
		leave_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
