/*
 * pack_internal.h -- what the ways of packing share: the common head of their structs, and how a
 * sequence is built from pieces of documents. Nobody outside pack*.c includes it.
 *
 * Each way only decides which stretches of which documents share a sequence, and keeps their tokens
 * until then. What a sequence looks like is in one place, pack_build().
 */
#ifndef PRODUCER_PACK_PACK_INTERNAL_H
#define PRODUCER_PACK_PACK_INTERNAL_H

#include "producer/pack/pack.h"

/* One way of packing; functions as in pack.h. */
struct pack_method {
	enum fail_code (*add)(struct pack *p, const struct pack_document *d, const uint32_t *id,
	    uint64_t first, uint64_t end, struct failure *f);
	void (*finish)(struct pack *p);
	enum fail_code (*next)(
	    struct pack *p, struct pack_sequence **out, bool *there, struct failure *f);
	uint64_t (*left)(const struct pack *p, bool any_sequence);
	void (*close)(struct pack *p);
};

/* Comes first in the struct of each way, which its functions cast to. pack_open() sets `o`. */
struct pack {
	const struct pack_method *method;
	struct pack_options o;
};

/* Each gives *out, to be ended with its method's close. */
enum fail_code pack_concat_open(struct pack **out, struct failure *f);
enum fail_code pack_none_open(struct pack **out, struct failure *f);
enum fail_code pack_best_fit_open(struct pack **out, uint32_t sequence_length, struct failure *f);

/* A stretch of one document; all pointers are borrowed. */
struct pack_piece {
	const struct pack_place *place;
	uint64_t offset; /* of its first token in the document */
	const uint8_t *keep;
	size_t keep_n;
	const uint32_t *token;
	uint32_t n; /* at least 1 */
};

/*
 * Gives a sequence of the pieces in that order, at most S+1 tokens, padded. place and offset are of
 * the last token; window and dropped are 0. Files come in the order in which the input has them.
 */
enum fail_code pack_build(struct pack_sequence **out, const struct pack_options *o,
    const struct pack_piece *piece, size_t pieces_n, struct failure *f);

/* How many tokens of a document of n are taken. */
uint64_t pack_taken(const struct pack_options *o, uint64_t n);

/* Tokens in memory that only grows. Zero-initialise; `token` is freed by the owner. */
struct pack_tokens {
	uint32_t *token;
	size_t n, room;
};

enum fail_code pack_tokens_add(
    struct pack_tokens *t, const uint32_t *token, size_t n, struct failure *f);

#endif
