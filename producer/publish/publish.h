/*
 * publish.h -- the producer's end of Kafka: one idempotent handle, one writer a partition.
 *
 * Every delivery report must give the offset that follows from the partition's end at the start;
 * another one means that somebody else writes there. A partition has at most two batches on their
 * way, and all partitions together what librdkafka's queue holds: room is waited for, until `stop`
 * is set. Rejects go through the same handle, without that check.
 *
 * A partition has no gaps, whatever becomes of a record: none is given up alone. Where nothing is
 * acknowledged for PUBLISH_SILENT_MS, all that waits is given up.
 *
 * Thread: one.
 */
#ifndef PRODUCER_PUBLISH_PUBLISH_H
#define PRODUCER_PUBLISH_PUBLISH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/base/stop.h"
#include "common/config/properties.h"

enum { PUBLISH_SILENT_MS = 300000 };

struct publish;
struct publish_writer;

/* Gives *out, to be ended with publish_close(). `record_bytes_max` is the largest record; `stop` is
 * borrowed for as long as the handle lives. */
enum fail_code publish_open(struct publish **out, const struct properties *properties,
    size_t record_bytes_max, const char *rejects_topic, const struct stop *stop, struct failure *f);
void publish_close(struct publish *p); /* its writers too; NULL is accepted */

/* Gives *out, which ends with the handle: a partition whose next record stands at `offset_next`. */
enum fail_code publish_writer_open(struct publish_writer **out, struct publish *p,
    const char *topic, int32_t partition, int64_t offset_next, struct failure *f);

/* Takes `bytes` (malloc), also on failure. FAIL_STOPPED: there is no room, and `stop` is asked. */
enum fail_code publish_put(struct publish_writer *w, uint8_t *bytes, size_t n, struct failure *f);

/* A record that could not become a document. Texts are borrowed during the call, bytes copied. */
struct publish_reject {
	const char *domain; /* or several, with "," between them */
	const char *file;
	uint64_t line, byte;
	uint64_t count; /* rejects of the input so far, this one included */
	const char *reason;
	const char *bytes;
	size_t n;
};

enum { PUBLISH_REJECT_BYTES_MAX = 65536 /* kept of a rejected record */ };

enum fail_code publish_put_reject(
    struct publish *p, const struct publish_reject *r, struct failure *f);

/*
 * Waits until every reject is delivered. A sequence says how many rejects came before it, and a
 * resume after it does not repeat them: they must be in the log when it is put.
 */
enum fail_code publish_settle_rejects(struct publish *p, struct failure *f);

/* Serves delivery reports; the failure of any record so far. */
enum fail_code publish_poll(struct publish *p, struct failure *f);

/* Waits until everything is delivered; FAIL_TIMEOUT where that takes longer. */
enum fail_code publish_flush(struct publish *p, int timeout_ms, struct failure *f);

#endif
