/*
 * rare_pieces.h -- the pieces of a batch that are not in their line of the piece cache.
 *
 * They are done together after the batch, in steps that each go over all of them: each step sends
 * for the memory that the next one reads, so that they wait for memory together, not one after the
 * other. The steps: the neighbour line of the cache, the cache of long pieces, the whole piece as a
 * token (rank semantics look there first), and merging what is left. Then their ids are put between
 * those of the batch.
 *
 * Thread: part of an encoder, as that.
 */
#ifndef PRODUCER_TOKENIZER_RARE_PIECES_H
#define PRODUCER_TOKENIZER_RARE_PIECES_H

#include "producer/bpe/long_cache.h"
#include "producer/bpe/merge.h"
#include "producer/bpe/piece_cache.h"
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

/* Fills the zeroed *r, to be ended with rare_pieces_close() in any case; borrows both. */
enum fail_code rare_pieces_open(
    struct rare_pieces *r, const struct tokenizer *t, struct piece_cache *cache, struct failure *f);
void rare_pieces_close(struct rare_pieces *r);

/*
 * Notes a piece of the batch, whose ids belong at `place` of the output as it is now. The piece is
 * borrowed until rare_pieces_finish().
 */
void rare_pieces_add(struct rare_pieces *r, struct piece_key key, size_t line, const uint8_t *piece,
    size_t n, size_t place);

/* Puts the ids of all that were added into `out`, and forgets the pieces. FAIL_MEMORY only. */
enum fail_code rare_pieces_finish(
    struct rare_pieces *r, struct token_buffer *out, struct failure *f);

#endif
