#include "producer/input/token_header.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/record/token_format.h"

/* ---- what goes for several formats ---- */

static bool
ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), end_n = strlen(end);

	return n >= end_n && strcmp(text + n - end_n, end) == 0;
}

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

/* ---- Megatron ---- */

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

static enum fail_code
read_megatron(struct token_file *t, struct failure *f)
{
	const uint8_t *at;
	uint64_t version;
	size_t got;

	if (!ends_with(t->o.name, ".bin"))
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
	return take_rest(t, 0, f);
}

/* ---- datatrove, Nanotron ---- */

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

	if (!ends_with(t->o.name, ".ds"))
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

/* ---- NumPy ---- */

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

/* ---- llm.c ---- */

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

enum fail_code
token_header_read(struct token_file *t, struct failure *f)
{
	switch (t->o.format) {
	case CONFIG_TOKENS_MEGATRON: return read_megatron(t, f);
	case CONFIG_TOKENS_DS: return read_ds(t, f);
	case CONFIG_TOKENS_NPY: return read_npy(t, f);
	case CONFIG_TOKENS_LLMC: return read_llmc(t, f);
	case CONFIG_TOKENS_NONE: break;
	}
	abort(); /* unreachable */
}
