/*
 * unicode_range.h -- two sets of code points that the classes of unicode_class.h do not tell: \w,
 * for added tokens with single_word, and what `Digits` takes for a number.
 *
 * Each is a list of ranges in order, searched by halves: both are asked for too rarely for a table
 * with an entry for each code point. scripts/gen-unicode-ranges makes unicode_range_table.c and
 * says where the ranges come from.
 */
#ifndef PRODUCER_PRETOKENIZER_UNICODE_RANGE_H
#define PRODUCER_PRETOKENIZER_UNICODE_RANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UNICODE_RANGE_VERSION "16.0.0, numeric 17.0.0"

struct unicode_range {
	uint32_t first, last; /* both included */
};

/* The table; [n], by `first`, not touching. */
extern const struct unicode_range unicode_word_range[];
extern const size_t unicode_word_ranges_n;
extern const struct unicode_range unicode_numeric_range[];
extern const size_t unicode_numeric_ranges_n;

bool unicode_is_word(uint32_t point);    /* \w of the Rust crate regex */
bool unicode_is_numeric(uint32_t point); /* N* as Rust's standard library has it */

#endif
