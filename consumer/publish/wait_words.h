/*
 * wait_words.h -- what a mixer and `riffle status` say about runs that hold the mixer up, and what
 * to type.
 *
 * Pure. Thread: any.
 */
#ifndef CONSUMER_PUBLISH_WAIT_WORDS_H
#define CONSUMER_PUBLISH_WAIT_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wait_words_run {
	const char *name;
	uint64_t step;     /* all steps below it are committed */
	bool committed;    /* the broker has a commit of it */
	const char *apart; /* what run_position_apart() writes of its lanes */
};

/*
 * The runs that are max_lead_steps or more behind `step`, the mixer's next one, and the remedy for
 * each. Gives the text (free); NULL: no memory.
 */
char *wait_words_lead(
    const struct wait_words_run *run, size_t n, uint64_t step, uint64_t max_lead_steps);

/*
 * The remedy for one run, to follow a clause about where it stands: "start its trainers ..." or "is
 * the rank that reads them running? ...". Gives the text (free); NULL: no memory.
 */
char *wait_words_remedy(const struct wait_words_run *run);

#endif
