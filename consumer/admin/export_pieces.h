/*
 * export_pieces.h -- from the sequences of a domain partition back to its documents.
 *
 * A sequence holds stretches of documents (its spans). How they come together again depends on how
 * the partition is packed:
 *
 *   concat    Stretches come in the order of the documents. The first token of a sequence that
 *             continues the document before is the shared one, and is left out. A document is
 *             whole if another follows in the stream, or if its last token is eos: the one that an
 *             End cut off is not, and is left out.
 *   none      The same, and every document is whole: what the packing cut off is not in the log.
 *   best fit  The stretches of a window are kept, sorted by document and offset, and given out with
 *             its last sequence.
 *
 * As a stream all stretches are given as they come, but for shared tokens and padding.
 *
 * Pure memory: no Kafka, no files; what comes out goes to the caller's functions. Memory: with best
 * fit the tokens of a window. Thread: one.
 */
#ifndef CONSUMER_ADMIN_EXPORT_PIECES_H
#define CONSUMER_ADMIN_EXPORT_PIECES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/record/sequence.h"

struct export_pieces_sink {
	/* Tokens of the document that is open; the first ones open it. */
	enum fail_code (*tokens)(void *opaque, const uint32_t *id, size_t n, struct failure *f);
	/* It ends; `whole` false: it is to be forgotten. */
	enum fail_code (*end)(void *opaque, bool whole, struct failure *f);
	void *opaque;
};

struct export_pieces;

/* Gives *out, to be ended with export_pieces_close(). Copies the sink. */
enum fail_code export_pieces_open(struct export_pieces **out, const struct export_pieces_sink *sink,
    uint32_t eos, bool stream, struct failure *f);
void export_pieces_close(struct export_pieces *p); /* NULL is accepted */

/* The next sequence of the partition. */
enum fail_code export_pieces_add(struct export_pieces *p, const struct sequence_view *s,
    const struct sequence_span *span, const uint32_t *token, struct failure *f);

/* The partition ends; another may follow. */
enum fail_code export_pieces_finish(struct export_pieces *p, struct failure *f);

/* Documents that were cut off by an End. */
uint64_t export_pieces_left_out(const struct export_pieces *p);

#endif
