/* The decoder; see recipe_json.h. */
#include <jansson.h>
#include <string.h>

#include "producer/tokenizer/recipe_json.h"

static enum fail_code
add_step(struct recipe *r, const struct json_part *p, const struct recipe_decoder_step *step,
    struct failure *f)
{
	if (r->decoder.n == RECIPE_DECODER_STEPS_MAX)
		return json_part_refuse(p, "at most 8 steps are taken", f);
	r->decoder.step[r->decoder.n++] = *step;
	return FAIL_NONE;
}

static enum fail_code
read_replace(struct recipe *r, const struct json_part *p, struct failure *f)
{
	struct recipe_decoder_step step = {.kind = RECIPE_REPLACE};

	if (json_part_check_keys(p, JSON_PART_KEYS("pattern", "content"), f) != FAIL_NONE ||
	    recipe_json_pattern(p, step.pattern, &step.pattern_n, f) != FAIL_NONE ||
	    json_part_copy(p, "content", step.content, sizeof(step.content), &step.content_n, f) !=
		FAIL_NONE)
		return f->code;
	return add_step(r, p, &step, f);
}

static enum fail_code
read_metaspace(struct recipe *r, const struct json_part *p, struct failure *f)
{
	struct recipe_decoder_step step = {
	    .kind = RECIPE_REPLACE, .content = {' '}, .content_n = 1};
	struct json_part mark = json_part_member(p, "replacement");

	if (json_part_copy(p, "replacement", step.pattern, sizeof(step.pattern), &step.pattern_n,
		f) != FAIL_NONE)
		return f->code;
	if (step.pattern_n == 0)
		return json_part_refuse(&mark, "one character is wanted", f);
	r->decoder.strips_first = strcmp(json_part_text(p, "prepend_scheme"), "never") != 0;
	return add_step(r, p, &step, f);
}

static enum fail_code
read_strip(struct recipe *r, const struct json_part *p, struct failure *f)
{
	uint32_t start, stop;
	size_t n;

	if (json_part_check_keys(p, JSON_PART_KEYS("content", "start", "stop"), f) != FAIL_NONE ||
	    json_part_copy(p, "content", &r->decoder.strip, 1, &n, f) != FAIL_NONE ||
	    json_part_count(p, "start", 1 << 16, &start, f) != FAIL_NONE ||
	    json_part_count(p, "stop", 0, &stop, f) != FAIL_NONE)
		return f->code;
	r->decoder.strips_n = n == 0 ? 0 : start;
	return FAIL_NONE;
}

enum fail_code
recipe_json_decoder(struct recipe *r, const struct json_part *p, struct failure *f)
{
	const char *type = json_part_text(p, "type");

	if (json_part_is_null(p) || strcmp(type, "ByteLevel") == 0 || strcmp(type, "Fuse") == 0)
		return FAIL_NONE; /* bytes are put together in any case */
	if (strcmp(type, "Sequence") == 0)
		return recipe_json_sequence(r, p, "decoders", recipe_json_decoder, f);
	if (strcmp(type, "Replace") == 0)
		return read_replace(r, p, f);
	if (strcmp(type, "Metaspace") == 0)
		return read_metaspace(r, p, f);
	if (strcmp(type, "Strip") == 0)
		return read_strip(r, p, f);
	if (strcmp(type, "ByteFallback") == 0)
		return add_step(r, p, &(struct recipe_decoder_step){.kind = RECIPE_BYTES}, f);
	return json_part_refuse(p,
	    "riffle has the decoders ByteLevel, Metaspace, Replace, ByteFallback, Fuse, Strip and "
	    "Sequence",
	    f);
}
