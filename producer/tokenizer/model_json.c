#include "producer/tokenizer/model_json.h"

#include <inttypes.h>
#include <stdlib.h>

#include "common/base/buffer.h"
#include "common/base/json_text.h"
#include "producer/bpe/bytes_hash.h"
#include "producer/tokenizer/json_part.h"

enum { MERGES_AT_ONCE = 64 /* looked up together, so that the slots have time to arrive */ };

/* A token as read: its text in the buffer of the reading. */
struct entry {
	uint32_t id, start, n;
};

/* A merge whose texts are read, [start, start + left_n + right_n) of the buffer. */
struct waiting {
	size_t start, left_n, right_n;
	uint64_t left_hash, right_hash;
};

/*
 * What the reading works with. `texts` holds the texts of all tokens while "vocab" is read, because
 * they come in any order of ids, and then those of the merges that wait.
 */
struct reading {
	struct model_json *model;
	const char *file, *key; /* what is read now */
	struct json_text t;
	char *room; /* for one decoded text, as long as the JSON */
	struct buffer texts;
	struct entry *entry; /* [model->entries] */
	size_t entries_room;
	size_t merges_room;
	struct waiting waiting[MERGES_AT_ONCE]; /* [waiting_n] */
	size_t waiting_n;
};

void
model_json_close(struct model_json *model)
{
	vocabulary_close(&model->text);
	buffer_close(&model->unknown);
	free(model->merge);
	memset(model, 0, sizeof(*model));
}

/* ---- JSON: what returns false has left the reason in r->t, for fail_here() ---- */

/* Fails with the place at which the JSON is wrong, and the reason. */
static enum fail_code
fail_here(const struct reading *r, struct failure *f)
{
	return fail(f, FAIL_DATA, "tokenizer %s: model.%s: byte %td: %s", r->file, r->key,
	    r->t.at - r->t.start, r->t.bad == NULL ? "invalid JSON" : r->t.bad);
}

/* Reads a text. *text is in r->room or in the JSON itself, and is valid until the next text. */
static bool
read_text(struct reading *r, const char **text, size_t *n)
{
	if (!json_text_take(&r->t, '"'))
		return json_text_bad(&r->t, "a text is wanted");
	return json_text_string(&r->t, r->room, text, n);
}

/* Reads what follows a value: a comma, or the sign `end`, which sets *ended. */
static bool
read_comma(struct reading *r, char end, bool *ended)
{
	json_text_space(&r->t);
	*ended = json_text_take(&r->t, end);
	if (!*ended && !json_text_take(&r->t, ','))
		return json_text_bad(&r->t, "a comma is wanted");
	json_text_space(&r->t);
	return true;
}

/* Reads the start of an object or an array; *ended: it is empty, and its end was read, too. */
static bool
read_open(struct reading *r, char open, char end, bool *ended)
{
	json_text_space(&r->t);
	if (!json_text_take(&r->t, open))
		return json_text_bad(
		    &r->t, open == '{' ? "an object is wanted" : "an array is wanted");
	json_text_space(&r->t);
	*ended = json_text_take(&r->t, end);
	return true;
}

/* ---- the small members, which become a tree ---- */

/*
 * Refuses a member that would change tokens in a way that riffle does not implement. null, 0 and
 * the empty text all mean that it is off: files of different versions write it differently.
 */
static enum fail_code
check_empty(const struct json_part *p, const char *key, struct failure *f)
{
	struct json_part m = json_part_member(p, key);
	const char *text = json_part_string(&m);

	if (json_part_is_null(&m) || json_part_is_zero(&m) || (text != NULL && text[0] == '\0'))
		return FAIL_NONE;
	return json_part_refuse(&m, "riffle has no such thing; null is taken", f);
}

/* Reads what decides how merging works: the flags and the unknown token. */
static enum fail_code
read_flags(struct model_json *model, const struct json_part *p, struct failure *f)
{
	static const char *const keys[] = {"type", "dropout", "unk_token",
	    "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk", "byte_fallback",
	    "ignore_merges"};
	struct json_part type = json_part_member(p, "type");
	struct json_part unknown = json_part_member(p, "unk_token");
	const bool no = false;

	if (json_part_check_keys(p, keys, sizeof(keys) / sizeof(keys[0]), f) != FAIL_NONE)
		return f->code;
	if (type.value != NULL && strcmp(json_part_text(p, "type"), "BPE") != 0)
		return json_part_refuse(&type, "only \"BPE\" is known", f);
	if (check_empty(p, "dropout", f) != FAIL_NONE ||
	    check_empty(p, "continuing_subword_prefix", f) != FAIL_NONE ||
	    check_empty(p, "end_of_word_suffix", f) != FAIL_NONE ||
	    json_part_bool(p, "fuse_unk", &no, &model->fuse_unknown, f) != FAIL_NONE ||
	    json_part_bool(p, "byte_fallback", &no, &model->byte_fallback, f) != FAIL_NONE ||
	    json_part_bool(p, "ignore_merges", &no, &model->ignore_merges, f) != FAIL_NONE)
		return f->code;
	if (json_part_is_null(&unknown))
		return FAIL_NONE;
	if (json_part_string(&unknown) == NULL)
		return json_part_refuse(&unknown, "a text or null is wanted", f);
	model->has_unknown = true;
	return buffer_add(
	    &model->unknown, json_part_string(&unknown), strlen(json_part_string(&unknown)), f);
}

/* ---- "vocab": texts with their ids, put in the order of these ---- */

/* Reads an id. The digits end at the first value that is too large, so that nothing overflows. */
static bool
read_id(struct reading *r, uint32_t *id)
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

/* Notes a token; its id is read next. The texts are below 256 MB, as the file is: 32 bits do. */
static enum fail_code
add_entry(struct reading *r, const char *text, size_t n, struct failure *f)
{
	struct model_json *model = r->model;

	if (n > VOCABULARY_TOKEN_MAX)
		return fail(f, FAIL_DATA,
		    "tokenizer %s: model.vocab: a token of %zu bytes, at most %d are taken",
		    r->file, n, VOCABULARY_TOKEN_MAX);
	if (buffer_reserve_items(
		&r->entry, &r->entries_room, model->entries + 1, sizeof(*r->entry), f) != FAIL_NONE)
		return f->code;
	r->entry[model->entries++] = (struct entry){0, (uint32_t)r->texts.n, (uint32_t)n};
	return buffer_add(&r->texts, text, n, f);
}

/* Reads {"text": id, ...}. */
static enum fail_code
read_vocab(struct reading *r, struct failure *f)
{
	bool ended = false;

	if (!read_open(r, '{', '}', &ended))
		return fail_here(r, f);
	while (!ended) {
		const char *text;
		size_t n;

		if (!read_text(r, &text, &n))
			return fail_here(r, f);
		if (add_entry(r, text, n, f) != FAIL_NONE)
			return f->code;
		if (!json_text_colon(&r->t) || !read_id(r, &r->entry[r->model->entries - 1].id) ||
		    !read_comma(r, '}', &ended))
			return fail_here(r, f);
	}
	return FAIL_NONE;
}

/*
 * Puts the texts in the order of their ids. of[id] is the entry that has this id, + 1, or 0: a
 * hole, which gets an empty text. Example:
 *
 *     read     "bc": 2   "a": 0          entry  0 = bc, 1 = a
 *     of       [0] 2   [1] 0   [2] 1
 *     result   bytes  a b c   start  0 1 1 3     id 1 is a hole
 */
static enum fail_code
order(struct reading *r, struct failure *f)
{
	struct vocabulary *v = &r->model->text;
	uint32_t ids = 0, *of, at = 0;

	for (uint32_t i = 0; i < r->model->entries; i++)
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
	for (uint32_t i = 0; i < r->model->entries; i++) {
		if (of[r->entry[i].id] != 0) {
			free(of);
			return fail(f, FAIL_DATA,
			    "tokenizer %s: model.vocab: id %" PRIu32 " is given to two tokens",
			    r->file, r->entry[i].id);
		}
		of[r->entry[i].id] = i + 1;
	}
	for (uint32_t id = 0; id < ids; id++) {
		const struct entry *e = of[id] == 0 ? NULL : &r->entry[of[id] - 1];

		v->start[id] = at;
		if (e == NULL)
			continue;
		memcpy(v->bytes + at, r->texts.bytes + e->start, e->n);
		at += e->n;
	}
	assert(at == r->texts.n);
	v->start[ids] = at;
	free(of);
	return FAIL_NONE;
}

/*
 * Makes the vocabulary out of what was read. vocabulary_index() reports equal texts with the ids of
 * the two; a FAIL_DATA without two different ids has its message already.
 */
static enum fail_code
index_vocab(struct reading *r, struct failure *f)
{
	uint32_t first = 0, second = 0;
	enum fail_code code = order(r, f);

	if (code == FAIL_NONE)
		code = vocabulary_index(&r->model->text, &first, &second, f);
	if (code != FAIL_DATA || first == second)
		return code;
	return fail(f, FAIL_DATA,
	    "tokenizer %s: model.vocab: one token has the ids %" PRIu32 " and %" PRIu32, r->file,
	    first, second);
}

/*
 * ---- "merges": texts or pairs, looked up in the vocabulary many at once ----
 *
 * A look-up reads a slot of a table that is far larger than the caches, and waiting for each of
 * some hundreds of thousands would take most of the time. So add_merge() only calculates the
 * hashes and sends for the slots; add_waiting() looks the merges up MERGES_AT_ONCE at a time, when
 * the first slots have arrived.
 */

/* Finds the id of a text; FAIL_DATA names the merge, which is number merges_n, and the text. */
static enum fail_code
find(const struct reading *r, uint64_t hash, const uint8_t *text, size_t n, uint32_t *id,
    struct failure *f)
{
	*id = n == 0 ? VOCABULARY_NONE : vocabulary_find_hashed(&r->model->text, hash, text, n);
	if (*id != VOCABULARY_NONE)
		return FAIL_NONE;
	return fail(f, FAIL_DATA,
	    "tokenizer %s: model.merges[%" PRIu32 "]: \"%.*s\" is not in model.vocab", r->file,
	    r->model->merges_n, (int)(n > 100 ? 100 : n), (const char *)text);
}

/*
 * Finds what a merge gives. A trainer of BPE adds a token with each merge, so that in most files
 * the result is the id behind the result of the merge before: comparing with that token costs much
 * less than a look-up.
 */
static enum fail_code
find_result(const struct reading *r, const uint8_t *text, size_t n, uint32_t *id, struct failure *f)
{
	const struct model_json *model = r->model;
	uint32_t guess = model->merges_n == 0 ? 0 : model->merge[model->merges_n - 1].result + 1;
	size_t guess_n;

	if (guess < model->text.ids) {
		const uint8_t *token = vocabulary_token(&model->text, guess, &guess_n);

		*id = guess;
		if (guess_n == n && memcmp(token, text, n) == 0)
			return FAIL_NONE;
	}
	return find(r, bytes_hash(text, n), text, n, id, f);
}

static enum fail_code
room_for_merge(struct reading *r, struct failure *f)
{
	struct model_json *model = r->model;
	size_t room = r->merges_room == 0 ? 1 << 16 : r->merges_room * 2;
	struct pair_merge *more;

	if (model->merges_n == VOCABULARY_IDS_MAX)
		return fail(f, FAIL_DATA, "tokenizer %s: model.merges: at most %d are taken",
		    r->file, VOCABULARY_IDS_MAX);
	if (model->merges_n < r->merges_room)
		return FAIL_NONE;
	more = realloc(model->merge, room * sizeof(*more));
	if (more == NULL)
		return fail_memory(f);
	model->merge = more;
	r->merges_room = room;
	return FAIL_NONE;
}

/* Looks up the merges that wait, in their order, and appends them; none waits then. */
static enum fail_code
add_waiting(struct reading *r, struct failure *f)
{
	for (size_t i = 0; i < r->waiting_n; i++) {
		const struct waiting *w = &r->waiting[i];
		const uint8_t *both = r->texts.bytes + w->start;
		struct pair_merge m = {0, 0, 0};

		if (find(r, w->left_hash, both, w->left_n, &m.left, f) != FAIL_NONE ||
		    find(r, w->right_hash, both + w->left_n, w->right_n, &m.right, f) !=
			FAIL_NONE ||
		    find_result(r, both, w->left_n + w->right_n, &m.result, f) != FAIL_NONE ||
		    room_for_merge(r, f) != FAIL_NONE)
			return f->code;
		r->model->merge[r->model->merges_n++] = m;
	}
	r->waiting_n = 0;
	r->texts.n = 0;
	return FAIL_NONE;
}

/*
 * Lets a merge wait: its two texts are at the end of r->texts, from `start` on, the left one with
 * left_n bytes. An empty text has no hash: find() refuses it.
 */
static enum fail_code
add_merge(struct reading *r, size_t start, size_t left_n, struct failure *f)
{
	const uint8_t *both = r->texts.bytes + start;
	size_t right_n = r->texts.n - start - left_n;
	struct waiting *w = &r->waiting[r->waiting_n++];

	assert(r->waiting_n <= MERGES_AT_ONCE);
	assert(start + left_n <= r->texts.n);
	*w = (struct waiting){.start = start, .left_n = left_n, .right_n = right_n};
	if (left_n > 0 && right_n > 0) {
		w->left_hash = bytes_hash(both, left_n);
		w->right_hash = bytes_hash(both + left_n, right_n);
		vocabulary_prefetch(&r->model->text, w->left_hash);
		vocabulary_prefetch(&r->model->text, w->right_hash);
	}
	return r->waiting_n < MERGES_AT_ONCE ? FAIL_NONE : add_waiting(r, f);
}

/* Reads "a b", two texts with one space between them; passes over "#version: ...". */
static enum fail_code
read_merge_text(struct reading *r, struct failure *f)
{
	static const char version[] = "#version";
	const char *text, *space;
	size_t n, left_n, start = r->texts.n;

	if (!read_text(r, &text, &n))
		return fail_here(r, f);
	if (n >= sizeof(version) - 1 && memcmp(text, version, sizeof(version) - 1) == 0)
		return FAIL_NONE;
	space = memchr(text, ' ', n);
	left_n = space == NULL ? 0 : (size_t)(space - text);
	if (space == NULL || memchr(space + 1, ' ', n - left_n - 1) != NULL)
		return fail(f, FAIL_DATA,
		    "tokenizer %s: model.merges[%" PRIu32
		    "] is \"%.*s\": two tokens with one space between them are wanted",
		    r->file, r->model->merges_n + (uint32_t)r->waiting_n, (int)(n > 100 ? 100 : n),
		    text);
	if (buffer_add(&r->texts, text, left_n, f) != FAIL_NONE ||
	    buffer_add(&r->texts, space + 1, n - left_n - 1, f) != FAIL_NONE)
		return f->code;
	return add_merge(r, start, left_n, f);
}

/* Reads ["a", "b"]. */
static enum fail_code
read_merge_pair(struct reading *r, struct failure *f)
{
	size_t left_n = 0, n, start = r->texts.n;
	const char *text;
	bool ended = false;

	if (!read_open(r, '[', ']', &ended) || ended)
		return json_text_bad(&r->t, "a pair is wanted"), fail_here(r, f);
	for (unsigned i = 0; i < 2; i++) {
		if (!read_text(r, &text, &n))
			return fail_here(r, f);
		if (buffer_add(&r->texts, text, n, f) != FAIL_NONE)
			return f->code;
		if (!read_comma(r, ']', &ended))
			return fail_here(r, f);
		if (ended != (i == 1))
			return json_text_bad(&r->t, "a pair is wanted"), fail_here(r, f);
		if (i == 0)
			left_n = n;
	}
	return add_merge(r, start, left_n, f);
}

/* Reads all merges; the vocabulary has its index. A file has all as texts, or all as pairs. */
static enum fail_code
read_merges(struct reading *r, struct failure *f)
{
	bool ended = false, pairs;

	if (!read_open(r, '[', ']', &ended))
		return fail_here(r, f);
	pairs = r->t.at < r->t.end && *r->t.at == '[';
	while (!ended) {
		enum fail_code code = pairs ? read_merge_pair(r, f) : read_merge_text(r, f);

		if (code != FAIL_NONE)
			return code;
		if (!read_comma(r, ']', &ended))
			return fail_here(r, f);
	}
	return add_waiting(r, f);
}

/* ---- all of it ---- */

/* Reads one of the two large members with `read`, out of its stretch of the file. */
static enum fail_code
read_large(struct reading *r, const struct json_members *m, const char *key,
    enum fail_code (*read)(struct reading *, struct failure *), struct failure *f)
{
	const struct json_member *large = json_members_get(m, key);

	if (large == NULL)
		return fail(f, FAIL_DATA, "tokenizer %s: model.%s is missing", r->file, key);
	r->t = (struct json_text){
	    .start = large->value, .at = large->value, .end = large->value + large->n};
	r->texts.n = 0;
	r->key = key;
	return read(r, f);
}

static enum fail_code
read_all(struct reading *r, const struct json_members *m, struct failure *f)
{
	static const char *const large[] = {"vocab", "merges"};
	struct json_part flags; /* all members but the large ones */
	enum fail_code code;

	if (json_part_open(&flags, r->file, "model", m, large, 2, f) != FAIL_NONE)
		return f->code;
	code = read_flags(r->model, &flags, f);
	json_part_close(&flags);
	if (code == FAIL_NONE)
		code = read_large(r, m, "vocab", read_vocab, f);
	if (code == FAIL_NONE)
		code = index_vocab(r, f);
	if (code == FAIL_NONE)
		code = read_large(r, m, "merges", read_merges, f);
	return code;
}

enum fail_code
model_json_read(
    struct model_json *model, const char *file, const char *json, size_t n, struct failure *f)
{
	struct reading r = {
	    .model = model, .file = file, .room = malloc(n + JSON_TEXT_SLACK_BYTES)};
	struct json_members *m = malloc(sizeof(*m));
	enum fail_code code = r.room == NULL || m == NULL ? fail_memory(f) : FAIL_NONE;

	if (code == FAIL_NONE)
		code = json_members_find(m, file, "model", json, n, f);
	if (code == FAIL_NONE)
		code = read_all(&r, m, f);
	free(m);
	free(r.room);
	free(r.entry);
	buffer_close(&r.texts);
	return code;
}
