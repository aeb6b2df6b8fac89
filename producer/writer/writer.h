/*
 * writer.h -- the producer's end of Kafka: one idempotent handle for all partitions that a producer
 * writes.
 *
 * This room has all that the producer reads from Kafka and writes to it: where its partitions end,
 * the records that it adds, and the order in which live files were read.
 *
 * Files of this room:
 *     resume         where a producer continues, by the last record of each of its partitions
 *     overlap        whether the records of two producers that met in a partition are equal
 *     contents       what a Sequence of the log holds
 *     writer         records to partitions, without a gap and each once
 *     turn           of several producers of an input one at a time
 *     holder         which process has the turn, and whether it lives
 *     arrivals_log   the topic <corpus>.arrivals: which live files were read, in which order
 *
 *     resume_ask() -> resume_start() -> the input, from there
 *                                         | documents, sequences
 *     writer_partition_open(offset_next)  v
 *     writer_put(), writer_put() ... writer_poll() serves the reports ... writer_flush()
 *
 * Each once: the handle is idempotent, so a request that librdkafka repeats is written once; and a
 * producer that died is followed by one that asks the partition itself what is in it. No other
 * record of progress exists, so none can disagree.
 *
 * Every delivery report must give the offset that follows from the partition's end at the start;
 * another one means that somebody else writes there: FAIL_FENCED. A partition has at most two
 * batches on their way, and all partitions together what librdkafka's queue holds: for room the
 * writer waits, until `stop` is asked. Rejects go through the same handle, without that check.
 *
 * A partition has no gaps, whatever becomes of a record: none is given up alone. Where nothing is
 * acknowledged for WRITER_SILENT_MS, all that waits is given up.
 *
 * Thread: one. librdkafka's threads reach us only through writer_poll(), writer_flush() and the
 * waits in writer_put().
 */
#ifndef PRODUCER_WRITER_WRITER_H
#define PRODUCER_WRITER_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/base/stop.h"
#include "common/config/properties.h"

enum { WRITER_SILENT_MS = 300000 };

struct kafka_stats;
struct writer;
struct writer_partition;

/*
 * Gives *out, to be ended with writer_close(). `record_bytes_max` is the largest record; `stop` and
 * `stats`, those of its handle (NULL: none are taken), are borrowed for as long as the writer
 * lives.
 */
enum fail_code writer_open(struct writer **out, const struct properties *properties,
    size_t record_bytes_max, const char *rejects_topic, const struct stop *stop,
    struct kafka_stats *stats, struct failure *f);
void writer_close(struct writer *w); /* its partitions too; NULL is accepted */

/*
 * Gives *out, which ends with the writer: a partition whose end, and so the place of its next
 * record, is `offset_next`. Copies `topic`.
 */
enum fail_code writer_partition_open(struct writer_partition **out, struct writer *w,
    const char *topic, int32_t partition, int64_t offset_next, struct failure *f);

/* A Kafka header of a record; the texts are borrowed during the call. */
struct writer_header {
	const char *name, *value;
};

/*
 * Takes `bytes` (malloc), also on failure. FAIL_STOPPED: there is no room, and a stop is asked. Any
 * other failure is final: that of an earlier record, or of this one.
 */
enum fail_code writer_put(struct writer_partition *p, uint8_t *bytes, size_t n,
    const struct writer_header *header, size_t headers_n, struct failure *f);

/* A record that could not become a document. Texts are borrowed during the call, bytes copied. */
struct writer_reject {
	const char *domain; /* or several, with "," between them */
	const char *file;
	uint64_t line, byte;
	/* Rejects of the input so far, this one included; of documents without a target, those that
	 * this run has left out. */
	uint64_t count;
	const char *reason;
	const char *bytes;
	size_t n;
};

enum { WRITER_REJECT_BYTES_MAX = 65536 /* kept of a rejected record */ };

enum fail_code writer_put_reject(
    struct writer *w, const struct writer_reject *r, struct failure *f);

/*
 * Waits until every reject is delivered. A sequence says how many rejects came before it, and a
 * resume after it does not repeat them: they must be in the log when it is put.
 */
enum fail_code writer_settle_rejects(struct writer *w, struct failure *f);

/* Serves delivery reports; the failure of any record so far. */
enum fail_code writer_poll(struct writer *w, struct failure *f);

/*
 * How far before the end of a partition the records of two producers can have met (overlap.h):
 * twice what both of them have on their way.
 */
size_t writer_overlap_bytes(const struct properties *properties);

/* Waits until everything is delivered; FAIL_TIMEOUT where that takes longer. */
enum fail_code writer_flush(struct writer *w, int timeout_ms, struct failure *f);

/* ---- where a record landed; pure ---- */

enum writer_landed {
	WRITER_LANDED,        /* where it should, or the broker does not say where */
	WRITER_LANDED_BEFORE, /* the partition has lost its end, or was recreated */
	WRITER_LANDED_AFTER,  /* another producer writes here */
};

/* By the offset at which a record was expected, and the one that its report has; -1: none. */
enum writer_landed writer_judge(int64_t expected, int64_t offset);

#endif
