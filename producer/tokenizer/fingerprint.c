#include "producer/tokenizer/fingerprint.h"

#include <endian.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "common/base/json_memory.h"
#include "producer/pretokenizer/unicode_class.h"
#include "producer/pretokenizer/unicode_range.h"

enum { MERGES_AHEAD = 16 /* a pair's slot is sent for so much before it is read */ };

static void
hash_number(XXH64_state_t *h, uint32_t number)
{
	uint32_t little = htole32(number);

	XXH64_update(h, &little, sizeof(little));
}

static void
hash_text(XXH64_state_t *h, const void *text, size_t n)
{
	hash_number(h, (uint32_t)n);
	if (n > 0)
		XXH64_update(h, text, n);
}

static void
hash_name(XXH64_state_t *h, const char *name)
{
	hash_text(h, name, strlen(name));
}

/* ---- a .tiktoken ---- */

enum fail_code
fingerprint_tiktoken(struct tokenizer *t, struct failure *f)
{
	XXH64_state_t *h = XXH64_createState();

	assert(t->recipe == NULL);
	if (h == NULL)
		return fail_memory(f);
	XXH64_reset(h, 0);
	hash_name(h, "riffle byte-level BPE by rank");
	hash_name(h, splitter_pattern_text[t->pattern]);
	hash_name(h, UNICODE_CLASS_VERSION);
	hash_number(h, t->vocabulary.ids);
	for (uint32_t id = 0; id < t->vocabulary.ids; id++) {
		size_t n;
		const uint8_t *token = vocabulary_token(&t->vocabulary, id, &n);

		hash_text(h, token, n);
	}
	for (size_t i = 0; i < t->specials_n; i++) {
		hash_number(h, t->special[i].id);
		hash_name(h, t->special[i].text);
	}
	t->fingerprint = XXH64_digest(h);
	XXH64_freeState(h);
	return FAIL_NONE;
}

/* ---- a tokenizer.json ---- */

/* A member of the file, as compact JSON with sorted keys. */
static enum fail_code
hash_part(XXH64_state_t *h, const struct json_part *top, const char *key, struct failure *f)
{
	json_t *value = json_object_get(top->value, key);
	char *text;

	hash_name(h, key);
	if (value == NULL || json_is_null(value)) {
		hash_name(h, "null");
		return FAIL_NONE;
	}
	text = json_memory_text(value, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
	if (text == NULL)
		return fail_memory(f);
	hash_name(h, text);
	free(text);
	return FAIL_NONE;
}

/* Every token that has one: its id, then its text as the file writes it. */
static void
hash_vocabulary(XXH64_state_t *h, const struct vocabulary *v)
{
	for (uint32_t id = 0; id < v->ids; id++) {
		size_t n;
		const uint8_t *token = vocabulary_token(v, id, &n);

		if (n == 0)
			continue;
		hash_number(h, id);
		hash_text(h, token, n);
	}
}

/* Merges that a later one of the same pair has not replaced. */
static void
hash_merges(XXH64_state_t *h, const struct tokenizer *t, const struct model_json *model)
{
	for (uint32_t i = 0; i < model->merges_n; i++) {
		const struct pair_merge *m = &model->merge[i];

		if (i + MERGES_AHEAD < model->merges_n)
			pair_table_prefetch(&t->pairs, m[MERGES_AHEAD].left, m[MERGES_AHEAD].right);
		if (pair_table_find(&t->pairs, m->left, m->right) != i)
			continue;
		hash_number(h, m->left);
		hash_number(h, m->right);
	}
}

static void
hash_flags(XXH64_state_t *h, const struct model_json *model, const struct tokenizer_options *o)
{
	hash_number(h,
	    (uint32_t)(model->fuse_unknown | model->byte_fallback << 1 | model->ignore_merges << 2 |
		       o->add_special << 3 | o->special_as_text << 4));
	hash_text(h, model->unknown.bytes, model->unknown.n);
}

enum fail_code
fingerprint_json(struct tokenizer *t, const struct model_json *model, const struct json_part *top,
    const struct tokenizer_options *o, struct failure *f)
{
	XXH64_state_t *h = XXH64_createState();
	enum fail_code code;

	assert(t->recipe != NULL);
	if (h == NULL)
		return fail_memory(f);
	XXH64_reset(h, 0);
	hash_name(h, "riffle BPE of tokenizer.json");
	hash_name(h, UNICODE_CLASS_VERSION);
	hash_name(h, UNICODE_RANGE_VERSION);
	hash_name(h, NFC_VERSION);
	code = hash_part(h, top, "normalizer", f);
	if (code == FAIL_NONE)
		code = hash_part(h, top, "pre_tokenizer", f);
	if (code == FAIL_NONE)
		code = hash_part(h, top, "added_tokens", f);
	if (code == FAIL_NONE && o->add_special)
		code = hash_part(h, top, "post_processor", f);
	hash_flags(h, model, o);
	hash_vocabulary(h, &model->text);
	hash_merges(h, t, model);
	t->fingerprint = XXH64_digest(h);
	XXH64_freeState(h);
	return code;
}
