#include "producer/input/chunk.h"

#include <stdbool.h>
#include <stdlib.h>

#include "common/base/text.h"

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

enum chunk_form
chunk_form_of(const char *name)
{
	bool text = text_ends_with(name, ".txt") || text_ends_with(name, ".txt.gz") ||
		    text_ends_with(name, ".txt.zst");

	return text ? CHUNK_WHOLE_FILE : CHUNK_JSON_LINES;
}
