/*
 * nfc.h -- Unicode normalisation form C, of Unicode 9.0.0 as tokenizers has it.
 *
 * Text is cut before every plain character: a starter that is its own NFC and joins nothing before
 * it. Only what is not plain is worked on, together with the plain character before it: decomposed,
 * its marks ordered by class, composed again (Unicode Standard Annex 15). Most text is plain and is
 * never copied. Linear but for the ordering, which is n log n in the marks of one starter.
 */
#ifndef PRODUCER_PRETOKENIZER_NFC_H
#define PRODUCER_PRETOKENIZER_NFC_H

#include <stdbool.h>

#include "common/base/buffer.h"

#define NFC_VERSION "9.0.0"

/* Memory of one thread for what is worked on; zero-initialise, end with nfc_scratch_close(). */
struct nfc_point {
	uint32_t point;
	uint8_t class; /* canonical combining class */
};

struct nfc_scratch {
	struct nfc_point *point; /* [2][room], owned; the second half is for sorting */
	size_t n, room;
};

void nfc_scratch_close(struct nfc_scratch *s);

/* That all of text[n], valid UTF-8, is plain: it is its own NFC. */
bool nfc_plain(const uint8_t *text, size_t n);

/* Adds the NFC of text[n], valid UTF-8, to `out`. FAIL_MEMORY only. */
enum fail_code nfc_add(
    struct nfc_scratch *s, struct buffer *out, const uint8_t *text, size_t n, struct failure *f);

#endif
