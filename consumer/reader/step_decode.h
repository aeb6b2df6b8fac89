/*
 * step_decode.h -- the records of a rank's lanes as one step in memory.
 *
 * Tokens are decoded straight from the record into their place in one array; domain names, sources,
 * document boundaries, loss ranges and what is kept are copied, so that the records can be let go
 * at once. What a step points to stays valid until the next step_decode_begin(). Memory: the
 * tokens, and at most a small multiple of the records' bytes; kept from step to step.
 *
 * Thread: one.
 */
#ifndef CONSUMER_READER_STEP_DECODE_H
#define CONSUMER_READER_STEP_DECODE_H

#include <stdint.h>

#include "common/record/batch.h"
#include "common/base/failure.h"
#include "common/record/frame.h"
#include "consumer/reader/riffle.h"

/* Most bytes of tokens that a rank's step may have; beyond it more ranks are needed. */
#define STEP_DECODE_BYTES_MAX (UINT64_C(1) << 34)

struct step_decode;

/* token_bytes is 2, 4 or 8. Gives *out, to be ended with step_decode_close(). */
enum fail_code step_decode_open(struct step_decode **out, uint32_t token_bytes, struct failure *f);
void step_decode_close(struct step_decode *d); /* NULL is accepted */

/*
 * Borrows a codec for the lanes that come, instead of one of its own; NULL: none any more. A codec
 * is large and belongs to a thread, a decoder to a step.
 */
void step_decode_lend(struct step_decode *d, struct frame_codec *codec);

/* Sequences have so many tokens, as earlier ones had; before step_decode_begin(). */
void step_decode_expect(struct step_decode *d, size_t tokens_each);

/* Memory that it holds. */
size_t step_decode_bytes(const struct step_decode *d);

/* Starts a step of `lanes` lanes with `sequences_each` sequences a lane. */
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
    const struct payload_view *p, struct failure *f);

/* A copy that lives as long as the step; NULL: no memory. */
const char *step_decode_text(struct step_decode *d, const char *text);

/* Less sequences than step_decode_begin() was told will come. */
void step_decode_cut(struct step_decode *d);

/* Fills tokens, sequence, sequences, tokens_each of *out; all lanes of the step are decoded. */
void step_decode_end(struct step_decode *d, struct riffle_step *out);

#endif
