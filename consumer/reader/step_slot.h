/*
 * step_slot.h -- a step in memory, from the records of its lanes to the arrays that a trainer
 * holds, and the pool that slots come from and go back to.
 *
 *     step_pool_get()            free -> filling, by reader_take()
 *     step_slot_decode()         records -> arrays; the records are let go
 *     step_slot_hand_out()       lent to the caller: stays until step_slot_take_back()
 *     step_slot_keep()           and beyond it until step_slot_let_go(), whatever comes first
 *
 * A slot that nobody holds goes back to the pool with its memory, which saves faulting it in again.
 * The pool outlives its owner while slots are kept.
 *
 * Thread: a slot belongs to one thread at a time; the pool's own state is behind its lock, so that
 * step_slot_let_go() may be called from any thread.
 */
#ifndef CONSUMER_READER_STEP_SLOT_H
#define CONSUMER_READER_STEP_SLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/record/batch.h"
#include "common/base/failure.h"
#include "consumer/reader/lanes.h"
#include "consumer/reader/riffle.h"
#include "consumer/reader/step_check.h"
#include "consumer/reader/step_decode.h"

enum { STEP_POOL_FREE_MAX = 4 }; /* slots that wait for their next use */

struct step_pool;

struct step_slot_lane {
	struct lanes_record_held *record; /* the slot's; NULL: let go */
	struct batch_view view;
	int64_t offset;
	uint32_t number; /* partition */
};

struct step_slot {
	struct riffle_step step; /* what the trainer sees; comes first */
	char phase[STEP_PHASE_MAX + 1];
	uint64_t lead, schedule, tokenizer;
	uint32_t global_batch;
	struct step_slot_lane *lane; /* [lanes] */
	uint32_t lanes;
	struct step_decode *decode;

	/* Of the pool, behind its lock. */
	struct step_pool *pool;
	struct step_slot *next_free;
	bool lent, kept;
};

/* Slots of `lanes` lanes (0: they are filled otherwise) and tokens of `token_bytes`. */
enum fail_code step_pool_open(
    struct step_pool **out, uint32_t lanes, uint32_t token_bytes, struct failure *f);
/* Ends the pool once the slots that are kept are let go. NULL is accepted. */
void step_pool_close(struct step_pool *p);

/* Gives *out, to be ended with step_pool_put() or by handing it out. */
enum fail_code step_pool_get(struct step_pool *p, struct step_slot **out, struct failure *f);
void step_pool_put(struct step_slot *slot);

/*
 * Decodes all lanes with `codec`, and lets the records go. FAIL_DATA names `topic`, lane and
 * offset.
 */
enum fail_code step_slot_decode(
    struct step_slot *slot, struct frame_codec *codec, const char *topic, struct failure *f);

/* Memory of the step. */
size_t step_slot_bytes(const struct step_slot *slot);

void step_slot_hand_out(struct step_slot *slot);
/* NULL is accepted. */
void step_slot_take_back(struct step_slot *slot);
void step_slot_keep(struct step_slot *slot);
/* `step` is the first member of a slot that is kept. */
void step_slot_let_go(const struct riffle_step *step);

#endif
