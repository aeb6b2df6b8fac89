#include "cli/serve/serve_change.h"

#include <assert.h>
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json_memory.h"
#include "common/base/limits.h"
#include "common/base/names.h"

void
serve_change_clear(struct serve_change *c)
{
	for (size_t i = 0; i < c->words_n; i++)
		free(c->word[i]);
	free(c->word);
	free(c->id);
	free(c->who);
	*c = (struct serve_change){0};
}

/* ---- values ---- */

static enum fail_code
take_number(double *out, const char *key, const json_t *value, struct failure *f)
{
	*out = json_is_number(value) ? json_number_value(value) : 0;
	if (isfinite(*out) && *out > 0)
		return FAIL_NONE;
	return fail(f, FAIL_USAGE, "%s: must be a number above 0", key);
}

static enum fail_code
take_integer(int64_t *out, const char *key, const json_t *value, int64_t least, int64_t most,
    struct failure *f)
{
	*out = json_is_integer(value) ? (int64_t)json_integer_value(value) : -1;
	if (*out >= least && *out <= most)
		return FAIL_NONE;
	return fail(f, FAIL_USAGE, "%s: must be a whole number from %lld to %lld", key,
	    (long long)least, (long long)most);
}

/* A line of text without control characters, which others will read. */
static enum fail_code
take_text(char **out, const char *key, const json_t *value, size_t most, struct failure *f)
{
	const char *text = json_string_value(value);
	size_t n = text == NULL ? 0 : json_string_length(value);

	for (size_t i = 0; i < n; i++)
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			n = 0;
	if (n == 0 || n > most)
		return fail(
		    f, FAIL_USAGE, "%s: must be a text of 1 to %zu bytes, in one line", key, most);
	*out = strdup(text);
	return *out == NULL ? fail_memory(f) : FAIL_NONE;
}

static enum fail_code
take_weights(struct serve_change *out, const json_t *weights, struct failure *f)
{
	const char *name;
	json_t *value;

	if (!json_is_object(weights) || json_object_size(weights) > LIMIT_DOMAINS)
		return fail(f, FAIL_USAGE,
		    "weights: must be an object of at most %d domains, {\"DOMAIN\": WEIGHT}",
		    LIMIT_DOMAINS);
	out->word = calloc(json_object_size(weights) + 1, sizeof(*out->word));
	if (out->word == NULL)
		return fail_memory(f);
	json_object_foreach((json_t *)(uintptr_t)weights, name, value)
	{
		char word[NAME_MAX_BYTES + 40];

		if (!names_valid(name))
			return fail(
			    f, FAIL_USAGE, "weights: not the name of a domain: %.100s", name);
		if (!json_is_number(value) || !isfinite(json_number_value(value)))
			return fail(f, FAIL_USAGE, "weights: %s: must be a number", name);
		snprintf(word, sizeof(word), "%s=%.17g", name, json_number_value(value));
		out->word[out->words_n] = strdup(word);
		if (out->word[out->words_n] == NULL)
			return fail_memory(f);
		out->words_n++;
	}
	return FAIL_NONE;
}

/* ---- the object ---- */

static enum fail_code
take_key(struct serve_change *out, const char *key, const json_t *value, struct failure *f)
{
	int64_t batch;

	if (strcmp(key, "weights") == 0)
		return take_weights(out, value, f);
	if (strcmp(key, "temperature") == 0)
		return take_number(&out->temperature, key, value, f);
	if (strcmp(key, "lr_scale") == 0)
		return take_number(&out->lr_scale, key, value, f);
	if (strcmp(key, "global_batch") == 0) {
		if (take_integer(&batch, key, value, 1, LIMIT_BATCH, f) != FAIL_NONE)
			return f->code;
		out->global_batch = (uint32_t)batch;
		return FAIL_NONE;
	}
	if (strcmp(key, "at_step") == 0)
		return json_is_null(value)
			   ? FAIL_NONE
			   : take_integer(&out->at_step, key, value, 0, (int64_t)LIMIT_STEP, f);
	if (strcmp(key, "id") == 0)
		return take_text(&out->id, key, value, NAME_MAX_BYTES, f);
	if (strcmp(key, "who") == 0)
		return take_text(&out->who, key, value, SERVE_CHANGE_WHO_MAX, f);
	if (strcmp(key, "dry_run") != 0)
		return fail(f, FAIL_USAGE,
		    "%.40s: not a key of a change (weights, temperature, lr_scale, global_batch, "
		    "at_step, id, who, dry_run)",
		    key);
	if (!json_is_boolean(value))
		return fail(f, FAIL_USAGE, "dry_run: must be true or false");
	out->dry_run = json_is_true(value);
	return FAIL_NONE;
}

static enum fail_code
take_all(struct serve_change *out, json_t *body, struct failure *f)
{
	const char *key;
	json_t *value;

	if (!json_is_object(body))
		return fail(f, FAIL_USAGE, "the body: must be a JSON object");
	json_object_foreach(body, key, value)
	{
		if (take_key(out, key, value, f) != FAIL_NONE)
			return f->code;
	}
	if (out->who == NULL)
		return fail(f, FAIL_USAGE, "who: is needed: the mix keeps who asked for a change");
	if (out->words_n == 0 && out->temperature == 0 && out->lr_scale == 0 &&
	    out->global_batch == 0)
		return fail(f, FAIL_USAGE,
		    "no change is given: weights, temperature, lr_scale or global_batch");
	return FAIL_NONE;
}

enum fail_code
serve_change_parse(struct serve_change *out, const char *body, size_t n, struct failure *f)
{
	json_error_t why;
	json_t *value;
	enum fail_code code;

	assert(out->word == NULL); /* zeroed */
	out->at_step = -1;
	errno = 0;
	value = json_loadb(n == 0 ? "" : body, n, JSON_REJECT_DUPLICATES, &why);
	if (value == NULL)
		return json_memory_refused()
			   ? fail_memory(f)
			   : fail(f, FAIL_USAGE, "the body: not JSON: %s", why.text);
	code = take_all(out, value, f);
	json_decref(value);
	return code;
}
