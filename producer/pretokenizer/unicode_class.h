/*
 * unicode_class.h -- the class of a code point, as the splitters' patterns see it.
 *
 * Unicode 16.0.0, the version of the tokenizers that are the measure (tiktoken 0.14, tokenizers
 * 0.23). A table of two stages, made by scripts/gen-unicode-classes: most blocks of 128 code points
 * are the same as another one (all letters, nothing assigned), so an index says which block of
 * classes a block of code points has. 8.7 kB of index and 29 kB of blocks, most of it never
 * touched.
 */
#ifndef PRODUCER_PRETOKENIZER_UNICODE_CLASS_H
#define PRODUCER_PRETOKENIZER_UNICODE_CLASS_H

#include <stddef.h>
#include <stdint.h>

#define UNICODE_CLASS_VERSION "16.0.0"

enum { UNICODE_CLASS_BLOCK = 128, UNICODE_CLASS_LIMIT = 0x110000 };

/* Every code point has one; the generator knows this order. */
enum unicode_class {
	CLASS_OTHER,  /* none of those below: punctuation, symbols, controls, not assigned */
	CLASS_SPACE,  /* White_Space */
	CLASS_NUMBER, /* N* */
	CLASS_UPPER,  /* Lu, Lt */
	CLASS_LOWER,  /* Ll */
	CLASS_LETTER, /* Lm, Lo: letters without case */
	CLASS_MARK,   /* M* */
};

extern const uint8_t unicode_class_index[UNICODE_CLASS_LIMIT / UNICODE_CLASS_BLOCK];
extern const char unicode_class_blocks[];

/* `point` < UNICODE_CLASS_LIMIT. */
static inline enum unicode_class
unicode_class_of(uint32_t point)
{
	size_t block = unicode_class_index[point / UNICODE_CLASS_BLOCK];

	return (enum unicode_class)(
	    unicode_class_blocks[block * UNICODE_CLASS_BLOCK + point % UNICODE_CLASS_BLOCK] - '0');
}

#endif
