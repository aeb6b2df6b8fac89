/*
 * sequence.h -- the records of a domain topic: Sequence and End, and the Payload inside both a
 * Sequence and a Batch.
 *
 * These are the hot records: read and written by hand over common/record/wire.h, bounds checked, no
 * allocation on decode. A decoded struct borrows from the bytes it was decoded from.
 *
 *     Sequence    envelope | ordinal tokenizer | position | payload
 *     payload     count width used hash | sources | spans | no_loss | frame
 *     Batch       envelope | head | domains | (domain partition ordinal epoch | payload) ...
 *
 * The producer compresses a frame once. The mixer copies a payload from the Sequence into the Batch
 * as it is (`raw`), so that nothing is encoded twice; only a reader looks inside the frame.
 */
#ifndef COMMON_RECORD_SEQUENCE_H
#define COMMON_RECORD_SEQUENCE_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/base/limits.h"
#include "common/record/wire.h"

enum { SEQUENCE_TOKENS_MAX = LIMIT_SEQUENCE + 1 }; /* S + 1 for the largest S */

struct sequence_span {
	uint32_t start;    /* index in the sequence of its first token */
	uint32_t source;   /* index in sources */
	uint64_t document; /* index in the reading order of its input */
	uint64_t offset;   /* index of that token in the document's tokens */
	const uint8_t *keep;
	size_t keep_n;
};

struct sequence_range {
	uint32_t start, end;
};

/*
 * What an encoder hands over; all pointers are borrowed. Whoever fills it in establishes: used <=
 * count <= SEQUENCE_TOKENS_MAX; sources_n <= count; spans start at 0, ascend strictly and end below
 * used; no_loss ranges are not empty, ascend, do not overlap and end by count. `file` and sources
 * are UTF-8.
 */
struct sequence_payload {
	uint32_t count; /* S + 1 */
	uint32_t width; /* 2 or 3 */
	uint32_t used;
	uint64_t frame_hash;
	const struct text_view *sources;
	size_t sources_n;
	const struct sequence_span *spans;
	size_t spans_n;
	const struct sequence_range *no_loss;
	size_t no_loss_n;
	const uint8_t *frame;
	size_t frame_n;
};

/* What a decoder finds without allocating: `raw` is the encoded payload, to be copied as it is. */
struct sequence_payload_view {
	uint32_t count, width, used;
	uint64_t frame_hash;
	size_t sources_n, spans_n, no_loss_n; /* counted while skipping over them */
	const uint8_t *raw;
	size_t raw_n;
	size_t room; /* from raw to the end of the record: what sizes of blocks were checked with */
	const uint8_t *sources, *spans,
	    *no_loss; /* inside raw; read them with sequence_payload_lists() */
	const uint8_t *frame;
	size_t frame_n;
};

/* How a partition is packed, as its records say it: a constant is only ever added at the end. */
enum sequence_packing { SEQUENCE_CONCAT, SEQUENCE_NONE, SEQUENCE_BEST_FIT };
enum { SEQUENCE_PACKINGS = SEQUENCE_BEST_FIT + 1 };

/* As the key `packing` and the ledger's text have them: an entry a constant, then NULL. */
extern const char *const sequence_packing_names[];

struct sequence_position {
	uint64_t document;
	struct text_view file;
	uint64_t byte, line, offset, documents, rejects;
	uint64_t record_bytes, record_bytes_max; /* of the partition before this record */
	uint64_t tokens, dropped;                /* of the partition, this record included */
	int64_t sealed;   /* length of the partition by its last End before; -1: none */
	uint32_t packing; /* enum sequence_packing */
	uint64_t window;  /* 0: packing has no windows */
};

struct sequence_view {
	uint64_t ordinal;
	uint64_t tokenizer;
	struct sequence_position position;
	struct sequence_payload_view payload;
};

/* Where a lane's input ended; see Input in schemas/End.avsc. */
struct sequence_end_input {
	uint64_t records, files, names;
	struct text_view file;
	uint64_t byte, line;
};

/* A decoded one borrows the name of the file from its bytes. */
struct sequence_end {
	uint64_t sequences, tokens, dropped, documents, rejects;
	uint32_t sequence_length;
	uint64_t tokenizer;
	uint64_t record_bytes, record_bytes_max;
	uint32_t packing; /* enum sequence_packing */
	struct sequence_end_input input;
};

/* Appends a whole record (envelope and body) to `w`. */
enum fail_code sequence_encode(struct wire_writer *w, uint64_t ordinal, uint64_t tokenizer,
    const struct sequence_position *position, const struct sequence_payload *p, struct failure *f);
enum fail_code sequence_end_encode(
    struct wire_writer *w, const struct sequence_end *e, struct failure *f);

/*
 * Decode a whole record. FAIL_DATA says what is wrong and at which byte: truncated, a negative or
 * too large length, a value out of range (width other than 2 and 3, used > count, spans not
 * strictly ascending from 0 or not below used, source out of sources, more sources than tokens,
 * ranges of no_loss that are empty, overlap or go beyond count), trailing bytes. *out is then as it
 * was. Does not look inside the frame.
 */
enum fail_code sequence_decode(
    struct sequence_view *out, const uint8_t *bytes, size_t n, struct failure *f);
enum fail_code sequence_end_decode(
    struct sequence_end *out, const uint8_t *bytes, size_t n, struct failure *f);

/* Reads one Payload at the reader's place and checks it as above. */
enum fail_code sequence_payload_read(
    struct sequence_payload_view *out, struct wire_reader *r, struct failure *f);

/*
 * Fills the caller's arrays, which have room for sources_n, spans_n and no_loss_n entries; `p` is
 * as sequence_payload_read() left it.
 */
void sequence_payload_lists(const struct sequence_payload_view *p, struct text_view *sources,
    struct sequence_span *spans, struct sequence_range *no_loss);

/* FAIL_DATA where the frame's bytes do not have the record's hash. */
enum fail_code sequence_payload_check_hash(
    const struct sequence_payload_view *p, struct failure *f);

#endif
