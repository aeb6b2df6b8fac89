/*
 * partition_tail.h -- the last record of a domain partition, and what it says about all of it.
 *
 * The last record is a Sequence or an End. A partition is sealed from its first End on: its length
 * is the one in its last End, and every Sequence behind an End repeats that length. So one record
 * is enough, however long the partition is.
 *
 *     ... Sequence             not sealed; sequences = its ordinal + 1
 *     ... End                  sealed, complete
 *     ... End ... Sequence     sealed at the length of that End; the next End is on its way
 *
 * Domain topics are written without transactions: there are no markers in them, and the last record
 * stands at the offset right before the end of its partition.
 *
 * partition_tail_decode() is pure. Thread: that of the handle, else any.
 */
#ifndef CONSUMER_DOMAIN_PARTITION_TAIL_H
#define CONSUMER_DOMAIN_PARTITION_TAIL_H

#include <librdkafka/rdkafka.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"

enum {
	PARTITION_TAIL_MANY_MAX = 256, /* partitions that are read at a time, */
	PARTITION_TAIL_FEW_MAX = 32,   /* or where memory is short: each brings a fetch */
	PARTITION_TAIL_REASON_BYTES = 256,
};

struct partition_tail {
	uint64_t sequences;        /* in the partition, also those behind its last End */
	bool sealed;               /* it has an End */
	uint64_t sealed_sequences; /* of the last End; 0: there is none */
	uint64_t record_bytes;     /* of all sequences in the partition together, */
	uint64_t record_bytes_max; /* and of the largest one */
	uint64_t tokenizer;
	uint32_t sequence_length;
	bool end; /* the record is an End; else a Sequence, with the ordinal sequences - 1, */
	uint64_t frame_hash; /* and this hash */
};

/* FAIL_DATA: neither a Sequence nor an End, or damaged. Borrows `bytes`. */
enum fail_code partition_tail_decode(
    struct partition_tail *out, const uint8_t *bytes, size_t n, struct failure *f);

/* A partition whose last record is wanted, and what came of it. */
struct partition_tail_at {
	const char *topic; /* borrowed */
	int32_t partition;
	int64_t high;  /* its end, > 0 */
	bool answered; /* in time, by a record or by none */
	bool known;    /* the record was there and is in `tail`; */
	bool bad;      /* or it was there and cannot be read, for this reason: */
	char reason[PARTITION_TAIL_REASON_BYTES];
	struct partition_tail tail;
	bool want_recipe;
	char *recipe; /* where it is wanted: on the record (recipe.h), free; NULL: it has none */
};

/*
 * Reads the last record of each of at[n], of at most `at_once` partitions at a time. What does not
 * come within timeout_ms, or was deleted, is neither known nor bad afterwards; `answered` tells the
 * two apart. Any other record is read by the offset behind it as `high`: it brings all that a fetch
 * takes with it. `reader` is a
 * KAFKA_READER with nothing assigned, now and afterwards, that has been asked about these
 * partitions before (kafka.h tells why).
 * FAIL_DENIED: the user may not read one of the topics. FAIL_BROKER.
 */
enum fail_code partition_tail_read_many(rd_kafka_t *reader, struct partition_tail_at *at, size_t n,
    size_t at_once, int timeout_ms, struct failure *f);

#endif
