/*
 * contents.h -- what a Sequence of the log holds, with its frame decoded.
 *
 * Thread: any; it has no state.
 */
#ifndef PRODUCER_WRITER_CONTENTS_H
#define PRODUCER_WRITER_CONTENTS_H

#include <stdint.h>

#include "common/base/failure.h"
#include "common/record/sequence.h"

/* All owned. Texts in them are borrowed from the record. */
struct contents {
	struct text_view *source;       /* [payload.sources_n] */
	struct sequence_span *span;     /* [payload.spans_n] */
	struct sequence_range *no_loss; /* [payload.no_loss_n] */
	uint32_t *token;                /* [payload.count] */
};

/* Fills *out, to be ended with contents_close(), also after a failure. FAIL_DATA: damaged. */
enum fail_code contents_open(
    struct contents *out, const struct sequence_view *s, struct failure *f);
void contents_close(struct contents *c);

/*
 * A hash of all that makes two records of one ordinal the same sequence: tokens, documents and the
 * place in the input. How the frame was compressed is no part of it.
 */
uint64_t contents_hash(const struct contents *c, const struct sequence_view *s);

#endif
