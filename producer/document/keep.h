/*
 * keep.h -- what is kept of a document: fields of its record as one compact JSON object.
 *
 * Each value stands in it as in the record, but without white space between its parts; a dotted
 * path is its key. keep_begin(), keep_add() for every field that the record has, keep_end():
 *
 *     "meta.id", 7   "answer", [ "a", "b c" ]   ->   {"meta.id":7,"answer":["a","b c"]}
 *
 * The object is built in the order of the configuration, not of the record, so that equal records
 * give equal bytes. Nothing is decoded: a string keeps its escapes.
 *
 * Pure memory; FAIL_MEMORY is the only failure. Thread: one.
 */
#ifndef PRODUCER_DOCUMENT_KEEP_H
#define PRODUCER_DOCUMENT_KEEP_H

#include "common/base/buffer.h"

/* Empties `b`. */
enum fail_code keep_begin(struct buffer *b, struct failure *f);
/* `raw` is a valid JSON text. */
enum fail_code keep_add(
    struct buffer *b, const char *name, const char *raw, size_t raw_n, struct failure *f);
/* Instead of all of them: `raw` is an object by itself. */
enum fail_code keep_object(struct buffer *b, const char *raw, size_t raw_n, struct failure *f);
/* From here on the object is whole. */
enum fail_code keep_end(struct buffer *b, struct failure *f);

#endif
