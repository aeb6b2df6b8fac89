#include "producer/tokenizer/tiktoken.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
	uint64_t bytes; /* of all tokens */
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

/* Six bits of a base64 digit, or -1. */
static int
digit(uint8_t c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Decodes p[n] in place; false: it is not canonical base64 of at least one byte. */
static bool
decode(uint8_t *p, size_t n, size_t *out)
{
	size_t written = 0, padding = 0;
	uint32_t bits = 0;

	if (n == 0 || n % 4 != 0)
		return false;
	while (padding < 2 && p[n - 1 - padding] == '=')
		padding++;
	for (size_t i = 0; i < n; i++) {
		int six = i < n - padding ? digit(p[i]) : 0;

		if (six < 0)
			return false;
		bits = bits << 6 | (uint32_t)six;
		if (i % 4 != 3)
			continue;
		p[written++] = (uint8_t)(bits >> 16);
		p[written++] = (uint8_t)(bits >> 8);
		p[written++] = (uint8_t)bits;
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
	if (!decode(p, token_n, &bytes))
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
load(struct vocabulary *v, struct reading *r, struct failure *f)
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
tiktoken_load(struct vocabulary *v, const char *file, struct failure *f)
{
	struct reading r = {.file = file};
	enum fail_code code = load(v, &r, f);

	free(r.text);
	free(r.line);
	return code;
}
