/*
 * avro_get.h -- a value of avro-c into a C struct, by a table of avro_record.h.
 */
#ifndef COMMON_RECORD_AVRO_GET_H
#define COMMON_RECORD_AVRO_GET_H

#include <avro.h>

#include "common/record/avro_record.h"

/*
 * Fills a zeroed struct; after a failure the caller clears it. A field that the value does not have
 * keeps zero, or its preset.
 */
enum fail_code avro_get_record(
    const struct avro_table *t, const avro_value_t *from, void *to, struct failure *f);

/* What avro-c returned as ours: FAIL_MEMORY, or FAIL_DATA with its sentence. */
enum fail_code avro_get_fail(int rc, const char *attempted, struct failure *f);

#endif
