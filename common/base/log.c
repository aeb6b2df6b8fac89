#include "common/base/log.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

enum { LOG_LINE_MAX = 4096 };

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
static atomic_bool colours, bar;

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
log_set_sink(log_sink *sink, void *opaque)
{
	pthread_rwlock_wrlock(&sink_lock);
	sink_now = sink;
	sink_opaque = opaque;
	pthread_rwlock_unlock(&sink_lock);
}

/* One fwrite a line, so that lines of several threads do not mix. */
static void
put_stderr(enum log_level level, const char *text)
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

static void
put(enum log_level level, const char *format, va_list ap)
{
	char text[LOG_LINE_MAX];
	int saved = errno;

	if (level > level_max)
		return;
	vsnprintf(text, sizeof(text), format, ap);
	pthread_rwlock_rdlock(&sink_lock);
	if (sink_now != NULL)
		sink_now(sink_opaque, level, text);
	else
		put_stderr(level, text);
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
