#include "common/record/avro_get.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { HASH_BYTES = 8 };

enum fail_code
avro_get_fail(int rc, const char *attempted, struct failure *f)
{
	assert(rc != 0);
	if (rc == ENOMEM)
		return fail_memory(f);
	return fail(f, FAIL_DATA, "%s: %s", attempted, avro_strerror());
}

static enum fail_code
get_text(const avro_value_t *from, void *at, struct failure *f)
{
	const char *text = NULL;
	size_t size_bytes = 0;
	char *copy;
	int rc = avro_value_get_string(from, &text, &size_bytes);

	if (rc != 0)
		return avro_get_fail(rc, "reading a string", f);
	if (memchr(text, '\0', size_bytes) != text + size_bytes - 1)
		return fail(f, FAIL_DATA, "a string with a NUL byte in it");
	copy = strdup(text);
	if (copy == NULL)
		return fail_memory(f);
	*(char **)at = copy;
	return FAIL_NONE;
}

static enum fail_code
get_list(const struct avro_field *field, const avro_value_t *from, void *to, struct failure *f)
{
	char *items;
	size_t n = 0;
	int rc = avro_value_get_size(from, &n);

	if (rc != 0)
		return avro_get_fail(rc, "counting items", f);
	if (n > field->items_max)
		return fail(f, FAIL_DATA, "%zu items are more than %zu", n, field->items_max);
	if (n == 0)
		return FAIL_NONE;
	items = calloc(n, field->items->size_bytes);
	if (items == NULL)
		return fail_memory(f);
	memcpy((char *)to + field->at, &items, sizeof(items));
	memcpy((char *)to + field->count_at, &n, sizeof(n));
	for (size_t i = 0; i < n; i++) {
		avro_value_t item;

		rc = avro_value_get_by_index(from, i, &item, NULL);
		if (rc != 0)
			return avro_get_fail(rc, "reading an item", f);
		if (avro_get_record(field->items, &item, items + i * field->items->size_bytes, f) !=
		    FAIL_NONE)
			return fail_within(f, "item %zu", i);
	}
	return FAIL_NONE;
}

static int
get_hash(const avro_value_t *from, void *at)
{
	const void *bytes = NULL;
	size_t size_bytes = 0;
	uint64_t hash = 0;
	int rc = avro_value_get_fixed(from, &bytes, &size_bytes);

	if (rc != 0 || size_bytes != HASH_BYTES)
		return rc != 0 ? rc : EINVAL;
	for (unsigned i = 0; i < HASH_BYTES; i++)
		hash |= (uint64_t)((const uint8_t *)bytes)[i] << (8 * i);
	memcpy(at, &hash, sizeof(hash));
	return 0;
}

/* Numbers; *in_range says whether the row allows it. */
static int
get_number(const struct avro_field *field, const avro_value_t *from, void *at, bool *in_range)
{
	int64_t number = 0;
	int32_t small = 0;
	double real = 0;
	int flag = 0, rc = EINVAL;

	if (field->kind == AVRO_FIELD_LONG || field->kind == AVRO_FIELD_BITS) {
		rc = avro_value_get_long(from, &number);
		*in_range = field->kind == AVRO_FIELD_BITS || number >= field->min;
		memcpy(at, &number, sizeof(number));
	} else if (field->kind == AVRO_FIELD_INT) {
		rc = avro_value_get_int(from, &small);
		*in_range = small >= field->min;
		memcpy(at, &small, sizeof(small));
	} else if (field->kind == AVRO_FIELD_ENUM) {
		rc = avro_value_get_enum(from, &small); /* the walk has checked it */
		memcpy(at, &small, sizeof(small));
	} else if (field->kind == AVRO_FIELD_DOUBLE || field->kind == AVRO_FIELD_ANY) {
		rc = avro_value_get_double(from, &real);
		*in_range = field->kind == AVRO_FIELD_ANY || isfinite(real);
		memcpy(at, &real, sizeof(real));
	} else if (field->kind == AVRO_FIELD_BOOLEAN) {
		rc = avro_value_get_boolean(from, &flag);
		*(bool *)at = flag != 0;
	} else if (field->kind == AVRO_FIELD_HASH) {
		rc = get_hash(from, at);
	}
	return rc;
}

static enum fail_code
get_field(const struct avro_field *field, const avro_value_t *from, void *to, struct failure *f)
{
	void *at = (char *)to + field->at;
	bool in_range = true;
	int rc;

	if (field->kind == AVRO_FIELD_LIST)
		return get_list(field, from, to, f);
	if (field->kind == AVRO_FIELD_TEXT)
		return get_text(from, at, f);
	rc = get_number(field, from, at, &in_range);
	if (rc != 0)
		return avro_get_fail(rc, "reading a number", f);
	if (!in_range)
		return fail(f, FAIL_DATA, "a number out of range");
	return FAIL_NONE;
}

enum fail_code
avro_get_record(const struct avro_table *t, const avro_value_t *from, void *to, struct failure *f)
{
	for (size_t i = 0; i < t->fields_n; i++) {
		const struct avro_field *field = &t->field[i];
		avro_value_t value = *from;

		if (field->name == NULL) {
			if (get_field(field, &value, to, f) != FAIL_NONE)
				return f->code;
		} else if (avro_value_get_by_name(from, field->name, &value, NULL) == 0) {
			if (get_field(field, &value, to, f) != FAIL_NONE)
				return fail_within(f, "%s", field->name);
		} else if (field->kind == AVRO_FIELD_DOUBLE || field->kind == AVRO_FIELD_ANY) {
			memcpy((char *)to + field->at, &field->preset, sizeof(field->preset));
		}
	}
	return FAIL_NONE;
}
