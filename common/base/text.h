/*
 * text.h -- a text that is put together in pieces, and what a text ends with.
 *
 * A zeroed text is a valid empty one. A piece that finds no memory is left out and the text is
 * marked: text_take() then gives NULL, so that only the end has to be checked.
 */
#ifndef COMMON_BASE_TEXT_H
#define COMMON_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct text {
	char *bytes; /* NUL-terminated; NULL: empty */
	size_t n, room;
	bool lost; /* a piece found no memory */
};

void text_add(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Gives the text (free) and empties *t. NULL: no memory. */
char *text_take(struct text *t);

/* Frees what *t holds and empties it. */
void text_clear(struct text *t);

/* Whether the last bytes of `text` are `end`; of any text if that is empty. Case counts. */
bool text_ends_with(const char *text, const char *end);

#endif
