#include "producer/tokenizer/added_json.h"

#include <assert.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* What the reading of one list works with. */
struct reading {
	struct tokenizer *t;
	const struct model_json *model;
	const struct tokenizer_options *o;
	struct special_list *l;
	struct added_tokens all; /* by content, to see one that is there twice */
	struct normalizer_scratch normalizer;
	uint32_t next_id; /* of the next token that the vocabulary does not have */
};

/* One member of added_tokens. */
struct one {
	struct added_token token;
	uint8_t content[ADDED_TOKENS_BYTES_MAX];
	size_t n;
	bool normalized; /* it is looked for in normalised text, else in the text as it is */
	bool special;
};

/* Takes the member apart. The file's "id" is checked and then ignored: see give_id(). */
static enum fail_code
read_one(const struct json_part *p, struct one *one, struct failure *f)
{
	static const char *const keys[] = {
	    "id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"};
	uint32_t id;

	if (json_part_check_keys(p, keys, sizeof(keys) / sizeof(keys[0]), f) != FAIL_NONE ||
	    json_part_count(p, "id", UINT32_MAX, &id, f) != FAIL_NONE ||
	    json_part_copy(p, "content", one->content, sizeof(one->content), &one->n, f) !=
		FAIL_NONE ||
	    json_part_bool(p, "single_word", NULL, &one->token.single_word, f) != FAIL_NONE ||
	    json_part_bool(p, "lstrip", NULL, &one->token.lstrip, f) != FAIL_NONE ||
	    json_part_bool(p, "rstrip", NULL, &one->token.rstrip, f) != FAIL_NONE ||
	    json_part_bool(p, "normalized", NULL, &one->normalized, f) != FAIL_NONE)
		return f->code;
	return json_part_bool(p, "special", NULL, &one->special, f);
}

/*
 * Gives the token the id that the library tokenizers gives it (added_json.h), whatever the file's
 * "id" says. Example: a vocabulary of 4 entries has "<s>" as id 1, and added_tokens are "<s>" and
 * "<pad>": "<s>" keeps 1, "<pad>" gets 4. Each content may be there once.
 */
static enum fail_code
give_id(struct reading *r, const struct json_part *p, struct one *one, struct failure *f)
{
	enum fail_code code;

	one->token.id = vocabulary_find(&r->model->text, one->content, one->n);
	if (one->token.id == VOCABULARY_NONE)
		one->token.id = r->next_id++;
	assert(r->next_id >= r->model->entries);
	if (one->token.id >= VOCABULARY_IDS_MAX)
		return json_part_refuse(p, "its id would be over 2097151", f);
	if (r->all.n == ADDED_TOKENS_MAX)
		return json_part_refuse(p, "at most 65536 are taken", f);
	one->token.as_text = one->special && r->o->special_as_text;
	code = added_tokens_add(&r->all, one->content, one->n, &one->token, f);
	return code != FAIL_DATA ? code : json_part_refuse(p, "this content is there twice", f);
}

/*
 * Drops the token that has this id already. A new token gets the id of another one where the ids of
 * the vocabulary have gaps, and tokenizers then knows the later one only. Example: the vocabulary
 * {"a": 0, "<s>": 2} has 2 entries, so the new tokens "<x>" and "<y>" get 2 and 3. If "<s>" is an
 * added token too, only the later one of "<s>" and "<x>" counts.
 */
static void
drop_earlier(struct reading *r, uint32_t id)
{
	size_t n = 0;

	if (id >= r->model->entries && id < r->model->text.ids)
		vocabulary_token(&r->model->text, id, &n);
	if (n == 0)
		return; /* not both a new token and one of the vocabulary have it */
	added_tokens_drop(&r->t->recipe->raw, id);
	added_tokens_drop(&r->t->recipe->normalized, id);
}

/*
 * Adds the token to the set in which it is looked for: as it is to `raw`, or as what the normaliser
 * makes of it to `normalized`, for there it must match text that was normalised as well. So two
 * different contents can become one, which is refused: the text could not say which of them it has.
 */
static enum fail_code
add_to_set(struct reading *r, const struct json_part *p, const struct one *one, struct failure *f)
{
	struct recipe *recipe = r->t->recipe;
	struct added_tokens *set = one->normalized ? &recipe->normalized : &recipe->raw;
	const uint8_t *text = one->content;
	size_t n = one->n, head = 0;
	enum fail_code code;

	if (one->normalized && normalizer_run(&recipe->normalizer, &r->normalizer, text, n, &text,
				   &n, &head, f) != FAIL_NONE)
		return f->code;
	if (n == 0 || n > ADDED_TOKENS_BYTES_MAX)
		return json_part_refuse(p, "the normaliser leaves none or too much of it", f);
	assert(set->n < ADDED_TOKENS_MAX);
	drop_earlier(r, one->token.id);
	code = added_tokens_add(set, text, n, &one->token, f);
	return code != FAIL_DATA
		   ? code
		   : json_part_refuse(p, "another token is the same when it is normalised", f);
}

/*
 * Notes what the token is decoded to. Behind ByteLevel that is its content; else the decoder's
 * steps apply to it as to any token. A result with a NUL is left out, because the list holds C
 * strings.
 */
static enum fail_code
note(struct reading *r, const struct one *one, struct failure *f)
{
	struct buffer text = {NULL, 0, 0};
	enum fail_code code;

	if (r->t->recipe->byte_level)
		return special_list_add(r->l, one->token.id, one->content, one->n, f);
	code = recipe_decode(&r->t->recipe->decoder, one->content, one->n, &text, f);
	if (code == FAIL_NONE && memchr(text.bytes, '\0', text.n) == NULL)
		code = special_list_add(r->l, one->token.id, text.bytes, text.n, f);
	buffer_close(&text);
	return code;
}

static enum fail_code
add_one(struct reading *r, const struct json_part *p, struct failure *f)
{
	struct one one = {.n = 0};

	if (read_one(p, &one, f) != FAIL_NONE)
		return f->code;
	if (one.n == 0)
		return FAIL_NONE; /* tokenizers leaves it out */
	if (give_id(r, p, &one, f) != FAIL_NONE || add_to_set(r, p, &one, f) != FAIL_NONE)
		return f->code;
	if (r->o->eos != NULL && strlen(r->o->eos) == one.n &&
	    memcmp(r->o->eos, one.content, one.n) == 0)
		r->t->eos = one.token.id;
	return note(r, &one, f);
}

enum fail_code
added_json_read(struct tokenizer *t, const struct model_json *model, const struct json_part *list,
    const struct tokenizer_options *o, struct special_list *l, struct failure *f)
{
	struct reading r = {.t = t, .model = model, .o = o, .l = l, .next_id = model->entries};
	enum fail_code code = FAIL_NONE;

	assert(t->recipe != NULL);
	assert(model->entries > 0);
	if (!json_part_is_null(list))
		code = json_part_check_array(list, f);
	for (size_t i = 0; code == FAIL_NONE && i < json_array_size(list->value); i++) {
		struct json_part p = json_part_item(list, i);

		code = add_one(&r, &p, f);
	}
	added_tokens_close(&r.all);
	normalizer_scratch_close(&r.normalizer);
	return code;
}
