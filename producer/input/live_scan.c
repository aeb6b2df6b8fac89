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

#include "common/base/buffer.h"
#include "common/base/clock.h"
#include "common/base/log.h"
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

#define NAMES                                                                                      \
	": a live domain knows a file by its name. Give the new one a name that no file had; of "  \
	"logs that "                                                                               \
	"are rotated let the pattern match names that stay (logrotate: `dateext`, and "            \
	"app.jsonl-* "                                                                             \
	"as the pattern)"

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

const char *
live_scan_name(const struct live_order *r, const struct live_order_portion *p)
{
	size_t file = r->file[p->file].now_at;

	return r->file[file == LIVE_ORDER_NONE ? p->file : file].name;
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
	if (live_order_behind(r, index) == LIVE_ORDER_NONE)
		return FAIL_NONE;
	last = &r->portion[live_order_behind(r, index)];
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
check_file(
    const struct live_order *r, size_t index, const struct file_list_entry *e, struct failure *f)
{
	const struct live_order_file *file = &r->file[index];
	const struct live_order_portion *p = &r->portion[live_order_behind(r, index)];

	if (file->now_at != LIVE_ORDER_NONE && r->file[file->now_at].inode != 0 &&
	    r->file[file->now_at].inode != e->inode)
		return fail(f, FAIL_DATA,
		    "file %s: was renamed to %s after it was read, and another file has its name "
		    "now" NAMES,
		    e->name, r->file[file->now_at].name);
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
is_of_interest(const struct live_scan *s, const struct live_order *r, size_t index, uint64_t size)
{
	const struct live_order_file *file = &r->file[index];
	size_t behind = live_order_behind(r, index);

	if (behind != LIVE_ORDER_NONE && r->portion[behind].whole)
		return false;
	return size > (behind == LIVE_ORDER_NONE ? 0 : r->portion[behind].end) &&
	       (s->last || size > file->scanned || file->quiet_bytes > 0);
}

/* ---- files that were renamed ---- */

static int
compare_late_first(const void *a, const void *b)
{
	size_t x = *(const size_t *)a, y = *(const size_t *)b;

	return (x < y) - (x > y);
}

/* Lists, as portions, what was read last of the files that this look has not seen. */
static enum fail_code
list_gone(struct live_scan *s, const struct live_order *r, struct failure *f)
{
	if (buffer_resize_items(&s->gone, r->files_n + 1, sizeof(*s->gone), f) != FAIL_NONE)
		return f->code;
	s->gone_n = 0;
	s->gone_listed = true;
	for (size_t i = 0; i < r->files_n; i++) {
		const struct live_order_file *file = &r->file[i];

		if (file->seen != s->looks && file->last != LIVE_ORDER_NONE && !file->lost)
			s->gone[s->gone_n++] = file->last;
	}
	qsort(s->gone, s->gone_n, sizeof(*s->gone), compare_late_first);
	return FAIL_NONE;
}

/* Whether equal bytes would prove that a file which is gone is this one. */
static bool
would_prove(
    const struct live_order *r, const struct live_order_portion *p, size_t index, uint64_t size)
{
	const struct live_order_file *was = &r->file[p->file], *is = &r->file[index];

	if (was->now_at == index)
		return true;
	if (was->inode != 0 && was->inode == is->inode && was->device == is->device)
		return true;
	return p->end >= LIVE_RENAMED_BYTES || (was->inode == 0 && p->end == size);
}

/* Whether the open file has the bytes of a portion, where they were. */
static enum fail_code
holds(const struct live_order_portion *p, int fd, const char *name, bool *does, struct failure *f)
{
	uint64_t hash;

	*does = false;
	if (hash_tail(fd, name, p->byte, p->end, &hash, f) != FAIL_NONE)
		return f->code;
	*does = hash == p->hash;
	return FAIL_NONE;
}

static void
adopt(struct live_order *r, size_t index, size_t portion)
{
	const struct live_order_portion *p = &r->portion[portion];
	struct live_order_file *file = &r->file[index];

	r->file[p->file].now_at = index;
	r->file[p->file].inode = file->inode;
	r->file[p->file].device = file->device;
	file->now_at = LIVE_ORDER_NONE; /* it may have had this name before */
	log_warning("input: INPUT-RENAMED file %s is %s now, by its bytes: the %" PRIu64
		    " that were read of it are not read again",
	    r->file[p->file].name, file->name, p->end);
	file->after = portion;
	if (live_order_behind(r, index) == portion)
		file->line_next = file->scanned = 0;
}

/* Looks whether the file, of which something is new, is one that was read and is gone. */
static enum fail_code
find_former(struct live_scan *s, struct live_order *r, size_t index, int fd, uint64_t size,
    struct failure *f)
{
	size_t behind, best = LIVE_ORDER_NONE, tried = 0;

	if (!s->gone_listed && list_gone(s, r, f) != FAIL_NONE)
		return f->code;
	for (size_t i = 0; i < s->gone_n; i++) {
		const struct live_order_portion *p = &r->portion[s->gone[i]];
		size_t now_at = r->file[p->file].now_at;
		bool does;

		behind = live_order_behind(r, index);
		if (now_at != LIVE_ORDER_NONE && now_at != index &&
		    r->file[now_at].seen == s->looks)
			continue; /* it is another one */
		if (p->end > size || (p->end < size && tried++ >= LIVE_RENAMED_MAX) ||
		    (p->whole && p->end != size) ||
		    (behind != LIVE_ORDER_NONE && p->end <= r->portion[behind].end))
			continue;
		if (!would_prove(r, p, index, size))
			continue;
		if (holds(p, fd, r->file[index].name, &does, f) != FAIL_NONE)
			return f->code;
		if (does && (best == LIVE_ORDER_NONE || p->end > r->portion[best].end))
			best = s->gone[i];
	}
	if (best != LIVE_ORDER_NONE)
		adopt(r, index, best);
	return FAIL_NONE;
}

/* A file that was read and is gone, and has its name with .gz or .zst now: its bytes are others. */
static enum fail_code
check_packed(
    const struct live_scan *s, const struct live_order *r, const char *name, struct failure *f)
{
	size_t n = strlen(name), suffix = text_ends_with(name, ".gz")    ? 3
					  : text_ends_with(name, ".zst") ? 4
									 : 0;
	size_t plain = suffix == 0 ? LIVE_ORDER_NONE : live_order_find_file(r, name, n - suffix);

	if (plain == LIVE_ORDER_NONE || r->file[plain].seen == s->looks || r->file[plain].lost ||
	    live_order_behind(r, plain) == LIVE_ORDER_NONE)
		return FAIL_NONE;
	return fail(f, FAIL_DATA,
	    "file %s: is %s, which was read and is gone, compressed, by its name: it would be "
	    "published again. Move it where no pattern matches it; if it is another file, give it "
	    "a name of its own",
	    name, r->file[plain].name);
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
	if (live_order_behind(r, index) != LIVE_ORDER_NONE &&
	    check_file(r, index, e, f) != FAIL_NONE)
		return f->code;
	r->file[index].inode = e->inode;
	r->file[index].device = e->device;
	r->file[index].now_at = LIVE_ORDER_NONE; /* it has its name, or has it again */
	if (r->file[index].twin || !is_of_interest(s, r, index, e->size_bytes))
		return FAIL_NONE;
	code = open_file(s->now.folder, e->name, &fd, f);
	if (code != FAIL_NONE || fd < 0)
		return code;
	code = find_former(s, r, index, fd, e->size_bytes, f);
	if (code == FAIL_NONE && live_order_behind(r, index) == LIVE_ORDER_NONE)
		code = check_packed(s, r, e->name, f);
	if (code == FAIL_NONE && !whole && live_order_behind(r, index) == LIVE_ORDER_NONE)
		code = is_compressed(fd, e->name, e->size_bytes, &whole, f);
	if (code == FAIL_NONE && is_of_interest(s, r, index, e->size_bytes))
		code = whole ? take_whole(s, r, index, fd, e->size_bytes, f)
			     : take_lines(s, r, index, fd, e->size_bytes, f);
	close(fd);
	return code;
}

static int
compare_inodes(const void *a, const void *b)
{
	const struct file_list_entry *x = *(const struct file_list_entry *const *)a;
	const struct file_list_entry *y = *(const struct file_list_entry *const *)b;

	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	if (x->inode != y->inode)
		return x->inode < y->inode ? -1 : 1;
	return x < y ? -1 : x > y; /* by name, as the list is */
}

static size_t
index_of(const struct live_order *r, const struct file_list_entry *e)
{
	return live_order_find_file(r, e->name, strlen(e->name));
}

/* Of the names of one file: the one of which something was read is read on, else the first. */
static void
note_twins(struct live_order *r, const struct file_list_entry *const *name, size_t n)
{
	size_t stays = 0;

	assert(n > 0);
	while (stays < n && live_order_behind(r, index_of(r, name[stays])) == LIVE_ORDER_NONE)
		stays++;
	if (stays == n)
		stays = 0;
	for (size_t i = 0; i < n; i++) {
		size_t index = index_of(r, name[i]);
		bool twin = i != stays && live_order_behind(r, index) == LIVE_ORDER_NONE;

		if (twin && !r->file[index].twin)
			log_warning("input: INPUT-LINK file %s is the same file as %s: it is read "
				    "under that name alone",
			    name[i]->name, name[stays]->name);
		r->file[index].twin = twin;
	}
}

/* Notes which files this look sees, and which of them are second names of others. */
static enum fail_code
note_files(
    struct live_scan *s, struct live_order *r, const struct file_list *list, struct failure *f)
{
	const struct file_list_entry **sorted = malloc((list->n + 1) * sizeof(*sorted));
	bool any_new = false;

	if (sorted == NULL)
		return fail_memory(f);
	for (size_t i = 0; i < list->n; i++) {
		size_t index;

		sorted[i] = &list->file[i];
		if (live_order_file(r, list->file[i].name, strlen(list->file[i].name), &index, f) !=
		    FAIL_NONE) {
			free(sorted);
			return f->code;
		}
		r->file[index].seen = s->looks;
		any_new = any_new || live_order_behind(r, index) == LIVE_ORDER_NONE;
	}
	if (any_new)
		qsort(sorted, list->n, sizeof(*sorted), compare_inodes);
	for (size_t i = 0, n; any_new && i < list->n; i += n) {
		for (n = 1; i + n < list->n && sorted[i + n]->inode == sorted[i]->inode &&
			    sorted[i + n]->device == sorted[i]->device;)
			n++;
		note_twins(r, &sorted[i], n);
	}
	free(sorted);
	return FAIL_NONE;
}

/* Whether the file of this name has the bytes of the portion, where they were. */
static enum fail_code
name_holds(const struct file_list_now *now, const struct live_order_portion *p,
    const struct file_list_entry *e, bool *does, struct failure *f)
{
	enum fail_code code;
	int fd;

	*does = false;
	if (e->size_bytes < p->end || (p->whole && e->size_bytes != p->end))
		return FAIL_NONE;
	code = open_file(now->folder, e->name, &fd, f);
	if (code != FAIL_NONE || fd < 0)
		return code;
	code = holds(p, fd, e->name, does, f);
	close(fd);
	return code;
}

/* The file of a portion was changed: says so where another one has what was read of it. */
static enum fail_code
fail_changed(const struct file_list_now *now, const struct live_order_portion *p, const char *name,
    struct failure *f)
{
	struct failure ignored;
	struct file_list *list;
	bool found = false;

	if (file_list_scan(&list, now, &ignored) != FAIL_NONE)
		return f->code;
	for (size_t i = 0; i < list->n && !found; i++) {
		const struct file_list_entry *e = &list->file[i];

		if (strcmp(e->name, name) == 0)
			continue;
		found = name_holds(now, p, e, &found, &ignored) == FAIL_NONE && found;
		if (found)
			fail(f, FAIL_DATA,
			    "file %s: was renamed to %s after it was read, and another file has "
			    "its name now" NAMES,
			    name, e->name);
	}
	file_list_close(list);
	return f->code;
}

enum fail_code
live_scan_check(const struct file_list_now *now, const struct live_order *r,
    const struct live_order_portion *p, struct failure *f)
{
	const char *name = live_scan_name(r, p);
	enum fail_code code;
	int fd;

	if (open_file(now->folder, name, &fd, f) != FAIL_NONE)
		return f->code;
	if (fd < 0)
		return fail(f, FAIL_IO,
		    "file %s: is gone, and has to be read again from byte %" PRIu64
		    ": not all that is made of it was published. Put it back; or `riffle produce "
		    "DOMAIN --skip-missing` continues without what was not published of it",
		    name, p->byte);
	code = check_tail(fd, name, p, f);
	close(fd);
	return code == FAIL_DATA ? fail_changed(now, p, name, f) : code;
}

/* Warns where a file that the last look saw has a name now that is another partition's. */
static enum fail_code
warn_elsewhere(const struct live_scan *s, const struct live_order *r, const struct file_list *all,
    const struct live_order_file *file, struct failure *f)
{
	const struct live_order_portion *p = &r->portion[file->last];

	for (size_t i = 0; i < all->n; i++) {
		const struct file_list_entry *e = &all->file[i];
		size_t index = index_of(r, e);
		bool same = file->inode == e->inode && file->device == e->device, does;

		if ((index != LIVE_ORDER_NONE && r->file[index].seen == s->looks) ||
		    (!same && (file->inode != 0 || e->size_bytes != p->end)))
			continue;
		if (name_holds(&s->now, p, e, &does, f) != FAIL_NONE)
			return f->code;
		if (does)
			log_warning("input: INPUT-RENAMED file %s is %s now, which is another "
				    "partition's: it is published again there. Where a domain has "
				    "partitions its files must keep their names",
			    file->name, e->name);
	}
	return FAIL_NONE;
}

/* Looks into the other partitions for the files that were read and that the last look saw. */
static enum fail_code
look_elsewhere(const struct live_scan *s, const struct live_order *r, struct failure *f)
{
	struct file_list_now all = s->now;
	struct file_list *list = NULL;
	enum fail_code code = FAIL_NONE;

	all.partition = 0;
	all.partitions = 1;
	for (size_t i = 0; i < r->files_n && s->now.partitions > 1 && code == FAIL_NONE; i++) {
		const struct live_order_file *file = &r->file[i];
		size_t now_at = file->now_at;

		if (file->last == LIVE_ORDER_NONE || file->lost || file->seen + 1 != s->looks ||
		    (now_at != LIVE_ORDER_NONE && r->file[now_at].seen == s->looks))
			continue;
		if (list == NULL)
			code = file_list_scan(&list, &all, f);
		if (code == FAIL_NONE)
			code = warn_elsewhere(s, r, list, file, f);
	}
	file_list_close(list);
	return code;
}

enum fail_code
live_scan_find(const struct file_list_now *now, struct live_order *r, size_t portion, bool *there,
    struct failure *f)
{
	const struct live_order_portion *p = &r->portion[portion];
	struct file_list *list;
	enum fail_code code;
	uint64_t size_bytes;
	size_t index = LIVE_ORDER_NONE;

	assert(portion < r->n);
	code = file_list_look(now->folder, live_scan_name(r, p), &size_bytes, there, f);
	if (code != FAIL_NONE || *there)
		return code;
	r->file[p->file].now_at = LIVE_ORDER_NONE;
	code = file_list_scan(&list, now, f);
	if (code != FAIL_NONE)
		return code;
	for (size_t i = 0; i < list->n && !*there && code == FAIL_NONE; i++) {
		code = name_holds(now, p, &list->file[i], there, f);
		if (code == FAIL_NONE && *there)
			code = live_order_file(
			    r, list->file[i].name, strlen(list->file[i].name), &index, f);
	}
	if (index != p->file)
		r->file[p->file].now_at = index;
	file_list_close(list);
	return code;
}

enum fail_code
live_scan(struct live_scan *s, struct live_order *r, struct failure *f)
{
	struct file_list *list;
	enum fail_code code;

	assert(s->now.partition < s->now.partitions);
	s->n = 0;
	s->unsettled = s->gone_listed = false;
	s->looks++;
	if (file_list_scan(&list, &s->now, f) != FAIL_NONE)
		return f->code;
	code = note_files(s, r, list, f);
	for (size_t i = 0; i < list->n && s->n < LIVE_ROUND_MAX && code == FAIL_NONE; i++) {
		const struct file_list_entry *e = &list->file[i];
		size_t behind = live_order_behind(r, index_of(r, e));

		code = take_file(s, r, e, f);
		if (code == FAIL_DATA && behind != LIVE_ORDER_NONE)
			code = fail_changed(&s->now, &r->portion[behind], e->name, f);
	}
	file_list_close(list);
	return code == FAIL_NONE ? look_elsewhere(s, r, f) : code;
}

void
live_scan_close(struct live_scan *s)
{
	free(s->gone);
	s->gone = NULL;
}
