/*
 * avro_record.h -- cold records: a C struct and an Avro record, tied together by a table.
 *
 * A table has a row for every field: its name in the schema, its kind, where it lies in the struct.
 * Encoding, decoding and freeing are loops over the table. Fields are found by name, so that a body
 * written with an earlier schema can be read: what it lacks keeps the row's default.
 *
 *     static const struct avro_field run_fields[] = {
 *         AVRO_PLAIN(TEXT, run, name),
 *         AVRO_LONG(run, step, 0),
 *     };
 *     static const struct avro_table run_table = AVRO_TABLE(run_fields, struct run);
 *
 * Thread: any; avro-c is entered by one at a time (its builds differ in what they protect). A
 * failed allocation of ours is FAIL_MEMORY; avro-c 1.11, which parses the schemas and writes the
 * records, does not survive each of its own: one reason more why the hot records, all that a
 * trainer needs, do without it.
 */
#ifndef COMMON_RECORD_AVRO_RECORD_H
#define COMMON_RECORD_AVRO_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/record/schema.h"

enum avro_field_kind {
	AVRO_FIELD_LONG,    /* int64_t >= min <-> long */
	AVRO_FIELD_BITS,    /* uint64_t <-> long of the same bits */
	AVRO_FIELD_HASH,    /* uint64_t <-> fixed of 8 bytes, little-endian */
	AVRO_FIELD_INT,     /* int32_t >= min, or uint32_t up to INT32_MAX (min 0) <-> int */
	AVRO_FIELD_ENUM,    /* an enum whose constants are the symbols, in order <-> enum */
	AVRO_FIELD_DOUBLE,  /* a finite double <-> double */
	AVRO_FIELD_ANY,     /* a double, finite or not <-> double */
	AVRO_FIELD_BOOLEAN, /* bool <-> boolean */
	AVRO_FIELD_TEXT,    /* char *, owned, NULL reads as ""; no NUL inside <-> string */
	AVRO_FIELD_LIST,    /* owned pointer and size_t count <-> array */
};

struct avro_table;

struct avro_field {
	const char *name; /* NULL: the value itself, the one row of a list of plain values */
	enum avro_field_kind kind;
	size_t at;   /* offset in the struct; LIST: of the pointer */
	int64_t min; /* LONG, INT */
	/* DOUBLE, ANY: the value where the schema lacks the field; others: zero, "", no items. */
	double default_value;
	const struct avro_table *items; /* LIST: from here on */
	size_t count_at;
	size_t items_max;
};

struct avro_table {
	const struct avro_field *field;
	size_t fields_n;
	size_t size_bytes; /* of the struct */
};

/* Rows. The struct's tag comes first; but for lists the member has the name of the field. */
#define AVRO_PLAIN(KIND, TAG, MEMBER)                                                              \
	{                                                                                          \
		.name = #MEMBER, .kind = AVRO_FIELD_##KIND, .at = offsetof(struct TAG, MEMBER)     \
	}
#define AVRO_LONG(TAG, MEMBER, MIN)                                                                \
	{                                                                                          \
		.name = #MEMBER, .kind = AVRO_FIELD_LONG, .at = offsetof(struct TAG, MEMBER),      \
		.min = (MIN)                                                                       \
	}
#define AVRO_INT(TAG, MEMBER, MIN)                                                                 \
	{                                                                                          \
		.name = #MEMBER, .kind = AVRO_FIELD_INT, .at = offsetof(struct TAG, MEMBER),       \
		.min = (MIN)                                                                       \
	}
#define AVRO_REAL(TAG, MEMBER, DEFAULT)                                                            \
	{                                                                                          \
		.name = #MEMBER, .kind = AVRO_FIELD_DOUBLE, .at = offsetof(struct TAG, MEMBER),    \
		.default_value = (DEFAULT)                                                         \
	}
#define AVRO_LIST(TAG, NAME, MEMBER, COUNT, ITEMS, MAX)                                            \
	{                                                                                          \
		.name = (NAME), .kind = AVRO_FIELD_LIST, .at = offsetof(struct TAG, MEMBER),       \
		.items = (ITEMS), .count_at = offsetof(struct TAG, COUNT), .items_max = (MAX)      \
	}
#define AVRO_TABLE(FIELDS, TYPE)                                                                   \
	{                                                                                          \
		.field = (FIELDS), .fields_n = sizeof(FIELDS) / sizeof((FIELDS)[0]),               \
		.size_bytes = sizeof(TYPE)                                                         \
	}

/*
 * Gives *bytes (free) with envelope and body. FAIL_DATA: a list is longer than its items_max. That
 * numbers are in range and doubles finite is for the caller to establish.
 */
enum fail_code avro_record_encode(enum schema_record record, const struct avro_table *t,
    const void *from, uint8_t **bytes, size_t *n, struct failure *f);

/*
 * Fills *out, which the caller ends with avro_record_clear(). Walks the bytes before it makes
 * anything of them. FAIL_DATA names the field; *out is then zeroed.
 */
enum fail_code avro_record_decode(enum schema_record record, const struct avro_table *t, void *out,
    const uint8_t *bytes, size_t n, struct failure *f);

/* The same for a body without envelope, written with another schema than today's. */
enum fail_code avro_record_decode_with(const char *schema, const struct avro_table *t, void *out,
    const uint8_t *body, size_t n, struct failure *f);

/* Frees what the struct owns and zeroes it. */
void avro_record_clear(const struct avro_table *t, void *record);

#endif
