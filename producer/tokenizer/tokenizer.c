#include "producer/tokenizer/tokenizer.h"

#include <assert.h>
#include <endian.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "producer/tokenizer/tiktoken.h"
#include "producer/tokenizer/tokenizer_json.h"
#include "producer/tokenizer/tokenizer_table.h"
#include "producer/pretokenizer/unicode_class.h"

enum { SPECIALS_MAX = 5, SPECIALS_TEXT_MAX = 512 };

/*
 * The special tokens of the encodings that tiktoken 0.14 knows, told apart by pattern and ranks
 * (openai_public.py). A file of another size has none.
 */
static const struct encoding {
	enum splitter_pattern pattern;
	uint32_t ids; /* the highest rank + 1 */
	size_t specials_n;
	struct special special[SPECIALS_MAX];
} encodings[] = {
    {SPLITTER_GPT2, 50256, 1, {{"<|endoftext|>", 50256}}}, /* gpt2, r50k_base */
    {SPLITTER_GPT2, 50281, 1, {{"<|endoftext|>", 50256}}}, /* p50k_base: a hole at 50256 */
    {SPLITTER_CL100K, 100256, 5,
	{{"<|endoftext|>", 100257}, {"<|fim_prefix|>", 100258}, {"<|fim_middle|>", 100259},
	    {"<|fim_suffix|>", 100260}, {"<|endofprompt|>", 100276}}},
    {SPLITTER_O200K, 199998, 2, {{"<|endoftext|>", 199999}, {"<|endofprompt|>", 200018}}},
};

static enum fail_code
find_pattern(struct tokenizer *t, const struct tokenizer_options *o, struct failure *f)
{
	char known[64] = "";
	size_t used = 0;

	for (size_t i = 0; i < SPLITTER_PATTERNS; i++) {
		if (o->pattern != NULL && strcmp(o->pattern, splitter_pattern_text[i]) == 0) {
			t->pattern = (enum splitter_pattern)i;
			return FAIL_NONE;
		}
		used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s",
		    i == 0 ? "" : ", ", splitter_pattern_text[i]);
		assert(used < sizeof(known));
	}
	if (o->pattern == NULL)
		return fail(f, FAIL_CONFIG,
		    "tokenizer %s: a .tiktoken file does not say its pattern; name one of: %s",
		    o->file, known);
	return fail(f, FAIL_CONFIG, "tokenizer %s: unknown pattern \"%s\"; the known ones are: %s",
	    o->file, o->pattern, known);
}

static void
find_specials(struct tokenizer *t)
{
	for (size_t i = 0; i < sizeof(encodings) / sizeof(encodings[0]); i++) {
		const struct encoding *e = &encodings[i];

		if (e->pattern != t->pattern || e->ids != t->vocabulary.ids)
			continue;
		t->special = e->special;
		t->specials_n = e->specials_n;
	}
}

static const struct special *
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

/* Ranks are without gaps but for special tokens, and every single byte has one. */
static enum fail_code
check_vocabulary(const struct tokenizer *t, const char *file, struct failure *f)
{
	const struct vocabulary *v = &t->vocabulary;

	for (uint32_t id = 0; id < v->ids; id++)
		if (v->start[id] == v->start[id + 1] && special_of(t, id) == NULL)
			return fail(f, FAIL_DATA,
			    "tokenizer %s: no line has rank %" PRIu32
			    ", and there are higher ones; is the file whole?",
			    file, id);
	for (unsigned i = 0; i < 256; i++)
		if (vocabulary_find(v, &(uint8_t){(uint8_t)i}, 1) == VOCABULARY_NONE)
			return fail(f, FAIL_DATA,
			    "tokenizer %s: no token is the single byte 0x%02X; without all 256 "
			    "some "
			    "text has no tokens",
			    file, i);
	return FAIL_NONE;
}

static enum fail_code
fail_eos(const struct tokenizer *t, const struct tokenizer_options *o, struct failure *f)
{
	char list[SPECIALS_TEXT_MAX] = "";
	size_t used = 0;

	for (size_t i = 0; i < t->specials_n; i++) {
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s (%" PRIu32 ")",
		    i == 0 ? "" : ", ", t->special[i].text, t->special[i].id);
		assert(used < sizeof(list));
	}
	if (t->specials_n == 0)
		return fail(f, FAIL_CONFIG,
		    "tokenizer %s: eos \"%s\" is not a token; with %" PRIu32
		    " ranks and pattern %s no special tokens are known, so name a token of the "
		    "file",
		    o->file, o->eos, t->vocabulary.ids, splitter_pattern_text[t->pattern]);
	return fail(f, FAIL_CONFIG,
	    "tokenizer %s: eos \"%s\" is not a token; the special tokens are %s", o->file, o->eos,
	    list);
}

/* The text is looked for among the special tokens, then in the vocabulary. */
static enum fail_code
find_eos(struct tokenizer *t, const struct tokenizer_options *o, struct failure *f)
{
	size_t n = o->eos == NULL ? 0 : strlen(o->eos);

	t->eos = VOCABULARY_NONE;
	if (o->eos == NULL)
		return FAIL_NONE;
	for (size_t i = 0; i < t->specials_n; i++)
		if (strcmp(o->eos, t->special[i].text) == 0)
			t->eos = t->special[i].id;
	if (t->eos == VOCABULARY_NONE && n > 0)
		t->eos = vocabulary_find(&t->vocabulary, (const uint8_t *)o->eos, n);
	return t->eos == VOCABULARY_NONE ? fail_eos(t, o, f) : FAIL_NONE;
}

static void
hash_text(XXH64_state_t *h, const void *bytes, size_t n)
{
	uint32_t length = htole32((uint32_t)n);

	XXH64_update(h, &length, sizeof(length));
	XXH64_update(h, bytes, n);
}

/* Texts with their lengths in front, numbers as little-endian u32: the same on every machine. */
static enum fail_code
make_fingerprint(struct tokenizer *t, struct failure *f)
{
	static const char kind[] = "riffle byte-level BPE by rank";
	XXH64_state_t *h = XXH64_createState();
	uint32_t number;

	if (h == NULL)
		return fail_memory(f);
	XXH64_reset(h, 0);
	hash_text(h, kind, strlen(kind));
	hash_text(h, splitter_pattern_text[t->pattern], strlen(splitter_pattern_text[t->pattern]));
	hash_text(h, UNICODE_CLASS_VERSION, strlen(UNICODE_CLASS_VERSION));
	number = htole32(t->vocabulary.ids);
	XXH64_update(h, &number, sizeof(number));
	for (uint32_t id = 0; id < t->vocabulary.ids; id++) {
		size_t n;
		const uint8_t *token = vocabulary_token(&t->vocabulary, id, &n);

		hash_text(h, token, n);
	}
	for (size_t i = 0; i < t->specials_n; i++) {
		number = htole32(t->special[i].id);
		XXH64_update(h, &number, sizeof(number));
		hash_text(h, t->special[i].text, strlen(t->special[i].text));
	}
	t->fingerprint = XXH64_digest(h);
	XXH64_freeState(h);
	return FAIL_NONE;
}

static enum fail_code
compile(struct tokenizer *t, const struct tokenizer_options *o, struct failure *f)
{
	t->whole_first = true;
	if (find_pattern(t, o, f) != FAIL_NONE ||
	    tiktoken_load(&t->vocabulary, o->file, f) != FAIL_NONE)
		return f->code;
	find_specials(t);
	if (check_vocabulary(t, o->file, f) != FAIL_NONE || find_eos(t, o, f) != FAIL_NONE ||
	    pair_table_open(&t->pairs, &t->vocabulary, f) != FAIL_NONE)
		return f->code;
	return make_fingerprint(t, f);
}

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
		code = json ? tokenizer_json_load(t, o, f) : compile(t, o, f);
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
	tokenizer_json_close(t);
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

const uint8_t *
tokenizer_bytes(const struct tokenizer *t, uint32_t id, size_t *n)
{
	const struct special *special = special_of(t, id);
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
	return t->recipe == NULL ? 0 : tokenizer_json_decoded_cut(t, first, text, n);
}
