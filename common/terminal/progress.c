#include "common/terminal/progress.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/terminal/terminal.h"

enum {
	BAR_CELLS = 24,
	BAR_CELLS_FEW = 10,
	PART_BYTES = 96,
	WHAT_BYTES = 128,
	ETA_MAX_S = 100 * 3600, /* what is later is not worth saying */
};

void
progress_begin(
    struct progress *p, const char *what, const char *unit, uint64_t total, uint64_t skipped)
{
	*p = (struct progress){.what = what, .unit = unit, .total = total, .skipped = skipped};
	p->terminal = log_form() != LOG_JSON && isatty(STDERR_FILENO) == 1;
	p->began_ms = clock_ms();
	p->shown_ms = p->terminal ? p->began_ms - PROGRESS_BAR_MS : p->began_ms;
}

double
progress_seconds(const struct progress *p, int64_t now_ms)
{
	return now_ms > p->began_ms ? (double)(now_ms - p->began_ms) / 1000 : 0.001;
}

/* The parts of the line; "" is left out. */
struct parts {
	char what[WHAT_BYTES], bar[PART_BYTES], percent[PART_BYTES], eta[PART_BYTES];
	char number[PART_BYTES];
	const char *more[PROGRESS_MORE_MAX];
	size_t more_n;
};

static int
width(const struct parts *t)
{
	size_t n = strlen(t->what) + strlen(t->bar) + strlen(t->percent) + strlen(t->eta) +
		   strlen(t->number);

	for (size_t i = 0; i < t->more_n; i++)
		n += 2 + strlen(t->more[i]);
	return (int)n;
}

/* "12.3 of 24.6 MB", "12 of 100 steps", or without the total. */
static void
put_number(struct parts *t, const struct progress *p, uint64_t shown)
{
	bool bytes = p->unit == PROGRESS_BYTES;

	if (bytes && p->total == 0)
		snprintf(t->number, PART_BYTES, "  %.1f MB", (double)shown / 1e6);
	else if (bytes)
		snprintf(t->number, PART_BYTES, "  %.1f of %.1f MB", (double)shown / 1e6,
		    (double)p->total / 1e6);
	else if (p->total == 0)
		snprintf(t->number, PART_BYTES, "  %" PRIu64 " %s", shown, p->unit);
	else
		snprintf(t->number, PART_BYTES, "  %" PRIu64 " of %" PRIu64 " %s", shown, p->total,
		    p->unit);
}

static void
put_bar(struct parts *t, double share, int cells)
{
	char bar[BAR_CELLS + 1];

	assert(cells <= BAR_CELLS);
	memset(bar, '-', (size_t)cells);
	memset(bar, '#', (size_t)(share * cells));
	bar[cells] = '\0';
	snprintf(t->bar, PART_BYTES, "  [%s]", bar);
}

static void
put_eta(struct parts *t, const struct progress *p, uint64_t shown, double seconds)
{
	double left;

	if (p->done == 0)
		return;
	left = (double)(p->total - shown) * seconds / (double)p->done;
	if (left < ETA_MAX_S)
		snprintf(t->eta, PART_BYTES, "  ETA %" PRIu64 ":%02" PRIu64, (uint64_t)left / 60,
		    (uint64_t)left % 60);
}

/* Leaves out what has no room, in the order of the header. */
static void
fit(struct parts *t, double share, bool total, int columns)
{
	int over;

	if (total && width(t) > columns)
		put_bar(t, share, BAR_CELLS_FEW);
	while (t->more_n > 1 && width(t) > columns)
		t->more_n--;
	if (total && width(t) > columns)
		t->number[0] = '\0';
	if (width(t) > columns)
		t->bar[0] = '\0';
	if (width(t) > columns)
		t->more_n = 0;
	if (width(t) > columns)
		t->eta[0] = '\0';
	over = width(t) - columns;
	if (over > 0 && (size_t)over < strlen(t->what))
		t->what[strlen(t->what) - (size_t)over] = '\0';
	else if (over > 0)
		t->what[0] = '\0';
}

void
progress_format(const struct progress *p, int64_t now_ms, int columns, const char *const *more,
    size_t more_n, char out[static PROGRESS_LINE_MAX])
{
	uint64_t done = p->skipped + p->done;
	uint64_t shown = p->total > 0 && done > p->total ? p->total : done;
	double share = p->total == 0 ? 0 : (double)shown / (double)p->total;
	struct parts t = {.more_n = more_n};
	int used;

	assert(more_n <= PROGRESS_MORE_MAX);
	for (size_t i = 0; i < more_n; i++)
		t.more[i] = more[i];
	snprintf(t.what, sizeof(t.what), "%.*s", WHAT_BYTES - 1, p->what);
	put_number(&t, p, shown);
	if (p->total > 0) {
		put_bar(&t, share, BAR_CELLS);
		snprintf(t.percent, PART_BYTES, "  %3.0f%%", floor(share * 100));
		put_eta(&t, p, shown, progress_seconds(p, now_ms));
	}
	fit(&t, share, p->total > 0, columns);
	used = snprintf(
	    out, PROGRESS_LINE_MAX, "%s%s%s%s%s", t.what, t.bar, t.percent, t.eta, t.number);
	for (size_t i = 0; i < t.more_n && used < PROGRESS_LINE_MAX; i++)
		used += snprintf(out + used, PROGRESS_LINE_MAX - (size_t)used, "  %s", t.more[i]);
	assert(used <= columns || columns < (int)strlen(t.percent) + (int)strlen(t.number));
}

bool
progress_due(struct progress *p)
{
	int64_t now_ms = clock_ms();

	if (now_ms - p->shown_ms < (p->terminal ? PROGRESS_BAR_MS : PROGRESS_LOG_MS))
		return false;
	p->shown_ms = now_ms;
	return true;
}

void
progress_draw(const struct progress *p, const char *const *more, size_t more_n)
{
	char line[PROGRESS_LINE_MAX];

	if (!p->terminal)
		return;
	/* The last column stays free: a terminal may break the line once it is full. */
	progress_format(p, clock_ms(), terminal_columns() - 1, more, more_n, line);
	log_set_bar(true);
	fprintf(stderr, "\r\033[K%s", line);
	fflush(stderr);
}

void
progress_show(struct progress *p)
{
	if (!progress_due(p))
		return;
	if (p->terminal)
		progress_draw(p, NULL, 0);
	else
		log_info("%s: %s=%" PRIu64 " of=%" PRIu64 " seconds=%.0f", p->what,
		    p->unit == PROGRESS_BYTES ? "bytes" : p->unit, p->skipped + p->done, p->total,
		    progress_seconds(p, clock_ms()));
}

void
progress_end(struct progress *p)
{
	if (!p->terminal)
		return;
	log_set_bar(false);
	fprintf(stderr, "\r\033[K");
	fflush(stderr);
}
