#include "cli/config/init_field.h"

#include <assert.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/config/config.h"
#include "producer/document/router.h"
#include "producer/input/file_list.h"
#include "producer/input/input.h"

enum { FIELDS_MAX = 64, DEPTH_MAX = 4, DOCUMENT_BYTES_MAX = 64 << 20 };

struct seen {
	char path[INIT_FIELD_BYTES];
	size_t records;
	uint64_t bytes;
};

struct look {
	struct seen field[FIELDS_MAX];
	size_t n;
	size_t objects, rejects, tokens; /* `tokens`: objects that are lines of tokens */
	char first_reject[INIT_FIELD_WHY_BYTES - 64], keys[INIT_FIELD_WHY_BYTES / 2];
};

static void
add_text(struct look *l, const char *path, size_t bytes)
{
	size_t i = 0;

	while (i < l->n && strcmp(l->field[i].path, path) != 0)
		i++;
	if (i == FIELDS_MAX)
		return;
	if (i == l->n) {
		assert(strlen(path) < sizeof(l->field[i].path));
		memcpy(l->field[i].path, path, strlen(path) + 1);
		l->n++;
	}
	l->field[i].records++;
	l->field[i].bytes += bytes;
}

/* All texts of an object and those in it. A key that is no part of a dotted path is passed over. */
static void
add_object(struct look *l, const json_t *object, const char *prefix, int depth)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)object, key, value)
	{
		char path[2 * INIT_FIELD_BYTES];
		int n = snprintf(
		    path, sizeof(path), "%s%s%s", prefix, prefix[0] == '\0' ? "" : ".", key);

		if (key[0] == '\0' || strchr(key, '.') != NULL || n >= INIT_FIELD_BYTES)
			continue;
		if (json_is_string(value))
			add_text(l, path, json_string_length(value));
		else if (json_is_object(value) && depth < DEPTH_MAX)
			add_object(l, value, path, depth + 1);
	}
}

static void
note_keys(struct look *l, const json_t *object)
{
	const char *key;
	json_t *value;
	size_t used = 0;

	json_object_foreach((json_t *)(uintptr_t)object, key, value)
	{
		if (used + strlen(key) + sizeof(", ") > sizeof(l->keys))
			break;
		used += (size_t)snprintf(
		    l->keys + used, sizeof(l->keys) - used, "%s%s", used == 0 ? "" : ", ", key);
	}
}

static void
add_record(struct look *l, const struct chunk_record *r)
{
	json_error_t why;
	json_t *value = r->reject == NULL ? json_loadb(r->bytes, r->n, 0, &why) : NULL;

	if (json_is_object(value)) {
		if (l->objects++ == 0)
			note_keys(l, value);
		add_object(l, value, "", 1);
		l->tokens += json_is_integer(json_array_get(json_object_get(value, "tokens"), 0));
	} else if (l->rejects++ == 0) {
		snprintf(l->first_reject, sizeof(l->first_reject), "%.100s%s",
		    r->reject != NULL ? r->reject
		    : value == NULL   ? why.text
				      : "it is no JSON object",
		    r->reject != NULL ? "" : router_json_hint(router_json_kind(r->bytes, r->n)));
	}
	json_decref(value);
}

/* Nine of ten records have it, and it is no empty one. */
static bool
is_common(const struct look *l, const struct seen *s)
{
	return s->records * 10 >= l->objects * 9 && s->bytes > 0;
}

/* The most bytes among the common fields other than `but`; NULL: there is none. */
static const struct seen *
largest(const struct look *l, const struct seen *but)
{
	const struct seen *best = NULL;

	for (size_t i = 0; i < l->n; i++)
		if (&l->field[i] != but && is_common(l, &l->field[i]) &&
		    (best == NULL || l->field[i].bytes > best->bytes))
			best = &l->field[i];
	return best;
}

static void
choose(struct init_field *out, const struct look *l)
{
	const struct seen *best = largest(l, NULL), *rival;

	for (size_t i = 0; best != NULL && i < l->n; i++)
		if (strcmp(l->field[i].path, "text") == 0 && is_common(l, &l->field[i]))
			best = &l->field[i];
	out->records = l->objects;
	if (l->objects == 0 && l->rejects > 0) {
		snprintf(out->why, sizeof(out->why), "none of its first %zu records is read: %s",
		    l->rejects, l->first_reject);
	} else if (l->objects == 0) {
		snprintf(out->why, sizeof(out->why), "it has no record");
	} else if (l->tokens * 10 >= l->objects * 9) {
		out->tokens = true;
	} else if (best == NULL) {
		snprintf(out->why, sizeof(out->why),
		    "no field holds a text in its first %zu records; the first has: %s", l->objects,
		    l->keys);
	} else {
		rival = largest(l, best);
		snprintf(out->path, sizeof(out->path), "%s", best->path);
		out->bytes = best->bytes;
		if (rival != NULL && 2 * rival->bytes >= best->bytes)
			snprintf(out->rival, sizeof(out->rival), "%s", rival->path);
	}
}

enum fail_code
init_field_find(struct init_field *out, const char *path, struct failure *f)
{
	char *pattern = file_list_pattern(path);
	const struct config_list patterns = {.n = 1, .text = &pattern};
	struct input_options o = {.patterns = &patterns,
	    .folder = ".",
	    .partitions = 1,
	    .max_document_bytes = DOCUMENT_BYTES_MAX};
	struct look *l = calloc(1, sizeof(*l));
	struct input *in = NULL;
	struct chunk *chunk = NULL;
	enum fail_code code;

	*out = (struct init_field){0};
	if (pattern == NULL || l == NULL)
		code = fail_memory(f);
	else
		code = input_open(&in, &o, NULL, f);
	if (code == FAIL_NONE)
		code = input_next(in, &chunk, f);
	for (size_t i = 0; code == FAIL_NONE && chunk != NULL && i < chunk->n; i++)
		if (i < INIT_FIELD_RECORDS)
			add_record(l, &chunk->record[i]);
	if (code == FAIL_NONE) {
		choose(out, l);
	} else if (code != FAIL_MEMORY) {
		snprintf(out->why, sizeof(out->why), "%.200s", f->text);
		code = FAIL_NONE;
	}
	chunk_close(chunk);
	input_close(in);
	free(l);
	free(pattern);
	return code;
}
