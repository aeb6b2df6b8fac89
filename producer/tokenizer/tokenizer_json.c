#include "producer/tokenizer/tokenizer_json.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "common/base/utf8.h"
#include "producer/tokenizer/added_json.h"
#include "producer/tokenizer/fingerprint.h"
#include "producer/tokenizer/model_compile.h"
#include "producer/tokenizer/recipe_json.h"

/* What is open while a file is read. */
struct reading {
	struct tokenizer *t;
	const struct tokenizer_options *o;
	struct buffer text; /* the whole file */
	struct json_members members;
	struct json_part top; /* all of them but the model */
	struct model_json model;
	struct special_list specials;
};

static int
is_tokenizer_name(const struct dirent *e)
{
	const char *dot = strrchr(e->d_name, '.');

	return strcmp(e->d_name, "tokenizer.json") == 0 ||
	       (dot != NULL && strcmp(dot, ".tiktoken") == 0);
}

static enum fail_code
fail_folder(const char *folder, struct failure *f)
{
	struct dirent **found = NULL;
	struct text names = {0};
	int n = scandir(folder, &found, is_tokenizer_name, alphasort);
	char *text;

	for (int i = 0; i < n; i++) {
		text_add(&names, "%s%s/%s", i == 0 ? "" : " or ", folder, found[i]->d_name);
		free(found[i]);
	}
	free(found);
	text = text_take(&names);
	if (n > 0 && text != NULL)
		fail(f, FAIL_CONFIG, "tokenizer %s: is a folder. Give the file in it: %s", folder,
		    text);
	else
		fail(f, FAIL_CONFIG,
		    "tokenizer %s: is a folder, and has neither a tokenizer.json nor a .tiktoken "
		    "file",
		    folder);
	free(text);
	return f->code;
}

enum fail_code
tokenizer_json_is(bool *is, const char *file, struct failure *f)
{
	FILE *in = fopen(file, "rb");
	enum fail_code code = FAIL_NONE;
	int c = ' ';

	if (in == NULL)
		return fail_errno(f, FAIL_IO, "tokenizer %s: cannot be opened", file);
	while (c == ' ' || c == '\n' || c == '\r' || c == '\t')
		c = getc(in);
	if (ferror(in) && errno == EISDIR)
		code = fail_folder(file, f);
	else if (ferror(in))
		code = fail_errno(f, FAIL_IO, "tokenizer %s: cannot be read", file);
	fclose(in);
	*is = c == '{';
	return code;
}

static enum fail_code
read_file(struct buffer *text, const char *file, struct failure *f)
{
	FILE *in = fopen(file, "rb");
	enum fail_code code = FAIL_NONE;
	size_t got = 1;

	if (in == NULL)
		return fail_errno(f, FAIL_IO, "tokenizer %s: cannot be opened", file);
	while (code == FAIL_NONE && got > 0) {
		code = buffer_reserve(text, text->n + (1 << 20), f);
		got = code != FAIL_NONE ? 0
					: fread(text->bytes + text->n, 1, text->room - text->n, in);
		text->n += got;
		if (text->n > TOKENIZER_JSON_FILE_MAX)
			code = fail(f, FAIL_DATA, "tokenizer %s: is larger than %d bytes", file,
			    TOKENIZER_JSON_FILE_MAX);
	}
	if (code == FAIL_NONE && ferror(in))
		code = fail_errno(f, FAIL_IO, "tokenizer %s: cannot be read", file);
	fclose(in);
	return code;
}

static enum fail_code
find_members(struct reading *r, struct failure *f)
{
	static const char *const large[] = {"model"};
	enum fail_code code;
	size_t valid;

	if (read_file(&r->text, r->o->file, f) != FAIL_NONE)
		return f->code;
	valid = utf8_valid_bytes((const char *)r->text.bytes, r->text.n);
	if (valid < r->text.n)
		return fail(
		    f, FAIL_DATA, "tokenizer %s: byte %zu: is not UTF-8", r->o->file, valid);
	code = json_members_find(
	    &r->members, r->o->file, "", (const char *)r->text.bytes, r->text.n, f);
	if (code == FAIL_DATA)
		fail_more(f,
		    "; is it a tokenizer.json? Name the tokenizer.json or the .tiktoken file "
		    "of your model");
	if (code != FAIL_NONE)
		return code;
	if (json_members_get(&r->members, "model") == NULL)
		return fail(f, FAIL_DATA,
		    "tokenizer %s: is neither a .tiktoken file nor a tokenizer.json: model is "
		    "missing",
		    r->o->file);
	if (r->o->pattern != NULL)
		return fail(f, FAIL_CONFIG,
		    "tokenizer %s: a tokenizer.json says its pattern itself; leave out \"%s\"",
		    r->o->file, r->o->pattern);
	return json_part_open(&r->top, r->o->file, "", &r->members, large, 1, f);
}

/* What must be null, for it would change what comes out. */
static enum fail_code
check_null(const struct reading *r, const char *key, const char *why, struct failure *f)
{
	struct json_part p = json_part_member(&r->top, key);

	return json_part_is_null(&p) ? FAIL_NONE : json_part_refuse(&p, why, f);
}

static enum fail_code
check_top(const struct reading *r, struct failure *f)
{
	static const char *const keys[] = {"version", "truncation", "padding", "added_tokens",
	    "normalizer", "pre_tokenizer", "post_processor", "decoder", "model"};
	struct json_part version = json_part_member(&r->top, "version");

	if (json_part_check_keys(&r->top, keys, sizeof(keys) / sizeof(keys[0]), f) != FAIL_NONE ||
	    check_null(r, "truncation", "documents would be cut; null is taken", f) != FAIL_NONE ||
	    check_null(r, "padding", "documents would be padded; null is taken", f) != FAIL_NONE)
		return f->code;
	if (version.value != NULL && strcmp(json_part_text(&r->top, "version"), "1.0") != 0)
		return json_part_refuse(&version, "only \"1.0\" is known", f);
	return FAIL_NONE;
}

static enum fail_code
read_model(struct reading *r, struct failure *f)
{
	const struct json_member *model = json_members_get(&r->members, "model");

	assert(model != NULL);
	if (model_json_read(&r->model, r->o->file, model->value, model->n, f) != FAIL_NONE)
		return f->code;
	if (r->model.entries == 0)
		return fail(f, FAIL_DATA, "tokenizer %s: model.vocab has no tokens", r->o->file);
	return model_compile(r->t, &r->model, r->o->file, &r->specials, f);
}

/* The text of the option is an added token, or one of the vocabulary as the file writes it. */
static enum fail_code
find_eos(struct reading *r, struct failure *f)
{
	const char *eos = r->o->eos;

	if (eos == NULL || r->t->eos != VOCABULARY_NONE)
		return FAIL_NONE;
	if (eos[0] != '\0')
		r->t->eos = vocabulary_find(&r->model.text, (const uint8_t *)eos, strlen(eos));
	if (r->t->eos != VOCABULARY_NONE)
		return FAIL_NONE;
	return fail(f, FAIL_CONFIG,
	    "tokenizer %s: eos \"%s\" is neither in added_tokens nor in model.vocab", r->o->file,
	    eos);
}

static enum fail_code
load(struct reading *r, struct failure *f)
{
	struct json_part added;

	if (find_members(r, f) != FAIL_NONE || check_top(r, f) != FAIL_NONE ||
	    recipe_json_read(r->t->recipe, &r->top, r->o->add_special, f) != FAIL_NONE ||
	    read_model(r, f) != FAIL_NONE)
		return f->code;
	added = json_part_member(&r->top, "added_tokens");
	if (added_json_read(r->t, &r->model, &added, r->o, &r->specials, f) != FAIL_NONE ||
	    find_eos(r, f) != FAIL_NONE || special_list_give(&r->specials, r->t, f) != FAIL_NONE ||
	    recipe_decode_all(r->t->recipe, &r->t->vocabulary, f) != FAIL_NONE)
		return f->code;
	return fingerprint_json(r->t, &r->model, &r->top, r->o, f);
}

enum fail_code
tokenizer_json_load(struct tokenizer *t, const struct tokenizer_options *o, struct failure *f)
{
	struct reading *r;
	enum fail_code code;

	t->recipe = calloc(1, sizeof(*t->recipe));
	r = calloc(1, sizeof(*r));
	if (t->recipe == NULL || r == NULL) {
		free(r);
		return fail_memory(f);
	}
	r->t = t;
	r->o = o;
	t->eos = VOCABULARY_NONE;
	code = load(r, f);
	buffer_close(&r->text);
	json_part_close(&r->top);
	model_json_close(&r->model);
	special_list_close(&r->specials);
	free(r);
	return code;
}
