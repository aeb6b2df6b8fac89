/*
 * JSON: what jansson accepts as an object is accepted, with the same strings (it refuses more: what
 * is not UTF-8, lone surrogates, numbers out of range). Values lie in the text or the scratch.
 */
#include <jansson.h>
#include <stdbool.h>
#include <string.h>

#include "common/base/json_field.h"
#include "common/base/json_text.h"
#include "tests/fuzz/fuzz.h"

static const char *const paths[] = {"a", "a.b", "text"};
enum { PATHS = sizeof(paths) / sizeof(paths[0]) };

static bool
is_string(const json_t *value)
{
	return value != NULL && json_typeof(value) == JSON_STRING;
}

static const json_t *
walk(const json_t *object, const char *path)
{
	const char *dot = strchr(path, '.');
	char key[16];

	if (dot == NULL)
		return json_object_get(object, path);
	snprintf(key, sizeof(key), "%.*s", (int)(dot - path), path);
	object = json_object_get(object, key);
	return json_is_object(object) ? walk(object, dot + 1) : NULL;
}

/* How deep the text nests, at most: brackets in strings count, too, which does no harm. */
static size_t
depth(const char *text, size_t n)
{
	size_t now = 0, most = 0;

	for (size_t i = 0; i < n; i++) {
		now += text[i] == '[' || text[i] == '{';
		now -= now > 0 && (text[i] == ']' || text[i] == '}');
		most = now > most ? now : most;
	}
	return most;
}

static void
compare(const json_t *object, const struct json_field_value *value)
{
	for (size_t i = 0; i < PATHS; i++) {
		const json_t *theirs = walk(object, paths[i]);

		FUZZ_CHECK((theirs == NULL) == (value[i].found == JSON_FIELD_MISSING));
		FUZZ_CHECK(is_string(theirs) == (value[i].found == JSON_FIELD_STRING));
		if (!is_string(theirs))
			continue;
		FUZZ_CHECK(json_string_length(theirs) == value[i].n);
		FUZZ_CHECK(value[i].n == 0 ||
			   memcmp(json_string_value(theirs), value[i].bytes, value[i].n) == 0);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static struct json_field_paths *compiled;
	static struct json_field_scratch *scratch;
	struct json_field_value value[PATHS];
	struct failure f;
	char *text = malloc(n + 1);
	json_t *object;
	enum fail_code code;

	FUZZ_CHECK(text != NULL);
	memcpy(text, data, n);
	if (compiled == NULL) {
		FUZZ_CHECK(json_field_paths_open(&compiled, paths, PATHS, &f) == FAIL_NONE);
		FUZZ_CHECK(json_field_scratch_open(&scratch, &f) == FAIL_NONE);
	}
	code = json_field_read(compiled, scratch, text, n, value, &f);
	FUZZ_CHECK(code == FAIL_NONE || code == FAIL_DATA);
	for (size_t i = 0; code == FAIL_NONE && i < PATHS; i++)
		FUZZ_CHECK(value[i].found == JSON_FIELD_MISSING ||
			   (value[i].raw >= text && value[i].raw + value[i].raw_n <= text + n));
	object = json_loadb(text, n, JSON_ALLOW_NUL, NULL);
	/* jansson takes a NUL between values for white space, which it is not. */
	if (json_is_object(object) && memchr(text, '\0', n) == NULL &&
	    depth(text, n) <= JSON_TEXT_DEPTH_MAX) {
		FUZZ_CHECK(code == FAIL_NONE);
		compare(object, value);
	}
	json_decref(object);
	free(text);
	return 0;
}
