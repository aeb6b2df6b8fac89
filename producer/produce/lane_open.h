/*
 * lane_open.h -- how a lane begins and ends: what its partitions hold, its input, its workers.
 */
#ifndef PRODUCER_PRODUCE_LANE_OPEN_H
#define PRODUCER_PRODUCE_LANE_OPEN_H

#include "producer/produce/lane_state.h"

/* Fills l->resume and what of l->stream follows from it; l->stream[i].open says which it is for. */
enum fail_code lane_open_ask(struct lane *l, struct failure *f);

/* Opens all the rest; `from` and `from_start` are as from resume_start(). */
enum fail_code lane_open(
    struct lane *l, const struct input_position *from, bool from_start, struct failure *f);

/* Ends what either has opened, also where it failed, and the arrays. */
void lane_open_close(struct lane *l);

#endif
