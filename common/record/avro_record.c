#include "common/record/avro_record.h"

#include <assert.h>
#include <avro.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/record/avro_get.h"
#include "common/record/avro_put.h"
#include "common/record/avro_walk.h"

/* A parsed schema and avro-c's way to make values of it. */
struct avro_class {
	avro_schema_t schema;
	avro_value_iface_t *iface;
};

static pthread_mutex_t avro_lock = PTHREAD_MUTEX_INITIALIZER;
static struct avro_class classes[SCHEMAS_COUNT]; /* made at first use, kept for ever */

_Static_assert(sizeof(enum schema_record) == sizeof(int), "enums are as large as int");

static enum fail_code
class_open(struct avro_class *c, const char *text, struct failure *f)
{
	int rc = avro_schema_from_json_length(text, strlen(text), &c->schema);

	if (rc != 0)
		return avro_get_fail(rc, "parsing a schema", f);
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

/* Borrows the class of a record; the lock is held. */
static enum fail_code
class_of(struct avro_class **out, enum schema_record record, struct failure *f)
{
	struct avro_class *c = &classes[record];

	*out = c;
	return c->iface != NULL ? FAIL_NONE : class_open(c, schema_text(record), f);
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
		return avro_get_fail(rc, "measuring", f);
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
		return avro_get_fail(rc, "encoding", f);
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
	enum fail_code code = class_of(&c, record, f);
	int rc;

	if (code != FAIL_NONE)
		return code;
	rc = avro_generic_value_new(c->iface, &value);
	if (rc != 0)
		return avro_get_fail(rc, "making a record", f);
	rc = avro_put_record(t, from, &value);
	code =
	    rc == 0 ? write_value(record, &value, bytes, n, f) : avro_get_fail(rc, "encoding", f);
	avro_value_decref(&value);
	return code;
}

enum fail_code
avro_record_encode(enum schema_record record, const struct avro_table *t, const void *from,
    uint8_t **bytes, size_t *n, struct failure *f)
{
	enum fail_code code;

	pthread_mutex_lock(&avro_lock);
	code = encode_locked(record, t, from, bytes, n, f);
	pthread_mutex_unlock(&avro_lock);
	if (code != FAIL_NONE)
		return fail_within(f, "record of kind %s", schema_name[record]);
	return FAIL_NONE;
}

/* The lock is held; *out is zeroed. */
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
		return avro_get_fail(rc, "making a record", f);
	reader = avro_reader_memory((const char *)body, (int64_t)n);
	if (reader == NULL) {
		avro_value_decref(&value);
		return fail_memory(f);
	}
	rc = avro_value_read(reader, &value);
	code = rc == 0 ? avro_get_record(t, &value, out, f) : avro_get_fail(rc, "decoding", f);
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

	memset(out, 0, t->size_bytes);
	code = schema_expect(record, bytes, n, f);
	if (code != FAIL_NONE)
		return code;
	pthread_mutex_lock(&avro_lock);
	code = class_of(&c, record, f);
	if (code == FAIL_NONE)
		code = decode_body(
		    c, t, out, bytes + SCHEMA_ENVELOPE_BYTES, n - SCHEMA_ENVELOPE_BYTES, f);
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
