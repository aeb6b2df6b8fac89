/*
 * kafka_commits.h -- the committed offsets and metadata of a group, read without joining it.
 *
 * `rk` is a KAFKA_READER that was opened with `group`; whoever reads of several groups opens one
 * for each. For a group other than the handle's own librdkafka has an admin request
 * (ListConsumerGroupOffsets), which is not to be trusted while brokers die, move a coordinator or
 * are slow: 2.0.2 crashes without a group, ends the process (an assertion on eonce->refcnt) or
 * never finds the coordinator again (its issues 3663 and 4605). It follows the
 * coordinator of a handle's own group wherever that moves.
 */
#ifndef COMMON_KAFKA_KAFKA_COMMITS_H
#define COMMON_KAFKA_KAFKA_COMMITS_H

#include <librdkafka/rdkafka.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"

/*
 * Fills offset_next[i] (-1: none) and metadata[i] (given, free(); NULL: none) for partitions
 * 0..n-1 of `topic`. After a failure all are -1 and NULL.
 */
enum fail_code kafka_commits_of_topic(rd_kafka_t *rk, const char *topic, size_t n,
    int64_t *offset_next, char **metadata, int timeout_ms, struct failure *f);

/* The same for any list of partitions: sets the offset (-1: none) and the metadata of each. */
enum fail_code kafka_commits(
    rd_kafka_t *rk, rd_kafka_topic_partition_list_t *list, int timeout_ms, struct failure *f);

#endif
