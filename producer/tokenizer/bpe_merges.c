/* "merges" of a tokenizer.json: texts or pairs, looked up in its vocabulary many at once. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "producer/tokenizer/bpe_reading.h"
#include "producer/bpe/bytes_hash.h"

static enum fail_code
find(const struct bpe_reading *r, uint64_t hash, const uint8_t *text, size_t n, uint32_t *id,
    struct failure *f)
{
	*id = n == 0 ? VOCABULARY_NONE : vocabulary_find_hashed(&r->b->text, hash, text, n);
	if (*id != VOCABULARY_NONE)
		return FAIL_NONE;
	return fail(f, FAIL_DATA,
	    "tokenizer %s: model.merges[%" PRIu32 "]: \"%.*s\" is not in model.vocab", r->file,
	    r->b->merges_n, (int)(n > 100 ? 100 : n), (const char *)text);
}

/* What a merge gives; in most files that is the token behind the one of the merge before. */
static enum fail_code
find_result(
    const struct bpe_reading *r, const uint8_t *text, size_t n, uint32_t *id, struct failure *f)
{
	const struct bpe_json *b = r->b;
	uint32_t guess = b->merges_n == 0 ? 0 : b->merge[b->merges_n - 1].result + 1;
	size_t guess_n;

	if (guess < b->text.ids) {
		const uint8_t *token = vocabulary_token(&b->text, guess, &guess_n);

		*id = guess;
		if (guess_n == n && memcmp(token, text, n) == 0)
			return FAIL_NONE;
	}
	return find(r, bytes_hash(text, n), text, n, id, f);
}

static enum fail_code
room_for_merge(struct bpe_reading *r, struct failure *f)
{
	struct bpe_json *b = r->b;
	size_t room = r->merges_room == 0 ? 1 << 16 : r->merges_room * 2;
	struct pair_merge *more;

	if (b->merges_n == VOCABULARY_IDS_MAX)
		return fail(f, FAIL_DATA, "tokenizer %s: model.merges: at most %d are taken",
		    r->file, VOCABULARY_IDS_MAX);
	if (b->merges_n < r->merges_room)
		return FAIL_NONE;
	more = realloc(b->merge, room * sizeof(*more));
	if (more == NULL)
		return fail_memory(f);
	b->merge = more;
	r->merges_room = room;
	return FAIL_NONE;
}

/* Looks up the merges that wait. */
static enum fail_code
add_waiting(struct bpe_reading *r, struct failure *f)
{
	for (size_t i = 0; i < r->waiting_n; i++) {
		const struct bpe_waiting *w = &r->waiting[i];
		const uint8_t *both = r->texts.bytes + w->start;
		struct pair_merge m = {0, 0, 0};

		if (find(r, w->left_hash, both, w->left_n, &m.left, f) != FAIL_NONE ||
		    find(r, w->right_hash, both + w->left_n, w->right_n, &m.right, f) !=
			FAIL_NONE ||
		    find_result(r, both, w->left_n + w->right_n, &m.result, f) != FAIL_NONE ||
		    room_for_merge(r, f) != FAIL_NONE)
			return f->code;
		r->b->merge[r->b->merges_n++] = m;
	}
	r->waiting_n = 0;
	r->texts.n = 0;
	return FAIL_NONE;
}

/* The merge of the texts from `start` on: left_n bytes and what follows there. */
static enum fail_code
add_merge(struct bpe_reading *r, size_t start, size_t left_n, struct failure *f)
{
	const uint8_t *both = r->texts.bytes + start;
	size_t right_n = r->texts.n - start - left_n;
	struct bpe_waiting *w = &r->waiting[r->waiting_n++];

	*w = (struct bpe_waiting){.start = start, .left_n = left_n, .right_n = right_n};
	if (left_n > 0 && right_n > 0) {
		w->left_hash = bytes_hash(both, left_n);
		w->right_hash = bytes_hash(both + left_n, right_n);
		vocabulary_prefetch(&r->b->text, w->left_hash);
		vocabulary_prefetch(&r->b->text, w->right_hash);
	}
	return r->waiting_n < BPE_MERGES_AT_ONCE ? FAIL_NONE : add_waiting(r, f);
}

/* "a b": two texts with one space between them. */
static enum fail_code
read_merge_text(struct bpe_reading *r, struct failure *f)
{
	static const char version[] = "#version";
	const char *text, *space;
	size_t n, left_n, start = r->texts.n;

	if (!bpe_reading_text(r, &text, &n))
		return bpe_reading_fail(r, f);
	if (n >= sizeof(version) - 1 && memcmp(text, version, sizeof(version) - 1) == 0)
		return FAIL_NONE;
	space = memchr(text, ' ', n);
	left_n = space == NULL ? 0 : (size_t)(space - text);
	if (space == NULL || memchr(space + 1, ' ', n - left_n - 1) != NULL)
		return fail(f, FAIL_DATA,
		    "tokenizer %s: model.merges[%" PRIu32
		    "] is \"%.*s\": two tokens with one space between them are wanted",
		    r->file, r->b->merges_n + (uint32_t)r->waiting_n, (int)(n > 100 ? 100 : n),
		    text);
	if (buffer_add(&r->texts, text, left_n, f) != FAIL_NONE ||
	    buffer_add(&r->texts, space + 1, n - left_n - 1, f) != FAIL_NONE)
		return f->code;
	return add_merge(r, start, left_n, f);
}

/* ["a", "b"] */
static enum fail_code
read_merge_pair(struct bpe_reading *r, struct failure *f)
{
	size_t left_n = 0, n, start = r->texts.n;
	const char *text;
	bool ended = false;

	if (!bpe_reading_open(r, '[', ']', &ended) || ended)
		return json_text_bad(&r->t, "a pair is wanted"), bpe_reading_fail(r, f);
	for (unsigned i = 0; i < 2; i++) {
		if (!bpe_reading_text(r, &text, &n))
			return bpe_reading_fail(r, f);
		if (buffer_add(&r->texts, text, n, f) != FAIL_NONE)
			return f->code;
		if (!bpe_reading_comma(r, ']', &ended))
			return bpe_reading_fail(r, f);
		if (ended != (i == 1))
			return json_text_bad(&r->t, "a pair is wanted"), bpe_reading_fail(r, f);
		if (i == 0)
			left_n = n;
	}
	return add_merge(r, start, left_n, f);
}

enum fail_code
bpe_reading_merges(struct bpe_reading *r, struct failure *f)
{
	bool ended = false, pairs;

	if (!bpe_reading_open(r, '[', ']', &ended))
		return bpe_reading_fail(r, f);
	pairs = r->t.at < r->t.end && *r->t.at == '[';
	while (!ended) {
		enum fail_code code = pairs ? read_merge_pair(r, f) : read_merge_text(r, f);

		if (code != FAIL_NONE)
			return code;
		if (!bpe_reading_comma(r, ']', &ended))
			return bpe_reading_fail(r, f);
	}
	return add_waiting(r, f);
}
