#include "common/base/log.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/base/text.h"
#include "common/base/utf8.h"

static const char *const level_name[] = {
    [LOG_ERROR] = "error",
    [LOG_WARNING] = "warning",
    [LOG_INFO] = "info",
    [LOG_DEBUG] = "debug",
};

static const char *const level_colour[] = {
    [LOG_ERROR] = "\033[31m",
    [LOG_WARNING] = "\033[33m",
    [LOG_INFO] = "",
    [LOG_DEBUG] = "",
};

static _Atomic enum log_level level_max = LOG_INFO;
static _Atomic enum log_form form_now = LOG_LOGFMT;
static atomic_bool colours, bar;
static char tail_now[LOG_TAIL_MAX];
static log_rewrite *hints_now;

/* Held for reading by whoever logs a line. */
static pthread_rwlock_t sink_lock = PTHREAD_RWLOCK_INITIALIZER;
static log_sink *sink_now;
static void *sink_opaque;

void
log_set_level(enum log_level level)
{
	level_max = level;
}

void
log_set_form(enum log_form form)
{
	form_now = form;
}

enum log_form
log_form(void)
{
	return form_now;
}

void
log_set_colours(bool on)
{
	colours = on;
}

void
log_set_bar(bool drawn)
{
	bar = drawn;
}

void
log_set_tail(const char *text)
{
	snprintf(tail_now, sizeof(tail_now), "%s", text);
}

void
log_set_hints(log_rewrite *rewrite)
{
	hints_now = rewrite;
}

void
log_set_sink(log_sink *sink, void *opaque)
{
	pthread_rwlock_wrlock(&sink_lock);
	sink_now = sink;
	sink_opaque = opaque;
	pthread_rwlock_unlock(&sink_lock);
}

/* ---- a line as JSON ---- */

/* A stretch of the text; empty: n is 0. */
struct part {
	const char *at;
	size_t n;
};

static bool
is_lower(char c)
{
	return c >= 'a' && c <= 'z';
}

static bool
is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Ends of white space and of the text. */
static bool
is_gap(char c)
{
	return c == '\0' || c == ' ' || (c >= '\t' && c <= '\r');
}

/* Bytes of the word in front of ": "; 0: there is none. */
static size_t
module_bytes(const char *text)
{
	size_t n = 0;

	while (
	    is_lower(text[n]) || (n > 0 && (is_digit(text[n]) || text[n] == '_' || text[n] == '-')))
		n++;
	return n > 0 && text[n] == ':' && text[n + 1] == ' ' ? n : 0;
}

/* Bytes of an id such as MIX-LEAD; 0: none. The part behind a hyphen begins with a letter. */
static size_t
id_bytes(const char *text)
{
	size_t n = 0, hyphens = 0;

	while (is_upper(text[n]) || (n > 0 && is_digit(text[n]) && text[n - 1] != '-') ||
	       (n > 0 && (text[n] == '-' || text[n] == '_') && text[n - 1] != '-')) {
		hyphens += text[n] == '-';
		n++;
	}
	return hyphens > 0 && text[n - 1] != '-' && (is_gap(text[n]) || text[n] == ':') ? n : 0;
}

/* Bytes of a key that a "=" follows; 0: there is none. */
static size_t
key_bytes(const char *text)
{
	size_t n = 0;

	while (
	    is_lower(text[n]) || (n > 0 && (is_digit(text[n]) || text[n] == '_' || text[n] == '.')))
		n++;
	return n > 0 && text[n] == '=' ? n : 0;
}

/*
 * The text may hold quotes, too: the closing one is the first behind which the line ends or the
 * next pair begins, else the first that white space follows. A quote after a backslash is part of
 * the value. NULL: none closes it.
 */
static const char *
closing_quote(const char *text)
{
	const char *first = NULL;

	for (const char *q = text; (q = strpbrk(q, "\\\"")) != NULL; q++) {
		if (*q == '\\' && q[1] != '\0') {
			q++;
			continue;
		}
		if (*q != '"')
			continue;
		if (q[1] == '\0' || (is_gap(q[1]) && key_bytes(q + 2) > 0))
			return q;
		if (first == NULL && is_gap(q[1]))
			first = q;
	}
	return first;
}

/* The value at `text`, and whether quotes enclose it; returns where it ends. */
static const char *
take_value(const char *text, struct part *value, bool *quoted)
{
	const char *quote = *text == '"' ? closing_quote(text + 1) : NULL;
	size_t n = 0;

	*quoted = quote != NULL;
	if (quote != NULL) {
		*value = (struct part){text + 1, (size_t)(quote - text) - 1};
		return quote + 1;
	}
	while (!is_gap(text[n]))
		n++;
	*value = (struct part){text, n};
	while (value->n > 0 && strchr(":,;.)", text[value->n - 1]) != NULL)
		value->n--;
	return text + n;
}

/* Whether it is a number of JSON that every reader takes for the same. */
static bool
is_number(const struct part *p)
{
	size_t i = p->n > 0 && p->at[0] == '-', first = i, digits = 0;

	for (; i < p->n && is_digit(p->at[i]); i++)
		digits++;
	if (digits == 0 || (digits > 1 && p->at[first] == '0'))
		return false;
	if (i < p->n && p->at[i] == '.' && i + 1 < p->n)
		for (i++; i < p->n && is_digit(p->at[i]); i++)
			digits++;
	return i == p->n && digits <= LOG_DIGITS_MAX;
}

/* What is written so far: out[used], with room for all that log_json() may add. */
struct json_line {
	char *out;
	size_t used;
};

static void
put_raw(struct json_line *j, const char *text, size_t n)
{
	assert(j->used + n < LOG_JSON_MAX);
	memcpy(j->out + j->used, text, n);
	j->used += n;
}

static void
put_text(struct json_line *j, const char *text)
{
	put_raw(j, text, strlen(text));
}

/* What stands in a string. */
static void
put_shown(struct json_line *j, const char *text, size_t n)
{
	size_t shown = text_show(j->out + j->used, LOG_JSON_MAX - j->used, TEXT_JSON, text, n);

	assert(shown == n);
	(void)shown;
	j->used += strlen(j->out + j->used);
}

/* `p` is UTF-8. */
static void
put_string(struct json_line *j, const struct part *p)
{
	put_text(j, "\"");
	put_shown(j, p->at, p->n);
	put_text(j, "\"");
}

/* Hex digits of the escape at `text`, which is as TEXT_QUOTED has it; -1: it is no such escape. */
static int
escape_digits(const char *text)
{
	int digits = text[1] == 'x' ? 2 : text[1] == 'u' ? 4 : 0;

	assert(text[0] == '\\');
	if (digits == 0)
		return text[1] != '\0' && strchr("ntr\"\\", text[1]) != NULL ? 0 : -1;
	for (int i = 0; i < digits; i++)
		if (text[2 + i] == '\0' || strchr("0123456789abcdef", text[2 + i]) == NULL)
			return -1;
	return digits;
}

/*
 * A value that was between quotes. The escapes that TEXT_QUOTED makes are those of JSON, except
 * \xNN: below 80 that is \u00NN, and from 80 on a byte that is not UTF-8.
 */
static void
put_quoted(struct json_line *j, const struct part *p)
{
	put_text(j, "\"");
	for (const char *at = p->at, *end = p->at + p->n; at < end;) {
		int digits = *at == '\\' ? escape_digits(at) : -1;

		if (digits < 0) {
			size_t n = 1;

			while (at + n < end && at[n] != '\\')
				n++;
			put_shown(j, at, n);
			at += n;
			continue;
		}
		if (digits != 2)
			put_raw(j, at, 2 + (size_t)digits);
		else if (at[2] >= '8')
			put_text(j, "\xEF\xBF\xBD");
		else {
			put_text(j, "\\u00");
			put_raw(j, at + 2, 2);
		}
		at += 2 + digits;
	}
	put_text(j, "\"");
}

/* A name of ours, and what it says. */
static void
put_member(struct json_line *j, const char *name, const struct part *p)
{
	put_text(j, ",\"");
	put_text(j, name);
	put_text(j, "\":");
	put_string(j, p);
}

static bool
seen(const struct part *key, size_t n, const struct part *wanted)
{
	for (size_t i = 0; i < n; i++)
		if (key[i].n == wanted->n && memcmp(key[i].at, wanted->at, wanted->n) == 0)
			return true;
	return false;
}

static void
put_fields(struct json_line *j, const char *text)
{
	struct part key[LOG_FIELDS_MAX], value;
	size_t n = 0;
	bool quoted;

	for (const char *at = text; *at != '\0' && n < LOG_FIELDS_MAX;) {
		key[n] = (struct part){at, key_bytes(at)};
		if (key[n].n > 0) {
			at = take_value(at + key[n].n + 1, &value, &quoted);
			if (!seen(key, n, &key[n])) {
				put_text(j, n == 0 ? ",\"fields\":{" : ",");
				put_string(j, &key[n++]);
				put_text(j, ":");
				if (quoted)
					put_quoted(j, &value);
				else if (is_number(&value))
					put_raw(j, value.at, value.n);
				else
					put_string(j, &value);
			}
		}
		while (!is_gap(*at) && *at != '(')
			at++;
		at += *at != '\0';
	}
	if (n > 0)
		put_text(j, "}");
}

static void
put_time(struct json_line *j, int64_t unix_ms)
{
	char when[40], second[32];
	time_t s = (time_t)(unix_ms / 1000);
	struct tm utc;

	gmtime_r(&s, &utc);
	strftime(second, sizeof(second), "%Y-%m-%dT%H:%M:%S", &utc);
	snprintf(when, sizeof(when), "%s.%03dZ", second, (int)(unix_ms % 1000));
	put_text(j, "{\"time\":\"");
	put_text(j, when);
	put_text(j, "\"");
}

size_t
log_json(char out[static LOG_JSON_MAX], int64_t unix_ms, enum log_level level, const char *text)
{
	char clean[LOG_LINE_MAX * UTF8_REPLACED_FACTOR + 1];
	struct json_line j = {.out = out};
	struct part module = {"riffle", 6}, id = {NULL, 0}, message;
	size_t n = strnlen(text, LOG_LINE_MAX - 1);

	assert(unix_ms >= 0);
	clean[utf8_replace(clean, text, n)] = '\0';
	message.at = clean;
	n = module_bytes(clean);
	if (n > 0) {
		module = (struct part){clean, n};
		message.at += n + 2;
		id = (struct part){message.at, id_bytes(message.at)};
		message.at += id.n;
		while (id.n > 0 && (*message.at == ' ' || *message.at == ':'))
			message.at++;
	}
	message.n = strlen(message.at);
	put_time(&j, unix_ms);
	put_member(&j, "level", &(struct part){level_name[level], strlen(level_name[level])});
	put_member(&j, "module", &module);
	if (id.n > 0)
		put_member(&j, "id", &id);
	put_member(&j, "message", &message);
	put_fields(&j, message.at);
	put_text(&j, "}\n");
	return j.used;
}

/* ---- to stderr ---- */

static void
put_json(enum log_level level, const char *text)
{
	static pthread_mutex_t json_lock = PTHREAD_MUTEX_INITIALIZER;
	static char line[LOG_JSON_MAX]; /* under json_lock: too much for a thread's stack */
	struct timespec now;
	int64_t ms;

	clock_gettime(CLOCK_REALTIME, &now);
	ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
	pthread_mutex_lock(&json_lock);
	fwrite(line, 1, log_json(line, ms < 0 ? 0 : ms, level, text), stderr);
	pthread_mutex_unlock(&json_lock);
}

/* One fwrite a line, so that lines of several threads do not mix. */
static void
put_logfmt(enum log_level level, const char *text)
{
	const char *colour = colours ? level_colour[level] : "";
	char line[LOG_LINE_MAX + 80], when[32];
	time_t now = time(NULL);
	struct tm utc;
	int used;

	gmtime_r(&now, &utc);
	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &utc);
	used = snprintf(line, sizeof(line), "%s%s %s%s%s %s\n", bar ? "\r\033[K" : "", when, colour,
	    level_name[level], *colour == '\0' ? "" : "\033[0m", text);
	assert((size_t)used < sizeof(line));
	fwrite(line, 1, (size_t)used, stderr);
}

/* In a text that is too long for it the tail takes the place of the last bytes. */
static void
put_tail(char text[static LOG_LINE_MAX])
{
	size_t n = strlen(text), tail = strlen(tail_now);

	if (tail == 0 || strstr(text, tail_now) != NULL)
		return;
	if (n + 1 + tail >= LOG_LINE_MAX)
		n = LOG_LINE_MAX - tail - 2;
	text[n] = ' ';
	memcpy(text + n + 1, tail_now, tail + 1);
}

static void
complete_hints(char text[static LOG_LINE_MAX])
{
	char plain[LOG_LINE_MAX];

	if (hints_now == NULL)
		return;
	memcpy(plain, text, strlen(text) + 1);
	hints_now(text, LOG_LINE_MAX, plain);
}

static void
put(enum log_level level, const char *format, va_list ap)
{
	char text[LOG_LINE_MAX], line[LOG_LINE_MAX];
	int saved = errno;

	if (level > level_max)
		return;
	vsnprintf(text, sizeof(text), format, ap);
	complete_hints(text);
	text_show(line, sizeof(line), TEXT_LINE, text, strlen(text));
	put_tail(text);
	put_tail(line);
	pthread_rwlock_rdlock(&sink_lock);
	if (sink_now != NULL)
		sink_now(sink_opaque, level, line);
	else if (form_now == LOG_JSON)
		put_json(level, text);
	else
		put_logfmt(level, line);
	pthread_rwlock_unlock(&sink_lock);
	errno = saved;
}

#define LOG_FUNCTION(name, level)                                                                  \
	void name(const char *format, ...)                                                         \
	{                                                                                          \
		va_list ap;                                                                        \
		va_start(ap, format);                                                              \
		put(level, format, ap);                                                            \
		va_end(ap);                                                                        \
	}

LOG_FUNCTION(log_error, LOG_ERROR)
LOG_FUNCTION(log_warning, LOG_WARNING)
LOG_FUNCTION(log_info, LOG_INFO)
LOG_FUNCTION(log_debug, LOG_DEBUG)

void
log_plain(enum log_level level, const char *format, ...)
{
	struct text whole = {0};
	char text[LOG_LINE_MAX];
	va_list ap;

	va_start(ap, format);
	text_vadd(&whole, format, ap);
	va_end(ap);
	if (whole.n > 0 && whole.n < sizeof(text)) { /* a longer one is a list, without hints */
		memcpy(text, whole.bytes, whole.n + 1);
		complete_hints(text);
		text_clear(&whole);
		text_add(&whole, "%s", text);
	}
	if (form_now == LOG_JSON) {
		put_json(level, whole.n == 0 ? "" : whole.bytes);
	} else {
		for (size_t at = 0; at < whole.n; fputs(text, stderr))
			at += text_show(
			    text, sizeof(text), TEXT_LINES, whole.bytes + at, whole.n - at);
		fputc('\n', stderr);
	}
	text_clear(&whole);
}
