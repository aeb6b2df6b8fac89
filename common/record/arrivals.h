/*
 * arrivals.h -- the record that says in which order a live domain's files were read.
 *
 * Written by hand over common/record/wire.h, like the records of domain topics; a decoded one
 * borrows from the bytes it was decoded from. producer/input/live_order.h says how the records
 * become one order.
 */
#ifndef COMMON_RECORD_ARRIVALS_H
#define COMMON_RECORD_ARRIVALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/record/sequence.h"
#include "common/record/wire.h"

/* A stretch of whole records of one file; see schemas/Arrivals.avsc. Texts are borrowed. */
struct arrivals_portion {
	struct text_view file;
	bool whole;
	uint64_t byte, end, line;
	uint64_t hash;
};

struct arrivals {
	struct text_view input;
	uint64_t writer;
	bool takes_over;
	uint64_t first;
	size_t portions_n;
	const uint8_t *portions; /* decoded: inside the record, for arrivals_portions() */
	size_t rest_n;           /* decoded: bytes from there to the record's end */
};

/* Appends a whole record to `w`; portion[a->portions_n]. `byte` <= `end` in each. */
enum fail_code arrivals_encode(struct wire_writer *w, const struct arrivals *a,
    const struct arrivals_portion *portion, struct failure *f);

/* FAIL_DATA: truncated, a number out of range, a portion that ends before it begins. */
enum fail_code arrivals_decode(
    struct arrivals *out, const uint8_t *bytes, size_t n, struct failure *f);

/* Fills portion[a->portions_n]; `a` is as arrivals_decode() left it. */
void arrivals_portions(const struct arrivals *a, struct arrivals_portion *portion);

#endif
