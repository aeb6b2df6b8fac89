/*
 * One value of the configuration: from a node of YAML, by its row of the table, into the struct.
 *
 * config_value() looks at the node's kind and set_text() or set_list() at the row's; below them is
 * a function for each type of destination. A value that is refused always leads to one sentence
 * with the same parts, so that it can be corrected without the manual:
 *
 *     run.yml:4: mix.lanes: out of range: 0 (1 to 4096)
 *     file:line: key        problem       value  what is allowed
 *
 * A default of the table goes the same way as a text of the file: what a person could write is all
 * that a default can be.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/limits.h"
#include "common/base/names.h"
#include "common/base/scalar.h"
#include "common/base/text.h"
#include "common/config/config_internal.h"

enum { PARTS = 3, PART_MAX = 1000000000 };

enum fail_code
config_fail(
    const struct config *c, int line, const char *key, struct failure *f, const char *format, ...)
{
	char text[FAILURE_TEXT_MAX];
	va_list ap;

	assert(c->path != NULL);
	assert(line >= 0);
	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	if (line == 0)
		return fail(f, FAIL_CONFIG, "-s %s: %s", key, text);
	return fail(f, FAIL_CONFIG, "%s:%d: %s: %s", c->path, line, key, text);
}

const char *
config_where(char out[static CONFIG_WHERE_MAX], int line)
{
	assert(line >= 0);
	if (line == 0)
		return "-s";
	snprintf(out, CONFIG_WHERE_MAX, "line %d", line);
	return out;
}

const char *
config_shown(char out[static CONFIG_SHOWN_MAX], const char *value)
{
	size_t n = strlen(value);

	if (text_show(out, CONFIG_SHOWN_MAX - 3, TEXT_LINE, value, n) < n)
		memcpy(out + strlen(out), "...", 4);
	return out;
}

/* One value under way: its row, and where the file has it. */
struct value {
	const struct config *c;
	const struct config_key *row;
	const char *key;
	int line;
	struct failure *f;
};

static enum fail_code
fail_value(const struct value *v, const char *what, const char *text, const char *allowed)
{
	char shown[CONFIG_SHOWN_MAX];

	return config_fail(
	    v->c, v->line, v->key, v->f, "%s: %s (%s)", what, config_shown(shown, text), allowed);
}

/* Replaces *to; a failure leaves it as it was. */
static enum fail_code
copy_text(const struct value *v, char **to, const char *text)
{
	char *copy;

	if (*text == '\0')
		return config_fail(v->c, v->line, v->key, v->f, "is empty (%s)", v->row->help);
	copy = strdup(text);
	if (copy == NULL)
		return fail_memory(v->f);
	free(*to);
	*to = copy;
	return FAIL_NONE;
}

static enum fail_code
set_name(const struct value *v, char **to, const char *text)
{
	if (!names_valid(text))
		return fail_value(v, "not a name", text,
		    "letters, digits, '.', '_', '-', at most 100, a letter or digit first");
	return copy_text(v, to, text);
}

static enum fail_code
set_count(const struct value *v, void *to, const char *text)
{
	char allowed[80];
	bool round = v->row->kind == CONFIG_ROUND;
	uint64_t value;
	enum scalar_result result = scalar_count(text, v->row->min, v->row->max, &value);

	assert(v->row->min <= v->row->max);
	if (v->row->automatic && strcmp(text, "auto") == 0) {
		value = 0;
		result = SCALAR_OK;
	}
	if (result == SCALAR_OK) {
		if (v->row->kind == CONFIG_COUNT32)
			*(uint32_t *)to = (uint32_t)value;
		else
			*(uint64_t *)to = value;
		return FAIL_NONE;
	}
	snprintf(allowed, sizeof(allowed), "%s%" PRIu64 " to %" PRIu64,
	    round               ? "largest, or "
	    : v->row->automatic ? "auto, or "
				: "",
	    v->row->min, v->row->max);
	return fail_value(
	    v, result == SCALAR_RANGE ? "out of range" : "not a whole number", text, allowed);
}

static enum fail_code
set_size(const struct value *v, uint64_t *to, const char *text)
{
	char allowed[128], low[SCALAR_SIZE_TEXT_MAX], high[SCALAR_SIZE_TEXT_MAX];
	enum scalar_result result = scalar_size(text, v->row->min, v->row->max, to);

	if (result == SCALAR_OK)
		return FAIL_NONE;
	if (v->row->automatic && strcmp(text, "auto") == 0) {
		*to = 0;
		return FAIL_NONE;
	}
	scalar_size_text(low, v->row->min);
	scalar_size_text(high, v->row->max);
	snprintf(allowed, sizeof(allowed), "%s%s to %s, as 4096, 16MiB or 512MB",
	    v->row->automatic ? "auto, or " : "", low, high);
	return fail_value(v, result == SCALAR_RANGE ? "out of range" : "not a size", text, allowed);
}

static enum fail_code
set_positive(const struct value *v, double *to, const char *text)
{
	double value;

	if (scalar_number(text, &value) != SCALAR_OK)
		return fail_value(v, "not a finite number", text, "a number above 0");
	if (!(value > 0))
		return fail_value(v, "out of range", text, "a number above 0");
	*to = value;
	return FAIL_NONE;
}

static enum fail_code
set_number(const struct value *v, double *to, const char *text)
{
	char allowed[80];
	double value;
	bool number = scalar_number(text, &value) == SCALAR_OK;

	assert(v->row->min <= v->row->max);
	if (number && value >= (double)v->row->min && value <= (double)v->row->max) {
		*to = value;
		return FAIL_NONE;
	}
	snprintf(allowed, sizeof(allowed), "a number from %" PRIu64 " to %" PRIu64, v->row->min,
	    v->row->max);
	return fail_value(v, number ? "out of range" : "not a finite number", text, allowed);
}

enum { CHOICES_MAX = 160 };

/* The constants of an enum, for a failure. */
static void
list_choices(char list[static CHOICES_MAX], const struct config_key *row)
{
	size_t used = 0;

	for (int i = 0; row->choice[i] != NULL; i++) {
		used += (size_t)snprintf(
		    list + used, CHOICES_MAX - used, "%s%s", i == 0 ? "" : ", ", row->choice[i]);
		assert(used < CHOICES_MAX);
	}
}

/* An enum, whose constants are the indexes of row->choice. */
static enum fail_code
set_choice(const struct value *v, int *to, const char *text)
{
	char allowed[CHOICES_MAX];

	assert(v->row->choice != NULL);
	for (int i = 0; v->row->choice[i] != NULL; i++)
		if (strcmp(text, v->row->choice[i]) == 0) {
			*to = i;
			return FAIL_NONE;
		}
	list_choices(allowed, v->row);
	return fail_value(v, "unknown value", text, allowed);
}

/*
 * Three parts, of which at least one is above 0: they are parts of their sum, so that 949,50,1 and
 * 1898,100,2 split alike. `text` has n entries, of which the first PARTS can be read.
 */
static enum fail_code
set_parts(const struct value *v, uint32_t *to, const char *const text[], size_t n)
{
	static const char allowed[] = "three whole numbers for train, valid and test, as 949,50,1";
	uint64_t part[PARTS] = {0};

	if (n != PARTS)
		return config_fail(v->c, v->line, v->key, v->f, "has %zu parts (%s)", n, allowed);
	for (size_t i = 0; i < PARTS; i++) {
		enum scalar_result result = scalar_count(text[i], 0, PART_MAX, &part[i]);

		if (result != SCALAR_OK)
			return fail_value(v,
			    result == SCALAR_RANGE ? "out of range" : "not a whole number", text[i],
			    result == SCALAR_RANGE ? "0 to 1000000000" : allowed);
	}
	if (part[0] + part[1] + part[2] == 0)
		return config_fail(v->c, v->line, v->key, v->f, "all parts are 0 (%s)", allowed);
	for (size_t i = 0; i < PARTS; i++)
		to[i] = (uint32_t)part[i];
	return FAIL_NONE;
}

/*
 * "949,50,1", with blanks around the numbers where wanted. Parts behind the third are counted and
 * not kept: set_parts() reports how many there are. A part is cut where it is longer than its
 * room, which holds more digits than a number of the range needs.
 */
static enum fail_code
set_split(const struct value *v, uint32_t *to, const char *text)
{
	char part[PARTS][SCALAR_SIZE_TEXT_MAX];
	const char *parts[PARTS] = {part[0], part[1], part[2]};
	size_t n = 0;

	for (const char *rest = text;; rest++) {
		size_t length;

		rest += strspn(rest, " ");
		length = strcspn(rest, " ,");
		if (n < PARTS)
			snprintf(part[n], sizeof(part[n]), "%.*s", (int)(length & 0xFFFF), rest);
		n++;
		rest += length;
		rest += strspn(rest, " ");
		if (*rest == '\0')
			return set_parts(v, to, parts, n);
		if (*rest != ',')
			return fail_value(v, "not a split", text,
			    "three whole numbers for train, valid and test, as 949,50,1");
	}
}

static enum fail_code
set_bool(const struct value *v, bool *to, const char *text)
{
	return scalar_bool(text, to) == SCALAR_OK
		   ? FAIL_NONE
		   : fail_value(v, "not a truth value", text, "true or false");
}

/* Appends a copy to a list that has room. CONFIG_RUNS and CONFIG_FIELDS are sets. */
static enum fail_code
add_item(const struct value *v, struct config_list *to, const char *text)
{
	char shown[CONFIG_SHOWN_MAX];

	if (v->row->kind == CONFIG_RUNS && !names_run_valid(text))
		return fail_value(v, "not a name of a run", text,
		    "letters, digits, '.', '_', '-', at most 100, a letter or digit first; not "
		    "mixer, not election: the mixer's own groups");
	for (size_t i = 0; v->row->kind != CONFIG_LIST && i < to->n; i++)
		if (strcmp(to->text[i], text) == 0)
			return config_fail(v->c, v->line, v->key, v->f, "%s %s is named twice",
			    v->row->kind == CONFIG_RUNS ? "run" : "field",
			    config_shown(shown, text));
	if (copy_text(v, &to->text[to->n], text) != FAIL_NONE)
		return v->f->code;
	to->n++;
	return FAIL_NONE;
}

/* Makes room for n items, n > 0, of an empty list. */
static enum fail_code
list_begin(const struct value *v, struct config_list *to, size_t n)
{
	size_t most = v->row->kind == CONFIG_RUNS     ? LIMIT_RUNS
		      : v->row->kind == CONFIG_FIELDS ? CONFIG_FIELDS_MAX
						      : CONFIG_LIST_MAX;

	assert(n > 0);
	assert(to->text == NULL);
	if (n > most)
		return config_fail(
		    v->c, v->line, v->key, v->f, "has %zu entries (at most %zu)", n, most);
	to->text = calloc(n, sizeof(*to->text));
	return to->text == NULL ? fail_memory(v->f) : FAIL_NONE;
}

static enum fail_code
set_list_of_one(const struct value *v, struct config_list *to, const char *text)
{
	return list_begin(v, to, 1) == FAIL_NONE ? add_item(v, to, text) : v->f->code;
}

/*
 * A list in YAML: of items, or of the three parts of a split. part[PARTS] only takes what is too
 * much. v->line follows the items, so that a failure names the item's line and not the key's.
 */
static enum fail_code
set_list(struct value *v, void *to, const struct yaml_node *node)
{
	const char *part[PARTS + 1] = {NULL};
	bool split = v->row->kind == CONFIG_SPLIT;

	assert(node->kind == YAML_LIST);
	if (node->children_n == 0)
		return config_fail(
		    v->c, v->line, v->key, v->f, "is an empty list (%s)", v->row->help);
	if (!split && list_begin(v, to, node->children_n) != FAIL_NONE)
		return v->f->code;
	for (size_t i = 0; i < node->children_n; i++) {
		const struct yaml_node *item = &node->child[i];

		v->line = item->line;
		if (item->kind != YAML_TEXT)
			return config_fail(v->c, v->line, v->key, v->f,
			    "an entry of the list is a %s (must be one value)",
			    item->kind == YAML_MAP ? "map" : "list");
		if (split)
			part[i < PARTS ? i : PARTS] = item->text;
		else if (add_item(v, to, item->text) != FAIL_NONE)
			return v->f->code;
	}
	return split ? set_parts(v, to, part, node->children_n) : FAIL_NONE;
}

static enum fail_code
set_text(const struct value *v, void *to, const char *text)
{
	switch (v->row->kind) {
	case CONFIG_TEXT:
	case CONFIG_FOLDER: return copy_text(v, to, text);
	case CONFIG_NAME: return set_name(v, to, text);
	case CONFIG_COUNT32:
	case CONFIG_COUNT:
	case CONFIG_ROUND: return set_count(v, to, text);
	case CONFIG_SIZE: return set_size(v, to, text);
	case CONFIG_POSITIVE: return set_positive(v, to, text);
	case CONFIG_NUMBER: return set_number(v, to, text);
	case CONFIG_BOOL: return set_bool(v, to, text);
	case CONFIG_CHOICE: return set_choice(v, to, text);
	case CONFIG_LIST:
	case CONFIG_RUNS:
	case CONFIG_FIELDS: return set_list_of_one(v, to, text);
	case CONFIG_SPLIT: return set_split(v, to, text);
	case CONFIG_PROPERTIES:
	case CONFIG_DOMAINS:
	case CONFIG_WEIGHTS:
	case CONFIG_PHASES:
	case CONFIG_PHASE_MAP:
	case CONFIG_ANNEAL_STEP:
	case CONFIG_ANNEAL_MAP: break; /* config.c and config_weights.c read these */
	}
	assert(false);
	return FAIL_NONE;
}

enum fail_code
config_value(const struct config *c, const struct config_key *row, const struct yaml_node *node,
    const char *key, void *base, struct failure *f)
{
	struct value v = {c, row, key, node->line, f};
	bool listed = row->kind == CONFIG_LIST || row->kind == CONFIG_RUNS ||
		      row->kind == CONFIG_FIELDS || row->kind == CONFIG_SPLIT;
	void *to = (char *)base + row->at;
	char choices[CHOICES_MAX];

	assert(node->line >= 0);
	if (node->kind == YAML_TEXT && node->plain && *node->text == '\0') {
		if (row->choice != NULL)
			list_choices(choices, row);
		return config_fail(c, node->line, key, f, "has no value (%s)",
		    row->choice != NULL ? choices : row->help);
	}
	if (node->kind == YAML_TEXT)
		return set_text(&v, to, node->text);
	if (node->kind == YAML_LIST && listed)
		return set_list(&v, to, node);
	return config_fail(c, node->line, key, f, "is a %s (must be %s)",
	    node->kind == YAML_MAP ? "map" : "list", listed ? "a value or a list" : "one value");
}

enum fail_code
config_value_default(
    const struct config *c, const struct config_key *row, void *base, struct failure *f)
{
	struct value v = {c, row, row->path, 0, f};
	enum fail_code code;

	assert(row->default_text != NULL);
	code = set_text(&v, (char *)base + row->at, row->default_text);
	assert(code == FAIL_NONE || code == FAIL_MEMORY); /* else the table is wrong */
	return code;
}
