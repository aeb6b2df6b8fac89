#include "producer/tokenizer/json_part.h"

#include <assert.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json_memory.h"

/*
 * Parses the text of one member, and puts the value into the object. jansson does not say that
 * memory was refused: errno does, which is set to 0 for that (json_memory.h).
 */
static enum fail_code
load_one(const struct json_member *m, const char *file, json_t *into, struct failure *f)
{
	json_error_t error;
	json_t *value;

	errno = 0;
	value = json_loadb(m->value, m->n, JSON_DECODE_ANY, &error);
	if (value == NULL && json_memory_refused())
		return fail_memory(f);
	if (value == NULL)
		return fail(f, FAIL_DATA, "tokenizer %s: %s: %s", file, m->key, error.text);
	if (json_object_set_new(into, m->key, value) != 0)
		return fail_memory(f);
	return FAIL_NONE;
}

enum fail_code
json_part_open(struct json_part *p, const char *file, const char *path,
    const struct json_members *m, const char *const *except, size_t except_n, struct failure *f)
{
	assert(except != NULL || except_n == 0);
	assert(strlen(path) < sizeof(p->path));
	*p = (struct json_part){.file = file, .value = json_object()};
	snprintf(p->path, sizeof(p->path), "%s", path);
	if (p->value == NULL)
		return fail_memory(f);
	for (size_t i = 0; i < m->n; i++) {
		size_t k = 0;

		while (k < except_n && strcmp(m->member[i].key, except[k]) != 0)
			k++;
		if (k == except_n && load_one(&m->member[i], file, p->value, f) != FAIL_NONE) {
			json_part_close(p);
			return f->code;
		}
	}
	return FAIL_NONE;
}

void
json_part_close(struct json_part *p)
{
	json_decref(p->value);
	p->value = NULL;
}

const char *
json_part_string(const struct json_part *p)
{
	return json_string_value(p->value);
}

bool
json_part_is_zero(const struct json_part *p)
{
	return json_is_number(p->value) && json_number_value(p->value) == 0.0;
}

/*
 * The path of a part is only read by people. It grows with the depth of the file, which is from
 * outside, so that one that does not fit is cut: snprintf() never writes beyond m.path.
 */
struct json_part
json_part_member(const struct json_part *p, const char *key)
{
	struct json_part m = {.file = p->file, .value = json_object_get(p->value, key)};
	size_t n = strlen(p->path);

	assert(n < sizeof(m.path));
	memcpy(m.path, p->path, n);
	snprintf(m.path + n, sizeof(m.path) - n, "%s%s", n == 0 ? "" : ".", key);
	return m;
}

struct json_part
json_part_item(const struct json_part *p, size_t i)
{
	struct json_part m = {.file = p->file, .value = json_array_get(p->value, i)};
	size_t n = strlen(p->path);

	assert(n < sizeof(m.path));
	memcpy(m.path, p->path, n);
	snprintf(m.path + n, sizeof(m.path) - n, "[%zu]", i);
	return m;
}

bool
json_part_is_null(const struct json_part *p)
{
	return p->value == NULL || json_is_null(p->value);
}

/*
 * Cuts a long text and ends it with dots. A byte 10xxxxxx is inside a character of UTF-8, so the
 * cut moves back to the first byte of one: the message stays valid UTF-8. The text begins with
 * such a first byte, because jansson wrote it.
 */
static void
shorten(char *text)
{
	size_t n = strlen(text);

	if (n < JSON_PART_VALUE_MAX)
		return;
	n = JSON_PART_VALUE_MAX - 4; /* room for the dots and the NUL */
	while (((unsigned char)text[n] & 0xC0) == 0x80)
		n--;
	memcpy(text + n, "...", 4);
}

enum fail_code
json_part_refuse(const struct json_part *p, const char *why, struct failure *f)
{
	char *text;
	enum fail_code code;

	if (p->value == NULL)
		return fail(f, FAIL_DATA, "tokenizer %s: %s is missing: %s", p->file, p->path, why);
	text = json_memory_text(p->value, JSON_COMPACT | JSON_ENCODE_ANY);
	if (text == NULL)
		return fail_memory(f);
	shorten(text);
	code = fail(f, FAIL_DATA, "tokenizer %s: %s is %s: %s", p->file, p->path, text, why);
	free(text);
	return code;
}

enum fail_code
json_part_check_keys(
    const struct json_part *p, const char *const *known, size_t known_n, struct failure *f)
{
	const char *key;
	json_t *value;

	assert(known_n > 0);
	if (!json_is_object(p->value))
		return json_part_refuse(p, "an object is wanted", f);
	json_object_foreach(p->value, key, value)
	{
		struct json_part m;
		size_t i = 0;

		while (i < known_n && strcmp(known[i], key) != 0)
			i++;
		if (i < known_n)
			continue;
		m = json_part_member(p, key);
		return json_part_refuse(&m, "riffle does not know this key", f);
	}
	return FAIL_NONE;
}

const char *
json_part_text(const struct json_part *p, const char *key)
{
	const char *text = json_string_value(json_object_get(p->value, key));

	return text == NULL ? "" : text;
}

enum fail_code
json_part_copy(const struct json_part *p, const char *key, uint8_t *out, size_t room, size_t *n,
    struct failure *f)
{
	struct json_part m = json_part_member(p, key);
	char why[64];

	assert(room > 0);
	if (!json_is_string(m.value))
		return json_part_refuse(&m, "a text is wanted", f);
	*n = json_string_length(m.value);
	if (*n > room) {
		snprintf(why, sizeof(why), "at most %zu bytes are taken", room);
		return json_part_refuse(&m, why, f);
	}
	memcpy(out, json_string_value(m.value), *n);
	return FAIL_NONE;
}

enum fail_code
json_part_bool(
    const struct json_part *p, const char *key, const bool *fallback, bool *out, struct failure *f)
{
	struct json_part m = json_part_member(p, key);

	if (json_part_is_null(&m) && fallback != NULL) {
		*out = *fallback;
		return FAIL_NONE;
	}
	if (!json_is_boolean(m.value))
		return json_part_refuse(&m, "true or false is wanted", f);
	*out = json_is_true(m.value);
	return FAIL_NONE;
}

enum fail_code
json_part_count(
    const struct json_part *p, const char *key, uint32_t max, uint32_t *out, struct failure *f)
{
	struct json_part m = json_part_member(p, key);
	json_int_t value = json_integer_value(m.value);
	char why[64];

	if (!json_is_integer(m.value) || value < 0 || value > (json_int_t)max) {
		snprintf(why, sizeof(why), "a number from 0 to %" PRIu32 " is wanted", max);
		return json_part_refuse(&m, why, f);
	}
	*out = (uint32_t)value;
	return FAIL_NONE;
}

enum fail_code
json_part_check_array(const struct json_part *p, struct failure *f)
{
	if (!json_is_array(p->value))
		return json_part_refuse(p, "an array is wanted", f);
	return FAIL_NONE;
}
