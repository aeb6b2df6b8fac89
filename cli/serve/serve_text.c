#include "cli/serve/serve_text.h"

#include <stdlib.h>

enum fail_code
serve_text_print(char **out, enum fail_code (*print)(const void *of, FILE *to, struct failure *f),
    const void *of, struct failure *f)
{
	size_t n;
	FILE *to;
	enum fail_code code;

	*out = NULL;
	to = open_memstream(out, &n);
	if (to == NULL)
		return fail_memory(f);
	code = print(of, to, f);
	if (fclose(to) != 0 && code == FAIL_NONE)
		code = fail_memory(f);
	if (code == FAIL_NONE)
		return FAIL_NONE;
	free(*out);
	*out = NULL;
	return code;
}

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
