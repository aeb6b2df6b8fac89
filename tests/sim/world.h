/*
 * world.h -- what a simulated run is about: a configuration, its domain logs, and what a run
 * without any fault makes of them. There are a few; each seed takes one.
 *
 * Made once, before workers are forked, and constant from then on.
 */
#ifndef TESTS_SIM_WORLD_H
#define TESTS_SIM_WORLD_H

#include "common/config/config.h"
#include "common/record/ledger.h"
#include "producer/tokenizer/tokenizer.h"
#include "tests/sim/kafka/cluster.h"

enum {
	WORLD_KINDS = 8,
	WORLD_LANES_MAX = 4,
	WORLD_STEPS_MAX = 128,
	WORLD_DOMAINS = 3,
	WORLD_PARTITIONS_MAX = 2,
	WORLD_RECORDS_MAX = 1024, /* of a domain partition */
	WORLD_SEEN_MAX = 4096,
	WORLD_STATES_MAX = WORLD_STEPS_MAX + 8,
	WORLD_ANSWERS_MAX = 1024, /* bytes */

	WORLD_MIXERS = 2,
	WORLD_TRAINERS = 2,
	WORLD_PRODUCERS = 4, /* partitions of all domains */
	WORLD_ACTORS = WORLD_MIXERS + WORLD_TRAINERS + WORLD_PRODUCERS,
	WORLD_TRAINER_FIRST = WORLD_MIXERS,
	WORLD_PRODUCER_FIRST = WORLD_MIXERS + WORLD_TRAINERS,
};

struct world_bytes {
	uint8_t *bytes; /* NULL: none */
	size_t n;
};

/*
 * The last ledger record behind so many steps and so many records of the control topic. How many
 * requests are answered in one record rests on what a fetch brings; the state behind each does not.
 */
struct world_state {
	int64_t step_next, control_next;
	struct world_bytes ledger;
};

/* A domain partition that one producer writes: its part. */
struct world_part {
	size_t domain; /* in the configuration */
	uint32_t partition;
	char topic[CLUSTER_NAME_MAX];
	struct world_bytes record[WORLD_RECORDS_MAX]; /* the last one is its End */
	size_t records_n;
};

struct world {
	const char *name;
	uint32_t lanes, ranks;
	struct config *config;
	struct tokenizer *tokenizer;
	void *empty, *filled; /* images: without any record, and with the domain logs */
	size_t empty_n, filled_n;
	bool produces; /* producers may run in the simulated run */
	struct world_part part[WORLD_PRODUCERS];
	/* The unfaulted run: step s of a lane, the end of the mix as the last one. */
	struct world_bytes batch[WORLD_LANES_MAX][WORLD_STEPS_MAX];
	size_t steps_n; /* the end included */
	struct world_state state[WORLD_STATES_MAX];
	size_t states_n;
	char answers[WORLD_ANSWERS_MAX]; /* to requests, in order */
	size_t answers_n;
	int64_t taken[WORLD_PRODUCERS]; /* offsets of the mixer's group */
};

/* How an actor's last run ended. */
struct world_outcome {
	bool done;
	enum fail_code code;
	char text[FAILURE_TEXT_MAX];
};

/* A record that a trainer was given. */
struct world_seen {
	uint32_t lane;
	uint64_t step, hash;
	int64_t offset;
};

/* What actors tell the driver, in the cluster's memory. */
struct world_told {
	struct world_outcome outcome[WORLD_ACTORS];
	struct world_seen seen[WORLD_SEEN_MAX];
	size_t seen_n;
	uint64_t trained[WORLD_TRAINERS];   /* steps below it were given to the trainer */
	uint64_t committed[WORLD_TRAINERS]; /* the broker has confirmed it */
	uint64_t begun[WORLD_TRAINERS];     /* where its last run has begun */
	bool skipped[WORLD_TRAINERS];       /* it has begun behind what it was given */
};

/* Makes all worlds in the cluster; ends the program with a sentence where that fails. */
void world_open_all(struct world *w);
void world_close_all(struct world *w); /* removes the input files */
struct world_told *world_told(void);

/* actors.c: the product at work. Each returns when its work is done or has failed. */
void actor_mix(const struct world *w, size_t actor, uint64_t until_step);
void actor_train(const struct world *w, size_t actor);
void actor_produce(const struct world *w, size_t actor);
void actor_run(const struct world *w, size_t actor);

/* NULL: the run without faults has no such state. */
const struct world_state *world_state(
    const struct world *w, int64_t step_next, int64_t control_next);
/* Adds what the ledger record answers to a text; false: there is no room. */
bool world_add_answers(char text[static WORLD_ANSWERS_MAX], const struct ledger *l);

/* checker.c: NULL: all is well; else the class and a sentence. Borrowed until the next call. */
const char *checker_check(const struct world *w, bool produced);
/* Whether the last record of a producer's partition is its End. */
bool checker_sealed(const struct world_part *s);
/* Lets a trainer's past go: what stands below `step` of the batch topic is deleted. */
void checker_trim(const struct world *w, uint64_t step);

#endif
