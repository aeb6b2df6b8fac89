#include "producer/tokenizer/bpe_json.h"

#include <stdlib.h>
#include <string.h>

#include "producer/tokenizer/bpe_reading.h"
#include "producer/tokenizer/json_part.h"

void
bpe_json_close(struct bpe_json *b)
{
	vocabulary_close(&b->text);
	buffer_close(&b->unknown);
	free(b->merge);
	memset(b, 0, sizeof(*b));
}

enum fail_code
bpe_reading_fail(const struct bpe_reading *r, struct failure *f)
{
	return fail(f, FAIL_DATA, "tokenizer %s: model.%s: byte %td: %s", r->file, r->key,
	    r->t.at - r->t.start, r->t.bad == NULL ? "invalid JSON" : r->t.bad);
}

bool
bpe_reading_text(struct bpe_reading *r, const char **text, size_t *n)
{
	if (!json_text_take(&r->t, '"'))
		return json_text_bad(&r->t, "a text is wanted");
	return json_text_string(&r->t, r->room, text, n);
}

bool
bpe_reading_comma(struct bpe_reading *r, char end, bool *ended)
{
	json_text_space(&r->t);
	*ended = json_text_take(&r->t, end);
	if (!*ended && !json_text_take(&r->t, ','))
		return json_text_bad(&r->t, "a comma is wanted");
	json_text_space(&r->t);
	return true;
}

bool
bpe_reading_open(struct bpe_reading *r, char open, char end, bool *ended)
{
	json_text_space(&r->t);
	if (!json_text_take(&r->t, open))
		return json_text_bad(
		    &r->t, open == '{' ? "an object is wanted" : "an array is wanted");
	json_text_space(&r->t);
	*ended = json_text_take(&r->t, end);
	return true;
}

/* null: what would change tokens and is not done here. */
static enum fail_code
check_empty(const struct json_part *model, const char *key, struct failure *f)
{
	struct json_part m = json_part_member(model, key);
	const char *text = json_part_string(&m);

	if (json_part_is_null(&m) || json_part_is_zero(&m) || (text != NULL && text[0] == '\0'))
		return FAIL_NONE;
	return json_part_refuse(&m, "riffle has no such thing; null is taken", f);
}

static enum fail_code
read_flags(struct bpe_json *b, const struct json_part *model, struct failure *f)
{
	static const char *const keys[] = {"type", "dropout", "unk_token",
	    "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk", "byte_fallback",
	    "ignore_merges"};
	struct json_part type = json_part_member(model, "type");
	struct json_part unknown = json_part_member(model, "unk_token");
	const bool no = false;

	if (json_part_check_keys(model, keys, sizeof(keys) / sizeof(keys[0]), f) != FAIL_NONE)
		return f->code;
	if (type.value != NULL && strcmp(json_part_text(model, "type"), "BPE") != 0)
		return json_part_refuse(&type, "only \"BPE\" is known", f);
	if (check_empty(model, "dropout", f) != FAIL_NONE ||
	    check_empty(model, "continuing_subword_prefix", f) != FAIL_NONE ||
	    check_empty(model, "end_of_word_suffix", f) != FAIL_NONE ||
	    json_part_bool(model, "fuse_unk", &no, &b->fuse_unknown, f) != FAIL_NONE ||
	    json_part_bool(model, "byte_fallback", &no, &b->byte_fallback, f) != FAIL_NONE ||
	    json_part_bool(model, "ignore_merges", &no, &b->ignore_merges, f) != FAIL_NONE)
		return f->code;
	if (json_part_is_null(&unknown))
		return FAIL_NONE;
	if (json_part_string(&unknown) == NULL)
		return json_part_refuse(&unknown, "a text or null is wanted", f);
	return buffer_add(
	    &b->unknown, json_part_string(&unknown), strlen(json_part_string(&unknown)), f);
}

/* Reads one of the two large members with `read`. */
static enum fail_code
read_large(struct bpe_reading *r, const struct json_members *m, const char *key,
    enum fail_code (*read)(struct bpe_reading *, struct failure *), struct failure *f)
{
	const struct json_member *large = json_members_get(m, key);

	if (large == NULL)
		return fail(f, FAIL_DATA, "tokenizer %s: model.%s is missing", r->file, key);
	r->t = (struct json_text){
	    .start = large->value, .at = large->value, .end = large->value + large->n};
	r->texts.n = 0;
	r->key = key;
	return read(r, f);
}

static enum fail_code
read_all(struct bpe_reading *r, const struct json_members *m, struct failure *f)
{
	static const char *const large[] = {"vocab", "merges"};
	struct json_part model;
	enum fail_code code;

	if (json_part_open(&model, r->file, "model", m, large, 2, f) != FAIL_NONE)
		return f->code;
	code = read_flags(r->b, &model, f);
	json_part_close(&model);
	if (code == FAIL_NONE)
		code = read_large(r, m, "vocab", bpe_reading_vocab, f);
	if (code == FAIL_NONE)
		code = bpe_reading_index(r, f);
	if (code == FAIL_NONE)
		code = read_large(r, m, "merges", bpe_reading_merges, f);
	return code;
}

enum fail_code
bpe_json_read(struct bpe_json *b, const char *file, const char *json, size_t n, struct failure *f)
{
	struct bpe_reading r = {.b = b, .file = file, .room = malloc(n + JSON_TEXT_SLACK_BYTES)};
	struct json_members *m = malloc(sizeof(*m));
	enum fail_code code = r.room == NULL || m == NULL ? fail_memory(f) : FAIL_NONE;

	if (code == FAIL_NONE)
		code = json_members_find(m, file, "model", json, n, f);
	if (code == FAIL_NONE)
		code = read_all(&r, m, f);
	free(m);
	free(r.room);
	free(r.entry);
	buffer_close(&r.texts);
	return code;
}
