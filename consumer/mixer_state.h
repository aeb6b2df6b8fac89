/*
 * mixer_state.h -- what a mixer is inside: shared by mixer.c, which draws, and mixer_ledger.c,
 * which saves and resumes. Nobody else includes it.
 */
#ifndef CONSUMER_MIXER_STATE_H
#define CONSUMER_MIXER_STATE_H

#include "common/names.h"
#include "common/order.h"
#include "common/schedule.h"
#include "consumer/mixer.h"

/* Where the mix stands in one domain: a value, saved before each step for mixer_undo(). */
struct cursor {
	enum ledger_domain_state state;
	uint64_t epoch, position;
	uint64_t taken, tokens;
};

struct domain {
	char name[NAME_MAX_BYTES + 1];
	double raw_weight;
	enum config_on_end on_end;
	uint64_t key; /* of its permutations */
	size_t partitions_n;
	uint64_t *sequences;    /* [partitions_n] */
	size_t partition_first; /* in the mixer's taken_in_epoch */
	size_t quarantined_n;
	struct order *order; /* derived: at order_epoch */
	uint64_t order_epoch;
	struct order_window window; /* derived: valid for positions inside it at order_epoch */
};

/* All that a step changes. */
struct progress {
	uint64_t step_next, draws, choices;
	struct schedule schedule;
	struct cursor *cursor;    /* [domains] */
	uint64_t *taken_in_epoch; /* [partitions of all domains] */
};

struct mixer {
	uint64_t seed;
	uint32_t sequence_length, global_batch, lanes, block, window_blocks;
	bool permute;
	enum config_lane_order lane_order;
	double temperature;
	uint64_t version, version_step;
	struct domain *domain;
	size_t domains_n, partitions_n;
	struct progress now, before; /* before: as it was before the last step */
	bool undoable;
	struct ledger_quarantined *quarantined;
	size_t quarantined_n;
};

/* A mixer of the plan's shape without domains; NULL: no memory. */
struct mixer *mixer_from_plan(const struct mixer_plan *p);

/* Appends a domain with the next index, at the start of epoch 0; its weight is set later. */
enum fail_code mixer_add_domain(struct mixer *m, const char *name, double raw_weight,
    enum config_on_end on_end, const uint64_t *sequences, size_t partitions_n, struct failure *f);

/* The plan's domain of that name; NULL: it has none. */
const struct mixer_source *mixer_source_named(const struct mixer_plan *p, const char *name);

#endif
