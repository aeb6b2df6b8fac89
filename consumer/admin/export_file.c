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

#include "common/record/token_format.h"
#include "consumer/admin/export_file_state.h"

enum { BUFFER_BYTES = 1 << 20 };

static const char *const endings[][EXPORT_PARTS_MAX] = {
    [TOKEN_FORMAT_MEGATRON] = {[PART_TOKENS] = ".bin", [PART_INDEX] = ".idx"},
    [TOKEN_FORMAT_DS] =
	{[PART_TOKENS] = ".ds", [PART_METADATA] = ".ds.metadata", [PART_INDEX] = ".ds.index"},
    [TOKEN_FORMAT_NPY] = {[PART_TOKENS] = ".npy"},
    [TOKEN_FORMAT_LLMC] = {[PART_TOKENS] = ".bin"},
};

/* ---- opening ---- */

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
	p->to = fopen(p->partial, "wb+e");
	if (p->to == NULL)
		return fail_errno(f, FAIL_IO, "%s cannot be made", p->partial);
	p->made = true;
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

static enum fail_code
name_parts(struct export_file *e, struct failure *f)
{
	size_t used = 0;

	for (int i = 0; i < EXPORT_PARTS_MAX; i++) {
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

	if (name_parts(e, f) != FAIL_NONE)
		return f->code;
	for (int i = 0; i < EXPORT_PARTS_MAX; i++)
		if (e->part[i].path != NULL && check_absent(e, &e->part[i], f) != FAIL_NONE)
			return f->code;
	for (int i = 0; i < EXPORT_PARTS_MAX; i++)
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

	assert(o->format != TOKEN_FORMAT_NONE);
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

void
export_file_close(struct export_file *e)
{
	if (e == NULL)
		return;
	if (e->ends != NULL && e->ends != e->part[PART_INDEX].to)
		fclose(e->ends);
	for (int i = 0; i < EXPORT_PARTS_MAX; i++) {
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

/* ---- writing ---- */

enum fail_code
export_file_fail_write(const struct export_file *e, enum export_part part, struct failure *f)
{
	return fail_errno(f, FAIL_IO, "writing %s", e->part[part].partial);
}

static enum fail_code
put_tokens(struct export_file *e, const uint32_t *id, size_t n, struct failure *f)
{
	uint8_t bytes[4096];
	size_t each = sizeof(bytes) / e->width;

	for (size_t i = 0; i < n; i += each) {
		size_t some = n - i < each ? n - i : each;

		for (size_t k = 0; k < some; k++)
			token_format_put(bytes + k * e->width, e->width, id[i + k]);
		if (fwrite(bytes, e->width, some, e->part[PART_TOKENS].to) != some)
			return export_file_fail_write(e, PART_TOKENS, f);
	}
	e->tokens += n;
	if (e->o.format == TOKEN_FORMAT_LLMC && e->tokens > INT32_MAX)
		return fail(f, FAIL_DATA,
		    "%s: llm.c's header counts at most %" PRId32
		    " tokens, and there are more: export it as megatron, ds or npy",
		    e->part[PART_TOKENS].path, INT32_MAX);
	return FAIL_NONE;
}

/* Whether eos stands in front of documents and not behind them. */
static bool
is_in_front(const struct export_file *e)
{
	return e->o.format == TOKEN_FORMAT_LLMC && !e->o.stream;
}

/* An eos that comes last is kept back: where it ends the document, it is put by other rules. */
enum fail_code
export_file_tokens(struct export_file *e, const uint32_t *id, size_t n, struct failure *f)
{
	if (n == 0)
		return FAIL_NONE;
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
		return export_file_fail_write(e, PART_INDEX, f);
	return FAIL_NONE;
}

static enum fail_code
take_back(struct export_file *e, struct failure *f)
{
	FILE *to = e->part[PART_TOKENS].to;
	uint64_t size = e->header_bytes + e->kept * e->width;

	if (fflush(to) != 0 || fseeko(to, (off_t)size, SEEK_SET) != 0 ||
	    ftruncate(fileno(to), (off_t)size) != 0)
		return export_file_fail_write(e, PART_TOKENS, f);
	e->tokens = e->kept;
	return FAIL_NONE;
}

enum fail_code
export_file_end(struct export_file *e, bool whole, struct failure *f)
{
	if (!e->open)
		return FAIL_NONE;
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
