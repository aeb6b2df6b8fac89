/*
 * rare_pieces.h -- the pieces of a batch that are not in their line of the piece cache.
 *
 * Every table that such a piece is looked for in is large and read at a random place. One piece
 * after the other would wait for each of them in turn. So the rare pieces of a batch are collected
 * and done together, in passes that each go over all of them: a pass reads what the one before has
 * sent for, and sends for what the next one reads.
 *
 *     pass               reads                              sends for
 *     look_aside         the neighbour line in piece_cache  long_cache's set, a vocabulary slot
 *     look_among_long    the set in long_cache              the bytes of the whole token
 *     look_for_whole     the vocabulary: by rank, a piece
 *                        that is a token is not merged
 *     merge_rest         the pair table, for what is left   (merge.h waits in its own way)
 *     remember           the caches, where it puts what they did not know
 *     splice             the ids of the batch, which it moves apart to put these between them
 *
 * Example, a batch the | quokka | sat where quokka is rare: the encoder has put the ids of "the"
 * and "sat" side by side, and noted place 1 for quokka. splice() goes from the back, so that every
 * id moves once:
 *
 *     the sat          ->     the qu ok ka sat
 *
 * Thread: part of an encoder, as that.
 */
#ifndef PRODUCER_ENCODER_RARE_PIECES_H
#define PRODUCER_ENCODER_RARE_PIECES_H

#include "producer/bpe/long_cache.h"
#include "producer/bpe/merge.h"
#include "producer/bpe/piece_cache.h"
#include "producer/encoder/token_buffer.h"
#include "producer/tokenizer/tokenizer_table.h"

enum {
	RARE_PIECES_MAX = 512,          /* of one batch */
	RARE_PIECES_IDS_KEPT = 1 << 20, /* memory for more is given back after the batch */
};

struct rare_piece {
	struct piece_key key; /* high 0: too long for the piece cache */
	size_t line;
	uint64_t hash;
	size_t place;           /* in the output, where its ids belong */
	struct merge_item item; /* count 0: not known yet */
	bool remembered;        /* its ids came out of a cache */
	bool perhaps_whole;     /* it can be a token */
};

struct rare_pieces {
	const struct tokenizer *t;
	struct piece_cache *cache; /* the encoder's */
	struct long_cache long_cache;
	struct merge_scratch *merge;
	struct rare_piece piece[RARE_PIECES_MAX]; /* [n] */
	size_t n;
	struct merge_item item[RARE_PIECES_MAX];
	struct token_buffer ids;
};

/*
 * Fills the zeroed *r, to be ended with rare_pieces_close() in any case; borrows table and cache
 * until then. FAIL_MEMORY only.
 */
enum fail_code rare_pieces_open(
    struct rare_pieces *r, const struct tokenizer *t, struct piece_cache *cache, struct failure *f);
void rare_pieces_close(struct rare_pieces *r);

/*
 * Notes a piece of the batch, whose ids belong at `place` of the output as it is now; places never
 * decrease. The piece is borrowed until rare_pieces_finish().
 */
void rare_pieces_add(struct rare_pieces *r, struct piece_key key, size_t line, const uint8_t *piece,
    size_t n, size_t place);

/* Puts the ids of all that were added into `out`, and forgets the pieces. FAIL_MEMORY only. */
enum fail_code rare_pieces_finish(
    struct rare_pieces *r, struct token_buffer *out, struct failure *f);

#endif
