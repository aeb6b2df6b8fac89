/*
 * json_text.h -- walks along a JSON text, strictly by RFC 8259, without making anything of it.
 *
 * A cursor stands at a byte of the text. Functions that return bool move it on; false: the text is
 * wrong where the cursor stands, `bad` says how, and nothing more may be asked. Bytes of 0x80 and
 * above are passed as they are.
 */
#ifndef COMMON_BASE_JSON_TEXT_H
#define COMMON_BASE_JSON_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/json_field.h"

enum { JSON_TEXT_SLACK_BYTES = 16 }; /* a decoded string may be written so far beyond its end */

struct json_text {
	const char *start, *at, *end; /* borrowed */
	const char *bad;              /* static; NULL: nothing so far */
};

/* Sets `bad`: `what`, or that the text ends too early; returns false. */
bool json_text_bad(struct json_text *t, const char *what);

void json_text_space(struct json_text *t); /* passes white space, if any */

/* Passes this sign, if it is there. */
static inline bool
json_text_take(struct json_text *t, char wanted)
{
	if (t->at == t->end || *t->at != wanted)
		return false;
	t->at++;
	return true;
}

/* Passes one value; `level` containers are open around it. */
bool json_text_skip(struct json_text *t, size_t level);
/* That one more container may be opened inside `level` of them. */
bool json_text_check_depth(struct json_text *t, size_t level);

/* Passes white space and the quote that begins a key; json_text_string() reads it. */
bool json_text_key(struct json_text *t);
/* Passes the colon after a key, and white space around it. */
bool json_text_colon(struct json_text *t);

/*
 * Reads the rest of a string, after its quote. *bytes lies in the text where there are no escapes,
 * else decoded in `room`, which has as many bytes as the rest of the text, and the slack.
 */
bool json_text_string(struct json_text *t, char *room, const char **bytes, size_t *n);
/* Passes the rest of a string, after its quote. */
bool json_text_skip_string(struct json_text *t);

#endif
