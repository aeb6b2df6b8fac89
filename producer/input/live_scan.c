#include "producer/input/live_scan.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "common/base/clock.h"
#include "common/base/text.h"
#include "producer/input/chunk.h"
#include "producer/input/stream.h"

enum { SLICE_BYTES = 64 << 10 };

/* After what is wrong with a file that was read. */
#define STAYS                                                                                      \
	"; what a live domain has read must stay as it is, and files only grow. Put it back as "   \
	"it "                                                                                      \
	"was; or move it where no pattern matches it (else it is new, and published again), and "  \
	"`riffle produce DOMAIN --skip-missing` continues without what was not published of it"

/* Opens a file for looking into it. *fd = -1: it has gone meanwhile. */
static enum fail_code
open_file(const char *folder, const char *name, int *fd, struct failure *f)
{
	char *path;

	if (file_list_path(&path, folder, name, f) != FAIL_NONE)
		return f->code;
	*fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	free(path);
	if (*fd < 0 && errno != ENOENT)
		return fail_errno(f, FAIL_IO, "file %s: cannot be opened", name);
	return FAIL_NONE;
}

/* Reads n bytes at `byte`; a file that ends before has shrunk. */
static enum fail_code
read_at(int fd, const char *name, uint64_t byte, char *out, size_t n, struct failure *f)
{
	size_t done = 0;

	while (done < n) {
		ssize_t got = pread(fd, out + done, n - done, (off_t)(byte + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return fail_errno(f, FAIL_IO, "file %s: cannot be read at byte %" PRIu64,
			    name, byte + done);
		if (got == 0)
			return fail(f, FAIL_DATA, "file %s: has shrunk to %" PRIu64 " bytes" STAYS,
			    name, byte + done);
		done += (size_t)got;
	}
	return FAIL_NONE;
}

/* Hash of the last bytes of a stretch. */
static enum fail_code
hash_tail(int fd, const char *name, uint64_t byte, uint64_t end, uint64_t *hash, struct failure *f)
{
	char tail[LIVE_ORDER_TAIL_BYTES];
	size_t n = end - byte < sizeof(tail) ? (size_t)(end - byte) : sizeof(tail);

	if (read_at(fd, name, end - n, tail, n, f) != FAIL_NONE)
		return f->code;
	*hash = XXH64(tail, n, 0);
	return FAIL_NONE;
}

static enum fail_code
check_tail(int fd, const char *name, const struct live_order_portion *p, struct failure *f)
{
	uint64_t hash;

	if (hash_tail(fd, name, p->byte, p->end, &hash, f) != FAIL_NONE)
		return f->code;
	if (hash == p->hash)
		return FAIL_NONE;
	return fail(f, FAIL_DATA,
	    "file %s: has other bytes before byte %" PRIu64 " than when it was read" STAYS, name,
	    p->end);
}

enum fail_code
live_scan_check(const char *folder, const struct live_order *r, const struct live_order_portion *p,
    struct failure *f)
{
	const char *name = r->file[p->file].name;
	enum fail_code code;
	int fd;

	if (open_file(folder, name, &fd, f) != FAIL_NONE)
		return f->code;
	if (fd < 0)
		return fail(f, FAIL_IO,
		    "file %s: is gone, and has to be read again from byte %" PRIu64
		    ": not all that is made of it was published. Put it back; or `riffle produce "
		    "DOMAIN --skip-missing` continues without what was not published of it",
		    name, p->byte);
	code = check_tail(fd, name, p, f);
	close(fd);
	return code;
}

/* The byte behind the last LF of [from, size); `from` where there is none. */
static enum fail_code
find_end(int fd, const char *name, uint64_t from, uint64_t size, uint64_t *end, struct failure *f)
{
	char slice[SLICE_BYTES];

	*end = from;
	while (size > from) {
		size_t n = size - from < sizeof(slice) ? (size_t)(size - from) : sizeof(slice);
		const char *last;

		if (read_at(fd, name, size - n, slice, n, f) != FAIL_NONE)
			return f->code;
		last = memrchr(slice, '\n', n);
		if (last != NULL) {
			*end = size - n + (size_t)(last - slice) + 1;
			return FAIL_NONE;
		}
		size -= n;
	}
	return FAIL_NONE;
}

static enum fail_code
count_lines(
    int fd, const char *name, uint64_t from, uint64_t end, uint64_t *lines, struct failure *f)
{
	char slice[SLICE_BYTES];

	for (*lines = 0; from < end;) {
		size_t n = end - from < sizeof(slice) ? (size_t)(end - from) : sizeof(slice);
		const char *at = slice;

		if (read_at(fd, name, from, slice, n, f) != FAIL_NONE)
			return f->code;
		while ((at = memchr(at, '\n', n - (size_t)(at - slice))) != NULL) {
			at++;
			++*lines;
		}
		from += n;
	}
	return FAIL_NONE;
}

static enum fail_code
is_compressed(int fd, const char *name, uint64_t size, bool *is, struct failure *f)
{
	uint8_t mark[4];
	size_t n = size < sizeof(mark) ? (size_t)size : sizeof(mark);

	if (read_at(fd, name, 0, (char *)mark, n, f) != FAIL_NONE)
		return f->code;
	*is = stream_is_compressed(mark, n);
	return FAIL_NONE;
}

/* Whether a whole file is still being written, as far as its size shows. */
static bool
is_busy(struct live_scan *s, struct live_order_file *file, uint64_t size)
{
	int64_t now_ms = clock_ms();

	if (!s->follow)
		return false;
	if (file->quiet_bytes != size) {
		file->quiet_bytes = size;
		file->quiet_ms = now_ms;
	}
	return now_ms - file->quiet_ms < LIVE_QUIET_MS;
}

static enum fail_code
put(struct live_scan *s, int fd, const char *name, struct live_order_portion p, struct failure *f)
{
	assert(s->n < LIVE_ROUND_MAX);
	if (hash_tail(fd, name, p.byte, p.end, &p.hash, f) != FAIL_NONE)
		return f->code;
	s->portion[s->n++] = p;
	return FAIL_NONE;
}

static enum fail_code
take_whole(struct live_scan *s, struct live_order *r, size_t index, int fd, uint64_t size,
    struct failure *f)
{
	struct live_order_file *file = &r->file[index];

	if (is_busy(s, file, size)) {
		s->unsettled = true;
		return FAIL_NONE;
	}
	return put(s, fd, file->name,
	    (struct live_order_portion){.file = index, .whole = true, .end = size, .line = 1}, f);
}

/* Where the lines behind the last portion begin. */
static enum fail_code
begin_lines(
    struct live_order *r, size_t index, int fd, struct live_order_portion *p, struct failure *f)
{
	struct live_order_file *file = &r->file[index];
	const struct live_order_portion *last;
	uint64_t lines;
	char before;

	assert(index < r->files_n);
	*p = (struct live_order_portion){.file = index, .line = 1};
	if (file->last == LIVE_ORDER_NONE)
		return FAIL_NONE;
	last = &r->portion[file->last];
	if (check_tail(fd, file->name, last, f) != FAIL_NONE ||
	    read_at(fd, file->name, last->end - 1, &before, 1, f) != FAIL_NONE)
		return f->code;
	if (before != '\n')
		return fail(f, FAIL_DATA,
		    "file %s: its last line, which ended at byte %" PRIu64
		    " without an end of line when the domain was sealed, has grown since",
		    file->name, last->end);
	if (file->line_next == 0) {
		if (count_lines(fd, file->name, last->byte, last->end, &lines, f) != FAIL_NONE)
			return f->code;
		file->line_next = last->line + lines;
	}
	p->byte = last->end;
	p->line = file->line_next;
	return FAIL_NONE;
}

/*
 * The lines that are complete behind the last portion. The last LF is searched from the end of what
 * is new: of a gigabyte to which a line was added little more than that line is read.
 */
static enum fail_code
take_lines(struct live_scan *s, struct live_order *r, size_t index, int fd, uint64_t size,
    struct failure *f)
{
	struct live_order_file *file = &r->file[index];
	struct live_order_portion p;
	uint64_t from, lines;

	if (begin_lines(r, index, fd, &p, f) != FAIL_NONE)
		return f->code;
	from = file->scanned > p.byte ? file->scanned : p.byte;
	if (find_end(fd, file->name, from, size, &p.end, f) != FAIL_NONE)
		return f->code;
	file->scanned = size;
	if (p.end == from)
		p.end = s->last ? size : p.byte;
	if (p.end == p.byte)
		return FAIL_NONE;
	if (count_lines(fd, file->name, p.byte, p.end, &lines, f) != FAIL_NONE)
		return f->code;
	file->line_next = p.line + lines;
	if (s->last)
		p.end = size;
	return put(s, fd, file->name, p, f);
}

/* A file that was read must be the same file, no shorter, and, if it is whole, no longer. */
static enum fail_code
check_file(const struct live_order *r, const struct live_order_file *file,
    const struct file_list_entry *e, struct failure *f)
{
	const struct live_order_portion *p = &r->portion[file->last];

	if (file->lost)
		return fail(f, FAIL_DATA,
		    "file %s: was given up (--skip-missing), and is there again: rename it; it is "
		    "read from its start then",
		    e->name);
	if (e->size_bytes < p->end)
		return fail(f, FAIL_DATA,
		    "file %s: has shrunk to %" PRIu64 " bytes, and %" PRIu64 " were read" STAYS,
		    e->name, e->size_bytes, p->end);
	if (file->inode != 0 && (file->inode != e->inode || file->device != e->device))
		return fail(f, FAIL_DATA,
		    "file %s: was replaced by another after it was read; give new data a new "
		    "name" STAYS,
		    e->name);
	if (p->whole && e->size_bytes != p->end)
		return fail(f, FAIL_DATA,
		    "file %s: has grown from %" PRIu64 " to %" PRIu64
		    " bytes after it was read; a text or a compressed file is read once: write it "
		    "under a name that no pattern matches, and rename it",
		    e->name, p->end, e->size_bytes);
	return FAIL_NONE;
}

/* Whether there may be something behind what was read. */
static bool
is_of_interest(const struct live_scan *s, const struct live_order *r,
    const struct live_order_file *file, uint64_t size)
{
	uint64_t end = file->last == LIVE_ORDER_NONE ? 0 : r->portion[file->last].end;

	if (file->last != LIVE_ORDER_NONE && r->portion[file->last].whole)
		return false;
	return size > end && (s->last || size > file->scanned || file->quiet_bytes > 0);
}

static enum fail_code
take_file(
    struct live_scan *s, struct live_order *r, const struct file_list_entry *e, struct failure *f)
{
	enum fail_code code;
	bool whole = chunk_form_of(e->name) == CHUNK_WHOLE_FILE || text_ends_with(e->name, ".gz") ||
		     text_ends_with(e->name, ".zst");
	size_t index;
	int fd;

	if (live_order_file(r, e->name, strlen(e->name), &index, f) != FAIL_NONE)
		return f->code;
	if (r->file[index].last != LIVE_ORDER_NONE &&
	    check_file(r, &r->file[index], e, f) != FAIL_NONE)
		return f->code;
	r->file[index].inode = e->inode;
	r->file[index].device = e->device;
	if (!is_of_interest(s, r, &r->file[index], e->size_bytes))
		return FAIL_NONE;
	code = open_file(s->now.folder, e->name, &fd, f);
	if (code != FAIL_NONE || fd < 0)
		return code;
	if (!whole && r->file[index].last == LIVE_ORDER_NONE)
		code = is_compressed(fd, e->name, e->size_bytes, &whole, f);
	if (code == FAIL_NONE)
		code = whole ? take_whole(s, r, index, fd, e->size_bytes, f)
			     : take_lines(s, r, index, fd, e->size_bytes, f);
	close(fd);
	return code;
}

enum fail_code
live_scan(struct live_scan *s, struct live_order *r, struct failure *f)
{
	struct file_list *list;
	enum fail_code code = FAIL_NONE;

	assert(s->now.partition < s->now.partitions);
	s->n = 0;
	s->unsettled = false;
	if (file_list_scan(&list, &s->now, f) != FAIL_NONE)
		return f->code;
	for (size_t i = 0; i < list->n && s->n < LIVE_ROUND_MAX && code == FAIL_NONE; i++)
		code = take_file(s, r, &list->file[i], f);
	file_list_close(list);
	return code;
}
