#include "common/config/config.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/config/config_parts.h"

static enum fail_code
set_bootstrap(struct config *c, struct failure *f)
{
	const char *bootstrap = getenv("RIFFLE_BOOTSTRAP");

	if (bootstrap == NULL || *bootstrap == '\0')
		return FAIL_NONE;
	return properties_set(&c->kafka, "bootstrap.servers", bootstrap, f);
}

enum fail_code
config_open(struct config **out, const char *path, struct failure *f)
{
	struct yaml_tree *t = NULL;
	struct config *c = NULL;

	*out = NULL;
	if (yaml_tree_open(&t, path, f) != FAIL_NONE)
		return f->code;
	c = calloc(1, sizeof(*c));
	if (c == NULL || (c->path = strdup(path)) == NULL) {
		fail_memory(f);
		goto failed;
	}
	if (config_read(c, t, f) != FAIL_NONE ||
	    config_check(c, yaml_tree_root(t), f) != FAIL_NONE || set_bootstrap(c, f) != FAIL_NONE)
		goto failed;
	yaml_tree_close(t);
	*out = c;
	return FAIL_NONE;
failed:
	config_close(c);
	yaml_tree_close(t);
	return f->code;
}

static void
list_clear(struct config_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->text[i]);
	free(l->text);
}

static void
domain_clear(struct config_domain *d)
{
	free(d->name);
	list_clear(&d->train);
	list_clear(&d->valid);
	free(d->exec);
	free(d->text);
	free(d->where_field);
	free(d->where_equals);
	free(d->prompt);
	free(d->response);
	list_clear(&d->keep);
}

static void
mix_clear(struct config_mix *m)
{
	free(m->name);
	free(m->weight);
	list_clear(&m->runs);
	for (size_t i = 0; i < m->phases_n; i++) {
		free(m->phases[i].name);
		free(m->phases[i].weight);
	}
	free(m->phases);
}

void
config_close(struct config *c)
{
	if (c == NULL)
		return;
	free(c->path);
	free(c->corpus);
	free(c->tokenizer.file);
	free(c->tokenizer.pattern);
	free(c->tokenizer.eos);
	for (size_t i = 0; i < c->domains_n; i++)
		domain_clear(&c->domains[i]);
	free(c->domains);
	free(c->domains_from);
	mix_clear(&c->mix);
	properties_clear(&c->kafka);
	free(c);
}

enum fail_code
config_need_mix(const struct config *c, struct failure *f)
{
	if (c->mix.name != NULL)
		return FAIL_NONE;
	return fail(f, FAIL_CONFIG,
	    "%s: mix: is missing (the section that says what is mixed, and how; see `riffle config "
	    "--keys`)",
	    c->path);
}

static int
compare_name(const void *name, const void *domain)
{
	return strcmp(name, ((const struct config_domain *)domain)->name);
}

int
config_domain_index(const struct config *c, const char *name)
{
	const struct config_domain *d;

	if (c->domains_n == 0)
		return -1;
	d = bsearch(name, c->domains, c->domains_n, sizeof(*c->domains), compare_name);
	return d == NULL ? -1 : (int)(d - c->domains);
}

enum fail_code
config_resolve(char **out, const struct config *c, const char *path, struct failure *f)
{
	const char *slash = strrchr(c->path, '/');
	size_t folder_n = *path == '/' || slash == NULL ? 0 : (size_t)(slash - c->path) + 1;
	size_t path_n = strlen(path) + 1;

	*out = malloc(folder_n + path_n);
	if (*out == NULL)
		return fail_memory(f);
	memcpy(*out, c->path, folder_n);
	memcpy(*out + folder_n, path, path_n);
	return FAIL_NONE;
}
