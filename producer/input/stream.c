/*
 * stream.c -- files: as they are, of gzip, of zstd. stream_exec.c has what a program prints.
 *
 * Stored bytes come into s->stored, a window of STREAM_STORED_BYTES that only moves forward. A kind
 * takes them out of it at s->at and asks for more with stream_need(), so that a mark or a header is
 * whole when it is looked at, whatever read(2) has given.
 */
#include "producer/input/stream.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "common/base/log.h"
#include "common/base/text.h"
#include "producer/input/chunk.h"
#include "producer/input/stream_internal.h"

/* The marks of the kinds: RFC 1952 section 2.3.1, RFC 8878 sections 3.1.1 and 3.1.2. */
static const uint8_t gzip_mark[] = {0x1f, 0x8b};
static const uint8_t zstd_mark[] = {0x28, 0xb5, 0x2f, 0xfd};
static const uint8_t zstd_skippable_mark[] = {0x50, 0x2a, 0x4d, 0x18}; /* the first: 0x50 to 0x5f */

/* ---- stored bytes ---- */

enum fail_code
stream_check_sizes(
    const char *name, uint64_t opened, uint64_t now, uint64_t read_bytes, struct failure *f)
{
	bool grew = now > opened;

	if (now < opened || (grew && read_bytes > now))
		return fail(f, FAIL_IO,
		    "file %s: shrank from %" PRIu64 " to %" PRIu64
		    " bytes while it was read; run again when nobody writes to it",
		    name, grew ? read_bytes : opened, now);
	if (read_bytes < opened || read_bytes > now)
		return fail(f, FAIL_IO,
		    "file %s: has a size of %" PRIu64 " bytes, but reading it gave %" PRIu64
		    ", as happens in /proc; copy it to a regular file, and name "
		    "the copy",
		    name, now, read_bytes);
	return FAIL_NONE;
}

/*
 * Called at the end of a file. Somebody who writes over a file while it is read gives a mixture of
 * two files, and nobody could read the same again. What is found out, in this order:
 *
 *     shorter than at the opening                            it was truncated
 *     it ended before or after its size                      stream_check_sizes()
 *     another file has the name, or none                     it was replaced or removed
 *     as long as before, with another time of change         it was written over
 *
 * A longer one is allowed: files to which lines are added. It costs two calls a file.
 */
static enum fail_code
check_unchanged(const struct stream *s, struct failure *f)
{
	struct stat now, there;

	if (fstat(s->fd, &now) != 0)
		return fail_errno(f, FAIL_IO, "file %s: cannot be looked at", s->name);
	if (stream_check_sizes(s->name, (uint64_t)s->opened.st_size, (uint64_t)now.st_size,
		s->read_bytes, f) != FAIL_NONE)
		return f->code;
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

/* read(2) with its retries; *got = 0 at the end, where the file is checked against its opening. */
static enum fail_code
read_fd(struct stream *s, void *out, size_t room, size_t *got, struct failure *f)
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

/* Reads until `count` bytes are stored or the file ends; count <= STREAM_STORED_BYTES. */
static enum fail_code
need(struct stream *s, size_t count, struct failure *f)
{
	assert(count <= STREAM_STORED_BYTES);
	if (s->n - s->at >= count)
		return FAIL_NONE;
	memmove(s->stored, s->stored + s->at, s->n - s->at);
	s->n -= s->at;
	s->at = 0;
	while (!s->ended && s->n < count) {
		size_t got;

		if (read_fd(s, s->stored + s->n, STREAM_STORED_BYTES - s->n, &got, f) != FAIL_NONE)
			return f->code;
		s->n += got;
		s->ended = got == 0;
	}
	assert(s->at == 0 && s->n <= STREAM_STORED_BYTES);
	return FAIL_NONE;
}

/* ---- a file as it is ---- */

static enum fail_code
plain_read(struct stream *s, char *out, size_t room, size_t *got, struct failure *f)
{
	size_t stored = s->n - s->at;

	if (stored == 0)
		return read_fd(s, out, room, got, f); /* past the window: no copy */
	*got = room < stored ? room : stored;
	memcpy(out, s->stored + s->at, *got);
	s->at += *got;
	return FAIL_NONE;
}

static const struct stream_kind kind_plain = {NULL, plain_read, NULL};

/* ---- gzip, with all its members ---- */

enum { GZ_WINDOW_BITS = 15 + 16 }; /* the largest, and only gzip, no zlib format */

struct gz {
	z_stream z;
	bool opened;
	bool between;       /* a member has ended and the next has not begun */
	bool done;          /* nothing of use comes any more */
	struct failure met; /* with the last bytes given, for the next read; code FAIL_NONE: none */
	bool held_back; /* inflate() had no more room: it may have output without further input */
};

static enum fail_code
gz_open(struct stream *s, struct failure *f)
{
	struct gz *g = calloc(1, sizeof(*g));

	s->state = g;
	if (g == NULL || inflateInit2(&g->z, GZ_WINDOW_BITS) != Z_OK)
		return fail_memory(f);
	g->opened = true;
	return FAIL_NONE;
}

static enum fail_code
gz_fail_truncated(const struct stream *s, struct failure *f)
{
	return fail(f, FAIL_DATA, "gzip data ends at byte %" PRIu64 ", in the middle of a member",
	    stream_used(s));
}

/* What follows the last member is treated as gzip(1) does. */
static enum fail_code
gz_skip_trailer(struct stream *s, struct gz *g, struct failure *f)
{
	g->done = true;
	while (s->at < s->n && s->stored[s->at] == 0) {
		s->at++;
		if (need(s, 1, f) != FAIL_NONE)
			return f->code;
	}
	if (s->at < s->n)
		log_warning("input: INPUT-GARBAGE file=%s byte=%" PRIu64
			    " what follows the gzip data is ignored",
		    TEXT_VALUE(s->name), stream_used(s));
	return FAIL_NONE;
}

/* Goes to the next member, or sets done. The first byte of a mark alone is a member cut off. */
static enum fail_code
gz_next_member(struct stream *s, struct gz *g, struct failure *f)
{
	size_t left;

	if (need(s, 2, f) != FAIL_NONE)
		return f->code;
	left = s->n - s->at;
	if (left == 0 || s->stored[s->at] != 0x1f || (left > 1 && s->stored[s->at + 1] != 0x8b))
		return gz_skip_trailer(s, g, f);
	if (inflateReset(&g->z) != Z_OK)
		return fail_memory(f);
	g->between = g->held_back = false;
	return FAIL_NONE;
}

/*
 * One call of inflate(); its output is counted in g->z.avail_out. Z_BUF_ERROR is no error: there
 * was nothing to do for it, as where its last call had filled the output to the byte.
 */
static enum fail_code
gz_inflate_some(struct stream *s, struct gz *g, struct failure *f)
{
	int answer;

	if (need(s, 1, f) != FAIL_NONE)
		return f->code;
	if (s->at == s->n && !g->held_back)
		return gz_fail_truncated(s, f);
	g->z.next_in = s->stored + s->at;
	g->z.avail_in = (uInt)(s->n - s->at);
	answer = inflate(&g->z, Z_NO_FLUSH);
	s->at = s->n - g->z.avail_in;
	g->held_back = g->z.avail_out == 0;
	switch (answer) {
	case Z_STREAM_END: g->between = true; return FAIL_NONE;
	case Z_OK:
	case Z_BUF_ERROR: return FAIL_NONE;
	case Z_MEM_ERROR: return fail_memory(f);
	default:
		return fail(f, FAIL_DATA, "gzip data is damaged at byte %" PRIu64 " (%s)",
		    stream_used(s), g->z.msg != NULL ? g->z.msg : "no reason given");
	}
}

/*
 * What inflate() has put out before it meets damage is good, and is given first: the records in it
 * are whole. The failure waits in g->met for the next read.
 */
static enum fail_code
gz_read(struct stream *s, char *out, size_t room, size_t *got, struct failure *f)
{
	struct gz *g = s->state;
	uInt space = room < UINT_MAX ? (uInt)room : UINT_MAX;
	enum fail_code code = FAIL_NONE;

	if (g->met.code != FAIL_NONE) {
		*f = g->met;
		return f->code;
	}
	g->z.next_out = (Bytef *)out;
	g->z.avail_out = space;
	while (code == FAIL_NONE && !g->done && g->z.avail_out == space)
		code = g->between ? gz_next_member(s, g, f) : gz_inflate_some(s, g, f);
	*got = space - g->z.avail_out;
	if (code == FAIL_NONE || *got == 0)
		return code;
	g->met = *f; /* first what inflate() gave before it met the damage */
	return FAIL_NONE;
}

static void
gz_close(struct stream *s)
{
	struct gz *g = s->state;

	if (g != NULL && g->opened)
		inflateEnd(&g->z);
	free(g);
}

static const struct stream_kind kind_gz = {gz_open, gz_read, gz_close};

/* ---- zstd, with all its frames ---- */

/*
 * A call of ZSTD_decompressStream() that fails does not report what it has put out before. So that
 * nothing before the damage is lost, a call gets no more than the rest of one block, and while
 * output is held back it gets nothing: then a failing call has no output of its own. libzstd's hint
 * counts the 3 bytes of the next block's header in; they are left for the next call.
 */
enum { ZST_HEADER_BYTES = 3 };

struct zst {
	ZSTD_DCtx *context;
	size_t hint;    /* what libzstd wants next; 0: a frame has ended */
	bool held_back; /* the output was full: there may be more without input */
};

static enum fail_code
zst_open(struct stream *s, struct failure *f)
{
	struct zst *z = calloc(1, sizeof(*z));

	s->state = z;
	if (z == NULL)
		return fail_memory(f);
	z->context = ZSTD_createDCtx();
	if (z->context == NULL || ZSTD_isError(ZSTD_DCtx_setParameter(
				      z->context, ZSTD_d_windowLogMax, STREAM_WINDOW_LOG_MAX)))
		return fail_memory(f);
	return FAIL_NONE;
}

static enum fail_code
zst_fail_damaged(const struct stream *s, size_t answer, struct failure *f)
{
	switch ((int)ZSTD_getErrorCode(answer)) {
	case ZSTD_error_memory_allocation: return fail_memory(f);
	case ZSTD_error_frameParameter_windowTooLarge:
		return fail(f, FAIL_DATA,
		    "zstd data at byte %" PRIu64 " needs a window of more than 2 GiB",
		    stream_used(s));
	default:
		return fail(f, FAIL_DATA, "zstd data is damaged at byte %" PRIu64 " (%s)",
		    stream_used(s), ZSTD_getErrorName(answer));
	}
}

/* One call of libzstd; sets `finished` at the end of the file. */
static enum fail_code
zst_decompress_some(struct stream *s, ZSTD_outBuffer *out, bool *finished, struct failure *f)
{
	struct zst *z = s->state;
	ZSTD_inBuffer in = {NULL, 0, 0};
	size_t answer;

	if (!z->held_back) {
		size_t wanted =
		    z->hint > ZST_HEADER_BYTES ? z->hint - ZST_HEADER_BYTES : ZST_HEADER_BYTES;

		if (need(s, 1, f) != FAIL_NONE)
			return f->code;
		if (s->at == s->n && z->hint == 0) {
			*finished = true;
			return FAIL_NONE;
		}
		if (s->at == s->n)
			return fail(f, FAIL_DATA,
			    "zstd data ends at byte %" PRIu64 ", in the middle of a frame",
			    stream_used(s));
		in.src = s->stored + s->at;
		in.size = s->n - s->at < wanted ? s->n - s->at : wanted;
	}
	answer = ZSTD_decompressStream(z->context, out, &in);
	if (ZSTD_isError(answer))
		return zst_fail_damaged(s, answer, f);
	s->at += in.pos;
	z->hint = answer;
	/* At a frame's end all is put out; to ask again would begin the next one. */
	z->held_back = answer != 0 && out->pos == out->size;
	return FAIL_NONE;
}

static enum fail_code
zst_read(struct stream *s, char *out, size_t room, size_t *got, struct failure *f)
{
	ZSTD_outBuffer buffer = {out, room, 0};
	bool finished = false;
	enum fail_code code = FAIL_NONE;

	while (code == FAIL_NONE && !finished && buffer.pos == 0)
		code = zst_decompress_some(s, &buffer, &finished, f);
	*got = buffer.pos;
	return code;
}

static void
zst_close(struct stream *s)
{
	struct zst *z = s->state;

	if (z != NULL)
		ZSTD_freeDCtx(z->context);
	free(z);
}

static const struct stream_kind kind_zst = {zst_open, zst_read, zst_close};

/* ---- which kind ---- */

enum { MARK_BYTES_MAX = 10 }; /* the longest: bzip2's */

static bool
is_gzip(const uint8_t *bytes, size_t n)
{
	return n >= sizeof(gzip_mark) && memcmp(bytes, gzip_mark, sizeof(gzip_mark)) == 0;
}

static bool
is_zstd(const uint8_t *bytes, size_t n)
{
	return n >= sizeof(zstd_mark) &&
	       (memcmp(bytes, zstd_mark, sizeof(zstd_mark)) == 0 ||
		   ((bytes[0] & 0xf0) == zstd_skippable_mark[0] &&
		       memcmp(bytes + 1, zstd_skippable_mark + 1, 3) == 0));
}

bool
stream_is_compressed(const uint8_t *bytes, size_t n)
{
	return is_gzip(bytes, n) || is_zstd(bytes, n);
}

/* Whether all that the file holds is the beginning of a mark. */
static bool
is_stump(const struct stream *s, const uint8_t *mark, size_t mark_n)
{
	return s->ended && s->n < mark_n && memcmp(s->stored, mark, s->n) == 0;
}

/* What the bytes of a file that is no text say that it is, and what can be done. NULL: nothing. */
static const char *
known_as(const uint8_t *bytes, size_t n)
{
	static const struct {
		const char *mark;
		size_t n;
		const char *what;
	} rows[] = {
	    {"BZh91AY&SY", MARK_BYTES_MAX,
		"bzip2, which is not read: give `exec: bzcat FILE`, or unpack it"},
	    {"\xfd"
	     "7zXZ",
		6, "xz, which is not read: give `exec: xzcat FILE`, or unpack it"},
	    {"PK\3\4", 4, "a zip archive, which is not read: unpack it"},
	    {"PAR1\x15", 5, "Parquet: give `exec: riffle-source FILE`, which reads it"},
	    {"\xff\xfe\0\0", 4, "UTF-32: convert it: iconv -f UTF-32 -t UTF-8 FILE > NEW"},
	    {"\xff\xfe", 2, "UTF-16: convert it: iconv -f UTF-16 -t UTF-8 FILE > NEW"},
	    {"\xfe\xff", 2, "UTF-16: convert it: iconv -f UTF-16 -t UTF-8 FILE > NEW"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (n >= rows[i].n && memcmp(bytes, rows[i].mark, rows[i].n) == 0)
			return rows[i].what;
	return NULL;
}

/* A line of JSON; plain files that are named .gz are read, as a download may unpack them. */
static bool
may_begin_json(uint8_t first)
{
	return first == '{' || first == '[' || first == 0xef || first == ' ' || first == '\t' ||
	       first == '\r' || first == '\n';
}

/*
 * Finds the kind by the first bytes. A name alone decides nothing but one case: a file named .gz or
 * .zst that ends inside the mark of its kind, or is empty, was cut off while it was written or
 * copied, and would otherwise pass for a plain one of three bytes.
 */
static enum fail_code
find_kind(struct stream *s, struct failure *f)
{
	/* Behind the first byte: a file called just ".gz" has no extension. */
	const char *name = s->name[0] == '\0' ? s->name : s->name + 1;
	bool gz = text_ends_with(name, ".gz"), zst = text_ends_with(name, ".zst");
	const char *what;

	if (need(s, MARK_BYTES_MAX, f) != FAIL_NONE)
		return f->code;
	what = known_as(s->stored, s->n);
	if (what != NULL)
		return fail(f, FAIL_DATA, "the file is %s", what);
	if ((gz && is_stump(s, gzip_mark, sizeof(gzip_mark))) ||
	    (zst && (is_stump(s, zstd_mark, sizeof(zstd_mark)) ||
			is_stump(s, zstd_skippable_mark, sizeof(zstd_mark)))))
		return fail(f, FAIL_DATA, "%s data ends at byte %zu, before it has begun",
		    gz ? "gzip" : "zstd", s->n);
	s->kind = is_gzip(s->stored, s->n)   ? &kind_gz
		  : is_zstd(s->stored, s->n) ? &kind_zst
					     : &kind_plain;
	if (s->kind == &kind_plain && (gz || zst) && chunk_form_of(s->name) == CHUNK_JSON_LINES &&
	    s->n > 0 && !may_begin_json(s->stored[0]))
		return fail(f, FAIL_DATA,
		    "the file is named %s and holds neither %s data nor JSON lines: was it "
		    "downloaded whole, or did an error page come in its place?",
		    gz ? ".gz" : ".zst", gz ? "gzip" : "zstd");
	return FAIL_NONE;
}

/* ---- open, read, close ---- */

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
	if (find_kind(s, f) != FAIL_NONE ||
	    (s->kind->open != NULL && s->kind->open(s, f) != FAIL_NONE))
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
	if (s->kind != NULL && s->kind->close != NULL)
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
	assert(s->at == 0); /* nothing was read yet */
	*at = 0;
	if (s->kind != &kind_plain)
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
	assert(s->at <= s->n && s->read_bytes >= s->n - s->at);
	return s->read_bytes - (s->n - s->at);
}
