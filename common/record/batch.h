/*
 * batch.h -- the record of a batch topic: one lane of one step.
 *
 * Encoded in two moves by the mixer, so that nothing is copied twice: batch_begin() writes the
 * head, batch_add() appends one drawn sequence with its payload as raw bytes, batch_end() closes.
 * Decoded without allocation: batch_decode() checks the head, batch_next() walks the sequences.
 */
#ifndef COMMON_RECORD_BATCH_H
#define COMMON_RECORD_BATCH_H

#include <stdbool.h>

#include "common/record/sequence.h"

struct batch_domain {
	uint32_t index;
	struct text_view name;
};

struct batch_head {
	struct text_view mix;
	uint64_t schedule;
	uint64_t step;
	uint32_t lane, lanes, global_batch;
	uint64_t version;
	struct text_view phase;
	double lr_scale;
	uint64_t lead;
	uint64_t tokenizer;
	bool last;
};

struct batch_drawn {
	uint32_t domain, partition;
	uint64_t ordinal, epoch;
};

/*
 * `domains_n` is what will follow; so is `sequences_n`: global_batch / lanes, 0 for the last
 * record. Domains ascend by index. An encoder fails with FAIL_MEMORY only.
 */
enum fail_code batch_begin(struct wire_writer *w, const struct batch_head *h,
    const struct batch_domain *domains, size_t domains_n, size_t sequences_n, struct failure *f);
enum fail_code batch_add(struct wire_writer *w, const struct batch_drawn *d,
    const uint8_t *payload_raw, size_t payload_n, struct failure *f);
enum fail_code batch_end(struct wire_writer *w, struct failure *f);

/* A decoded batch; borrows the record's bytes. */
struct batch_view {
	struct batch_head head;
	size_t domains_n, sequences_n;
	const uint8_t *domains;  /* read with batch_domains() */
	struct wire_reader rest; /* stands at the next sequence */
	size_t sequences_left;
	size_t block_left; /* of them, in the Avro block that `rest` stands in */
};

/*
 * Decodes and checks the whole head; sequences are checked as batch_next() meets them. sequences_n
 * is global_batch / lanes, or 0 where head.last. Whether a drawn domain is among the domains is for
 * the caller to find out, who looks it up.
 */
enum fail_code batch_decode(
    struct batch_view *out, const uint8_t *bytes, size_t n, struct failure *f);
/* Fills out[domains_n]. */
void batch_domains(const struct batch_view *b, struct batch_domain *out);
/*
 * Next sequence; call it sequences_n times, the last call also checks that nothing trails. After a
 * failure `b` cannot continue.
 */
enum fail_code batch_next(struct batch_view *b, struct batch_drawn *drawn,
    struct sequence_payload_view *payload, struct failure *f);

#endif
