/*
 * tails.h -- the last records of many domain partitions, read at once.
 *
 * Domain topics are written without transactions, so that the last record stands right before the
 * end of its partition.
 */
#ifndef CONSUMER_DOMAIN_TAILS_H
#define CONSUMER_DOMAIN_TAILS_H

#include <librdkafka/rdkafka.h>

#include "common/base/failure.h"
#include "consumer/domain/partition_tail.h"

enum {
	TAILS_MAX = 256, /* partitions that are read at a time */
	TAILS_REASON_BYTES = 256,
};

struct tails_partition {
	const char *topic;
	int32_t partition;
	int64_t high; /* its end, > 0 */
	bool known;   /* set by tails_read(): the record was there and is in `tail` */
	bool bad;     /* it was there and cannot be read: */
	char reason[TAILS_REASON_BYTES];
	struct partition_tail tail;
};

/*
 * Reads the last record of each of at[n]. What does not come within timeout_ms, or is gone, is
 * neither known nor bad afterwards. `reader` is a KAFKA_READER with nothing assigned that has been
 * asked about these partitions.
 */
enum fail_code tails_read(
    rd_kafka_t *reader, struct tails_partition *at, size_t n, int timeout_ms, struct failure *f);

#endif
