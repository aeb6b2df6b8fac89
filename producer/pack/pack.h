/*
 * pack.h -- makes sequences of S+1 tokens out of a stream of documents, in one of three ways.
 *
 * Files of this room:
 *     pack           what the three ways share: the interface, a sequence from its pieces
 *     pack_concat    all documents end to end, cut every S tokens
 *     pack_none      one document a sequence
 *     pack_best_fit  several whole documents a sequence, a window of documents at a time
 *     bins           best-fit decreasing: which item goes to which bin
 *
 *     pack_add(tokens of a document) ... pack_next() -> sequence, sequence, ... -> none yet
 *              ^                                                                     |
 *              +---------------------------------------------------------------------+
 *     pack_finish() at the end of the input, then pack_next() until there is none
 *
 * Documents come with their eos. S is pack_options.sequence_length: a sequence has S inputs and S
 * targets, which are the same tokens one further, so that it holds S+1.
 *
 *   concat    The stream is all documents end to end; sequence j is its tokens j*S .. j*S+S, both
 *             included, so that neighbours share a token. What does not fill a sequence at the end
 *             is left. S = 3, documents [1 2 0] [3 4 5 0]:  1 2 0 3 | 3 4 5 0.
 *   none      One document a sequence, padded with eos. A longer one is split into pieces of S+1 of
 *             which the last is padded, or truncated to the first S+1.
 *             S = 3, documents [1 2 0] [3 4 5 6 0]:  1 2 0 (0) | 3 4 5 6 | 0 (0 0 0).
 *   best fit  A window of PACK_WINDOW documents: a longer one gives its full pieces of S+1 at once;
 *             what is left of it, and the shorter ones whole, share sequences by best-fit
 *             decreasing (bins.h), padded with eos. The window ends early where what it holds
 *             reaches PACK_WINDOW_TOKENS or PACK_WINDOW_KEEP_BYTES, and at the input's end.
 *             S = 3, documents [1 2 3 4 5 0] [6 0] [7 8 0] [0]:  1 2 3 4 | 7 8 0 0 | 5 0 6 0, where
 *             the last zero of 7 8 0 0 is the fourth document.
 *
 * Resume. A producer that restarts must make the sequences that the one before would have made.
 * concat resumes at the token that two sequences share, which is the last one out; none behind the
 * last token out. best fit restarts at the window's first document, and the caller leaves out the
 * sequences that it has, which are the first pack_sequence.window of the window.
 *
 * Invariants, of every sequence that pack_next() gives, established by pack_build():
 *   token[S + 1] is full: `used` tokens of documents, then eos;
 *   spans cover [0, used) in order, without gaps;
 *   no_loss is in order and does not touch; it covers the tokens that came with PACK_NO_LOSS and
 *   the padding, nothing else.
 * The same documents give the same sequences, in however many parts pack_add() gets them.
 *
 * Pure memory: no files, no Kafka, no clock. Thread: one.
 */
#ifndef PRODUCER_PACK_PACK_H
#define PRODUCER_PACK_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/record/sequence.h"

/* What ends a window. The document that reaches a limit is still in it. */
enum {
	PACK_WINDOW = 4096,               /* documents */
	PACK_WINDOW_TOKENS = 16 << 20,    /* 64 MiB of memory */
	PACK_WINDOW_KEEP_BYTES = 64 << 20 /* of their `keep` */
};

/* Set in a token that is no target, such as one of a prompt. Ids are below it. */
#define PACK_NO_LOSS (UINT32_C(1) << 31)

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
	uint64_t reported;  /* records that this run has put into the topic of rejects before it */
};

struct pack_document {
	struct pack_place place;
	uint64_t n;          /* its tokens, eos included: at least 1 */
	const uint8_t *keep; /* [keep_n]: what the user keeps of it; goes into its spans; copied */
	size_t keep_n;
};

/*
 * A sequence owns its memory, and is ended with pack_sequence_close(); the texts of its sources are
 * borrowed from the files of the places.
 */
struct pack_sequence {
	uint32_t *token; /* [S + 1], without PACK_NO_LOSS */
	uint32_t used;   /* before the padding */
	struct sequence_span *span;
	size_t spans_n;
	struct sequence_range *no_loss; /* tokens with PACK_NO_LOSS, and padding */
	size_t no_loss_n;
	struct text_view *source;
	size_t sources_n;
	uint8_t *keep; /* what the spans' keep points into */
	/*
	 * Where a producer resumes behind this sequence, as Position in schemas/Sequence.avsc has
	 * it: a token of a document, or the first document of a window and how many sequences of
	 * that window are out.
	 */
	struct pack_place place;
	uint64_t offset, window;
	uint64_t dropped; /* tokens that truncating took from its documents */
};

/*
 * Whether a loss is taken at any of a document's tokens id[n]. Such a token is packed, does not
 * have PACK_NO_LOSS, and follows another token. With concat the first token of a document follows
 * the document before it. With the other ways the first of each S+1 tokens follows nothing.
 */
bool pack_has_target(const struct pack_options *o, const uint32_t *id, uint64_t n);

/* Gives *out, to be ended with pack_close(); copies `o`. FAIL_MEMORY only, as of all below. */
enum fail_code pack_open(struct pack **out, const struct pack_options *o, struct failure *f);
void pack_close(struct pack *p); /* NULL is accepted */

/*
 * Appends the tokens id[first..end) of a document, which are copied. A long one may come in parts:
 * `first` is 0, or where the part before ended, or after a resume where the last sequence ended
 * (see above). Before each call pack_next() has given all sequences that there are; but concat does
 * not need that.
 */
enum fail_code pack_add(struct pack *p, const struct pack_document *d, const uint32_t *id,
    uint64_t first, uint64_t end, struct failure *f);

/* No document follows for now: pack_next() gives what is left, too. More may come afterwards. */
void pack_finish(struct pack *p);

/*
 * Gives the next sequence in *out, to be ended with pack_sequence_close(); *there is false if there
 * is none yet, and *out is not set then.
 */
enum fail_code pack_next(
    struct pack *p, struct pack_sequence **out, bool *there, struct failure *f);
void pack_sequence_close(struct pack_sequence *s); /* NULL is accepted */

/* Tokens that no sequence holds yet; a shared one counts only before the first sequence. */
uint64_t pack_left(const struct pack *p, bool any_sequence);

#endif
