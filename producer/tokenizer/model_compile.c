#include "producer/tokenizer/model_compile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "producer/pretokenizer/code_point.h"

#define NONE VOCABULARY_NONE

enum { MARK_BYTES = 3, POINTS = 0x144 };

static const uint8_t mark[MARK_BYTES] = {0xE2, 0x96, 0x81}; /* U+2581 */

/*
 * GPT-2's alphabet: the character that shows each byte, and the way back; -1: a character that
 * shows none. Bytes that Latin-1 can print show themselves, the others U+0100 and on, in order.
 */
static void
fill_alphabet(uint16_t *point, int16_t *byte)
{
	uint16_t next = 0x100;

	for (size_t i = 0; i < POINTS; i++)
		byte[i] = -1;
	for (uint16_t b = 0; b < 256; b++) {
		bool shown = (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b != 0xAD);

		point[b] = shown ? b : next++;
		byte[point[b]] = (int16_t)b;
	}
	assert(next == POINTS);
}

/* Writes the bytes that text[n] shows to `out`; false: it shows none. */
static bool
shown_bytes(const int16_t *byte, const uint8_t *text, size_t n, uint8_t *out, size_t *out_n)
{
	*out_n = 0;
	for (size_t at = 0; at < n;) {
		uint32_t point;

		at += code_point_read(text + at, &point);
		if (point >= POINTS || byte[point] < 0)
			return false;
		out[(*out_n)++] = (uint8_t)byte[point];
	}
	return true;
}

static enum fail_code
copy_vocabulary(struct vocabulary *to, const struct vocabulary *from, struct failure *f)
{
	to->ids = from->ids;
	to->bytes = malloc(from->start[from->ids] + 1);
	to->start = malloc(((size_t)from->ids + 1) * sizeof(*to->start));
	if (to->bytes == NULL || to->start == NULL)
		return fail_memory(f);
	memcpy(to->bytes, from->bytes, from->start[from->ids]);
	memcpy(to->start, from->start, ((size_t)from->ids + 1) * sizeof(*to->start));
	return FAIL_NONE;
}

/* Turns the texts of tokens into the bytes they show; those that show none stand for themselves. */
static enum fail_code
show_vocabulary(struct vocabulary *v, const struct vocabulary *text, const int16_t *byte,
    const char *file, struct special_list *l, struct failure *f)
{
	uint32_t at = 0;

	for (uint32_t id = 0; id < text->ids; id++) {
		size_t n, shown;
		const uint8_t *token = vocabulary_token(text, id, &n);

		v->start[id] = at;
		if (shown_bytes(byte, token, n, v->bytes + at, &shown)) {
			at += (uint32_t)shown;
			continue;
		}
		if (memchr(token, '\0', n) != NULL)
			return fail(f, FAIL_DATA,
			    "tokenizer %s: model.vocab: the token of id %u holds the character NUL",
			    file, (unsigned)id);
		if (special_list_add(l, id, token, n, f) != FAIL_NONE)
			return f->code;
	}
	v->start[text->ids] = at;
	return FAIL_NONE;
}

static uint32_t
id_of_point(const struct vocabulary *text, uint32_t point)
{
	uint8_t bytes[4];
	size_t n = code_point_write(bytes, point);

	return vocabulary_find(text, bytes, n);
}

/* Ids of single bytes, as the alphabet or as ASCII; returns how many there are none of. */
static unsigned
fill_one(uint32_t *one, const struct vocabulary *text, const uint16_t *point)
{
	unsigned missing = 0;

	for (unsigned b = 0; b < 256; b++) {
		one[b] = point == NULL && b >= 0x80
			     ? NONE
			     : id_of_point(text, point == NULL ? b : point[b]);
		missing += one[b] == NONE;
	}
	return missing;
}

/* Ids of <0x00> to <0xFF>; returns how many there are. */
static unsigned
fill_fallback(uint32_t *fallback, const struct model_json *model)
{
	unsigned found = 0;

	for (unsigned i = 0; i < 256; i++) {
		char name[8];

		snprintf(name, sizeof(name), "<0x%02X>", i);
		fallback[i] = model->byte_fallback
				  ? vocabulary_find(&model->text, (const uint8_t *)name, 6)
				  : NONE;
		found += fallback[i] != NONE;
	}
	return found;
}

/* What becomes of characters that are no tokens. */
static enum fail_code
fill_symbols(struct recipe *r, const struct model_json *model, const char *file, struct failure *f)
{
	struct symbols *s = &r->symbols;
	unsigned fallbacks = fill_fallback(s->fallback, model);

	s->fuse = model->fuse_unknown;
	s->unknown = NONE;
	if (r->byte_level && fallbacks > 0)
		return fail(f, FAIL_DATA,
		    "tokenizer %s: model.byte_fallback is true: behind ByteLevel that is taken "
		    "only "
		    "where all 256 bytes are tokens",
		    file);
	if (!model->has_unknown || fallbacks == 256)
		return FAIL_NONE;
	if (model->unknown.n == 0)
		return fail(f, FAIL_DATA,
		    "tokenizer %s: model.unk_token is \"\": riffle does not take an empty text; "
		    "null is taken",
		    file);
	s->unknown = vocabulary_find(&model->text, model->unknown.bytes, model->unknown.n);
	if (s->unknown != NONE)
		return FAIL_NONE;
	return fail(f, FAIL_DATA,
	    "tokenizer %s: model.unk_token is \"%.*s\": it is not in model.vocab", file,
	    (int)model->unknown.n, (const char *)model->unknown.bytes);
}

/* Bytes of the marks that text[n] begins with. */
static size_t
marks_at_start(const uint8_t *text, size_t n)
{
	size_t at = 0;

	while (at + MARK_BYTES <= n && memcmp(text + at, mark, MARK_BYTES) == 0)
		at += MARK_BYTES;
	return at;
}

/*
 * Whether a character that is not a mark can leave marks side by side: because it is dropped, or
 * because the unknown token that takes its place is itself written as marks.
 */
static bool
can_join_marks(const struct symbols *s, const struct model_json *model)
{
	if (s->unknown != NONE)
		return marks_at_start(model->unknown.bytes, model->unknown.n) == model->unknown.n;
	for (unsigned i = 0; i < 256; i++)
		if (s->fallback[i] == NONE)
			return true;
	return false;
}

/*
 * Whether text may be cut before every mark that another character is before (pretokenizer.h). That
 * is so if no merge gives a token that has a mark behind another character: then no merge reaches
 * from one side of such a place to the other, and both sides merge as if they were alone. The mark
 * must be a token itself, as an unknown one would be fused with its neighbors; and whole pieces
 * must not be looked up, as the pieces would be others.
 *
 * If the character before the mark can vanish, the mark before that character becomes a neighbor
 * of this one. Then no merge may give a token that begins with two marks either.
 */
static bool
can_cut_marks(const struct symbols *s, const struct model_json *model)
{
	bool joined = can_join_marks(s, model);

	if (model->ignore_merges || vocabulary_find(&model->text, mark, MARK_BYTES) == NONE)
		return false;
	for (uint32_t i = 0; i < model->merges_n; i++) {
		size_t n;
		const uint8_t *token = vocabulary_token(&model->text, model->merge[i].result, &n);
		size_t at = marks_at_start(token, n);

		if (memmem(token + at, n - at, mark, MARK_BYTES) != NULL)
			return false;
		if (joined && at > MARK_BYTES)
			return false;
	}
	return true;
}

/* Two ids cannot have equal bytes, as two texts of the file would be equal. */
static enum fail_code
index_bytes(struct vocabulary *v, struct failure *f)
{
	uint32_t first, second;
	enum fail_code code = vocabulary_index(v, &first, &second, f);

	assert(code != FAIL_DATA);
	return code;
}

/* Of a byte-level model: tokens are bytes, and merging begins with bytes if all have an id. */
static enum fail_code
compile_bytes(struct tokenizer *t, const struct model_json *model, const char *file,
    struct special_list *l, uint32_t *one, struct failure *f)
{
	uint16_t point[256];
	int16_t byte[POINTS];

	fill_alphabet(point, byte);
	if (show_vocabulary(&t->vocabulary, &model->text, byte, file, l, f) != FAIL_NONE)
		return f->code;
	t->recipe->has_symbols = fill_one(one, &model->text, point) > 0;
	return FAIL_NONE;
}

enum fail_code
model_compile(struct tokenizer *t, const struct model_json *model, const char *file,
    struct special_list *l, struct failure *f)
{
	struct recipe *r = t->recipe;
	uint32_t one[256], none[256];

	for (unsigned i = 0; i < 256; i++)
		none[i] = NONE;
	if (copy_vocabulary(&t->vocabulary, &model->text, f) != FAIL_NONE)
		return f->code;
	if (r->byte_level) {
		if (compile_bytes(t, model, file, l, one, f) != FAIL_NONE)
			return f->code;
	} else {
		fill_one(one, &model->text, NULL);
		r->has_symbols = true;
		r->symbols.vocabulary = &t->vocabulary;
	}
	memcpy(r->symbols.one, one, sizeof(one));
	if (r->has_symbols && fill_symbols(r, model, file, f) != FAIL_NONE)
		return f->code;
	if (!r->byte_level)
		r->pretokenizer.cut_marks = can_cut_marks(&r->symbols, model);
	t->whole_first = model->ignore_merges;
	if ((t->whole_first || !r->byte_level) && index_bytes(&t->vocabulary, f) != FAIL_NONE)
		return f->code; /* nobody else looks for a token by its bytes */
	return pair_table_open_merges(
	    &t->pairs, model->merge, model->merges_n, r->has_symbols ? none : one, f);
}
