/*
 * partition_tail.h -- what the last record of a domain partition says about the whole partition.
 *
 * The last record is a Sequence or an End. A partition is sealed from its first End on: its length
 * is that of its last End, which every Sequence behind it repeats. So one record is enough.
 *
 *     ... Sequence             not sealed; sequences = its ordinal + 1
 *     ... End                  sealed, complete
 *     ... End ... Sequence     sealed at the length of that End; more is on its way
 *
 * Pure. Thread: any.
 */
#ifndef CONSUMER_DOMAIN_PARTITION_TAIL_H
#define CONSUMER_DOMAIN_PARTITION_TAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"

struct partition_tail {
	uint64_t sequences;                      /* that are there */
	bool sealed;                             /* it has an End */
	uint64_t sealed_sequences;               /* of the last End; 0 where there is none */
	uint64_t record_bytes, record_bytes_max; /* of all sequences that are there */
	uint64_t tokenizer;
	uint32_t sequence_length;
};

/* FAIL_DATA: neither a Sequence nor an End, or damaged. */
enum fail_code partition_tail_decode(
    struct partition_tail *out, const uint8_t *bytes, size_t n, struct failure *f);

#endif
