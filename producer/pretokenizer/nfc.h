/*
 * nfc.h -- Unicode normalisation form C, of Unicode 9.0.0 as tokenizers has it.
 *
 * The same text can be written in several ways: é is U+00E9, or e and U+0301. NFC is one of them
 * (Unicode Standard Annex 15). Every character is replaced by what it is made of; marks behind a
 * base character are put in order; and what can be one character becomes one again. Example, o with
 * a dot below (class 220) and a circumflex (class 230), the marks in the wrong order:
 *
 *     text         o  U+0302  U+0323
 *     decomposed   o  U+0302  U+0323      nothing to take apart here
 *     ordered      o  U+0323  U+0302      220 goes before 230; marks of one class keep their order
 *     composed     U+1ECD  U+0302         o and the dot below are one character
 *                  U+1ED9                 and with the circumflex they are one, too
 *
 * Two marks of one class compete for a place, so that their order means something: a mark joins the
 * base character only if nothing of its own or a higher class stands between them.
 *
 * Most characters are plain: a starter (class 0) that is its own NFC and never joins what is before
 * it. Text is cut before every plain character, and only what is not plain is worked on, together
 * with the plain character before it, which may be what it joins. So most text is recognised as
 * plain and never copied. Linear but for the ordering, which is n log n in the marks of one
 * starter.
 *
 * Thread: a scratch belongs to one thread.
 */
#ifndef PRODUCER_PRETOKENIZER_NFC_H
#define PRODUCER_PRETOKENIZER_NFC_H

#include <stdbool.h>

#include "common/base/buffer.h"

#define NFC_VERSION "9.0.0"

struct nfc_point {
	uint32_t point;
	uint8_t class; /* canonical combining class; 0: a starter */
};

/* What is worked on. Zero-initialise, end with nfc_scratch_close(). */
struct nfc_scratch {
	struct nfc_point *point; /* [2][room], owned; the second half is for sorting */
	size_t n, room;
};

void nfc_scratch_close(struct nfc_scratch *s);

/* Whether all of text[n], valid UTF-8, is plain. Then it is its own NFC; else it still may be. */
bool nfc_plain(const uint8_t *text, size_t n);

/* Adds the NFC of text[n], valid UTF-8, to `out`. FAIL_MEMORY only. */
enum fail_code nfc_add(
    struct nfc_scratch *s, struct buffer *out, const uint8_t *text, size_t n, struct failure *f);

#endif
