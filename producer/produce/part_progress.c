#include "producer/produce/part_progress.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/base/clock.h"
#include "common/base/log.h"

void
part_progress_begin(
    struct part_progress *p, const char *what, uint64_t bytes_total, uint64_t bytes_skipped)
{
	*p = (struct part_progress){0};
	progress_begin(&p->bar, what, PROGRESS_BYTES, bytes_total, bytes_skipped);
}

void
part_progress_show(struct part_progress *p)
{
	char rate[48], documents[48];
	double per_s;

	if (!progress_due(&p->bar) || (p->quiet && p->documents == p->documents_shown))
		return;
	p->documents_shown = p->documents;
	per_s = (double)p->tokens / progress_seconds(&p->bar, clock_ms());
	if (!p->bar.terminal) {
		log_info("produce: %s documents=%" PRIu64 " sequences=%" PRIu64 " input_mb=%.1f "
			 "of_mb=%.1f tokens_per_s=%.0f rejects=%" PRIu64,
		    p->bar.what, p->documents, p->sequences,
		    (double)(p->bar.skipped + p->bar.done) / 1e6, (double)p->bar.total / 1e6, per_s,
		    p->rejects);
		return;
	}
	snprintf(rate, sizeof(rate), "%.2f M tokens/s", per_s / 1e6);
	snprintf(documents, sizeof(documents), "%" PRIu64 " docs", p->documents);
	progress_draw(&p->bar, (const char *const[]){rate, documents}, 2);
}
