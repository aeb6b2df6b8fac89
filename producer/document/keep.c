#include "producer/document/keep.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

enum {
	NAME_GROWTH = 6, /* bytes that one of a name becomes at most: \u001f */
	NAME_EXTRA = 4,  /* quotes, colon, comma */
};

/* Appends a JSON value without the white space between its parts; there is room for all of it. */
static void
append_compact(struct buffer *b, const char *raw, size_t n)
{
	bool quoted = false;

	for (size_t i = 0; i < n; i++) {
		char c = raw[i];

		if (quoted && c == '\\') {
			b->bytes[b->n++] = (uint8_t)c;
			c = raw[++i]; /* there is one: the text is JSON */
		} else if (c == '"') {
			quoted = !quoted;
		} else if (!quoted && (c == ' ' || c == '\t' || c == '\n' || c == '\r')) {
			continue;
		}
		b->bytes[b->n++] = (uint8_t)c;
	}
}

/* Appends a field's name as JSON has it; there is room for all of it. */
static void
append_name(struct buffer *b, const char *name)
{
	static const char digit[] = "0123456789abcdef";

	b->bytes[b->n++] = '"';
	for (; *name != '\0'; name++) {
		unsigned char c = (unsigned char)*name;

		if (c == '"' || c == '\\')
			b->bytes[b->n++] = '\\';
		if (c >= 0x20) {
			b->bytes[b->n++] = (uint8_t)*name;
			continue;
		}
		memcpy(b->bytes + b->n, "\\u00", 4);
		b->bytes[b->n + 4] = (uint8_t)digit[c >> 4];
		b->bytes[b->n + 5] = (uint8_t)digit[c & 15];
		b->n += 6;
	}
	b->bytes[b->n++] = '"';
}

enum fail_code
keep_begin(struct buffer *b, struct failure *f)
{
	b->n = 0;
	return buffer_add(b, "{", 1, f);
}

enum fail_code
keep_add(struct buffer *b, const char *name, const char *raw, size_t raw_n, struct failure *f)
{
	size_t most = NAME_GROWTH * strlen(name) + NAME_EXTRA + raw_n;

	assert(b->n > 0); /* keep_begin() */
	if (buffer_reserve(b, most, f) != FAIL_NONE)
		return f->code;
	if (b->n > 1)
		b->bytes[b->n++] = ',';
	append_name(b, name);
	b->bytes[b->n++] = ':';
	append_compact(b, raw, raw_n);
	assert(b->n <= b->room);
	return FAIL_NONE;
}

enum fail_code
keep_end(struct buffer *b, struct failure *f)
{
	assert(b->n > 0);
	return buffer_add(b, "}", 1, f);
}

enum fail_code
keep_object(struct buffer *b, const char *raw, size_t raw_n, struct failure *f)
{
	b->n = 0;
	if (buffer_reserve(b, raw_n, f) != FAIL_NONE)
		return f->code;
	append_compact(b, raw, raw_n);
	return FAIL_NONE;
}
