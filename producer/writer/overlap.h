/*
 * overlap.h -- compares the records of two producers that met in a partition.
 *
 * A producer that was killed may have records on their way that land late, before the first records
 * of the next producer or after them. Then an ordinal is there twice, and readers keep its first
 * record. That is harmless if both producers made the same records. If the input changed between
 * the two runs, readers keep a mixture of both:
 *
 *     offset      0    1    2    3    4    5    6
 *     record      k0   k1   k2   s0   s1   s2   s3       k: the killed one, s: the next one
 *     readers     k0   k1   k2                  s3       documents of s0 to s2 are missing
 *
 * A producer notices this when its next records are delivered (writer.h). It puts no more records
 * and asks again where to continue. So the records of both are among the last ones of the
 * partition. A producer that finds two of one ordinal which differ fails, as does every later one.
 * Only a producer that has found them equal adds records.
 *
 * The last record may have a lower ordinal than others. In the example without s1 to s3, nothing
 * can be compared with k1 and k2. The producer then continues after the highest ordinal, k2, and
 * its place must fit the input, as that of any last record (resume.h).
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
 * *last is the last record of a partition. If it is a Sequence whose ordinal is not its offset, the
 * log may have duplicates, or it has an End in the middle. Then this reads the records before it,
 * about `bytes` of them, and replaces *last if one of them has a higher ordinal. FAIL_DATA: two of
 * one ordinal differ. `domain` is for failures. `reader` is a KAFKA_READER with nothing assigned.
 */
enum fail_code overlap_check(rd_kafka_message_t **last, rd_kafka_t *reader, const char *topic,
    int32_t partition, size_t bytes, const char *domain, struct failure *f);

/*
 * Sorts record[n] by ordinal and offset. Returns the index of the first whose ordinal the one
 * before it has with another hash, or 0. Pure.
 */
size_t overlap_sort(struct overlap_record *record, size_t n);

#endif
