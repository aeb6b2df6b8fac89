/*
 * mixer.h -- decides which sequences each step holds, and in which order. No I/O, no clock.
 *
 * A step is B draws. A draw asks the schedule for a domain, takes the next position of that
 * domain's epoch (order.h) and passes over ordinals that are quarantined. The draws of a step are
 * then put in the order of the batch: a permutation keyed by (seed, step), or none; draw number k
 * of that order goes to lane floor(k * L / B), slot k mod B/L, or, strided, to lane k mod L, slot
 * floor(k / L).
 *
 *                 mixer_step(): a whole step
 *     READY ----------------------------------> READY     step_next + 1
 *       |         a domain that ends the mix is exhausted in the middle of a step
 *       +-------------------------------------> ENDED     state as after the last whole step
 *
 * One step can be taken back (mixer_undo), because only reading a sequence shows that it is bad:
 * the caller undoes the step, quarantines the ordinal, and steps again.
 *
 * Exhaustion, seen when a draw finds no position left: `repeat` begins the next epoch; `drop` gives
 * the domain's weight and positive credit to the others and draws again; `stop` ends the mix.
 *
 * State has one record, the ledger: mixer_save() writes all of it, mixer_resume() is its inverse.
 */
#ifndef CONSUMER_MIXER_H
#define CONSUMER_MIXER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/config.h"
#include "common/failure.h"
#include "common/ledger.h"

struct mixer;

struct mixer_source { /* one domain as the configuration and its topic have it */
	const char *name;
	double weight; /* as written */
	enum config_on_end on_end;
	size_t partitions_n;
	const uint64_t *sequences; /* [partitions_n], sealed lengths */
};

struct mixer_plan {
	uint64_t seed;
	uint32_t sequence_length, global_batch, lanes;
	uint32_t block, window; /* as in order.h */
	bool permute;
	enum config_lane_order lane_order;
	double temperature;
	const struct mixer_source *source; /* by the bytes of their names */
	size_t sources_n;
};

struct mixer_draw {
	uint32_t domain; /* index in the mix */
	uint32_t partition;
	uint64_t ordinal;
	uint64_t epoch;
	uint64_t block_first; /* the block of its partition that holds it: first ordinal, */
	uint32_t block_count; /* and number of sequences */
};

/*
 * Gives *out, to be ended with mixer_close(): a fresh mix before step 0. Copies the plan.
 * FAIL_CONFIG: weights that cannot be, a domain with a weight and no sequence.
 */
enum fail_code mixer_open(struct mixer **out, const struct mixer_plan *p, struct failure *f);

/*
 * The same from the last ledger record. Domains, lengths, weights and positions are the ledger's;
 * on_end is the plan's. FAIL_DATA: the ledger contradicts itself.
 */
enum fail_code mixer_resume(
    struct mixer **out, const struct mixer_plan *p, const struct ledger *l, struct failure *f);

/* Gives *out, an independent mixer in the same state; it can be stepped ahead. */
enum fail_code mixer_copy(struct mixer **out, const struct mixer *m, struct failure *f);
void mixer_close(struct mixer *m); /* NULL is accepted */

/*
 * Draws one step into draws[global_batch], lane after lane in slot order. *ended is true where the
 * mix is over; draws is then not filled. FAIL_DATA: every sequence of a domain is quarantined.
 */
enum fail_code mixer_step(
    struct mixer *m, struct mixer_draw *draws, bool *ended, struct failure *f);

/* Takes the last mixer_step() back; only once after each. */
void mixer_undo(struct mixer *m);

/* Keeps an ordinal out of all later draws; FAIL_DATA beyond LEDGER_QUARANTINED_MAX. */
enum fail_code mixer_quarantine(struct mixer *m, uint32_t domain, uint32_t partition,
    uint64_t ordinal, const char *reason, struct failure *f);

/*
 * Takes the plan's weights, temperature and domains into force before the next step, as a new
 * version. A new domain gets the next index and credit 0; one that the plan lacks leaves.
 */
enum fail_code mixer_accept(struct mixer *m, const struct mixer_plan *p, struct failure *f);

uint64_t mixer_step_next(const struct mixer *m);
uint64_t mixer_version(const struct mixer *m);
size_t mixer_domains(const struct mixer *m);
const char *mixer_domain_name(const struct mixer *m, uint32_t domain);

/* Sequences drawn of a partition in the current epoch: what the mixer's group commits. */
uint64_t mixer_partition_taken(const struct mixer *m, uint32_t domain, uint32_t partition);
size_t mixer_partitions(const struct mixer *m, uint32_t domain);

/*
 * Fills the fields of *l that are the mixer's state (all but kind, mix, mixer, schedule, config,
 * tokenizer, step_first, pending, control_next, request_ids, answers and runs). *l is zeroed or was
 * filled by this function; its owner calls ledger_clear().
 */
enum fail_code mixer_save(const struct mixer *m, struct ledger *l, struct failure *f);

#endif
