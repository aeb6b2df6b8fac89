/*
 * avro_walk.h -- checks that bytes are one value of a schema, before avro-c reads them.
 *
 * avro-c 1.11 trusts what it reads: it allocates by the claimed length, spins over huge counts of
 * items without bytes, and leaks where a string is truncated. This walk visits every length, count
 * and index with a bounded reader and allocates nothing.
 */
#ifndef COMMON_RECORD_AVRO_WALK_H
#define COMMON_RECORD_AVRO_WALK_H

#include <avro.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"

enum {
	AVRO_WALK_ITEMS_MAX = 1 << 20, /* items of all arrays and maps of a value */
	AVRO_WALK_DEPTH_MAX = 32,      /* of records, arrays, maps and unions in one another */
};

/*
 * FAIL_NONE where `bytes` hold a value of `schema` and nothing after it. FAIL_DATA says where and
 * why not: "domains: item 3: name: a negative length at byte 45".
 */
enum fail_code avro_walk(avro_schema_t schema, const uint8_t *bytes, size_t n, struct failure *f);

#endif
