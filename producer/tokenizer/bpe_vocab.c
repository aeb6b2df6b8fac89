/* "vocab" of a tokenizer.json: texts with their ids, put in the order of these. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "producer/tokenizer/bpe_reading.h"

static bool
read_id(struct bpe_reading *r, uint32_t *id)
{
	uint64_t value = 0;
	const char *start = r->t.at;

	while (
	    r->t.at < r->t.end && *r->t.at >= '0' && *r->t.at <= '9' && value < VOCABULARY_IDS_MAX)
		value = value * 10 + (uint64_t)(*r->t.at++ - '0');
	if (r->t.at == start || value >= VOCABULARY_IDS_MAX)
		return json_text_bad(&r->t, "an id from 0 to 2097151 is wanted");
	*id = (uint32_t)value;
	return true;
}

static enum fail_code
add_entry(struct bpe_reading *r, const char *text, size_t n, struct failure *f)
{
	struct bpe_json *b = r->b;

	if (n > VOCABULARY_TOKEN_MAX)
		return fail(f, FAIL_DATA,
		    "tokenizer %s: model.vocab: a token of %zu bytes, at most %d are taken",
		    r->file, n, VOCABULARY_TOKEN_MAX);
	if (b->entries == r->entries_room) {
		size_t room = r->entries_room == 0 ? 1 << 16 : r->entries_room * 2;
		struct bpe_entry *more = realloc(r->entry, room * sizeof(*more));

		if (more == NULL)
			return fail_memory(f);
		r->entry = more;
		r->entries_room = room;
	}
	r->entry[b->entries++] = (struct bpe_entry){0, (uint32_t)r->texts.n, (uint32_t)n};
	return buffer_add(&r->texts, text, n, f);
}

enum fail_code
bpe_reading_vocab(struct bpe_reading *r, struct failure *f)
{
	bool ended = false;

	if (!bpe_reading_open(r, '{', '}', &ended))
		return bpe_reading_fail(r, f);
	while (!ended) {
		const char *text;
		size_t n;

		if (!bpe_reading_text(r, &text, &n))
			return bpe_reading_fail(r, f);
		if (add_entry(r, text, n, f) != FAIL_NONE)
			return f->code;
		if (!json_text_colon(&r->t) || !read_id(r, &r->entry[r->b->entries - 1].id) ||
		    !bpe_reading_comma(r, '}', &ended))
			return bpe_reading_fail(r, f);
	}
	return FAIL_NONE;
}

/* Puts the texts in the order of their ids. */
static enum fail_code
order(struct bpe_reading *r, struct failure *f)
{
	struct vocabulary *v = &r->b->text;
	uint32_t ids = 0, *of, at = 0;

	for (uint32_t i = 0; i < r->b->entries; i++)
		if (r->entry[i].id >= ids)
			ids = r->entry[i].id + 1;
	v->ids = ids;
	v->bytes = malloc(r->texts.n + 1);
	v->start = malloc(((size_t)ids + 1) * sizeof(*v->start));
	of = calloc((size_t)ids + 1, sizeof(*of));
	if (v->bytes == NULL || v->start == NULL || of == NULL) {
		free(of);
		return fail_memory(f);
	}
	for (uint32_t i = 0; i < r->b->entries; i++) {
		if (of[r->entry[i].id] != 0) {
			free(of);
			return fail(f, FAIL_DATA,
			    "tokenizer %s: model.vocab: id %" PRIu32 " is given to two tokens",
			    r->file, r->entry[i].id);
		}
		of[r->entry[i].id] = i + 1;
	}
	for (uint32_t id = 0; id < ids; id++) {
		const struct bpe_entry *e = of[id] == 0 ? NULL : &r->entry[of[id] - 1];

		v->start[id] = at;
		if (e == NULL)
			continue;
		memcpy(v->bytes + at, r->texts.bytes + e->start, e->n);
		at += e->n;
	}
	v->start[ids] = at;
	free(of);
	return FAIL_NONE;
}

enum fail_code
bpe_reading_index(struct bpe_reading *r, struct failure *f)
{
	uint32_t first = 0, second = 0;
	enum fail_code code = order(r, f);

	if (code == FAIL_NONE)
		code = vocabulary_index(&r->b->text, &first, &second, f);
	if (code != FAIL_DATA || first == second)
		return code;
	return fail(f, FAIL_DATA,
	    "tokenizer %s: model.vocab: one token has the ids %" PRIu32 " and %" PRIu32, r->file,
	    first, second);
}
