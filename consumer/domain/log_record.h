/*
 * log_record.h -- what a record of a domain's partition is to somebody who reads all sequences in
 * their order. Pure.
 *
 * A partition holds sequences with the ordinals 0, 1, 2, ... Some are there twice, after a producer
 * was killed, and an End is between them if more was appended later:
 *
 *     ordinals in the log     0 1 2 3 2 3 4 End 5 End
 *     ordinal that is due     0 1 2 3 4 4 4  5  5  6
 *     what the record is      - next -- passed, next, passed, next, passed
 */
#ifndef CONSUMER_DOMAIN_LOG_RECORD_H
#define CONSUMER_DOMAIN_LOG_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/record/sequence.h"

enum log_record {
	LOG_RECORD_NEXT,   /* the sequence that is due */
	LOG_RECORD_PASSED, /* an End, or a sequence that came before: it is passed over */
	LOG_RECORD_GAP,    /* a later sequence: the due one is missing */
};

/*
 * Judges a record while sequence `due` is the next one. Fills *out, which borrows from bytes[n],
 * unless the record is an End. FAIL_DATA: no sequence and no End, or damaged.
 */
enum fail_code log_record_judge(enum log_record *what, struct sequence_view *out,
    const uint8_t *bytes, size_t n, uint64_t due, struct failure *f);

#endif
