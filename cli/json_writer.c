#include "cli/json_writer.h"

#include <assert.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/json_print.h"
#include "common/base/json_memory.h"

enum { NUMBER_BYTES = 32, INDENT = 2 };

static void
put(struct json_writer *w, const char *text, size_t n)
{
	struct failure f;

	w->lost = w->lost || buffer_add(&w->b, text, n, &f) != FAIL_NONE;
}

static void
put_line(struct json_writer *w)
{
	static const char spaces[] = "\n                                ";
	size_t n = 1 + INDENT * (size_t)w->depth;

	assert(n < sizeof(spaces));
	if (!w->compact)
		put(w, spaces, n);
}

/* What stands between two values, and the key. */
static void
put_before(struct json_writer *w, const char *key)
{
	if (!w->keyed && w->item)
		put(w, ",", 1);
	if (!w->keyed && w->depth > 0)
		put_line(w);
	w->item = true;
	w->keyed = false;
	if (key == NULL)
		return;
	put(w, "\"", 1);
	put(w, key, strlen(key));
	put(w, "\": ", w->compact ? 2 : 3);
}

void
json_writer_begin(struct json_writer *w, const char *key, char bracket)
{
	assert(bracket == '[' || bracket == '{');
	put_before(w, key);
	put(w, &bracket, 1);
	w->depth++;
	w->item = false;
}

void
json_writer_end(struct json_writer *w, char bracket)
{
	assert(bracket == ']' || bracket == '}');
	assert(w->depth > 0);
	w->depth--;
	if (w->item)
		put_line(w);
	put(w, &bracket, 1);
	w->item = true;
}

void
json_writer_integer(struct json_writer *w, const char *key, int64_t value)
{
	char text[NUMBER_BYTES], *at = text + sizeof(text);
	uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;

	put_before(w, key);
	do
		*--at = (char)('0' + left % 10);
	while ((left /= 10) > 0);
	if (value < 0)
		*--at = '-';
	put(w, at, (size_t)(text + sizeof(text) - at));
}

/* A program that reads "3" may make an integer of it. */
void
json_writer_double(struct json_writer *w, const char *key, double value)
{
	char text[NUMBER_BYTES];
	int n;

	if (!isfinite(value)) {
		json_writer_null(w, key);
		return;
	}
	put_before(w, key);
	n = snprintf(text, sizeof(text), "%.17g", value);
	put(w, text, (size_t)n);
	if (strpbrk(text, ".e") == NULL)
		put(w, ".0", 2);
}

/* A value often stands many times in a row, as a share does: it is made a text once. */
void
json_writer_float(struct json_writer *w, const char *key, float value)
{
	if (!isfinite(value)) {
		json_writer_null(w, key);
		return;
	}
	put_before(w, key);
	if (w->text_n == 0 || value < w->number || value > w->number)
		w->text_n = snprintf(w->text, sizeof(w->text), "%.7g", (double)value);
	w->number = value;
	put(w, w->text, (size_t)w->text_n);
}

void
json_writer_boolean(struct json_writer *w, const char *key, bool value)
{
	put_before(w, key);
	put(w, value ? "true" : "false", value ? 4 : 5);
}

void
json_writer_null(struct json_writer *w, const char *key)
{
	put_before(w, key);
	put(w, "null", 4);
}

/* Without a byte that JSON writes otherwise, or that may be no UTF-8. */
static bool
is_plain(const char *text)
{
	for (; *text != '\0'; text++)
		if (*text < ' ' || *text > '~' || *text == '"' || *text == '\\')
			return false;
	return true;
}

static void
put_quoted(struct json_writer *w, const char *text)
{
	json_t *s;
	char *quoted;

	if (is_plain(text)) {
		put(w, "\"", 1);
		put(w, text, strlen(text));
		put(w, "\"", 1);
		return;
	}
	s = json_print_text(text);
	quoted = s == NULL ? NULL : json_memory_text(s, JSON_ENCODE_ANY);
	w->lost = w->lost || quoted == NULL;
	if (quoted != NULL)
		put(w, quoted, strlen(quoted));
	free(quoted);
	json_decref(s);
}

void
json_writer_text(struct json_writer *w, const char *key, const char *text)
{
	put_before(w, key);
	put_quoted(w, text == NULL ? "" : text);
}

void
json_writer_key(struct json_writer *w, const char *key)
{
	assert(!w->keyed);
	put_before(w, NULL);
	put_quoted(w, key);
	put(w, ": ", w->compact ? 1 : 2);
	w->keyed = true;
}

enum fail_code
json_writer_take(struct json_writer *w, char **text, size_t *n, struct failure *f)
{
	bool lost;

	assert(w->depth == 0 || w->lost);
	put(w, "\n", 2); /* with the 0 */
	lost = w->lost;
	if (lost)
		buffer_close(&w->b);
	*text = (char *)w->b.bytes;
	*n = lost ? 0 : w->b.n - 1;
	*w = (struct json_writer){.compact = w->compact};
	return lost ? fail_memory(f) : FAIL_NONE;
}
