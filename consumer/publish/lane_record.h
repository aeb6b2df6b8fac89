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
#ifndef CONSUMER_PUBLISH_LANE_RECORD_H
#define CONSUMER_PUBLISH_LANE_RECORD_H

#include "common/record/batch.h"
#include "consumer/publish/assembler.h"
#include "consumer/publish/transactions.h"

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

/*
 * Puts the step that `m` took last, number `number`, into the open transaction of `t`: a record on
 * each lane. With `step` NULL: the records that end the mix there. Adds their sizes to *bytes.
 */
enum fail_code lane_record_put(struct transactions *t, const struct lane_mix *mix,
    const struct mixer *m, uint64_t number, const struct assembled *step, uint64_t *bytes,
    struct failure *f);

#endif
