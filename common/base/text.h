/*
 * text.h -- a text that is put together in pieces, what a text ends with, and how a text from
 * outside is shown.
 *
 * A zeroed text is a valid empty one. A piece that finds no memory is left out and the text is
 * marked: text_take() then gives NULL, so that only the end has to be checked.
 */
#ifndef COMMON_BASE_TEXT_H
#define COMMON_BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

struct text {
	char *bytes; /* NUL-terminated; NULL: empty */
	size_t n, room;
	bool lost; /* a piece found no memory */
};

void text_add(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_vadd(struct text *t, const char *format, va_list ap)
    __attribute__((format(printf, 2, 0)));

/* Gives the text (free) and empties *t. NULL: no memory. */
char *text_take(struct text *t);

/* Frees what *t holds and empties it. */
void text_clear(struct text *t);

/* Whether the last bytes of `text` are `end`; of any text if that is empty. Case counts. */
bool text_ends_with(const char *text, const char *end);

/*
 * ---- text from outside, made safe to show on a terminal, in a log or in a table ----
 *
 * File names, JSON keys, records, and what programs and brokers answer may hold any bytes. A
 * newline would forge a line, a tab a column. ESC and C1 controls would command the terminal, and
 * bidirectional controls would reorder what a person reads. Everything riffle shows passes through
 * here, once, as late as possible: log.c for lines of the log, main.c and libriffle for failures,
 * each command for its tables.
 *
 *     form          U+001B   U+009B   U+202E   newline   byte FF   "    \
 *     TEXT_LINE    \x1b     \u009b   \u202e   \n        \xff      "    \
 *     TEXT_LINES   \x1b     \u009b   \u202e   kept      \xff      "    \      tabs are kept, too
 *     TEXT_QUOTED  \x1b     \u009b   \u202e   \n        \xff      \"   \\
 *     TEXT_JSON    \u001b   \u009b   \u202e   \n        U+FFFD    \"   \\
 *
 * What is escaped: controls (C0, DEL, C1), line and paragraph separators (U+2028, U+2029), the
 * controls of direction (U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069), the
 * deprecated format controls up to U+206F, and bytes that are not UTF-8. Everything else stays.
 * TEXT_LINE and TEXT_LINES leave a text alone that they have made. A backslash stays one there,
 * so that a command in a message can be copied.
 */
enum text_form {
	TEXT_LINE,
	TEXT_LINES,  /* a text of several lines of our own */
	TEXT_QUOTED, /* between double quotes, which show where it ends */
	TEXT_JSON,   /* the same as JSON has it; YAML reads it between double quotes, too */
};

enum { TEXT_SHOWN_FACTOR = 6 }; /* a shown text is at most that many times as long */

/*
 * Writes text[n] and a NUL to out[room], room > 0, and cuts before the first character that has no
 * room. Returns how many bytes of `text` are shown; n means all.
 */
size_t text_show(char *out, size_t room, enum text_form form, const char *text, size_t n);

/* A word in a line or table of a command; cut at TEXT_WORD_MAX. NULL stands for "". */
enum { TEXT_WORD_MAX = 1024 };
const char *text_word(char out[static TEXT_WORD_MAX], const char *text);
#define TEXT_SHOWN(text) text_word((char[TEXT_WORD_MAX]){0}, text)

/*
 * A value for key=value in a line of the log: unchanged, or if it would be misread there, as
 * TEXT_QUOTED between quotes, which log_json() decodes. Cut if that takes more than
 * TEXT_VALUE_SHOWN_MAX bytes. Returns `out`.
 */
enum { TEXT_VALUE_SHOWN_MAX = 2048, TEXT_VALUE_MAX = TEXT_VALUE_SHOWN_MAX + 3 };
const char *text_value(char out[static TEXT_VALUE_MAX], const char *text);
#define TEXT_VALUE(text) text_value((char[TEXT_VALUE_MAX]){0}, text)

#endif
