/*
 * log.h -- one line an event, to stderr: "2026-01-31T10:20:30Z info mixer: step=12 lag=3", or the
 * same as JSON; or to where the program that uses the library wants them.
 *
 * The module comes first, then key=value pairs. Warnings start with a stable id after the module
 * ("mixer: MIX-LEAD waiting for run trainers"). errno is preserved. Any thread may log.
 *
 * A caller may put any text from outside into a line: it is escaped here (text.h), so that it
 * neither begins a line nor commands a terminal. A value that may have spaces or quotes in it, such
 * as the name of a file, is given as TEXT_VALUE(text), so that log_json() finds its end.
 */
#ifndef COMMON_BASE_LOG_H
#define COMMON_BASE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum log_level { LOG_ERROR, LOG_WARNING, LOG_INFO, LOG_DEBUG };

/* Lines above `level` are dropped; LOG_INFO at the start. */
void log_set_level(enum log_level level);

/*
 * Lines go to sink(opaque, level, line), escaped, without time, level and end of line, instead of
 * to stderr (NULL: to stderr again). Called by any thread, several at once; it must not log. After
 * the return no call of the sink before is under way.
 */
typedef void log_sink(void *opaque, enum log_level level, const char *line);
void log_set_sink(log_sink *sink, void *opaque);

/* How lines look on stderr: as above (at first), or as log_json() writes them. */
enum log_form { LOG_LOGFMT, LOG_JSON };
void log_set_form(enum log_form form);
enum log_form log_form(void);

/*
 * Lines on stderr have their level in red or yellow where it is error or warning. Off at first;
 * never in JSON.
 */
void log_set_colours(bool on);

/*
 * Each line from now on that does not hold `text` (copied), such as "mix=a", has it at its end; "":
 * none has. Before another thread logs.
 */
enum { LOG_TAIL_MAX = 320 };
void log_set_tail(const char *text);

/*
 * Each line from now on is what rewrite() makes of its text: it writes to out[room]. Before another
 * thread logs. So a program completes the commands that messages of all rooms suggest.
 */
typedef void log_rewrite(char *out, size_t room, const char *text);
void log_set_hints(log_rewrite *rewrite);

/* A bar is drawn in the last line of the terminal (progress.h): the next line takes its place. */
void log_set_bar(bool drawn);

void log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * A line for whoever runs the command, which no level drops: the text alone, which may have several
 * lines, and in JSON a line of `level`.
 */
void log_plain(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

enum {
	LOG_LINE_MAX = 4096, /* of a text; the rest is cut off */
	LOG_FIELDS_MAX = 64, /* key=value pairs of a line; the others are in its message only */
	LOG_DIGITS_MAX =
	    15, /* of a number in JSON: a double holds it, and 16 hex digits never are one */
	LOG_JSON_MAX =
	    2 * 6 * LOG_LINE_MAX + 512, /* a byte takes 6 at most, in message and fields */
};

/*
 * The JSON object of a line, with the end of line, into out[LOG_JSON_MAX]; returns its length.
 * `unix_ms`: the time. It takes the text apart:
 *
 *     mix: MIX-LEAD waiting for run=a b at step=5: step=70 is max_lead_steps=64 ahead of it
 *
 *     {"time":"2026-01-31T10:20:30.000Z","level":"warning","module":"mix","id":"MIX-LEAD",
 *      "message":"waiting for run=a b at step=5: ...","fields":{"run":"a","step":5,
 *      "max_lead_steps":64}}
 *
 * module: the word in front of ": ", else "riffle". id: what follows it, where it is capitals with
 * a hyphen; else there is none. fields: each key=value, the first of a key; none where there are
 * none. A value ends at white space, without the punctuation before that, or at its closing quote.
 * It is a number where it is decimal of at most LOG_DIGITS_MAX digits and no quotes enclose it,
 * else a string. The escapes of TEXT_QUOTED between quotes are decoded, so that a name is exact.
 * What is no UTF-8 becomes U+FFFD.
 */
size_t log_json(
    char out[static LOG_JSON_MAX], int64_t unix_ms, enum log_level level, const char *text);

/*
 * A wait that another process must end says what is missing and what to type: first after a time
 * that the caller chooses, then once a minute for as long as it lasts. Someone who looks at a
 * silent program then finds the reason on its last screen. A zeroed reminder is that of a wait that
 * has not begun.
 */
enum { LOG_REMINDER_MS = 60000 };

struct log_reminder {
	bool began;
	int64_t next_ms; /* when the next line is due */
};

/* Whether a line is due. The first call begins the wait; its first line is due first_ms later. */
static inline bool
log_reminder_due(struct log_reminder *r, int64_t now_ms, int64_t first_ms)
{
	if (!r->began)
		*r = (struct log_reminder){true, now_ms + first_ms};
	if (now_ms < r->next_ms)
		return false;
	r->next_ms = now_ms + LOG_REMINDER_MS;
	return true;
}

#endif
