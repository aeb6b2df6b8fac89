/*
 * avro_compare.h -- where two C structs of one table of avro_record.h differ first.
 */
#ifndef COMMON_RECORD_AVRO_COMPARE_H
#define COMMON_RECORD_AVRO_COMPARE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/record/avro_record.h"

enum { AVRO_PATH_MAX = 120, AVRO_SHOWN_MAX = 80 };

struct avro_difference {
	char path[AVRO_PATH_MAX];                  /* "domains[1].partitions[0].taken" */
	char a[AVRO_SHOWN_MAX], b[AVRO_SHOWN_MAX]; /* the values; of lists the numbers of items */
};

/*
 * False: they are equal but for the fields of the outermost record that `except` names (ends with
 * NULL). NULL and "" are one text; doubles are compared by their bits.
 */
bool avro_compare(const struct avro_table *t, const void *a, const void *b,
    const char *const *except, struct avro_difference *out);

#endif
