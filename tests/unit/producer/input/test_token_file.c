/* token_file.h: the documents of token files of four formats, and what is refused. */
#include "producer/input/token_file.h"

#include "tests/unit/capture.h"
#include "tests/unit/folder.h"

enum { EOS = 9, ENTRIES = 300, TOKENS_MAX = 64, TEXT_MAX = 256 };

static bool known[ENTRIES + 1]; /* all but 250; the last one is not the vocabulary's */
static struct failure f;

static int
begin(void **unused)
{
	memset(known, true, sizeof(known));
	known[250] = false;
	return folder_open(unused);
}

/* ---- files ---- */

static uint8_t bytes[4096];
static size_t bytes_n;

static void
put(uint64_t value, unsigned width)
{
	for (unsigned i = 0; i < width; i++)
		bytes[bytes_n++] = (uint8_t)(value >> 8 * i);
}

static void
put_tokens(const char *list, unsigned width)
{
	for (char *rest; *list != '\0'; list = rest + strspn(rest, " "))
		put((uint64_t)strtoll(list, &rest, 10), width);
}

static void
put_text(const char *text, size_t n)
{
	memcpy(bytes + bytes_n, text, n);
	bytes_n += n;
}

static void
save(const char *name)
{
	folder_write(name, bytes, bytes_n);
	bytes_n = 0;
}

static void
save_tokens(const char *name, const char *list, unsigned width)
{
	put_tokens(list, width);
	save(name);
}

/* The header of np.save(), of version 1. */
static void
put_npy(const char *header)
{
	put_text("\x93NUMPY\1\0", 8);
	put(strlen(header), 2);
	put_text(header, strlen(header));
}

static void
save_llmc(const char *name, unsigned magic, unsigned version, unsigned count, const char *list,
    unsigned width)
{
	put(magic, 4);
	put(version, 4);
	put(count, 4);
	while (bytes_n < TOKEN_FORMAT_LLMC_HEADER_BYTES)
		put(0, 1);
	save_tokens(name, list, width);
}

/* A Megatron index: lengths of sequences, where they begin (bytes), the first of each document. */
static void
save_index(const char *name, unsigned type, const char *lengths, const char *pointers,
    unsigned sequences, const char *documents, unsigned entries)
{
	put_text(TOKEN_FORMAT_MEGATRON_MAGIC, TOKEN_FORMAT_MEGATRON_MAGIC_BYTES);
	put(TOKEN_FORMAT_MEGATRON_VERSION, 8);
	put(type, 1);
	put(sequences, 8);
	put(entries, 8);
	put_tokens(lengths, 4);
	put_tokens(pointers, 8);
	put_tokens(documents, 8);
	save(name);
}

static enum fail_code
open_file(struct token_file **t, enum token_format format, const char *name, unsigned token_bytes)
{
	const struct token_file_options o = {.path = folder_path(name),
	    .name = name,
	    .format = format,
	    .token_bytes = token_bytes,
	    .eos = EOS,
	    .known = known,
	    .entries = ENTRIES,
	    .max_document_bytes = 1 << 20};

	return token_file_open(t, &o, &f);
}

/* All documents that are left as "BYTE:tokens", with bars between them. */
static enum fail_code
read_rest(struct token_file *t, char *out)
{
	struct token_file_buffer ids = {0};
	struct token_file_document d;
	enum fail_code code;
	size_t used = 0;
	bool there;

	out[0] = '\0';
	while ((code = token_file_next(t, &d, &ids, &there, &f)) == FAIL_NONE && there) {
		assert_null(d.reject);
		used += (size_t)snprintf(out + used, TEXT_MAX - used, "%s%llu:", used ? "|" : "",
		    (unsigned long long)d.byte);
		for (size_t i = ids.n - d.n; i < ids.n; i++)
			used += (size_t)snprintf(
			    out + used, TEXT_MAX - used, " %u", (unsigned)ids.id[i]);
		assert_true(used < TEXT_MAX);
	}
	free(ids.id);
	return code;
}

static void
check_documents(
    enum token_format format, const char *name, unsigned token_bytes, const char *expected)
{
	struct token_file *t;
	char found[TEXT_MAX];

	assert_int_equal(open_file(&t, format, name, token_bytes), FAIL_NONE);
	assert_int_equal(read_rest(t, found), FAIL_NONE);
	assert_string_equal(found, expected);
	token_file_close(t);
}

static void
check_refused(enum token_format format, const char *name, unsigned token_bytes, enum fail_code code,
    const char *says)
{
	struct token_file *t = NULL;

	assert_int_equal(open_file(&t, format, name, token_bytes), code);
	if (strstr(f.text, says) == NULL)
		print_error("%s\n", f.text);
	assert_non_null(strstr(f.text, says));
}

/* ---- documents by eos ---- */

static void
test_an_eos_ends_a_document_and_the_file_the_last_one(void **unused)
{
	static const struct {
		const char *tokens, *documents;
	} rows[] = {
	    {"1 2 9 3 4", "0: 1 2|6: 3 4"},
	    {"1 2 9 3 4 9", "0: 1 2|6: 3 4"},
	    {"9 9 1", "0:|2:|4: 1"},
	    {"9", "0:"},
	    {"299", "0: 299"},
	    {"", ""},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, tokens) {
		save_tokens("a.npy", rows[i].tokens, 2);
		check_documents(TOKEN_FORMAT_NPY, "a.npy", 2, rows[i].documents);
		save_tokens("a.ds", rows[i].tokens, 2);
		check_documents(TOKEN_FORMAT_DS, "a.ds", 2, rows[i].documents);
	}
}

static void
test_an_eos_begins_a_document_of_llm_c(void **unused)
{
	static const struct {
		const char *tokens, *documents;
		unsigned n;
	} rows[] = {
	    {"9 1 2 9 3", "1024: 1 2|1030: 3", 5},
	    {"1 2 9 3", "1024: 1 2|1028: 3", 4},
	    {"9 9 1 9", "1024:|1026: 1|1030:", 4},
	    {"", "", 0},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, tokens) {
		save_llmc("a.bin", TOKEN_FORMAT_LLMC_MAGIC_U16, TOKEN_FORMAT_LLMC_VERSION_U16,
		    rows[i].n, rows[i].tokens, 2);
		check_documents(TOKEN_FORMAT_LLMC, "a.bin", 0, rows[i].documents);
	}
	save_llmc(
	    "a.bin", TOKEN_FORMAT_LLMC_MAGIC_U32, TOKEN_FORMAT_LLMC_VERSION_U32, 4, "9 1 9 2", 4);
	check_documents(TOKEN_FORMAT_LLMC, "a.bin", 0, "1024: 1|1032: 2");
}

/* ---- documents by an index ---- */

static void
test_an_index_of_ends_gives_the_documents(void **unused)
{
	(void)unused;
	save_tokens("a.ds", "1 9 2 9 9 3 4", 4); /* an eos inside stays, one at the end does not */
	save_tokens("a.ds.index", "4 4 5 7", 8);
	check_documents(TOKEN_FORMAT_DS, "a.ds", 4, "0: 1 9 2|16:|16:|20: 3 4");
	put_text("x|4\ny|2", 7);
	save("a.ds.metadata");
	check_documents(TOKEN_FORMAT_DS, "a.ds", 0, "0: 1 9 2|16:|16:|20: 3 4");
	check_refused(TOKEN_FORMAT_DS, "a.ds", 2, FAIL_CONFIG,
	    "a.ds: its .metadata says 4 bytes a token, the configuration has token_bytes: 2");
}

static void
test_a_megatron_index_gives_the_sequences_of_the_documents(void **unused)
{
	static const struct {
		const char *tokens;
		unsigned type, width;
	} rows[] = {
	    {"1 2 3 4 9", TOKEN_FORMAT_U8, 1},
	    {"1 2 3 4 9", TOKEN_FORMAT_I8, 1},
	    {"1 2 3 4 9", TOKEN_FORMAT_I16, 2},
	    {"1 2 3 4 9", TOKEN_FORMAT_U16, 2},
	    {"1 2 3 4 9", TOKEN_FORMAT_I32, 4},
	    {"1 2 3 4 9", TOKEN_FORMAT_I64, 8},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, tokens) {
		unsigned w = rows[i].width;
		char pointers[64], expected[64];

		save_tokens("a.bin", rows[i].tokens, w);
		/* [3 4] is before [1 2] and 9 in its document; the second document has nothing */
		snprintf(pointers, sizeof(pointers), "%u 0 %u", 2 * w, 4 * w);
		save_index("a.idx", rows[i].type, "2 2 1", pointers, 3, "0 2 2 3", 4);
		snprintf(expected, sizeof(expected), "%u: 3 4 1 2|%u:|%u:", 2 * w, 4 * w, 4 * w);
		log_set_level(LOG_ERROR); /* one byte is too few for the vocabulary */
		check_documents(TOKEN_FORMAT_MEGATRON, "a.bin", 0, expected);
	}
}

/* ---- what is refused ---- */

static void
test_an_index_that_is_not_of_the_file_is_refused(void **unused)
{
	static const struct {
		const char *lengths, *pointers, *documents;
		unsigned type, sequences, entries;
		const char *says;
	} rows[] = {
	    {"2 2 1", "0 4 8", "0 2 3", TOKEN_FORMAT_U16, 3, 3, NULL},
	    {"2 2 2", "0 4 8", "0 2 3", TOKEN_FORMAT_U16, 3, 3,
		"its sequences have 6 tokens, and a.bin has 5 of 2 bytes"},
	    {"2 2", "0 4", "0 1 2", TOKEN_FORMAT_U16, 2, 3, "its sequences have 4 tokens"},
	    {"2 2 1", "0 4 8", "0 2 2", TOKEN_FORMAT_U16, 3, 3,
		"its documents are sequences 0 to 2, and there are 3"},
	    {"2 2 1", "0 4 8", "1 2 3", TOKEN_FORMAT_U16, 3, 3,
		"its documents are sequences 1 to 3, and there are 3"},
	    {"2 2 1", "0 4 8", "0 2 3", TOKEN_FORMAT_U16, 3, 4,
		"bytes of tables where its header makes it"},
	    {"2 2 1", "0 4 8", "0 2 3", TOKEN_FORMAT_U16, 3, 0, "do not fit its"},
	    {"2 2 1", "0 4 8", "0 2 3", TOKEN_FORMAT_U16, 400, 3, "do not fit its"},
	    {"2 2 1", "0 4 8", "0 2 3", TOKEN_FORMAT_U16, 3, 400, "do not fit its"},
	    {"2 2 1", "0 4 8", "0 2 3", 6, 3, 3, "type 6 of its tokens is none of whole numbers"},
	    {"2 2 1", "0 4 8", "0 2 3", 9, 3, 3, "type 9 of its tokens"},
	    {"2 2 1", "0 4 8", "0 2 3", 0, 3, 3, "type 0 of its tokens"},
	};

	(void)unused;
	EACH_ROW(i, rows) {
		save_tokens("a.bin", "1 2 3 4 5", 2);
		save_index("a.idx", rows[i].type, rows[i].lengths, rows[i].pointers,
		    rows[i].sequences, rows[i].documents, rows[i].entries);
		if (rows[i].says == NULL)
			check_documents(TOKEN_FORMAT_MEGATRON, "a.bin", 0, "0: 1 2 3 4|8: 5");
		else
			check_refused(TOKEN_FORMAT_MEGATRON, "a.bin", 0, FAIL_DATA, rows[i].says);
	}
}

static void
test_a_damaged_table_is_named_at_its_document(void **unused)
{
	static const struct {
		const char *pointers, *documents, *says;
	} rows[] = {
	    {"0 4 10", "0 2 3", "document 1 of 2 has a sequence that does not lie in the file"},
	    {"0 8 8", "0 2 3", "document 0 of 2 has a sequence that does not lie in the file"},
	    {"0 4 8", "0 4 3", "document 0 of 2 has no range of sequences"},
	};
	char found[TEXT_MAX];

	(void)unused;
	EACH_NAMED_ROW(i, rows, pointers) {
		struct token_file *t;

		save_tokens("a.bin", "1 2 3 4 5", 2);
		save_index(
		    "a.idx", TOKEN_FORMAT_U16, "2 2 1", rows[i].pointers, 3, rows[i].documents, 3);
		assert_int_equal(open_file(&t, TOKEN_FORMAT_MEGATRON, "a.bin", 0), FAIL_NONE);
		assert_int_equal(read_rest(t, found), FAIL_DATA);
		assert_non_null(strstr(f.text, rows[i].says));
		token_file_close(t);
	}
}

static void
test_a_file_that_is_not_of_its_format_is_refused(void **unused)
{
	(void)unused;
	save_tokens("a.npy", "1 2 3", 2);
	check_refused(
	    TOKEN_FORMAT_NPY, "a.npy", 4, FAIL_DATA, "its 6 bytes of tokens are no multiple of 4");
	check_refused(TOKEN_FORMAT_NPY, "a.npy", 0, FAIL_CONFIG, "give the domain token_bytes");
	check_refused(TOKEN_FORMAT_DS, "a.npy", 2, FAIL_CONFIG, "needs the names of the .ds files");
	check_refused(
	    TOKEN_FORMAT_MEGATRON, "a.npy", 2, FAIL_CONFIG, "needs the names of the .bin files");
	check_refused(TOKEN_FORMAT_NPY, "none.npy", 2, FAIL_IO, "none.npy: cannot be opened");
	save_tokens("a.bin", "1 2 3", 2);
	check_refused(TOKEN_FORMAT_MEGATRON, "a.bin", 0, FAIL_IO, "the index of a.bin: ");
	put_text("0123456789012345678901234567890123456789", 40);
	save("a.idx");
	check_refused(TOKEN_FORMAT_MEGATRON, "a.bin", 0, FAIL_DATA, "does not begin with MMIDIDX");
	save_llmc("a.bin", TOKEN_FORMAT_LLMC_MAGIC_U16, TOKEN_FORMAT_LLMC_VERSION_U32, 1, "1", 2);
	check_refused(TOKEN_FORMAT_LLMC, "a.bin", 0, FAIL_DATA, "is no file of llm.c's tokens");
	save_llmc("a.bin", TOKEN_FORMAT_LLMC_MAGIC_U16, TOKEN_FORMAT_LLMC_VERSION_U16, 2, "1", 2);
	check_refused(TOKEN_FORMAT_LLMC, "a.bin", 0, FAIL_DATA,
	    "its header says 2 tokens, and there are 1 of 2 bytes");
	save_tokens("a.ds", "1 2 3", 2);
	save_tokens("a.ds.index", "2 4", 8);
	check_refused(TOKEN_FORMAT_DS, "a.ds", 2, FAIL_DATA,
	    "its last document ends at token 4, and a.ds has 3 of 2 bytes");
	save_tokens("a.ds.index", "3", 4);
	check_refused(TOKEN_FORMAT_DS, "a.ds", 2, FAIL_DATA, "its 4 bytes are no multiple of 8");
}

static void
test_a_numpy_header_says_what_the_tokens_are(void **unused)
{
	static const struct {
		const char *header, *says; /* NULL: it is read */
		unsigned width;
	} rows[] = {
	    {"{'descr': '<u2', 'fortran_order': False, 'shape': (3,), }", NULL, 2},
	    {"{'shape': (3,), 'descr':'<i4'}", NULL, 4},
	    {"{'descr': '|u1', 'shape': (3,)}", NULL, 1},
	    {"{'descr': '<i8', 'shape': (3,)}", NULL, 8},
	    {"{'descr': '>u2', 'shape': (3,)}", "another type", 2},
	    {"{'descr': '<f2', 'shape': (3,)}", "another type", 2},
	    {"{'descr': '<u16', 'shape': (3,)}", "another type", 2},
	    {"{'descr': [('a', '<u2')], 'shape': (3,)}", "another type", 2},
	    {"{'descr': '<u2', 'shape': (3, 1)}", "another shape", 2},
	    {"{'descr': '<u2', 'shape': (-3,)}", "another shape", 2},
	    {"{'descr': '<u2', 'shape': (99999999999999999999,)}", "another shape", 2},
	    {"{'descr': '<u2', 'shape': 3}", "another shape", 2},
	    {"{'descr': '<u2'}", "no 'descr' or no 'shape'", 2},
	    {"{'shape': (3,)}", "no 'descr' or no 'shape'", 2},
	    {"{'descr': '<u2', 'shape': (4,)}",
		"its header says 4 tokens, and there are 3 of 2 bytes", 2},
	};

	(void)unused;
	log_set_level(LOG_ERROR);
	EACH_NAMED_ROW(i, rows, header) {
		char expected[64];

		put_npy(rows[i].header);
		snprintf(expected, sizeof(expected), "%zu: 1 2|%zu:", bytes_n,
		    bytes_n + 3 * rows[i].width);
		save_tokens("a.npy", "1 2 9", rows[i].width);
		if (rows[i].says != NULL) {
			check_refused(TOKEN_FORMAT_NPY, "a.npy", 0, FAIL_DATA, rows[i].says);
			continue;
		}
		*strchr(expected, '|') = '\0'; /* the eos is the last token */
		check_documents(TOKEN_FORMAT_NPY, "a.npy", 0, expected);
	}
	put_npy("{'descr': '<u2', 'shape': (1,)}");
	bytes[6] = 4;
	save_tokens("a.npy", "1", 2);
	check_refused(TOKEN_FORMAT_NPY, "a.npy", 0, FAIL_DATA, "version 4 of NumPy's format");
}

static void
test_an_id_that_the_vocabulary_does_not_have_is_named_with_its_place(void **unused)
{
	static const struct {
		const char *tokens, *says;
		unsigned width;
	} rows[] = {
	    {"1 300 2", "token 1 (byte 2) is 300, which the vocabulary of ids below 300", 2},
	    {"1 2 250", "token 2 (byte 8) is 250, ", 4},
	    {"1 9 70000", "token 2 (byte 8) is 70000, ", 4},
	};
	struct token_file *t;
	char found[TEXT_MAX];

	(void)unused;
	EACH_NAMED_ROW(i, rows, tokens) {
		save_tokens("a.npy", rows[i].tokens, rows[i].width);
		assert_int_equal(
		    open_file(&t, TOKEN_FORMAT_NPY, "a.npy", rows[i].width), FAIL_NONE);
		assert_int_equal(read_rest(t, found), FAIL_DATA);
		assert_non_null(strstr(f.text, rows[i].says));
		token_file_close(t);
	}
	save_tokens("a.bin", "1 -1", 2);
	save_index("a.idx", TOKEN_FORMAT_I16, "2", "0", 1, "0 1", 2);
	assert_int_equal(open_file(&t, TOKEN_FORMAT_MEGATRON, "a.bin", 0), FAIL_NONE);
	assert_int_equal(read_rest(t, found), FAIL_DATA);
	assert_non_null(strstr(f.text, "token 1 (byte 2) is -1, "));
	token_file_close(t);
}

/* ---- long documents, and going to a place ---- */

static void
test_of_a_document_that_is_too_long_the_stump_is_given(void **unused)
{
	enum { MOST = 1000 };

	(void)unused;
	for (unsigned n = MOST; n <= MOST + 1; n++) {
		struct token_file_options o = {.name = "a.npy",
		    .format = TOKEN_FORMAT_NPY,
		    .token_bytes = 2,
		    .eos = EOS,
		    .known = known,
		    .entries = ENTRIES,
		    .max_document_bytes = 2 * MOST + 1};
		struct token_file_buffer ids = {0};
		struct token_file_document d;
		struct token_file *t;
		bool there;

		for (unsigned i = 0; i < n; i++)
			put(1, 2);
		save_tokens("a.npy", "9 2 3", 2);
		o.path = folder_path("a.npy");
		assert_int_equal(token_file_open(&t, &o, &f), FAIL_NONE);
		assert_int_equal(token_file_next(t, &d, &ids, &there, &f), FAIL_NONE);
		assert_true(there);
		assert_int_equal(d.n, n > MOST ? TOKEN_FILE_STUMP_TOKENS : n);
		assert_int_equal(d.reject != NULL, n > MOST);
		if (d.reject != NULL)
			assert_string_equal(d.reject,
			    "a document of 1001 tokens is longer than max_document_bytes, 2001; "
			    "documents are separated by tokenizer.eos");
		assert_int_equal(token_file_next(t, &d, &ids, &there, &f), FAIL_NONE);
		assert_true(there && d.n == 2 && d.number == 1 && d.reject == NULL);
		assert_int_equal(d.byte, 2 * (n + 1));
		assert_int_equal(ids.id[ids.n - 2], 2); /* after the stump */
		assert_int_equal(token_file_next(t, &d, &ids, &there, &f), FAIL_NONE);
		assert_false(there);
		free(ids.id);
		token_file_close(t);
	}
}

static void
test_a_run_continues_at_a_document_and_nowhere_else(void **unused)
{
	static const struct {
		enum token_format format;
		const char *name;
		uint64_t byte, number;
		const char *documents; /* NULL: there it does not begin */
	} rows[] = {
	    {TOKEN_FORMAT_NPY, "a.npy", 0, 0, "0: 1 2|6: 3|10: 4"},
	    {TOKEN_FORMAT_NPY, "a.npy", 6, 1, "6: 3|10: 4"},
	    {TOKEN_FORMAT_NPY, "a.npy", 10, 2, "10: 4"},
	    {TOKEN_FORMAT_NPY, "a.npy", 0, 1, NULL},
	    {TOKEN_FORMAT_NPY, "a.npy", 2, 1, NULL},
	    {TOKEN_FORMAT_NPY, "a.npy", 4, 1, NULL}, /* at the eos, not after it */
	    {TOKEN_FORMAT_NPY, "a.npy", 7, 1, NULL},
	    {TOKEN_FORMAT_NPY, "a.npy", 12, 3, NULL},
	    {TOKEN_FORMAT_LLMC, "b.bin", 1024, 0, "1024: 1|1028: 2"},
	    {TOKEN_FORMAT_LLMC, "b.bin", 1028, 1, "1028: 2"},
	    {TOKEN_FORMAT_LLMC, "b.bin", 1030, 1, NULL}, /* after the eos */
	    {TOKEN_FORMAT_LLMC, "b.bin", 1022, 0, NULL},
	    {TOKEN_FORMAT_DS, "c.ds", 0, 0, "0: 1 2|4: 3"},
	    {TOKEN_FORMAT_DS, "c.ds", 4, 1, "4: 3"},
	    {TOKEN_FORMAT_DS, "c.ds", 4, 0, NULL},
	    {TOKEN_FORMAT_DS, "c.ds", 2, 1, NULL},
	    {TOKEN_FORMAT_DS, "c.ds", 6, 2, NULL},
	    {TOKEN_FORMAT_MEGATRON, "d.bin", 6, 0, "6: 4 5|0: 1 2 3"},
	    {TOKEN_FORMAT_MEGATRON, "d.bin", 0, 1, "0: 1 2 3"},
	    {TOKEN_FORMAT_MEGATRON, "d.bin", 0, 0, NULL},
	    {TOKEN_FORMAT_MEGATRON, "d.bin", 10, 2, NULL},
	};
	char found[TEXT_MAX];

	(void)unused;
	save_tokens("a.npy", "1 2 9 3 9 4", 2);
	save_llmc(
	    "b.bin", TOKEN_FORMAT_LLMC_MAGIC_U16, TOKEN_FORMAT_LLMC_VERSION_U16, 4, "9 1 9 2", 2);
	save_tokens("c.ds", "1 2 3", 2);
	save_tokens("c.ds.index", "2 3", 8);
	save_tokens("d.bin", "1 2 3 4 5", 2);
	save_index("d.idx", TOKEN_FORMAT_U16, "2 3", "6 0", 2, "0 1 2", 3);
	EACH_NAMED_ROW(i, rows, name) {
		struct token_file *t;

		assert_int_equal(open_file(&t, rows[i].format, rows[i].name,
				     rows[i].format == TOKEN_FORMAT_LLMC ? 0 : 2),
		    FAIL_NONE);
		assert_int_equal(token_file_seek(t, rows[i].byte, rows[i].number, &f),
		    rows[i].documents == NULL ? FAIL_DATA : FAIL_NONE);
		if (rows[i].documents == NULL) {
			assert_non_null(strstr(f.text, "where the last run ended"));
		} else {
			assert_int_equal(read_rest(t, found), FAIL_NONE);
			assert_string_equal(found, rows[i].documents);
		}
		token_file_close(t);
	}
}

static void
test_a_file_ends_where_it_ended(void **unused)
{
	struct token_file *t;

	(void)unused;
	save_tokens("a.npy", "1 2", 2);
	assert_int_equal(open_file(&t, TOKEN_FORMAT_NPY, "a.npy", 2), FAIL_NONE);
	assert_int_equal(token_file_check_end(t, 4, &f), FAIL_NONE);
	assert_int_equal(token_file_check_end(t, 2, &f), FAIL_DATA);
	assert_non_null(strstr(f.text, "a.npy: ends at byte 4, and ended at 2"));
	token_file_close(t);
	token_file_close(NULL);
}

/* ---- the width ---- */

static void
test_a_width_that_is_hardly_right_is_warned_of(void **unused)
{
	static const struct {
		unsigned written, n, read, warnings;
	} rows[] = {
	    {2, 64, 2, 0}, {4, 64, 4, 0}, {4, 64, 2, 1}, {4, 16, 2, 1}, /* 32 tokens of two bytes */
	    {4, 15, 2, 0},                                              /* prove nothing */
	};

	(void)unused;
	EACH_ROW(i, rows) {
		struct token_file *t;
		char text[1024];
		struct capture c;

		for (unsigned k = 0; k < rows[i].n; k++)
			put(1 + k % 8, rows[i].written);
		save("a.npy");
		capture_begin(&c);
		assert_int_equal(open_file(&t, TOKEN_FORMAT_NPY, "a.npy", rows[i].read), FAIL_NONE);
		token_file_close(t);
		assert_int_equal(capture_end_lines(&c, text, sizeof(text)), rows[i].warnings);
		if (rows[i].warnings > 0)
			assert_non_null(strstr(text, "they may have 4 bytes"));
	}
}

static void
test_a_type_has_a_sign_or_has_not(void **unused)
{
	static const struct {
		const char *numpy;
		int megatron; /* 0: it has none */
		unsigned width;
		const char *says; /* of a token whose bits are all 1; NULL: it is an id */
	} rows[] = {
	    {"|u1", TOKEN_FORMAT_U8, 1, NULL},
	    {"|i1", TOKEN_FORMAT_I8, 1, "is -1,"},
	    {"<u2", TOKEN_FORMAT_U16, 2, "is 65535,"},
	    {"<i2", TOKEN_FORMAT_I16, 2, "is -1,"},
	    {"<u4", 0, 4, "is 4294967295,"},
	    {"<i4", TOKEN_FORMAT_I32, 4, "is -1,"},
	    {"<i8", TOKEN_FORMAT_I64, 8, "is -1,"},
	};

	(void)unused;
	log_set_level(LOG_ERROR);
	EACH_NAMED_ROW(i, rows, numpy) {
		char header[64], found[TEXT_MAX];

		for (int index = 0; index < 2; index++) {
			struct token_file *t;

			if (index == 1 && rows[i].megatron == 0)
				continue;
			snprintf(header, sizeof(header), "{'descr': '%s', 'shape': (1,)}",
			    rows[i].numpy);
			if (index == 0)
				put_npy(header);
			else
				save_index(
				    "a.idx", (unsigned)rows[i].megatron, "1", "0", 1, "0 1", 2);
			save_tokens("a.bin", "-1", rows[i].width);
			assert_int_equal(
			    open_file(&t, index == 0 ? TOKEN_FORMAT_NPY : TOKEN_FORMAT_MEGATRON,
				"a.bin", 0),
			    FAIL_NONE);
			assert_int_equal(
			    read_rest(t, found), rows[i].says == NULL ? FAIL_NONE : FAIL_DATA);
			assert_non_null(rows[i].says == NULL ? strstr(found, ": 255")
							     : strstr(f.text, rows[i].says));
			token_file_close(t);
		}
	}
}

static void
test_a_numpy_header_of_each_version_is_read(void **unused)
{
	static const char header[] = "{'descr': '<u2', 'shape': (2,)}";

	(void)unused;
	for (int version = 0; version <= 4; version++) {
		char expected[64];

		put_text("\x93NUMPY", 6);
		put((uint64_t)version, 2);
		put(strlen(header), version == 1 ? 2 : 4);
		put_text(header, strlen(header));
		snprintf(expected, sizeof(expected), "%zu: 1 2", bytes_n);
		save_tokens("a.npy", "1 2", 2);
		if (version == 0 || version == 4)
			check_refused(TOKEN_FORMAT_NPY, "a.npy", 0, FAIL_DATA, "version ");
		else
			check_documents(TOKEN_FORMAT_NPY, "a.npy", 0, expected);
	}
}

static void
test_metadata_says_the_width_at_the_end_of_its_first_line(void **unused)
{
	static const struct {
		const char *text;
		unsigned said;
	} rows[] = {
	    {"gpt2|2\n6\n", 2},
	    {"gpt2|4\n2|2\n", 4},
	    {"gpt2|2", 2},
	    {"|4\n", 4},
	    {"gpt2\n|2\n", 0},
	    {"gpt2\n", 0},
	    {"gpt|8\n", 0},
	    {"gpt|24\n", 0},
	    {"2\n", 0},
	    {"4", 0},
	    {"|\n2", 0},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, text) {
		save_tokens("a.ds", "1 2 9 3", rows[i].said == 0 ? 2 : rows[i].said);
		put_text(rows[i].text, strlen(rows[i].text));
		save("a.ds.metadata");
		for (unsigned set = 0; set <= 4; set += 2) {
			unsigned width = rows[i].said == 0 ? set : rows[i].said;

			if (width == 0 || (set != 0 && set != width))
				check_refused(
				    TOKEN_FORMAT_DS, "a.ds", set, FAIL_CONFIG, "token_bytes");
			else if (rows[i].said != 0 || set == 2)
				check_documents(TOKEN_FORMAT_DS, "a.ds", set,
				    width == 2 ? "0: 1 2|6: 3" : "0: 1 2|12: 3");
		}
	}
}

static void
test_an_index_with_modes_is_of_multimodal_data(void **unused)
{
	(void)unused;
	save_tokens("a.bin", "", 2);
	save_index("a.idx", TOKEN_FORMAT_U16, "", "", 0, "0", 1); /* it has no sequences */
	check_documents(TOKEN_FORMAT_MEGATRON, "a.bin", 0, "");
	for (unsigned more = 1; more <= 4; more++) {
		save_tokens("a.bin", "1 2 3", 2);
		put_text(TOKEN_FORMAT_MEGATRON_MAGIC, TOKEN_FORMAT_MEGATRON_MAGIC_BYTES);
		put(TOKEN_FORMAT_MEGATRON_VERSION, 8);
		put(TOKEN_FORMAT_U16, 1);
		put(3, 8);
		put(2, 8);
		put_tokens("1 1 1", 4);
		put_tokens("0 2 4", 8);
		put_tokens("0 3", 8);
		put(0, more);
		save("a.idx");
		check_refused(TOKEN_FORMAT_MEGATRON, "a.bin", 0, FAIL_DATA,
		    more == 3 ? "has a mode for each sequence"
			      : "bytes of tables where its header makes it");
	}
}

/* Whether the file is warned of with ids below `entries`. */
static bool
warns(const char *name, unsigned width, uint32_t entries)
{
	static bool all[1 << 17];
	const struct token_file_options o = {.path = folder_path(name),
	    .name = name,
	    .format = TOKEN_FORMAT_NPY,
	    .token_bytes = width,
	    .eos = EOS,
	    .known = all,
	    .entries = entries,
	    .max_document_bytes = 1 << 20};
	struct token_file *t;
	char text[1024];
	struct capture c;

	capture_begin(&c);
	assert_int_equal(token_file_open(&t, &o, &f), FAIL_NONE);
	token_file_close(t);
	return capture_end_lines(&c, text, sizeof(text)) > 0;
}

static void
test_a_width_has_ids_up_to_its_limit(void **unused)
{
	static const struct {
		const char *type;
		unsigned width;
		uint32_t entries; /* that it has ids for */
	} rows[] = {{"|u1", 1, 256}, {"|i1", 1, 128}, {"<u2", 2, 65536}, {"<i2", 2, 32768}};

	(void)unused;
	log_set_level(LOG_WARNING);
	EACH_NAMED_ROW(i, rows, type) {
		char header[64];

		snprintf(header, sizeof(header), "{'descr': '%s', 'shape': (1,)}", rows[i].type);
		put_npy(header);
		save_tokens("a.npy", "1", rows[i].width);
		assert_false(warns("a.npy", 0, rows[i].entries));
		assert_true(warns("a.npy", 0, rows[i].entries + 1));
	}
}

static void
test_zeros_are_warned_of_at_every_second_place_only(void **unused)
{
	static const struct {
		unsigned even, odd; /* zeros of 100 */
		bool warns;
	} rows[] = {{0, 100, true}, {100, 0, true}, {0, 90, true}, {90, 0, true}, {0, 89, false},
	    {60, 100, true}, {61, 100, false}, {100, 60, true}, {100, 61, false}, {100, 100, false},
	    {55, 95, true}};

	(void)unused;
	log_set_level(LOG_WARNING);
	EACH_ROW(i, rows) {
		for (unsigned k = 0; k < 100; k++) {
			put(k >= rows[i].even, 2);
			put(k >= rows[i].odd, 2);
		}
		save("a.npy");
		assert_int_equal(warns("a.npy", 2, ENTRIES), rows[i].warns);
	}
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, folder_close)
	const struct CMUnitTest tests[] = {
	    TEST(test_an_eos_ends_a_document_and_the_file_the_last_one),
	    TEST(test_an_eos_begins_a_document_of_llm_c),
	    TEST(test_an_index_of_ends_gives_the_documents),
	    TEST(test_a_megatron_index_gives_the_sequences_of_the_documents),
	    TEST(test_an_index_that_is_not_of_the_file_is_refused),
	    TEST(test_a_damaged_table_is_named_at_its_document),
	    TEST(test_a_file_that_is_not_of_its_format_is_refused),
	    TEST(test_a_numpy_header_says_what_the_tokens_are),
	    TEST(test_an_id_that_the_vocabulary_does_not_have_is_named_with_its_place),
	    TEST(test_of_a_document_that_is_too_long_the_stump_is_given),
	    TEST(test_a_run_continues_at_a_document_and_nowhere_else),
	    TEST(test_a_file_ends_where_it_ended),
	    TEST(test_a_width_that_is_hardly_right_is_warned_of),
	    TEST(test_a_type_has_a_sign_or_has_not),
	    TEST(test_a_numpy_header_of_each_version_is_read),
	    TEST(test_metadata_says_the_width_at_the_end_of_its_first_line),
	    TEST(test_an_index_with_modes_is_of_multimodal_data),
	    TEST(test_a_width_has_ids_up_to_its_limit),
	    TEST(test_zeros_are_warned_of_at_every_second_place_only),
	};

	return cmocka_run_group_tests_name("token_file", tests, NULL, NULL);
}
