#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/config/config_parts.h"

/* What was read, without the end of its last line. */
static enum fail_code
trim(char *text, size_t n, const char *path, struct failure *f)
{
	if (n > CONFIG_SECRET_MAX || memchr(text, '\0', n) != NULL)
		return fail(f, FAIL_CONFIG, "%s is no text of at most %d bytes", path,
		    (int)CONFIG_SECRET_MAX);
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
	*out = malloc(CONFIG_SECRET_MAX + 2);
	if (*out == NULL) {
		fclose(file);
		return fail_memory(f);
	}
	errno = 0;
	n = fread(*out, 1, CONFIG_SECRET_MAX + 1, file);
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
config_set_property_from(
    struct config *c, const char *name, const char *kind, const char *where, struct failure *f)
{
	char *value = NULL;
	enum fail_code code;

	if (strcmp(kind, "env") == 0)
		code = read_environment(&value, where, f);
	else if (strcmp(kind, "file") == 0)
		code = read_file(&value, where, f);
	else
		code =
		    fail(f, FAIL_CONFIG, "the value is to come from a file or env, not %s", kind);
	if (code == FAIL_NONE)
		code = config_set_property(c, name, value, f);
	free(value);
	return code;
}
