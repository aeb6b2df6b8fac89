#include "producer/tokenizer/tokenizer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "producer/tokenizer/tiktoken.h"
#include "producer/tokenizer/tokenizer_json.h"
#include "producer/tokenizer/tokenizer_table.h"

enum fail_code
tokenizer_open(struct tokenizer **out, const struct tokenizer_options *o, struct failure *f)
{
	struct tokenizer *t = calloc(1, sizeof(*t));
	enum fail_code code;
	bool json = false;

	assert(o->file != NULL);
	if (t == NULL)
		return fail_memory(f);
	code = tokenizer_json_is(&json, o->file, f);
	if (code == FAIL_NONE)
		code = json ? tokenizer_json_load(t, o, f) : tiktoken_load(t, o, f);
	if (code != FAIL_NONE) {
		tokenizer_close(t);
		return code;
	}
	*out = t;
	return FAIL_NONE;
}

void
tokenizer_close(struct tokenizer *t)
{
	if (t == NULL)
		return;
	recipe_close(t->recipe);
	free(t->special_owned);
	pair_table_close(&t->pairs);
	vocabulary_close(&t->vocabulary);
	free(t);
}

uint64_t
tokenizer_fingerprint(const struct tokenizer *t)
{
	return t->fingerprint;
}

uint32_t
tokenizer_entries(const struct tokenizer *t)
{
	uint32_t entries = t->vocabulary.ids;

	for (size_t i = 0; i < t->specials_n; i++)
		if (t->special[i].id >= entries)
			entries = t->special[i].id + 1;
	return entries;
}

uint32_t
tokenizer_eos(const struct tokenizer *t)
{
	assert(t->eos != VOCABULARY_NONE);
	return t->eos;
}

size_t
tokenizer_added(const struct tokenizer *t)
{
	return t->recipe == NULL ? 0 : t->recipe->before_n + t->recipe->after_n;
}

bool
tokenizer_begins_with_eos(const struct tokenizer *t)
{
	const struct recipe *r = t->recipe;

	return r != NULL && r->before_n > 0 && r->before[0] == tokenizer_eos(t);
}

bool
tokenizer_ends_with_eos(const struct tokenizer *t)
{
	const struct recipe *r = t->recipe;

	return r != NULL && r->after_n > 0 && r->after[r->after_n - 1] == tokenizer_eos(t);
}

const char *
tokenizer_other_pattern(const struct tokenizer *t)
{
	return t->recipe == NULL ? tiktoken_other_pattern(t) : NULL;
}

/* The special token of this id, or NULL. */
static const struct tokenizer_special *
special_of(const struct tokenizer *t, uint32_t id)
{
	size_t low = 0, high = t->specials_n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (t->special[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < t->specials_n && t->special[low].id == id ? &t->special[low] : NULL;
}

const uint8_t *
tokenizer_bytes(const struct tokenizer *t, uint32_t id, size_t *n)
{
	const struct tokenizer_special *special = special_of(t, id);
	const uint8_t *bytes;

	if (special != NULL) {
		*n = strlen(special->text);
		return (const uint8_t *)special->text;
	}
	if (id >= t->vocabulary.ids)
		return NULL;
	bytes = vocabulary_token(&t->vocabulary, id, n);
	if (*n > 0 && t->recipe != NULL && t->recipe->decoded.ids > 0)
		return vocabulary_token(&t->recipe->decoded, id, n);
	return *n > 0 ? bytes : NULL;
}

size_t
tokenizer_decoded_cut(const struct tokenizer *t, uint32_t first, const uint8_t *text, size_t n)
{
	size_t first_n = 0;

	if (t->recipe == NULL)
		return 0;
	if (tokenizer_bytes(t, first, &first_n) == NULL)
		first_n = 0;
	return recipe_decoded_cut(t->recipe, first_n, text, n);
}
