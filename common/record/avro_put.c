#include "common/record/avro_put.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { HASH_BYTES = 8 };

static int
put_hash(avro_value_t *to, const void *at)
{
	uint8_t bytes[HASH_BYTES];
	uint64_t hash;

	memcpy(&hash, at, sizeof(hash));
	for (unsigned i = 0; i < HASH_BYTES; i++)
		bytes[i] = (uint8_t)(hash >> (8 * i));
	return avro_value_set_fixed(to, bytes, sizeof(bytes));
}

static int
put_list(const struct avro_field *field, const void *from, avro_value_t *to)
{
	const char *items;
	size_t n;

	memcpy(&items, (const char *)from + field->at, sizeof(items));
	memcpy(&n, (const char *)from + field->count_at, sizeof(n));
	if (n > field->items_max) {
		avro_set_error("%zu items are more than %zu", n, field->items_max);
		return EINVAL;
	}
	for (size_t i = 0; i < n; i++) {
		avro_value_t item;
		int rc = avro_value_append(to, &item, NULL);

		if (rc == 0)
			rc = avro_put_record(
			    field->items, items + i * field->items->size_bytes, &item);
		if (rc != 0)
			return rc;
	}
	return 0;
}

static int
put_plain(const struct avro_field *field, const void *at, avro_value_t *to)
{
	const char *text;
	int64_t number;
	int32_t small;
	double real;

	switch (field->kind) {
	case AVRO_FIELD_LONG:
	case AVRO_FIELD_BITS:
		memcpy(&number, at, sizeof(number));
		assert(field->kind == AVRO_FIELD_BITS || number >= field->min);
		return avro_value_set_long(to, number);
	case AVRO_FIELD_INT:
		memcpy(&small, at, sizeof(small));
		assert(small >= field->min);
		return avro_value_set_int(to, small);
	case AVRO_FIELD_ENUM:
		memcpy(&small, at, sizeof(small));
		return avro_value_set_enum(to, small);
	case AVRO_FIELD_DOUBLE:
	case AVRO_FIELD_ANY:
		memcpy(&real, at, sizeof(real));
		assert(field->kind == AVRO_FIELD_ANY || isfinite(real));
		return avro_value_set_double(to, real);
	case AVRO_FIELD_BOOLEAN: return avro_value_set_boolean(to, *(const bool *)at);
	case AVRO_FIELD_TEXT:
		memcpy(&text, at, sizeof(text));
		return avro_value_set_string(to, text == NULL ? "" : text);
	case AVRO_FIELD_HASH: return put_hash(to, at);
	case AVRO_FIELD_LIST: break;
	}
	abort(); /* unreachable: a list is no plain field */
}

int
avro_put_record(const struct avro_table *t, const void *from, avro_value_t *to)
{
	for (size_t i = 0; i < t->fields_n; i++) {
		const struct avro_field *field = &t->field[i];
		avro_value_t value = *to;
		int rc = 0;

		if (field->name != NULL)
			rc = avro_value_get_by_name(to, field->name, &value, NULL);
		if (rc == 0)
			rc = field->kind == AVRO_FIELD_LIST
				 ? put_list(field, from, &value)
				 : put_plain(field, (const char *)from + field->at, &value);
		if (rc != 0) {
			if (field->name != NULL)
				avro_prefix_error("%s: ", field->name);
			return rc;
		}
	}
	return 0;
}
