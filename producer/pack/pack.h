/*
 * pack.h -- makes sequences of S+1 tokens out of a stream of documents, in one of three ways.
 *
 * Documents come with their eos.
 *
 *   concat    The stream is all documents end to end; sequence j is its tokens j*S .. j*S+S, both
 *             included, so that neighbours share a token. What does not fill a sequence at the end
 *             is left. S = 3, documents [1 2 0] [3 4 5 0]:  1 2 0 3 | 3 4 5 0.
 *   none      A document a sequence, padded with eos. A longer one is split into pieces of S+1 of
 *             which the last is padded, or truncated to the first S+1.
 *             S = 3, documents [1 2 0] [3 4 5 6 0]:  1 2 0 (0) | 3 4 5 6 | 0 (0 0 0).
 *   best fit  A window of PACK_WINDOW documents: a longer one gives its full pieces of S+1 at once;
 *             what is left of it, and the shorter ones whole, share sequences by best-fit
 *             decreasing (best_fit.h), padded with eos. The window ends early where what it holds
 *             reaches PACK_WINDOW_TOKENS or PACK_WINDOW_KEEP_BYTES, and at the input's end.
 *             S = 3, documents [1 2 3 4 5 0] [6 0] [7 8 0] [0]:  1 2 3 4 | 7 8 0 0 | 5 0 6 0, where
 *             the last zero of 7 8 0 0 is the fourth document.
 *
 * Resume. concat goes on at the token that was shared, which is the last one out; none behind the
 * last token out. best fit starts again at the window's first document; the caller leaves out the
 * sequences that it has, which are the first pack_sequence.window of the window.
 *
 * Pure memory: no files, no Kafka. Thread: one.
 */
#ifndef PRODUCER_PACK_PACK_H
#define PRODUCER_PACK_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/record/sequence.h"

enum {
	PACK_WINDOW = 4096,               /* documents */
	PACK_WINDOW_TOKENS = 16 << 20,    /* 64 MiB of them; the document that reaches it is in */
	PACK_WINDOW_KEEP_BYTES = 64 << 20 /* likewise */
};

struct pack;

struct pack_options {
	enum sequence_packing packing;
	bool truncate; /* not concat: of a document only the first S+1 tokens are taken */
	uint32_t sequence_length;
	uint32_t eos; /* what padding is made of */
};

/* Where a document stands in its input; `file` is borrowed and outlives the packer. */
struct pack_place {
	uint64_t document; /* index in the input */
	const char *file;
	uint64_t byte, line;
	uint64_t documents; /* of this stream, this one included */
	uint64_t rejects;   /* of the input, before it */
};

struct pack_document {
	struct pack_place place;
	uint64_t n;          /* its tokens, eos included: at least 1 */
	uint64_t prompt_n;   /* of these the first so many are no targets */
	const uint8_t *keep; /* goes into its spans; copied */
	size_t keep_n;
};

/* A sequence that owns its memory: pack_sequence_close(). Sources are borrowed from the places. */
struct pack_sequence {
	uint32_t *token; /* [S + 1] */
	uint32_t used;   /* before the padding */
	struct sequence_span *span;
	size_t spans_n;
	struct sequence_range *no_loss; /* prompts and padding */
	size_t no_loss_n;
	struct text_view *source;
	size_t sources_n;
	uint8_t *keep; /* what the spans' keep points into */
	/* As Position in schemas/Sequence.avsc has them. */
	struct pack_place place;
	uint64_t offset, window;
	uint64_t dropped; /* tokens that truncating took from its documents */
};

/* Gives *out, to be ended with pack_close(). */
enum fail_code pack_open(struct pack **out, const struct pack_options *o, struct failure *f);
void pack_close(struct pack *p); /* NULL is accepted */

/*
 * Appends the tokens id[first..end) of a document. A long one may come in parts: `first` is 0, or
 * where the part before ended, or after a resume where the last sequence ended (see above). Before
 * each call pack_next() has said that there is no sequence; but concat does not need that.
 */
enum fail_code pack_add(struct pack *p, const struct pack_document *d, const uint32_t *id,
    uint64_t first, uint64_t end, struct failure *f);

/* No document follows: pack_next() gives what is left, too. More may come nevertheless. */
void pack_finish(struct pack *p);

/* Gives the next sequence in *out; *there is false where there is none yet. */
enum fail_code pack_next(
    struct pack *p, struct pack_sequence **out, bool *there, struct failure *f);
void pack_sequence_close(struct pack_sequence *s);

/* Tokens that no sequence holds yet; a shared one counts only before the first sequence. */
uint64_t pack_left(const struct pack *p, bool any_sequence);

#endif
