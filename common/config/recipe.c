#include "common/config/recipe.h"

#include <assert.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "common/base/json_memory.h"
#include "common/base/scalar.h"
#include "common/config/config_internal.h"

static const char tokenizer_key[] = "tokenizer";
static const char no_target_key[] = "no_target";
static const char *const held_out[] = {"valid", "valid.exec", "test", "test.exec"};
static const char *const sources[] = {
    "train", "valid", "valid.exec", "test", "test.exec", "exec", "exec_name"};

/* ---- one key ---- */

static bool
is_source(const char *key)
{
	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++)
		if (strcmp(key, sources[i]) == 0)
			return true;
	return false;
}

/* The row's key as a recipe has it. */
static const char *
key_of(const struct config_key *row)
{
	size_t n = strlen(CONFIG_DOMAIN_PREFIX);

	return strncmp(row->path, CONFIG_DOMAIN_PREFIX, n) == 0 ? row->path + n : row->path;
}

/* NULL: the recipe of no domain has such a key. */
static const struct config_key *
row_of(const char *key)
{
	for (size_t i = 0; i < config_keys_n; i++)
		if (config_keys[i].recipe && strcmp(key_of(&config_keys[i]), key) == 0)
			return &config_keys[i];
	return NULL;
}

/* Whether a key has an effect on what the producer makes of the domain's input. */
static bool
has_effect(const char *key, const struct config *c, const struct config_domain *d)
{
	static const char *const of_texts[] = {
	    "text", "tokenizer.add_special", "tokenizer.special_as_text", "prompt", "response"};

	if (strcmp(key, "split") == 0)
		return config_is_split(d);
	if (strcmp(key, "split_unit") == 0 || strcmp(key, "split_piece") == 0)
		return config_split_piece(c, d) > 0;
	if (strcmp(key, "file_order") == 0)
		return d->file_order != CONFIG_FILES_BY_NAME;
	if (strcmp(key, "over_long") == 0)
		return d->packing == SEQUENCE_NONE;
	if (strcmp(key, no_target_key) == 0)
		return d->no_target != CONFIG_NO_TARGET_AUTO;
	if (strcmp(key, "text") == 0 && d->prompt != NULL)
		return false;
	if (strcmp(key, "token_bytes") == 0)
		return token_format_is_file(d->tokens);
	if (strcmp(key, "utf8") == 0)
		return !token_format_is_file(d->tokens);
	for (size_t i = 0; i < sizeof(of_texts) / sizeof(of_texts[0]); i++)
		if (strcmp(key, of_texts[i]) == 0)
			return d->tokens == TOKEN_FORMAT_NONE;
	return true;
}

/* NULL: no memory. */
static json_t *
list_value(const struct config_list *list)
{
	json_t *out = json_array();
	int lost = 0;

	for (size_t i = 0; i < list->n; i++)
		lost |= json_array_append_new(out, json_string(list->text[i]));
	if (lost == 0)
		return out;
	json_decref(out);
	return NULL;
}

/* NULL: no memory. */
static json_t *
hash_value(const char *text)
{
	char shown[32];

	snprintf(shown, sizeof(shown), "hash %016" PRIx64, (uint64_t)XXH64(text, strlen(text), 0));
	return json_string(shown);
}

static bool
is_command(const char *key)
{
	const char *dot = strrchr(key, '.');

	return strcmp(dot == NULL ? key : dot + 1, "exec") == 0;
}

/* The value of a row as a person could write it; json_null() where it has none. NULL: no memory. */
static json_t *
value_of(const struct config_key *row, const void *base)
{
	const void *at = (const char *)base + row->at;
	char text[SCALAR_SIZE_TEXT_MAX > 48 ? SCALAR_SIZE_TEXT_MAX : 48];
	const char *const *name = at;
	const uint32_t *count = at;

	switch (row->kind) {
	case CONFIG_TEXT:
	case CONFIG_NAME:
		if (*name == NULL)
			return json_null();
		return is_command(key_of(row)) ? hash_value(*name) : json_string(*name);
	case CONFIG_COUNT32: snprintf(text, sizeof(text), "%" PRIu32, *count); break;
	case CONFIG_SIZE: scalar_size_text(text, *(const uint64_t *)at); break;
	case CONFIG_BOOL: return json_string(*(const bool *)at ? "true" : "false");
	case CONFIG_CHOICE: return json_string(row->choice[*(const unsigned *)at]);
	case CONFIG_LIST:
	case CONFIG_FIELDS:
		return ((const struct config_list *)at)->n == 0 ? json_null() : list_value(at);
	case CONFIG_SPLIT:
		snprintf(text, sizeof(text), "%" PRIu32 ",%" PRIu32 ",%" PRIu32, count[0], count[1],
		    count[2]);
		break;
	case CONFIG_COUNT:
	case CONFIG_POSITIVE:
	case CONFIG_NUMBER:
	case CONFIG_RUNS:
	case CONFIG_PROPERTIES:
	case CONFIG_DOMAINS:
	case CONFIG_FOLDER:
	case CONFIG_WEIGHTS:
	case CONFIG_ROUND:
	case CONFIG_PHASES:
	case CONFIG_PHASE_MAP:
	case CONFIG_ANNEAL_STEP:
	case CONFIG_ANNEAL_MAP: abort(); /* no row of these kinds is part of a recipe */
	}
	return json_string(text);
}

/* ---- the text ---- */

static json_t *
object_of(const struct config *c, const struct config_domain *d, const uint64_t *tokenizer)
{
	json_t *all = json_object();
	int lost = 0;

	for (size_t i = 0; i < config_keys_n; i++) {
		const struct config_key *row = &config_keys[i];
		const char *key = key_of(row);
		json_t *value;

		if (!row->recipe || !has_effect(key, c, d))
			continue;
		value = value_of(row, key == row->path ? (const void *)c : (const void *)d);
		if (!json_is_null(value))
			lost |= json_object_set_new(all, key, value);
	}
	if (tokenizer != NULL) {
		char text[17];

		snprintf(text, sizeof(text), "%016" PRIx64, *tokenizer);
		lost |= json_object_set_new(all, tokenizer_key, json_string(text));
	}
	if (lost == 0)
		return all;
	json_decref(all);
	return NULL;
}

/* Ten thousand files, each by its name: a hash stands for them. */
static int
shorten_lists(json_t *all)
{
	int lost = 0;

	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
		json_t *list = json_object_get(all, sources[i]);
		char *text;

		if (!json_is_array(list))
			continue;
		text = json_memory_text(list, JSON_COMPACT);
		lost |= text == NULL || json_object_set_new(all, sources[i], hash_value(text)) != 0;
		free(text);
	}
	return lost;
}

enum fail_code
recipe_text(char **out, const struct config *c, const struct config_domain *d,
    const uint64_t *tokenizer, struct failure *f)
{
	json_t *all = object_of(c, d, tokenizer);

	*out = all == NULL ? NULL : json_memory_text(all, JSON_SORT_KEYS | JSON_COMPACT);
	if (*out != NULL && strlen(*out) > RECIPE_BYTES_MAX) {
		free(*out);
		*out = shorten_lists(all) != 0
			   ? NULL
			   : json_memory_text(all, JSON_SORT_KEYS | JSON_COMPACT);
	}
	json_decref(all);
	return *out == NULL ? fail_memory(f) : FAIL_NONE;
}

/* ---- the comparison ---- */

static enum fail_code
parse(json_t **out, const char *text, size_t n, struct failure *f)
{
	json_error_t why;

	errno = 0;
	*out = json_loadb(text, n, 0, &why);
	if (*out == NULL && json_memory_refused())
		return fail_memory(f);
	if (json_is_object(*out))
		return FAIL_NONE;
	fail(f, FAIL_DATA, "header %s is not a JSON object%s%s", RECIPE_HEADER,
	    *out == NULL ? ": " : "", *out == NULL ? why.text : "");
	json_decref(*out);
	return f->code;
}

static void
show(char shown[static CONFIG_SHOWN_MAX], const json_t *value)
{
	char *text = value == NULL
			 ? NULL
			 : json_memory_text(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_SORT_KEYS);

	config_shown(shown, text == NULL ? "nothing" : text);
	free(text);
}

/* Whether a key that one side lacks has its default on the other. */
static bool
is_default(const char *key, const json_t *value)
{
	const struct config_key *row = row_of(key);

	return row != NULL && row->default_text != NULL && json_is_string(value) &&
	       strcmp(json_string_value(value), row->default_text) == 0;
}

static void
put_difference(char list[static RECIPE_DIFFERENCES_BYTES], const char *key, const json_t *logged,
    const json_t *present)
{
	char was[CONFIG_SHOWN_MAX], is[CONFIG_SHOWN_MAX];
	size_t used = strlen(list);

	assert(used < RECIPE_DIFFERENCES_BYTES);
	show(was, logged);
	show(is, present);
	snprintf(list + used, RECIPE_DIFFERENCES_BYTES - used,
	    "%s%s: %s in the log, %s in the file", used == 0 ? "" : "; ", key, was, is);
}

static void
compare_key(
    struct recipe_differences *out, const char *key, const json_t *logged, const json_t *present)
{
	if (logged != NULL && present != NULL
		? json_equal(logged, present)
		: strcmp(key, tokenizer_key) == 0 ||
		      is_default(key, logged != NULL ? logged : present))
		return;
	put_difference(is_source(key) ? out->source : out->kind, key, logged, present);
}

/*
 * A log without the key keeps documents without a target, as releases before the key did. A file
 * without it accepts every rule that this release knows.
 */
static void
compare_no_target(struct recipe_differences *out, const json_t *was, const json_t *is)
{
	const json_t *logged = json_object_get(was, no_target_key);
	const json_t *present = json_object_get(is, no_target_key);
	const char *rule = logged == NULL ? "keep" : json_string_value(logged);
	bool skips = rule != NULL && strcmp(rule, "skip") == 0;

	out->no_target = skips ? CONFIG_NO_TARGET_SKIP : CONFIG_NO_TARGET_KEEP;
	if (present == NULL ? !skips && logged != NULL
			    : rule == NULL || strcmp(rule, json_string_value(present)) != 0)
		put_difference(out->kind, no_target_key, logged, present);
}

/* What has been said of the split says all of its unit, too. */
static bool
is_compared(const char *key, bool both_split)
{
	if (strcmp(key, "split") == 0 || strcmp(key, no_target_key) == 0)
		return false;
	return both_split || strncmp(key, "split_", strlen("split_")) != 0;
}

/* The first input of its own that a set has; NULL: the domain is split. */
static const char *
held_out_key(const json_t *recipe)
{
	for (size_t i = 0; i < sizeof(held_out) / sizeof(held_out[0]); i++)
		if (json_object_get(recipe, held_out[i]) != NULL)
			return held_out[i];
	return NULL;
}

/*
 * Inputs for validation or test take the place of the split, and the other way round: of the two
 * the user has changed `valid`, and has not touched `split`.
 */
static void
compare_split(struct recipe_differences *out, const json_t *was, const json_t *is)
{
	const json_t *logged = json_object_get(was, "split"),
		     *present = json_object_get(is, "split");
	const json_t *only = logged == NULL ? present : logged;
	const char *key = held_out_key(logged == NULL ? was : is);
	size_t used;

	if (only == NULL)
		return;
	if ((logged != NULL && present != NULL) || is_default("split", only) || key == NULL) {
		compare_key(out, "split", logged, present);
		return;
	}
	put_difference(out->kind, key, json_object_get(was, key), json_object_get(is, key));
	used = strlen(out->kind);
	snprintf(out->kind + used, RECIPE_DIFFERENCES_BYTES - used, "%s",
	    present == NULL ? ", which take the place of split" : ", where split counts again");
}

enum fail_code
recipe_compare(struct recipe_differences *out, const char *logged, size_t n, const char *present,
    struct failure *f)
{
	json_t *was, *is, *value;
	const char *key;
	bool both;

	out->kind[0] = out->source[0] = '\0';
	if (parse(&was, logged, n, f) != FAIL_NONE)
		return f->code;
	if (parse(&is, present, strlen(present), f) != FAIL_NONE) {
		json_decref(was);
		return f->code;
	}
	compare_split(out, was, is);
	compare_no_target(out, was, is);
	both = json_object_get(was, "split") != NULL && json_object_get(is, "split") != NULL;
	json_object_foreach(was, key, value) if (is_compared(key, both))
	    compare_key(out, key, value, json_object_get(is, key));
	json_object_foreach(
	    is, key, value) if (json_object_get(was, key) == NULL && is_compared(key, both))
	    compare_key(out, key, NULL, value);
	json_decref(was);
	json_decref(is);
	return FAIL_NONE;
}
