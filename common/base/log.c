#include "common/base/log.h"

#include <errno.h>
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

static _Atomic enum log_level level_max = LOG_INFO;

void
log_set_level(enum log_level level)
{
	level_max = level;
}

/* One fwrite a line, so that lines of several threads do not mix. */
static void
put(enum log_level level, const char *format, va_list ap)
{
	char line[LOG_LINE_MAX], when[32];
	int saved = errno, used, more;
	time_t now = time(NULL);
	struct tm utc;

	if (level > level_max)
		return;
	gmtime_r(&now, &utc);
	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &utc);
	used = snprintf(line, sizeof(line), "%s %s ", when, level_name[level]);
	more = vsnprintf(line + used, sizeof(line) - (size_t)used - 1, format, ap);
	used = more < 0 ? used : used + more;
	if ((size_t)used > sizeof(line) - 2)
		used = (int)sizeof(line) - 2;
	line[used++] = '\n';
	fwrite(line, 1, (size_t)used, stderr);
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
