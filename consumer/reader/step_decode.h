/*
 * step_decode.h -- from the records of a rank's lanes to the arrays that a trainer sees.
 *
 * Tokens are decompressed straight from the record into their place in one array. Domain names,
 * sources, document boundaries, loss ranges and what is kept are copied, so that the records can be
 * freed at once: a record pins the whole response of the broker that it came in.
 *
 *     step_decode_begin()   memory for all sequences of the step
 *     step_decode_lane()    ... of one lane after the other; or step_decode_add() for single ones
 *     step_decode_end()     fills the riffle_step; all of begin's sequences are there, or
 *                           step_decode_cut() has said that there are fewer
 *
 * Everything but tokens and sequences comes out of an arena: chunks of 64 KiB or more, from which
 * pieces are cut until the next step_decode_begin() takes all of them back at once. A step of a
 * thousand sequences has some ten thousand small pieces, and costs no malloc() after the first.
 *
 * What a step points to stays valid until the next step_decode_begin(). Memory: the tokens, and at
 * most a small multiple of the records' bytes; kept from step to step, because to fault it in again
 * costs more than to keep it.
 *
 * Invariants: sequences <= sequences_all; once one sequence is decoded all have tokens_each tokens.
 *
 * Thread: one at a time.
 */
#ifndef CONSUMER_READER_STEP_DECODE_H
#define CONSUMER_READER_STEP_DECODE_H

#include <stdint.h>

#include "common/base/failure.h"
#include "common/record/batch.h"
#include "common/record/frame.h"
#include "consumer/reader/riffle.h"

/* Most bytes of tokens that a rank's step may have; beyond it more ranks are needed. */
#define STEP_DECODE_BYTES_MAX (UINT64_C(1) << 34)

struct step_decode;

/* token_bytes is 2, 4 or 8. Gives *out, to be ended with step_decode_close(). */
enum fail_code step_decode_open(struct step_decode **out, uint32_t token_bytes, struct failure *f);
void step_decode_close(struct step_decode *d); /* NULL is accepted */

/*
 * Borrows a codec for the lanes that come, instead of one of its own, until it is lent NULL. A
 * codec is large and belongs to a thread, a decoder belongs to a step, and there are many steps.
 */
void step_decode_lend(struct step_decode *d, struct frame_codec *codec);

/*
 * Sequences have so many tokens, as earlier ones had: step_decode_begin(), which must come after
 * it, then makes room for all of them before it sees the first.
 */
void step_decode_expect(struct step_decode *d, size_t tokens_each);

/* Bytes of memory that it holds. */
size_t step_decode_bytes(const struct step_decode *d);

/*
 * Starts a step of `lanes` lanes with `sequences_each` sequences a lane; what the last step points
 * to is overwritten. FAIL_CONFIG: the tokens would be more than STEP_DECODE_BYTES_MAX.
 */
enum fail_code step_decode_begin(
    struct step_decode *d, size_t lanes, size_t sequences_each, struct failure *f);

/*
 * Decodes the next lane: `b` as batch_decode() left it. FAIL_DATA names domain, partition and
 * ordinal of the sequence that is wrong, and for wrong tokens what to run. All sequences of a
 * reader must have the same number of tokens.
 */
enum fail_code step_decode_lane(struct step_decode *d, struct batch_view *b, struct failure *f);

/*
 * Adds one sequence that is no part of a Batch: decodes `p` and copies what it says. `domain` is
 * borrowed for as long as the step. A failure as above.
 */
struct step_decode_drawn {
	const char *domain;
	uint32_t domain_index, lane, partition;
	uint64_t ordinal, epoch;
};
enum fail_code step_decode_add(struct step_decode *d, const struct step_decode_drawn *drawn,
    const struct sequence_payload_view *p, struct failure *f);

/* A copy that lives as long as the step; NULL: no memory. */
const char *step_decode_text(struct step_decode *d, const char *text);

/* No more sequences will come, although step_decode_begin() has named more. */
void step_decode_cut(struct step_decode *d);

/* Fills tokens, sequence, sequences, tokens_each of *out; all lanes of the step are decoded. */
void step_decode_end(struct step_decode *d, struct riffle_step *out);

#endif
