/*
 * avro_put.h -- a C struct into a value of avro-c, by a table of avro_record.h.
 */
#ifndef COMMON_RECORD_AVRO_PUT_H
#define COMMON_RECORD_AVRO_PUT_H

#include <avro.h>

#include "common/record/avro_record.h"

/* Fills a new value; returns avro-c's codes: 0, ENOMEM, or another one and avro_strerror(). */
int avro_put_record(const struct avro_table *t, const void *from, avro_value_t *to);

#endif
