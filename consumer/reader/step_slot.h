/*
 * step_slot.h -- a step in memory, from the records of its lanes to the arrays that a trainer
 * holds, and the pool that slots come from and go back to.
 *
 *              step_pool_get()    reader_take()        step_slot_decode()
 *     in the  ---------------> held --------> with records ---------> decoded
 *      pool   <--------------------------------------------------------|   |
 *        ^              step_pool_put(): whoever has the slot          |   | step_slot_hand_out()
 *        |                                                                 v
 *        |   step_slot_take_back(), not kept                             lent
 *        +-----------------------------------------------------------------|
 *        |   step_slot_let_go(), not lent                                  | step_slot_keep()
 *        +------------------------------------------- kept, lent or not <--+
 *
 * Two holders, then: `lent` is the reader's, which takes the step back at its next call; `kept` is
 * the trainer's own, which lasts until it frees the step, in any thread, and even after the reader
 * is closed. The slot goes back when neither holds it, whichever ends last.
 *
 * It goes back with its memory, which saves faulting that in again; the pool keeps
 * STEP_POOL_FREE_MAX slots and frees the others. A pool that was closed lives on until its last
 * slot comes back.
 *
 * Invariants, behind the lock: out_n counts the slots that are not in the pool; a slot in the pool
 * has no records, and is neither lent nor kept; a closed pool with out_n 0 does not exist any more.
 *
 * Thread: a slot belongs to one thread at a time; the pool's own state is behind its lock, so that
 * step_slot_let_go() may be called from any thread.
 */
#ifndef CONSUMER_READER_STEP_SLOT_H
#define CONSUMER_READER_STEP_SLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/record/batch.h"
#include "consumer/batches/lanes.h"
#include "consumer/reader/riffle.h"
#include "consumer/reader/step_check.h"
#include "consumer/reader/step_decode.h"

enum { STEP_POOL_FREE_MAX = 4 }; /* slots that wait for their next use */

struct step_pool;

struct step_slot_lane {
	struct lanes_record_held *record; /* the slot's; NULL: freed */
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

/*
 * Gives *out, to be ended with step_pool_close(): slots of `lanes` lanes (0: their sequences are
 * added one by one) and tokens of `token_bytes`, 2, 4 or 8.
 */
enum fail_code step_pool_open(
    struct step_pool **out, uint32_t lanes, uint32_t token_bytes, struct failure *f);
/* Ends the pool, once the slots that are kept have come back. NULL is accepted. */
void step_pool_close(struct step_pool *p);

/* Gives *out, to be ended with step_pool_put() or by handing it out. FAIL_MEMORY only. */
enum fail_code step_pool_get(struct step_pool *p, struct step_slot **out, struct failure *f);
void step_pool_put(struct step_slot *slot);

/*
 * Decodes all lanes with `codec` (NULL: the decoder's own), and frees the records, also after a
 * failure. FAIL_DATA names `topic`, lane and offset.
 */
enum fail_code step_slot_decode(
    struct step_slot *slot, struct frame_codec *codec, const char *topic, struct failure *f);

/* Bytes of memory of the slot and its step. */
size_t step_slot_bytes(const struct step_slot *slot);

/* The slot is lent, until it is taken back (NULL is accepted there), and kept only while lent. */
void step_slot_hand_out(struct step_slot *slot);
void step_slot_take_back(struct step_slot *slot);
void step_slot_keep(struct step_slot *slot);

/*
 * Ends the keeping; `step` is the first member of a slot that is kept, or NULL. Does nothing in a
 * child of a fork. A step that nobody keeps stays as it is, and is logged: the caller frees it for
 * the second time, or never kept it.
 */
void step_slot_let_go(const struct riffle_step *step);

#endif
