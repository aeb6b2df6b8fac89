/* The pre-tokeniser; see recipe_json.h. */
#include <jansson.h>
#include <string.h>

#include "producer/tokenizer/recipe_json.h"
#include "producer/pretokenizer/code_point.h"

#define CONTRACTIONS "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define HEADS        "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define BODY         "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define SPACES       "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

/* The patterns as models' files write them. */
static const struct known {
	const char *text;
	enum splitter_pattern pattern;
} known[] = {
    {"'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+",
	SPLITTER_GPT2},
    {CONTRACTIONS
	"|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" SPACES,
	SPLITTER_CL100K},
    {CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" SPACES,
	SPLITTER_QWEN2},
    {"[^\\r\\n\\p{L}\\p{N}]?" HEADS "*" BODY "+" CONTRACTIONS "?|[^\\r\\n\\p{L}\\p{N}]?" HEADS
     "+" BODY "*" CONTRACTIONS "?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" SPACES,
	SPLITTER_O200K},
};

static enum fail_code
add_step(struct recipe *r, const struct json_part *p, const struct pretokenizer_step *step,
    struct failure *f)
{
	if (r->pretokenizer.n == PRETOKENIZER_STEPS_MAX)
		return json_part_refuse(p, "at most 16 steps are taken", f);
	r->pretokenizer.step[r->pretokenizer.n++] = *step;
	return FAIL_NONE;
}

/*
 * A known pattern leaves nothing between its matches, so that two ways to say it are one: to
 * isolate the matches, and to remove what is not one.
 */
static enum fail_code
read_split(struct recipe *r, const struct json_part *p, struct failure *f)
{
	struct json_part pattern = json_part_member(p, "pattern");
	struct json_part behavior = json_part_member(p, "behavior");
	struct pretokenizer_step step = {.kind = PRETOKENIZER_SPLIT};
	const char *text = json_part_text(&pattern, "Regex");
	const char *how = json_part_text(p, "behavior");
	bool invert;
	size_t i = 0;

	if (json_part_check_keys(p, JSON_PART_KEYS("pattern", "behavior", "invert"), f) !=
		FAIL_NONE ||
	    json_part_bool(p, "invert", NULL, &invert, f) != FAIL_NONE)
		return f->code;
	while (i < sizeof(known) / sizeof(known[0]) && strcmp(known[i].text, text) != 0)
		i++;
	if (i == sizeof(known) / sizeof(known[0]))
		return json_part_refuse(&pattern,
		    "riffle splits by the patterns of gpt2, cl100k (Llama-3), Qwen2 and o200k", f);
	if (strcmp(how, "Isolated") != 0 && (strcmp(how, "Removed") != 0 || !invert))
		return json_part_refuse(&behavior, "only \"Isolated\" is taken", f);
	step.pattern = known[i].pattern;
	return add_step(r, p, &step, f);
}

static enum fail_code
read_digits(struct recipe *r, const struct json_part *p, struct failure *f)
{
	struct pretokenizer_step step = {.kind = PRETOKENIZER_RUNS};
	bool each;

	if (json_part_check_keys(p, JSON_PART_KEYS("individual_digits"), f) != FAIL_NONE ||
	    json_part_bool(p, "individual_digits", NULL, &each, f) != FAIL_NONE)
		return f->code;
	if (each)
		step.kind = PRETOKENIZER_DIGITS;
	return add_step(r, p, &step, f);
}

static enum fail_code
read_byte_level(struct recipe *r, const struct json_part *p, struct failure *f)
{
	const bool yes = true;
	bool space, use_regex, trim;

	if (json_part_check_keys(p, JSON_PART_KEYS("add_prefix_space", "trim_offsets", "use_regex"),
		f) != FAIL_NONE ||
	    json_part_bool(p, "add_prefix_space", NULL, &space, f) != FAIL_NONE ||
	    json_part_bool(p, "trim_offsets", &yes, &trim, f) != FAIL_NONE ||
	    json_part_bool(p, "use_regex", &yes, &use_regex, f) != FAIL_NONE)
		return f->code;
	r->byte_level = true;
	if (space &&
	    add_step(r, p, &(struct pretokenizer_step){.kind = PRETOKENIZER_SPACE}, f) != FAIL_NONE)
		return f->code;
	if (!use_regex)
		return FAIL_NONE;
	return add_step(r, p,
	    &(struct pretokenizer_step){.kind = PRETOKENIZER_SPLIT, .pattern = SPLITTER_GPT2}, f);
}

static enum fail_code
read_scheme(const struct json_part *p, enum pretokenizer_scheme *scheme, struct failure *f)
{
	static const char *const name[] = {[PRETOKENIZER_ALWAYS] = "always",
	    [PRETOKENIZER_FIRST] = "first",
	    [PRETOKENIZER_NEVER] = "never"};
	struct json_part given = json_part_member(p, "prepend_scheme");
	struct json_part old = json_part_member(p, "add_prefix_space");
	size_t i = 0;

	if (given.value != NULL) {
		while (i < 3 && strcmp(json_part_text(p, "prepend_scheme"), name[i]) != 0)
			i++;
		if (i == 3)
			return json_part_refuse(&given, "always, first or never is wanted", f);
	}
	*scheme = (enum pretokenizer_scheme)i;
	if (json_is_false(old.value) && *scheme != PRETOKENIZER_NEVER)
		return json_part_refuse(&old, "prepend_scheme says something else", f);
	if (!json_part_is_null(&old) && !json_is_boolean(old.value))
		return json_part_refuse(&old, "true or false is wanted", f);
	return FAIL_NONE;
}

/* Where the text before it was changed, nobody knows any more what was first. */
static bool
knows_first(const struct recipe *r)
{
	for (size_t i = 0; i < r->normalizer.n; i++)
		if (r->normalizer.step[i].kind == NORMALIZER_NFC)
			return false;
	for (size_t i = 0; i < r->pretokenizer.n; i++)
		if (r->pretokenizer.step[i].kind == PRETOKENIZER_MARK)
			return false;
	return true;
}

static enum fail_code
read_metaspace(struct recipe *r, const struct json_part *p, struct failure *f)
{
	static const char *const keys[] = {
	    "type", "replacement", "add_prefix_space", "prepend_scheme", "split", "str_rep"};
	struct json_part mark = json_part_member(p, "replacement");
	struct pretokenizer_step step = {.kind = PRETOKENIZER_MARK};
	const bool yes = true;
	uint32_t point;
	bool split;

	if (json_part_check_keys(p, keys, sizeof(keys) / sizeof(keys[0]), f) != FAIL_NONE ||
	    json_part_copy(p, "replacement", step.mark, sizeof(step.mark), &step.mark_n, f) !=
		FAIL_NONE ||
	    json_part_bool(p, "split", &yes, &split, f) != FAIL_NONE ||
	    read_scheme(p, &step.scheme, f) != FAIL_NONE)
		return f->code;
	if (step.mark_n == 0 || code_point_read(step.mark, &point) != step.mark_n)
		return json_part_refuse(&mark, "one character is wanted", f);
	if (step.scheme == PRETOKENIZER_FIRST && !knows_first(r))
		return json_part_refuse(
		    p, "prepend_scheme \"first\" is not taken behind NFC or another Metaspace", f);
	if (add_step(r, p, &step, f) != FAIL_NONE || !split)
		return f->code;
	step.kind = PRETOKENIZER_CUT;
	return add_step(r, p, &step, f);
}

enum fail_code
recipe_json_pretokenizer(struct recipe *r, const struct json_part *p, struct failure *f)
{
	static const struct {
		const char *type;
		recipe_json_reader *read;
	} row[] = {
	    {"Split", read_split},
	    {"Digits", read_digits},
	    {"ByteLevel", read_byte_level},
	    {"Metaspace", read_metaspace},
	};

	if (json_part_is_null(p))
		return FAIL_NONE;
	if (strcmp(json_part_text(p, "type"), "Sequence") == 0)
		return recipe_json_sequence(r, p, "pretokenizers", recipe_json_pretokenizer, f);
	if (r->byte_level)
		return json_part_refuse(p, "nothing is taken behind ByteLevel", f);
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		if (strcmp(json_part_text(p, "type"), row[i].type) == 0)
			return row[i].read(r, p, f);
	return json_part_refuse(
	    p, "riffle has the pre-tokenizers Split, Digits, ByteLevel, Metaspace and Sequence", f);
}
