#include "common/base/json_field.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json_text.h"

/* A component of a path: a tree whose branches are the paths. */
struct node {
	char *key;
	size_t key_n;
	uint32_t ends;   /* bit i: path i ends here */
	uint32_t passes; /* bit i: path i ends here or below */
	struct node *child, *sibling;
};

struct json_field_paths {
	struct node root;
	size_t n;
};

struct json_field_scratch {
	char *bytes;
	size_t room, used;
};

struct parse {
	struct json_text text;
	struct json_field_scratch *scratch;
	struct json_field_value *value;
};

enum fail_code
json_field_scratch_open(struct json_field_scratch **out, struct failure *f)
{
	struct json_field_scratch *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return fail_memory(f);
	*out = s;
	return FAIL_NONE;
}

void
json_field_scratch_close(struct json_field_scratch *s)
{
	if (s == NULL)
		return;
	free(s->bytes);
	free(s);
}

static struct node *
find_child(const struct node *parent, const char *key, size_t n)
{
	for (struct node *c = parent->child; c != NULL; c = c->sibling)
		if (c->key_n == n && memcmp(c->key, key, n) == 0)
			return c;
	return NULL;
}

static struct node *
add_child(struct node *parent, const char *key, size_t n)
{
	struct node *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return NULL;
	c->key = strndup(key, n);
	if (c->key == NULL) {
		free(c);
		return NULL;
	}
	c->key_n = n;
	c->sibling = parent->child;
	parent->child = c;
	return c;
}

static enum fail_code
add_path(struct json_field_paths *p, const char *path, uint32_t bit, struct failure *f)
{
	struct node *at = &p->root;
	size_t depth = 0;

	for (const char *rest = path;; rest++) {
		size_t n = strcspn(rest, ".");
		struct node *next = find_child(at, rest, n);

		if (n == 0)
			return fail(f, FAIL_CONFIG,
			    "field \"%s\": has an empty part; write it as a.b or a", path);
		if (++depth > JSON_TEXT_DEPTH_MAX)
			return fail(f, FAIL_CONFIG, "field \"%s\": more than %d parts", path,
			    JSON_TEXT_DEPTH_MAX);
		if (next == NULL)
			next = add_child(at, rest, n);
		if (next == NULL)
			return fail_memory(f);
		next->passes |= bit;
		at = next;
		rest += n;
		if (*rest == '\0')
			break;
	}
	at->ends |= bit;
	return FAIL_NONE;
}

enum fail_code
json_field_paths_open(
    struct json_field_paths **out, const char *const *path, size_t n, struct failure *f)
{
	struct json_field_paths *p;

	if (n > JSON_FIELD_PATHS_MAX)
		return fail(f, FAIL_CONFIG,
		    "%zu different fields of one input, at most %d can be read", n,
		    JSON_FIELD_PATHS_MAX);
	p = calloc(1, sizeof(*p));
	if (p == NULL)
		return fail_memory(f);
	p->n = n;
	for (size_t i = 0; i < n; i++)
		if (add_path(p, path[i], UINT32_C(1) << i, f) != FAIL_NONE) {
			json_field_paths_close(p);
			return f->code;
		}
	*out = p;
	return FAIL_NONE;
}

/* Ends what is below a node; recurses as deep as a path has parts. */
static void
close_children(struct node *parent)
{
	while (parent->child != NULL) {
		struct node *c = parent->child;

		parent->child = c->sibling;
		close_children(c);
		free(c->key);
		free(c);
	}
}

void
json_field_paths_close(struct json_field_paths *p)
{
	if (p == NULL)
		return;
	close_children(&p->root);
	free(p);
}

static void
set_values(struct parse *s, uint32_t bits, struct json_field_value value)
{
	for (; bits != 0; bits &= bits - 1)
		s->value[__builtin_ctz(bits)] = value;
}

static bool read_object(struct parse *s, const struct node *node, size_t level);

/* Reads the value of a key that is on a path. An equal key before it no longer counts. */
static bool
read_wanted(struct parse *s, const struct node *node, size_t level)
{
	struct json_text *t = &s->text;
	struct json_field_value value = {.found = JSON_FIELD_OTHER, .bytes = t->at, .raw = t->at};
	char *room = s->scratch->bytes + s->scratch->used;
	bool good;

	set_values(s, node->passes, (struct json_field_value){.found = JSON_FIELD_MISSING});
	if (node->ends != 0 && json_text_take(t, '"')) {
		value.found = JSON_FIELD_STRING;
		good = json_text_string(t, room, &value.bytes, &value.n);
		if (good && value.bytes == room)
			s->scratch->used += value.n;
		value.raw_n = (size_t)(t->at - value.raw);
		set_values(s, node->ends, value);
		return good;
	}
	if (node->child != NULL && t->at < t->end && *t->at == '{')
		good = json_text_check_depth(t, level) && json_text_take(t, '{') &&
		       read_object(s, node, level + 1);
	else
		good = json_text_skip(t, level);
	value.n = value.raw_n = (size_t)(t->at - value.bytes);
	set_values(s, node->ends, value);
	return good;
}

/* Reads an object on a path, after its brace; recurses as deep as a path has parts. */
static bool
read_object(struct parse *s, const struct node *node, size_t level)
{
	struct json_text *t = &s->text;

	json_text_space(t);
	if (json_text_take(t, '}'))
		return true;
	for (;;) {
		const struct node *child;
		const char *key;
		size_t n;

		if (!json_text_key(t) ||
		    !json_text_string(t, s->scratch->bytes + s->scratch->used, &key, &n))
			return false;
		child = find_child(node, key, n);
		if (!json_text_colon(t))
			return false;
		if (!(child != NULL ? read_wanted(s, child, level) : json_text_skip(t, level)))
			return false;
		json_text_space(t);
		if (json_text_take(t, '}'))
			return true;
		if (!json_text_take(t, ','))
			return json_text_bad(t, "a comma or } is missing");
	}
}

/* Room for one text and a word: strings get no longer when they are decoded. */
static enum fail_code
reserve(struct json_field_scratch *s, size_t n, struct failure *f)
{
	size_t room = n + n / 4 + JSON_TEXT_SLACK_BYTES;
	char *grown;

	s->used = 0;
	if (s->room >= n + JSON_TEXT_SLACK_BYTES)
		return FAIL_NONE;
	grown = malloc(room);
	if (grown == NULL)
		return fail_memory(f);
	free(s->bytes);
	s->bytes = grown;
	s->room = room;
	return FAIL_NONE;
}

enum fail_code
json_field_read(const struct json_field_paths *p, struct json_field_scratch *scratch,
    const char *text, size_t n, struct json_field_value *value, struct failure *f)
{
	struct parse s = {{text, text, text + n, NULL}, scratch, value};
	struct json_text *t = &s.text;
	bool good, object;

	assert(p->n <= JSON_FIELD_PATHS_MAX);
	assert(text != NULL || n == 0);
	if (reserve(scratch, n, f) != FAIL_NONE)
		return f->code;
	for (size_t i = 0; i < p->n; i++)
		value[i] = (struct json_field_value){.found = JSON_FIELD_MISSING};
	json_text_space(t);
	object = json_text_take(t, '{');
	good = object ? read_object(&s, &p->root, 1) : json_text_skip(t, 0);
	if (good)
		json_text_space(t);
	if (good && t->at < t->end)
		good = json_text_bad(t, "something follows the value");
	if (!good)
		return fail(f, FAIL_DATA, "invalid JSON at byte %zu: %s",
		    (size_t)(t->at - t->start), t->bad);
	if (!object)
		return fail(f, FAIL_DATA, "invalid JSON at byte 0: an object is wanted");
	return FAIL_NONE;
}
