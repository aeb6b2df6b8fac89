/*
 * split.h -- which set a document belongs to: train, valid or test, by the hash of its text.
 *
 * h = XXH64(text, seed 0); place = (h * sum) >> 64, a number in [0, sum) where sum is that of the
 * three parts; the sets take the places in order. With 949,50,1 places 0..948 are train, 949..998
 * valid and 999 test. Equal texts are in one set, and where a document is in the input does not
 * matter: data that grow move no document, and a text that comes twice cannot be in train and in
 * valid.
 */
#ifndef PRODUCER_DOCUMENT_SPLIT_H
#define PRODUCER_DOCUMENT_SPLIT_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/names.h"

/* The set of text[n]; at least one part is positive. */
enum names_set split_set(const char *text, size_t n, const uint32_t parts[static SETS_COUNT]);

#endif
