/*
 * lane_record.h -- one lane of an assembled step as a Batch record (record/batch.h).
 *
 * A step of B sequences on L lanes is L records of B / L sequences each. Payloads are copied as
 * they came from the domain topics, not decoded: a mixer moves bytes. Each record names the domains
 * that its own sequences come from, ascending by index, and nothing in it depends on which mixer
 * wrote it or when, so that a replay can compare bytes.
 *
 * Thread: any.
 */
#ifndef CONSUMER_DERIVE_LANE_RECORD_H
#define CONSUMER_DERIVE_LANE_RECORD_H

#include "common/record/batch.h"
#include "consumer/derive/assembler.h"

/* What all records of a mix have in common. */
struct lane_mix {
	const char *name; /* borrowed, as in the heads made of it */
	uint64_t schedule, tokenizer;
	uint32_t lanes;
	uint64_t lead;
};

/*
 * The head of lane 0 of a step, with what governs the mixer's last step; the caller counts the
 * lanes up. `last`: the record that ends the mix at `step`.
 */
struct batch_head lane_record_head(
    const struct lane_mix *mix, const struct mixer *m, uint64_t step, bool last);

/*
 * Gives *bytes (free): `head` with the sequences draw[0..n) and record[0..n), whose payloads are
 * copied as they are. Domain names come from the mixer.
 */
enum fail_code lane_record_encode(uint8_t **bytes, size_t *size_bytes,
    const struct batch_head *head, const struct mixer *m, const struct mixer_draw *draw,
    const struct feed_block_record *const *record, size_t n, struct failure *f);

#endif
