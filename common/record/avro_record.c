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
#include "common/record/wire.h"

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
	avro_value_iface_t *iface; /* NULL: nothing was written with it yet */
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
	avro_schema_t schema;
	int rc = avro_schema_from_json_length(text, strlen(text), &schema);

	if (rc != 0)
		return fail_avro(rc, "parsing a schema", f);
	*c = (struct avro_class){.text = text, .schema = schema};
	return FAIL_NONE;
}

/* Borrows the class of one of our schemas, by its text; the lock is held. */
static enum fail_code
class_of(struct avro_class **out, const char *text, struct failure *f)
{
	struct avro_class *c = classes, *end = classes + sizeof(classes) / sizeof(classes[0]);

	while (c < end && c->schema != NULL && c->text != text)
		c++;
	assert(c < end);
	*out = c;
	return c->schema != NULL ? FAIL_NONE : class_open(c, text, f);
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
	if (c->iface == NULL)
		c->iface = avro_generic_class_from_schema(c->schema);
	if (c->iface == NULL)
		return fail_memory(f);
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

/*
 * ---- bytes into a struct ----
 *
 * avro_walk() has been over the bytes: each length and count fits, and no number is out of range of
 * its type. What is left to check is what the table demands: types, ranges, lengths of lists.
 */

static enum fail_code read_record(struct wire_reader *r, avro_schema_t schema,
    const struct avro_table *t, void *to, struct failure *f);

static enum fail_code
read_text(struct wire_reader *r, void *at, struct failure *f)
{
	struct text_view text = wire_text(r);
	char *copy;

	if (text.n > 0 && memchr(text.bytes, '\0', text.n) != NULL)
		return fail(f, FAIL_DATA, "a string with a NUL byte in it");
	copy = malloc(text.n + 1);
	if (copy == NULL)
		return fail_memory(f);
	if (text.n > 0)
		memcpy(copy, text.bytes, text.n);
	copy[text.n] = '\0';
	*(char **)at = copy;
	return FAIL_NONE;
}

/* Room for `more` items behind the `n` that there are; the struct has them at once. */
static enum fail_code
add_items(const struct avro_field *field, void *to, size_t n, size_t more, struct failure *f)
{
	size_t size_bytes = field->items->size_bytes;
	char *items;

	if (more > field->items_max - n)
		return fail(
		    f, FAIL_DATA, "%zu items are more than %zu", n + more, field->items_max);
	memcpy(&items, (char *)to + field->at, sizeof(items));
	items = realloc(items, (n + more) * size_bytes);
	if (items == NULL)
		return fail_memory(f);
	memset(items + n * size_bytes, 0, more * size_bytes);
	n += more;
	memcpy((char *)to + field->at, &items, sizeof(items));
	memcpy((char *)to + field->count_at, &n, sizeof(n));
	return FAIL_NONE;
}

static enum fail_code
read_list(struct wire_reader *r, avro_schema_t schema, const struct avro_field *field, void *to,
    struct failure *f)
{
	avro_schema_t item = avro_schema_array_items(schema);
	size_t n = 0, more;
	char *items;

	while ((more = wire_block(r)) > 0) {
		if (add_items(field, to, n, more, f) != FAIL_NONE)
			return f->code;
		memcpy(&items, (char *)to + field->at, sizeof(items));
		for (; more > 0; more--, n++)
			if (read_record(r, item, field->items, items + n * field->items->size_bytes,
				f) != FAIL_NONE)
				return fail_within(f, "item %zu", n);
	}
	return FAIL_NONE;
}

/* The schema type that a row needs; a schema of another record may have another. */
static avro_type_t
type_of(enum avro_field_kind kind)
{
	switch (kind) {
	case AVRO_FIELD_LONG:
	case AVRO_FIELD_BITS: return AVRO_INT64;
	case AVRO_FIELD_HASH: return AVRO_FIXED;
	case AVRO_FIELD_INT: return AVRO_INT32;
	case AVRO_FIELD_ENUM: return AVRO_ENUM;
	case AVRO_FIELD_DOUBLE:
	case AVRO_FIELD_ANY: return AVRO_DOUBLE;
	case AVRO_FIELD_BOOLEAN: return AVRO_BOOLEAN;
	case AVRO_FIELD_TEXT: return AVRO_STRING;
	case AVRO_FIELD_LIST: return AVRO_ARRAY;
	}
	abort(); /* no other kind is in a table */
}

/* Numbers; returns whether the row allows it. */
static bool
read_number(struct wire_reader *r, const struct avro_field *field, void *at)
{
	int64_t number;
	int32_t small;
	uint64_t hash;
	double real;

	switch (field->kind) {
	case AVRO_FIELD_LONG:
	case AVRO_FIELD_BITS:
		number = wire_long(r);
		memcpy(at, &number, sizeof(number));
		return field->kind == AVRO_FIELD_BITS || number >= field->min;
	case AVRO_FIELD_INT:
	case AVRO_FIELD_ENUM: /* the walk has checked that there is such a symbol */
		small = (int32_t)wire_long(r);
		memcpy(at, &small, sizeof(small));
		return field->kind == AVRO_FIELD_ENUM || small >= field->min;
	case AVRO_FIELD_DOUBLE:
	case AVRO_FIELD_ANY:
		real = wire_double(r);
		memcpy(at, &real, sizeof(real));
		return field->kind == AVRO_FIELD_ANY || isfinite(real);
	case AVRO_FIELD_BOOLEAN: *(bool *)at = wire_boolean(r); return true;
	case AVRO_FIELD_HASH:
		hash = wire_hash(r);
		memcpy(at, &hash, sizeof(hash));
		return true;
	case AVRO_FIELD_TEXT:
	case AVRO_FIELD_LIST: break;
	}
	abort(); /* no number */
}

static enum fail_code
read_field(struct wire_reader *r, avro_schema_t schema, const struct avro_field *field, void *to,
    struct failure *f)
{
	void *at = (char *)to + field->at;

	if (is_avro_link(schema)) /* a type that was named before */
		schema = avro_schema_link_target(schema);
	if (avro_typeof(schema) != type_of(field->kind) ||
	    (field->kind == AVRO_FIELD_HASH && avro_schema_fixed_size(schema) != HASH_BYTES))
		return fail(f, FAIL_DATA, "of another type than was expected");
	if (field->kind == AVRO_FIELD_LIST)
		return read_list(r, schema, field, to, f);
	if (field->kind == AVRO_FIELD_TEXT)
		return read_text(r, at, f);
	if (!read_number(r, field, at))
		return fail(f, FAIL_DATA, "a number out of range");
	return FAIL_NONE;
}

/*
 * The row of a name. Rows mostly stand in the schema's order: the one behind the last that was
 * found is tried first.
 */
static const struct avro_field *
row_of(const struct avro_table *t, const char *name, size_t *next)
{
	for (size_t i = 0; i < t->fields_n; i++) {
		size_t at = (*next + i) % t->fields_n;

		if (strcmp(t->field[at].name, name) != 0)
			continue;
		*next = at + 1;
		return &t->field[at];
	}
	return NULL;
}

/*
 * Fills a zeroed struct; after a failure the caller clears it. A field that the schema does not
 * have, because it is an earlier one, keeps zero, or its default; one that the table does not have
 * is passed over.
 */
static enum fail_code
read_record(struct wire_reader *r, avro_schema_t schema, const struct avro_table *t, void *to,
    struct failure *f)
{
	size_t fields, next = 0;

	if (t->field[0].name == NULL)
		return read_field(r, schema, &t->field[0], to, f);
	if (is_avro_link(schema))
		schema = avro_schema_link_target(schema);
	if (avro_typeof(schema) != AVRO_RECORD)
		return fail(f, FAIL_DATA, "of another type than was expected");
	for (size_t i = 0; i < t->fields_n; i++)
		if (t->field[i].kind == AVRO_FIELD_DOUBLE || t->field[i].kind == AVRO_FIELD_ANY)
			memcpy((char *)to + t->field[i].at, &t->field[i].default_value,
			    sizeof(t->field[i].default_value));
	fields = avro_schema_record_size(schema);
	for (int i = 0; i < (int)fields; i++) {
		avro_schema_t of = avro_schema_record_field_get_by_index(schema, i);
		const char *name = avro_schema_record_field_name(schema, i);
		const struct avro_field *row = row_of(t, name, &next);

		if ((row == NULL ? avro_walk_over(r, of, f) : read_field(r, of, row, to, f)) !=
		    FAIL_NONE)
			return fail_within(f, "%s", name);
	}
	return FAIL_NONE;
}

/* The lock is held; *out is zeroed. After a failure it is zeroed again. */
static enum fail_code
decode_body(avro_schema_t schema, const struct avro_table *t, void *out, const uint8_t *body,
    size_t n, struct failure *f)
{
	struct wire_reader r;
	enum fail_code code = avro_walk(schema, body, n, f);

	if (code != FAIL_NONE)
		return code;
	wire_reader_init(&r, body, n);
	code = read_record(&r, schema, t, out, f);
	assert(code != FAIL_NONE || (r.bad == NULL && r.at == r.end));
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
		code = decode_body(c->schema, t, out, bytes, n, f);
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
		code = decode_body(c.schema, t, out, body, n, f);
		avro_schema_decref(c.schema);
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
