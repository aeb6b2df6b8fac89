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

	_Static_assert(sizeof(spaces) == 2 + INDENT * JSON_WRITER_DEPTH_MAX, "a level is INDENT");
	if (!w->compact)
		put(w, spaces, 1 + INDENT * (size_t)w->depth);
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
	assert(w->depth < JSON_WRITER_DEPTH_MAX);
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

void
json_writer_known(struct json_writer *w, const char *key, bool is_known, int64_t value)
{
	if (is_known)
		json_writer_integer(w, key, value);
	else
		json_writer_null(w, key);
}

/* As jansson: no plus or zeros in an exponent; and "3.0", as a reader makes an integer of "3". */
void
json_writer_double(struct json_writer *w, const char *key, double value)
{
	char text[NUMBER_BYTES], *digits;

	if (!isfinite(value)) {
		json_writer_null(w, key);
		return;
	}
	put_before(w, key);
	snprintf(text, sizeof(text), "%.17g", value);
	digits = strchr(text, 'e');
	if (digits != NULL) {
		char *from = ++digits;

		digits += *from == '-';
		from += *from == '-' || *from == '+';
		from += strspn(from, "0");
		memmove(digits, from, strlen(from) + 1);
	}
	put(w, text, strlen(text));
	if (strpbrk(text, ".e") == NULL)
		put(w, ".0", 2);
}

/* A value often stands many times in a row, as a share does: it is made a text once. */
void
json_writer_float(struct json_writer *w, const char *key, double value)
{
	if (!isfinite(value)) {
		json_writer_null(w, key);
		return;
	}
	put_before(w, key);
	if (w->text_n == 0 || value < w->number || value > w->number)
		w->text_n = snprintf(w->text, sizeof(w->text), "%.7g", value);
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
	struct json_writer all;

	put(w, "\n", 2); /* with the 0 */
	all = *w;
	assert(all.depth == 0 || all.lost);
	*w = (struct json_writer){.compact = all.compact};
	if (all.lost) {
		buffer_close(&all.b);
		return fail_memory(f);
	}
	*text = (char *)all.b.bytes;
	*n = all.b.n - 1;
	return FAIL_NONE;
}
