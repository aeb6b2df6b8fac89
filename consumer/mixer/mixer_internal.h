/*
 * mixer_internal.h -- what a mixer is inside: shared by mixer.c, mixer_request.c, mixer_answer.c
 * and mixer_ledger.c, and nobody else includes it.
 *
 * The mixer composes its nouns and holds little itself. What a step may change is in four of them
 * and in `at`; each keeps what it was before the step, so that mixer_undo() takes the step back.
 */
#ifndef CONSUMER_MIXER_MIXER_INTERNAL_H
#define CONSUMER_MIXER_MIXER_INTERNAL_H

#include "consumer/mixer/agenda.h"
#include "consumer/mixer/cursor.h"
#include "consumer/mixer/exclusions.h"
#include "consumer/mixer/mixer.h"
#include "consumer/mixer/request_ids.h"
#include "consumer/mixer/shares.h"

/* The plan's, constant but for mixer_replan(). */
struct mixer_shape {
	uint64_t seed;
	uint32_t sequence_length, lanes, block, window_blocks;
	uint32_t global_batch; /* where neither a phase nor a request gives another */
	bool permute;
	enum mix_lane_order lane_order;
	enum mix_shuffle shuffle;
	enum mix_unit weights_unit;
	double temperature;
	uint64_t base; /* mixer_plan_hash(): of the plan's weights, temperature and phases */
};

struct mixer_at {
	uint64_t step_next, draws;
	uint64_t choices; /* rolling hash of all draws since step 0 */
};

struct mixer {
	struct mixer_shape shape;
	struct mixer_at at, at_kept;
	struct cursor *cursor; /* [domains_n] */
	size_t domains_n;
	struct shares shares, shares_kept; /* of domains_n domains each */
	struct agenda agenda;
	struct exclusions exclusions;
	struct request_ids answered;
	int64_t control_next;
	bool undoable; /* what is kept is of the last step */
	bool *dry;     /* [domains_n]: has nothing at the moment; up to date where domains lend */
	struct mixer_draw blocked;
	mixer_tokens *tokens;
	void *tokens_opaque;
};

/* ---- mixer.c ---- */

/* A mixer of the plan's shape, with its phases, without domains; NULL: no memory. */
struct mixer *mixer_from_plan(const struct mixer_plan *p);

/*
 * Adds a domain with the next index, at the start of epoch 0, active and weightless. FAIL_CONFIG:
 * one more cannot be counted. FAIL_MEMORY. Nothing was added then.
 */
enum fail_code mixer_add_domain(struct mixer *m, const struct mixer_source *s, struct failure *f);

/* Between steps: frees what only an undo would need. */
void mixer_settle(struct mixer *m);

/*
 * Puts a phase's weights in force, or, NULL, the base weights; begins no version, weighs nothing.
 */
void mixer_put_phase(struct mixer *m, const struct agenda_phase *phase);

/* Puts a request's change in force and begins its version; weighs nothing. FAIL_MEMORY only. */
enum fail_code mixer_put_change(struct mixer *m, const struct ledger_change *c, struct failure *f);

/* ---- mixer_answer.c ---- */

/* Gives the text of an answer (free): what an accepted change does. NULL: no memory. */
char *mixer_answer_text(const struct mixer_effect *e, const struct ledger_change *c);

#endif
