/*
 * json_field -- what common/base/json_field.h makes of JSON texts; for tests/python/test_json.py.
 *
 *     json_field PATH... < texts > results
 *
 * A text is its length in 4 bytes, little-endian, and its bytes, so that it may hold anything. A
 * result is a line: "error REASON", or for each path, separated by spaces, "-" where it is missing,
 * "s" and the bytes of a string in hexadecimal, or "o" and those of another value's JSON.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/json_field.h"

enum { TEXT_MAX_BYTES = 1 << 24 };

static void
print_value(const struct json_field_value *v)
{
	static const char kinds[] = {'-', 's', 'o'};

	putchar(kinds[v->found]);
	for (size_t i = 0; v->found != JSON_FIELD_MISSING && i < v->n; i++)
		printf("%02x", (unsigned char)v->bytes[i]);
}

static void
print_result(const struct json_field_paths *paths, struct json_field_scratch *scratch, size_t n,
    const char *text, size_t text_n)
{
	struct json_field_value value[JSON_FIELD_PATHS_MAX];
	struct failure f;

	if (json_field_read(paths, scratch, text, text_n, value, &f) != FAIL_NONE) {
		printf("error %s\n", f.text);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		if (i > 0)
			putchar(' ');
		print_value(&value[i]);
	}
	putchar('\n');
}

/* Reads the next text; NULL at the end. In memory of exactly its size, for sanitizers to see. */
static char *
read_text(size_t *n)
{
	unsigned char length[4];
	char *text;

	if (fread(length, 1, sizeof(length), stdin) < sizeof(length))
		return NULL;
	*n = length[0] | (size_t)length[1] << 8 | (size_t)length[2] << 16 | (size_t)length[3] << 24;
	if (*n > TEXT_MAX_BYTES)
		return NULL;
	text = malloc(*n == 0 ? 1 : *n);
	if (text != NULL && fread(text, 1, *n, stdin) < *n) {
		free(text);
		return NULL;
	}
	return text;
}

int
main(int argc, char **argv)
{
	struct json_field_scratch *scratch;
	struct json_field_paths *paths;
	size_t fields_n = (size_t)argc - 1, n;
	struct failure f;
	char *text;

	if (json_field_paths_open(&paths, (const char *const *)argv + 1, fields_n, &f) !=
		FAIL_NONE ||
	    json_field_scratch_open(&scratch, &f) != FAIL_NONE) {
		fprintf(stderr, "json_field: %s\n", f.text);
		return 1;
	}
	while ((text = read_text(&n)) != NULL) {
		print_result(paths, scratch, fields_n, text, n);
		free(text);
	}
	json_field_scratch_close(scratch);
	json_field_paths_close(paths);
	return 0;
}
