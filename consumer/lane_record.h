/*
 * lane_record.h -- one lane of an assembled step as a Batch record.
 */
#ifndef CONSUMER_LANE_RECORD_H
#define CONSUMER_LANE_RECORD_H

#include "common/batch.h"
#include "consumer/assembler.h"

/*
 * Gives *bytes (free): `head` with the sequences draw[0..n) and record[0..n), whose payloads are
 * copied as they are. Domain names come from the mixer.
 */
enum fail_code lane_record_encode(uint8_t **bytes, size_t *size_bytes,
    const struct batch_head *head, const struct mixer *m, const struct mixer_draw *draw,
    const struct feed_record *const *record, size_t n, struct failure *f);

#endif
