/*
 * documents.h -- the documents of a partition of a domain topic, sequence after sequence: file,
 * line, and which tokens of which sequence.
 *
 *     documents_open   documents_seek(topic, partition, first)   documents_next ...
 *     documents_close
 *
 * The record before `first` is read, too, for the lines (document_line.h). Records that cannot be
 * read are passed over, as a mixer quarantines them; duplicates are dropped. How far a partition
 * reaches is asked at the first documents_seek() of it: what is published meanwhile is not seen.
 *
 * Thread: one.
 */
#ifndef CONSUMER_DOMAIN_DOCUMENTS_H
#define CONSUMER_DOMAIN_DOCUMENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/base/stop.h"
#include "common/config/properties.h"
#include "common/record/sequence.h"
#include "consumer/domain/document_line.h"

enum { DOCUMENTS_NEAR = 512 }; /* records that are read over rather than sought */

struct documents;

/* All is borrowed until the next call. */
struct documents_sequence {
	uint64_t ordinal;
	int64_t time_ms; /* when its record was published, by Kafka; -1: the record does not say */
	uint32_t used;
	size_t spans_n;
	const struct sequence_span *span; /* [spans_n] */
	const struct document_line *line; /* [spans_n] */
	const struct text_view *source;
};

/* Gives *out, to be ended with documents_close(). `timeout_ms` is the limit of each wait. */
enum fail_code documents_open(struct documents **out, const struct properties *properties,
    const struct stop *stop, int timeout_ms, struct failure *f);
void documents_close(struct documents *d); /* NULL is accepted */

/*
 * documents_next() will give the first sequence with an ordinal of `first` or more. Copies `topic`.
 * FAIL_CONFIG: there is no such partition.
 */
enum fail_code documents_seek(
    struct documents *d, const char *topic, int32_t partition, uint64_t first, struct failure *f);

/*
 * The same for the first sequence that was published at `time_ms` or later. *there is false if none
 * was: documents_next() is then not to be called.
 */
enum fail_code documents_seek_time(struct documents *d, const char *topic, int32_t partition,
    int64_t time_ms, bool *there, struct failure *f);

/* *there is false behind the last one. FAIL_STOPPED, FAIL_DENIED, FAIL_BROKER. */
enum fail_code documents_next(
    struct documents *d, struct documents_sequence *out, bool *there, struct failure *f);

#endif
