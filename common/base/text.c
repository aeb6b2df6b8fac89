#include "common/base/text.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
text_add(struct text *t, const char *format, ...)
{
	va_list first, second;
	int n;

	assert(format != NULL);
	va_start(first, format);
	va_copy(second, first);
	n = vsnprintf(NULL, 0, format, first);
	if (n < 0 || !grow(t, (size_t)n)) {
		t->lost = true;
	} else {
		vsnprintf(t->bytes + t->n, t->room - t->n, format, second);
		t->n += (size_t)n;
	}
	va_end(second);
	va_end(first);
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
