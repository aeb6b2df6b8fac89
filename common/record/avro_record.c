#include "common/record/avro_record.h"

#include <assert.h>
#include <avro.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/record/avro_walk.h"

enum { HASH_BYTES = 8 };

/* What avro-c returned as ours: FAIL_MEMORY, or FAIL_DATA with its sentence. */
static enum fail_code
fail_avro(int rc, const char *attempted, struct failure *f)
{
	assert(rc != 0);
	if (rc == ENOMEM)
		return fail_memory(f);
	return fail(f, FAIL_DATA, "%s: %s", attempted, avro_strerror());
}

/* ---- schemas, parsed once ---- */

/* A parsed schema and avro-c's way to make values of it. */
struct avro_class {
	const char *text; /* of its schema: schema.h keeps one a schema */
	avro_schema_t schema;
	avro_value_iface_t *iface;
};

/*
 * avro-c keeps its last error, and in some builds its reference counts, unprotected: one thread at
 * a time is inside it.
 */
static pthread_mutex_t avro_lock = PTHREAD_MUTEX_INITIALIZER;
static struct avro_class
    classes[SCHEMAS_COUNT + SCHEMAS_EARLIER]; /* parsed at first use, kept for ever */

_Static_assert(sizeof(enum schema_record) == sizeof(int), "enums are as large as int");

static enum fail_code
class_open(struct avro_class *c, const char *text, struct failure *f)
{
	int rc = avro_schema_from_json_length(text, strlen(text), &c->schema);

	if (rc != 0)
		return fail_avro(rc, "parsing a schema", f);
	c->iface = avro_generic_class_from_schema(c->schema);
	if (c->iface == NULL) {
		avro_schema_decref(c->schema);
		*c = (struct avro_class){0};
		return fail_memory(f);
	}
	return FAIL_NONE;
}

static void
class_close(struct avro_class *c)
{
	avro_value_iface_decref(c->iface);
	avro_schema_decref(c->schema);
}

/* Borrows the class of one of our schemas, by its text; the lock is held. */
static enum fail_code
class_of(struct avro_class **out, const char *text, struct failure *f)
{
	struct avro_class *c = classes, *end = classes + sizeof(classes) / sizeof(classes[0]);

	while (c < end && c->iface != NULL && c->text != text)
		c++;
	assert(c < end);
	*out = c;
	if (c->iface != NULL)
		return FAIL_NONE;
	c->text = text;
	return class_open(c, text, f);
}

/* ---- a struct into a value of avro-c, and into bytes ---- */

static int put_record(const struct avro_table *t, const void *from, avro_value_t *to);

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
			rc = put_record(field->items, items + i * field->items->size_bytes, &item);
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

/*
 * Fills a new value; returns avro-c's codes: 0, ENOMEM, or another one with avro_strerror(), to
 * which each level puts its field in front.
 */
static int
put_record(const struct avro_table *t, const void *from, avro_value_t *to)
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

/* Writes the envelope and the value into memory of exactly their size. */
static enum fail_code
write_value(
    enum schema_record record, avro_value_t *value, uint8_t **bytes, size_t *n, struct failure *f)
{
	size_t body = 0;
	avro_writer_t writer;
	uint8_t *room;
	int rc = avro_value_sizeof(value, &body);

	if (rc != 0)
		return fail_avro(rc, "measuring", f);
	room = malloc(SCHEMA_ENVELOPE_BYTES + body);
	if (room == NULL)
		return fail_memory(f);
	schema_put_envelope(room, record);
	writer = avro_writer_memory((char *)room + SCHEMA_ENVELOPE_BYTES, (int64_t)body);
	if (writer == NULL) {
		free(room);
		return fail_memory(f);
	}
	rc = avro_value_write(writer, value);
	assert(rc != 0 || avro_writer_tell(writer) == (int64_t)body);
	avro_writer_free(writer);
	if (rc != 0) {
		free(room);
		return fail_avro(rc, "encoding", f);
	}
	*bytes = room;
	*n = SCHEMA_ENVELOPE_BYTES + body;
	return FAIL_NONE;
}

static enum fail_code
encode_locked(enum schema_record record, const struct avro_table *t, const void *from,
    uint8_t **bytes, size_t *n, struct failure *f)
{
	struct avro_class *c;
	avro_value_t value;
	enum fail_code code = class_of(&c, schema_text(record), f);
	int rc;

	if (code != FAIL_NONE)
		return code;
	rc = avro_generic_value_new(c->iface, &value);
	if (rc != 0)
		return fail_avro(rc, "making a record", f);
	rc = put_record(t, from, &value);
	code = rc == 0 ? write_value(record, &value, bytes, n, f) : fail_avro(rc, "encoding", f);
	avro_value_decref(&value);
	return code;
}

enum fail_code
avro_record_encode(enum schema_record record, const struct avro_table *t, const void *from,
    uint8_t **bytes, size_t *n, struct failure *f)
{
	enum fail_code code;

	assert(t->fields_n > 0);
	assert(from != NULL);
	pthread_mutex_lock(&avro_lock);
	code = encode_locked(record, t, from, bytes, n, f);
	pthread_mutex_unlock(&avro_lock);
	if (code != FAIL_NONE)
		return fail_within(f, "record of kind %s", schema_name[record]);
	return FAIL_NONE;
}

/* ---- bytes into a value of avro-c, and into a struct ---- */

static enum fail_code get_record(
    const struct avro_table *t, const avro_value_t *from, void *to, struct failure *f);

static enum fail_code
get_text(const avro_value_t *from, void *at, struct failure *f)
{
	const char *text = NULL;
	size_t size_bytes = 0;
	char *copy;
	int rc = avro_value_get_string(from, &text, &size_bytes);

	if (rc != 0)
		return fail_avro(rc, "reading a string", f);
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
		return fail_avro(rc, "counting items", f);
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
			return fail_avro(rc, "reading an item", f);
		if (get_record(field->items, &item, items + i * field->items->size_bytes, f) !=
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
		return fail_avro(rc, "reading a number", f);
	if (!in_range)
		return fail(f, FAIL_DATA, "a number out of range");
	return FAIL_NONE;
}

/*
 * Fills a zeroed struct; after a failure the caller clears it. A field that the value does not
 * have, because an earlier schema wrote it, keeps zero, or its default.
 */
static enum fail_code
get_record(const struct avro_table *t, const avro_value_t *from, void *to, struct failure *f)
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
			memcpy((char *)to + field->at, &field->default_value,
			    sizeof(field->default_value));
		}
	}
	return FAIL_NONE;
}

/* The lock is held; *out is zeroed. After a failure it is zeroed again. */
static enum fail_code
decode_body(const struct avro_class *c, const struct avro_table *t, void *out, const uint8_t *body,
    size_t n, struct failure *f)
{
	avro_value_t value;
	avro_reader_t reader;
	enum fail_code code = avro_walk(c->schema, body, n, f);
	int rc;

	if (code != FAIL_NONE)
		return code;
	rc = avro_generic_value_new(c->iface, &value);
	if (rc != 0)
		return fail_avro(rc, "making a record", f);
	reader = avro_reader_memory((const char *)body, (int64_t)n);
	if (reader == NULL) {
		avro_value_decref(&value);
		return fail_memory(f);
	}
	rc = avro_value_read(reader, &value);
	code = rc == 0 ? get_record(t, &value, out, f) : fail_avro(rc, "decoding", f);
	avro_reader_free(reader);
	avro_value_decref(&value);
	if (code != FAIL_NONE)
		avro_record_clear(t, out);
	return code;
}

enum fail_code
avro_record_decode(enum schema_record record, const struct avro_table *t, void *out,
    const uint8_t *bytes, size_t n, struct failure *f)
{
	struct avro_class *c;
	enum fail_code code;
	const char *text;

	assert(t->fields_n > 0);
	memset(out, 0, t->size_bytes);
	code = schema_written_with(&text, record, bytes, n, f);
	if (code != FAIL_NONE)
		return code;
	bytes += SCHEMA_ENVELOPE_BYTES;
	n -= SCHEMA_ENVELOPE_BYTES;
	pthread_mutex_lock(&avro_lock);
	code = class_of(&c, text, f);
	if (code == FAIL_NONE)
		code = decode_body(c, t, out, bytes, n, f);
	pthread_mutex_unlock(&avro_lock);
	if (code != FAIL_NONE)
		return fail_within(f, "record of kind %s", schema_name[record]);
	return FAIL_NONE;
}

enum fail_code
avro_record_decode_with(const char *schema, const struct avro_table *t, void *out,
    const uint8_t *body, size_t n, struct failure *f)
{
	struct avro_class c = {0};
	enum fail_code code;

	assert(schema != NULL);
	assert(t->fields_n > 0);
	memset(out, 0, t->size_bytes);
	pthread_mutex_lock(&avro_lock);
	code = class_open(&c, schema, f);
	if (code == FAIL_NONE) {
		code = decode_body(&c, t, out, body, n, f);
		class_close(&c);
	}
	pthread_mutex_unlock(&avro_lock);
	return code;
}

static void
clear_list(const struct avro_field *field, void *record)
{
	char *items;
	size_t n;

	memcpy(&items, (char *)record + field->at, sizeof(items));
	memcpy(&n, (char *)record + field->count_at, sizeof(n));
	for (size_t i = 0; i < n; i++)
		avro_record_clear(field->items, items + i * field->items->size_bytes);
	free(items);
}

void
avro_record_clear(const struct avro_table *t, void *record)
{
	for (size_t i = 0; i < t->fields_n; i++) {
		const struct avro_field *field = &t->field[i];
		char *text;

		if (field->kind == AVRO_FIELD_LIST)
			clear_list(field, record);
		if (field->kind == AVRO_FIELD_TEXT) {
			memcpy(&text, (char *)record + field->at, sizeof(text));
			free(text);
		}
	}
	memset(record, 0, t->size_bytes);
}
