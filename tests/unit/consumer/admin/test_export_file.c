/* export_file.h: the bytes of each format, read back by code of the test. */
#include "consumer/admin/export_file.h"

#include "tests/unit/folder.h"

enum { EOS = 9, LONG = 5000, TOKENS_MAX = 3 * LONG };

static struct failure f;

/* A document's tokens, in pieces as a partition gives them. */
static const struct document {
	const char *piece[3]; /* one digit per token; "L" is LONG times the token 3 */
	bool whole;
} documents[] = {
    {{"12", "39"}, true}, /* eos comes with it */
    {{"4"}, true},        /* no eos */
    {{"55", "5"}, false}, /* taken back */
    {{"9"}, true},        /* nothing but eos */
    {{"L", "9"}, true},
    {{"69", "7"}, true}, /* eos inside, at the end of a piece */
    {{"8", "89"}, false},
    {{"29", "9"}, true},
};
enum { DOCUMENTS = sizeof(documents) / sizeof(documents[0]) };

static size_t
tokens_of(const char *piece, uint32_t *out)
{
	size_t n = 0;

	for (; *piece != '\0'; piece++)
		for (int k = 0; k < (*piece == 'L' ? LONG : 1); k++)
			out[n++] = *piece == 'L' ? 3 : (uint32_t)(*piece - '0');
	return n;
}

/* The expected tokens, and the end of each document. */
struct expected {
	uint32_t token[TOKENS_MAX];
	size_t n;
	uint64_t end[DOCUMENTS];
	size_t documents;
};

static void
expect(struct expected *x, enum token_format format, bool stream)
{
	*x = (struct expected){0};
	for (size_t i = 0; i < DOCUMENTS; i++) {
		size_t begun = x->n;
		bool front = format == TOKEN_FORMAT_LLMC && !stream;

		if (front)
			x->token[x->n++] = EOS;
		for (size_t k = 0; k < 3 && documents[i].piece[k] != NULL; k++)
			x->n += tokens_of(documents[i].piece[k], &x->token[x->n]);
		if (!documents[i].whole) {
			x->n = begun;
			continue;
		}
		if (front && x->token[x->n - 1] == EOS)
			x->n--; /* it belongs to the next document */
		else if (!front && !stream && x->token[x->n - 1] != EOS)
			x->token[x->n++] = EOS;
		x->end[x->documents++] = x->n;
	}
}

static struct export_file *
open_file(enum token_format format, bool stream, uint32_t entries, bool force)
{
	const struct export_file_options o = {.prefix = folder_path("out"),
	    .format = format,
	    .force = force,
	    .stream = stream,
	    .tokenizer = "tok.json",
	    .entries = entries,
	    .eos = EOS};
	struct export_file *e = NULL;

	assert_int_equal(export_file_open(&e, &o, &f), FAIL_NONE);
	return e;
}

static void
write_documents(struct export_file *e)
{
	static uint32_t token[TOKENS_MAX];

	assert_int_equal(export_file_end(e, true, &f), FAIL_NONE); /* none is open: no effect */
	for (size_t i = 0; i < DOCUMENTS; i++) {
		for (size_t k = 0; k < 3 && documents[i].piece[k] != NULL; k++) {
			size_t n = tokens_of(documents[i].piece[k], token);

			assert_int_equal(export_file_tokens(e, token, n, &f), FAIL_NONE);
		}
		assert_int_equal(export_file_end(e, documents[i].whole, &f), FAIL_NONE);
	}
}

/* The file's bytes (free). */
static uint8_t *
read_file(const char *name, size_t *n)
{
	FILE *file = fopen(folder_path(name), "rb");
	uint8_t *bytes = malloc(1 << 20);

	assert_non_null(file);
	*n = fread(bytes, 1, 1 << 20, file);
	fclose(file);
	return bytes;
}

static uint64_t
number(const uint8_t *at, size_t width)
{
	uint64_t value = 0;

	while (width-- > 0)
		value = value << 8 | at[width];
	return value;
}

static void
check_tokens(const char *name, size_t header, size_t width, const struct expected *x)
{
	size_t n;
	uint8_t *bytes = read_file(name, &n);

	assert_int_equal(n, header + x->n * width);
	for (size_t i = 0; i < x->n; i++)
		assert_int_equal(number(bytes + header + i * width, width), x->token[i]);
	free(bytes);
}

static void
check_megatron(size_t width, const struct expected *x)
{
	size_t n, docs = x->documents;
	uint8_t *b = read_file("out.idx", &n);
	const uint8_t *length = b + 34, *pointer = length + 4 * docs, *index = pointer + 8 * docs;
	uint64_t before = 0;

	check_tokens("out.bin", 0, width, x);
	assert_int_equal(n, 34 + 20 * docs + 8);
	assert_memory_equal(b, "MMIDIDX\0", 9);
	assert_int_equal(number(b + 9, 8), 1);
	assert_int_equal(b[17], width == 2 ? 8 : 4); /* Megatron's codes of uint16 and int32 */
	assert_int_equal(number(b + 18, 8), docs);
	assert_int_equal(number(b + 26, 8), docs + 1);
	for (size_t i = 0; i < docs; i++) {
		assert_int_equal(number(length + 4 * i, 4), x->end[i] - before);
		assert_int_equal(number(pointer + 8 * i, 8), before * width);
		assert_int_equal(number(index + 8 * i, 8), i);
		before = x->end[i];
	}
	assert_int_equal(number(index + 8 * docs, 8), docs);
	free(b);
}

static void
check_ds(size_t width, const struct expected *x)
{
	char metadata[128];
	size_t n;
	uint8_t *b = read_file("out.ds.index", &n);

	check_tokens("out.ds", 0, width, x);
	assert_int_equal(n, 8 * x->documents);
	for (size_t i = 0; i < x->documents; i++)
		assert_int_equal(number(b + 8 * i, 8), x->end[i]);
	free(b);
	b = read_file("out.ds.metadata", &n);
	snprintf(metadata, sizeof(metadata), "tok.json|%zu\n%zu\n%.3g KT", width, x->n,
	    (double)x->n / 1000);
	assert_int_equal(n, strlen(metadata));
	assert_memory_equal(b, metadata, n);
	free(b);
}

static void
check_llmc(size_t width, const struct expected *x)
{
	size_t n;
	uint8_t *b = read_file("out.bin", &n);

	check_tokens("out.bin", 1024, width, x);
	assert_int_equal(number(b, 4), width == 2 ? 20240520 : 20240801);
	assert_int_equal(number(b + 4, 4), width == 2 ? 1 : 7);
	assert_int_equal(number(b + 8, 4), x->n);
	for (size_t i = 12; i < 1024; i++)
		assert_int_equal(b[i], 0);
	free(b);
}

static void
test_each_format_holds_the_whole_documents_and_where_they_end(void **unused)
{
	static const enum token_format formats[] = {
	    TOKEN_FORMAT_MEGATRON, TOKEN_FORMAT_DS, TOKEN_FORMAT_NPY, TOKEN_FORMAT_LLMC};
	static struct expected x;

	(void)unused;
	EACH_ROW(i, formats)
		for (int k = 0; k < 4; k++) {
			size_t width = k % 2 == 0 ? 2 : 4;
			struct export_file *e =
			    open_file(formats[i], k >= 2, width == 2 ? 65536 : 65537, k > 0);

			expect(&x, formats[i], k >= 2);
			write_documents(e);
			assert_int_equal(export_file_documents(e), x.documents);
			assert_int_equal(export_file_token_count(e), x.n);
			assert_non_null(strstr(export_file_names(e), "out."));
			assert_int_equal(export_file_finish(e, &f), FAIL_NONE);
			export_file_close(e);
			switch (formats[i]) {
			case TOKEN_FORMAT_MEGATRON: check_megatron(width, &x); break;
			case TOKEN_FORMAT_DS: check_ds(width, &x); break;
			case TOKEN_FORMAT_LLMC: check_llmc(width, &x); break;
			case TOKEN_FORMAT_NPY: check_tokens("out.npy", 0, width, &x); break;
			case TOKEN_FORMAT_NONE:
			case TOKEN_FORMAT_JSONL: break;
			}
			remove(folder_path("out.bin")); /* llm.c's and Megatron's have one name */
		}
}

/* Without --force nothing is replaced, and nothing half done is left. */
static void
test_a_file_that_is_there_stays_and_one_that_is_not_finished_goes(void **unused)
{
	struct export_file_options o = {.prefix = folder_path("kept"),
	    .format = TOKEN_FORMAT_MEGATRON,
	    .tokenizer = "t",
	    .entries = 10,
	    .eos = EOS};
	struct export_file *e = NULL;
	size_t n;
	uint8_t *bytes;
	char names[1024];

	(void)unused;
	folder_text("kept.idx", "mine");
	assert_int_equal(export_file_open(&e, &o, &f), FAIL_IO);
	assert_non_null(strstr(f.text, "kept.idx is there already"));
	o.force = true;
	assert_int_equal(export_file_open(&e, &o, &f), FAIL_NONE);
	snprintf(names, sizeof(names), "%s, %s", folder_path("kept.bin"), folder_path("kept.idx"));
	assert_string_equal(export_file_names(e), names);
	export_file_close(e);
	bytes = read_file("kept.idx", &n);
	assert_int_equal(n, 4);
	free(bytes);
	assert_int_not_equal(access(folder_path("kept.bin"), F_OK), 0);
	assert_int_not_equal(access(folder_path("kept.bin.partial"), F_OK), 0);
	assert_int_not_equal(access(folder_path("kept.idx.partial"), F_OK), 0);
}

static void
test_a_prefix_that_is_a_folder_or_has_an_ending_is_refused(void **unused)
{
	static const struct {
		const char *prefix;
		enum token_format format;
		bool folder;        /* the sentence says that it is one */
		const char *advice; /* what the sentence ends with; NULL: it is taken */
	} rows[] = {
	    {"a.bin", TOKEN_FORMAT_MEGATRON, false, "a"},
	    {"a.idx", TOKEN_FORMAT_MEGATRON, false, "a"},
	    {"a.ds", TOKEN_FORMAT_MEGATRON, false, NULL},
	    {"a.ds.index", TOKEN_FORMAT_DS, false, "a"},
	    {"a.idx", TOKEN_FORMAT_LLMC, false, NULL},
	    {"", TOKEN_FORMAT_NPY, true, "web"},
	    {".", TOKEN_FORMAT_NPY, true, "./web"},
	    {"..", TOKEN_FORMAT_NPY, true, "../web"},
	    {"...", TOKEN_FORMAT_NPY, false, NULL},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, prefix) {
		const struct export_file_options o = {.prefix = folder_path(rows[i].prefix),
		    .format = rows[i].format,
		    .tokenizer = "t",
		    .entries = 10};
		struct export_file *e = NULL;
		char expected[1024];

		assert_int_equal(
		    export_file_open(&e, &o, &f), rows[i].advice == NULL ? FAIL_NONE : FAIL_USAGE);
		snprintf(expected, sizeof(expected), "--out %s%s%s", o.prefix,
		    rows[i].folder ? " is a folder: give the path of the files without their "
				     "endings, as "
				   : ": it is without endings, which the form gives: --out ",
		    folder_path(rows[i].advice == NULL ? "" : rows[i].advice));
		if (rows[i].advice != NULL)
			assert_string_equal(f.text, expected);
		export_file_close(e);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(
		test_each_format_holds_the_whole_documents_and_where_they_end, folder_open,
		folder_close),
	    cmocka_unit_test_setup_teardown(
		test_a_file_that_is_there_stays_and_one_that_is_not_finished_goes, folder_open,
		folder_close),
	    cmocka_unit_test_setup_teardown(
		test_a_prefix_that_is_a_folder_or_has_an_ending_is_refused, folder_open,
		folder_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
