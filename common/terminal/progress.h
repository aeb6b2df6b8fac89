/*
 * progress.h -- how far something long is: a bar on a terminal, a log line every ten seconds
 * elsewhere, and where the log is JSON.
 *
 *     progress_begin(&p, "replay", "steps", 1000, 0);
 *     while (...) {
 *             p.done++;
 *             progress_show(&p);       mostly nothing but a look at the clock
 *     }
 *     progress_end(&p);
 *
 * A caller with more to show than `done` asks progress_due() itself, and gives the rest to
 * progress_draw().
 *
 * Files of this room:
 *     progress   the bar, and when it is drawn
 *     terminal   how wide the terminal is; whether it has colours
 *
 * The bar is one line that fits the terminal, for a line that wraps could not be cleared: what has
 * no room is left out whole, the least important first (progress_format()). A line of the log that
 * comes while it is drawn takes its place (log_set_bar()). Thread: one a struct; one bar a process.
 */
#ifndef COMMON_TERMINAL_PROGRESS_H
#define COMMON_TERMINAL_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	PROGRESS_LOG_MS = 10000,
	PROGRESS_BAR_MS = 200,
	PROGRESS_LINE_MAX = 512,
	PROGRESS_MORE_MAX = 4,
};

struct progress {
	const char *what; /* borrowed: what stands in front: "code lane 2/4", "replay" */
	const char *unit; /* borrowed, "steps"; PROGRESS_BYTES: bytes, shown as MB */
	uint64_t total;   /* 0: not known */
	uint64_t skipped; /* done, but not by this process: they count for no rate */
	uint64_t done;    /* by this process so far */
	int64_t began_ms, shown_ms;
	bool terminal; /* stderr is one, and shows a bar */
};

#define PROGRESS_BYTES NULL

void progress_begin(
    struct progress *p, const char *what, const char *unit, uint64_t total, uint64_t skipped);

/*
 * Whether it is time to show something: on a terminal at once and then every PROGRESS_BAR_MS, in
 * the log every PROGRESS_LOG_MS. Notes that it is shown now.
 */
bool progress_due(struct progress *p);

/* Draws the bar with more[0..more_n) behind it, most important first. Only on a terminal. */
void progress_draw(const struct progress *p, const char *const *more, size_t more_n);

/* Shows it if it is due; a log line is "what: unit=12 of=100 seconds=10". */
void progress_show(struct progress *p);

/* Clears the bar. */
void progress_end(struct progress *p);

/* Since the beginning, at `now_ms` of the monotonic clock; more than 0. */
double progress_seconds(const struct progress *p, int64_t now_ms);

/*
 * The bar's text at `now_ms`, at most `columns` wide:
 *     code  [############------------]   50%  ETA 0:12  12.3 of 24.6 MB  3.41 M tokens/s  1234 docs
 * where the total is not known:
 *     code  12.3 MB  3.41 M tokens/s  1234 docs
 *
 * What has no room goes in this order: half of the bar, `more` from the last to the second, the
 * numbers, the bar, the first of `more`, the ETA, the end of the name. The percentage stays, or,
 * without a total, the number.
 */
void progress_format(const struct progress *p, int64_t now_ms, int columns, const char *const *more,
    size_t more_n, char out[static PROGRESS_LINE_MAX]);

#endif
