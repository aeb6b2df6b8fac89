#include "producer/input/token_file.h"

#include <assert.h>
#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "producer/input/token_header.h"

enum fail_code
token_file_open(struct token_file **out, const struct token_file_options *o, struct failure *f)
{
	struct token_file *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return fail_memory(f);
	t->o = *o;
	t->o.path = strdup(o->path);
	t->o.name = strdup(o->name);
	if (t->o.path == NULL || t->o.name == NULL) {
		fail_memory(f);
		goto failed;
	}
	if (token_window_open(&t->tokens, o->path, o->name, TOKEN_FILE_WINDOW_BYTES, f) !=
		FAIL_NONE ||
	    token_header_read(t, f) != FAIL_NONE)
		goto failed;
	t->at = t->first;
	*out = t;
	return FAIL_NONE;
failed:
	token_file_close(t);
	return f->code;
}

void
token_file_close(struct token_file *t)
{
	if (t == NULL)
		return;
	token_window_close(&t->tokens);
	for (int i = 0; i < TABLES; i++)
		token_window_close(&t->table[i]);
	free((char *)(uintptr_t)t->o.path);
	free((char *)(uintptr_t)t->o.name);
	free(t);
}

/* ---- tokens ---- */

static int64_t
value_of(const uint8_t *at, unsigned width, bool is_signed)
{
	uint16_t two;
	uint32_t four;
	uint64_t eight;

	switch (width) {
	case 1: return is_signed ? (int64_t)(int8_t)*at : (int64_t)*at;
	case 2:
		memcpy(&two, at, 2);
		two = le16toh(two);
		return is_signed ? (int64_t)(int16_t)two : (int64_t)two;
	case 4:
		memcpy(&four, at, 4);
		four = le32toh(four);
		return is_signed ? (int64_t)(int32_t)four : (int64_t)four;
	case 8: memcpy(&eight, at, 8); return (int64_t)le64toh(eight);
	}
	abort(); /* unreachable */
}

static enum fail_code
fail_unknown(const struct token_file *t, uint64_t byte, int64_t value, struct failure *f)
{
	return fail(f, FAIL_DATA,
	    "%s: token %" PRIu64 " (byte %" PRIu64 ") is %" PRId64
	    ", which the vocabulary of ids below %" PRIu32
	    " does not have: is it the tokenizer that the file was made with?",
	    t->o.name, (byte - t->first) / t->width, byte, value, t->o.entries);
}

static enum fail_code
reserve(struct token_file_buffer *b, size_t more, struct failure *f)
{
	size_t room = b->room + b->room / 2 + more;
	uint32_t *grown;

	if (b->room - b->n >= more)
		return FAIL_NONE;
	grown = realloc(b->id, room * sizeof(*grown));
	if (grown == NULL)
		return fail_memory(f);
	b->id = grown;
	b->room = room;
	return FAIL_NONE;
}

/* A document under way; of what is too long only the stump is kept. */
struct taking {
	struct token_file_buffer *ids;
	size_t first;   /* in `ids` */
	uint64_t n;     /* tokens so far */
	uint64_t most;  /* that it may have */
	bool until_eos; /* ends in front of the first eos */
	bool ended;     /* there was one */
};

/*
 * Takes the tokens that stand in at[0..n), or those before an eos; *taken of them. It is the inner
 * loop of an import.
 */
static enum fail_code
take_block(const struct token_file *t, struct taking *k, const uint8_t *at, size_t n, uint64_t byte,
    size_t *taken, struct failure *f)
{
	uint32_t *out = k->ids->id + k->ids->n;
	const unsigned width = t->width;
	const bool is_signed = t->is_signed;
	size_t i;

	*taken = 0;
	for (i = 0; i < n; i++) {
		int64_t value = value_of(at + i * width, width, is_signed);

		if (value < 0 || value >= t->o.entries || !t->o.known[value])
			return fail_unknown(t, byte + i * width, value, f);
		if (k->until_eos && (uint32_t)value == t->o.eos) {
			k->ended = true;
			break;
		}
		out[i] = (uint32_t)value;
	}
	*taken = i;
	k->n += i;
	k->ids->n += i;
	if (k->n > k->most && k->ids->n - k->first > TOKEN_FILE_STUMP_TOKENS)
		k->ids->n = k->first + TOKEN_FILE_STUMP_TOKENS;
	return FAIL_NONE;
}

/* Takes the tokens of bytes [from, to); *reached is where it came to. */
static enum fail_code
take_range(struct token_file *t, struct taking *k, uint64_t from, uint64_t to, uint64_t *reached,
    struct failure *f)
{
	assert((to - from) % t->width == 0);
	while (from < to && !k->ended) {
		const uint8_t *at;
		size_t got, n, taken;

		if (token_window_get(&t->tokens, from, t->width, &at, &got, f) != FAIL_NONE)
			return f->code;
		n = (to - from < got ? (size_t)(to - from) : got) / t->width;
		if (reserve(k->ids, n, f) != FAIL_NONE ||
		    take_block(t, k, at, n, from, &taken, f) != FAIL_NONE)
			return f->code;
		from += taken * t->width;
	}
	*reached = from;
	return FAIL_NONE;
}

static enum fail_code
is_eos(struct token_file *t, uint64_t byte, bool *eos, struct failure *f)
{
	const uint8_t *at;
	size_t got;

	if (token_window_get(&t->tokens, byte, t->width, &at, &got, f) != FAIL_NONE)
		return f->code;
	*eos = value_of(at, t->width, t->is_signed) == t->o.eos;
	return FAIL_NONE;
}

/* ---- documents ---- */

/* Document by eos: t->at goes behind it. */
static enum fail_code
next_by_eos(struct token_file *t, struct taking *k, struct failure *f)
{
	uint64_t from = t->at;
	bool eos = false;

	k->until_eos = true;
	if (t->bounds == TOKEN_BOUNDS_EOS_BEFORE && is_eos(t, from, &eos, f) != FAIL_NONE)
		return f->code;
	if (take_range(t, k, from + (eos ? t->width : 0), t->end, &t->at, f) != FAIL_NONE)
		return f->code;
	if (k->ended && t->bounds == TOKEN_BOUNDS_EOS_BEHIND)
		t->at += t->width;
	return FAIL_NONE;
}

static enum fail_code
fail_table(const struct token_file *t, enum token_table table, const char *what, struct failure *f)
{
	return fail(f, FAIL_DATA, "%s: document %" PRIu64 " of %" PRIu64 " %s",
	    t->table[table].name, t->number, t->documents, what);
}

/* Document by the table of ends: t->at goes to its end. */
static enum fail_code
next_by_ends(struct token_file *t, struct taking *k, struct failure *f)
{
	uint64_t end;

	if (token_window_number(&t->table[TABLE_ENDS], 8 * t->number, 8, &end, f) != FAIL_NONE)
		return f->code;
	if (end > (t->end - t->first) / t->width || end * t->width < t->at)
		return fail_table(t, TABLE_ENDS, "ends before it begins, or behind the file", f);
	return take_range(t, k, t->at, end * t->width, &t->at, f);
}

/* The sequences of document `number`. */
static enum fail_code
find_sequences(
    struct token_file *t, uint64_t number, uint64_t *first, uint64_t *end, struct failure *f)
{
	struct token_window *w = &t->table[TABLE_DOCUMENTS];
	uint64_t at = t->table_at[TABLE_DOCUMENTS] + 8 * number;

	if (token_window_number(w, at, 8, first, f) != FAIL_NONE ||
	    token_window_number(w, at + 8, 8, end, f) != FAIL_NONE)
		return f->code;
	if (*first > *end || *end > t->sequences)
		return fail_table(t, TABLE_DOCUMENTS, "has no range of sequences", f);
	return FAIL_NONE;
}

static enum fail_code
find_sequence(
    struct token_file *t, uint64_t sequence, uint64_t *from, uint64_t *to, struct failure *f)
{
	uint64_t length;

	if (token_window_number(&t->table[TABLE_LENGTHS], t->table_at[TABLE_LENGTHS] + 4 * sequence,
		4, &length, f) != FAIL_NONE ||
	    token_window_number(&t->table[TABLE_POINTERS],
		t->table_at[TABLE_POINTERS] + 8 * sequence, 8, from, f) != FAIL_NONE)
		return f->code;
	if (length > INT32_MAX || *from > t->end || (t->end - *from) / t->width < length)
		return fail_table(
		    t, TABLE_POINTERS, "has a sequence that does not lie in the file", f);
	*to = *from + length * t->width;
	return FAIL_NONE;
}

static enum fail_code
next_by_sequences(struct token_file *t, struct taking *k, struct failure *f)
{
	uint64_t first, end, from, to;

	if (find_sequences(t, t->number, &first, &end, f) != FAIL_NONE)
		return f->code;
	for (uint64_t s = first; s < end; s++)
		if (find_sequence(t, s, &from, &to, f) != FAIL_NONE ||
		    take_range(t, k, from, to, &t->at, f) != FAIL_NONE)
			return f->code;
	return FAIL_NONE;
}

/* Where document `number` begins; of one without tokens, where the next one does. */
static enum fail_code
place_of(struct token_file *t, uint64_t number, uint64_t *byte, struct failure *f)
{
	uint64_t first, end;

	*byte = t->at;
	if (t->bounds != TOKEN_BOUNDS_SEQUENCES)
		return FAIL_NONE;
	if (find_sequences(t, number, &first, &end, f) != FAIL_NONE)
		return f->code;
	*byte = t->end;
	return first == t->sequences ? FAIL_NONE : find_sequence(t, first, byte, &end, f);
}

static enum fail_code
next(struct token_file *t, struct taking *k, struct failure *f)
{
	switch (t->bounds) {
	case TOKEN_BOUNDS_EOS_BEHIND:
	case TOKEN_BOUNDS_EOS_BEFORE: return next_by_eos(t, k, f);
	case TOKEN_BOUNDS_ENDS: return next_by_ends(t, k, f);
	case TOKEN_BOUNDS_SEQUENCES: return next_by_sequences(t, k, f);
	}
	abort(); /* unreachable */
}

static bool
has_index(const struct token_file *t)
{
	return t->bounds == TOKEN_BOUNDS_ENDS || t->bounds == TOKEN_BOUNDS_SEQUENCES;
}

/* An index may count the eos to a document; the caller adds it in any case. */
static void
leave_out_eos(const struct token_file *t, struct taking *k)
{
	if (has_index(t) && k->n > 0 && k->n <= k->most && k->ids->id[k->ids->n - 1] == t->o.eos) {
		k->n--;
		k->ids->n--;
	}
}

enum fail_code
token_file_next(struct token_file *t, struct token_file_document *d, struct token_file_buffer *ids,
    bool *there, struct failure *f)
{
	struct taking k = {.ids = ids, .first = ids->n, .most = t->o.max_document_bytes / t->width};

	*there = has_index(t) ? t->number < t->documents : t->at < t->end;
	if (!*there)
		return FAIL_NONE;
	*d = (struct token_file_document){.number = t->number};
	if (place_of(t, t->number, &d->byte, f) != FAIL_NONE || next(t, &k, f) != FAIL_NONE)
		return f->code;
	leave_out_eos(t, &k);
	t->number++;
	d->n = ids->n - k.first;
	d->bytes = t->at;
	if (k.n > k.most) {
		snprintf(t->reason, sizeof(t->reason),
		    "a document of %" PRIu64 " tokens is longer than max_document_bytes, %" PRIu64
		    "%s",
		    k.n, t->o.max_document_bytes,
		    has_index(t) ? "" : "; documents are told apart by tokenizer.eos");
		d->reject = t->reason;
	}
	return FAIL_NONE;
}

/* ---- going to a place ---- */

static enum fail_code
fail_moved(const struct token_file *t, uint64_t byte, uint64_t number, struct failure *f)
{
	return fail(f, FAIL_DATA,
	    "%s: document %" PRIu64 " does not begin at byte %" PRIu64
	    ", where the last run stood; a run is resumed on the data it began with",
	    t->o.name, number, byte);
}

static enum fail_code
seek_by_eos(struct token_file *t, uint64_t byte, uint64_t number, struct failure *f)
{
	bool eos = false;

	if (byte < t->first || byte >= t->end || (byte - t->first) % t->width != 0)
		return fail_moved(t, byte, number, f);
	if (byte > t->first &&
	    is_eos(t, t->bounds == TOKEN_BOUNDS_EOS_BEHIND ? byte - t->width : byte, &eos, f) !=
		FAIL_NONE)
		return f->code;
	if (byte > t->first ? !eos : number != 0)
		return fail_moved(t, byte, number, f);
	t->at = byte;
	t->number = number;
	return FAIL_NONE;
}

enum fail_code
token_file_seek(struct token_file *t, uint64_t byte, uint64_t number, struct failure *f)
{
	uint64_t at = 0;

	if (!has_index(t))
		return seek_by_eos(t, byte, number, f);
	if (number >= t->documents)
		return fail_moved(t, byte, number, f);
	if (t->bounds == TOKEN_BOUNDS_ENDS && number > 0 &&
	    token_window_number(&t->table[TABLE_ENDS], 8 * (number - 1), 8, &at, f) != FAIL_NONE)
		return f->code;
	t->at = at * t->width;
	if (place_of(t, number, &at, f) != FAIL_NONE)
		return f->code;
	if (at != byte)
		return fail_moved(t, byte, number, f);
	t->number = number;
	return FAIL_NONE;
}

enum fail_code
token_file_check_end(struct token_file *t, uint64_t byte, struct failure *f)
{
	if (t->end == byte)
		return FAIL_NONE;
	return fail(f, FAIL_DATA,
	    "%s: ends at byte %" PRIu64 ", and ended at %" PRIu64
	    " in the last run; a run is resumed on the data it began with",
	    t->o.name, t->end, byte);
}
