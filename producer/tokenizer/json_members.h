/*
 * json_members.h -- the members of a JSON object as stretches of its text, so that the large ones
 * can be read without making anything of them.
 */
#ifndef PRODUCER_TOKENIZER_JSON_MEMBERS_H
#define PRODUCER_TOKENIZER_JSON_MEMBERS_H

#include <stddef.h>

#include "common/base/failure.h"

enum { JSON_MEMBERS_MAX = 64, JSON_MEMBERS_KEY_MAX = 63 };

struct json_member {
	char key[JSON_MEMBERS_KEY_MAX + 1];
	const char *value; /* [n], JSON; borrowed from the text */
	size_t n;
};

struct json_members {
	struct json_member member[JSON_MEMBERS_MAX]; /* [n] */
	size_t n;
};

/*
 * Finds the members of json[n], which it borrows for the life of *m; all of the text is checked.
 * `path` is what the object is called in messages, "" for the whole file. FAIL_DATA names the byte:
 * invalid JSON, a key that is there twice, more than JSON_MEMBERS_MAX keys.
 */
enum fail_code json_members_find(struct json_members *m, const char *file, const char *path,
    const char *json, size_t n, struct failure *f);

/* The member, or NULL. */
const struct json_member *json_members_get(const struct json_members *m, const char *key);

#endif
