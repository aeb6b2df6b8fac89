#include "producer/tokenizer/recipe_json.h"

#include <assert.h>
#include <jansson.h>
#include <string.h>

#include "producer/pretokenizer/code_point.h"

/* Reads a part, which may be null, into its place of the zeroed recipe. */
typedef enum fail_code part_reader(struct recipe *r, const struct json_part *p, struct failure *f);

/* ---- what all parts share ---- */

static bool
is_type(const struct json_part *p, const char *type)
{
	return strcmp(json_part_text(p, "type"), type) == 0;
}

/*
 * The parts of a Sequence, in the member `key`, each by `read`. A Sequence may hold Sequences: the
 * depth is limited by what jansson reads.
 */
static enum fail_code
read_sequence(struct recipe *r, const struct json_part *p, const char *key, part_reader *read,
    struct failure *f)
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

/* A pattern {"String": "..."} that is not empty, copied to out[NORMALIZER_TEXT_MAX]. */
static enum fail_code
read_pattern(const struct json_part *p, uint8_t *out, size_t *n, struct failure *f)
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

/* ---- normalizer ---- */

static enum fail_code
read_normalizer_replace(struct normalizer_step *step, const struct json_part *p, struct failure *f)
{
	step->kind = NORMALIZER_REPLACE;
	if (json_part_check_keys(p, JSON_PART_KEYS("pattern", "content"), f) != FAIL_NONE ||
	    read_pattern(p, step->pattern, &step->pattern_n, f) != FAIL_NONE)
		return f->code;
	return json_part_copy(
	    p, "content", step->content, sizeof(step->content), &step->content_n, f);
}

static enum fail_code
read_normalizer(struct recipe *r, const struct json_part *p, struct failure *f)
{
	struct normalizer_step *step = &r->normalizer.step[r->normalizer.n];

	if (json_part_is_null(p))
		return FAIL_NONE;
	if (is_type(p, "Sequence"))
		return read_sequence(r, p, "normalizers", read_normalizer, f);
	if (r->normalizer.n == NORMALIZER_STEPS_MAX)
		return json_part_refuse(p, "at most 16 normalizers are taken", f);
	r->normalizer.n++;
	if (is_type(p, "Replace"))
		return read_normalizer_replace(step, p, f);
	if (is_type(p, "NFC")) {
		step->kind = NORMALIZER_NFC;
		return json_part_check_keys(p, (const char *const[]){"type"}, 1, f);
	}
	if (is_type(p, "Prepend")) {
		step->kind = NORMALIZER_PREPEND;
		if (json_part_check_keys(p, JSON_PART_KEYS("prepend"), f) != FAIL_NONE ||
		    json_part_copy(p, "prepend", step->content, sizeof(step->content),
			&step->content_n, f) != FAIL_NONE)
			return f->code;
		if (step->content_n > 0)
			return FAIL_NONE;
		return json_part_refuse(p,
		    "an empty text makes tokenizers repeat characters; leave this normalizer out",
		    f);
	}
	return json_part_refuse(
	    p, "riffle has the normalizers NFC, Prepend, Replace and Sequence", f);
}

/* ---- pre_tokenizer ---- */

#define CONTRACTIONS "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define HEADS        "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define BODY         "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define SPACES       "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

/*
 * The patterns as models' files write them. A pattern is compared as a text and never parsed:
 * riffle has a splitter of its own for each (splitter.h), and no engine for others. The macros are
 * what several patterns share.
 */
static const struct known_pattern {
	const char *text;
	enum splitter_pattern pattern;
} known_pattern[] = {
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

/* Appends a step of the pretokenizer. */
static enum fail_code
add_cut(struct recipe *r, const struct json_part *p, const struct pretokenizer_step *step,
    struct failure *f)
{
	assert(r->pretokenizer.n <= PRETOKENIZER_STEPS_MAX);
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
	while (i < sizeof(known_pattern) / sizeof(known_pattern[0]) &&
	       strcmp(known_pattern[i].text, text) != 0)
		i++;
	if (i == sizeof(known_pattern) / sizeof(known_pattern[0]))
		return json_part_refuse(&pattern,
		    "riffle splits by the patterns of gpt2, cl100k (Llama-3), Qwen2 and o200k", f);
	if (strcmp(how, "Isolated") != 0 && (strcmp(how, "Removed") != 0 || !invert))
		return json_part_refuse(&behavior, "only \"Isolated\" is taken", f);
	step.pattern = known_pattern[i].pattern;
	return add_cut(r, p, &step, f);
}

/* Digits: each digit is a piece of its own, or each run of digits. */
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
	return add_cut(r, p, &step, f);
}

/*
 * ByteLevel does up to three things: a space in front of the text, gpt2's split, and bytes in place
 * of characters. A flag of the recipe stands for the last, because it is no step of the text here:
 * merging itself begins with bytes. "trim_offsets" moves offsets, which riffle does not have.
 */
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
	    add_cut(r, p, &(struct pretokenizer_step){.kind = PRETOKENIZER_SPACE}, f) != FAIL_NONE)
		return f->code;
	if (!use_regex)
		return FAIL_NONE;
	return add_cut(r, p,
	    &(struct pretokenizer_step){.kind = PRETOKENIZER_SPLIT, .pattern = SPLITTER_GPT2}, f);
}

/*
 * Where Metaspace puts its mark in front. Older files have "add_prefix_space" in place of
 * "prepend_scheme", and some have both: then they must say the same. Without either it is "always".
 */
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

/*
 * Whether a later step can still tell which piece holds the first character of the text. NFC can
 * join that character with what follows it, and another Metaspace has put a mark in front of it.
 */
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

/*
 * Metaspace: spaces become a mark, and with "split" the text is cut before each of them: two steps.
 * "str_rep" is a key of old files that repeats the replacement.
 */
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
	if (add_cut(r, p, &step, f) != FAIL_NONE || !split)
		return f->code;
	step.kind = PRETOKENIZER_CUT;
	return add_cut(r, p, &step, f);
}

static enum fail_code
read_pretokenizer(struct recipe *r, const struct json_part *p, struct failure *f)
{
	static const struct {
		const char *type;
		part_reader *read;
	} row[] = {
	    {"Split", read_split},
	    {"Digits", read_digits},
	    {"ByteLevel", read_byte_level},
	    {"Metaspace", read_metaspace},
	};

	if (json_part_is_null(p))
		return FAIL_NONE;
	if (strcmp(json_part_text(p, "type"), "Sequence") == 0)
		return read_sequence(r, p, "pretokenizers", read_pretokenizer, f);
	if (r->byte_level)
		return json_part_refuse(p, "nothing is taken behind ByteLevel", f);
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		if (strcmp(json_part_text(p, "type"), row[i].type) == 0)
			return row[i].read(r, p, f);
	return json_part_refuse(
	    p, "riffle has the pre-tokenizers Split, Digits, ByteLevel, Metaspace and Sequence", f);
}

/* ---- post_processor ---- */

/*
 * Puts the ids of a special token of the template before or behind the text. A piece of the
 * template only names the token; its ids are in the template's own list:
 *
 *     "single": [{"SpecialToken": {"id": "<s>"}}, {"Sequence": {"id": "A"}}]
 *     "special_tokens": {"<s>": {"ids": [1]}}                 before: 1
 */
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

/* What surrounds a single text; "pair" is for two texts, which riffle never encodes together. */
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

static enum fail_code
read_processor(struct recipe *r, const struct json_part *p, struct failure *f)
{
	if (json_part_is_null(p) || is_type(p, "ByteLevel"))
		return FAIL_NONE; /* ByteLevel only moves offsets here */
	if (is_type(p, "Sequence"))
		return read_sequence(r, p, "processors", read_processor, f);
	if (!is_type(p, "TemplateProcessing"))
		return json_part_refuse(p,
		    "riffle has the post-processors TemplateProcessing, ByteLevel and Sequence", f);
	if (r->before_n + r->after_n > 0)
		return json_part_refuse(p, "a second template is not taken", f);
	return read_template(r, p, f);
}

/* ---- decoder ---- */

static enum fail_code
add_decoder_step(struct recipe *r, const struct json_part *p,
    const struct recipe_decoder_step *step, struct failure *f)
{
	assert(r->decoder.n <= RECIPE_DECODER_STEPS_MAX);
	if (r->decoder.n == RECIPE_DECODER_STEPS_MAX)
		return json_part_refuse(p, "at most 8 steps are taken", f);
	r->decoder.step[r->decoder.n++] = *step;
	return FAIL_NONE;
}

static enum fail_code
read_decoder_replace(struct recipe *r, const struct json_part *p, struct failure *f)
{
	struct recipe_decoder_step step = {.kind = RECIPE_REPLACE};

	if (json_part_check_keys(p, JSON_PART_KEYS("pattern", "content"), f) != FAIL_NONE ||
	    read_pattern(p, step.pattern, &step.pattern_n, f) != FAIL_NONE ||
	    json_part_copy(p, "content", step.content, sizeof(step.content), &step.content_n, f) !=
		FAIL_NONE)
		return f->code;
	return add_decoder_step(r, p, &step, f);
}

/* Metaspace back: each mark is a space again, and the one in front of the text is removed. */
static enum fail_code
read_decoder_metaspace(struct recipe *r, const struct json_part *p, struct failure *f)
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
	return add_decoder_step(r, p, &step, f);
}

/* Strip: at most `start` times the byte `content` is removed at the start of the whole text. */
static enum fail_code
read_decoder_strip(struct recipe *r, const struct json_part *p, struct failure *f)
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

static enum fail_code
read_decoder(struct recipe *r, const struct json_part *p, struct failure *f)
{
	const char *type = json_part_text(p, "type");

	if (json_part_is_null(p) || strcmp(type, "ByteLevel") == 0 || strcmp(type, "Fuse") == 0)
		return FAIL_NONE; /* riffle joins the bytes of tokens in any case */
	if (strcmp(type, "Sequence") == 0)
		return read_sequence(r, p, "decoders", read_decoder, f);
	if (strcmp(type, "Replace") == 0)
		return read_decoder_replace(r, p, f);
	if (strcmp(type, "Metaspace") == 0)
		return read_decoder_metaspace(r, p, f);
	if (strcmp(type, "Strip") == 0)
		return read_decoder_strip(r, p, f);
	if (strcmp(type, "ByteFallback") == 0)
		return add_decoder_step(
		    r, p, &(struct recipe_decoder_step){.kind = RECIPE_BYTES}, f);
	return json_part_refuse(p,
	    "riffle has the decoders ByteLevel, Metaspace, Replace, ByteFallback, Fuse, Strip and "
	    "Sequence",
	    f);
}

/* ---- all four ---- */

enum fail_code
recipe_json_read(struct recipe *r, const struct json_part *top, bool add_special, struct failure *f)
{
	static const struct {
		const char *key;
		part_reader *read;
	} row[] = {
	    {"normalizer", read_normalizer},
	    {"pre_tokenizer", read_pretokenizer},
	    {"post_processor", read_processor},
	    {"decoder", read_decoder},
	};

	assert(r->normalizer.n == 0);
	assert(r->pretokenizer.n == 0);
	assert(r->decoder.n == 0);
	assert(r->before_n + r->after_n == 0);
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct json_part p = json_part_member(top, row[i].key);

		if (row[i].read(r, &p, f) != FAIL_NONE)
			return f->code;
	}
	if (!add_special) {
		r->before_n = 0;
		r->after_n = 0;
	}
	return FAIL_NONE;
}
