#include "consumer/admin/export_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/file.h"
#include "common/base/text.h"
#include "common/record/token_format.h"

enum { BUFFER_BYTES = 1 << 20, PARTS_MAX = 3, NAMES_BYTES = 512 };

/* Files by what they hold, in the order in which they get their names: a reader opens the index. */
enum part { PART_TOKENS, PART_METADATA, PART_INDEX };

struct part_file {
	const char *ending; /* NULL: the format has none */
	char *path, *partial;
	FILE *to; /* NULL: not open */
	bool made;
};

struct export_file {
	struct export_file_options o;
	struct part_file part[PARTS_MAX];
	/*
	 * u64 for each document: the token behind it. For ds this is the index itself. Megatron's
	 * index begins with the number of documents and has three tables, so that it can only be
	 * written at the end: until then they are in a file without a name.
	 */
	FILE *ends;
	unsigned width; /* bytes of a token */
	uint64_t header_bytes;
	uint64_t tokens, documents;
	uint64_t kept;    /* tokens up to the last document that ended; kept <= tokens */
	bool open;        /* a document is */
	bool eos_pending; /* an eos that is written only if more of the document follows */
	char names[NAMES_BYTES];
};

static const char *const endings[][PARTS_MAX] = {
    [TOKEN_FORMAT_MEGATRON] = {[PART_TOKENS] = ".bin", [PART_INDEX] = ".idx"},
    [TOKEN_FORMAT_DS] =
	{[PART_TOKENS] = ".ds", [PART_METADATA] = ".ds.metadata", [PART_INDEX] = ".ds.index"},
    [TOKEN_FORMAT_NPY] = {[PART_TOKENS] = ".npy"},
    [TOKEN_FORMAT_LLMC] = {[PART_TOKENS] = ".bin"},
};

/* ---- opening ---- */

static enum fail_code
fail_write(const struct export_file *e, enum part part, struct failure *f)
{
	return fail_errno(f, FAIL_IO, "writing %s", e->part[part].partial);
}

static enum fail_code
check_absent(const struct export_file *e, const struct part_file *p, struct failure *f)
{
	struct stat st;

	if (e->o.force || (lstat(p->path, &st) != 0 && errno == ENOENT))
		return FAIL_NONE;
	return fail(f, FAIL_IO, "%s is there already: remove it, or give --force", p->path);
}

static enum fail_code
open_part(struct part_file *p, struct failure *f)
{
	int fd = file_create(p->partial);

	if (fd < 0)
		return fail_errno(f, FAIL_IO, "%s cannot be made", p->partial);
	p->made = true;
	p->to = fdopen(fd, "wb+");
	if (p->to == NULL) {
		fail_errno(f, FAIL_IO, "%s cannot be made", p->partial);
		close(fd);
		return f->code;
	}
	setvbuf(p->to, NULL, _IOFBF, BUFFER_BYTES);
	return FAIL_NONE;
}

/* Where the ends of documents are kept until the index can be written. */
static enum fail_code
open_ends(struct export_file *e, struct failure *f)
{
	struct part_file *index = &e->part[PART_INDEX];
	char *path;
	int fd;

	if (e->o.format != TOKEN_FORMAT_MEGATRON) {
		e->ends = index->to;
		return FAIL_NONE;
	}
	if (asprintf(&path, "%s.ends.XXXXXX", e->o.prefix) < 0)
		return fail_memory(f);
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		unlink(path);
	e->ends = fd < 0 ? NULL : fdopen(fd, "wb+");
	if (e->ends == NULL) {
		fail_errno(f, FAIL_IO, "%s cannot be made", path);
		if (fd >= 0)
			close(fd);
		free(path);
		return f->code;
	}
	free(path);
	return FAIL_NONE;
}

/* A prefix that is a folder, or has an ending that it gets here, is not what its user means. */
static enum fail_code
check_prefix(const struct export_file *e, struct failure *f)
{
	const char *slash = strrchr(e->o.prefix, '/');
	const char *name = slash == NULL ? e->o.prefix : slash + 1;

	if (*name == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return fail(f, FAIL_USAGE,
		    "--out %s is a folder: give the path of the files without their endings, as "
		    "%s%sweb",
		    e->o.prefix, e->o.prefix, *name == '\0' ? "" : "/");
	for (int i = 0; i < PARTS_MAX; i++) {
		const char *ending = endings[e->o.format][i];

		if (ending != NULL && text_ends_with(name, ending))
			return fail(f, FAIL_USAGE,
			    "--out %s: it is without endings, which the form gives: --out %.*s",
			    e->o.prefix, (int)(strlen(e->o.prefix) - strlen(ending)), e->o.prefix);
	}
	return FAIL_NONE;
}

static enum fail_code
name_parts(struct export_file *e, struct failure *f)
{
	size_t used = 0;

	for (int i = 0; i < PARTS_MAX; i++) {
		struct part_file *p = &e->part[i];

		p->ending = endings[e->o.format][i];
		if (p->ending == NULL)
			continue;
		if (asprintf(&p->path, "%s%s", e->o.prefix, p->ending) < 0) {
			p->path = NULL;
			return fail_memory(f);
		}
		if (asprintf(&p->partial, "%s.partial", p->path) < 0) {
			p->partial = NULL;
			return fail_memory(f);
		}
		if (used < sizeof(e->names))
			used += (size_t)snprintf(e->names + used, sizeof(e->names) - used, "%s%s",
			    used == 0 ? "" : ", ", p->path);
	}
	return FAIL_NONE;
}

static enum fail_code
open_all(struct export_file *e, struct failure *f)
{
	uint8_t zeros[TOKEN_FORMAT_LLMC_HEADER_BYTES] = {0};

	if (check_prefix(e, f) != FAIL_NONE || name_parts(e, f) != FAIL_NONE)
		return f->code;
	for (int i = 0; i < PARTS_MAX; i++)
		if (e->part[i].path != NULL && check_absent(e, &e->part[i], f) != FAIL_NONE)
			return f->code;
	for (int i = 0; i < PARTS_MAX; i++)
		if (e->part[i].path != NULL && open_part(&e->part[i], f) != FAIL_NONE)
			return f->code;
	if (e->part[PART_INDEX].path != NULL && open_ends(e, f) != FAIL_NONE)
		return f->code;
	if (e->o.format != TOKEN_FORMAT_LLMC)
		return FAIL_NONE;
	e->header_bytes = sizeof(zeros);
	if (fwrite(zeros, sizeof(zeros), 1, e->part[PART_TOKENS].to) != 1)
		return fail_errno(f, FAIL_IO, "writing %s", e->part[PART_TOKENS].partial);
	return FAIL_NONE;
}

enum fail_code
export_file_open(struct export_file **out, const struct export_file_options *o, struct failure *f)
{
	struct export_file *e = calloc(1, sizeof(*e));

	assert(token_format_is_file(o->format));
	if (e == NULL)
		return fail_memory(f);
	e->o = *o;
	e->width = o->entries <= 1U << 16 ? 2 : 4;
	e->o.prefix = strdup(o->prefix);
	e->o.tokenizer = strdup(o->tokenizer);
	if (e->o.prefix == NULL || e->o.tokenizer == NULL)
		fail_memory(f);
	else if (open_all(e, f) == FAIL_NONE) {
		*out = e;
		return FAIL_NONE;
	}
	export_file_close(e);
	return f->code;
}

/* ---- writing ---- */

static enum fail_code
put_tokens(struct export_file *e, const uint32_t *id, size_t n, struct failure *f)
{
	uint8_t bytes[4096];
	size_t each = sizeof(bytes) / e->width;

	assert(e->width == 2 || e->width == 4);
	for (size_t i = 0; i < n; i += each) {
		size_t some = n - i < each ? n - i : each;

		for (size_t k = 0; k < some; k++)
			token_format_put(bytes + k * e->width, e->width, id[i + k]);
		if (fwrite(bytes, e->width, some, e->part[PART_TOKENS].to) != some)
			return fail_write(e, PART_TOKENS, f);
	}
	e->tokens += n;
	if (e->o.format == TOKEN_FORMAT_LLMC && e->tokens > INT32_MAX)
		return fail(f, FAIL_DATA,
		    "%s: llm.c's header counts at most %" PRId32
		    " tokens, and there are more: export it as megatron, ds or npy",
		    e->part[PART_TOKENS].path, INT32_MAX);
	return FAIL_NONE;
}

/* Whether the format has eos in front of documents and not behind them. */
static bool
is_in_front(const struct export_file *e)
{
	return e->o.format == TOKEN_FORMAT_LLMC && !e->o.stream;
}

/*
 * An eos that comes last is kept back: it may end the document, and then export_file_end() writes
 * it, or the format has it in front of the next document, or the document had none and gets one. An
 * eos inside of a document is written when more of the document follows.
 */
enum fail_code
export_file_tokens(struct export_file *e, const uint32_t *id, size_t n, struct failure *f)
{
	if (n == 0)
		return FAIL_NONE;
	assert(id != NULL);
	if (!e->open && is_in_front(e) && put_tokens(e, &e->o.eos, 1, f) != FAIL_NONE)
		return f->code;
	e->open = true;
	if (e->o.stream)
		return put_tokens(e, id, n, f);
	if (e->eos_pending && put_tokens(e, &e->o.eos, 1, f) != FAIL_NONE)
		return f->code;
	e->eos_pending = id[n - 1] == e->o.eos;
	return put_tokens(e, id, n - e->eos_pending, f);
}

static enum fail_code
put_end(struct export_file *e, struct failure *f)
{
	uint8_t bytes[8];

	token_format_put(bytes, 8, e->tokens);
	if (e->ends != NULL && fwrite(bytes, sizeof(bytes), 1, e->ends) != 1)
		return fail_write(e, PART_INDEX, f);
	return FAIL_NONE;
}

/* Cuts the file behind the last document that ended. */
static enum fail_code
take_back(struct export_file *e, struct failure *f)
{
	FILE *to = e->part[PART_TOKENS].to;
	uint64_t size = e->header_bytes + e->kept * e->width;

	assert(e->kept <= e->tokens);
	if (fflush(to) != 0 || fseeko(to, (off_t)size, SEEK_SET) != 0 ||
	    ftruncate(fileno(to), (off_t)size) != 0)
		return fail_write(e, PART_TOKENS, f);
	e->tokens = e->kept;
	return FAIL_NONE;
}

enum fail_code
export_file_end(struct export_file *e, bool whole, struct failure *f)
{
	if (!e->open)
		return FAIL_NONE;
	assert(e->kept <= e->tokens);
	e->open = e->eos_pending = false;
	if (!whole)
		return take_back(e, f);
	if (!e->o.stream && !is_in_front(e) && put_tokens(e, &e->o.eos, 1, f) != FAIL_NONE)
		return f->code;
	if (e->tokens - e->kept > INT32_MAX && e->o.format == TOKEN_FORMAT_MEGATRON)
		return fail(f, FAIL_DATA, "%s: a document of %" PRIu64 " tokens fits no index",
		    e->part[PART_TOKENS].path, e->tokens - e->kept);
	e->kept = e->tokens;
	e->documents++;
	return put_end(e, f);
}

/* ---- finishing ---- */

enum index_table { LENGTHS, POINTERS, DOCUMENTS };

/* One table of Megatron's index, out of the ends. */
static enum fail_code
put_table(struct export_file *e, enum index_table table, struct failure *f)
{
	FILE *to = e->part[PART_INDEX].to;
	uint64_t before = 0;

	rewind(e->ends);
	for (uint64_t i = 0; i < e->documents; i++) {
		uint8_t bytes[8], length[4];
		uint64_t end;

		if (fread(bytes, sizeof(bytes), 1, e->ends) != 1)
			return fail_errno(
			    f, FAIL_IO, "reading what was kept for %s", e->part[PART_INDEX].path);
		end = token_format_get(bytes, 8);
		token_format_put(length, 4, end - before);
		token_format_put(bytes, 8, table == POINTERS ? before * e->width : i);
		before = end;
		if (fwrite(table == LENGTHS ? length : bytes, table == LENGTHS ? 4 : 8, 1, to) != 1)
			return fail_write(e, PART_INDEX, f);
	}
	return FAIL_NONE;
}

static enum fail_code
put_megatron_index(struct export_file *e, struct failure *f)
{
	uint8_t header[TOKEN_FORMAT_MEGATRON_HEADER_BYTES], last[8];
	FILE *to = e->part[PART_INDEX].to;

	memcpy(header, TOKEN_FORMAT_MEGATRON_MAGIC, TOKEN_FORMAT_MEGATRON_MAGIC_BYTES);
	token_format_put(header + 9, 8, TOKEN_FORMAT_MEGATRON_VERSION);
	header[17] = e->width == 2 ? TOKEN_FORMAT_U16 : TOKEN_FORMAT_I32;
	token_format_put(header + 18, 8, e->documents);
	token_format_put(header + 26, 8, e->documents + 1);
	token_format_put(last, 8, e->documents);
	if (fwrite(header, sizeof(header), 1, to) != 1)
		return fail_write(e, PART_INDEX, f);
	if (put_table(e, LENGTHS, f) != FAIL_NONE || put_table(e, POINTERS, f) != FAIL_NONE ||
	    put_table(e, DOCUMENTS, f) != FAIL_NONE)
		return f->code;
	return fwrite(last, sizeof(last), 1, to) == 1 ? FAIL_NONE : fail_write(e, PART_INDEX, f);
}

/* Tokenizer and width, then the number of tokens, then the same as "1.23 MT" for people. */
static enum fail_code
put_metadata(struct export_file *e, struct failure *f)
{
	static const char unit[] = " KMGT";
	double shown = (double)e->tokens;
	size_t i = 0;

	for (; shown >= 1000 && i + 2 < sizeof(unit); i++)
		shown /= 1000;
	if (fprintf(e->part[PART_METADATA].to, "%s|%u\n%" PRIu64 "\n%.3g %.*sT", e->o.tokenizer,
		e->width, e->tokens, shown, i > 0, unit + i) < 0)
		return fail_write(e, PART_METADATA, f);
	return FAIL_NONE;
}

/* Over the zeros that export_file_open() left there: only now is the number of tokens known. */
static enum fail_code
put_llmc_header(struct export_file *e, struct failure *f)
{
	FILE *to = e->part[PART_TOKENS].to;
	bool two = e->width == 2;
	uint8_t start[12];

	token_format_put(start, 4, two ? TOKEN_FORMAT_LLMC_MAGIC_U16 : TOKEN_FORMAT_LLMC_MAGIC_U32);
	token_format_put(
	    start + 4, 4, two ? TOKEN_FORMAT_LLMC_VERSION_U16 : TOKEN_FORMAT_LLMC_VERSION_U32);
	token_format_put(start + 8, 4, e->tokens);
	if (fseeko(to, 0, SEEK_SET) != 0 || fwrite(start, sizeof(start), 1, to) != 1)
		return fail_write(e, PART_TOKENS, f);
	return FAIL_NONE;
}

static enum fail_code
complete(struct export_file *e, struct failure *f)
{
	switch (e->o.format) {
	case TOKEN_FORMAT_MEGATRON: return put_megatron_index(e, f);
	case TOKEN_FORMAT_DS: return put_metadata(e, f);
	case TOKEN_FORMAT_LLMC: return put_llmc_header(e, f);
	case TOKEN_FORMAT_NPY:
	case TOKEN_FORMAT_NONE:
	case TOKEN_FORMAT_JSONL: return FAIL_NONE;
	}
	abort(); /* unreachable */
}

static enum fail_code
sync_part(struct export_file *e, enum part part, struct failure *f)
{
	struct part_file *p = &e->part[part];
	FILE *to = p->to;

	if (fflush(to) != 0 || fsync(fileno(to)) != 0)
		return fail_write(e, part, f);
	p->to = NULL;
	if (to == e->ends)
		e->ends = NULL;
	return fclose(to) == 0 ? FAIL_NONE : fail_write(e, part, f);
}

/*
 * Gives a file its name. Without --force a file that appeared there meanwhile is not replaced
 * either: RENAME_NOREPLACE does both in one step. File systems without it (EINVAL, or a kernel's
 * ENOSYS) get a plain rename, after the check at the opening.
 */
static enum fail_code
rename_part(struct export_file *e, struct part_file *p, struct failure *f)
{
	int refused = e->o.force ? EINVAL : 0;

	if (refused == 0 &&
	    renameat2(AT_FDCWD, p->partial, AT_FDCWD, p->path, RENAME_NOREPLACE) != 0)
		refused = errno;
	if (refused == EINVAL || refused == ENOSYS)
		refused = rename(p->partial, p->path) != 0 ? errno : 0;
	errno = refused;
	if (refused != 0)
		return fail_errno(f, FAIL_IO, "giving %s its name", p->path);
	p->made = false;
	return FAIL_NONE;
}

/* A name lasts once its folder is synced. */
static enum fail_code
sync_folder(const struct export_file *e, struct failure *f)
{
	const char *slash = strrchr(e->o.prefix, '/');
	char *folder =
	    slash == NULL ? strdup(".") : strndup(e->o.prefix, (size_t)(slash - e->o.prefix) + 1);
	int fd;

	if (folder == NULL)
		return fail_memory(f);
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || (fsync(fd) != 0 && errno != EINVAL)) {
		fail_errno(f, FAIL_IO, "syncing folder %s", folder);
		if (fd >= 0)
			close(fd);
		free(folder);
		return f->code;
	}
	close(fd);
	free(folder);
	return FAIL_NONE;
}

enum fail_code
export_file_finish(struct export_file *e, struct failure *f)
{
	assert(!e->open);
	if (complete(e, f) != FAIL_NONE)
		return f->code;
	for (int i = 0; i < PARTS_MAX; i++)
		if (e->part[i].to != NULL && sync_part(e, (enum part)i, f) != FAIL_NONE)
			return f->code;
	for (int i = 0; i < PARTS_MAX; i++)
		if (e->part[i].path != NULL && rename_part(e, &e->part[i], f) != FAIL_NONE)
			return f->code;
	return sync_folder(e, f);
}

void
export_file_close(struct export_file *e)
{
	if (e == NULL)
		return;
	if (e->ends != NULL && e->ends != e->part[PART_INDEX].to)
		fclose(e->ends);
	for (int i = 0; i < PARTS_MAX; i++) {
		struct part_file *p = &e->part[i];

		if (p->to != NULL)
			fclose(p->to);
		if (p->made)
			unlink(p->partial);
		free(p->path);
		free(p->partial);
	}
	free((char *)(uintptr_t)e->o.prefix);
	free((char *)(uintptr_t)e->o.tokenizer);
	free(e);
}

/* ---- what was written ---- */

uint64_t
export_file_documents(const struct export_file *e)
{
	return e->documents;
}

uint64_t
export_file_token_count(const struct export_file *e)
{
	return e->tokens;
}

const char *
export_file_names(const struct export_file *e)
{
	return e->names;
}
