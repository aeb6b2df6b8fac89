/*
 * The input itself: what the reader thread does, and how it starts and ends.
 *
 * Order of this file: from bytes to the queue; the reader thread; files that are all there; a
 * program; open, next and close. input_live.c and input_tokens.c are the two other kinds.
 */
#include "producer/input/input_internal.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <xxhash.h>

#include "common/base/text.h"
#include "common/base/thread.h"

/* The way out where the data are not those of the run before. */
#define RESTART "publish the domain again from its start (`riffle produce DOMAIN --restart`)"

/* ---- from bytes to the queue ---- */

enum fail_code
input_check_stopped(const struct input *in, struct failure *f)
{
	if (chunk_queue_stopped(in->queue))
		return fail(f, FAIL_STOPPED, "reading was stopped");
	return FAIL_NONE;
}

enum fail_code
input_open_stream(struct input *in, const char *name, struct failure *f)
{
	enum fail_code code;
	char *path;

	assert(in->stream == NULL);
	in->refused.code = FAIL_NONE;
	if (file_list_path(&path, in->folder, name, f) != FAIL_NONE)
		return f->code;
	code = stream_open_file(&in->stream, path, name, f);
	free(path);
	if (code != FAIL_DATA)
		return code;
	in->refused = *f;
	return FAIL_NONE;
}

enum fail_code
input_pass_on(struct input *in, struct failure *f)
{
	struct chunk *c;

	assert(in->passed_on <= in->used);
	if (record_cutter_take(in->cutter, in->used - in->passed_on, &c, f) != FAIL_NONE)
		return f->code;
	if (c == NULL)
		return FAIL_NONE;
	in->passed_on = in->used;
	return chunk_queue_put(in->queue, c, f);
}

enum fail_code
input_cut_all(struct input *in, struct failure *f)
{
	bool full;

	do {
		if (record_cutter_cut(in->cutter, &full, f) != FAIL_NONE)
			return f->code;
		if (full && input_pass_on(in, f) != FAIL_NONE)
			return f->code;
	} while (full);
	return FAIL_NONE;
}

/*
 * Reads the stream to its end, or to where its bytes are no good: what was begun there becomes a
 * reject with the reason, and the next file is read. A program that pauses (FAIL_TIMEOUT) has its
 * records passed on although no chunk is full: somebody waits for them.
 */
static enum fail_code
read_stream(struct input *in, struct failure *f)
{
	uint64_t used_before = in->used - stream_used(in->stream);

	while (record_cutter_wants(in->cutter)) {
		size_t room, got = 0;
		enum fail_code code;
		char *at;

		if (input_check_stopped(in, f) != FAIL_NONE ||
		    record_cutter_room(in->cutter, &at, &room, f) != FAIL_NONE)
			return f->code;
		code = stream_read(in->stream, at, room, &got, f);
		if (code == FAIL_DATA)
			return record_cutter_end(in->cutter, f->text, f);
		if (code != FAIL_NONE && code != FAIL_TIMEOUT)
			return code;
		in->used = used_before + stream_used(in->stream);
		if (code == FAIL_TIMEOUT && input_pass_on(in, f) != FAIL_NONE)
			return f->code;
		if (code == FAIL_NONE && got == 0)
			break;
		record_cutter_feed(in->cutter, got);
		if (input_cut_all(in, f) != FAIL_NONE)
			return f->code;
	}
	return record_cutter_end(in->cutter, NULL, f);
}

enum fail_code
input_read_one(struct input *in, uint64_t used_after, struct failure *f)
{
	enum fail_code code;

	if (in->stream != NULL)
		code = read_stream(in, f);
	else
		code = record_cutter_end(in->cutter, in->refused.text, f);
	stream_close(in->stream);
	in->stream = NULL;
	if (code != FAIL_NONE)
		return code;
	if (in->used < used_after)
		in->used = used_after;
	return input_pass_on(in, f);
}

/* ---- the reader thread ---- */

/* Opens file_at and begins to cut it. */
static enum fail_code
open_file(struct input *in, struct failure *f)
{
	const char *name = in->files->file[in->file_at].name;

	if (input_open_stream(in, name, f) != FAIL_NONE)
		return f->code;
	record_cutter_start(in->cutter, name, chunk_form_of(name), 0, 1);
	return FAIL_NONE;
}

/* The first file, or the program, is open already: input_open() could report what is wrong. */
static enum fail_code
read_all(struct input *in, struct failure *f)
{
	uint64_t used_after = 0;

	if (in->program != NULL)
		return input_read_one(in, 0, f);
	for (size_t i = 0; i < in->file_at; i++)
		used_after += in->files->file[i].size_bytes;
	while (in->file_at < in->files->n) {
		used_after += in->files->file[in->file_at].size_bytes;
		if (input_read_one(in, used_after, f) != FAIL_NONE)
			return f->code;
		in->file_at++;
		if (in->file_at < in->files->n && open_file(in, f) != FAIL_NONE)
			return f->code;
	}
	return FAIL_NONE;
}

/*
 * in->end is complete before the queue is finished: whoever sees the end of the queue may read it.
 */
static void *
reader(void *argument)
{
	struct input *in = argument;
	struct failure f = {0};
	enum fail_code code;

	if (in->tokens != NULL)
		code = input_tokens_read(in, &f);
	else if (in->live != NULL)
		code = input_live_read(in, &f);
	else
		code = read_all(in, &f);
	if (code == FAIL_NONE)
		f.code = FAIL_NONE;
	if (in->live == NULL && in->tokens == NULL)
		record_cutter_place(in->cutter, &in->end.byte, &in->end.line, &in->end.records);
	chunk_queue_finish(in->queue, &f);
	return NULL;
}

/* ---- files that are all there ---- */

/* Only the last file of the run before can have grown: what others have more would not be read. */
static enum fail_code
check_sizes(const struct file_list *l, const struct input_position *from, struct failure *f)
{
	uint64_t bytes = file_list_bytes(l, from->files - 1);

	assert(from->files > 0);
	if (from->settled_bytes < 0 || (uint64_t)from->settled_bytes == bytes)
		return FAIL_NONE;
	return fail(f, FAIL_CONFIG,
	    "the files before %s, the last of the run before, had %" PRId64 " bytes then and have "
	    "%" PRIu64 " now: only the last file and new ones are read. Put back those that have "
	    "changed, or make what is new in them files that %s",
	    l->file[from->files - 1].name, from->settled_bytes, bytes,
	    l->order == CONFIG_FILES_LISTED ? "are listed after it" : "sort behind it");
}

/*
 * An appended run reads what comes behind the list of the run before: the list now must begin with
 * that one. It would not where a new file sorts between old ones, [a c] -> [a b c]: the records of
 * c have their indices already, and those of b would come in front of them.
 */
static enum fail_code
check_list(const struct input *in, const struct input_position *from, struct failure *f)
{
	const struct file_list *l = in->files;

	if (from->files <= l->n && file_list_names(l, from->files) == from->names)
		return check_sizes(l, from, f);
	if (l->order == CONFIG_FILES_LISTED)
		return fail(f, FAIL_CONFIG,
		    "the list no longer begins with the %" PRIu64
		    " files of the run before in the same order (file_order: listed). Restore it "
		    "up to %s, the last of them, and add new files after that one, or make the "
		    "new files a domain of their own",
		    from->files, from->file == NULL ? "none" : from->file);
	return fail(f, FAIL_CONFIG,
	    "the %" PRIu64 " files of the run before are not the first of the list now (names are "
	    "sorted by their bytes; the last one was %s): put back those that are gone, name new "
	    "files so that they sort behind it, or make the new files a domain of their own",
	    from->files, from->file == NULL ? "none" : from->file);
}

/*
 * A run that did not end has read all in front of its last file: the same must be there now.
 * [b c] -> [a b c], resumed in b: a would never be read.
 */
static enum fail_code
check_front(const struct input *in, const struct input_position *from, struct failure *f)
{
	uint64_t now = in->file_at + 1;

	if (file_list_names(in->files, in->file_at + 1) == from->names)
		return FAIL_NONE;
	if (in->files->order == CONFIG_FILES_LISTED)
		return fail(f, FAIL_CONFIG,
		    "the files listed before %s, where the last run ended, are not those of that "
		    "run in the same order (there were %" PRIu64 ", now there are %" PRIu64
		    "; file_order: listed). Restore the list up to that file and add new files "
		    "after it, or " RESTART,
		    from->file, from->files - 1, now - 1);
	if (now > from->files)
		return fail(f, FAIL_CONFIG,
		    "%" PRIu64 " of the files that sort before %s are new: the last run ended in "
		    "it, and they would be left out. Move them away, name them so that they sort "
		    "behind it, or " RESTART,
		    now - from->files, from->file);
	return fail(f, FAIL_CONFIG,
	    "files that sort before %s, where the last run ended, were removed or renamed (there "
	    "were %" PRIu64 ", there are %" PRIu64 "). Put them back under their names (they are "
	    "not read again: empty files will do), or " RESTART,
	    from->file, from->files - 1, now - 1);
}

/* Finds the file where a resume starts, and counts those before it. */
static enum fail_code
find_file(struct input *in, const struct input_position *from, struct failure *f)
{
	const struct file_list *l = in->files;

	if (from->files > 0 && from->ended && check_list(in, from, f) != FAIL_NONE)
		return f->code;
	if (from->file == NULL)
		return FAIL_NONE;
	in->file_at = file_list_find(l, from->file);
	if (in->file_at == l->n)
		return fail(f, FAIL_CONFIG,
		    "file %s: the last run ended there, and no pattern names it any more: put it "
		    "back, or " RESTART,
		    from->file);
	in->bytes_skipped += file_list_bytes(l, in->file_at);
	return from->files > 0 && !from->ended ? check_front(in, from, f) : FAIL_NONE;
}

/*
 * Lets the open file continue at `from`: a plain one at the byte, which must come after an end of
 * line, others at their start, leaving out what is before.
 *
 * A seek goes to the byte before the record, and that byte is read and must be LF: a file that was
 * rewritten with lines of other lengths is found out here, and not by a hash of all of it. Two
 * exceptions: byte 0 and line 1 have nothing before them; and an appended run may continue behind a
 * last line without an end, as long as the file is no longer than it was. The cutter then checks
 * that a record does start at the byte (record_cutter_skip).
 */
static enum fail_code
resume_file(struct input *in, const struct input_position *from, struct failure *f)
{
	const char *name = in->files->file[in->file_at].name;
	uint64_t at = 0;
	size_t got = 1;
	char before = '\n';

	if (in->stream != NULL && from->byte > 0 && from->line > 1 &&
	    chunk_form_of(name) == CHUNK_JSON_LINES &&
	    stream_seek(in->stream, from->byte - 1, &at, f) != FAIL_NONE) {
		fail_within(f, "a run cannot be resumed at byte %" PRIu64, from->byte);
		return fail_more(f, ": put the file back as it was, or " RESTART);
	}
	if (at > 0 && stream_read(in->stream, &before, 1, &got, f) != FAIL_NONE)
		return f->code;
	if (from->ended && in->files->file[in->file_at].size_bytes == from->byte)
		before = '\n'; /* the last line need have no end while nothing follows it */
	if (at > 0 && (got == 0 || before != '\n'))
		return fail(f, FAIL_DATA,
		    "file %s: no line starts at byte %" PRIu64
		    ", where the last run ended: put the file back as it was, or " RESTART,
		    name, from->byte);
	if (at > 0)
		record_cutter_start(in->cutter, name, chunk_form_of(name), from->byte, from->line);
	record_cutter_skip(in->cutter, from->byte, from->document, false);
	if (from->ended)
		record_cutter_may_end(in->cutter);
	if (at > 0)
		in->bytes_skipped += stream_used(in->stream);
	return FAIL_NONE;
}

enum fail_code
input_list_files(struct input *in, const struct input_options *o, const struct input_position *from,
    struct failure *f)
{
	if (file_list_open(&in->files, o->patterns, o->file_order, o->folder, o->partition,
		o->partitions, f) != FAIL_NONE)
		return f->code;
	in->bytes_total = file_list_bytes(in->files, in->files->n);
	in->end.files = in->files->n;
	in->end.names = file_list_names(in->files, in->files->n);
	if (in->files->n > 0) {
		in->end.file = in->files->file[in->files->n - 1].name;
		in->end.last_bytes = (int64_t)in->files->file[in->files->n - 1].size_bytes;
		in->end.settled_bytes = (int64_t)in->bytes_total - in->end.last_bytes;
	}
	return from == NULL ? FAIL_NONE : find_file(in, from, f);
}

static enum fail_code
open_files(struct input *in, const struct input_options *o, const struct input_position *from,
    struct failure *f)
{
	if (input_list_files(in, o, from, f) != FAIL_NONE)
		return f->code;
	if (in->file_at == in->files->n)
		return FAIL_NONE;
	if (open_file(in, f) != FAIL_NONE)
		return f->code;
	if (from != NULL && from->file != NULL && resume_file(in, from, f) != FAIL_NONE)
		return f->code;
	in->used = in->passed_on = in->bytes_skipped;
	return FAIL_NONE;
}

/* ---- a program ---- */

/* Whether a program that was read as `then` is the one of this hash: see input.h. */
static bool
same_program(const char *then, const char *command, uint64_t hash)
{
	char mark[2 + 16];

	snprintf(mark, sizeof(mark), "#%016" PRIx64, hash);
	return strcmp(then, command) == 0 ||
	       (strncmp(then, "exec:", 5) == 0 && text_ends_with(then, mark));
}

/*
 * The program starts here, in the caller's thread. One that is followed and begins where
 * RIFFLE_RESUME says is numbered from there; all others print everything again, and what was
 * printed before is counted and left out.
 */
static enum fail_code
open_command(struct input *in, const struct input_options *o, const struct input_position *from,
    struct failure *f)
{
	uint64_t hash = XXH64(o->exec, strlen(o->exec), 0);
	struct text name = {0};
	struct stream_program p = {
	    .command = o->exec,
	    .name = o->exec_name,
	    .folder = in->folder,
	    .resume = from == NULL ? 0 : from->document,
	    .says_resume = o->follow,
	    .stop_fd = in->stop_fd,
	    .idle_ms = INPUT_FLUSH_MS,
	};

	if (o->partitions > 1)
		return fail(f, FAIL_CONFIG,
		    "exec:%s: a program cannot be dealt out to %" PRIu32
		    " lanes; use partitions: 1",
		    o->exec_name, o->partitions);
	text_add(&name, "exec:%s#%016" PRIx64, o->exec_name, hash);
	in->program = text_take(&name);
	if (in->program == NULL)
		return fail_memory(f);
	in->end.file = in->program;
	in->end.names = hash;
	if (from != NULL && from->file != NULL && !same_program(from->file, o->exec, hash))
		return fail(f, FAIL_CONFIG,
		    "exec:%s: the last run read another command (the hash of this one is "
		    "%016" PRIx64 "). Put the former command back, or " RESTART,
		    o->exec_name, hash);
	if (stream_open_program(&in->stream, &p, f) != FAIL_NONE)
		return f->code;
	record_cutter_start(in->cutter, in->program, CHUNK_JSON_LINES, 0, 1);
	if (from != NULL && o->follow && !o->repeats) {
		record_cutter_start(
		    in->cutter, in->program, CHUNK_JSON_LINES, from->byte, from->line);
		record_cutter_number(in->cutter, from->document);
		return FAIL_NONE;
	}
	if (from != NULL)
		record_cutter_skip(in->cutter, from->byte, from->document, true);
	if (from != NULL && from->ended)
		record_cutter_may_end(in->cutter);
	return FAIL_NONE;
}

/* ---- open, next, close ---- */

static enum fail_code
start_thread(struct input *in, struct failure *f)
{
	int refused = thread_start(&in->thread, 0, reader, in);

	if (refused != 0) {
		errno = refused;
		return fail_errno(f, FAIL_IO, "input: starting a thread; " THREAD_LIMITS);
	}
	in->running = true;
	return FAIL_NONE;
}

enum fail_code
input_open(struct input **out, const struct input_options *o, const struct input_position *from,
    struct failure *f)
{
	struct input *in = calloc(1, sizeof(*in));
	uint64_t chunk_bytes = o->chunk_bytes == 0 ? INPUT_CHUNK_BYTES : o->chunk_bytes;
	enum fail_code code;

	assert(o->partition < o->partitions);
	assert(o->patterns != NULL || o->exec != NULL);
	assert(o->exec == NULL || o->exec_name != NULL);
	if (in == NULL)
		return fail_memory(f);
	in->end.file = "";
	in->end.settled_bytes = in->end.last_bytes = -1;
	in->folder = strdup(o->folder == NULL || *o->folder == '\0' ? "." : o->folder);
	in->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	code = in->folder == NULL ? fail_memory(f) : FAIL_NONE;
	if (code == FAIL_NONE && in->stop_fd < 0)
		code = fail_errno(f, FAIL_IO, "input: no eventfd");
	if (code == FAIL_NONE)
		code = chunk_queue_open(&in->queue, f);
	if (code == FAIL_NONE)
		code = record_cutter_open(&in->cutter, o->max_document_bytes, chunk_bytes, f);
	if (code == FAIL_NONE)
		code = o->tokens != NULL ? input_tokens_open(in, o, from, f)
		       : o->exec != NULL ? open_command(in, o, from, f)
		       : o->live != NULL ? input_live_open(in, o, from, f)
					 : open_files(in, o, from, f);
	if (code == FAIL_NONE)
		code = start_thread(in, f);
	if (code != FAIL_NONE) {
		input_close(in);
		return code;
	}
	*out = in;
	return FAIL_NONE;
}

void
input_close(struct input *in)
{
	if (in == NULL)
		return;
	if (in->running) {
		chunk_queue_stop(in->queue);
		eventfd_write(in->stop_fd, 1);
		pthread_join(in->thread, NULL);
	}
	stream_close(in->stream);
	input_live_close(in->live);
	input_tokens_close(in->tokens);
	record_cutter_close(in->cutter);
	chunk_queue_close(in->queue);
	file_list_close(in->files);
	if (in->stop_fd >= 0)
		close(in->stop_fd);
	free(in->program);
	free(in->folder);
	free(in);
}

enum fail_code
input_next_within(struct input *in, int timeout_ms, struct chunk **out, struct failure *f)
{
	return chunk_queue_take(in->queue, timeout_ms, out, f);
}

enum fail_code
input_next(struct input *in, struct chunk **out, struct failure *f)
{
	return chunk_queue_take(in->queue, -1, out, f);
}

uint64_t
input_bytes_total(const struct input *in)
{
	return in->bytes_total;
}

uint64_t
input_bytes_skipped(const struct input *in)
{
	return in->bytes_skipped;
}

const struct input_end *
input_end(const struct input *in)
{
	return &in->end;
}

size_t
input_files(const struct input *in)
{
	return in->files == NULL ? 0 : in->files->n;
}

bool
input_files_up_to(const struct input *in, const char *file, uint64_t *files, uint64_t *names)
{
	size_t at = in->files == NULL ? 0 : file_list_find(in->files, file);

	if (in->files == NULL || at == in->files->n)
		return false;
	*files = at + 1;
	*names = file_list_names(in->files, at + 1);
	return true;
}

enum fail_code
input_fail_empty(const struct input_end *end, struct failure *f, const char *what, ...)
{
	char text[FAILURE_TEXT_MAX];
	va_list ap;

	assert(end->records == 0);
	va_start(ap, what);
	vsnprintf(text, sizeof(text), what, ap);
	va_end(ap);
	fail(f, FAIL_DATA, "%s has no record", text);
	if (end->files == 1)
		fail_more(f, ": file %s is empty", end->file);
	else if (end->files > 1)
		fail_more(
		    f, ": all %" PRIu64 " files are empty, the last: %s", end->files, end->file);
	return f->code;
}
