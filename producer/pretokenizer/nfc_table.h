/*
 * nfc_table.h -- what nfc.c knows of Unicode; made by scripts/gen-unicode-nfc, for nfc.c only.
 *
 * A table of two stages with a byte for each code point, as unicode_class.h has it, and two lists
 * of rows, searched by halves: what a character is made of, and what two characters are together.
 */
#ifndef PRODUCER_PRETOKENIZER_NFC_TABLE_H
#define PRODUCER_PRETOKENIZER_NFC_TABLE_H

#include <stddef.h>
#include <stdint.h>

enum {
	NFC_BLOCK = 128,
	NFC_PLAIN = 0, /* a starter that is its own NFC and never joins what stands before it */
	NFC_CHANGING = 255, /* another starter; every other value is a canonical combining class */
};

/* A character and what it canonically is; `second` 0: one character. Hangul is not among them. */
struct nfc_row {
	uint32_t whole, first, second;
};

extern const uint8_t nfc_table_index[0x110000 / NFC_BLOCK];
extern const uint8_t nfc_table_blocks[][NFC_BLOCK];
extern const struct nfc_row nfc_decomposition[]; /* by whole */
extern const size_t nfc_decompositions_n;
extern const struct nfc_row nfc_composition[]; /* by first, then second */
extern const size_t nfc_compositions_n;

static inline uint8_t
nfc_class_of(uint32_t point)
{
	return nfc_table_blocks[nfc_table_index[point / NFC_BLOCK]][point % NFC_BLOCK];
}

#endif
