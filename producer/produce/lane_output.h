/*
 * lane_output.h -- the second half of a lane: from the packer of each stream to the partition's
 * End.
 *
 * Sequences go to the workers in jobs of WORKER_FRAMES and come back in that order, so that each
 * stream's records are published in the order of its ordinals.
 */
#ifndef PRODUCER_PRODUCE_LANE_OUTPUT_H
#define PRODUCER_PRODUCE_LANE_OUTPUT_H

#include "producer/produce/lane_state.h"

/* Cuts the whole sequences out of the stream's packer; publishes others where there is no room. */
enum fail_code lane_output_cut(struct lane *l, struct lane_stream *s, struct failure *f);

/* The input is over: what the packers of streams that get an End still hold becomes sequences. */
enum fail_code lane_output_finish(struct lane *l, struct failure *f);

/* Hands in the jobs that are not full: at the end, and when the input pauses. */
enum fail_code lane_output_submit(struct lane *l, struct failure *f);

/* Publishes the oldest job if it is done (or, with `wait`, when it is). *any: there was one. */
enum fail_code lane_output_take(struct lane *l, bool wait, bool *any, struct failure *f);

/* The input is over and every job taken: delivers all, then publishes and delivers the Ends. */
enum fail_code lane_output_end(struct lane *l, struct failure *f);

#endif
