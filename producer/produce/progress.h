/*
 * progress.h -- how far a part is: a bar on a terminal, a log line every ten seconds elsewhere.
 *
 * The part's thread adds to the numbers and calls progress_show() in each round of its loop, which
 * is nothing but a look at the clock most times.
 */
#ifndef PRODUCER_PRODUCE_PROGRESS_H
#define PRODUCER_PRODUCE_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PROGRESS_LOG_MS = 10000, PROGRESS_BAR_MS = 200, PROGRESS_LINE_MAX = 256 };

struct progress {
	const char *what;       /* borrowed: the domains, or the domain and partition */
	uint64_t bytes_total;   /* of the input as stored; 0: not known */
	uint64_t bytes_skipped; /* what a resume left out: done, but not by this process */
	uint64_t bytes, documents, tokens, sequences, rejects; /* so far */
	int64_t began_ms, shown_ms;
	bool terminal; /* stderr is one */
	bool quiet;    /* no log line while nothing is done; for what need not end */
	uint64_t documents_shown;
};

void progress_begin(
    struct progress *p, const char *what, uint64_t bytes_total, uint64_t bytes_skipped);

/* Shows the present state if it is time. */
void progress_show(struct progress *p);
/* Clears the bar, so that a log line stands by itself; progress_show() draws it again. */
void progress_end(struct progress *p);

/*
 * The bar's text at `now_ms`:
 *     code  [############------------]   50%  ETA 0:12  12.3 of 24.6 MB  3.41 M tokens/s  1234 docs
 * or, where the size of the input is not known (a program):
 *     code  12.3 MB  3.41 M tokens/s  1234 docs
 */
void progress_format(const struct progress *p, int64_t now_ms, char out[static PROGRESS_LINE_MAX]);

#endif
