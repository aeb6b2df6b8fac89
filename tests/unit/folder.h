/*
 * folder.h -- a folder of its own for a test that needs files; what is in it goes with it. And
 * files' bytes, compressed by zlib and zstd.
 */
#ifndef TESTS_UNIT_FOLDER_H
#define TESTS_UNIT_FOLDER_H

#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>
#include <zstd.h>

#include "tests/unit/test.h"

static char folder[128]; /* of the test that runs */

static int
folder_remove_entry(const char *path, const struct stat *st, int kind, struct FTW *where)
{
	(void)st;
	(void)kind;
	(void)where;
	return remove(path);
}

static inline int
folder_open(void **unused)
{
	const char *parent = getenv("TMPDIR");

	(void)unused;
	snprintf(
	    folder, sizeof(folder), "%s/riffle-test-XXXXXX", parent != NULL ? parent : P_tmpdir);
	return mkdtemp(folder) == NULL || chmod(folder, 0755) != 0;
}

static inline int
folder_close(void **unused)
{
	(void)unused;
	return nftw(folder, folder_remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* Path of a name in the folder; a few at once. */
static inline const char *
folder_path(const char *name)
{
	static char path[4][1024];
	static unsigned next;
	char *out = path[next++ % 4];

	snprintf(out, sizeof(path[0]), "%s/%s", folder, name);
	return out;
}

static inline void
folder_write(const char *name, const void *bytes, size_t n)
{
	FILE *file = fopen(folder_path(name), "wb");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, n, file), n);
	assert_int_equal(fclose(file), 0);
}

static inline void
folder_text(const char *name, const char *text)
{
	folder_write(name, text, strlen(text));
}

static inline void
folder_make(const char *name)
{
	assert_int_equal(mkdir(folder_path(name), 0755), 0);
}

struct bytes {
	uint8_t *at; /* free */
	size_t n;
};

static inline struct bytes
bytes_gzip(const void *text, size_t n)
{
	struct bytes b = {malloc(n + n / 8 + 128), 0};
	z_stream z = {0};

	assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
	z.next_in = (Bytef *)(uintptr_t)text;
	z.avail_in = (uInt)n;
	z.next_out = b.at;
	z.avail_out = (uInt)(n + n / 8 + 128);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	b.n = z.total_out;
	deflateEnd(&z);
	return b;
}

static inline struct bytes
bytes_zstd(const void *text, size_t n)
{
	struct bytes b = {malloc(ZSTD_compressBound(n)), 0};
	ZSTD_CCtx *context = ZSTD_createCCtx();

	ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
	b.n = ZSTD_compress2(context, b.at, ZSTD_compressBound(n), text, n);
	assert_false(ZSTD_isError(b.n));
	ZSTD_freeCCtx(context);
	return b;
}

/* a's bytes and then b's; ends both. */
static inline struct bytes
bytes_join(struct bytes a, struct bytes b)
{
	struct bytes both = {malloc(a.n + b.n), a.n + b.n};

	memcpy(both.at, a.at, a.n);
	memcpy(both.at + a.n, b.at, b.n);
	free(a.at);
	free(b.at);
	return both;
}

static inline struct bytes
bytes_copy(const void *bytes, size_t n)
{
	struct bytes b = {malloc(n == 0 ? 1 : n), n};

	memcpy(b.at, bytes, n);
	return b;
}

#endif
