#include "common/config/properties.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"

/* Takes the property of that name out, so that the new one is the last. */
static void
remove_property(struct properties *p, const char *name)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->n; i++) {
		if (strcmp(p->item[i].name, name) != 0) {
			p->item[kept++] = p->item[i];
			continue;
		}
		free(p->item[i].name);
		free(p->item[i].value);
	}
	p->n = kept;
}

enum fail_code
properties_set(struct properties *p, const char *name, const char *value, struct failure *f)
{
	struct property *item, new;

	assert(*name != '\0');
	assert(value != NULL);
	new = (struct property){.name = strdup(name), .value = strdup(value)};
	item = realloc(p->item, (p->n + 1) * sizeof(*item));
	if (item != NULL)
		p->item = item;
	if (item == NULL || new.name == NULL || new.value == NULL) {
		free(new.name);
		free(new.value);
		return fail_memory(f);
	}
	remove_property(p, name);
	p->item[p->n++] = new;
	return FAIL_NONE;
}

/* Cuts the end of the last line off the n bytes that were read of file `path`. */
static enum fail_code
trim(char *text, size_t n, const char *path, struct failure *f)
{
	assert(n <= PROPERTIES_SECRET_MAX + 1);
	if (n > PROPERTIES_SECRET_MAX || memchr(text, '\0', n) != NULL)
		return fail(f, FAIL_CONFIG, "%s is no text of at most %d bytes", path,
		    (int)PROPERTIES_SECRET_MAX);
	if (n > 0 && text[n - 1] == '\n')
		n--;
	if (n > 0 && text[n - 1] == '\r')
		n--;
	text[n] = '\0';
	return n > 0 ? FAIL_NONE : fail(f, FAIL_CONFIG, "%s is empty", path);
}

/* The whole of a small file; gives *out, also where it fails. */
static enum fail_code
read_file(char **out, const char *path, struct failure *f)
{
	FILE *file = fopen(path, "re");
	enum fail_code code;
	size_t n;

	if (file == NULL)
		return fail_errno(f, FAIL_CONFIG, "cannot open %s", path);
	*out = malloc(PROPERTIES_SECRET_MAX + 2); /* one byte too many shows, and a '\0' */
	if (*out == NULL) {
		fclose(file);
		return fail_memory(f);
	}
	errno = 0;
	n = fread(*out, 1, PROPERTIES_SECRET_MAX + 1, file);
	code = ferror(file) ? fail_errno(f, FAIL_CONFIG, "cannot read %s", path)
			    : trim(*out, n, path, f);
	fclose(file);
	return code;
}

static enum fail_code
read_environment(char **out, const char *name, struct failure *f)
{
	const char *value = getenv(name);

	if (value == NULL || *value == '\0')
		return fail(f, FAIL_CONFIG, "%s is not set in the environment", name);
	*out = strdup(value);
	return *out == NULL ? fail_memory(f) : FAIL_NONE;
}

enum fail_code
properties_set_from(
    struct properties *p, const char *name, const char *kind, const char *where, struct failure *f)
{
	char *value = NULL;
	enum fail_code code;

	assert(kind != NULL);
	assert(where != NULL);
	if (strcmp(kind, "env") == 0)
		code = read_environment(&value, where, f);
	else if (strcmp(kind, "file") == 0)
		code = read_file(&value, where, f);
	else
		code =
		    fail(f, FAIL_CONFIG, "the value is to come from a file or env, not %s", kind);
	if (code == FAIL_NONE)
		code = properties_set(p, name, value, f);
	free(value);
	return code;
}

const char *
properties_value(const struct properties *p, const char *name)
{
	assert(name != NULL);
	for (size_t i = p == NULL ? 0 : p->n; i > 0; i--)
		if (strcmp(p->item[i - 1].name, name) == 0)
			return p->item[i - 1].value;
	return NULL;
}

bool
properties_secret(const char *name)
{
	return text_ends_with(name, "password") || text_ends_with(name, "secret") ||
	       text_ends_with(name, "passphrase") || text_ends_with(name, ".key.pem") ||
	       strcmp(name, "sasl.oauthbearer.config") == 0;
}

void
properties_clear(struct properties *p)
{
	for (size_t i = 0; i < p->n; i++) {
		free(p->item[i].name);
		free(p->item[i].value);
	}
	free(p->item);
	*p = (struct properties){0};
}
