/*
 * wire.h -- Avro binary encoding, by hand and bounded: what all records are read with, and the
 * hot ones written.
 *
 * Avro specification 1.11, "Binary Encoding": zig-zag varints, bytes and texts behind their length,
 * arrays as blocks (a negative count says that the block's size in bytes follows). A writer appends
 * to memory that it owns and grows. A reader walks borrowed bytes.
 *
 * Neither needs a check after each item. A writer that finds no memory is marked `failed`, and all
 * later writes do nothing. A reader stops at the first item that does not fit: it sets `bad`, a
 * static sentence, and from then on there is no byte left, so that every later read returns 0. The
 * caller checks once at the end of a stretch, with wire_reader_check().
 *
 *     h.step = wire_count(&r);
 *     h.phase = wire_text(&r);
 *     if (wire_reader_check(&r, false, "step and phase", f) != FAIL_NONE) ...
 *
 * What a length or a count claims is held against the bytes that are left, before anything is made
 * of it: no claim can cost memory or time.
 */
#ifndef COMMON_RECORD_WIRE_H
#define COMMON_RECORD_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"

enum { WIRE_WRITER_MAX_BYTES = 1 << 30 }; /* a writer that would grow beyond it fails */

/* A zeroed one is valid and empty. */
struct wire_writer {
	uint8_t *bytes; /* owned; wire_writer_take() gives it away */
	size_t n, room; /* n <= room */
	bool failed;    /* memory was refused; later writes do nothing */
};

/* Frees the bytes; the writer is then empty, valid, and has not failed. */
void wire_writer_close(struct wire_writer *w);
/* Makes room for `more` bytes, so that what is put next is not copied as the writer grows. */
void wire_reserve(struct wire_writer *w, size_t more);
/* Gives the bytes (free) and leaves the writer empty; FAIL_MEMORY where a write had failed. */
enum fail_code wire_writer_take(
    struct wire_writer *w, uint8_t **bytes, size_t *n, struct failure *f);

/* All of these append to `w` and copy what they are given. */
void wire_put_long(struct wire_writer *w, int64_t value);
void wire_put_count(struct wire_writer *w, uint64_t value); /* a long that is not negative */
void wire_put_double(struct wire_writer *w, double value);
void wire_put_boolean(struct wire_writer *w, bool value);
void wire_put_hash(struct wire_writer *w, uint64_t value); /* fixed, 8 bytes, little-endian */
void wire_put_bytes(struct wire_writer *w, const void *bytes, size_t n); /* length first */
void wire_put_raw(struct wire_writer *w, const void *bytes, size_t n);   /* and nothing else */

struct text_view { /* a borrowed text, not NUL-terminated */
	const char *bytes;
	size_t n;
};

void wire_put_text(struct wire_writer *w, struct text_view text);

struct wire_reader {
	const uint8_t *start, *at, *end; /* borrowed; start <= at <= end */
	const char *bad;                 /* static; NULL: all well so far */
};

/* Borrows bytes[n] for as long as `r`, and all that was read from it, is used. */
void wire_reader_init(struct wire_reader *r, const void *bytes, size_t n);

/* Sets `bad` at `item`, where nothing was bad before; returns 0. */
int64_t wire_spoil(struct wire_reader *r, const uint8_t *item, const char *bad);

/* wire_long() of more than one byte. */
int64_t wire_long_slow(struct wire_reader *r);

/* Inline, as most numbers of a record are of one byte. */
static inline int64_t
wire_long(struct wire_reader *r)
{
	if (r->at < r->end && *r->at < 0x80) {
		unsigned byte = *r->at++;

		return (int64_t)(byte >> 1) ^ -(int64_t)(byte & 1);
	}
	return wire_long_slow(r);
}

/* A long that must lie in [min, max]; sets bad otherwise. */
static inline int64_t
wire_ranged(struct wire_reader *r, int64_t min, int64_t max)
{
	const uint8_t *item = r->at;
	int64_t value = wire_long(r);

	if (value < min || value > max)
		return wire_spoil(r, item, "a number out of range");
	return r->bad == NULL ? value : 0;
}

/* A long that is not negative. */
static inline uint64_t
wire_count(struct wire_reader *r)
{
	return (uint64_t)wire_ranged(r, 0, INT64_MAX);
}

double wire_double(struct wire_reader *r); /* any bits: NAN and infinity too */
bool wire_boolean(struct wire_reader *r);
uint64_t wire_hash(struct wire_reader *r);
/* Borrows n bytes, whose length is in front of them; NULL and n = 0 where bad. */
const uint8_t *wire_bytes(struct wire_reader *r, size_t *n);
/* The same as a text; nobody checked that it is UTF-8. */
struct text_view wire_text(struct wire_reader *r);
/* Items in the next block of an array; 0 ends it. More than the bytes left is bad. */
size_t wire_block(struct wire_reader *r);
/*
 * FAIL_DATA: "WHAT: BAD at byte N", where N counts from the reader's start, or, of a `whole` record
 * that has bytes left, "WHAT: 3 trailing bytes at byte N". FAIL_NONE: all was well.
 */
enum fail_code wire_reader_check(
    const struct wire_reader *r, bool whole, const char *what, struct failure *f);

#endif
