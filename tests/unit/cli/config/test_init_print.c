/* init_print.h and init_files.h: folders of data as a first configuration. */
#include "cli/config/init_print.h"

#include "tests/unit/capture.h"
#include "tests/unit/folder.h"
#include "tests/unit/printed.h"

enum { FILES_MAX = 24 };

#define TEXT  "{\"text\": \"a text\"}\n"
#define BODY  "{\"id\": \"7\", \"body\": \"some longer text\"}\n"
#define RIVAL "{\"title\": \"0123456789\", \"body\": \"0123456789abcdef\"}\n"
#define IDS   "{\"tokens\": [1, 2, 3]}\n"

#define NO_TOKENIZER                                                                               \
	"# No tokenizer was found. Name one: a tokenizer.json, or a .tiktoken and its pattern.\n"  \
	"# tokenizer:\n"                                                                           \
	"#   file: \"tokenizer.json\"\n"                                                           \
	"#   pattern: cl100k  # of a .tiktoken: gpt2, cl100k, o200k or qwen2\n"                    \
	"#   eos: \"<|endoftext|>\"  # the special token behind each document\n"
#define LENGTH                                                                                     \
	"\n"                                                                                       \
	"sequence_length: 32  # tokens of one sequence; so short because the smallest domain is "  \
	"small\n"                                                                                  \
	"\n"                                                                                       \
	"domains:\n"
#define MIX(name, weights)                                                                         \
	"\nmix:\n  name: \"" name                                                                  \
	"\"\n  global_batch: 64  # sequences of one step, over all ranks\n"                        \
	"  lanes: 8  # the most ranks that can read it\n"                                          \
	"  weights: size  # proportional to their sequences; or a weight for each, as\n"           \
	"  # weights: " weights "  # their shares of the bytes\n"                                  \
	"\nkafka:\n  bootstrap.servers: \"localhost:9092\"\n"

/* `file`: "NAME=TEXT", or a folder "NAME/". `printed`: all, or all from the corpus on. */
static const struct {
	const char *claim, *file[FILES_MAX], *arguments[4], *printed;
} trees[] = {
    {"a domain for each sub-folder, one for the files beside them",
	{"data/", "data/code/", "data/code/a.jsonl=" TEXT, "data/code/b.jsonl=" TEXT, "data/web/",
	    "data/web/2024/", "data/web/2024/x.jsonl=" BODY, "data/web/valid/",
	    "data/web/valid/y.jsonl=" BODY, "data/top.jsonl=" RIVAL, "data/notes.md=#",
	    "data/.git/", "data/.git/z.jsonl=" TEXT},
	{"data"},
	"# By `riffle config --init data`. Read it, change it, then\n"
	"#\n"
	"#     riffle config --check -c run.yml\n"
	"#     riffle topics -c run.yml --create\n"
	"#     riffle produce -c run.yml\n"
	"#     riffle mix -c run.yml\n"
	"#     riffle read -c run.yml --steps 3\n"
	"#\n"
	"# Paths are relative to the folder of this file: put it where it was made, into\n"
	"# FOLDER\n"
	"# `riffle config --keys` explains all keys.\n"
	"\n"
	"corpus: \"data\"\n"
	"\n" NO_TOKENIZER LENGTH "  \"code\":  # 2 files, 38 bytes as stored\n"
	"    train: [\"data/code/*.jsonl\"]\n"
	"    text: \"text\"  # 6 bytes on average in the first 1 record\n"
	"  \"data\":  # 1 file, 52 bytes as stored\n"
	"    train: [\"data/*.jsonl\"]\n"
	"    text: \"body\"  # not clear: `title` holds much text, too; 16 bytes on average in the "
	"first 1 record\n"
	"  \"web\":  # 2 files, 80 bytes as stored\n"
	"    train: [\"data/web/2024/*.jsonl\"]\n"
	"    valid: [\"data/web/valid/*.jsonl\"]\n"
	"    text: \"body\"  # 16 bytes on average in the first 1 record\n"
	"\n"
	"# Not taken:\n"
	"#   data/notes.md: riffle does not know the ending of its name\n" MIX(
	    "data-mix", "{\"code\": 0.2235, \"data\": 0.3059, \"web\": 0.4706}")},
    {"kinds and fields of one folder are domains of their own",
	{"d/", "d/a.jsonl=" TEXT, "d/b.jsonl=" TEXT, "d/c.ndjson=" BODY, "d/e.txt=a text",
	    "d/f.jsonl=" IDS, "d/g.bin=12345678", "d/g.idx=i", "d/h.bin=\xf7\x9e\x34\x01",
	    "d/i.npy=12345678", "d/j.ds=1", "d/k.parquet=1", "d/l.json=[1]\n",
	    "d/m.jsonl=", "d/o200k.tiktoken=1"},
	{"d/"},
	"corpus: \"d\"\n"
	"\n"
	"# This tokenizer cannot be used as it is: tokenizer d/o200k.tiktoken: line 1: is not a "
	"token in base64, a space and a rank; is it a .tiktoken file?\n"
	"# tokenizer:\n"
	"#   file: \"d/o200k.tiktoken\"\n"
	"#   pattern: o200k\n"
	"#   eos: \"<|endoftext|>\"  # the special token behind each document\n" LENGTH
	"  \"d\":  # 2 files, 38 bytes as stored\n"
	"    train: [\"d/a.jsonl\", \"d/b.jsonl\"]\n"
	"    text: \"text\"  # 6 bytes on average in the first 1 record\n"
	"  \"d-body\":  # 1 file, 40 bytes as stored\n"
	"    train: [\"d/*.ndjson\"]\n"
	"    text: \"body\"  # 16 bytes on average in the first 1 record\n"
	"  \"d-txt\":  # 1 file, 6 bytes as stored; each file is a document\n"
	"    train: [\"d/*.txt\"]\n"
	"  \"d-jsonl\":  # 1 file, 22 bytes as stored; tokens already: `riffle import` publishes "
	"them\n"
	"    train: [\"d/f.jsonl\"]\n"
	"    tokens: jsonl  # made with the tokenizer above?\n"
	"  \"d-megatron\":  # 1 file, 8 bytes as stored; tokens already: `riffle import` publishes "
	"them\n"
	"    train: [\"d/g.bin\"]\n"
	"    tokens: megatron  # made with the tokenizer above?\n"
	"\n"
	"# Not taken:\n"
	"#   d/h.bin: neither Megatron's, which has an .idx beside it, nor llm.c's\n"
	"#   d/i.npy: tokens without a header: a domain with `tokens: npy` needs `token_bytes`\n"
	"#   d/j.ds: no .ds.metadata beside it: a domain with `tokens: ds` needs `token_bytes`\n"
	"#   d/k.parquet: Parquet: `exec: riffle-source FILE` reads it\n"
	"#   d/l.json: none of its first 1 records is read: it is no JSON object; this looks like "
	"a JSON array: riffle reads one JSON object per line. Convert the file: jq -c '.[]' FILE > "
	"FILE.jsonl\n"
	"#   d/m.jsonl: it is empty\n" MIX("d-mix",
	    "{\"d\": 0.3333, \"d-body\": 0.3509, \"d-txt\": 0.0526, \"d-jsonl\": 0.1930, "
	    "\"d-megatron\": 0.0702}")},
    {"folders that are sets are one domain",
	{"s/", "s/train/", "s/train/a.jsonl=" TEXT, "s/Validation/", "s/Validation/b.jsonl=" TEXT,
	    "s/test/", "s/test/c.jsonl=" TEXT},
	{"s"},
	"corpus: \"s\"\n"
	"\n" NO_TOKENIZER LENGTH "  \"s\":  # 3 files, 57 bytes as stored\n"
	"    train: [\"s/test/c.jsonl\", \"s/train/a.jsonl\"]\n"
	"    valid: [\"s/Validation/*.jsonl\"]\n"
	"    text: \"text\"  # 6 bytes on average in the first 1 record\n" MIX(
	    "s-mix", "{\"s\": 1.0000}")},
    {"two folders of one name, and names that no domain may have",
	{"x/", "x/rejects/", "x/rejects/a.jsonl=" TEXT, "x/a b!/", "x/a b!/a.jsonl=" TEXT, "y/",
	    "y/a b!/", "y/a b!/a.jsonl=" BODY, "y/a b!/dev.jsonl=" BODY, "y/a b!/b.jsonl=" TEXT,
	    "y/..--/", "y/..--/a.txt=a", "y/--/", "y/--/a.txt=a"},
	{"x", "y"},
	"corpus: \"corpus\"\n"
	"\n" NO_TOKENIZER LENGTH "  \"a-b\":  # 1 file, 19 bytes as stored\n"
	"    train: [\"x/a b!/*.jsonl\"]\n"
	"    text: \"text\"  # 6 bytes on average in the first 1 record\n"
	"  \"rejects-text\":  # 1 file, 19 bytes as stored\n"
	"    train: [\"x/rejects/*.jsonl\"]\n"
	"    text: \"text\"  # 6 bytes on average in the first 1 record\n"
	"  \"data\":  # 1 file, 1 bytes as stored; each file is a document\n"
	"    train: [\"y/--/*.txt\"]\n"
	"  \"a-b-body\":  # 2 files, 80 bytes as stored\n"
	"    train: [\"y/a b!/a.jsonl\"]\n"
	"    valid: [\"y/a b!/dev.jsonl\"]\n"
	"    text: \"body\"  # 16 bytes on average in the first 1 record\n"
	"  \"a-b-text\":  # 1 file, 19 bytes as stored\n"
	"    train: [\"y/a b!/b.jsonl\"]\n"
	"    text: \"text\"  # 6 bytes on average in the first 1 record\n" MIX("corpus-mix",
	    "{\"a-b\": 0.1377, \"rejects-text\": 0.1377, \"data\": 0.0072, "
	    "\"a-b-body\": 0.5797, \"a-b-text\": 0.1377}")},
    {"nothing but held-out files is for training",
	{"v/", "v/val.jsonl=" TEXT, "v/valid-2.jsonl=" TEXT}, {"v"},
	"corpus: \"v\"\n"
	"\n" NO_TOKENIZER LENGTH "  \"v\":  # 2 files, 38 bytes as stored\n"
	"    train: [\"v/*.jsonl\"]\n"
	"    text: \"text\"  # 6 bytes on average in the first 1 record\n" MIX(
	    "v-mix", "{\"v\": 1.0000}")},
};

static void
make_files(const char *const *file)
{
	for (; *file != NULL; file++) {
		const char *equals = strchr(*file, '=');
		char name[64];

		snprintf(name, sizeof(name), "%.*s", (int)strcspn(*file, "="), *file);
		if (equals == NULL)
			folder_make(name);
		else
			folder_text(name, equals + 1);
	}
}

/* The folder has another name in each run: "FOLDER" in its place. */
static void
hide_folder(char *text)
{
	char *at = strstr(text, folder);

	assert_non_null(at);
	memcpy(at, "FOLDER", 6);
	memmove(at + 6, at + strlen(folder), strlen(at + strlen(folder)) + 1);
}

static void
test_folders_become_a_configuration(void **unused)
{
	char was[1024], said[2048];

	(void)unused;
	unsetenv("RIFFLE_BOOTSTRAP");
	assert_non_null(getcwd(was, sizeof(was)));
	EACH_NAMED_ROW(i, trees, claim) {
		struct init_print_options o = {
		    .folder = (char *const *)(uintptr_t)trees[i].arguments};
		struct init_files l;
		struct capture log;
		struct printed p;

		assert_int_equal(folder_open(NULL), 0);
		make_files(trees[i].file);
		assert_int_equal(chdir(folder), 0);
		while (o.folder[o.folders_n] != NULL)
			o.folders_n++;
		assert_int_equal(init_files_open(&l, o.folder, o.folders_n, &f), FAIL_NONE);
		capture_begin(&log);
		assert_int_equal(init_print(&l, &o, printed_begin(&p), &f), FAIL_NONE);
		printed_end(&p);
		capture_end_lines(&log, said, sizeof(said));
		assert_int_equal(
		    strstr(said, "INIT-TOKENIZER d/o200k.tiktoken cannot") != NULL, i == 1);
		init_files_close(&l);
		assert_int_equal(chdir(was), 0);
		assert_int_equal(folder_close(NULL), 0);
		hide_folder(p.text);
		printed_compare(*trees[i].printed == '#' ? p.text : strstr(p.text, "corpus: "),
		    trees[i].printed);
		free(p.text);
	}
}

static const struct {
	const char *name, *expected;
} names[] = {
    {"code", "code"},
    {"a b", "a-b"},
    {"a  b", "a-b"},
    {"a.b_c-d", "a.b_c-d"},
    {".hidden", "hidden"},
    {"-x-", "x"},
    {"x_._", "x"},
    {"\xc3\xbc", "data"},
    {"", "data"},
    {"9", "9"},
    {"0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890",
	"012345678901234567890123456789012345678901234567890123456789012345678901234567890123"},
};

static void
test_any_name_becomes_one_that_riffle_takes(void **unused)
{
	(void)unused;
	EACH_NAMED_ROW(i, names, name) {
		char out[NAME_MAX_BYTES + 1];

		init_files_name(out, names[i].name);
		assert_string_equal(out, names[i].expected);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_folders_become_a_configuration),
	    cmocka_unit_test(test_any_name_becomes_one_that_riffle_takes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
