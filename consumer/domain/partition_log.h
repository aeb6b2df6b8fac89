/*
 * partition_log.h -- the sequences of one partition of a domain topic, in the order of their
 * ordinals, up to its last End.
 *
 * How many there are is fixed when it is opened, by the last End before that moment; a run that
 * appends meanwhile is not seen. Duplicates, which a producer that was killed may leave, are
 * dropped; a hole, another tokenizer and a frame of another hash are errors that name the offset.
 *
 * held_out.h differs in what it is for: all partitions of a validation set in one go, not decoded,
 * sealed or not.
 *
 * Thread: one.
 */
#ifndef CONSUMER_DOMAIN_PARTITION_LOG_H
#define CONSUMER_DOMAIN_PARTITION_LOG_H

#include <librdkafka/rdkafka.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/base/stop.h"
#include "common/record/sequence.h"
#include "consumer/domain/partition_tail.h"

struct partition_log;

/* One sequence; all is borrowed until the next call. */
struct partition_log_sequence {
	struct sequence_view record;
	const struct sequence_span *span; /* [record.payload.spans_n] */
	const uint32_t *token;            /* [record.payload.count] */
};

/*
 * Gives *out, to be ended with partition_log_close(). FAIL_DATA: the partition has no End, or its
 * first records were deleted. FAIL_CONFIG: no such topic or partition; it is of another tokenizer.
 * `reader` is a KAFKA_READER with nothing assigned, and this log's alone until it is closed.
 */
enum fail_code partition_log_open(struct partition_log **out, rd_kafka_t *reader, const char *topic,
    int32_t partition, uint64_t tokenizer, int timeout_ms, struct failure *f);
void partition_log_close(struct partition_log *l); /* NULL is accepted */

uint64_t partition_log_sequences(const struct partition_log *l); /* up to the last End */

/*
 * *there is false after the last one. FAIL_STOPPED once `stop` is asked. FAIL_BROKER: no record
 * came within timeout_ms of this call.
 */
enum fail_code partition_log_next(struct partition_log *l, const struct stop *stop,
    struct partition_log_sequence *out, bool *there, struct failure *f);

/*
 * Whether a partition is whole, by its last record and the first offset that is kept. FAIL_DATA:
 * records were deleted, or it is not sealed. FAIL_CONFIG: it has another tokenizer. Pure.
 */
enum fail_code partition_log_judge(
    const struct partition_tail *tail, int64_t low, uint64_t tokenizer, struct failure *f);

#endif
