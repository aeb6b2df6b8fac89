/*
 * token_file.c -- token files of four formats, seen as one: [first, end) of a file has tokens of
 * one width, and `bounds` says how documents are found in it.
 *
 * Order of this file: headers, which fill struct token_file; open and close; tokens; documents;
 * going to a place.
 */
#include "producer/input/token_file.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/text.h"
#include "common/record/token_format.h"
#include "producer/input/token_window.h"

/* By what a document's end is known. */
enum token_bounds {
	TOKEN_BOUNDS_EOS_BEHIND,
	TOKEN_BOUNDS_EOS_BEFORE,
	TOKEN_BOUNDS_ENDS,      /* a table of ends */
	TOKEN_BOUNDS_SEQUENCES, /* tables of sequences and of their documents */
};

/* check_width() looks at so many of the first tokens; fewer than the minimum prove nothing. */
enum { WIDTH_TOKENS = 4096, WIDTH_TOKENS_MIN = 32 };

/* Tables of an index, each read through a window of its own. */
enum token_table { TABLE_LENGTHS, TABLE_POINTERS, TABLE_DOCUMENTS, TABLE_ENDS, TABLES };

struct token_file {
	struct token_file_options o; /* path and name are copies */
	struct token_window tokens;
	uint64_t first, end; /* the tokens are bytes [first, end) of `tokens` */
	unsigned width;      /* of a token: 1, 2, 4, 8 */
	bool is_signed;
	enum token_bounds bounds;
	struct token_window table[TABLES];
	uint64_t table_at[TABLES]; /* where it begins in the index */
	uint64_t documents, sequences;

	uint64_t at;     /* byte of the next document; not with TOKEN_BOUNDS_SEQUENCES */
	uint64_t number; /* of the next document */
	char reason[TOKEN_FILE_REASON_BYTES];
};

/* ---- headers: what goes for several formats ---- */

/* `text` with its last `cut` bytes replaced by `end`. Gives *out (free). */
static enum fail_code
sibling(char **out, const char *text, size_t cut, const char *end, struct failure *f)
{
	if (asprintf(out, "%.*s%s", (int)(strlen(text) - cut), text, end) < 0) {
		*out = NULL;
		return fail_memory(f);
	}
	return FAIL_NONE;
}

/* Opens another file of the same name into windows first..last. FAIL_IO: it cannot be opened. */
static enum fail_code
open_tables(struct token_file *t, size_t cut, const char *end, enum token_table first,
    enum token_table last, struct failure *f)
{
	char *path = NULL, *name = NULL;
	enum fail_code code = FAIL_NONE;

	if (sibling(&path, t->o.path, cut, end, f) != FAIL_NONE ||
	    sibling(&name, t->o.name, cut, end, f) != FAIL_NONE)
		code = f->code;
	for (int i = (int)first; i <= (int)last && code == FAIL_NONE; i++)
		code = token_window_open(&t->table[i], path, name, TOKEN_FILE_INDEX_BYTES, f);
	free(path);
	free(name);
	return code;
}

/* The width of a token by what the file says (0: nothing) and what the configuration does. */
static enum fail_code
choose_width(struct token_file *t, unsigned said, const char *who, struct failure *f)
{
	if (said != 0 && t->o.token_bytes != 0 && said != t->o.token_bytes)
		return fail(f, FAIL_CONFIG,
		    "%s: %s says %u bytes a token, the configuration has token_bytes: %u; leave "
		    "it out",
		    t->o.name, who, said, t->o.token_bytes);
	t->width = said != 0 ? said : t->o.token_bytes;
	if (t->width == 0)
		return fail(f, FAIL_CONFIG,
		    "%s: nothing says how wide its tokens are: give the domain token_bytes: 2 or "
		    "4",
		    t->o.name);
	return FAIL_NONE;
}

/* The tokens are all of the file behind `first`. */
static enum fail_code
take_rest(struct token_file *t, uint64_t first, struct failure *f)
{
	t->first = first;
	t->end = t->tokens.size_bytes;
	assert(first <= t->end);
	if ((t->end - first) % t->width != 0)
		return fail(f, FAIL_DATA,
		    "%s: its %" PRIu64 " bytes of tokens are no multiple of %u, the width of one; "
		    "it is truncated, or made otherwise",
		    t->o.name, t->end - first, t->width);
	return FAIL_NONE;
}

/* ---- headers: Megatron ---- */

static enum fail_code
take_type(struct token_file *t, uint64_t code, struct failure *f)
{
	static const struct {
		unsigned width;
		bool is_signed;
	} type[] = {
	    [TOKEN_FORMAT_U8] = {1, false},
	    [TOKEN_FORMAT_I8] = {1, true},
	    [TOKEN_FORMAT_I16] = {2, true},
	    [TOKEN_FORMAT_I32] = {4, true},
	    [TOKEN_FORMAT_I64] = {8, true},
	    [TOKEN_FORMAT_U16] = {2, false},
	};

	if (code >= sizeof(type) / sizeof(type[0]) || type[code].width == 0)
		return fail(f, FAIL_DATA,
		    "%s: type %" PRIu64 " of its tokens is none of whole numbers",
		    t->table[TABLE_LENGTHS].name, code);
	t->width = type[code].width;
	t->is_signed = type[code].is_signed;
	return FAIL_NONE;
}

/* Places the tables behind the header, which must fill the index. */
static enum fail_code
place_tables(struct token_file *t, uint64_t entries, struct failure *f)
{
	const struct token_window *w = &t->table[TABLE_LENGTHS];
	uint64_t room = w->size_bytes - TOKEN_FORMAT_MEGATRON_HEADER_BYTES, needed;

	if (t->sequences > room / 12 || entries > room / 8 || entries == 0)
		return fail(f, FAIL_DATA,
		    "%s: %" PRIu64 " sequences and %" PRIu64 " entries of documents do not fit its "
		    "%" PRIu64 " bytes",
		    w->name, t->sequences, entries, w->size_bytes);
	needed = 12 * t->sequences + 8 * entries;
	if (room == needed + t->sequences && t->sequences > 0)
		return fail(f, FAIL_DATA,
		    "%s: has a mode for each sequence, as multimodal data have; only text is read",
		    w->name);
	if (room != needed)
		return fail(f, FAIL_DATA,
		    "%s: has %" PRIu64 " bytes of tables where its header makes it %" PRIu64,
		    w->name, room, needed);
	t->table_at[TABLE_LENGTHS] = TOKEN_FORMAT_MEGATRON_HEADER_BYTES;
	t->table_at[TABLE_POINTERS] = t->table_at[TABLE_LENGTHS] + 4 * t->sequences;
	t->table_at[TABLE_DOCUMENTS] = t->table_at[TABLE_POINTERS] + 8 * t->sequences;
	t->documents = entries - 1;
	return FAIL_NONE;
}

static enum fail_code
check_document_ends(struct token_file *t, struct failure *f)
{
	struct token_window *w = &t->table[TABLE_DOCUMENTS];
	uint64_t first, last;

	if (token_window_number(w, t->table_at[TABLE_DOCUMENTS], 8, &first, f) != FAIL_NONE ||
	    token_window_number(w, t->table_at[TABLE_DOCUMENTS] + 8 * t->documents, 8, &last, f) !=
		FAIL_NONE)
		return f->code;
	if (first != 0 || last != t->sequences)
		return fail(f, FAIL_DATA,
		    "%s: its documents are sequences %" PRIu64 " to %" PRIu64
		    ", and there are %" PRIu64,
		    w->name, first, last, t->sequences);
	return FAIL_NONE;
}

/* An index that was made for other tokens, or for another width, has another number of them. */
static enum fail_code
check_lengths(struct token_file *t, struct failure *f)
{
	struct token_window *w = &t->table[TABLE_LENGTHS];
	uint64_t sum = 0, tokens = (t->end - t->first) / t->width;

	for (uint64_t i = 0; i < t->sequences; i++) {
		uint64_t length;

		if (token_window_number(w, t->table_at[TABLE_LENGTHS] + 4 * i, 4, &length, f) !=
		    FAIL_NONE)
			return f->code;
		sum += length;
	}
	if (sum != tokens)
		return fail(f, FAIL_DATA,
		    "%s: its sequences have %" PRIu64 " tokens, and %s has %" PRIu64
		    " of %u byte%s: the index is not of this file; make both again",
		    w->name, sum, t->o.name, tokens, t->width, t->width == 1 ? "" : "s");
	return FAIL_NONE;
}

static enum fail_code
read_megatron(struct token_file *t, struct failure *f)
{
	const uint8_t *at;
	uint64_t version;
	size_t got;

	if (!text_ends_with(t->o.name, ".bin"))
		return fail(f, FAIL_CONFIG,
		    "%s: tokens: megatron needs the names of the .bin files; each has its .idx "
		    "beside it",
		    t->o.name);
	if (open_tables(t, 4, ".idx", TABLE_LENGTHS, TABLE_DOCUMENTS, f) != FAIL_NONE)
		return fail_within(f, "the index of %s", t->o.name);
	if (token_window_get(&t->table[TABLE_LENGTHS], 0, TOKEN_FORMAT_MEGATRON_HEADER_BYTES, &at,
		&got, f) != FAIL_NONE)
		return f->code;
	version = token_format_get(at + 9, 8);
	if (memcmp(at, TOKEN_FORMAT_MEGATRON_MAGIC, TOKEN_FORMAT_MEGATRON_MAGIC_BYTES) != 0)
		return fail(f, FAIL_DATA, "%s: does not begin with MMIDIDX, as a Megatron index",
		    t->table[TABLE_LENGTHS].name);
	if (version != TOKEN_FORMAT_MEGATRON_VERSION)
		return fail(f, FAIL_DATA, "%s: version %" PRIu64 " is not known; %d is",
		    t->table[TABLE_LENGTHS].name, version, TOKEN_FORMAT_MEGATRON_VERSION);
	t->sequences = token_format_get(at + 18, 8);
	version = token_format_get(at + 26, 8); /* entries of the table of documents */
	if (take_type(t, at[17], f) != FAIL_NONE || place_tables(t, version, f) != FAIL_NONE ||
	    check_document_ends(t, f) != FAIL_NONE)
		return f->code;
	t->bounds = TOKEN_BOUNDS_SEQUENCES;
	return take_rest(t, 0, f) != FAIL_NONE ? f->code : check_lengths(t, f);
}

/* ---- headers: datatrove, Nanotron ---- */

/* The bytes of a token by the metadata's first line: "name|2". 0: there is none, or it has not. */
static enum fail_code
read_metadata(struct token_file *t, unsigned *said, struct failure *f)
{
	struct token_window w = {0};
	char *path = NULL;
	const uint8_t *at, *line;
	size_t got;
	enum fail_code code;

	*said = 0;
	if (sibling(&path, t->o.path, 0, ".metadata", f) != FAIL_NONE)
		return f->code;
	if (access(path, F_OK) != 0) {
		free(path);
		return FAIL_NONE;
	}
	code = token_window_open(&w, path, t->o.name, TOKEN_FILE_HEADER_MAX, f);
	free(path);
	if (code == FAIL_NONE)
		code = token_window_get(
		    &w, 0, w.size_bytes < w.room ? (size_t)w.size_bytes : w.room, &at, &got, f);
	if (code == FAIL_NONE) {
		line = memchr(at, '\n', got);
		got = line == NULL ? got : (size_t)(line - at);
		if (got >= 2 && at[got - 2] == '|' && (at[got - 1] == '2' || at[got - 1] == '4'))
			*said = at[got - 1] - '0';
	} else {
		fail_within(f, "the metadata");
	}
	token_window_close(&w);
	return code;
}

static enum fail_code
read_ends(struct token_file *t, struct failure *f)
{
	struct token_window *w = &t->table[TABLE_ENDS];
	uint64_t last = 0, tokens = (t->end - t->first) / t->width;

	t->documents = w->size_bytes / 8;
	if (w->size_bytes % 8 != 0)
		return fail(f, FAIL_DATA, "%s: its %" PRIu64 " bytes are no multiple of 8", w->name,
		    w->size_bytes);
	if (t->documents > 0 &&
	    token_window_number(w, 8 * (t->documents - 1), 8, &last, f) != FAIL_NONE)
		return f->code;
	if (last != tokens)
		return fail(f, FAIL_DATA,
		    "%s: its last document ends at token %" PRIu64 ", and %s has %" PRIu64
		    " of %u bytes",
		    w->name, last, t->o.name, tokens, t->width);
	t->bounds = TOKEN_BOUNDS_ENDS;
	return FAIL_NONE;
}

static enum fail_code
read_ds(struct token_file *t, struct failure *f)
{
	char *path = NULL;
	unsigned said;
	bool index;

	if (!text_ends_with(t->o.name, ".ds"))
		return fail(f, FAIL_CONFIG,
		    "%s: tokens: ds needs the names of the .ds files; each may have its .ds.index "
		    "and .ds.metadata beside it",
		    t->o.name);
	if (read_metadata(t, &said, f) != FAIL_NONE ||
	    choose_width(t, said, "its .metadata", f) != FAIL_NONE ||
	    take_rest(t, 0, f) != FAIL_NONE ||
	    sibling(&path, t->o.path, 0, ".index", f) != FAIL_NONE)
		return f->code;
	index = access(path, F_OK) == 0;
	free(path);
	t->bounds = TOKEN_BOUNDS_EOS_BEHIND;
	if (!index)
		return FAIL_NONE;
	return open_tables(t, 0, ".index", TABLE_ENDS, TABLE_ENDS, f) != FAIL_NONE
		   ? f->code
		   : read_ends(t, f);
}

/* ---- headers: NumPy ---- */

/* The value behind a key of the header's dictionary; NULL: there is none. */
static const char *
find_key(const char *header, const char *key)
{
	const char *at = strstr(header, key);

	if (at == NULL)
		return NULL;
	at += strlen(key);
	at += strspn(at, " ");
	if (*at++ != ':')
		return NULL;
	return at + strspn(at, " ");
}

static enum fail_code
fail_npy(const struct token_file *t, const char *what, struct failure *f)
{
	return fail(f, FAIL_DATA,
	    "%s: its NumPy header says %s; a one-dimensional array of little-endian whole numbers "
	    "is needed",
	    t->o.name, what);
}

/* What np.save() wrote: {'descr': '<u2', 'fortran_order': False, 'shape': (12,), } */
static enum fail_code
take_npy_header(struct token_file *t, const char *header, uint64_t first, struct failure *f)
{
	const char *type = find_key(header, "'descr'"), *shape = find_key(header, "'shape'");
	char *rest;
	unsigned long long count;

	if (type == NULL || shape == NULL)
		return fail_npy(t, "no 'descr' or no 'shape'", f);
	if (*type != '\'' || strchr("<|", type[1]) == NULL || strchr("ui", type[2]) == NULL ||
	    strchr("1248", type[3]) == NULL || type[1] == '\0' || type[2] == '\0' ||
	    type[3] == '\0' || type[4] != '\'')
		return fail_npy(t, "another type", f);
	t->is_signed = type[2] == 'i';
	t->width = (unsigned)(type[3] - '0');
	errno = 0;
	if (*shape != '(' || shape[1] < '0' || shape[1] > '9')
		return fail_npy(t, "another shape", f);
	count = strtoull(shape + 1, &rest, 10);
	if (errno != 0 || strncmp(rest, ",)", 2) != 0)
		return fail_npy(t, "another shape", f);
	if (take_rest(t, first, f) != FAIL_NONE)
		return f->code;
	if ((t->end - t->first) / t->width != count)
		return fail(f, FAIL_DATA,
		    "%s: its header says %llu tokens, and there are %" PRIu64 " of %u bytes",
		    t->o.name, count, (t->end - t->first) / t->width, t->width);
	return choose_width(t, t->width, "its header", f);
}

static enum fail_code
read_npy_header(struct token_file *t, const uint8_t *at, struct failure *f)
{
	unsigned size_width = at[6] == 1 ? 2 : 4;
	uint64_t first, n;
	char *header;
	size_t got;
	enum fail_code code;

	if (at[6] < 1 || at[6] > 3)
		return fail(f, FAIL_DATA, "%s: version %d of NumPy's format is not known",
		    t->o.name, at[6]);
	if (token_window_number(&t->tokens, 8, size_width, &n, f) != FAIL_NONE)
		return f->code;
	first = 8 + size_width + n;
	if (n > TOKEN_FILE_HEADER_MAX || first > t->tokens.size_bytes)
		return fail(f, FAIL_DATA, "%s: a NumPy header of %" PRIu64 " bytes is too long",
		    t->o.name, n);
	if (token_window_get(&t->tokens, 8 + size_width, (size_t)n, &at, &got, f) != FAIL_NONE)
		return f->code;
	header = strndup((const char *)at, (size_t)n);
	if (header == NULL)
		return fail_memory(f);
	code = take_npy_header(t, header, first, f);
	free(header);
	return code;
}

static enum fail_code
read_npy(struct token_file *t, struct failure *f)
{
	const uint8_t *at;
	size_t got;

	t->bounds = TOKEN_BOUNDS_EOS_BEHIND;
	if (t->tokens.size_bytes >= 8) {
		if (token_window_get(&t->tokens, 0, 8, &at, &got, f) != FAIL_NONE)
			return f->code;
		if (memcmp(at, TOKEN_FORMAT_NPY_MAGIC, TOKEN_FORMAT_NPY_MAGIC_BYTES) == 0)
			return read_npy_header(t, at, f);
	}
	return choose_width(t, 0, "", f) != FAIL_NONE ? f->code : take_rest(t, 0, f);
}

/* ---- headers: llm.c ---- */

static enum fail_code
read_llmc(struct token_file *t, struct failure *f)
{
	uint64_t magic, version, count;
	const uint8_t *at;
	size_t got;

	if (token_window_get(&t->tokens, 0, TOKEN_FORMAT_LLMC_HEADER_BYTES, &at, &got, f) !=
	    FAIL_NONE)
		return f->code;
	magic = token_format_get(at, 4);
	version = token_format_get(at + 4, 4);
	count = token_format_get(at + 8, 4);
	if (magic == TOKEN_FORMAT_LLMC_MAGIC_U16 && version == TOKEN_FORMAT_LLMC_VERSION_U16)
		t->width = 2;
	else if (magic == TOKEN_FORMAT_LLMC_MAGIC_U32 && version == TOKEN_FORMAT_LLMC_VERSION_U32)
		t->width = 4;
	else
		return fail(f, FAIL_DATA,
		    "%s: magic %" PRIu64 " version %" PRIu64 " is no file of llm.c's tokens (%d "
		    "version %d, or %d version %d)",
		    t->o.name, magic, version, TOKEN_FORMAT_LLMC_MAGIC_U16,
		    TOKEN_FORMAT_LLMC_VERSION_U16, TOKEN_FORMAT_LLMC_MAGIC_U32,
		    TOKEN_FORMAT_LLMC_VERSION_U32);
	t->bounds = TOKEN_BOUNDS_EOS_BEFORE;
	if (take_rest(t, TOKEN_FORMAT_LLMC_HEADER_BYTES, f) != FAIL_NONE)
		return f->code;
	if ((t->end - t->first) / t->width != count)
		return fail(f, FAIL_DATA,
		    "%s: its header says %" PRIu64 " tokens, and there are %" PRIu64 " of %u bytes",
		    t->o.name, count, (t->end - t->first) / t->width, t->width);
	return FAIL_NONE;
}

/* Fills all but the place from the headers; t->tokens is open. */
static enum fail_code
read_header(struct token_file *t, struct failure *f)
{
	switch (t->o.format) {
	case TOKEN_FORMAT_MEGATRON: return read_megatron(t, f);
	case TOKEN_FORMAT_DS: return read_ds(t, f);
	case TOKEN_FORMAT_NPY: return read_npy(t, f);
	case TOKEN_FORMAT_LLMC: return read_llmc(t, f);
	case TOKEN_FORMAT_NONE:
	case TOKEN_FORMAT_JSONL: break;
	}
	abort(); /* unreachable */
}

/* ---- open and close ---- */

static int64_t value_of(const uint8_t *at, unsigned width, bool is_signed);

/*
 * Warns if the tokens seem to be of another width than the file or the configuration says. If
 * tokens of 4 bytes are read as tokens of 2, nearly every second one is 0: the upper half of an id.
 */
static enum fail_code
check_width(struct token_file *t, struct failure *f)
{
	const unsigned bits = 8 * t->width - t->is_signed;
	const uint64_t tokens = (t->end - t->first) / t->width;
	size_t n = tokens < WIDTH_TOKENS ? (size_t)tokens : WIDTH_TOKENS, got, zeros[2] = {0};
	const uint8_t *at;

	if (t->o.quiet)
		return FAIL_NONE;
	if (n >= WIDTH_TOKENS_MIN &&
	    token_window_get(&t->tokens, t->first, n * t->width, &at, &got, f) != FAIL_NONE)
		return f->code;
	for (size_t i = 0; n >= WIDTH_TOKENS_MIN && i < n; i++)
		zeros[i % 2] += value_of(at + i * t->width, t->width, t->is_signed) == 0;
	for (size_t i = 0; n >= WIDTH_TOKENS_MIN && i < 2; i++)
		if (zeros[i] >= n / 2 * 9 / 10 && zeros[1 - i] <= n / 2 * 6 / 10) {
			log_warning(
			    "input: INPUT-TOKEN-WIDTH file=%s has %u byte%s a token, and "
			    "every second of its tokens is 0: they may have %u bytes. Compare "
			    "token_bytes, or the header or index, with the program that "
			    "made the file",
			    TEXT_VALUE(t->o.name), t->width, t->width == 1 ? "" : "s",
			    2 * t->width);
			return FAIL_NONE;
		}
	if (bits < 32 && t->o.entries > UINT32_C(1) << bits)
		log_warning("input: INPUT-TOKEN-WIDTH file=%s has %u byte%s a token, too few for "
			    "the %" PRIu32 " ids of the vocabulary. Compare token_bytes, or the "
			    "header or index, and the tokenizer with the program that made the "
			    "file",
		    TEXT_VALUE(t->o.name), t->width, t->width == 1 ? "" : "s", t->o.entries);
	return FAIL_NONE;
}

enum fail_code
token_file_open(struct token_file **out, const struct token_file_options *o, struct failure *f)
{
	struct token_file *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return fail_memory(f);
	t->o = *o;
	t->o.path = strdup(o->path);
	t->o.name = strdup(o->name);
	if (t->o.path == NULL || t->o.name == NULL) {
		fail_memory(f);
		goto failed;
	}
	if (token_window_open(&t->tokens, o->path, o->name, TOKEN_FILE_WINDOW_BYTES, f) !=
		FAIL_NONE ||
	    read_header(t, f) != FAIL_NONE || check_width(t, f) != FAIL_NONE)
		goto failed;
	t->at = t->first;
	*out = t;
	return FAIL_NONE;
failed:
	token_file_close(t);
	return f->code;
}

void
token_file_close(struct token_file *t)
{
	if (t == NULL)
		return;
	token_window_close(&t->tokens);
	for (int i = 0; i < TABLES; i++)
		token_window_close(&t->table[i]);
	free((char *)(uintptr_t)t->o.path);
	free((char *)(uintptr_t)t->o.name);
	free(t);
}

/* ---- tokens ---- */

static int64_t
value_of(const uint8_t *at, unsigned width, bool is_signed)
{
	uint16_t two;
	uint32_t four;
	uint64_t eight;

	switch (width) {
	case 1: return is_signed ? (int64_t)(int8_t)*at : (int64_t)*at;
	case 2:
		memcpy(&two, at, 2);
		two = le16toh(two);
		return is_signed ? (int64_t)(int16_t)two : (int64_t)two;
	case 4:
		memcpy(&four, at, 4);
		four = le32toh(four);
		return is_signed ? (int64_t)(int32_t)four : (int64_t)four;
	case 8: memcpy(&eight, at, 8); return (int64_t)le64toh(eight);
	}
	abort(); /* unreachable */
}

static enum fail_code
fail_unknown(const struct token_file *t, uint64_t byte, int64_t value, struct failure *f)
{
	return fail(f, FAIL_DATA,
	    "%s: token %" PRIu64 " (byte %" PRIu64 ") is %" PRId64
	    ", which the vocabulary of ids below %" PRIu32
	    " does not have: is it the tokenizer that the file was made with?",
	    t->o.name, (byte - t->first) / t->width, byte, value, t->o.entries);
}

static enum fail_code
reserve(struct token_file_buffer *b, size_t more, struct failure *f)
{
	size_t room = b->room + b->room / 2 + more;
	uint32_t *grown;

	if (b->room - b->n >= more)
		return FAIL_NONE;
	grown = realloc(b->id, room * sizeof(*grown));
	if (grown == NULL)
		return fail_memory(f);
	b->id = grown;
	b->room = room;
	return FAIL_NONE;
}

/*
 * A document under way; of what is too long only the stump is kept, while its tokens are still
 * counted and checked up to its end.
 */
struct taking {
	struct token_file_buffer *ids;
	size_t first;   /* in `ids` */
	uint64_t n;     /* tokens so far */
	uint64_t most;  /* that it may have */
	bool until_eos; /* ends in front of the first eos */
	bool ended;     /* there was one */
};

/*
 * Takes the tokens at[0..n), or those before an eos; *taken of them. It is the inner
 * loop of an import.
 */
static enum fail_code
take_block(const struct token_file *t, struct taking *k, const uint8_t *at, size_t n, uint64_t byte,
    size_t *taken, struct failure *f)
{
	uint32_t *out = k->ids->id + k->ids->n;
	const unsigned width = t->width;
	const bool is_signed = t->is_signed;
	size_t i;

	*taken = 0;
	for (i = 0; i < n; i++) {
		int64_t value = value_of(at + i * width, width, is_signed);

		if (value < 0 || value >= t->o.entries || !t->o.known[value])
			return fail_unknown(t, byte + i * width, value, f);
		if (k->until_eos && (uint32_t)value == t->o.eos) {
			k->ended = true;
			break;
		}
		out[i] = (uint32_t)value;
	}
	*taken = i;
	k->n += i;
	k->ids->n += i;
	if (k->n > k->most && k->ids->n - k->first > TOKEN_FILE_STUMP_TOKENS)
		k->ids->n = k->first + TOKEN_FILE_STUMP_TOKENS;
	return FAIL_NONE;
}

/* Takes the tokens of bytes [from, to); *reached is where it came to. */
static enum fail_code
take_range(struct token_file *t, struct taking *k, uint64_t from, uint64_t to, uint64_t *reached,
    struct failure *f)
{
	assert(from <= to);
	assert((to - from) % t->width == 0);
	while (from < to && !k->ended) {
		const uint8_t *at;
		size_t got, n, taken;

		if (token_window_get(&t->tokens, from, t->width, &at, &got, f) != FAIL_NONE)
			return f->code;
		n = (to - from < got ? (size_t)(to - from) : got) / t->width;
		if (reserve(k->ids, n, f) != FAIL_NONE ||
		    take_block(t, k, at, n, from, &taken, f) != FAIL_NONE)
			return f->code;
		from += taken * t->width;
	}
	*reached = from;
	return FAIL_NONE;
}

static enum fail_code
is_eos(struct token_file *t, uint64_t byte, bool *eos, struct failure *f)
{
	const uint8_t *at;
	size_t got;

	if (token_window_get(&t->tokens, byte, t->width, &at, &got, f) != FAIL_NONE)
		return f->code;
	*eos = value_of(at, t->width, t->is_signed) == t->o.eos;
	return FAIL_NONE;
}

/* ---- documents ---- */

/*
 * Document by eos: t->at goes behind it.
 *
 *     behind    a b eos | c d          at 0: [a b], then at 3: [c d]
 *     before    eos a b | eos c        at 0: the eos is its own, [a b]; at 3: [c]
 */
static enum fail_code
next_by_eos(struct token_file *t, struct taking *k, struct failure *f)
{
	uint64_t from = t->at;
	bool eos = false;

	k->until_eos = true;
	if (t->bounds == TOKEN_BOUNDS_EOS_BEFORE && is_eos(t, from, &eos, f) != FAIL_NONE)
		return f->code;
	if (take_range(t, k, from + (eos ? t->width : 0), t->end, &t->at, f) != FAIL_NONE)
		return f->code;
	if (k->ended && t->bounds == TOKEN_BOUNDS_EOS_BEHIND)
		t->at += t->width;
	return FAIL_NONE;
}

static enum fail_code
fail_table(const struct token_file *t, enum token_table table, const char *what, struct failure *f)
{
	return fail(f, FAIL_DATA, "%s: document %" PRIu64 " of %" PRIu64 " %s",
	    t->table[table].name, t->number, t->documents, what);
}

/* Document by the table of ends: t->at goes to its end. */
static enum fail_code
next_by_ends(struct token_file *t, struct taking *k, struct failure *f)
{
	uint64_t end;

	if (token_window_number(&t->table[TABLE_ENDS], 8 * t->number, 8, &end, f) != FAIL_NONE)
		return f->code;
	if (end > (t->end - t->first) / t->width || end * t->width < t->at)
		return fail_table(t, TABLE_ENDS, "ends before it begins, or behind the file", f);
	return take_range(t, k, t->at, end * t->width, &t->at, f);
}

/* The sequences of document `number`. */
static enum fail_code
find_sequences(
    struct token_file *t, uint64_t number, uint64_t *first, uint64_t *end, struct failure *f)
{
	struct token_window *w = &t->table[TABLE_DOCUMENTS];
	uint64_t at = t->table_at[TABLE_DOCUMENTS] + 8 * number;

	if (token_window_number(w, at, 8, first, f) != FAIL_NONE ||
	    token_window_number(w, at + 8, 8, end, f) != FAIL_NONE)
		return f->code;
	if (*first > *end || *end > t->sequences)
		return fail_table(t, TABLE_DOCUMENTS, "has no range of sequences", f);
	return FAIL_NONE;
}

static enum fail_code
find_sequence(
    struct token_file *t, uint64_t sequence, uint64_t *from, uint64_t *to, struct failure *f)
{
	uint64_t length;

	if (token_window_number(&t->table[TABLE_LENGTHS], t->table_at[TABLE_LENGTHS] + 4 * sequence,
		4, &length, f) != FAIL_NONE ||
	    token_window_number(&t->table[TABLE_POINTERS],
		t->table_at[TABLE_POINTERS] + 8 * sequence, 8, from, f) != FAIL_NONE)
		return f->code;
	if (length > INT32_MAX || *from > t->end || (t->end - *from) / t->width < length)
		return fail_table(
		    t, TABLE_POINTERS, "has a sequence that does not lie in the file", f);
	*to = *from + length * t->width;
	return FAIL_NONE;
}

static enum fail_code
next_by_sequences(struct token_file *t, struct taking *k, struct failure *f)
{
	uint64_t first, end, from, to;

	if (find_sequences(t, t->number, &first, &end, f) != FAIL_NONE)
		return f->code;
	for (uint64_t s = first; s < end; s++)
		if (find_sequence(t, s, &from, &to, f) != FAIL_NONE ||
		    take_range(t, k, from, to, &t->at, f) != FAIL_NONE)
			return f->code;
	return FAIL_NONE;
}

/* Where document `number` begins; of one without tokens, where the next one does. */
static enum fail_code
place_of(struct token_file *t, uint64_t number, uint64_t *byte, struct failure *f)
{
	uint64_t first, end;

	*byte = t->at;
	if (t->bounds != TOKEN_BOUNDS_SEQUENCES)
		return FAIL_NONE;
	if (find_sequences(t, number, &first, &end, f) != FAIL_NONE)
		return f->code;
	*byte = t->end;
	return first == t->sequences ? FAIL_NONE : find_sequence(t, first, byte, &end, f);
}

static enum fail_code
next(struct token_file *t, struct taking *k, struct failure *f)
{
	switch (t->bounds) {
	case TOKEN_BOUNDS_EOS_BEHIND:
	case TOKEN_BOUNDS_EOS_BEFORE: return next_by_eos(t, k, f);
	case TOKEN_BOUNDS_ENDS: return next_by_ends(t, k, f);
	case TOKEN_BOUNDS_SEQUENCES: return next_by_sequences(t, k, f);
	}
	abort(); /* unreachable */
}

static bool
has_index(const struct token_file *t)
{
	return t->bounds == TOKEN_BOUNDS_ENDS || t->bounds == TOKEN_BOUNDS_SEQUENCES;
}

/* An index may count the eos to a document; the caller adds it in any case. */
static void
leave_out_eos(const struct token_file *t, struct taking *k)
{
	if (has_index(t) && k->n > 0 && k->n <= k->most && k->ids->id[k->ids->n - 1] == t->o.eos) {
		k->n--;
		k->ids->n--;
	}
}

enum fail_code
token_file_next(struct token_file *t, struct token_file_document *d, struct token_file_buffer *ids,
    bool *there, struct failure *f)
{
	struct taking k = {.ids = ids, .first = ids->n, .most = t->o.max_document_bytes / t->width};

	assert(ids->n <= ids->room);
	*there = has_index(t) ? t->number < t->documents : t->at < t->end;
	if (!*there)
		return FAIL_NONE;
	*d = (struct token_file_document){.number = t->number};
	if (place_of(t, t->number, &d->byte, f) != FAIL_NONE || next(t, &k, f) != FAIL_NONE)
		return f->code;
	leave_out_eos(t, &k);
	t->number++;
	d->n = ids->n - k.first;
	d->bytes = t->at;
	if (k.n > k.most) {
		snprintf(t->reason, sizeof(t->reason),
		    "a document of %" PRIu64 " tokens is longer than max_document_bytes, %" PRIu64
		    "%s",
		    k.n, t->o.max_document_bytes,
		    has_index(t) ? "" : "; documents are separated by tokenizer.eos");
		d->reject = t->reason;
	}
	return FAIL_NONE;
}

/* ---- going to a place ---- */

static enum fail_code
fail_moved(const struct token_file *t, uint64_t byte, uint64_t number, struct failure *f)
{
	return fail(f, FAIL_DATA,
	    "%s: document %" PRIu64 " does not begin at byte %" PRIu64
	    ", where the last run ended; a run is resumed on the data it began with",
	    t->o.name, number, byte);
}

/* Without an index the number cannot be checked; that an eos is at the place can. */
static enum fail_code
seek_by_eos(struct token_file *t, uint64_t byte, uint64_t number, struct failure *f)
{
	bool eos = false;

	if (byte < t->first || byte >= t->end || (byte - t->first) % t->width != 0)
		return fail_moved(t, byte, number, f);
	if (byte > t->first &&
	    is_eos(t, t->bounds == TOKEN_BOUNDS_EOS_BEHIND ? byte - t->width : byte, &eos, f) !=
		FAIL_NONE)
		return f->code;
	if (byte > t->first ? !eos : number != 0)
		return fail_moved(t, byte, number, f);
	t->at = byte;
	t->number = number;
	return FAIL_NONE;
}

enum fail_code
token_file_seek(struct token_file *t, uint64_t byte, uint64_t number, struct failure *f)
{
	uint64_t at = 0;

	if (!has_index(t))
		return seek_by_eos(t, byte, number, f);
	if (number >= t->documents)
		return fail_moved(t, byte, number, f);
	if (t->bounds == TOKEN_BOUNDS_ENDS && number > 0 &&
	    token_window_number(&t->table[TABLE_ENDS], 8 * (number - 1), 8, &at, f) != FAIL_NONE)
		return f->code;
	t->at = at * t->width;
	if (place_of(t, number, &at, f) != FAIL_NONE)
		return f->code;
	if (at != byte)
		return fail_moved(t, byte, number, f);
	t->number = number;
	return FAIL_NONE;
}

enum fail_code
token_file_check_end(struct token_file *t, uint64_t byte, struct failure *f)
{
	if (t->end == byte)
		return FAIL_NONE;
	return fail(f, FAIL_DATA,
	    "%s: ends at byte %" PRIu64 ", and ended at %" PRIu64
	    " in the last run; a run is resumed on the data it began with",
	    t->o.name, t->end, byte);
}
