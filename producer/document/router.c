#include "producer/document/router.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buffer.h"
#include "common/base/json_field.h"
#include "common/base/text.h"
#include "common/base/utf8.h"
#include "producer/document/keep.h"
#include "producer/document/token_record.h"

/*
 * What the configuration of the domains becomes, so that a record costs one walk over its JSON and
 * one search by halving for each field that some `where` names:
 *
 *     wiki: where {source, wiki} text body      field    0 body   1 source   2 text   3 lang
 *     code: where {source, code} text text      group 0  field 1: code -> 1, wiki -> 0
 *     deu:  where {lang, de}     text text      group 1  field 3: de -> 2
 *                                               wanted   wiki [0]   code [2]   deu [2]
 *
 * A record {source: wiki, lang: de} matches wiki by group 0 and deu by group 1; the lowest domain,
 * wiki, has it.
 */

/* One value that makes a record a domain's. */
struct choice {
	const char *equals;
	size_t n;
	size_t domain;
};

/* All values that are looked for in one field, sorted by their bytes, none twice. */
struct group {
	size_t field;
	struct choice *choice;
	size_t choices_n;
};

/* The fields that make a domain's document, by index in router.field. */
struct wanted {
	size_t part[2]; /* the text, or prompt and response */
	size_t parts_n;
	bool prompt; /* part[0] is one */
	bool tokens; /* part[0] is a list of ids; keep[0] is the record's own */
	size_t no_loss, eos;
	size_t *keep; /* in the order of the configuration */
	size_t keeps_n;
};

struct router {
	const struct config_domain *const *domain;
	size_t domains_n;
	enum config_utf8 utf8;
	struct json_field_paths *paths;
	const char *field[JSON_FIELD_PATHS_MAX]; /* the dotted paths, each once */
	size_t fields_n;
	struct wanted *wanted; /* [domains_n] */
	struct group group[JSON_FIELD_PATHS_MAX];
	size_t groups_n; /* 0: one domain, which takes all */
};

struct router_scratch {
	struct json_field_scratch *json;
	struct buffer text; /* what was repaired, or put together */
	struct buffer keep;
	char reason[ROUTER_REASON_MAX];
};

/* ---- from the configuration ---- */

static enum fail_code
add_field(struct router *r, const char *path, size_t *field, struct failure *f)
{
	for (*field = 0; *field < r->fields_n; ++*field)
		if (strcmp(r->field[*field], path) == 0)
			return FAIL_NONE;
	if (r->fields_n == JSON_FIELD_PATHS_MAX)
		return fail(f, FAIL_CONFIG,
		    "domains of one input name more than %d different fields; give some of them an "
		    "input of their own",
		    JSON_FIELD_PATHS_MAX);
	r->field[r->fields_n++] = path;
	return FAIL_NONE;
}

/* Finds or makes the group of a field; FAIL_MEMORY. */
static enum fail_code
add_choice(struct router *r, size_t field, size_t domain, struct failure *f)
{
	const char *equals = r->domain[domain]->where_equals;
	struct group *g = r->group;

	assert(field < r->fields_n);
	while (g < r->group + r->groups_n && g->field != field)
		g++;
	if (g == r->group + r->groups_n) {
		g->field = field;
		g->choice = malloc(r->domains_n * sizeof(*g->choice));
		if (g->choice == NULL)
			return fail_memory(f);
		r->groups_n++;
	}
	assert(g->choices_n < r->domains_n);
	g->choice[g->choices_n++] = (struct choice){equals, strlen(equals), domain};
	return FAIL_NONE;
}

static enum fail_code
add_wanted_tokens(struct router *r, struct wanted *w, struct failure *f)
{
	w->keep = calloc(1, sizeof(*w->keep));
	if (w->keep == NULL)
		return fail_memory(f);
	if (add_field(r, TOKEN_RECORD_TOKENS, &w->part[0], f) != FAIL_NONE ||
	    add_field(r, TOKEN_RECORD_NO_LOSS, &w->no_loss, f) != FAIL_NONE ||
	    add_field(r, TOKEN_RECORD_EOS, &w->eos, f) != FAIL_NONE)
		return f->code;
	w->keeps_n = 1;
	return add_field(r, TOKEN_RECORD_KEEP, &w->keep[0], f);
}

static enum fail_code
add_wanted(struct router *r, size_t i, struct failure *f)
{
	const struct config_domain *d = r->domain[i];
	struct wanted *w = &r->wanted[i];

	w->tokens = d->tokens == TOKEN_FORMAT_JSONL;
	w->prompt = d->prompt != NULL;
	w->parts_n = w->prompt && d->response != NULL ? 2 : 1;
	if (w->tokens)
		return add_wanted_tokens(r, w, f);
	if (add_field(r, w->prompt ? d->prompt : d->text, &w->part[0], f) != FAIL_NONE)
		return f->code;
	if (w->parts_n == 2 && add_field(r, d->response, &w->part[1], f) != FAIL_NONE)
		return f->code;
	w->keep = calloc(d->keep.n + 1, sizeof(*w->keep));
	if (w->keep == NULL)
		return fail_memory(f);
	for (; w->keeps_n < d->keep.n; w->keeps_n++)
		if (add_field(r, d->keep.text[w->keeps_n], &w->keep[w->keeps_n], f) != FAIL_NONE)
			return f->code;
	return FAIL_NONE;
}

static enum fail_code
add_domain(struct router *r, size_t i, struct failure *f)
{
	const struct config_domain *d = r->domain[i];
	size_t field;

	assert(d->text != NULL && (d->where_field == NULL) == (d->where_equals == NULL));
	if (add_wanted(r, i, f) != FAIL_NONE)
		return f->code;
	if (d->where_field == NULL && r->domains_n > 1)
		return fail(f, FAIL_CONFIG,
		    "domain %s: takes every record of an input that domain %s shares; give it a "
		    "where",
		    d->name, r->domain[i == 0]->name);
	if (d->where_field == NULL)
		return FAIL_NONE;
	if (add_field(r, d->where_field, &field, f) != FAIL_NONE)
		return f->code;
	return add_choice(r, field, i, f);
}

static int
compare_bytes(const char *a, size_t a_n, const char *b, size_t b_n)
{
	size_t n = a_n < b_n ? a_n : b_n;
	int order = n == 0 ? 0 : memcmp(a, b, n);

	return order != 0 ? order : (a_n > b_n) - (a_n < b_n);
}

static int
compare_choices(const void *a, const void *b)
{
	const struct choice *left = a, *right = b;

	return compare_bytes(left->equals, left->n, right->equals, right->n);
}

static enum fail_code
sort_group(const struct router *r, struct group *g, struct failure *f)
{
	qsort(g->choice, g->choices_n, sizeof(*g->choice), compare_choices);
	for (size_t i = 1; i < g->choices_n; i++)
		if (compare_choices(&g->choice[i - 1], &g->choice[i]) == 0)
			return fail(f, FAIL_CONFIG,
			    "domains %s and %s: both take the records of one input where %s is %s",
			    r->domain[g->choice[i - 1].domain]->name,
			    r->domain[g->choice[i].domain]->name, r->field[g->field],
			    g->choice[i].equals);
	return FAIL_NONE;
}

enum fail_code
router_open(struct router **out, const struct config_domain *const *domain, size_t n,
    enum config_utf8 utf8, struct failure *f)
{
	struct router *r = calloc(1, sizeof(*r));

	assert(n > 0);
	assert(domain != NULL);
	if (r == NULL)
		return fail_memory(f);
	r->domain = domain;
	r->domains_n = n;
	r->utf8 = utf8;
	r->wanted = calloc(n, sizeof(*r->wanted));
	if (r->wanted == NULL) {
		fail_memory(f);
		goto failed;
	}
	for (size_t i = 0; i < n; i++)
		if (add_domain(r, i, f) != FAIL_NONE)
			goto failed;
	for (size_t i = 0; i < r->groups_n; i++)
		if (sort_group(r, &r->group[i], f) != FAIL_NONE)
			goto failed;
	if (json_field_paths_open(&r->paths, r->field, r->fields_n, f) != FAIL_NONE)
		goto failed;
	*out = r;
	return FAIL_NONE;
failed:
	router_close(r);
	return f->code;
}

void
router_close(struct router *r)
{
	if (r == NULL)
		return;
	json_field_paths_close(r->paths);
	for (size_t i = 0; i < r->groups_n; i++)
		free(r->group[i].choice);
	for (size_t i = 0; r->wanted != NULL && i < r->domains_n; i++)
		free(r->wanted[i].keep);
	free(r->wanted);
	free(r);
}

enum fail_code
router_scratch_open(struct router_scratch **out, struct failure *f)
{
	struct router_scratch *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return fail_memory(f);
	if (json_field_scratch_open(&s->json, f) != FAIL_NONE) {
		free(s);
		return f->code;
	}
	*out = s;
	return FAIL_NONE;
}

void
router_scratch_close(struct router_scratch *s)
{
	if (s == NULL)
		return;
	json_field_scratch_close(s->json);
	buffer_close(&s->text);
	buffer_close(&s->keep);
	free(s);
}

/* ---- whose record it is ---- */

/* The domain that takes `value` by this group; domains_n: none. */
static size_t
find_domain(const struct router *r, const struct group *g, const struct json_field_value *value)
{
	size_t low = 0, high = g->choices_n;

	if (value->found == JSON_FIELD_MISSING)
		return r->domains_n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct choice *c = &g->choice[middle];
		int order = compare_bytes(value->bytes, value->n, c->equals, c->n);

		if (order == 0)
			return c->domain;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return r->domains_n;
}

/* The lowest domain that takes the record by any group; domains_n: none does. */
static size_t
choose_domain(const struct router *r, const struct json_field_value *value)
{
	size_t chosen = r->groups_n == 0 ? 0 : r->domains_n;

	for (size_t i = 0; i < r->groups_n; i++) {
		size_t domain = find_domain(r, &r->group[i], &value[r->group[i].field]);

		if (domain < chosen)
			chosen = domain;
	}
	return chosen;
}

static void
reject(struct router_result *out, const char *reason)
{
	*out = (struct router_result){.verdict = ROUTER_REJECT, .reason = reason};
}

/* ---- the text ---- */

/* Whether text[n] is UTF-8 or may be repaired; else `out` says what is wrong with it. */
static bool
check_utf8(const struct router *r, struct router_scratch *s, const char *what, const char *text,
    size_t n, bool *valid, struct router_result *out)
{
	size_t good = utf8_valid_bytes(text, n);

	assert(good <= n);
	*valid = good == n;
	if (*valid || r->utf8 == CONFIG_UTF8_REPLACE)
		return true;
	snprintf(s->reason, sizeof(s->reason), "invalid UTF-8 at byte %zu of %s", good, what);
	reject(out, s->reason);
	return false;
}

/* Appends text[n], repaired if it has to be. */
static enum fail_code
append(struct buffer *b, const char *text, size_t n, bool valid, struct failure *f)
{
	if (buffer_reserve(b, (valid ? 1 : UTF8_REPLACED_FACTOR) * n, f) != FAIL_NONE)
		return f->code;
	if (valid && n > 0)
		memcpy(b->bytes + b->n, text, n);
	b->n += valid ? n : utf8_replace((char *)b->bytes + b->n, text, n);
	return FAIL_NONE;
}

/* Whether so much of what were `before` bytes was replaced that it is in another encoding. */
static bool
is_garbled(const struct buffer *b, size_t before)
{
	size_t replaced = 0;

	for (size_t i = 0; i + 2 < b->n; i++)
		replaced += memcmp(b->bytes + i, "\xef\xbf\xbd", 3) == 0;
	return replaced * 100 > before * ROUTER_GARBLED_PERCENT;
}

/* Gives one text as a document, or rejects it. It is copied only where it has to be repaired. */
static enum fail_code
give_text(const struct router *r, struct router_scratch *s, size_t domain, const char *text,
    size_t n, struct router_result *out, struct failure *f)
{
	bool valid;

	if (!check_utf8(r, s, "the text", text, n, &valid, out))
		return FAIL_NONE;
	s->text.n = 0;
	if (!valid && append(&s->text, text, n, valid, f) != FAIL_NONE)
		return f->code;
	*out = (struct router_result){.verdict = ROUTER_DOCUMENT,
	    .domain = domain,
	    .text = valid ? text : (const char *)s->text.bytes,
	    .n = valid ? n : s->text.n,
	    .garbled = !valid && is_garbled(&s->text, n)};
	return FAIL_NONE;
}

/*
 * Gives prompt and response as a document. Each is repaired by itself: bytes that are no character
 * at the end of the prompt do not become one with the first bytes of the response.
 */
static enum fail_code
give_two(const struct router *r, struct router_scratch *s, size_t domain,
    const struct json_field_value *prompt, const struct json_field_value *response,
    struct router_result *out, struct failure *f)
{
	bool valid[2];
	size_t prompt_n;

	if (!check_utf8(r, s, "the prompt", prompt->bytes, prompt->n, &valid[0], out) ||
	    !check_utf8(r, s, "the response", response->bytes, response->n, &valid[1], out))
		return FAIL_NONE;
	s->text.n = 0;
	if (append(&s->text, prompt->bytes, prompt->n, valid[0], f) != FAIL_NONE)
		return f->code;
	prompt_n = s->text.n;
	if (append(&s->text, response->bytes, response->n, valid[1], f) != FAIL_NONE)
		return f->code;
	assert(prompt_n <= s->text.n);
	*out = (struct router_result){.verdict = ROUTER_DOCUMENT,
	    .domain = domain,
	    .text = s->text.n == 0 ? "" : (const char *)s->text.bytes,
	    .n = s->text.n,
	    .garbled = !(valid[0] && valid[1]) && is_garbled(&s->text, prompt->n + response->n),
	    .prompt_n = prompt_n};
	return FAIL_NONE;
}

/* ---- what is kept ---- */

/*
 * Repairs what is kept where it has to be: the same object, in the same place. It is written behind
 * itself and moved back, since a byte that is none of a character becomes three.
 */
static enum fail_code
repair_keep(struct buffer *b, struct failure *f)
{
	size_t n = b->n;

	if (buffer_reserve(b, UTF8_REPLACED_FACTOR * n, f) != FAIL_NONE)
		return f->code;
	b->n = utf8_replace((char *)b->bytes + n, (const char *)b->bytes, n);
	assert(n + b->n <= b->room);
	memmove(b->bytes, b->bytes + n, b->n);
	return FAIL_NONE;
}

/* Gives what stands in s->keep to a document, or rejects it. */
static enum fail_code
take_keep(
    const struct router *r, struct router_scratch *s, struct router_result *out, struct failure *f)
{
	struct buffer *b = &s->keep;
	bool valid;

	if (!check_utf8(r, s, "what is kept", (const char *)b->bytes, b->n, &valid, out))
		return FAIL_NONE;
	if (!valid && repair_keep(b, f) != FAIL_NONE)
		return f->code;
	if (b->n > ROUTER_KEEP_BYTES) {
		snprintf(s->reason, sizeof(s->reason),
		    "the fields to keep are %zu bytes, more than the %d of a document", b->n,
		    ROUTER_KEEP_BYTES);
		reject(out, s->reason);
		return FAIL_NONE;
	}
	out->keep = (const char *)b->bytes;
	out->keep_n = b->n;
	return FAIL_NONE;
}

/* Adds what the domain keeps to a document. */
static enum fail_code
give_keep(const struct router *r, struct router_scratch *s, const struct json_field_value *value,
    struct router_result *out, struct failure *f)
{
	const struct wanted *w = &r->wanted[out->domain];
	struct buffer *b = &s->keep;

	assert(out->verdict == ROUTER_DOCUMENT);
	assert(out->domain < r->domains_n);
	if (keep_begin(b, f) != FAIL_NONE)
		return f->code;
	for (size_t i = 0; i < w->keeps_n; i++) {
		const struct json_field_value *v = &value[w->keep[i]];

		if (v->found != JSON_FIELD_MISSING &&
		    keep_add(b, r->field[w->keep[i]], v->raw, v->raw_n, f) != FAIL_NONE)
			return f->code;
	}
	return keep_end(b, f) != FAIL_NONE ? f->code : take_keep(r, s, out, f);
}

/* ---- the document ---- */

/* Whether the field is a string; else `out` says so. */
static bool
check_string(struct router_scratch *s, const char *field, const struct json_field_value *value,
    struct router_result *out)
{
	if (value->found == JSON_FIELD_STRING)
		return true;
	if (value->found == JSON_FIELD_MISSING)
		snprintf(s->reason, sizeof(s->reason), ROUTER_NO_FIELD "%s`", field);
	else
		snprintf(s->reason, sizeof(s->reason), "field `%s` is not a string", field);
	reject(out, s->reason);
	return false;
}

/* Whether the value's JSON text is `word`. */
static bool
is_word(const struct json_field_value *v, const char *word)
{
	return v->raw_n == strlen(word) && memcmp(v->raw, word, v->raw_n) == 0;
}

static bool
is_absent(const struct json_field_value *v)
{
	return v->found == JSON_FIELD_MISSING || is_word(v, "null");
}

/* Gives the ids of a record as a document. */
static enum fail_code
give_tokens(const struct router *r, struct router_scratch *s, size_t domain,
    const struct chunk_record *record, const struct json_field_value *value,
    struct router_result *out, struct failure *f)
{
	const char *where = r->domain[domain]->where_field;
	struct text_view unknown = token_record_unknown(record->bytes, record->n, where);
	const struct wanted *w = &r->wanted[domain];
	const struct json_field_value *ids = &value[w->part[0]], *no_loss = &value[w->no_loss],
				      *keep = &value[w->keep[0]], *eos = &value[w->eos];

	if (ids->found == JSON_FIELD_MISSING) {
		reject(out, ROUTER_NO_FIELD TOKEN_RECORD_TOKENS "`");
		return FAIL_NONE;
	}
	if (unknown.bytes != NULL) {
		snprintf(s->reason, sizeof(s->reason), TOKEN_RECORD_UNKNOWN,
		    (int)(unknown.n < TOKEN_RECORD_KEY_MAX ? unknown.n : TOKEN_RECORD_KEY_MAX),
		    unknown.bytes);
		reject(out, s->reason);
		return FAIL_NONE;
	}
	*out = (struct router_result){
	    .verdict = ROUTER_DOCUMENT, .domain = domain, .ids = {ids->raw, ids->raw_n}};
	if (!is_absent(no_loss))
		out->no_loss = (struct text_view){no_loss->raw, no_loss->raw_n};
	out->no_eos = !is_absent(eos) && is_word(eos, "false");
	if (!is_absent(eos) && !out->no_eos && !is_word(eos, "true")) {
		reject(out, "field `" TOKEN_RECORD_EOS "` is not true or false");
		return FAIL_NONE;
	}
	if (is_absent(keep))
		return FAIL_NONE;
	if (*keep->raw != '{') {
		reject(out, "field `" TOKEN_RECORD_KEEP "` is not an object");
		return FAIL_NONE;
	}
	return keep_object(&s->keep, keep->raw, keep->raw_n, f) != FAIL_NONE
		   ? f->code
		   : take_keep(r, s, out, f);
}

/* Gives the document that the fields of a record make for a domain, or rejects it. */
static enum fail_code
give_document(const struct router *r, struct router_scratch *s, size_t domain,
    const struct chunk_record *record, const struct json_field_value *value,
    struct router_result *out, struct failure *f)
{
	const struct wanted *w = &r->wanted[domain];
	const struct json_field_value *part[2] = {&value[w->part[0]], &value[w->part[1]]};
	enum fail_code code;

	assert(domain < r->domains_n);
	if (w->tokens)
		return give_tokens(r, s, domain, record, value, out, f);
	for (size_t i = 0; i < w->parts_n; i++)
		if (!check_string(s, r->field[w->part[i]], part[i], out))
			return FAIL_NONE;
	if (w->parts_n == 2)
		code = give_two(r, s, domain, part[0], part[1], out, f);
	else
		code = give_text(r, s, domain, part[0]->bytes, part[0]->n, out, f);
	if (code != FAIL_NONE || out->verdict != ROUTER_DOCUMENT)
		return code;
	out->prompt_only = w->prompt && w->parts_n == 1;
	if (out->prompt_only)
		out->prompt_n = out->n;
	return w->keeps_n == 0 ? FAIL_NONE : give_keep(r, s, value, out, f);
}

/* ---- records ---- */

#define ONE_A_LINE "riffle reads one JSON object per line. Convert the file: "
#define HINT_ARRAY "; this looks like a JSON array: " ONE_A_LINE "jq -c '.[]' FILE > FILE.jsonl"
#define HINT_OBJECT                                                                                \
	"; this looks like a JSON object over several lines: " ONE_A_LINE                          \
	"jq -c . FILE > FILE.jsonl"
#define HINT_NUMBER                                                                                \
	"; JSON has no NaN and no Infinity. Write null instead: python3 -c 'import json, sys; "    \
	"[print(json.dumps(json.loads(x, parse_constant=lambda _: None))) for x in sys.stdin]' "   \
	"< FILE > FILE.jsonl"
#define HINT_CSV                                                                                   \
	"; CSV is not read. Convert the file: python3 -c 'import csv, json, sys; "                 \
	"csv.field_size_limit(2**30); [print(json.dumps(x)) for x in csv.DictReader(sys.stdin)]' " \
	"< FILE > FILE.jsonl"
#define HINT_BINARY                                                                                \
	"; it looks like no text: is it the right file, or compressed without .gz or .zst?"

/* Whether bytes are there that no text has. */
static bool
is_binary(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (text[i] == '\0' ||
		    ((unsigned char)text[i] < ' ' && strchr("\t\r\f", text[i]) == NULL))
			return true;
	return false;
}

/* Whether a number that JSON lacks, and other programs write, stands outside the strings. */
static bool
has_foreign_number(const char *text, size_t n)
{
	static const char *const word[] = {"NaN", "Infinity"};
	bool quoted = false;

	for (size_t i = 0; i < n; i++) {
		if (quoted && text[i] == '\\')
			i++;
		else if (text[i] == '"')
			quoted = !quoted;
		for (size_t k = 0; !quoted && k < sizeof(word) / sizeof(word[0]); k++)
			if (n - i >= strlen(word[k]) &&
			    memcmp(text + i, word[k], strlen(word[k])) == 0)
				return true;
	}
	return false;
}

/* Whether a line looks like names with commas between them: no sentence and no piece of JSON. */
static bool
is_csv_header(const char *text, size_t n)
{
	bool comma = false;

	for (size_t i = 0; i < n; i++) {
		if (strchr("{}[]:", text[i]) != NULL ||
		    (i > 0 && text[i - 1] == ',' && text[i] == ' '))
			return false;
		comma = comma || (text[i] == ',' && i + 1 < n);
	}
	return comma;
}

enum router_json_kind
router_json_kind(const char *text, size_t n)
{
	while (n > 0 && strchr(" \t\r", *text) != NULL && *text != '\0') {
		text++;
		n--;
	}
	while (n > 0 && strchr(" \t\r", text[n - 1]) != NULL && text[n - 1] != '\0')
		n--;
	if (n > 0 && (*text == '[' || *text == ']'))
		return ROUTER_JSON_ARRAY;
	if (n > 0 &&
	    (*text == '}' || (*text == '"' && !is_csv_header(text, n)) || (*text == '{' && n == 1)))
		return ROUTER_JSON_OBJECT;
	if (n > 1 && *text == '{' && text[n - 2] == '}' && text[n - 1] == ',')
		return ROUTER_JSON_ARRAY; /* one of its items */
	if (n > 0 && *text != '{' && is_binary(text, n))
		return ROUTER_JSON_BINARY;
	return has_foreign_number(text, n) ? ROUTER_JSON_NUMBER : ROUTER_JSON_OTHER;
}

const char *
router_json_hint(enum router_json_kind kind)
{
	static const char *const hint[] = {[ROUTER_JSON_OTHER] = "",
	    [ROUTER_JSON_ARRAY] = HINT_ARRAY,
	    [ROUTER_JSON_OBJECT] = HINT_OBJECT,
	    [ROUTER_JSON_NUMBER] = HINT_NUMBER,
	    [ROUTER_JSON_BINARY] = HINT_BINARY};

	return hint[kind];
}

const char *
router_csv_hint(const char *file, const struct chunk_record *first)
{
	bool csv = first != NULL && first->reject == NULL &&
		   chunk_form_of(file) == CHUNK_JSON_LINES && is_csv_header(first->bytes, first->n);

	return csv || text_ends_with(file, ".csv") ? HINT_CSV : "";
}

static void
reject_json(struct router_scratch *s, const struct chunk_record *record, const struct failure *why,
    struct router_result *out)
{
	snprintf(s->reason, sizeof(s->reason), "%.300s%s", why->text,
	    router_json_hint(router_json_kind(record->bytes, record->n)));
	reject(out, s->reason);
}

static enum fail_code
route_line(const struct router *r, struct router_scratch *s, const struct chunk_record *record,
    struct router_result *out, struct failure *f)
{
	struct json_field_value value[JSON_FIELD_PATHS_MAX];
	size_t domain;

	if (json_field_read(r->paths, s->json, record->bytes, record->n, value, f) != FAIL_NONE) {
		if (f->code != FAIL_DATA)
			return f->code;
		reject_json(s, record, f, out);
		return FAIL_NONE;
	}
	domain = choose_domain(r, value);
	if (domain < r->domains_n)
		return give_document(r, s, domain, record, value, out, f);
	*out = (struct router_result){.verdict = ROUTER_UNMATCHED};
	return FAIL_NONE;
}

enum fail_code
router_route(const struct router *r, struct router_scratch *s, enum chunk_form form,
    const struct chunk_record *record, struct router_result *out, struct failure *f)
{
	if (record->reject != NULL) {
		reject(out, record->reject);
		return FAIL_NONE;
	}
	if (form == CHUNK_JSON_LINES)
		return route_line(r, s, record, out, f);
	if (r->groups_n > 0) {
		reject(out, "a text file has no fields, so that `where` cannot choose its domain");
		return FAIL_NONE;
	}
	if (r->wanted[0].tokens) {
		reject(out, "a text file has no fields, of which `tokens` could be one");
		return FAIL_NONE;
	}
	if (r->wanted[0].prompt || r->wanted[0].keeps_n > 0) {
		reject(out, "a text file has no fields, of which `prompt` or `keep` could be one");
		return FAIL_NONE;
	}
	return give_text(r, s, 0, record->bytes, record->n, out, f);
}
