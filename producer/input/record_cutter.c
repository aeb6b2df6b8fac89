#include "producer/input/record_cutter.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The buffer.
 *
 *     [ records of this chunk | the record begun | not looked at | free ]
 *       0                       start              scan            n    room
 *
 * 0 <= start <= scan <= n <= room. Bytes [start, scan) hold no LF. `byte` and `line` are the place
 * of start in the file. Records are kept as offsets until the chunk is taken, since the buffer
 * moves when it grows.
 *
 * Example, chunk_bytes 12, three lines that come in two reads:
 *
 *     fed   {"a":1}LF{"b":2             one record, [0, 7); start = 8, scan = n = 14
 *     fed   {"a":1}LF{"b":22}LF{"c":3   a second one, [8, 16); start = 17 >= 12: the chunk is full
 *     take  the chunk has bytes [0, 17); {"c":3 is left, and moves to the front of the buffer
 *
 * Taking (hand_over()). The chunk's bytes [0, start) and the rest [start, n) go different ways.
 * Most often the buffer is given to the chunk, and the rest is copied into a new one: the rest is
 * less than one record long, so that next to nothing is copied. A chunk that fills less than half
 * of the buffer, as where a slow program pauses, would waste the other half: it is copied instead,
 * and the buffer stays.
 */
struct cut_record {
	uint64_t document, byte, line;
	size_t offset, n;
	size_t reason; /* offset in `reasons` + 1; 0: it is no reject */
	bool breaks_off;
};

struct record_cutter {
	uint64_t max_document_bytes, chunk_bytes;
	char *buffer;
	size_t start, scan, n, room; /* see above */
	struct cut_record *record;
	size_t records_n, records_room;
	char *reasons; /* NUL-terminated, one after the other */
	size_t reasons_n, reasons_room;

	const char *file;
	enum chunk_form form;
	uint64_t byte, line; /* of buffer[start] in the file */
	uint64_t document;   /* index of the next record */
	bool fresh;          /* a byte order mark may come */
	bool skipping;       /* the rest of a record that was rejected */

	struct {
		bool active, counted, may_end;
		uint64_t byte, document;
	} skip;
	const struct record_mark *mark; /* [marks_n], borrowed: those that were not reached yet */
	size_t marks_n;
};

enum fail_code
record_cutter_open(struct record_cutter **out, uint64_t max_document_bytes, uint64_t chunk_bytes,
    struct failure *f)
{
	struct record_cutter *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return fail_memory(f);
	c->max_document_bytes = max_document_bytes;
	c->chunk_bytes = chunk_bytes;
	*out = c;
	return FAIL_NONE;
}

void
record_cutter_close(struct record_cutter *c)
{
	if (c == NULL)
		return;
	free(c->buffer);
	free(c->record);
	free(c->reasons);
	free(c);
}

void
record_cutter_start(
    struct record_cutter *c, const char *file, enum chunk_form form, uint64_t byte, uint64_t line)
{
	assert(c->records_n == 0);
	assert(line >= 1);
	c->start = c->scan = c->n = 0;
	c->file = file;
	c->form = form;
	c->byte = byte;
	c->line = line;
	c->fresh = byte == 0;
	c->skipping = false;
	c->skip.active = false;
	c->marks_n = 0;
}

void
record_cutter_number(struct record_cutter *c, uint64_t document)
{
	c->document = document;
}

void
record_cutter_raise(struct record_cutter *c, uint64_t document)
{
	if (c->document < document)
		c->document = document;
}

void
record_cutter_marks(struct record_cutter *c, const struct record_mark *mark, size_t n)
{
	c->mark = mark;
	c->marks_n = n;
}

void
record_cutter_skip(struct record_cutter *c, uint64_t byte, uint64_t document, bool counted)
{
	c->skip.active = true;
	c->skip.may_end = false;
	c->skip.counted = counted;
	c->skip.byte = byte;
	c->skip.document = document;
}

void
record_cutter_may_end(struct record_cutter *c)
{
	assert(c->skip.active);
	c->skip.may_end = true;
}

void
record_cutter_place(
    const struct record_cutter *c, uint64_t *byte, uint64_t *line, uint64_t *document)
{
	*byte = c->byte;
	*line = c->line;
	*document = c->document;
}

/* ---- memory ---- */

/* Makes *memory hold `needed` elements of `size`, with room to grow. */
static enum fail_code
grow(void **memory, size_t *room, size_t needed, size_t size, struct failure *f)
{
	size_t wanted = *room == 0 ? needed : *room;
	void *grown;

	while (wanted < needed)
		wanted += wanted / 2 + 1;
	grown = realloc(*memory, wanted * size);
	if (grown == NULL)
		return fail_memory(f);
	*memory = grown;
	*room = wanted;
	return FAIL_NONE;
}

enum fail_code
record_cutter_room(struct record_cutter *c, char **out, size_t *room, struct failure *f)
{
	size_t needed = c->n + RECORD_CUTTER_ROOM_BYTES;

	if (c->room < needed) {
		void *memory = c->buffer;
		size_t first = (size_t)c->chunk_bytes + RECORD_CUTTER_ROOM_BYTES;

		if (needed < first)
			needed = first;
		if (grow(&memory, &c->room, needed, 1, f) != FAIL_NONE)
			return f->code;
		c->buffer = memory;
	}
	*out = c->buffer + c->n;
	*room = c->room - c->n;
	return FAIL_NONE;
}

void
record_cutter_feed(struct record_cutter *c, size_t n)
{
	assert(n <= c->room - c->n);
	c->n += n;
}

static enum fail_code
add_reason(struct record_cutter *c, const char *text, size_t *reason, struct failure *f)
{
	size_t n = strlen(text) + 1;
	void *memory = c->reasons;

	*reason = 0;
	if (c->reasons_room < c->reasons_n + n &&
	    grow(&memory, &c->reasons_room, c->reasons_n + n, 1, f) != FAIL_NONE)
		return f->code;
	c->reasons = memory;
	memcpy(c->reasons + c->reasons_n, text, n);
	*reason = c->reasons_n + 1;
	c->reasons_n += n;
	return FAIL_NONE;
}

/* ---- records ---- */

static enum fail_code
fail_not_there(const struct record_cutter *c, struct failure *f)
{
	return fail(f, FAIL_DATA,
	    "%s: no record %" PRIu64 " starts at byte %" PRIu64
	    ", where the last run ended: put its data back as they were, or publish the domain "
	    "again from its start (`riffle produce DOMAIN --restart`)",
	    c->file, c->skip.document, c->skip.byte);
}

/*
 * Whether the record at c->byte is one of those left out. A file is skipped by bytes, since all
 * records before the place are in this file; the index of the first one is given. What a program
 * prints is skipped by count, and the byte must then be right, too: a program that prints other
 * texts before the place is found out unless they are equally long.
 */
static enum fail_code
check_skip(struct record_cutter *c, bool *left_out, struct failure *f)
{
	*left_out = c->skip.active &&
		    (c->skip.counted ? c->document < c->skip.document : c->byte < c->skip.byte);
	if (*left_out) {
		c->document += c->skip.counted;
		return FAIL_NONE;
	}
	if (c->skip.active && c->byte != c->skip.byte)
		return fail_not_there(c, f);
	if (c->skip.active)
		c->document = c->skip.document;
	c->skip.active = false;
	return FAIL_NONE;
}

/* Adds the record buffer[start .. start+n); `reason` NULL: it is none that was rejected. */
static enum fail_code
emit(struct record_cutter *c, size_t n, const char *reason, struct failure *f)
{
	struct cut_record *r;
	bool left_out;
	size_t reason_at = 0;

	if (check_skip(c, &left_out, f) != FAIL_NONE || left_out)
		return left_out ? FAIL_NONE : f->code;
	for (; c->marks_n > 0 && c->mark->byte <= c->byte; c->marks_n--)
		record_cutter_raise(c, c->mark++->document);
	if (c->records_n == c->records_room) {
		void *memory = c->record;

		if (grow(&memory, &c->records_room, c->records_n + 64, sizeof(*r), f) != FAIL_NONE)
			return f->code;
		c->record = memory;
	}
	if (reason != NULL && add_reason(c, reason, &reason_at, f) != FAIL_NONE)
		return f->code;
	if (reason != NULL && n > RECORD_CUTTER_STUMP_BYTES)
		n = RECORD_CUTTER_STUMP_BYTES;
	r = &c->record[c->records_n++];
	*r = (struct cut_record){c->document++, c->byte, c->line, c->start, n, reason_at, false};
	return FAIL_NONE;
}

static enum fail_code
emit_too_long(struct record_cutter *c, size_t n, struct failure *f)
{
	char reason[96];

	snprintf(reason, sizeof(reason), "longer than max_document_bytes, %" PRIu64,
	    c->max_document_bytes);
	return emit(c, n, reason, f);
}

/* The stream ends here with a failure: `reason`. */
static enum fail_code
emit_break(struct record_cutter *c, size_t n, const char *reason, struct failure *f)
{
	size_t before = c->records_n;

	if (emit(c, n, reason, f) != FAIL_NONE)
		return f->code;
	if (c->records_n > before)
		c->record[before].breaks_off = true;
	return FAIL_NONE;
}

static bool
is_blank(const char *text, size_t n)
{
	size_t i = 0;

	while (i < n && (text[i] == ' ' || text[i] == '\t' || text[i] == '\r'))
		i++;
	return i == n;
}

/* A line of n bytes stands at start, without its LF. */
static enum fail_code
end_line(struct record_cutter *c, size_t n, struct failure *f)
{
	const char *text = c->buffer + c->start;

	if (n > 0 && text[n - 1] == '\r')
		n--;
	if (n > c->max_document_bytes)
		return emit_too_long(c, n, f);
	return is_blank(text, n) ? FAIL_NONE : emit(c, n, NULL, f);
}

/* Moves start n bytes on, in the buffer and in the file. */
static void
advance(struct record_cutter *c, size_t n)
{
	assert(n <= c->n - c->start);
	c->start += n;
	c->scan = c->start;
	c->byte += n;
}

/* Forgets the bytes from start on, but counts them. */
static void
drop(struct record_cutter *c)
{
	c->byte += c->n - c->start;
	c->n = c->scan = c->start;
}

/*
 * The record begun is longer than it may be, and its end has not come: rejects it and forgets it,
 * up to the stump, which the chunk keeps. What comes until its end is dropped as it comes
 * (`skipping`), so that a line of a gigabyte never is in memory.
 */
static enum fail_code
overflow(struct record_cutter *c, struct failure *f)
{
	size_t n = c->n - c->start,
	       stump = n < RECORD_CUTTER_STUMP_BYTES ? n : RECORD_CUTTER_STUMP_BYTES;

	if (emit_too_long(c, n, f) != FAIL_NONE)
		return f->code;
	advance(c, stump);
	drop(c);
	c->skipping = true;
	return FAIL_NONE;
}

/* Leaves out a byte order mark; false: too little is there to tell. */
static bool
pass_mark(struct record_cutter *c)
{
	if (c->fresh && c->n - c->start < 3)
		return false;
	if (c->fresh && memcmp(c->buffer + c->start, "\xef\xbb\xbf", 3) == 0)
		advance(c, 3);
	c->fresh = false;
	return true;
}

static bool
is_full(const struct record_cutter *c)
{
	return c->start >= c->chunk_bytes || c->records_n >= RECORD_CUTTER_RECORDS_MAX;
}

/*
 * Moves what is not cut to the front where no record needs what is before it: long blank stretches,
 * or records that a resume leaves out, would let the buffer grow without end.
 */
static void
reclaim(struct record_cutter *c)
{
	if (c->records_n > 0 || c->start == 0)
		return;
	memmove(c->buffer, c->buffer + c->start, c->n - c->start);
	c->n -= c->start;
	c->scan -= c->start;
	c->start = 0;
}

static enum fail_code
cut_lines(struct record_cutter *c, struct failure *f)
{
	while (!(c->records_n > 0 && is_full(c))) {
		const char *end =
		    c->scan < c->n ? memchr(c->buffer + c->scan, '\n', c->n - c->scan) : NULL;
		size_t n;

		if (end == NULL) {
			c->scan = c->n;
			break;
		}
		n = (size_t)(end - (c->buffer + c->start));
		if (!c->skipping && end_line(c, n, f) != FAIL_NONE)
			return f->code;
		c->skipping = false;
		advance(c, n + 1);
		c->line++;
	}
	return FAIL_NONE;
}

enum fail_code
record_cutter_cut(struct record_cutter *c, bool *full, struct failure *f)
{
	assert(c->start <= c->scan);
	assert(c->scan <= c->n);
	*full = false;
	if (!pass_mark(c))
		return FAIL_NONE;
	if (c->form == CHUNK_JSON_LINES && cut_lines(c, f) != FAIL_NONE)
		return f->code;
	*full = c->records_n > 0 && is_full(c);
	if (c->skipping && (c->scan == c->n || c->form == CHUNK_WHOLE_FILE))
		drop(c);
	/* One byte more than the longest document may be the CR of its end. */
	else if (c->scan == c->n || c->form == CHUNK_WHOLE_FILE)
		if (c->n - c->start > c->max_document_bytes + (c->form == CHUNK_JSON_LINES) &&
		    overflow(c, f) != FAIL_NONE)
			return f->code;
	reclaim(c);
	return FAIL_NONE;
}

bool
record_cutter_wants(const struct record_cutter *c)
{
	return c->form == CHUNK_JSON_LINES || !c->skipping;
}

enum fail_code
record_cutter_end(struct record_cutter *c, const char *reason, struct failure *f)
{
	enum fail_code code = FAIL_NONE;
	char broken[FAILURE_TEXT_MAX];
	size_t n;

	snprintf(broken, sizeof(broken), "%s", reason == NULL ? "" : reason); /* it may be f's */
	if (c->fresh) { /* fewer than three bytes are there */
		c->fresh = false;
		if (c->form == CHUNK_JSON_LINES && cut_lines(c, f) != FAIL_NONE)
			return f->code;
	}
	n = c->n - c->start;
	/* What is skipped was rejected already, but a stream that ends early is one more reject. */
	if (reason != NULL)
		code = emit_break(c, n, reason, f);
	else if (!c->skipping && n > 0)
		code = c->form == CHUNK_JSON_LINES ? end_line(c, n, f) : emit(c, n, NULL, f);
	if (code != FAIL_NONE)
		return code;
	advance(c, n);
	if (!c->skip.active)
		return FAIL_NONE;
	if (reason != NULL && c->skip.counted) /* a program, whose data may be as they were */
		return fail(f, FAIL_IO,
		    "%s: %s, before record %" PRIu64 ", where the last run ended", c->file, broken,
		    c->skip.document);
	if (!c->skip.may_end || c->byte != c->skip.byte ||
	    (c->skip.counted && c->document != c->skip.document))
		return fail_not_there(c, f);
	c->skip.active = false;
	c->document = c->skip.document;
	return FAIL_NONE;
}

/* ---- chunks ---- */

/* Gives the chunk its bytes, [0, start) of the buffer, and keeps the rest. See the buffer above. */
static enum fail_code
hand_over(struct record_cutter *c, char **bytes, struct failure *f)
{
	size_t rest = c->n - c->start;
	bool small = c->start <= c->room / 2;
	char *fresh = malloc(small ? c->start + 1 : c->room);

	if (fresh == NULL)
		return fail_memory(f);
	if (small && c->buffer == NULL) {
		*bytes = fresh; /* a reject of a file that could not be read at all */
	} else if (small) {
		memcpy(fresh, c->buffer, c->start);
		memmove(c->buffer, c->buffer + c->start, rest);
		*bytes = fresh;
	} else {
		memcpy(fresh, c->buffer + c->start, rest);
		*bytes = c->buffer;
		c->buffer = fresh;
	}
	c->scan -= c->start;
	c->n = rest;
	c->start = 0;
	return FAIL_NONE;
}

static struct chunk_record
place_record(const struct cut_record *r, const struct chunk *k)
{
	return (struct chunk_record){
	    .document = r->document,
	    .byte = r->byte,
	    .line = r->line,
	    .bytes = k->bytes + r->offset,
	    .n = r->n,
	    .reject = r->reason > 0 ? k->reasons + r->reason - 1 : NULL,
	    .breaks_off = r->breaks_off,
	};
}

enum fail_code
record_cutter_take(
    struct record_cutter *c, uint64_t input_bytes, struct chunk **out, struct failure *f)
{
	struct chunk *k;

	*out = NULL;
	if (c->records_n == 0)
		return FAIL_NONE;
	k = calloc(1, sizeof(*k));
	if (k == NULL)
		return fail_memory(f);
	k->record = malloc(c->records_n * sizeof(*k->record));
	if (k->record == NULL || hand_over(c, &k->bytes, f) != FAIL_NONE) {
		chunk_close(k);
		return fail_memory(f);
	}
	k->reasons = c->reasons;
	k->file = c->file;
	k->form = c->form;
	k->n = c->records_n;
	k->input_bytes = input_bytes;
	for (size_t i = 0; i < k->n; i++)
		k->record[i] = place_record(&c->record[i], k);
	c->reasons = NULL;
	c->reasons_n = c->reasons_room = 0;
	c->records_n = 0;
	*out = k;
	return FAIL_NONE;
}
