/*
 * lane_live.h -- a lane whose files keep arriving: which order they were read in, and where that is
 * kept.
 *
 * What was begun by a live domain has an order in <corpus>.arrivals and is read by it for ever,
 * also by a run that seals it and where `live` has been taken out of the configuration.
 */
#ifndef PRODUCER_PRODUCE_LANE_LIVE_H
#define PRODUCER_PRODUCE_LANE_LIVE_H

#include "producer/produce/lane_state.h"

/*
 * Reads the order, takes it over, and fills what of *o, and *live, follows. l->resume is there.
 * FAIL_CONFIG: a partition was begun without an order.
 */
enum fail_code lane_live_open(
    struct lane *l, struct input_options *o, struct input_live_options *live, struct failure *f);

/* After input_close(). */
void lane_live_close(struct lane *l);

#endif
