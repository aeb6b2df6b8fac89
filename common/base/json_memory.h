/*
 * json_memory.h -- jansson where memory is refused.
 *
 * jansson 2.14 reports a refused allocation as whatever it was reading then ("string expected near
 * '\"web\"'"), or not at all, and writes an object without the key for which there was no room.
 * malloc's errno shows it: it is set to 0 before.
 */
#ifndef COMMON_BASE_JSON_MEMORY_H
#define COMMON_BASE_JSON_MEMORY_H

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>

/* After a load that failed; whoever loads sets errno to 0 before. */
static inline bool
json_memory_refused(void)
{
	return errno == ENOMEM;
}

/* json_dumps(), whole or NULL. Gives the text (free). */
static inline char *
json_memory_text(const json_t *value, size_t flags)
{
	char *text;

	errno = 0;
	text = json_dumps(value, flags);
	if (text == NULL || !json_memory_refused())
		return text;
	free(text);
	return NULL;
}

#endif
