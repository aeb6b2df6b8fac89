/*
 * driver.h -- one simulated run: which actors there are, who runs when, who is started again.
 *
 * Every actor is a process forked from the driver, so that a crash takes what it had in memory and
 * leaves the cluster. One runs at a time, until it has made its calls, waits, or ends.
 */
#ifndef TESTS_SIM_DRIVER_H
#define TESTS_SIM_DRIVER_H

#include "tests/sim/world.h"

struct driver_result {
	char problem[1200]; /* "": all is well */
	uint64_t calls, runs, turns;
	uint64_t fault[CHANCE_FAULTS];
};

/* Plays one seed in the worlds; with `trace` on stdout. */
void driver_play(const struct world *worlds, uint64_t seed, bool trace, struct driver_result *out);

#endif
