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
			return export_file_fail_write(e, PART_INDEX, f);
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
		return export_file_fail_write(e, PART_INDEX, f);
	if (put_table(e, LENGTHS, f) != FAIL_NONE || put_table(e, POINTERS, f) != FAIL_NONE ||
	    put_table(e, DOCUMENTS, f) != FAIL_NONE)
		return f->code;
	return fwrite(last, sizeof(last), 1, to) == 1 ? FAIL_NONE
						      : export_file_fail_write(e, PART_INDEX, f);
}

/* "1.23 MT", as people read it. */
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
		return export_file_fail_write(e, PART_METADATA, f);
	return FAIL_NONE;
}

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
		return export_file_fail_write(e, PART_TOKENS, f);
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
	case TOKEN_FORMAT_NONE: return FAIL_NONE;
	}
	abort(); /* unreachable */
}

static enum fail_code
sync_part(struct export_file *e, enum export_part part, struct failure *f)
{
	struct part_file *p = &e->part[part];
	FILE *to = p->to;

	if (fflush(to) != 0 || fsync(fileno(to)) != 0)
		return export_file_fail_write(e, part, f);
	p->to = NULL;
	if (to == e->ends)
		e->ends = NULL;
	return fclose(to) == 0 ? FAIL_NONE : export_file_fail_write(e, part, f);
}

/*
 * Gives a file its name; what came there meanwhile is not replaced either, unless the file system
 * cannot say so.
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
	for (int i = 0; i < EXPORT_PARTS_MAX; i++)
		if (e->part[i].to != NULL && sync_part(e, (enum export_part)i, f) != FAIL_NONE)
			return f->code;
	for (int i = 0; i < EXPORT_PARTS_MAX; i++)
		if (e->part[i].path != NULL && rename_part(e, &e->part[i], f) != FAIL_NONE)
			return f->code;
	return sync_folder(e, f);
}
