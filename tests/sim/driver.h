/*
 * driver.h -- one simulated run: which actors there are, who runs when, who is started again.
 *
 * Every actor is a task (task.h), or a process forked from the driver, so that a crash takes what
 * it had in memory and leaves the cluster. One runs at a time, until it has made its calls, waits,
 * or ends.
 */
#ifndef TESTS_SIM_DRIVER_H
#define TESTS_SIM_DRIVER_H

#include "tests/sim/world.h"

struct driver_result {
	char problem[1200];                  /* "": all is well */
	uint64_t calls, runs, turns, faults; /* faults: drawn, with those left out */
	uint64_t fault[CHANCE_FAULTS];
	uint32_t features; /* that met in the run: bits of enum world_feature */
	uint64_t mark;     /* runs that had another course have another one, almost surely */
};

struct driver_options {
	bool trace;       /* on stdout */
	uint64_t without; /* chance.h */
	bool processes;   /* as actors; they are where there are no tasks, too */
	bool lost;        /* with faults that destroy what was published, in every seed */
	bool shared;      /* lanes share partitions, in every seed of a world with several */
	bool derived;     /* trainers derive their lanes, in every seed */
	bool live;        /* files arrive while producers run, in every seed */
	bool mixed;       /* many features meet, in every seed */
	bool readers;     /* somebody reads documents, status and ledger, in every seed */
	bool stuck;       /* no actor makes a call */
	unsigned turn_s;  /* that a turn may take; 0: two minutes, while it needs milliseconds */
};

/* Whether this build can play worlds in which files arrive. */
bool driver_plays_live(void);
/* Plays one seed in the worlds. */
void driver_play(const struct world *worlds, uint64_t seed, const struct driver_options *o,
    struct driver_result *out);

#endif
