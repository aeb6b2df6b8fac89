/*
 * domains_from: each sub-folder of a folder is a domain, its files are the domain's.
 *
 *     data/                domains_from: data             ((star) is a *)
 *         code/a.jsonl     code: train: ["data/code/(star).jsonl"]
 *         web/x.jsonl.gz   web:  train: ["data/web/(star).jsonl.gz", "data/web/(star).txt"]
 *         web/y.txt
 *             z.parquet    left out, and noted in the domain
 *         .git/            hidden: not looked at
 *         README           a file: not a domain
 *
 * What is found becomes patterns and not names, as if the user had written them: whoever reads the
 * corpus expands them later, in the same way. A domain that `domains` has too keeps its keys from
 * there, and gets its files from here only where it has neither train nor exec.
 */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/limits.h"
#include "common/base/names.h"
#include "common/base/nearest.h"
#include "common/base/text.h"
#include "common/config/config_internal.h"

static const char key[] = "domains_from";

/* Endings of the files that are taken; the longer ones of a kind are the compressed ones. */
static const char *const endings[] = {".jsonl", ".jsonl.gz", ".jsonl.zst", ".json", ".json.gz",
    ".json.zst", ".txt", ".txt.gz", ".txt.zst"};
enum { ENDINGS = sizeof(endings) / sizeof(endings[0]) };

/* The folder of domains_from, while it is read. */
struct folder {
	struct config *c;
	char *path; /* for opendir() */
	int line;
	char **name; /* of its sub-folders */
	size_t names_n;
	struct failure *f;
};

static enum fail_code
fail_folder(const struct folder *o, const char *path, int error)
{
	if (error == ENOMEM)
		return fail_memory(o->f);
	config_fail(o->c, o->line, key, o->f, "reading folder %s: %s", path, strerror(error));
	if (error == ENOENT)
		nearest_path_more(path, DT_DIR, o->f);
	return o->f->code;
}

static enum fail_code
join(char **out, const char *folder, const char *name, struct failure *f)
{
	size_t folder_n = strlen(folder), room = folder_n + strlen(name) + 2;

	while (folder_n > 1 && folder[folder_n - 1] == '/')
		folder_n--;
	*out = malloc(room);
	if (*out == NULL)
		return fail_memory(f);
	snprintf(*out, room, "%.*s/%s", (int)folder_n, folder, name);
	return FAIL_NONE;
}

/* Whether an entry of `folder` is a folder or, else, a file; a link is what it leads to. */
static enum fail_code
look(const struct folder *o, const char *folder, const char *name, mode_t *kind)
{
	struct stat st = {0};
	char *path;

	if (join(&path, folder, name, o->f) != FAIL_NONE)
		return o->f->code;
	/* An entry that was deleted since, or a link that leads nowhere, is neither. */
	if (stat(path, &st) != 0 && errno != ENOENT) {
		fail_folder(o, path, errno);
		free(path);
		return o->f->code;
	}
	free(path);
	*kind = st.st_mode & S_IFMT;
	return FAIL_NONE;
}

/* Calls `visit` for each entry of a folder that is not hidden. */
static enum fail_code
walk(struct folder *o, const char *path,
    enum fail_code (*visit)(struct folder *o, const char *path, const char *name, void *opaque),
    void *opaque)
{
	enum fail_code code = FAIL_NONE;
	const struct dirent *entry = NULL;
	DIR *dir = opendir(path);

	if (dir == NULL)
		return fail_folder(o, path, errno);
	while (code == FAIL_NONE) {
		errno = 0;
		entry = readdir(dir);
		if (entry == NULL)
			break;
		if (entry->d_name[0] != '.')
			code = visit(o, path, entry->d_name, opaque);
	}
	if (code == FAIL_NONE && errno != 0)
		code = fail_folder(o, path, errno);
	closedir(dir);
	return code;
}

static enum fail_code
take_folder(struct folder *o, const char *path, const char *name, void *unused)
{
	char shown[CONFIG_SHOWN_MAX];
	mode_t kind;
	char **grown;

	(void)unused;
	if (look(o, path, name, &kind) != FAIL_NONE)
		return o->f->code;
	if (kind != S_IFDIR)
		return FAIL_NONE;
	if (!names_valid(name))
		return config_fail(o->c, o->line, key, o->f,
		    "sub-folder %s of %s: not a name of a domain (letters, digits, '.', '_', '-', "
		    "at most %d, a letter or digit first): rename it",
		    config_shown(shown, name), path, NAME_MAX_BYTES);
	if (o->names_n == LIMIT_DOMAINS)
		return config_fail(o->c, o->line, key, o->f, "%s has more than %d sub-folders",
		    path, LIMIT_DOMAINS);
	grown = realloc(o->name, (o->names_n + 1) * sizeof(*grown));
	if (grown == NULL)
		return fail_memory(o->f);
	o->name = grown;
	o->name[o->names_n] = strdup(name);
	if (o->name[o->names_n] == NULL)
		return fail_memory(o->f);
	o->names_n++;
	return FAIL_NONE;
}

/* A domain, while its folder is read. */
struct found {
	struct config_domain *d;
	bool there[ENDINGS];
};

static enum fail_code
leave_out(struct folder *o, struct config_domain *d, const char *path, const char *name)
{
	struct config_list *l = &d->left_out;

	if (l->text == NULL)
		l->text = calloc(CONFIG_LEFT_OUT_MAX, sizeof(*l->text));
	if (l->text == NULL)
		return fail_memory(o->f);
	if (d->left_out_n++ >= CONFIG_LEFT_OUT_MAX)
		return FAIL_NONE;
	if (join(&l->text[l->n], path, name, o->f) != FAIL_NONE)
		return o->f->code;
	l->n++;
	return FAIL_NONE;
}

/*
 * Marks in there[ENDINGS] which ending a file has. The dot is part of an ending, so that a.jsonl.gz
 * ends in ".jsonl.gz" alone. Everything else in the folder is left out.
 */
static enum fail_code
take_file(struct folder *o, const char *path, const char *name, void *opaque)
{
	struct found *found = opaque;
	size_t i = 0;
	mode_t kind;

	while (i < ENDINGS && !text_ends_with(name, endings[i]))
		i++;
	if (i == ENDINGS)
		return leave_out(o, found->d, path, name);
	if (look(o, path, name, &kind) != FAIL_NONE)
		return o->f->code;
	if (kind != S_IFREG)
		return leave_out(o, found->d, path, name);
	found->there[i] = true;
	return FAIL_NONE;
}

static int
compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/*
 * DIR/NAME/(star)ENDING, where a backslash takes their meaning from the characters of DIR that mean
 * something in a pattern. NAME is a valid name and has none. Gives the text; NULL: no memory.
 */
static char *
pattern_of(const char *dir, const char *name, const char *ending)
{
	size_t dir_n = strlen(dir), room = 2 * dir_n + strlen(name) + strlen(ending) + 4, at = 0;
	char *out = malloc(room);

	assert(dir_n > 0); /* the value of a text key is never empty */
	if (out == NULL)
		return NULL;
	while (dir_n > 1 && dir[dir_n - 1] == '/')
		dir_n--;
	for (size_t i = 0; i < dir_n; i++) {
		if (strchr("*?[]{},\\", dir[i]) != NULL)
			out[at++] = '\\';
		out[at++] = dir[i];
	}
	snprintf(out + at, room - at, "%s%s/*%s", out[at - 1] == '/' ? "" : "/", name, ending);
	return out;
}

/*
 * Gives a domain its train: a pattern for each ending that its folder has. Files keep arriving in a
 * live domain, so that it gets a pattern for every ending, whichever are there now.
 */
static enum fail_code
set_train(struct folder *o, struct config_domain *d)
{
	struct found found = {.d = d};
	struct config_list *train = &d->train;
	char *path;

	assert(train->text == NULL);
	if (join(&path, o->path, d->name, o->f) != FAIL_NONE)
		return o->f->code;
	o->f->code = walk(o, path, take_file, &found);
	free(path);
	if (o->f->code != FAIL_NONE)
		return o->f->code;
	if (d->left_out.n > 0)
		qsort(d->left_out.text, d->left_out.n, sizeof(char *), compare_names);
	train->text = calloc(ENDINGS, sizeof(*train->text));
	if (train->text == NULL)
		return fail_memory(o->f);
	for (size_t i = 0; i < ENDINGS; i++) {
		if (!found.there[i] && !d->live)
			continue;
		train->text[train->n] = pattern_of(o->c->domains_from, d->name, endings[i]);
		if (train->text[train->n] == NULL)
			return fail_memory(o->f);
		train->n++;
	}
	if (train->n == 0)
		return config_fail(o->c, o->line, key, o->f,
		    "sub-folder %s of %s has no file *.jsonl, *.json or *.txt, plain, .gz or .zst: "
		    "put one there, or give domains.%s.train or .exec",
		    d->name, o->c->domains_from, d->name);
	return FAIL_NONE;
}

/* The domain of a sub-folder that `domains` does not name. */
static enum fail_code
add_domain(struct folder *o, const char *name)
{
	struct yaml_node empty = {.kind = YAML_MAP, .line = o->line, .key = name};
	struct config *c = o->c;

	if (c->domains_n == LIMIT_DOMAINS)
		return config_fail(c, o->line, key, o->f,
		    "with its sub-folders there are more than %d domains", LIMIT_DOMAINS);
	return config_read_domain(c, &empty, &c->domains[c->domains_n++], o->f);
}

/*
 * In two passes over the names, because config_domain_index() needs c->domains sorted, and adding
 * to its end breaks the order:
 *
 *     1. a name that `domains` has: its domain gets its files; every other name moves to the front
 *        of o->name, by exchange, so that each is still freed once
 *     2. name[0, others_n) are added behind, and all is sorted again
 */
static enum fail_code
merge(struct folder *o)
{
	struct config *c = o->c;
	struct config_domain *grown =
	    realloc(c->domains, (c->domains_n + o->names_n) * sizeof(*grown));
	size_t others_n = 0;

	if (grown == NULL)
		return fail_memory(o->f);
	memset(grown + c->domains_n, 0, o->names_n * sizeof(*grown));
	c->domains = grown;
	for (size_t i = 0; i < o->names_n; i++) {
		int k = config_domain_index(c, o->name[i]);
		char *other = o->name[others_n];

		if (k >= 0 && c->domains[k].train.n == 0 && c->domains[k].exec == NULL &&
		    set_train(o, &c->domains[k]) != FAIL_NONE)
			return o->f->code;
		if (k >= 0)
			continue;
		o->name[others_n++] = o->name[i];
		o->name[i] = other;
	}
	for (size_t i = 0; i < others_n; i++)
		if (add_domain(o, o->name[i]) != FAIL_NONE ||
		    set_train(o, &c->domains[c->domains_n - 1]) != FAIL_NONE)
			return o->f->code;
	config_sort_domains(c);
	return FAIL_NONE;
}

enum fail_code
config_read_folders(struct config *c, const struct yaml_node *root, struct failure *f)
{
	struct folder o = {.c = c, .line = config_line(root, NULL, key), .f = f};
	enum fail_code code;

	assert(c->domains_from != NULL);
	if (config_resolve(&o.path, c, c->domains_from, f) != FAIL_NONE)
		return f->code;
	code = walk(&o, o.path, take_folder, NULL);
	if (code == FAIL_NONE && o.names_n == 0)
		code = config_fail(c, o.line, key, f, "%s has no sub-folder", o.path);
	/* readdir() has no order: sorted, the same folder always gives the same first failure. */
	if (o.names_n > 0)
		qsort(o.name, o.names_n, sizeof(*o.name), compare_names);
	if (code == FAIL_NONE)
		code = merge(&o);
	for (size_t i = 0; i < o.names_n; i++)
		free(o.name[i]);
	free(o.name);
	free(o.path);
	return code;
}
