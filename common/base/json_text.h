/*
 * json_text.h -- walks along a JSON text, strictly by RFC 8259, and builds nothing from it.
 *
 * A cursor is at a byte of the text. The functions that return bool move it on; false means that
 * the text is wrong at the cursor, `bad` says how, and no function may be called any more. Bytes
 * of 0x80 and above pass as they are: whether they are UTF-8 is for the caller to judge (utf8.h).
 *
 * Example: the members of an object, after its brace was taken.
 *
 *     json_text_space(t);
 *     while (json_text_key(t) && json_text_string(t, room, &key, &n) && json_text_colon(t)) {
 *         ... read the value, or pass it with json_text_skip(t, 1) ...
 *         json_text_space(t);
 *         if (!json_text_take(t, ','))
 *             break;
 *     }
 *     good = t->bad == NULL && (json_text_take(t, '}') || json_text_bad(t, "..."));
 */
#ifndef COMMON_BASE_JSON_TEXT_H
#define COMMON_BASE_JSON_TEXT_H

#include <stdbool.h>
#include <stddef.h>

enum {
	JSON_TEXT_DEPTH_MAX = 512,  /* containers inside each other */
	JSON_TEXT_SLACK_BYTES = 32, /* a decoded string may be written so far beyond its end */
};

struct json_text {
	const char *start, *at, *end; /* borrowed; start <= at <= end */
	const char *bad;              /* static; NULL: nothing so far */
};

/* Sets `bad` to `what` (static), or to "the text ends too early" at the end. Returns false. */
bool json_text_bad(struct json_text *t, const char *what);

void json_text_space(struct json_text *t); /* passes white space, if any */

/* Passes the sign `wanted`; false, and nothing else happens: it is not there. */
static inline bool
json_text_take(struct json_text *t, char wanted)
{
	if (t->at == t->end || *t->at != wanted)
		return false;
	t->at++;
	return true;
}

/* Passes one value, whatever it is; `level` containers are open around it. */
bool json_text_skip(struct json_text *t, size_t level);

/* Checks that one more container may be opened inside `level` of them. */
bool json_text_check_depth(struct json_text *t, size_t level);

/* Passes white space and the quote at the start of a key; json_text_string() reads the key. */
bool json_text_key(struct json_text *t);

/* Passes the colon after a key, and white space around it. */
bool json_text_colon(struct json_text *t);

/*
 * Reads the rest of a string, after its quote. *bytes is in the text itself where there are no
 * escapes, else decoded in `room`. `room` has as many bytes as the rest of the text, and
 * JSON_TEXT_SLACK_BYTES: a decoded string is never longer than the same string with its escapes.
 */
bool json_text_string(struct json_text *t, char *room, const char **bytes, size_t *n);

/* Passes the rest of a string, after its quote. */
bool json_text_skip_string(struct json_text *t);

#endif
