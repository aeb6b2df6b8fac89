#include "common/record/avro_compare.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
show_text(char *out, const char *text, size_t from)
{
	snprintf(out, AVRO_SHOWN_MAX, "\"%s%s\"", from == 0 ? "" : "...", text + from);
}

/* Long texts (a configuration) are shown from a little before where they part. */
static bool
texts_differ(const char *a, const char *b, struct avro_difference *out)
{
	enum { BEFORE = 24 };
	size_t same = 0;

	a = a == NULL ? "" : a;
	b = b == NULL ? "" : b;
	if (strcmp(a, b) == 0)
		return false;
	while (a[same] == b[same])
		same++;
	same = same > BEFORE ? same - BEFORE : 0;
	show_text(out->a, a, same);
	show_text(out->b, b, same);
	return true;
}

/* The value at `at` as text. */
static void
show(char *out, const struct avro_field *field, const void *at)
{
	uint64_t hash;
	int64_t number;
	int32_t small;
	double real;

	switch (field->kind) {
	case AVRO_FIELD_LONG:
	case AVRO_FIELD_BITS:
		memcpy(&number, at, sizeof(number));
		snprintf(out, AVRO_SHOWN_MAX, "%" PRId64, number);
		return;
	case AVRO_FIELD_HASH:
		memcpy(&hash, at, sizeof(hash));
		snprintf(out, AVRO_SHOWN_MAX, "%016" PRIx64, hash);
		return;
	case AVRO_FIELD_INT:
	case AVRO_FIELD_ENUM:
		memcpy(&small, at, sizeof(small));
		snprintf(out, AVRO_SHOWN_MAX, "%" PRId32, small);
		return;
	case AVRO_FIELD_DOUBLE:
	case AVRO_FIELD_ANY:
		memcpy(&real, at, sizeof(real));
		snprintf(out, AVRO_SHOWN_MAX, "%.17g", real);
		return;
	case AVRO_FIELD_BOOLEAN:
		snprintf(out, AVRO_SHOWN_MAX, "%s", *(const bool *)at ? "true" : "false");
		return;
	case AVRO_FIELD_TEXT:
	case AVRO_FIELD_LIST: break;
	}
	abort(); /* unreachable: those are compared elsewhere */
}

static size_t
width(enum avro_field_kind kind)
{
	switch (kind) {
	case AVRO_FIELD_LONG:
	case AVRO_FIELD_BITS:
	case AVRO_FIELD_HASH: return sizeof(uint64_t);
	case AVRO_FIELD_INT:
	case AVRO_FIELD_ENUM: return sizeof(int32_t);
	case AVRO_FIELD_DOUBLE:
	case AVRO_FIELD_ANY: return sizeof(double);
	case AVRO_FIELD_BOOLEAN: return sizeof(bool);
	case AVRO_FIELD_TEXT:
	case AVRO_FIELD_LIST: break;
	}
	abort(); /* unreachable */
}

static bool
plain_differ(
    const struct avro_field *field, const char *a, const char *b, struct avro_difference *out)
{
	const char *text_a, *text_b;

	if (field->kind == AVRO_FIELD_TEXT) {
		memcpy(&text_a, a, sizeof(text_a));
		memcpy(&text_b, b, sizeof(text_b));
		return texts_differ(text_a, text_b, out);
	}
	if (memcmp(a, b, width(field->kind)) == 0)
		return false;
	show(out->a, field, a);
	show(out->b, field, b);
	return true;
}

/* Puts what stands in front of a path there; cuts what is too long. */
static void
prefix(struct avro_difference *out, const char *name, const char *index)
{
	char whole[2 * AVRO_PATH_MAX];

	snprintf(whole, sizeof(whole), "%s%s%s%s", name, index, out->path[0] == '\0' ? "" : ".",
	    out->path);
	snprintf(out->path, sizeof(out->path), "%.*s", AVRO_PATH_MAX - 1, whole);
}

static bool fields_differ(const struct avro_table *t, const char *a, const char *b,
    const char *const *except, struct avro_difference *out);

static bool
lists_differ(
    const struct avro_field *field, const char *a, const char *b, struct avro_difference *out)
{
	const char *items_a, *items_b;
	size_t n_a, n_b, size = field->items->size_bytes;
	char index[24];

	assert(field->name != NULL); /* a list of lists is not in the tables */
	memcpy(&items_a, a + field->at, sizeof(items_a));
	memcpy(&items_b, b + field->at, sizeof(items_b));
	memcpy(&n_a, a + field->count_at, sizeof(n_a));
	memcpy(&n_b, b + field->count_at, sizeof(n_b));
	for (size_t i = 0; i < n_a && i < n_b; i++)
		if (fields_differ(
			field->items, items_a + i * size, items_b + i * size, NULL, out)) {
			snprintf(index, sizeof(index), "[%zu]", i);
			prefix(out, field->name, index);
			return true;
		}
	if (n_a == n_b)
		return false;
	snprintf(out->a, sizeof(out->a), "%zu items", n_a);
	snprintf(out->b, sizeof(out->b), "%zu items", n_b);
	prefix(out, field->name, "");
	return true;
}

static bool
is_excepted(const struct avro_field *field, const char *const *except)
{
	assert(field->name != NULL);
	for (; except != NULL && *except != NULL; except++)
		if (strcmp(*except, field->name) == 0)
			return true;
	return false;
}

static bool
fields_differ(const struct avro_table *t, const char *a, const char *b, const char *const *except,
    struct avro_difference *out)
{
	for (size_t i = 0; i < t->fields_n; i++) {
		const struct avro_field *field = &t->field[i];

		if (field->name != NULL && is_excepted(field, except))
			continue;
		if (field->kind == AVRO_FIELD_LIST) {
			if (lists_differ(field, a, b, out))
				return true;
			continue;
		}
		if (plain_differ(field, a + field->at, b + field->at, out)) {
			if (field->name != NULL)
				prefix(out, field->name, "");
			return true;
		}
	}
	return false;
}

bool
avro_compare(const struct avro_table *t, const void *a, const void *b, const char *const *except,
    struct avro_difference *out)
{
	assert(t->fields_n > 0);
	memset(out, 0, sizeof(*out));
	return fields_differ(t, a, b, except, out);
}
