#include "common/config/yaml_tree.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

enum { KEY_PATH_MAX = 512, SHOWN_MAX = 80 };

/* A key or a value of yaml_tree_set(). */
struct kept_text {
	struct kept_text *next;
	char text[];
};

struct yaml_tree {
	yaml_document_t document; /* owns the texts of the file */
	bool loaded;
	struct yaml_node root;
	struct kept_text *kept;     /* and these are owned, too */
	struct yaml_tree *settings; /* owned: values that are YAML; their nodes are in this tree */
	struct yaml_tree *next;     /* of the list `settings` */
};

/* A tree under construction. */
struct building {
	struct yaml_tree *tree;
	const char *name;
	size_t nodes_n;
	char path[KEY_PATH_MAX]; /* "mix.weights": the map at hand; cut where too long */
	struct failure *f;
};

/* The line, from 1, of a byte. libyaml knows no line of bytes that are not UTF-8. */
static int
line_at(const char *bytes, size_t offset)
{
	int line = 1;

	for (size_t i = 0; i < offset; i++)
		line += bytes[i] == '\n';
	return line;
}

/* Whether the blanks at the start of a line (from 1) hold a tab, the usual cause of an error. */
static bool
tab_indents(const char *bytes, size_t n, size_t line)
{
	size_t i = 0;

	for (; line > 1 && i < n; i++)
		line -= bytes[i] == '\n';
	while (i < n && bytes[i] == ' ')
		i++;
	return i < n && bytes[i] == '\t';
}

static enum fail_code
fail_parse(const yaml_parser_t *p, const char *name, const char *bytes, size_t n, struct failure *f)
{
	const char *problem = p->problem != NULL ? p->problem : "not YAML";
	size_t line = p->problem_mark.line + 1;

	/* Where memory for a piece of text is refused, libyaml 0.2.5 fails and sets no error. */
	if (p->error == YAML_MEMORY_ERROR || p->error == YAML_NO_ERROR)
		return fail_memory(f);
	if (p->error == YAML_READER_ERROR) {
		size_t offset = p->problem_offset < n ? p->problem_offset : n;

		return fail(f, FAIL_CONFIG, "%s:%d: not UTF-8 text: %s at byte %zu", name,
		    line_at(bytes, offset), problem, offset);
	}
	if (tab_indents(bytes, n, line))
		return fail(
		    f, FAIL_CONFIG, "%s:%zu: a tab cannot indent in YAML: use blanks", name, line);
	if (strcmp(problem, "could not find expected ':'") == 0) /* noticed in a later line */
		line = p->context_mark.line + 1;
	return fail(f, FAIL_CONFIG, "%s:%zu: not YAML: %s%s%s%s", name, line,
	    p->context != NULL ? p->context : "", p->context != NULL ? ": " : "", problem,
	    strstr(problem, "mapping values are not allowed") != NULL
		? "; is a `:` missing in this line or the one before?"
	    : strcmp(problem, "did not find expected key") == 0
		? "; is this line indented like its neighbors, and does nothing follow a quoted "
		  "text?"
		: "");
}

/* What the events so far have added up to; `depth` is of those that are open. */
struct totals {
	size_t nodes, depth, documents;
};

/* Takes one event into account. */
static enum fail_code
add_event(struct totals *t, const yaml_event_t *e, const char *name, struct failure *f)
{
	size_t line = e->start_mark.line + 1;
	bool opens = e->type == YAML_SEQUENCE_START_EVENT || e->type == YAML_MAPPING_START_EVENT;
	bool closes = e->type == YAML_SEQUENCE_END_EVENT || e->type == YAML_MAPPING_END_EVENT;

	t->documents += e->type == YAML_DOCUMENT_START_EVENT;
	t->nodes += opens || e->type == YAML_SCALAR_EVENT || e->type == YAML_ALIAS_EVENT;
	t->depth += opens;
	t->depth -= closes;
	if (t->documents > 1)
		return fail(
		    f, FAIL_CONFIG, "%s:%zu: a second document begins; one is allowed", name, line);
	if (t->depth > YAML_DEPTH_MAX)
		return fail(f, FAIL_CONFIG, "%s:%zu: more than %d maps and lists inside each other",
		    name, line, YAML_DEPTH_MAX);
	if (t->nodes > YAML_NODES_MAX)
		return fail(f, FAIL_CONFIG, "%s:%zu: more than %d keys and values in one file",
		    name, line, YAML_NODES_MAX);
	return FAIL_NONE;
}

/*
 * A first pass over the events, which allocates one event at a time. yaml_parser_load() has no
 * limits of its own: the 8 million entries of "[a,a,a,...", 16 MiB of text, would cost it some 100
 * bytes each. What this pass lets through has at most YAML_NODES_MAX nodes; an alias counts as one
 * here, and as all that it stands for in build().
 */
static enum fail_code
check_limits(const char *name, const char *bytes, size_t n, struct failure *f)
{
	yaml_parser_t p;
	struct totals totals = {0};
	enum fail_code code = FAIL_NONE;
	bool over = false;

	if (!yaml_parser_initialize(&p))
		return fail_memory(f);
	yaml_parser_set_input_string(&p, (const unsigned char *)bytes, n);
	while (!over && code == FAIL_NONE) {
		yaml_event_t event;

		if (!yaml_parser_parse(&p, &event)) {
			code = fail_parse(&p, name, bytes, n, f);
			break;
		}
		code = add_event(&totals, &event, name, f);
		over = event.type == YAML_STREAM_END_EVENT;
		yaml_event_delete(&event);
	}
	yaml_parser_delete(&p);
	return code;
}

static enum fail_code
load(struct yaml_tree *t, const char *name, const char *bytes, size_t n, struct failure *f)
{
	yaml_parser_t p;
	enum fail_code code = FAIL_NONE;

	if (!yaml_parser_initialize(&p))
		return fail_memory(f);
	yaml_parser_set_input_string(&p, (const unsigned char *)bytes, n);
	if (yaml_parser_load(&p, &t->document))
		t->loaded = true;
	else
		code = fail_parse(&p, name, bytes, n, f);
	yaml_parser_delete(&p);
	return code;
}

static int
compare_keys(const void *a, const void *b)
{
	const struct yaml_node *x = *(const struct yaml_node *const *)a;
	const struct yaml_node *y = *(const struct yaml_node *const *)b;
	int order = strcmp(x->key, y->key);

	return order != 0 ? order : (x > y) - (x < y); /* equals in the order of the file */
}

/* Sorts pointers, so that a map of 200,000 keys costs no more than sorting; the map stays. */
static enum fail_code
check_distinct(const struct building *b, const struct yaml_node *map)
{
	const struct yaml_node **sorted = calloc(map->children_n + 1, sizeof(struct yaml_node *));
	enum fail_code code = FAIL_NONE;

	assert(map->kind == YAML_MAP);
	if (sorted == NULL)
		return fail_memory(b->f);
	for (size_t i = 0; i < map->children_n; i++)
		sorted[i] = &map->child[i];
	qsort(sorted, map->children_n, sizeof(struct yaml_node *), compare_keys);
	for (size_t i = 1; i < map->children_n && code == FAIL_NONE; i++)
		if (strcmp(sorted[i - 1]->key, sorted[i]->key) == 0)
			code = fail(b->f, FAIL_CONFIG,
			    "%s:%d: %s%s%.*s: given twice, first in line %d", b->name,
			    sorted[i]->line, b->path, b->path[0] == '\0' ? "" : ".", SHOWN_MAX,
			    sorted[i]->key, sorted[i - 1]->line);
	free(sorted);
	return code;
}

/* Whether a text is what its tag claims: riffle reads only decimal numbers. */
static bool
tag_fits(const char *tag, const char *text)
{
	static const char *const digits[][2] = {{YAML_STR_TAG, NULL},
	    {YAML_INT_TAG, "+-0123456789"}, {YAML_FLOAT_TAG, "+-.eE0123456789"}};

	if (strcmp(tag, YAML_BOOL_TAG) == 0)
		return strcmp(text, "true") == 0 || strcmp(text, "false") == 0;
	for (size_t i = 0; i < sizeof(digits) / sizeof(digits[0]); i++)
		if (strcmp(tag, digits[i][0]) == 0)
			return digits[i][1] == NULL ||
			       (text[0] != '\0' && text[strspn(text, digits[i][1])] == '\0');
	return false;
}

/*
 * A tag could change what a value means, as !!binary does, so none passes unread. libyaml gives
 * nodes without a tag the tag of a text, a list or a map.
 */
static enum fail_code
check_tag(const struct building *b, const yaml_node_t *node)
{
	static const char yaml_org[] = "tag:yaml.org,2002:";
	const char *tag = (const char *)node->tag;
	bool standard = strncmp(tag, yaml_org, sizeof(yaml_org) - 1) == 0;

	if (node->type == YAML_SCALAR_NODE
		? tag_fits(tag, (const char *)node->data.scalar.value)
		: strcmp(tag, node->type == YAML_SEQUENCE_NODE ? YAML_DEFAULT_SEQUENCE_TAG
							       : YAML_DEFAULT_MAPPING_TAG) == 0)
		return FAIL_NONE;
	return fail(b->f, FAIL_CONFIG,
	    "%s:%zu: %s%sthe tag %s%.*s is not supported: remove it, and write the value itself",
	    b->name, node->start_mark.line + 1, b->path, b->path[0] == '\0' ? "" : ": ",
	    standard ? "!!" : "", SHOWN_MAX, standard ? tag + sizeof(yaml_org) - 1 : tag);
}

static enum fail_code build(struct building *b, struct yaml_node *out, int id, size_t depth);

static enum fail_code
build_text(const struct building *b, struct yaml_node *out, const yaml_node_t *node)
{
	out->kind = YAML_TEXT;
	out->text = (const char *)node->data.scalar.value;
	out->plain = node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	if (memchr(out->text, '\0', node->data.scalar.length) != NULL)
		return fail(
		    b->f, FAIL_CONFIG, "%s:%d: a text holds a NUL byte", b->name, out->line);
	return check_tag(b, node);
}

static enum fail_code
build_list(struct building *b, struct yaml_node *out, const yaml_node_t *node, size_t depth)
{
	const yaml_node_item_t *item = node->data.sequence.items.start;
	size_t n = (size_t)(node->data.sequence.items.top - item);

	out->kind = YAML_LIST;
	out->child = calloc(n + 1, sizeof(*out->child));
	if (out->child == NULL)
		return fail_memory(b->f);
	out->children_n = n;
	for (size_t i = 0; i < n; i++)
		if (build(b, &out->child[i], item[i], depth) != FAIL_NONE)
			return b->f->code;
	return FAIL_NONE;
}

/*
 * One entry: it has the line of its key, and b->path has its key too while its value is built.
 */
static enum fail_code
build_entry(struct building *b, struct yaml_node *out, const yaml_node_pair_t *pair, size_t depth)
{
	const yaml_node_t *key = yaml_document_get_node(&b->tree->document, pair->key);
	size_t used = strlen(b->path);
	struct yaml_node name = {.line = (int)key->start_mark.line + 1};

	if (key->type != YAML_SCALAR_NODE)
		return fail(b->f, FAIL_CONFIG, "%s:%d: a key must be a text, not a map or a list",
		    b->name, name.line);
	if (build_text(b, &name, key) != FAIL_NONE)
		return b->f->code;
	snprintf(b->path + used, sizeof(b->path) - used, "%s%s", used == 0 ? "" : ".", name.text);
	if (build(b, out, pair->value, depth) != FAIL_NONE)
		return b->f->code;
	b->path[used] = '\0';
	out->key = name.text;
	out->line = name.line;
	return FAIL_NONE;
}

static enum fail_code
build_map(struct building *b, struct yaml_node *out, const yaml_node_t *node, size_t depth)
{
	const yaml_node_pair_t *pair = node->data.mapping.pairs.start;
	size_t n = (size_t)(node->data.mapping.pairs.top - pair);

	out->kind = YAML_MAP;
	out->child = calloc(n + 1, sizeof(*out->child));
	if (out->child == NULL)
		return fail_memory(b->f);
	out->children_n = n;
	for (size_t i = 0; i < n; i++)
		if (build_entry(b, &out->child[i], &pair[i], depth) != FAIL_NONE)
			return b->f->code;
	return check_distinct(b, out);
}

/*
 * Node `id` of libyaml's document, numbered from 1, as a node of ours, `depth` maps and lists deep.
 *
 * An alias is the number of a node that was built before, and is built once more. So nodes_n counts
 * it each time, and the "billion laughs" end at YAML_NODES_MAX:
 *
 *     a: &a [x, x, x, x, x, x, x, x, x, x]
 *     b: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]       some 100 nodes
 *     c: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b, *b]         some 1,000 ...
 *
 * and a node inside itself (a: &a [*a]), which has no end, ends at YAML_DEPTH_MAX.
 */
static enum fail_code
build(struct building *b, struct yaml_node *out, int id, size_t depth)
{
	const yaml_node_t *node = yaml_document_get_node(&b->tree->document, id);

	assert(node != NULL);
	assert(depth <= YAML_DEPTH_MAX);
	out->line = (int)node->start_mark.line + 1;
	if (++b->nodes_n > YAML_NODES_MAX)
		return fail(b->f, FAIL_CONFIG, "%s:%d: aliases stand for more than %d values",
		    b->name, out->line, YAML_NODES_MAX);
	if (node->type == YAML_SCALAR_NODE)
		return build_text(b, out, node);
	if (check_tag(b, node) != FAIL_NONE)
		return b->f->code;
	if (depth == YAML_DEPTH_MAX)
		return fail(b->f, FAIL_CONFIG,
		    "%s:%d: aliases put more than %d maps and lists inside each other", b->name,
		    out->line, YAML_DEPTH_MAX);
	return node->type == YAML_SEQUENCE_NODE ? build_list(b, out, node, depth + 1)
						: build_map(b, out, node, depth + 1);
}

enum fail_code
yaml_tree_decode(
    struct yaml_tree **out, const char *name, const char *bytes, size_t n, struct failure *f)
{
	struct building b = {.name = name, .f = f};
	const yaml_node_t *root;

	assert(name != NULL);
	assert(bytes != NULL || n == 0);
	*out = NULL;
	if (n > YAML_FILE_BYTES_MAX)
		return fail(f, FAIL_CONFIG, "%s: larger than %d bytes", name, YAML_FILE_BYTES_MAX);
	if (check_limits(name, bytes, n, f) != FAIL_NONE)
		return f->code;
	b.tree = calloc(1, sizeof(*b.tree));
	if (b.tree == NULL)
		return fail_memory(f);
	if (load(b.tree, name, bytes, n, f) != FAIL_NONE)
		goto failed;
	root = yaml_document_get_root_node(&b.tree->document);
	if (root == NULL) {
		fail(f, FAIL_CONFIG,
		    "%s:1: is empty: `riffle config --init DATA` prints a first configuration",
		    name);
		goto failed;
	}
	if (build(&b, &b.tree->root, 1, 0) != FAIL_NONE)
		goto failed;
	*out = b.tree;
	return FAIL_NONE;
failed:
	yaml_tree_close(b.tree);
	return f->code;
}

/*
 * Reads to the end, or to one byte over the limit, which yaml_tree_decode() then reports. By
 * doubling and not by the size of the file: a pipe has none. Gives *bytes.
 */
static enum fail_code
read_all(FILE *from, const char *path, char **bytes, size_t *n, struct failure *f)
{
	size_t room = 0, used = 0;
	char *all = NULL;

	do {
		char *more;

		room = room == 0 ? 1 << 16 : room * 2;
		room = room > YAML_FILE_BYTES_MAX ? YAML_FILE_BYTES_MAX + 1 : room;
		more = realloc(all, room);
		if (more == NULL) {
			free(all);
			return fail_memory(f);
		}
		all = more;
		used += fread(all + used, 1, room - used, from);
	} while (used == room && room <= YAML_FILE_BYTES_MAX);
	if (ferror(from)) {
		fail_errno(f, FAIL_CONFIG, "reading the configuration %s", path);
		free(all);
		return f->code;
	}
	assert(used <= YAML_FILE_BYTES_MAX + 1);
	*bytes = all;
	*n = used;
	return FAIL_NONE;
}

enum fail_code
yaml_tree_open(struct yaml_tree **out, const char *path, struct failure *f)
{
	FILE *from = fopen(path, "rbe");
	char *bytes = NULL;
	size_t n = 0;
	enum fail_code code;

	*out = NULL;
	if (from == NULL)
		return fail_errno(f, FAIL_CONFIG, "opening the configuration %s", path);
	code = read_all(from, path, &bytes, &n, f);
	fclose(from);
	if (code == FAIL_NONE)
		code = yaml_tree_decode(out, path, bytes, n, f);
	free(bytes);
	return code;
}

/* Recurses as deep as the tree, at most YAML_DEPTH_MAX. */
static void
node_clear(struct yaml_node *node)
{
	for (size_t i = 0; i < node->children_n; i++)
		node_clear(&node->child[i]);
	free(node->child);
}

void
yaml_tree_close(struct yaml_tree *t)
{
	if (t == NULL)
		return;
	node_clear(&t->root);
	while (t->kept != NULL) {
		struct kept_text *first = t->kept;

		t->kept = first->next;
		free(first);
	}
	while (t->settings != NULL) {
		struct yaml_tree *first = t->settings;

		t->settings = first->next;
		yaml_tree_close(first);
	}
	if (t->loaded)
		yaml_document_delete(&t->document);
	free(t);
}

const struct yaml_node *
yaml_tree_root(const struct yaml_tree *t)
{
	assert(t != NULL);
	return &t->root;
}

const struct yaml_node *
yaml_node_get(const struct yaml_node *node, const char *key)
{
	assert(key != NULL);
	if (node == NULL || node->kind != YAML_MAP)
		return NULL;
	for (size_t i = 0; i < node->children_n; i++)
		if (strcmp(node->child[i].key, key) == 0)
			return &node->child[i];
	return NULL;
}

/* ---- values set from outside the file ---- */

/* A setting on its way down its path: `at` is the node that it has reached. */
struct walk {
	struct yaml_tree *tree;
	const char *setting;
	struct yaml_node *at;
	const char *rest, *end;  /* what is left of the path */
	char done[KEY_PATH_MAX]; /* what is behind; cut where too long */
	bool (*whole)(const char *path);
	struct failure *f;
};

static enum fail_code __attribute__((format(printf, 2, 3)))
fail_setting(const struct walk *w, const char *format, ...)
{
	char why[FAILURE_TEXT_MAX];
	int n = (int)strcspn(w->setting, "=");
	va_list ap;

	va_start(ap, format);
	vsnprintf(why, sizeof(why), format, ap);
	va_end(ap);
	return fail(
	    w->f, FAIL_CONFIG, "-s %.*s: %s", n < SHOWN_MAX ? n : SHOWN_MAX, w->setting, why);
}

/* A copy of text[n] that lives as long as the tree; NULL: no memory. */
static const char *
keep(struct walk *w, const char *text, size_t n)
{
	struct kept_text *k = malloc(sizeof(*k) + n + 1);

	if (k == NULL) {
		fail_memory(w->f);
		return NULL;
	}
	memcpy(k->text, text, n);
	k->text[n] = '\0';
	k->next = w->tree->kept;
	w->tree->kept = k;
	return k->text;
}

/* Whether the path continues with a key of n bytes, which may hold dots. */
static bool
fits(const struct walk *w, const char *key, size_t n)
{
	const char *end = w->rest + n;

	return end <= w->end && strncmp(w->rest, key, n) == 0 &&
	       (end == w->end || *end == '.' || *end == '[');
}

/* The longest key of the map w->at, of at least n bytes, that the path continues with, or NULL. */
static struct yaml_node *
longest_key(const struct walk *w, size_t least_n)
{
	struct yaml_node *best = NULL;
	size_t best_n = least_n;

	for (size_t i = 0; i < w->at->children_n; i++) {
		struct yaml_node *child = &w->at->child[i];
		size_t n = strlen(child->key);

		if (n >= best_n && fits(w, child->key, n)) {
			best = child;
			best_n = n;
		}
	}
	return best;
}

/* Adds the entry w->rest[n] to the map w->at, and goes there. */
static enum fail_code
add_key(struct walk *w, size_t n)
{
	struct yaml_node *map = w->at, *more;
	const char *key = keep(w, w->rest, n);

	if (key == NULL)
		return w->f->code;
	more = realloc(map->child, (map->children_n + 1) * sizeof(*more));
	if (more == NULL)
		return fail_memory(w->f);
	map->child = more;
	w->at = &more[map->children_n++];
	*w->at = (struct yaml_node){.kind = YAML_TEXT, .key = key, .text = "", .plain = true};
	return FAIL_NONE;
}

/* One key further down; one that is missing is added. */
static enum fail_code
step_key(struct walk *w)
{
	struct yaml_node *next;
	size_t n, used = strlen(w->done);
	bool whole;

	/* `mix:` without a value, or a key that was added by the step before. */
	if (w->at->kind == YAML_TEXT && w->at->plain && *w->at->text == '\0')
		w->at->kind = YAML_MAP;
	if (w->at->kind != YAML_MAP)
		return fail_setting(w,
		    "%s is a %s, not a map of keys and values: replace it as a "
		    "whole, with -s '%s={...}'",
		    w->done, w->at->kind == YAML_LIST ? "list" : "value", w->done);
	whole = w->whole(w->done);
	n = whole ? (size_t)(w->end - w->rest) : strcspn(w->rest, ".[=");
	next = longest_key(w, n);
	n = next != NULL ? strlen(next->key) : n;
	if (n == 0)
		return fail_setting(w, "a part of the key is empty");
	snprintf(w->done + used, sizeof(w->done) - used, "%s%.*s", used == 0 ? "" : ".",
	    (int)(n & 0xFFFF), w->rest);
	if (next == NULL && add_key(w, n) != FAIL_NONE)
		return w->f->code;
	if (next != NULL)
		w->at = next;
	w->rest += n;
	return FAIL_NONE;
}

/* "[2]": to an entry of the list w->at. */
static enum fail_code
step_entry(struct walk *w)
{
	char *after;
	unsigned long i = strtoul(w->rest + 1, &after, 10);
	size_t used = strlen(w->done);

	if (after == w->rest + 1 || w->rest[1] < '0' || w->rest[1] > '9' || *after != ']')
		return fail_setting(w, "%s: the number of an entry, from 0, is missing", w->done);
	if (w->at->kind != YAML_LIST || i >= w->at->children_n)
		return fail_setting(w, "%s has no entry [%lu] in the file (it has %zu, from 0)",
		    w->done, i, w->at->kind == YAML_LIST ? w->at->children_n : 0);
	snprintf(w->done + used, sizeof(w->done) - used, "[%lu]", i);
	w->at = &w->at->child[i];
	w->rest = after + 1;
	return FAIL_NONE;
}

static enum fail_code
walk_path(struct walk *w)
{
	if (step_key(w) != FAIL_NONE)
		return w->f->code;
	while (w->rest < w->end) {
		char c = *w->rest;

		if (c == '[') {
			if (step_entry(w) != FAIL_NONE)
				return w->f->code;
			continue;
		}
		if (c != '.')
			return fail_setting(w, "a dot is missing behind %s", w->done);
		w->rest++;
		if (step_key(w) != FAIL_NONE)
			return w->f->code;
	}
	return FAIL_NONE;
}

/* No line of the file is to blame for what a setting brought. */
static void
clear_lines(struct yaml_node *node)
{
	node->line = 0;
	for (size_t i = 0; i < node->children_n; i++)
		clear_lines(&node->child[i]);
}

/* Reads the value as YAML, and moves its nodes into *out. */
static enum fail_code
read_value(struct walk *w, const char *value, struct yaml_node *out)
{
	struct yaml_tree *t;
	struct failure why;

	if (yaml_tree_decode(&t, "value", value, strlen(value), &why) != FAIL_NONE)
		return why.code == FAIL_MEMORY ? fail_memory(w->f)
					       : fail_setting(w, "%s", why.text);
	*out = t->root;
	t->root = (struct yaml_node){.kind = YAML_TEXT};
	t->next = w->tree->settings;
	w->tree->settings = t;
	clear_lines(out);
	return FAIL_NONE;
}

enum fail_code
yaml_tree_set(
    struct yaml_tree *t, const char *setting, bool (*whole)(const char *path), struct failure *f)
{
	struct walk w = {
	    .tree = t, .setting = setting, .at = &t->root, .rest = setting, .whole = whole, .f = f};
	struct yaml_node value = {.kind = YAML_TEXT, .plain = true};
	const char *key;

	w.end = strchr(setting, '=');
	if (w.end == NULL)
		return fail(f, FAIL_CONFIG, "-s %.*s: has no '=' (KEY=VALUE)", SHOWN_MAX, setting);
	if (walk_path(&w) != FAIL_NONE)
		return f->code;
	if (w.end[1] != '\0' && strchr("[{\"'", w.end[1]) != NULL) {
		if (read_value(&w, w.end + 1, &value) != FAIL_NONE)
			return f->code;
	} else if ((value.text = keep(&w, w.end + 1, strlen(w.end + 1))) == NULL) {
		return f->code;
	}
	node_clear(w.at);
	key = w.at->key;
	*w.at = value;
	w.at->key = key;
	return FAIL_NONE;
}
