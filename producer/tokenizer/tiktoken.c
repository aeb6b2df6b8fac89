#include "producer/tokenizer/tiktoken.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "producer/tokenizer/fingerprint.h"

enum { IS_DIGIT = 64 };

/* A token as read: its bytes in `text`, over the base64 they came from. */
struct line {
	uint32_t number; /* from 1; 0: this rank has not come */
	uint32_t n;
	const uint8_t *token;
};

struct reading {
	const char *file;
	uint8_t *text; /* the whole file */
	size_t n;
	struct line *line; /* [room], by rank */
	uint32_t ranks;    /* the highest + 1 */
	uint32_t room;
	uint64_t bytes;      /* of all tokens */
	uint8_t digits[256]; /* digit() of every byte */
};

static enum fail_code
read_file(struct reading *r, struct failure *f)
{
	FILE *in = fopen(r->file, "rb");
	enum fail_code code = FAIL_NONE;
	size_t room = 1 << 22, got;

	if (in == NULL)
		return fail_errno(f, FAIL_IO, "tokenizer %s: cannot be opened", r->file);
	for (;;) {
		uint8_t *more = realloc(r->text, room);

		if (more == NULL) {
			code = fail_memory(f);
			break;
		}
		r->text = more;
		got = fread(r->text + r->n, 1, room - r->n, in);
		r->n += got;
		if (r->n < room)
			break;
		if (room > TIKTOKEN_FILE_MAX) {
			code = fail(f, FAIL_DATA, "tokenizer %s: is larger than %d bytes", r->file,
			    TIKTOKEN_FILE_MAX);
			break;
		}
		room *= 2;
	}
	if (code == FAIL_NONE && ferror(in))
		code = fail_errno(f, FAIL_IO, "tokenizer %s: cannot be read", r->file);
	fclose(in);
	return code;
}

/* Six bits of a base64 digit and one above that says that it is one; 0: it is none. */
static uint8_t
digit(uint8_t c)
{
	if (c >= 'A' && c <= 'Z')
		return (uint8_t)(IS_DIGIT | (c - 'A'));
	if (c >= 'a' && c <= 'z')
		return (uint8_t)(IS_DIGIT | (c - 'a' + 26));
	if (c >= '0' && c <= '9')
		return (uint8_t)(IS_DIGIT | (c - '0' + 52));
	return c == '+' ? IS_DIGIT | 62 : c == '/' ? IS_DIGIT | 63 : 0;
}

/* Decodes p[n] in place; false: it is not canonical base64 of at least one byte. */
static bool
decode(const uint8_t *digits, uint8_t *p, size_t n, size_t *out)
{
	size_t written = 0, padding = 0;

	if (n == 0 || n % 4 != 0)
		return false;
	while (padding < 2 && p[n - 1 - padding] == '=')
		p[n - 1 - padding++] = 'A'; /* zero bits, which are taken off below */
	for (size_t i = 0; i < n; i += 4) {
		uint8_t a = digits[p[i]], b = digits[p[i + 1]], c = digits[p[i + 2]],
			d = digits[p[i + 3]];

		if ((a & b & c & d & IS_DIGIT) == 0)
			return false;
		p[written++] = (uint8_t)(a << 2 | (b & 63) >> 4);
		p[written++] = (uint8_t)(b << 4 | (c & 63) >> 2);
		p[written++] = (uint8_t)(c << 6 | (d & 63));
	}
	/* What the padding stands for must be zero bits. */
	for (size_t i = 0; i < padding; i++)
		if (p[--written] != 0)
			return false;
	*out = written;
	return true;
}

/* Decimal digits without a sign, leading zeros or more than VOCABULARY_IDS_MAX. */
static bool
decimal(const uint8_t *p, size_t n, uint32_t *out)
{
	uint32_t value = 0;

	if (n == 0 || n > 9 || (n > 1 && p[0] == '0'))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (p[i] < '0' || p[i] > '9')
			return false;
		value = value * 10 + (uint32_t)(p[i] - '0');
	}
	*out = value;
	return true;
}

static enum fail_code
room_for(struct reading *r, uint32_t rank, struct failure *f)
{
	uint32_t room = r->room == 0 ? 1 << 17 : r->room;
	struct line *more;

	if (rank < r->room)
		return FAIL_NONE;
	while (room <= rank)
		room *= 2;
	more = realloc(r->line, room * sizeof(*more));
	if (more == NULL)
		return fail_memory(f);
	memset(more + r->room, 0, (room - r->room) * sizeof(*more));
	r->line = more;
	r->room = room;
	return FAIL_NONE;
}

static enum fail_code
fail_line(const struct reading *r, uint32_t number, struct failure *f, const char *why)
{
	return fail(f, FAIL_DATA, "tokenizer %s: line %" PRIu32 ": %s", r->file, number, why);
}

static enum fail_code
read_line(struct reading *r, uint8_t *p, size_t n, uint32_t number, struct failure *f)
{
	const uint8_t *space = memchr(p, ' ', n);
	size_t bytes = 0, token_n = space == NULL ? n : (size_t)(space - p);
	uint32_t rank = 0;

	if (space == NULL)
		return fail_line(r, number, f,
		    "is not a token in base64, a space and a rank; is it a .tiktoken file?");
	if (!decimal(space + 1, n - token_n - 1, &rank))
		return fail_line(r, number, f, "the rank is not a decimal number");
	if (rank >= VOCABULARY_IDS_MAX)
		return fail(f, FAIL_DATA,
		    "tokenizer %s: line %" PRIu32 ": rank %" PRIu32 " is over the limit of %d",
		    r->file, number, rank, VOCABULARY_IDS_MAX - 1);
	if (!decode(r->digits, p, token_n, &bytes))
		return fail_line(r, number, f, "the token is not canonical base64");
	if (bytes > VOCABULARY_TOKEN_MAX)
		return fail(f, FAIL_DATA,
		    "tokenizer %s: line %" PRIu32 ": a token of %zu bytes, at most %d are taken",
		    r->file, number, bytes, VOCABULARY_TOKEN_MAX);
	if (room_for(r, rank, f) != FAIL_NONE)
		return f->code;
	if (r->line[rank].number != 0)
		return fail(f, FAIL_DATA,
		    "tokenizer %s: line %" PRIu32 ": rank %" PRIu32 " was given in line %" PRIu32
		    " already",
		    r->file, number, rank, r->line[rank].number);
	r->line[rank] = (struct line){number, (uint32_t)bytes, p};
	r->bytes += bytes;
	if (rank >= r->ranks)
		r->ranks = rank + 1;
	return FAIL_NONE;
}

static enum fail_code
read_lines(struct reading *r, struct failure *f)
{
	uint8_t *p = r->text, *end = r->text + r->n;

	for (unsigned i = 0; i < 256; i++)
		r->digits[i] = digit((uint8_t)i);
	for (uint32_t number = 1; p < end; number++) {
		uint8_t *newline = memchr(p, '\n', (size_t)(end - p));
		uint8_t *after = newline == NULL ? end : newline;

		if (newline != NULL && after > p && after[-1] == '\r')
			after--;
		if (after > p && read_line(r, p, (size_t)(after - p), number, f) != FAIL_NONE)
			return f->code;
		p = newline == NULL ? end : newline + 1;
	}
	if (r->ranks == 0)
		return fail(f, FAIL_DATA, "tokenizer %s: has no tokens", r->file);
	return FAIL_NONE;
}

/* Copies the tokens out of the file's text, by rank. */
static enum fail_code
fill(struct vocabulary *v, const struct reading *r, struct failure *f)
{
	uint32_t at = 0;

	v->bytes = malloc(r->bytes + 1);
	v->start = malloc(((size_t)r->ranks + 1) * sizeof(*v->start));
	if (v->bytes == NULL || v->start == NULL)
		return fail_memory(f);
	v->ids = r->ranks;
	for (uint32_t id = 0; id < r->ranks; id++) {
		const struct line *line = &r->line[id];

		v->start[id] = at;
		if (line->number == 0)
			continue;
		memcpy(v->bytes + at, line->token, line->n);
		at += line->n;
	}
	v->start[r->ranks] = at;
	assert(at == r->bytes);
	return FAIL_NONE;
}

static enum fail_code
read_all(struct vocabulary *v, struct reading *r, struct failure *f)
{
	uint32_t first = 0, second = 0;
	enum fail_code code;

	if (read_file(r, f) != FAIL_NONE || read_lines(r, f) != FAIL_NONE ||
	    fill(v, r, f) != FAIL_NONE)
		return f->code;
	code = vocabulary_index(v, &first, &second, f);
	if (code != FAIL_DATA)
		return code;
	return fail(f, FAIL_DATA,
	    "tokenizer %s: lines %" PRIu32 " and %" PRIu32 " hold the same token, ranks %" PRIu32
	    " and %" PRIu32,
	    r->file, r->line[first].number, r->line[second].number, first, second);
}

enum fail_code
tiktoken_read(struct vocabulary *v, const char *file, struct failure *f)
{
	struct reading r = {.file = file};
	enum fail_code code = read_all(v, &r, f);

	free(r.text);
	free(r.line);
	return code;
}

/* ---- the table: what the file does not say ---- */

enum { SPECIALS_MAX = 5, SPECIALS_TEXT_MAX = 512 };

/*
 * The special tokens of the encodings that tiktoken 0.14 knows, told apart by pattern and ranks
 * (openai_public.py). A file of another size has none.
 */
static const struct encoding {
	enum splitter_pattern pattern;
	uint32_t ids; /* the highest rank + 1 */
	size_t specials_n;
	struct tokenizer_special special[SPECIALS_MAX];
} encodings[] = {
    {SPLITTER_GPT2, 50256, 1, {{"<|endoftext|>", 50256}}}, /* gpt2, r50k_base */
    {SPLITTER_GPT2, 50281, 1, {{"<|endoftext|>", 50256}}}, /* p50k_base: a hole at 50256 */
    {SPLITTER_CL100K, 100256, 5,
	{{"<|endoftext|>", 100257}, {"<|fim_prefix|>", 100258}, {"<|fim_middle|>", 100259},
	    {"<|fim_suffix|>", 100260}, {"<|endofprompt|>", 100276}}},
    {SPLITTER_O200K, 199998, 2, {{"<|endoftext|>", 199999}, {"<|endofprompt|>", 200018}}},
};

/* The pattern that the user names: the file does not. */
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

/* The special tokens that go with pattern and number of ranks, if they are known. */
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

static bool
is_special(const struct tokenizer *t, uint32_t id)
{
	for (size_t i = 0; i < t->specials_n; i++)
		if (t->special[i].id == id)
			return true;
	return false;
}

/* Ranks are without gaps but for special tokens, and every single byte has one. */
static enum fail_code
check_vocabulary(const struct tokenizer *t, const char *file, struct failure *f)
{
	const struct vocabulary *v = &t->vocabulary;

	for (uint32_t id = 0; id < v->ids; id++)
		if (v->start[id] == v->start[id + 1] && !is_special(t, id))
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

const char *
tiktoken_other_pattern(const struct tokenizer *t)
{
	for (size_t i = 0; i < sizeof(encodings) / sizeof(encodings[0]); i++)
		if (encodings[i].ids == t->vocabulary.ids && encodings[i].pattern != t->pattern)
			return splitter_pattern_text[encodings[i].pattern];
	return NULL;
}

/*
 * No special tokens are known of the file's size. Where it looks like a known one, that is why: the
 * pattern is another's, or the file is cut off.
 */
static enum fail_code
fail_unknown_size(const struct tokenizer *t, const struct tokenizer_options *o, struct failure *f)
{
	const char *pattern = splitter_pattern_text[t->pattern];
	const char *other = tiktoken_other_pattern(t);
	uint32_t ids = t->vocabulary.ids, more = 0;

	if (other != NULL)
		return fail(f, FAIL_CONFIG,
		    "tokenizer %s: eos \"%s\" is not a token; a file of %" PRIu32
		    " ranks goes with tokenizer.pattern: %s, and the configuration has %s",
		    o->file, o->eos, ids, other, pattern);

	for (size_t i = 0; i < sizeof(encodings) / sizeof(encodings[0]); i++) {
		const struct encoding *e = &encodings[i];

		if (e->pattern == t->pattern && e->ids > ids && (more == 0 || e->ids < more))
			more = e->ids;
	}
	fail(f, FAIL_CONFIG,
	    "tokenizer %s: eos \"%s\" is not a token; no special tokens are known of a file of "
	    "%" PRIu32 " ranks with pattern %s",
	    o->file, o->eos, ids, pattern);
	if (more > 0)
		fail_more(f, ", which has %" PRIu32 ": is the file whole?", more);
	return fail_more(f, "%s a tokenizer of your own: name a token of the file as eos",
	    more > 0 ? " Of" : "; of");
}

/* Names the special tokens that there are. */
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
		return fail_unknown_size(t, o, f);
	return fail(f, FAIL_CONFIG,
	    "tokenizer %s: eos \"%s\" is not a token; the special tokens are %s", o->file, o->eos,
	    list);
}

/* eos is a special token, or one of the vocabulary. */
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

enum fail_code
tiktoken_load(struct tokenizer *t, const struct tokenizer_options *o, struct failure *f)
{
	assert(t->vocabulary.ids == 0);
	t->whole_first = true;
	if (find_pattern(t, o, f) != FAIL_NONE ||
	    tiktoken_read(&t->vocabulary, o->file, f) != FAIL_NONE)
		return f->code;
	find_specials(t);
	if (check_vocabulary(t, o->file, f) != FAIL_NONE || find_eos(t, o, f) != FAIL_NONE ||
	    pair_table_open(&t->pairs, &t->vocabulary, f) != FAIL_NONE)
		return f->code;
	return fingerprint_tiktoken(t, f);
}
