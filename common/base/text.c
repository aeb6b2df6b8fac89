#include "common/base/text.h"

#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/utf8.h"

/* Makes room for n more bytes and the NUL. */
static bool
grow(struct text *t, size_t n)
{
	size_t room = t->room == 0 ? 128 : t->room;
	char *bytes;

	assert(t->bytes == NULL || t->n < t->room);
	while (room < t->n + n + 1)
		room *= 2;
	if (room == t->room)
		return true;
	bytes = realloc(t->bytes, room);
	if (bytes == NULL)
		return false;
	t->bytes = bytes;
	t->room = room;
	return true;
}

void
text_vadd(struct text *t, const char *format, va_list ap)
{
	va_list second;
	int n;

	assert(format != NULL);
	va_copy(second, ap);
	n = vsnprintf(NULL, 0, format, ap);
	if (n < 0 || !grow(t, (size_t)n)) {
		t->lost = true;
	} else {
		vsnprintf(t->bytes + t->n, t->room - t->n, format, second);
		t->n += (size_t)n;
	}
	va_end(second);
}

void
text_add(struct text *t, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	text_vadd(t, format, ap);
	va_end(ap);
}

char *
text_take(struct text *t)
{
	char *bytes = t->lost ? NULL : t->bytes == NULL ? strdup("") : t->bytes;

	if (bytes != t->bytes)
		free(t->bytes);
	*t = (struct text){0};
	return bytes;
}

void
text_clear(struct text *t)
{
	free(t->bytes);
	*t = (struct text){0};
}

bool
text_ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), end_n = strlen(end);

	return n >= end_n && strcmp(text + n - end_n, end) == 0;
}

/* ---- text from outside ---- */

enum { PIECE_MAX = 16 };

static bool
is_control(uint32_t point)
{
	return point < 0x20 || (point >= 0x7F && point < 0xA0) || point == 0x061C ||
	       point == 0x200E || point == 0x200F || (point >= 0x2028 && point <= 0x202E) ||
	       (point >= 0x2066 && point <= 0x206F);
}

static char
letter_of(uint32_t point)
{
	return point == '\n' ? 'n' : point == '\t' ? 't' : point == '\r' ? 'r' : '\0';
}

/* Printable ASCII that no form escapes. */
static bool
is_plain(char c)
{
	return c >= ' ' && c <= '~' && c != '"' && c != '\\';
}

/* What stands for bytes that are not UTF-8. */
static size_t
put_bytes(char out[static PIECE_MAX], enum text_form form, const char *text, size_t n)
{
	size_t used = 0;

	if (form == TEXT_JSON)
		return (size_t)snprintf(out, PIECE_MAX, "\xEF\xBF\xBD");
	for (size_t i = 0; i < n; i++)
		used += (size_t)snprintf(
		    out + used, PIECE_MAX - used, "\\x%02x", (unsigned char)text[i]);
	return used;
}

/* Writes what stands for the first character of text[n]; returns the bytes of that character. */
static size_t
put_character(
    char out[static PIECE_MAX], size_t *out_n, enum text_form form, const char *text, size_t n)
{
	bool quoted = form == TEXT_QUOTED || form == TEXT_JSON;
	uint32_t point;
	size_t bytes = utf8_next(text, n, &point);
	char letter = letter_of(point);
	int written;

	assert(bytes <= 4);
	if (point == UTF8_NONE) {
		*out_n = put_bytes(out, form, text, bytes);
		return bytes;
	}
	if (quoted && (point == '"' || point == '\\')) {
		written = snprintf(out, PIECE_MAX, "\\%c", (char)point);
	} else if (!is_control(point) || (form == TEXT_LINES && (point == '\n' || point == '\t'))) {
		memcpy(out, text, bytes);
		written = (int)bytes;
	} else if (letter != '\0') {
		written = snprintf(out, PIECE_MAX, "\\%c", letter);
	} else {
		written = snprintf(out, PIECE_MAX,
		    point < 0x80 && form != TEXT_JSON ? "\\x%02x" : "\\u%04x", (unsigned)point);
	}
	*out_n = (size_t)written;
	return bytes;
}

size_t
text_show(char *out, size_t room, enum text_form form, const char *text, size_t n)
{
	size_t used = 0, at = 0;

	assert(room > 0);
	while (at < n) {
		char piece[PIECE_MAX];
		size_t piece_n, bytes;

		if (is_plain(text[at]) && used + 1 < room) {
			out[used++] = text[at++];
			continue;
		}
		bytes = put_character(piece, &piece_n, form, text + at, n - at);
		if (used + piece_n >= room)
			break;
		memcpy(out + used, piece, piece_n);
		used += piece_n;
		at += bytes;
	}
	out[used] = '\0';
	return at;
}

const char *
text_word(char out[static TEXT_WORD_MAX], const char *text)
{
	text_show(out, TEXT_WORD_MAX, TEXT_LINE, text, text == NULL ? 0 : strlen(text));
	return out;
}

const char *
text_value(char out[static TEXT_VALUE_MAX], const char *text)
{
	size_t n = strlen(text), used;

	if (n > 0 && n < TEXT_VALUE_MAX && strpbrk(text, " \"\\") == NULL &&
	    strchr(":,;.)", text[n - 1]) == NULL) {
		text_show(out, TEXT_VALUE_MAX, TEXT_LINE, text, n);
		if (strcmp(out, text) == 0)
			return out;
	}
	out[0] = '"';
	text_show(out + 1, TEXT_VALUE_MAX - 2, TEXT_QUOTED, text, n);
	used = strlen(out);
	out[used] = '"';
	out[used + 1] = '\0';
	return out;
}
