/*
 * array.h -- arrays in memory that grow. `array` is the address of the pointer to the items, which
 * are of size_bytes each; FAIL_MEMORY leaves pointer and room as they were.
 */
#ifndef COMMON_BASE_ARRAY_H
#define COMMON_BASE_ARRAY_H

#include <stddef.h>

#include "common/base/failure.h"

/* Makes room for exactly n > 0 items, of which the caller keeps the count. */
enum fail_code array_resize(void *array, size_t n, size_t size_bytes, struct failure *f);

/* Makes *room at least `needed`: twice as much, so that items are copied a few times only. */
enum fail_code array_reserve(
    void *array, size_t *room, size_t needed, size_t size_bytes, struct failure *f);

#endif
