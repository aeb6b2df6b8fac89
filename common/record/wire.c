#include "common/record/wire.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { VARINT_BYTES_MAX = 10, HASH_BYTES = 8, ROOM_FIRST_BYTES = 256 };

void
wire_writer_close(struct wire_writer *w)
{
	free(w->bytes);
	*w = (struct wire_writer){0};
}

/*
 * Makes room for `more` bytes; false where this write or an earlier one failed. Room doubles, so
 * that n bytes put in pieces are copied less than twice in all. `failed` is never cleared by a
 * write: a record with a hole in it must not look like a whole one.
 */
static bool
ensure(struct wire_writer *w, size_t more)
{
	size_t room = w->room < ROOM_FIRST_BYTES ? ROOM_FIRST_BYTES : w->room;
	uint8_t *bytes;

	assert(w->n <= w->room);
	if (w->failed)
		return false;
	if (w->room - w->n >= more)
		return true;
	if (more > WIRE_WRITER_MAX_BYTES - w->n) {
		w->failed = true;
		return false;
	}
	while (room < w->n + more)
		room *= 2;
	bytes = realloc(w->bytes, room);
	if (bytes == NULL) {
		w->failed = true;
		return false;
	}
	w->bytes = bytes;
	w->room = room;
	return true;
}

void
wire_reserve(struct wire_writer *w, size_t more)
{
	(void)ensure(w, more);
}

enum fail_code
wire_writer_take(struct wire_writer *w, uint8_t **bytes, size_t *n, struct failure *f)
{
	if (w->failed) {
		wire_writer_close(w);
		return fail_memory(f);
	}
	assert(w->n <= w->room);
	*bytes = w->bytes;
	*n = w->n;
	*w = (struct wire_writer){0};
	return FAIL_NONE;
}

/*
 * Zig-zag, so that small numbers of either sign are short, then seven bits a byte, the lowest
 * first; the high bit of a byte says that another follows:
 *
 *     value     0    -1     1    -2    ...   64           -65
 *     zig-zag   0     1     2     3         128           129
 *     bytes     00    01    02    03         80 01         81 01
 */
void
wire_put_long(struct wire_writer *w, int64_t value)
{
	uint64_t rest = ((uint64_t)value << 1) ^ (value < 0 ? UINT64_MAX : 0);
	uint8_t *at;

	if (!ensure(w, VARINT_BYTES_MAX))
		return;
	at = w->bytes + w->n;
	while (rest >= 0x80) {
		*at++ = (uint8_t)(rest | 0x80);
		rest >>= 7;
	}
	*at++ = (uint8_t)rest;
	w->n = (size_t)(at - w->bytes);
}

void
wire_put_count(struct wire_writer *w, uint64_t value)
{
	assert(value <= INT64_MAX);
	wire_put_long(w, (int64_t)value);
}

void
wire_put_double(struct wire_writer *w, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	wire_put_hash(w, bits);
}

void
wire_put_boolean(struct wire_writer *w, bool value)
{
	uint8_t byte = value ? 1 : 0;

	wire_put_raw(w, &byte, 1);
}

void
wire_put_hash(struct wire_writer *w, uint64_t value)
{
	uint8_t bytes[HASH_BYTES];

	for (unsigned i = 0; i < HASH_BYTES; i++)
		bytes[i] = (uint8_t)(value >> (8 * i));
	wire_put_raw(w, bytes, sizeof(bytes));
}

void
wire_put_bytes(struct wire_writer *w, const void *bytes, size_t n)
{
	assert(bytes != NULL || n == 0);
	if (n > WIRE_WRITER_MAX_BYTES) {
		w->failed = true;
		return;
	}
	wire_put_long(w, (int64_t)n);
	wire_put_raw(w, bytes, n);
}

void
wire_put_text(struct wire_writer *w, struct text_view text)
{
	wire_put_bytes(w, text.bytes, text.n);
}

void
wire_put_raw(struct wire_writer *w, const void *bytes, size_t n)
{
	if (n == 0 || !ensure(w, n))
		return;
	memcpy(w->bytes + w->n, bytes, n);
	w->n += n;
}

void
wire_reader_init(struct wire_reader *r, const void *bytes, size_t n)
{
	static const uint8_t none[1]; /* NULL + 0 and memcpy(_, NULL, 0) are undefined in C11 */
	const uint8_t *start = n == 0 && bytes == NULL ? none : bytes;

	assert(start != NULL);
	*r = (struct wire_reader){.start = start, .at = start, .end = start + n};
}

/*
 * Moves the reader back to the item, so that the message names its byte, and ends the bytes there:
 * every later read finds none, fails in the same way, and changes nothing, as `bad` is already set.
 * So a decoder needs no check between items, and the first thing that was wrong is reported.
 */
int64_t
wire_spoil(struct wire_reader *r, const uint8_t *item, const char *bad)
{
	assert(bad != NULL);
	assert(item <= r->at);
	if (r->bad != NULL)
		return 0;
	r->bad = bad;
	r->at = item;
	r->end = item;
	return 0;
}

/*
 * The reverse of wire_put_long(). Nine bytes hold 63 bits, so the tenth holds the 64th alone: a
 * tenth byte above 1 would lose bits, and one of 80 or above asks for an eleventh. Needlessly long
 * forms (80 00 for 0) are read: Avro does not forbid them.
 */
int64_t
wire_long_slow(struct wire_reader *r)
{
	const uint8_t *at = r->at;
	uint64_t value = 0, byte;

	for (unsigned shift = 0; shift < 7 * VARINT_BYTES_MAX; shift += 7) {
		if (at == r->end)
			return wire_spoil(r, r->at, "the record ends in the middle of a number");
		byte = *at++;
		value |= (byte & 0x7f) << shift;
		if (byte < 0x80) {
			if (shift == 7 * (VARINT_BYTES_MAX - 1) && byte > 1)
				break;
			r->at = at;
			return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
		}
	}
	return wire_spoil(r, r->at, "a number of more than 64 bits");
}

double
wire_double(struct wire_reader *r)
{
	uint64_t bits = wire_hash(r);
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

bool
wire_boolean(struct wire_reader *r)
{
	if (r->at == r->end) {
		wire_spoil(r, r->at, "the record ends before a boolean");
		return false;
	}
	if (*r->at > 1) {
		wire_spoil(r, r->at, "a boolean that is neither 0 nor 1");
		return false;
	}
	return *r->at++ == 1;
}

uint64_t
wire_hash(struct wire_reader *r)
{
	uint64_t value = 0;

	if (r->end - r->at < HASH_BYTES) {
		wire_spoil(r, r->at, "the record ends in the middle of eight bytes");
		return 0;
	}
	for (unsigned i = 0; i < HASH_BYTES; i++)
		value |= (uint64_t)r->at[i] << (8 * i);
	r->at += HASH_BYTES;
	return value;
}

const uint8_t *
wire_bytes(struct wire_reader *r, size_t *n)
{
	const uint8_t *item = r->at, *bytes;
	int64_t length = wire_long(r);

	*n = 0;
	if (r->bad != NULL)
		return NULL;
	if (length < 0) {
		wire_spoil(r, item, "a negative length");
		return NULL;
	}
	if (length > r->end - r->at) {
		wire_spoil(r, item, "a length beyond the end of the record");
		return NULL;
	}
	bytes = r->at;
	r->at += length;
	*n = (size_t)length;
	return bytes;
}

struct text_view
wire_text(struct wire_reader *r)
{
	struct text_view text;

	text.bytes = (const char *)wire_bytes(r, &text.n);
	return text;
}

/*
 * An array is blocks of items, and a block of no items ends it. Where the count is negative, its
 * magnitude counts, and the block's size in bytes follows it: it is checked and not used.
 *
 *     04 AA.. BB.. 00           2 items, end
 *     03 1A AA.. BB.. 00        -2: 2 items in 13 bytes, end
 *
 * An item has at least one byte in every record of ours, so that more items than bytes left is an
 * error. That check is what limits a loop over the items of a block: a count of 2^62 fails here.
 */
size_t
wire_block(struct wire_reader *r)
{
	const uint8_t *item = r->at;
	int64_t count = wire_long(r), size_bytes;

	if (r->bad == NULL && count < 0) {
		if (count == INT64_MIN) {
			wire_spoil(r, item, "a block of more than 63 bits");
			return 0;
		}
		count = -count;
		size_bytes = wire_long(r);
		if (r->bad == NULL && (size_bytes < 0 || size_bytes > r->end - r->at))
			wire_spoil(r, item, "a block whose size goes beyond the end of the record");
	}
	if (r->bad != NULL)
		return 0;
	if (count > r->end - r->at) {
		wire_spoil(r, item, "a block of more items than there are bytes left");
		return 0;
	}
	return (size_t)count;
}

enum fail_code
wire_reader_check(const struct wire_reader *r, bool whole, const char *what, struct failure *f)
{
	size_t byte = (size_t)(r->at - r->start);

	assert(what != NULL);
	assert(r->at <= r->end);
	if (r->bad != NULL)
		return fail(f, FAIL_DATA, "%s: %s at byte %zu", what, r->bad, byte);
	if (whole && r->at != r->end)
		return fail(f, FAIL_DATA, "%s: %zu trailing bytes at byte %zu", what,
		    (size_t)(r->end - r->at), byte);
	return FAIL_NONE;
}
