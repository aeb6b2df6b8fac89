/*
 * metrics_board.h -- where a thread that works leaves its metrics for one that is asked for them.
 *
 *     the one that works                            the one that answers a scrape
 *     in each turn: metrics_board_wanted()?  <----  metrics_board_ask(): wanted
 *       metrics_board_put(text)              ---->  the text
 *
 * So its state needs no locks, and a turn costs a look at a flag while nobody asks. Where it does
 * not come to its turn in time (a broker that does not answer), the text of before is given.
 *
 * Thread: wanted and put belong to one thread, ask to any.
 */
#ifndef COMMON_METRICS_METRICS_BOARD_H
#define COMMON_METRICS_METRICS_BOARD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/metrics/metrics.h"

struct metrics_board {
	atomic_bool wanted;
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t fresh;
	char *text; /* the last one; NULL: none yet */
	uint64_t number;
};

void metrics_board_init(struct metrics_board *b);
void metrics_board_close(struct metrics_board *b); /* nobody asks any more */

/* Whether somebody waits for a text. NULL: never. */
static inline bool
metrics_board_wanted(const struct metrics_board *b)
{
	return b != NULL && atomic_load_explicit(&b->wanted, memory_order_relaxed);
}

/* Takes the text, and empties *m. */
void metrics_board_put(struct metrics_board *b, struct metrics_text *m);

/* Gives a copy (free) of the text, new where one comes within timeout_ms. NULL: no memory. */
char *metrics_board_ask(struct metrics_board *b, int timeout_ms);

#endif
