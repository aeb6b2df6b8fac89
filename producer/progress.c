#include "producer/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"

enum { BAR_CELLS = 24 };

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

void
progress_format(const struct progress *p, int64_t now_ms, char out[static PROGRESS_LINE_MAX])
{
	double seconds = seconds_passed(p, now_ms), rate = (double)p->bytes / seconds;
	uint64_t done = p->bytes_skipped + p->bytes;
	char bar[BAR_CELLS + 1], left[64] = "";
	uint64_t cells = BAR_CELLS;

	if (p->bytes_total > 0 && done < p->bytes_total)
		cells = done * BAR_CELLS / p->bytes_total;
	memset(bar, '-', BAR_CELLS);
	memset(bar, '#', cells);
	bar[BAR_CELLS] = '\0';
	if (p->bytes_total > 0 && rate > 0 && done <= p->bytes_total) {
		uint64_t eta = (uint64_t)((double)(p->bytes_total - done) / rate);

		snprintf(left, sizeof(left), "  %3" PRIu64 "%%  ETA %" PRIu64 ":%02" PRIu64,
		    done * 100 / p->bytes_total, eta / 60, eta % 60);
	}
	snprintf(out, PROGRESS_LINE_MAX,
	    "%s  [%s]%s  %.1f of %.1f MB  %.2f M tokens/s  %" PRIu64 " documents", p->what,
	    p->bytes_total > 0 ? bar : "........................", left, (double)done / 1e6,
	    (double)p->bytes_total / 1e6, (double)p->tokens / seconds / 1e6, p->documents);
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
	if (!p->terminal) {
		log_info("produce: %s documents=%" PRIu64 " sequences=%" PRIu64 " input_mb=%.1f "
			 "of_mb=%.1f tokens_per_s=%.0f rejects=%" PRIu64,
		    p->what, p->documents, p->sequences,
		    (double)(p->bytes_skipped + p->bytes) / 1e6, (double)p->bytes_total / 1e6,
		    (double)p->tokens / seconds, p->rejects);
		return;
	}
	progress_format(p, now_ms, line);
	fprintf(stderr, "\r\033[K%s", line);
	fflush(stderr);
}

void
progress_end(struct progress *p)
{
	if (p->terminal)
		fprintf(stderr, "\r\033[K");
}
