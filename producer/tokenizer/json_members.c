#include "producer/tokenizer/json_members.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json_text.h"

/* Fails with the place and the reason that the cursor stopped with. */
static enum fail_code
fail_bad(const struct json_text *t, const char *file, const char *path, struct failure *f)
{
	return fail(f, FAIL_DATA, "tokenizer %s: %s%sbyte %td: %s", file, path,
	    path[0] == '\0' ? "" : ": ", t->at - t->start,
	    t->bad == NULL ? "invalid JSON" : t->bad);
}

/*
 * Reads a key and the colon behind it. A long key is cut: no key that riffle knows is so long, so
 * the cut one is unknown, too, and is refused as such by whoever checks the keys. Two long keys
 * that differ only behind the cut are refused as one that is there twice; both are unknown in any
 * case. The cut is before a character, because jansson takes no key that is not UTF-8.
 */
static bool
read_key(struct json_text *t, char *room, char *key)
{
	const char *text;
	size_t n;

	if (!json_text_key(t) || !json_text_string(t, room, &text, &n))
		return false;
	if (n > JSON_MEMBERS_KEY_MAX)
		for (n = JSON_MEMBERS_KEY_MAX; n > 0 && ((unsigned char)text[n] & 0xC0) == 0x80;)
			n--;
	memcpy(key, text, n);
	key[n] = '\0';
	return json_text_colon(t);
}

/*
 * Reads the members up to the end of the object. json_text_skip() checks a value without keeping
 * anything of it, so that a "vocab" of tens of megabytes costs one walk over its text here. false:
 * t->bad has the reason, or is NULL for plain invalid JSON.
 */
static bool
walk(struct json_text *t, char *room, struct json_members *m)
{
	bool more = true;

	json_text_space(t);
	if (!json_text_take(t, '{'))
		return json_text_bad(t, "an object is wanted");
	json_text_space(t);
	if (json_text_take(t, '}'))
		return true;
	while (more) {
		struct json_member one;

		if (!read_key(t, room, one.key))
			return false;
		one.value = t->at;
		if (!json_text_skip(t, 1))
			return false;
		one.n = (size_t)(t->at - one.value);
		if (m->n == JSON_MEMBERS_MAX)
			return json_text_bad(t, "more than 64 keys");
		if (json_members_get(m, one.key) != NULL)
			return json_text_bad(t, "a key stands there twice");
		m->member[m->n++] = one;
		json_text_space(t);
		more = json_text_take(t, ',');
	}
	return json_text_take(t, '}') || json_text_bad(t, "a comma or the end is wanted");
}

enum fail_code
json_members_find(struct json_members *m, const char *file, const char *path, const char *json,
    size_t n, struct failure *f)
{
	struct json_text t = {.start = json, .at = json, .end = json + n};
	char *room = malloc(n + JSON_TEXT_SLACK_BYTES);
	enum fail_code code = FAIL_NONE;

	if (room == NULL)
		return fail_memory(f);
	assert(json != NULL);
	m->n = 0;
	if (!walk(&t, room, m))
		code = fail_bad(&t, file, path, f);
	free(room);
	assert(m->n <= JSON_MEMBERS_MAX);
	if (code != FAIL_NONE)
		return code;
	json_text_space(&t);
	if (t.at == t.end)
		return FAIL_NONE;
	t.bad = "there is something behind the object";
	return fail_bad(&t, file, path, f);
}

const struct json_member *
json_members_get(const struct json_members *m, const char *key)
{
	for (size_t i = 0; i < m->n; i++)
		if (strcmp(m->member[i].key, key) == 0)
			return &m->member[i];
	return NULL;
}
