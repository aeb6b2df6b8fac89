/*
 * record_cutter.h -- cuts the bytes of files into chunks of records, without copying them.
 *
 * The caller reads straight into the cutter's buffer; records are places in that buffer; and a full
 * chunk takes the buffer with it. A byte is moved only if it is of a record that the chunk's end
 * cut in two (record_cutter.c shows how).
 *
 * JSON lines: a line ends with LF or CRLF, the last one may end with the file; lines of blanks are
 * none, but count. A whole file is one record unless it is empty. A byte order mark (EF BB BF) at
 * the start of a file is left out. What is longer than max_document_bytes becomes a reject that
 * holds its beginning, and is skipped without being held in memory.
 *
 *     start                               a file begins
 *       until its end:  room, feed          give it bytes
 *                       cut; while full:    cut them, and take a chunk whenever it is full
 *                         take, cut
 *     end, take                             what is left; a chunk holds records of one file
 *
 * The cutter counts: each record has its index in the input, and its byte and line in the file.
 *
 * A resume leaves out the records before a place (record_cutter_skip()). They are cut like all
 * others, since only cutting finds where records begin, but go into no chunk. A record must begin
 * at the place, else the data have changed:
 *
 *     bytes      0       10      20      30            skip to byte 20
 *     then       {...}LF {...}LF {...}LF {...}         0, 10 left out; 20 is the first record
 *     now        {...}LF {......}LF {...}LF            0, 10 left out; 24: FAIL_DATA
 *
 * Memory: a chunk's bytes, one document and one RECORD_CUTTER_ROOM_BYTES.
 */
#ifndef PRODUCER_INPUT_RECORD_CUTTER_H
#define PRODUCER_INPUT_RECORD_CUTTER_H

#include <stdbool.h>

#include "common/base/failure.h"
#include "producer/input/chunk.h"

enum {
	RECORD_CUTTER_ROOM_BYTES = 256 << 10,
	RECORD_CUTTER_RECORDS_MAX = 1 << 16, /* a chunk ends with so many, too */
	RECORD_CUTTER_STUMP_BYTES = 1 << 10, /* of what is rejected, so much is kept */
};

struct record_cutter;

/* What the index of the record at a byte is at least; the cutter does not use `stretch`. */
struct record_mark {
	size_t stretch; /* the caller's number of it */
	uint64_t byte, document;
};

/* Gives *out, to be ended with record_cutter_close(). Record indices begin with 0. */
enum fail_code record_cutter_open(struct record_cutter **out, uint64_t max_document_bytes,
    uint64_t chunk_bytes, struct failure *f);
void record_cutter_close(struct record_cutter *c); /* NULL is accepted */

/*
 * Begins a file, or what is left of it: the bytes fed next stand at `byte` of it, in line `line`.
 * `file` is borrowed for chunks. The chunk before was taken.
 */
void record_cutter_start(
    struct record_cutter *c, const char *file, enum chunk_form form, uint64_t byte, uint64_t line);

/* The next record has index `document`. */
void record_cutter_number(struct record_cutter *c, uint64_t document);

/*
 * Of this file: raises the index (record_cutter_raise()) of the first record at or behind each of
 * these places, which are in the order of their bytes. Borrowed until the file's end.
 */
void record_cutter_marks(struct record_cutter *c, const struct record_mark *mark, size_t n);

/*
 * Leaves out the records of this file before the one that starts at byte `byte`, whose index is
 * `document`. With `counted` they have their indices, from 0, and it must be that one too.
 */
void record_cutter_skip(struct record_cutter *c, uint64_t byte, uint64_t document, bool counted);

/*
 * After record_cutter_skip(): the file may also end at that place; the next file continues there.
 */
void record_cutter_may_end(struct record_cutter *c);

/* The next record has index `document`, or the one that it would have, whichever is larger. */
void record_cutter_raise(struct record_cutter *c, uint64_t document);

/* What was cut ends at *byte, in line *line, and the next record has index *document. */
void record_cutter_place(
    const struct record_cutter *c, uint64_t *byte, uint64_t *line, uint64_t *document);

/* Where to put bytes: *room >= RECORD_CUTTER_ROOM_BYTES of them. Borrowed until the next call. */
enum fail_code record_cutter_room(
    struct record_cutter *c, char **out, size_t *room, struct failure *f);
/* n of these bytes are there now. */
void record_cutter_feed(struct record_cutter *c, size_t n);

/*
 * Cuts what was fed. *full: a chunk is to be taken before the next call. FAIL_DATA: the record to
 * which record_cutter_skip() goes is not there.
 */
enum fail_code record_cutter_cut(struct record_cutter *c, bool *full, struct failure *f);

/* Whether further bytes of the file are of use: a whole file may have been rejected already. */
bool record_cutter_wants(const struct record_cutter *c);

/*
 * The file is at its end, and all was cut. `reason` NULL: its real end, what is left is the last
 * record; else why nothing more comes: what is left is a reject.
 */
enum fail_code record_cutter_end(struct record_cutter *c, const char *reason, struct failure *f);

/*
 * Gives the records cut so far as a chunk (chunk_close); *out = NULL: there are none.
 * `input_bytes` goes into the chunk.
 */
enum fail_code record_cutter_take(
    struct record_cutter *c, uint64_t input_bytes, struct chunk **out, struct failure *f);

#endif
