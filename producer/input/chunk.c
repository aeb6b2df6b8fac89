#include "producer/input/chunk.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void
chunk_close(struct chunk *c)
{
	if (c == NULL)
		return;
	free(c->record);
	free(c->bytes);
	free(c->reasons);
	free(c);
}

static bool
ends_with(const char *name, const char *end)
{
	size_t n = strlen(name), end_n = strlen(end);

	return n >= end_n && strcmp(name + n - end_n, end) == 0;
}

enum chunk_form
chunk_form_of(const char *name)
{
	bool text =
	    ends_with(name, ".txt") || ends_with(name, ".txt.gz") || ends_with(name, ".txt.zst");

	return text ? CHUNK_WHOLE_FILE : CHUNK_JSON_LINES;
}
