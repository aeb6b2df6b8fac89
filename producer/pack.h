/*
 * pack.h -- cuts a stream of documents into sequences of S+1 tokens, one token of overlap.
 *
 * Documents come with their eos. The stream is all of them end to end; sequence j is its tokens
 * j*S .. j*S+S, both included. What does not fill a sequence at the end is dropped and counted.
 * Example, S = 3 and documents [1 2 0] [3 4 5 0]:  1 2 0 3 | 3 4 5 0.
 *
 * Resume: a stream can begin at token `offset` of a document (pack_open); the sequences that follow
 * are those of the whole stream.
 *
 * Pure memory: no files, no Kafka. Thread: one.
 */
#ifndef PRODUCER_PACK_H
#define PRODUCER_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/failure.h"
#include "common/sequence.h"

struct pack;

/* Where a document stands in its input; `file` is borrowed and outlives the packer. */
struct pack_place {
	uint64_t document; /* index in the input */
	const char *file;
	uint64_t byte, line;
	uint64_t documents; /* of this stream, this one included */
	uint64_t rejects;   /* of the input, before it */
};

/* A sequence that owns its memory: pack_sequence_close(). Texts are borrowed from the places. */
struct pack_sequence {
	uint32_t *token; /* [S + 1] */
	struct sequence_span *span;
	size_t spans_n;
	struct text_view *source;
	size_t sources_n;
	struct pack_place place; /* of the document of the last token, */
	uint64_t offset;         /* and the index of that token in it */
};

/* Gives *out, to be ended with pack_close(). */
enum fail_code pack_open(struct pack **out, uint32_t sequence_length, struct failure *f);
void pack_close(struct pack *p); /* NULL is accepted */

/*
 * Appends the tokens id[first..n) of a document, eos included. A long one may come in parts: what
 * begins where the tokens before it ended is one document. Else first > 0 only after a resume.
 */
enum fail_code pack_add(struct pack *p, const struct pack_place *place, const uint32_t *id,
    size_t n, size_t first, struct failure *f);

/* Gives the next whole sequence in *out; *there is false where the tokens do not make one. */
enum fail_code pack_next(
    struct pack *p, struct pack_sequence **out, bool *there, struct failure *f);
void pack_sequence_close(struct pack_sequence *s);

/* Tokens that no sequence holds yet; the shared one counts only before the first sequence. */
uint64_t pack_left(const struct pack *p, bool any_sequence);

#endif
