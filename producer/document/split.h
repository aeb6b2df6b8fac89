/*
 * split.h -- which set a document, or a piece of one, belongs to: train, valid or test, by the hash
 * of the document's text.
 *
 * h = XXH64(text, seed 0); place = (h * sum) >> 64, a number in [0, sum) where sum is that of the
 * three parts; the sets take the places in order. With 949,50,1 places 0..948 are train, 949..998
 * valid and 999 test. Equal texts are in one set, and where a document is in the input does not
 * matter: data that grow move no document, and a text that comes twice cannot be in train and in
 * valid.
 *
 * So the sets have their shares of the documents, and of the tokens as far as no document has many
 * of them: one with a tenth of all tokens is in one set or in another. Whoever wants the shares of
 * the tokens (`split_unit: tokens`) must cut such documents, since what moves nothing when data
 * grow can look at nothing but the document. A document of n tokens is k = ceil(n / piece_tokens)
 * pieces, as equal as whole tokens can be; piece j, of tokens [j*n/k, (j+1)*n/k), has the hash
 * h + j * 2^64 / k modulo 2^64, and its place follows from that. So the places of a document go
 * once round, from where its hash is:
 *
 *     parts 8,1,1, k = 4, h = 0.15 * 2^64:   .15 .40 .65 .90    train train train test
 *     k = 1                                  .15                as without pieces
 *
 * A set gets floor(k * share) or one piece more of each document, neighbours but for the turn from
 * the last place to the first, and on the average of all hashes its share exactly.
 *
 * How far the sets are off, with T tokens and share p: the number of tokens has mean p*T and a
 * standard deviation of at most sqrt(p * (1 - p) * piece_tokens * T). Because: of a document the
 * number of pieces is floor(kp) or one more, which has the least variance that whole numbers with
 * the mean kp can have, so no more than k coins, k*p*(1-p); times (n/k)^2 that is p*(1-p)*n*(n/k),
 * and n/k <= piece_tokens. Different texts have independent hashes, so variances add up. Copies of
 * one text count together, as one longer document.
 */
#ifndef PRODUCER_DOCUMENT_SPLIT_H
#define PRODUCER_DOCUMENT_SPLIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/names.h"

enum { SPLIT_PIECES_MAX = SETS_COUNT + 1 /* once round, from the middle of one set's places */ };

struct split {
	uint32_t parts[SETS_COUNT]; /* at least one is positive */
	uint32_t piece_tokens;      /* 0: documents stay whole */
};

/* Tokens [first, end) of a document; not empty, but for a document without tokens. */
struct split_piece {
	enum names_set set;
	uint64_t first, end;
};

/* Whether the set depends on the document: else its hash is not needed. */
bool split_needs_hash(const struct split *s);
uint64_t split_hash(const char *text, size_t n);

/*
 * The pieces of a document of n tokens, in order and without gaps; pieces of one set that follow
 * each other are one. How many there are: at least 1.
 */
size_t split_pieces(struct split_piece out[static SPLIT_PIECES_MAX], const struct split *s,
    uint64_t hash, uint64_t n);

/*
 * Where an output that has the tokens below `first` continues in a piece: behind them, or at the
 * beginning of a piece that is further on. At or behind the piece's end: it has all of it.
 */
uint64_t split_piece_rest(const struct split_piece *piece, uint64_t first);

#endif
