#include "cli/serve/serve_text.h"

#include <stdlib.h>

struct serve_text *
serve_text_make(char *bytes, size_t n)
{
	struct serve_text *t = bytes == NULL ? NULL : malloc(sizeof(*t));

	if (t == NULL) {
		free(bytes);
		return NULL;
	}
	atomic_init(&t->references, 1);
	t->bytes = bytes;
	t->n = n;
	return t;
}

struct serve_text *
serve_text_share(struct serve_text *t)
{
	if (t != NULL)
		atomic_fetch_add(&t->references, 1);
	return t;
}

void
serve_text_release(struct serve_text *t)
{
	if (t == NULL || atomic_fetch_sub(&t->references, 1) > 1)
		return;
	free(t->bytes);
	free(t);
}
