/*
 * batch_compare.h -- where two records of a lane differ first, in words: field, sequence, document.
 *
 * One record is right (it was derived), the other was found in a batch topic and may be anything.
 * The first byte that differs is looked up in the right one, whose layout is known; the found one
 * is decoded as far as possible, to show its values and whether its frame still has its hash.
 *
 * So a difference is always reported as a field, though the records are compared as bytes: fields
 * that decode equally and are written differently (a number of two bytes in three) are found too.
 *
 * Pure: no I/O.
 */
#ifndef CONSUMER_REPLAY_BATCH_COMPARE_H
#define CONSUMER_REPLAY_BATCH_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/record/batch.h"

enum batch_compare_part {
	BATCH_COMPARE_SAME,
	BATCH_COMPARE_HEAD,
	BATCH_COMPARE_DRAW,
	BATCH_COMPARE_PAYLOAD
};

enum { BATCH_COMPARE_TEXT_BYTES = 320 };

struct batch_compare_difference {
	enum batch_compare_part part;
	size_t at;       /* first byte that differs, from the record's beginning */
	size_t sequence; /* BATCH_COMPARE_DRAW, BATCH_COMPARE_PAYLOAD: number in the lane, */
	struct batch_drawn drawn; /* as it is drawn by right */
	struct text_view domain;  /* its name; borrows `right` */
	bool found_whole; /* the found record is decodable, its frame at `sequence` has its hash */
	char text[BATCH_COMPARE_TEXT_BYTES]; /* "version: 2 in the record, 1 derived" */
};

/* `right` is a record that can be decoded. */
void batch_compare(struct batch_compare_difference *out, const uint8_t *right, size_t right_n,
    const uint8_t *found, size_t found_n);

#endif
