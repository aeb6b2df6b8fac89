#include "producer/produce/progress.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/log.h"

enum {
	BAR_CELLS = 24,
	PROGRESS_WHAT_MAX = 64, /* bytes of the name that are shown */
	COLUMNS_USUAL = 80,
	COLUMNS_MIN = 20,
	ETA_MAX_S = 100 * 3600, /* what is later is not worth saying */
};

/* A line that wraps could not be cleared. */
static int
terminal_columns(void)
{
	struct winsize size;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < COLUMNS_MIN)
		return COLUMNS_USUAL;
	return size.ws_col;
}

void
progress_begin(struct progress *p, const char *what, uint64_t bytes_total, uint64_t bytes_skipped)
{
	memset(p, 0, sizeof(*p));
	p->what = what;
	p->bytes_total = bytes_total;
	p->bytes_skipped = bytes_skipped;
	p->began_ms = p->shown_ms = clock_ms();
	p->terminal = isatty(STDERR_FILENO) == 1;
}

static double
seconds_passed(const struct progress *p, int64_t now_ms)
{
	return now_ms > p->began_ms ? (double)(now_ms - p->began_ms) / 1000 : 0.001;
}

/* "  [####----]   50%  ETA 0:12  12.3 of 24.6 MB", as far as that is known. */
static void
format_input(const struct progress *p, double seconds, char *out, size_t room)
{
	uint64_t done = p->bytes_skipped + p->bytes;
	uint64_t shown = done < p->bytes_total ? done : p->bytes_total;
	char bar[BAR_CELLS + 1], eta[32] = "";
	double left = 0;

	if (p->bytes_total == 0) {
		snprintf(out, room, "  %.1f MB", (double)done / 1e6);
		return;
	}
	if (p->bytes > 0)
		left = (double)(p->bytes_total - shown) * seconds / (double)p->bytes;
	if (p->bytes > 0 && left < ETA_MAX_S)
		snprintf(eta, sizeof(eta), "  ETA %" PRIu64 ":%02" PRIu64, (uint64_t)left / 60,
		    (uint64_t)left % 60);
	memset(bar, '-', BAR_CELLS);
	memset(bar, '#', (size_t)((double)shown / (double)p->bytes_total * BAR_CELLS));
	bar[BAR_CELLS] = '\0';
	snprintf(out, room, "  [%s]  %3.0f%%%s  %.1f of %.1f MB", bar,
	    floor((double)shown / (double)p->bytes_total * 100), eta, (double)shown / 1e6,
	    (double)p->bytes_total / 1e6);
}

void
progress_format(const struct progress *p, int64_t now_ms, char out[static PROGRESS_LINE_MAX])
{
	double seconds = seconds_passed(p, now_ms);
	char input[128];

	format_input(p, seconds, input, sizeof(input));
	snprintf(out, PROGRESS_LINE_MAX, "%.*s%s  %.2f M tokens/s  %" PRIu64 " docs",
	    PROGRESS_WHAT_MAX, p->what, input, (double)p->tokens / seconds / 1e6, p->documents);
}

void
progress_show(struct progress *p)
{
	int64_t now_ms = clock_ms();
	double seconds = seconds_passed(p, now_ms);
	char line[PROGRESS_LINE_MAX];

	if (now_ms - p->shown_ms < (p->terminal ? PROGRESS_BAR_MS : PROGRESS_LOG_MS))
		return;
	p->shown_ms = now_ms;
	if (p->quiet && p->documents == p->documents_shown)
		return;
	p->documents_shown = p->documents;
	if (!p->terminal) {
		log_info("produce: %s documents=%" PRIu64 " sequences=%" PRIu64 " input_mb=%.1f "
			 "of_mb=%.1f tokens_per_s=%.0f rejects=%" PRIu64,
		    p->what, p->documents, p->sequences,
		    (double)(p->bytes_skipped + p->bytes) / 1e6, (double)p->bytes_total / 1e6,
		    (double)p->tokens / seconds, p->rejects);
		return;
	}
	progress_format(p, now_ms, line);
	fprintf(stderr, "\r\033[K%.*s", terminal_columns() - 1, line);
	fflush(stderr);
}

void
progress_end(struct progress *p)
{
	if (p->terminal)
		fprintf(stderr, "\r\033[K");
}
