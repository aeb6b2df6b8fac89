/*
 * log.h -- one line an event, to stderr: "2026-01-31T10:20:30Z info mixer: step=12 lag=3"; or to
 * where the program that uses the library wants them.
 *
 * The module comes first, then key=value pairs. Warnings start with a stable id after the module
 * ("mixer: MIX-LEAD waiting for run trainers"). errno is preserved. Any thread may log.
 */
#ifndef COMMON_BASE_LOG_H
#define COMMON_BASE_LOG_H

#include <stdbool.h>

enum log_level { LOG_ERROR, LOG_WARNING, LOG_INFO, LOG_DEBUG };

/* Lines above `level` are dropped; LOG_INFO at the start. */
void log_set_level(enum log_level level);

/*
 * Lines go to sink(opaque, level, line), without time, level and end of line, instead of to stderr
 * (NULL: to stderr again). Called by any thread, several at once; it must not log. After the return
 * no call of the sink before is under way.
 */
typedef void log_sink(void *opaque, enum log_level level, const char *line);
void log_set_sink(log_sink *sink, void *opaque);

/* Lines on stderr have their level in red or yellow where it is error or warning. Off at first. */
void log_set_colours(bool on);

/* A bar is drawn in the last line of the terminal (progress.h): the next line takes its place. */
void log_set_bar(bool drawn);

void log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
