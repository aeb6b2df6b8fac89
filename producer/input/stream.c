#include "producer/input/stream.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "producer/input/stream_kind.h"

/* The marks of the kinds: RFC 1952 section 2.3.1, RFC 8878 sections 3.1.1 and 3.1.2. */
static const uint8_t gzip_mark[] = {0x1f, 0x8b};
static const uint8_t zstd_mark[] = {0x28, 0xb5, 0x2f, 0xfd};
static const uint8_t zstd_skippable_mark[] = {0x50, 0x2a, 0x4d, 0x18}; /* the first: 0x50 to 0x5f */

/*
 * Somebody who writes over a file while it is read gives a mixture of two files. A longer one is
 * allowed: files to which lines are added. It costs two calls a file.
 */
static enum fail_code
check_unchanged(const struct stream *s, struct failure *f)
{
	struct stat now, there;

	if (fstat(s->fd, &now) != 0)
		return fail_errno(f, FAIL_IO, "file %s: cannot be looked at", s->name);
	if (now.st_size < s->opened.st_size || (uint64_t)now.st_size < s->read_bytes)
		return fail(f, FAIL_IO,
		    "file %s: shrank from %" PRId64 " to %" PRId64
		    " bytes while it was read; run again when nobody writes to it",
		    s->name, (int64_t)s->opened.st_size, (int64_t)now.st_size);
	if (stat(s->path, &there) != 0 || there.st_ino != now.st_ino || there.st_dev != now.st_dev)
		return fail(f, FAIL_IO,
		    "file %s: was replaced or removed while it was read; run again when nobody "
		    "writes to it",
		    s->name);
	if (now.st_size == s->opened.st_size &&
	    (now.st_mtim.tv_sec != s->opened.st_mtim.tv_sec ||
		now.st_mtim.tv_nsec != s->opened.st_mtim.tv_nsec))
		return fail(f, FAIL_IO,
		    "file %s: was rewritten while it was read; run again when nobody writes to it",
		    s->name);
	return FAIL_NONE;
}

enum fail_code
stream_read_fd(struct stream *s, void *out, size_t room, size_t *got, struct failure *f)
{
	ssize_t n;

	do
		n = read(s->fd, out, room);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return fail_errno(
		    f, FAIL_IO, "file %s: cannot be read at byte %" PRIu64, s->name, s->read_bytes);
	*got = (size_t)n;
	s->read_bytes += (uint64_t)n;
	return n > 0 ? FAIL_NONE : check_unchanged(s, f);
}

enum fail_code
stream_need(struct stream *s, size_t count, struct failure *f)
{
	assert(count <= STREAM_STORED_BYTES);
	if (s->n - s->at >= count)
		return FAIL_NONE;
	memmove(s->stored, s->stored + s->at, s->n - s->at);
	s->n -= s->at;
	s->at = 0;
	while (!s->ended && s->n < count) {
		size_t got;

		if (stream_read_fd(s, s->stored + s->n, STREAM_STORED_BYTES - s->n, &got, f) !=
		    FAIL_NONE)
			return f->code;
		s->n += got;
		s->ended = got == 0;
	}
	return FAIL_NONE;
}

static bool
named(const char *name, const char *end)
{
	size_t n = strlen(name), end_n = strlen(end);

	return n > end_n && strcmp(name + n - end_n, end) == 0;
}

/* Whether all that the file holds is the beginning of a mark. */
static bool
is_stump(const struct stream *s, const uint8_t *mark, size_t mark_n)
{
	return s->ended && s->n < mark_n && memcmp(s->stored, mark, s->n) == 0;
}

/* Finds the kind by the first bytes. */
static enum fail_code
tell_kind(struct stream *s, struct failure *f)
{
	bool gz = named(s->name, ".gz"), zst = named(s->name, ".zst");

	if (stream_need(s, sizeof(zstd_mark), f) != FAIL_NONE)
		return f->code;
	if ((gz && is_stump(s, gzip_mark, sizeof(gzip_mark))) ||
	    (zst && (is_stump(s, zstd_mark, sizeof(zstd_mark)) ||
			is_stump(s, zstd_skippable_mark, sizeof(zstd_mark)))))
		return fail(f, FAIL_DATA, "%s data ends at byte %zu, before it has begun",
		    gz ? "gzip" : "zstd", s->n);
	s->kind = &stream_plain;
	if (s->n >= sizeof(gzip_mark) && memcmp(s->stored, gzip_mark, sizeof(gzip_mark)) == 0)
		s->kind = &stream_gz;
	if (s->n >= sizeof(zstd_mark) &&
	    (memcmp(s->stored, zstd_mark, sizeof(zstd_mark)) == 0 ||
		((s->stored[0] & 0xf0) == zstd_skippable_mark[0] &&
		    memcmp(s->stored + 1, zstd_skippable_mark + 1, 3) == 0)))
		s->kind = &stream_zst;
	return FAIL_NONE;
}

enum fail_code
stream_open_file(struct stream **out, const char *path, const char *name, struct failure *f)
{
	struct stream *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return fail_memory(f);
	s->fd = -1;
	s->path = strdup(path);
	s->name = strdup(name);
	s->stored = malloc(STREAM_STORED_BYTES);
	if (s->path == NULL || s->name == NULL || s->stored == NULL) {
		fail_memory(f);
		goto failed;
	}
	/* Without waiting: whoever put a pipe in the file's place must not hold us up. */
	s->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (s->fd < 0 || fstat(s->fd, &s->opened) != 0) {
		fail_errno(f, FAIL_IO, "file %s: cannot be opened", name);
		goto failed;
	}
	if (!S_ISREG(s->opened.st_mode)) {
		fail(f, FAIL_IO, "file %s: is not a regular file", name);
		goto failed;
	}
	posix_fadvise(s->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	if (tell_kind(s, f) != FAIL_NONE || s->kind->open(s, f) != FAIL_NONE)
		goto failed;
	*out = s;
	return FAIL_NONE;
failed:
	stream_close(s);
	return f->code;
}

void
stream_close(struct stream *s)
{
	if (s == NULL)
		return;
	if (s->kind != NULL)
		s->kind->close(s);
	if (s->fd >= 0)
		close(s->fd);
	free(s->stored);
	free(s->path);
	free(s->name);
	free(s);
}

enum fail_code
stream_read(struct stream *s, char *out, size_t room, size_t *got, struct failure *f)
{
	assert(room > 0);
	return s->kind->read(s, out, room, got, f);
}

enum fail_code
stream_seek(struct stream *s, uint64_t byte, uint64_t *at, struct failure *f)
{
	assert(s->at == 0);
	*at = 0;
	if (s->kind != &stream_plain)
		return FAIL_NONE;
	if (byte > (uint64_t)s->opened.st_size)
		return fail(f, FAIL_DATA, "file %s: has only %" PRId64 " bytes", s->name,
		    (int64_t)s->opened.st_size);
	if (lseek(s->fd, (off_t)byte, SEEK_SET) < 0)
		return fail_errno(
		    f, FAIL_IO, "file %s: cannot be read from byte %" PRIu64, s->name, byte);
	s->n = 0;
	s->ended = false;
	s->read_bytes = byte;
	*at = byte;
	return FAIL_NONE;
}

uint64_t
stream_used(const struct stream *s)
{
	return s->read_bytes - (s->n - s->at);
}
