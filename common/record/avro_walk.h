/*
 * avro_walk.h -- checks that bytes are one value of a schema, before anything is made of them.
 *
 * The walk visits every length, count and index with a bounded reader and allocates nothing: a
 * claimed length costs no memory, a huge count of items without bytes no time. avro-c 1.11 trusts
 * what it reads, and so it is asked for schemas and to write, not to read.
 */
#ifndef COMMON_RECORD_AVRO_WALK_H
#define COMMON_RECORD_AVRO_WALK_H

#include <avro.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/record/wire.h"

enum {
	AVRO_WALK_ITEMS_MAX = 1 << 20, /* items of all arrays and maps of a value */
	AVRO_WALK_DEPTH_MAX = 32,      /* of records, arrays, maps and unions in one another */
};

/*
 * FAIL_NONE where `bytes` hold a value of `schema` and nothing after it. FAIL_DATA says where and
 * why not: "domains: item 3: name: a negative length at byte 45".
 */
enum fail_code avro_walk(avro_schema_t schema, const uint8_t *bytes, size_t n, struct failure *f);

/*
 * Walks the next value of `r`, and leaves `r` behind it; what follows is not looked at. The limits
 * count from this value on. After FAIL_DATA `r` is of no use.
 */
enum fail_code avro_walk_over(struct wire_reader *r, avro_schema_t schema, struct failure *f);

#endif
