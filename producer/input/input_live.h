/*
 * input_live.h -- an input whose files keep arriving; part of input.c.
 *
 * First the portions that reading.h knows, from where a resume starts; then rounds: what there is
 * (live_scan.h) is made durable, then read. A producer that follows goes on until it is stopped.
 */
#ifndef PRODUCER_INPUT_INPUT_LIVE_H
#define PRODUCER_INPUT_INPUT_LIVE_H

#include "producer/input/input_state.h"

enum {
	INPUT_LIVE_PAUSE_MS = 100,  /* from one look to the next at least */
	INPUT_LIVE_LOOK_MS = 5000,  /* between two looks where nothing is told */
	INPUT_LIVE_ROUND_MS = 1000, /* from one round to the next: files that grow all the time */
	INPUT_LIVE_PAUSE_FACTOR = 4 /* and at least so many times what the look took */
};

struct input_live;

/* Fills in->live. FAIL_DATA: the reading does not have the place where the last run stood. */
enum fail_code input_live_open(struct input *in, const struct input_options *o,
    const struct input_position *from, struct failure *f);
void input_live_close(struct input_live *l); /* NULL is accepted */

/* The reader thread's work. */
enum fail_code input_live_read(struct input *in, struct failure *f);

#endif
