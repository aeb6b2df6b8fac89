/*
 * kafka_trim.h -- deletes the oldest records of partitions, for good.
 */
#ifndef COMMON_KAFKA_KAFKA_TRIM_H
#define COMMON_KAFKA_KAFKA_TRIM_H

#include <librdkafka/rdkafka.h>

#include "common/base/failure.h"

/*
 * Deletes, in each partition of the list, all records below the partition's offset; an offset at or
 * below the first one kept changes nothing. On success each offset of the list is the first one
 * that is kept. A failure may leave some partitions cut and others not; repeating it is safe.
 * Offsets are at least 0: of librdkafka's -1, "to the end", this makes no use.
 */
enum fail_code kafka_trim(
    rd_kafka_t *rk, rd_kafka_topic_partition_list_t *list, int timeout_ms, struct failure *f);

#endif
