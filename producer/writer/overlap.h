/*
 * overlap.h -- what stands in a partition where the records of two producers met.
 *
 * A producer that was killed may have records on their way that land late, behind the first records
 * of the next producer, or in front of them. So ordinals stand twice, and readers keep the first
 * record of each. That is harmless while both producers made the same records. If the input changed
 * between the two runs, what readers keep is a mixture of both:
 *
 *     offset      0    1    2    3    4    5    6
 *     record      k0   k1   k2   s0   s1   s2   s3       k: the killed one, s: the next one
 *     readers     k0   k1   k2                  s3       documents of s0 to s2 are missing
 *
 * Each producer notices at the latest when its next records are delivered (writer.h), puts no more,
 * and asks anew where to continue. So both sides of the meeting are among the last records, and all
 * that follows it was written by producers that had found them equal. A producer which finds records
 * that differ fails, as every later one does.
 *
 * The last record may be the lower one, as s0 would be without s1 to s3. Then k1 and k2 have no
 * second record to be compared with. The producer continues after the highest ordinal, k2, whose
 * place it compares with the input as ever (resume.h).
 *
 * Thread: one.
 */
#ifndef PRODUCER_WRITER_OVERLAP_H
#define PRODUCER_WRITER_OVERLAP_H

#include <librdkafka/rdkafka.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"

struct overlap_record {
	uint64_t ordinal, hash; /* see contents_hash() */
	int64_t offset;
};

/*
 * *last is the last record of a partition. If it is a Sequence that does not stand at the offset of
 * its ordinal, reads the records before it, about `bytes` of them, and makes *last the one with the
 * highest ordinal, the later one of equals. FAIL_DATA: two of an ordinal differ. `domain` is for
 * failures. `reader` is a KAFKA_READER with nothing assigned.
 */
enum fail_code overlap_check(rd_kafka_message_t **last, rd_kafka_t *reader, const char *topic,
    int32_t partition, size_t bytes, const char *domain, struct failure *f);

/*
 * Sorts record[n] by ordinal and offset. Returns the index of the first whose ordinal the one
 * before it has with another hash; 0: there is none. Pure.
 */
size_t overlap_sort(struct overlap_record *record, size_t n);

#endif
