/* Normaliser and post-processor, and what all parts share. */
#include "producer/tokenizer/recipe_json.h"

#include <jansson.h>
#include <string.h>

static bool
is_type(const struct json_part *p, const char *type)
{
	return strcmp(json_part_text(p, "type"), type) == 0;
}

enum fail_code
recipe_json_sequence(struct recipe *r, const struct json_part *p, const char *key,
    recipe_json_reader *read, struct failure *f)
{
	struct json_part list = json_part_member(p, key);

	if (json_part_check_keys(p, JSON_PART_KEYS(key), f) != FAIL_NONE ||
	    json_part_check_array(&list, f) != FAIL_NONE)
		return f->code;
	for (size_t i = 0; i < json_array_size(list.value); i++) {
		struct json_part item = json_part_item(&list, i);

		if (json_part_is_null(&item))
			return json_part_refuse(&item, "an object is wanted", f);
		if (read(r, &item, f) != FAIL_NONE)
			return f->code;
	}
	return FAIL_NONE;
}

enum fail_code
recipe_json_pattern(const struct json_part *p, uint8_t *out, size_t *n, struct failure *f)
{
	struct json_part pattern = json_part_member(p, "pattern");

	if (json_object_size(pattern.value) != 1 ||
	    !json_is_string(json_object_get(pattern.value, "String")))
		return json_part_refuse(&pattern, "only {\"String\": ...} is taken here", f);
	if (json_part_copy(&pattern, "String", out, NORMALIZER_TEXT_MAX, n, f) != FAIL_NONE)
		return f->code;
	if (*n == 0)
		return json_part_refuse(&pattern, "the text is empty", f);
	return FAIL_NONE;
}

static enum fail_code
read_replace(struct normalizer_step *step, const struct json_part *p, struct failure *f)
{
	step->kind = NORMALIZER_REPLACE;
	if (json_part_check_keys(p, JSON_PART_KEYS("pattern", "content"), f) != FAIL_NONE ||
	    recipe_json_pattern(p, step->pattern, &step->pattern_n, f) != FAIL_NONE)
		return f->code;
	return json_part_copy(
	    p, "content", step->content, sizeof(step->content), &step->content_n, f);
}

enum fail_code
recipe_json_normalizer(struct recipe *r, const struct json_part *p, struct failure *f)
{
	struct normalizer_step *step = &r->normalizer.step[r->normalizer.n];

	if (json_part_is_null(p))
		return FAIL_NONE;
	if (is_type(p, "Sequence"))
		return recipe_json_sequence(r, p, "normalizers", recipe_json_normalizer, f);
	if (r->normalizer.n == NORMALIZER_STEPS_MAX)
		return json_part_refuse(p, "at most 16 normalizers are taken", f);
	r->normalizer.n++;
	if (is_type(p, "Replace"))
		return read_replace(step, p, f);
	if (is_type(p, "NFC")) {
		step->kind = NORMALIZER_NFC;
		return json_part_check_keys(p, (const char *const[]){"type"}, 1, f);
	}
	if (is_type(p, "Prepend")) {
		step->kind = NORMALIZER_PREPEND;
		if (json_part_check_keys(p, JSON_PART_KEYS("prepend"), f) != FAIL_NONE)
			return f->code;
		return json_part_copy(
		    p, "prepend", step->content, sizeof(step->content), &step->content_n, f);
	}
	return json_part_refuse(
	    p, "riffle has the normalizers NFC, Prepend, Replace and Sequence", f);
}

/* The ids of a special token of the template go before or behind the text. */
static enum fail_code
read_special(struct recipe *r, const struct json_part *template, const struct json_part *piece,
    bool behind, struct failure *f)
{
	struct json_part special = json_part_member(piece, "SpecialToken");
	struct json_part known = json_part_member(template, "special_tokens");
	struct json_part token = json_part_member(&known, json_part_text(&special, "id"));
	struct json_part ids = json_part_member(&token, "ids");
	uint32_t *to = behind ? r->after : r->before;
	size_t *n = behind ? &r->after_n : &r->before_n;

	if (json_part_check_array(&ids, f) != FAIL_NONE)
		return f->code;
	for (size_t i = 0; i < json_array_size(ids.value); i++) {
		struct json_part item = json_part_item(&ids, i);
		json_int_t id = json_integer_value(item.value);

		if (!json_is_integer(item.value) || id < 0 || id >= VOCABULARY_IDS_MAX)
			return json_part_refuse(&item, "an id is wanted", f);
		if (*n == RECIPE_TEMPLATE_MAX)
			return json_part_refuse(&ids, "at most 16 ids are taken", f);
		to[(*n)++] = (uint32_t)id;
	}
	return FAIL_NONE;
}

static enum fail_code
read_template(struct recipe *r, const struct json_part *p, struct failure *f)
{
	struct json_part single = json_part_member(p, "single");
	bool behind = false;

	if (json_part_check_keys(p, JSON_PART_KEYS("single", "pair", "special_tokens"), f) !=
		FAIL_NONE ||
	    json_part_check_array(&single, f) != FAIL_NONE)
		return f->code;
	for (size_t i = 0; i < json_array_size(single.value); i++) {
		struct json_part piece = json_part_item(&single, i);
		struct json_part sequence = json_part_member(&piece, "Sequence");

		if (json_object_get(piece.value, "SpecialToken") != NULL) {
			if (read_special(r, p, &piece, behind, f) != FAIL_NONE)
				return f->code;
			continue;
		}
		if (behind || strcmp(json_part_text(&sequence, "id"), "A") != 0)
			return json_part_refuse(&piece, "one sequence A is taken", f);
		behind = true;
	}
	if (!behind)
		return json_part_refuse(&single, "there is no sequence A", f);
	return FAIL_NONE;
}

enum fail_code
recipe_json_template(struct recipe *r, const struct json_part *p, struct failure *f)
{
	if (json_part_is_null(p) || is_type(p, "ByteLevel"))
		return FAIL_NONE; /* that one is about offsets */
	if (is_type(p, "Sequence"))
		return recipe_json_sequence(r, p, "processors", recipe_json_template, f);
	if (!is_type(p, "TemplateProcessing"))
		return json_part_refuse(p,
		    "riffle has the post-processors TemplateProcessing, ByteLevel and Sequence", f);
	if (r->before_n + r->after_n > 0)
		return json_part_refuse(p, "a second template is not taken", f);
	return read_template(r, p, f);
}
