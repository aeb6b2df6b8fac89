/*
 * part_progress.h -- how far a part is: a bar (progress.h) with its rate and documents, or a log
 * line.
 *
 * The part's thread adds to the numbers and calls part_progress_show() in each round of its loop,
 * which is nothing but a look at the clock most times.
 */
#ifndef PRODUCER_PRODUCE_PART_PROGRESS_H
#define PRODUCER_PRODUCE_PART_PROGRESS_H

#include "common/terminal/progress.h"

struct part_progress {
	struct progress bar;                            /* of the input's bytes, as stored */
	uint64_t documents, tokens, sequences, rejects; /* so far */
	bool quiet; /* no log line while nothing is done; for what need not end */
	uint64_t documents_shown;
};

/* `what`, borrowed: the domains, or the domain and partition. Bytes 0: not known (a program). */
void part_progress_begin(
    struct part_progress *p, const char *what, uint64_t bytes_total, uint64_t bytes_skipped);

/* Shows the present state if it is time. */
void part_progress_show(struct part_progress *p);

#endif
