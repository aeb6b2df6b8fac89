/*
 * An input whose files keep arriving: the part of input.h that live_order.h describes.
 *
 * First the portions that the order has already, from where a resume starts; then rounds. A round
 * is: look what there is (live_scan.h), make that durable (`keep`), add it to the order, read it.
 *
 *     crash before keep    the files are looked at again: nobody has seen this round
 *     crash during keep    the log has all of the round, some records of it, or none. The next run
 *                          reads what the log has, and takes the rest in rounds of its own
 *     crash after keep     the next run reads the round from the log, and its portions again
 *
 * So nothing is read, and nothing published, that is not in the log with its place; and a document
 * has one index for ever.
 */
#include "producer/input/input_internal.h"

#include <assert.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "producer/input/live_scan.h"
#include "producer/input/watch.h"

enum {
	INPUT_LIVE_PAUSE_MS = 100,  /* from one look to the next at least */
	INPUT_LIVE_LOOK_MS = 5000,  /* between two looks where nothing is reported */
	INPUT_LIVE_ROUND_MS = 1000, /* from one round to the next: files that grow all the time */
	INPUT_LIVE_PAUSE_FACTOR = 4 /* and at least so many times what the look took */
};

struct input_live {
	struct input_live_options o;
	struct config_list patterns; /* borrowed texts */
	bool follow;
	struct live_scan scan;
	struct arrivals_portion keep[LIVE_ROUND_MAX];
	struct watch *watch; /* NULL: does not follow */
	size_t at;           /* portion to be read next; <= order->n */
	size_t mark_next;    /* of o.mark: none before it is of portion `at` */
	bool inside;         /* and of it only what begins at `from` */
	struct input_position from;
};

/* ---- opening ---- */

static enum fail_code
fail_unknown(const struct input_position *from, struct failure *f)
{
	return fail(f, FAIL_DATA,
	    "the last run ended at byte %" PRIu64
	    " of file %s, and the order in which the files were read does not have that place: the "
	    "domain was begun before it was live, or the topic of arrivals was deleted. Produce it "
	    "under another name",
	    from->byte, from->file == NULL ? "(none)" : from->file);
}

enum fail_code
input_live_start(const struct live_order *r, const struct input_position *from, size_t *portion,
    struct failure *f)
{
	if (from->files > 0 &&
	    (from->files > r->n || live_order_hash(r, (size_t)from->files) != from->names))
		return fail_unknown(from, f);
	if (from->ended)
		*portion = (size_t)from->files;
	else
		*portion = from->file == NULL ? LIVE_ORDER_NONE
					      : live_order_find(r, from->file, from->byte);
	return *portion == LIVE_ORDER_NONE ? fail_unknown(from, f) : FAIL_NONE;
}

static void
see_folder(void *opaque, const char *path)
{
	struct input_live *l = opaque;

	if (l->watch != NULL)
		watch_folder(l->watch, path);
}

enum fail_code
input_live_open(struct input *in, const struct input_options *o, const struct input_position *from,
    struct failure *f)
{
	struct input_live *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return fail_memory(f);
	in->live = l;
	l->o = *o->live;
	l->patterns = *o->patterns;
	l->follow = o->follow;
	l->scan.now = (struct file_list_now){.patterns = &l->patterns,
	    .folder = in->folder,
	    .partition = o->partition,
	    .partitions = o->partitions,
	    .folder_seen = see_folder,
	    .opaque = l};
	l->scan.follow = o->follow;
	l->scan.last = o->live->last;
	if (o->follow && watch_open(&l->watch, in->stop_fd, f) != FAIL_NONE)
		return f->code;
	if (from == NULL)
		return FAIL_NONE;
	record_cutter_number(in->cutter, from->document);
	l->from = *from;
	l->inside = !from->ended;
	return input_live_start(l->o.order, from, &l->at, f);
}

void
input_live_close(struct input_live *l)
{
	if (l == NULL)
		return;
	watch_close(l->watch);
	live_scan_close(&l->scan);
	free(l);
}

/* ---- reading ---- */

static enum fail_code
open_portion(struct input *in, size_t portion, struct failure *f)
{
	struct live_order *order = in->live->o.order;
	const struct live_order_portion *p = &order->portion[portion];
	bool there;

	if (live_scan_find(&in->live->scan.now, order, portion, &there, f) != FAIL_NONE ||
	    live_scan_check(&in->live->scan.now, order, p, f) != FAIL_NONE)
		return f->code;
	return input_open_stream(in, live_scan_name(order, p), f);
}

/* The marks of the portion at hand: [*n]. They come in the order of the portions. */
static const struct record_mark *
marks_here(struct input_live *l, size_t *n)
{
	size_t end;

	while (l->mark_next < l->o.marks_n && l->o.mark[l->mark_next].stretch < l->at)
		l->mark_next++;
	for (end = l->mark_next; end < l->o.marks_n && l->o.mark[end].stretch == l->at;)
		end++;
	*n = end - l->mark_next;
	return *n == 0 ? NULL : &l->o.mark[l->mark_next];
}

static void
begin_records(
    struct input *in, const char *name, enum chunk_form form, uint64_t byte, uint64_t line)
{
	size_t n;
	const struct record_mark *mark = marks_here(in->live, &n);

	record_cutter_start(in->cutter, name, form, byte, line);
	record_cutter_marks(in->cutter, mark, n);
}

static enum fail_code
read_whole(struct input *in, const struct live_order_portion *p, struct failure *f)
{
	struct input_live *l = in->live;
	const char *name = l->o.order->file[p->file].name;

	begin_records(in, name, chunk_form_of(name), 0, 1);
	if (l->inside)
		record_cutter_skip(in->cutter, l->from.byte, l->from.document, false);
	return input_read_one(in, in->used, f);
}

/* Feeds bytes [at, end) of the open file. */
static enum fail_code
feed_lines(struct input *in, const struct live_order_portion *p, uint64_t at, struct failure *f)
{
	while (at < p->end) {
		size_t room, got = 0;
		char *to;

		if (input_check_stopped(in, f) != FAIL_NONE ||
		    record_cutter_room(in->cutter, &to, &room, f) != FAIL_NONE)
			return f->code;
		if (room > p->end - at)
			room = (size_t)(p->end - at);
		if (stream_read(in->stream, to, room, &got, f) != FAIL_NONE)
			return f->code;
		if (got == 0)
			return fail(f, FAIL_DATA, "file %s: has shrunk to %" PRIu64 " bytes",
			    in->live->o.order->file[p->file].name, at);
		in->used += got;
		at += got;
		record_cutter_feed(in->cutter, got);
		if (input_cut_all(in, f) != FAIL_NONE)
			return f->code;
	}
	return record_cutter_end(in->cutter, NULL, f);
}

static enum fail_code
read_lines(struct input *in, const struct live_order_portion *p, struct failure *f)
{
	struct input_live *l = in->live;
	const char *name = l->o.order->file[p->file].name;
	uint64_t byte = l->inside ? l->from.byte : p->byte, at = 0;
	uint64_t line = l->inside ? l->from.line : p->line;
	enum fail_code code;

	if (in->stream == NULL)
		return fail(f, FAIL_DATA, "file %s: %s", name, in->refused.text);
	if (byte > 0 && stream_seek(in->stream, byte, &at, f) != FAIL_NONE)
		return f->code;
	if (at != byte)
		return fail(
		    f, FAIL_DATA, "file %s: was lines of text, and is a compressed file now", name);
	begin_records(in, name, CHUNK_JSON_LINES, byte, line);
	code = feed_lines(in, p, byte, f);
	stream_close(in->stream);
	in->stream = NULL;
	return code == FAIL_NONE ? input_pass_on(in, f) : code;
}

static enum fail_code
read_portion(struct input *in, size_t portion, struct failure *f)
{
	const struct live_order_portion *p = &in->live->o.order->portion[portion];

	if (input_check_stopped(in, f) != FAIL_NONE || open_portion(in, portion, f) != FAIL_NONE)
		return f->code;
	return p->whole ? read_whole(in, p, f) : read_lines(in, p, f);
}

/* Reads the portions that are in the order and were not read yet. */
static enum fail_code
read_portions(struct input *in, struct failure *f)
{
	struct input_live *l = in->live;
	const struct live_order *r = l->o.order;

	assert(l->at <= r->n);
	for (; l->at < r->n; l->at++) {
		size_t n;
		const struct record_mark *mark = marks_here(l, &n);

		if (!live_order_is_lost(r, l->at) && read_portion(in, l->at, f) != FAIL_NONE)
			return f->code;
		while (n > 0)
			record_cutter_raise(in->cutter, mark[--n].document);
		l->inside = false;
	}
	return FAIL_NONE;
}

/* Makes the round durable, then part of the order. */
static enum fail_code
adopt_round(struct input *in, struct failure *f)
{
	struct input_live *l = in->live;
	struct live_order *r = l->o.order;
	enum fail_code code;

	for (size_t i = 0; i < l->scan.n; i++)
		l->keep[i] = live_order_record(r, &l->scan.portion[i]);
	code = l->o.keep(l->o.opaque, l->keep, l->scan.n, f);
	while (code == FAIL_TIMEOUT) {
		if (input_check_stopped(in, f) != FAIL_NONE)
			return f->code;
		code = l->o.keep(l->o.opaque, NULL, 0, f);
	}
	if (code != FAIL_NONE)
		return code;
	for (size_t i = 0; i < l->scan.n; i++)
		if (live_order_add(r, &l->scan.portion[i], f) != FAIL_NONE)
			return f->code;
	return FAIL_NONE;
}

/* A pause that only a stop cuts short: an event of a file does not. */
static enum fail_code
pause_ms(const struct input *in, int64_t ms, struct failure *f)
{
	struct pollfd fd = {in->stop_fd, POLLIN, 0};

	if (poll(&fd, 1, ms > INPUT_LIVE_LOOK_MS ? INPUT_LIVE_LOOK_MS : (int)ms) > 0)
		return fail(f, FAIL_STOPPED, "stopped");
	return FAIL_NONE;
}

/*
 * Waits until looking again may be of use: first for an event, or INPUT_LIVE_LOOK_MS, then for what
 * is left of the pause that is due since the last look began. So what comes after a silence is seen
 * at once. Where somebody writes all the time a look costs at most a fifth of the time, and a
 * round, which makes a record in Kafka and a portion for each file, comes at most once a second.
 */
static enum fail_code
wait_for_files(struct input *in, int64_t began_ms, int64_t looked_ms, struct failure *f)
{
	struct input_live *l = in->live;
	int64_t rest = INPUT_LIVE_PAUSE_FACTOR * looked_ms, passed;
	enum fail_code code =
	    watch_wait(l->watch, l->scan.unsettled ? LIVE_QUIET_MS : INPUT_LIVE_LOOK_MS, f);

	if (code != FAIL_NONE && code != FAIL_TIMEOUT)
		return code;
	if (rest < INPUT_LIVE_PAUSE_MS)
		rest = INPUT_LIVE_PAUSE_MS;
	if (l->scan.n > 0 && rest < INPUT_LIVE_ROUND_MS)
		rest = INPUT_LIVE_ROUND_MS;
	passed = clock_ms() - began_ms;
	return rest > passed ? pause_ms(in, rest - passed, f) : FAIL_NONE;
}

static enum fail_code
read_rounds(struct input *in, struct failure *f)
{
	struct input_live *l = in->live;

	for (;;) {
		int64_t began_ms = clock_ms(), looked_ms;
		bool full;

		if (input_check_stopped(in, f) != FAIL_NONE ||
		    live_scan(&l->scan, l->o.order, f) != FAIL_NONE)
			return f->code;
		looked_ms = clock_ms() - began_ms;
		full = l->scan.n == LIVE_ROUND_MAX;
		if (l->scan.n > 0 &&
		    (adopt_round(in, f) != FAIL_NONE || read_portions(in, f) != FAIL_NONE))
			return f->code;
		if (full)
			continue;
		if (!l->follow)
			return FAIL_NONE;
		if (wait_for_files(in, began_ms, looked_ms, f) != FAIL_NONE)
			return f->code;
	}
}

/* A live input ends with its last portion; see Input in schemas/End.avsc. */
static void
note_end(struct input *in)
{
	const struct live_order *r = in->live->o.order;
	uint64_t byte, line;

	record_cutter_place(in->cutter, &byte, &line, &in->end.records);
	in->end.files = r->n;
	in->end.names = live_order_hash(r, r->n);
	if (r->n == 0)
		return;
	in->end.file = r->file[r->portion[r->n - 1].file].name;
	in->end.byte = r->portion[r->n - 1].end;
	in->end.line = r->portion[r->n - 1].line;
}

enum fail_code
input_live_read(struct input *in, struct failure *f)
{
	if (read_portions(in, f) != FAIL_NONE || read_rounds(in, f) != FAIL_NONE)
		return f->code;
	note_end(in);
	return FAIL_NONE;
}
