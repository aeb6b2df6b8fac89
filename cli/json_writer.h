/*
 * json_writer.h -- JSON as it is written, value after value, without a tree of it in memory.
 *
 * For answers that are large and made often: a status of hundreds of domains, a history of
 * thousands of points. The text is that of jansson 2.14, JSON_COMPACT or JSON_INDENT(2), which
 * takes several times as long to make it.
 *
 *     struct json_writer w = {.compact = true};
 *
 *     json_writer_begin(&w, NULL, '{');
 *     json_writer_integer(&w, "step", 7);
 *     json_writer_end(&w, '}');
 *     if (json_writer_take(&w, &text, &n, f) != FAIL_NONE) ...
 *
 * `key` is plain ASCII without quotes; NULL: an item of a list, or the whole. Where memory is
 * refused, what follows does nothing, and json_writer_take() says so.
 */
#ifndef CLI_JSON_WRITER_H
#define CLI_JSON_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buffer.h"
#include "common/base/failure.h"

enum { JSON_WRITER_DEPTH_MAX = 16 };

/* All zero but for `compact`: a valid empty one. */
struct json_writer {
	bool compact; /* else two spaces a level, a line a value */
	struct buffer b;
	bool lost;      /* memory was refused */
	bool item;      /* a value stands before the next one in the innermost list or object */
	bool keyed;     /* the next value's key is written */
	unsigned depth; /* of lists and objects that have begun; JSON_WRITER_DEPTH_MAX at most */
	double number;  /* the last one of json_writer_float(), */
	char text[24];  /* and its text, */
	int text_n;     /* of so many bytes; 0: there was none */
};

/* A list, '[' and ']', or an object, '{' and '}'. */
void json_writer_begin(struct json_writer *w, const char *key, char bracket);
void json_writer_end(struct json_writer *w, char bracket);

void json_writer_integer(struct json_writer *w, const char *key, int64_t value);
/* null: not known. */
void json_writer_known(struct json_writer *w, const char *key, bool is_known, int64_t value);
/* With 17 digits, which read back to the same bits; or with 7. null: not finite. */
void json_writer_double(struct json_writer *w, const char *key, double value);
void json_writer_float(struct json_writer *w, const char *key, double value);
void json_writer_boolean(struct json_writer *w, const char *key, bool value);
void json_writer_null(struct json_writer *w, const char *key);

/* NULL stands for "". A text that is not UTF-8 becomes "(not UTF-8)". */
void json_writer_text(struct json_writer *w, const char *key, const char *text);

/* A key that may have any bytes; its value, without one, is next. */
void json_writer_key(struct json_writer *w, const char *key);

/*
 * Gives the text (free) with a line's end, n bytes and a 0 behind them, and leaves `w` empty.
 * FAIL_MEMORY only: nothing is given.
 */
enum fail_code json_writer_take(struct json_writer *w, char **text, size_t *n, struct failure *f);

#endif
