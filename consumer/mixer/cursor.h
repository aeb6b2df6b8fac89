/*
 * cursor.h -- where the mix stands in one domain, and which of its sequences comes next.
 *
 * A cursor walks through its domain epoch by epoch. What an epoch looks like depends on the domain:
 *
 *   ordered   The epoch has all sequences in the domain's order (order.h). This needs all lengths,
 *             so all partitions are sealed. Position p of epoch e is one fixed sequence.
 *   dealt     Epoch 0 of a live domain, whose partitions still grow. There is no permutation: the
 *             partitions take turns, one sequence each. A partition that has ended drops out; one
 *             that is open and lacks its next sequence is waited for: the domain is *dry*. So the
 *             place of a position never depends on when the lengths became known.
 *
 *                 partition 0: 0 1 2 (ended)    partition 1: 0 1 2 3 ...
 *                 dealt:  0/0 1/0  0/1 1/1  0/2 1/2  1/3 ...       partition/ordinal
 *
 * When an epoch is used up the next one begins, at most cursor_passes() of them.
 *
 * Lengths. `sequences` is what this epoch counts with, `sequences_next` what the topic holds. They
 * are equal while a live domain deals. They differ where a sealed domain was extended: the longer
 * lengths count from its next epoch on (`grows`). Crossing into that epoch sets place.extended, and
 * from then on the cursor uses `order_next`. cursor_settle() makes that permanent, at a moment when
 * no step can be undone any more. The window of the order that is at hand, and the place in the
 * dealing, are derived and follow the position wherever it goes.
 *
 * Invariants, established by cursor_open() and cursor_set_lengths():
 *   sequences_next[p] >= sequences[p]; an open partition has them equal;
 *   all_sealed: every sealed[p], and then `order` is there; grows: order_next is there, too;
 *   place.position <= cursor_length() of its epoch, but for a domain that deals.
 *
 * One step can be undone: place and taken are kept before it (cursor_keep, cursor_undo).
 * Owns its memory. No I/O, no clock. One thread.
 */
#ifndef CONSUMER_MIXER_CURSOR_H
#define CONSUMER_MIXER_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/base/names.h"
#include "common/schedule/mix_rules.h"
#include "common/schedule/order.h"
#include "consumer/mixer/exclusions.h"
#include "consumer/mixer/mixer_draw.h"
#include "consumer/mixer/mixer_plan.h"

/* All that a step changes of a cursor, but for taken[]: a value. */
struct cursor_place {
	bool extended; /* this epoch counts with sequences_next */
	uint64_t epoch, position;
	uint64_t taken;  /* sequences since step 0 */
	uint64_t tokens; /* in them, without padding */
};

/* Where a domain that deals stands in its rounds; derived. */
struct cursor_deal {
	bool known;
	uint64_t position; /* the rest is the place of this position */
	uint64_t round;    /* each partition gives its ordinal `round` in it */
	size_t partition;
};

struct cursor {
	char name[NAME_MAX_BYTES + 1];
	bool live;   /* epoch 0 is dealt */
	bool joined; /* by a request, and no plan has named it since */
	/* Rules, by cursor_set_rules(). */
	enum mix_on_end on_end;
	uint64_t max_epochs; /* 0: not set */
	bool short_ones;     /* sequences may have fewer than S + 1 tokens */

	struct order_rule rule;
	uint64_t key; /* of its permutations */
	size_t partitions_n;
	uint64_t *sequences, *sequences_next; /* [partitions_n] */
	bool *sealed;                         /* [partitions_n] */
	struct cursor_place place, kept;
	uint64_t *taken, *taken_kept; /* [partitions_n]: drawn of each in this epoch */

	/* Derived from the above. */
	bool all_sealed, grows;
	struct order *order, *order_next; /* NULL where they are not needed */
	struct order_window window;       /* holds positions of ... */
	const struct order *window_order; /* ... this order, NULL: of none, */
	uint64_t window_epoch;            /* in this epoch */
	struct cursor_deal deal;
};

/*
 * Fills *c for a domain at the start of epoch 0, ended with cursor_close(). Copies what it needs of
 * *s; `block` and `window` as in order.h. FAIL_MEMORY; *c is then closed.
 */
enum fail_code cursor_open(struct cursor *c, const struct mixer_source *s, uint64_t seed,
    uint32_t block, uint32_t window, struct failure *f);
void cursor_close(struct cursor *c);

/* An independent cursor at the same place; nothing to undo. FAIL_MEMORY; *to is then closed. */
enum fail_code cursor_copy(struct cursor *to, const struct cursor *from, struct failure *f);

/* Takes what a plan says about the end of the domain and the lengths of its sequences. */
void cursor_set_rules(struct cursor *c, const struct mixer_source *s);

/* Moves a fresh cursor to a place that a ledger has. The caller checks the place, and lengths. */
enum fail_code cursor_restore(struct cursor *c, const struct cursor_place *place,
    const uint64_t *taken, const uint64_t *sequences_next, struct failure *f);

/* Whether the cursor is in the epoch 0 of a live domain. */
bool cursor_deals(const struct cursor *c);

/* How many passes over its sequences the domain may make; UINT64_MAX: no limit. */
uint64_t cursor_passes(const struct cursor *c);

/* Sequences of the epoch that the cursor is in; while it deals: those that are there. */
uint64_t cursor_length(const struct cursor *c);

/*
 * The position of a sequence in the epoch that the cursor is in, drawn or not; false: the epoch
 * does not have it, as far as is known. Moves nothing that a draw depends on. Costs O(partitions).
 */
bool cursor_position_of(struct cursor *c, uint32_t partition, uint64_t ordinal, uint64_t *position);

enum cursor_taken {
	CURSOR_TAKEN,
	CURSOR_EXHAUSTED,    /* all passes are made, or there is not one sequence */
	CURSOR_NOTHING_LEFT, /* every sequence is excluded */
	CURSOR_DRY           /* the next sequence is not there yet */
};

/*
 * Takes the next sequence that is not excluded, beginning new epochs as needed. `domain` is the
 * cursor's index, for *draw and for `x`. CURSOR_TAKEN: *draw is the sequence. CURSOR_DRY: *draw is
 * the sequence that is missing. Else *draw is not meaningful. The caller undoes the step unless
 * CURSOR_TAKEN: excluded sequences in front of the end have been passed over.
 */
enum cursor_taken cursor_take(
    struct cursor *c, const struct exclusions *x, uint32_t domain, struct mixer_draw *draw);

/*
 * Whether nothing stands at the cursor at the moment. What is excluded stands there too: a sequence
 * that a later step of a transaction finds to be bad must not change an earlier one when the
 * transaction is replayed. Taking from a domain that has nothing else is CURSOR_DRY all the same.
 */
bool cursor_is_dry(struct cursor *c);

/*
 * What the topic holds now; mixer_set_lengths() says what becomes of it. cursor_check_lengths()
 * fails with FAIL_DATA where a partition became shorter and changes nothing; it comes first, and
 * cursor_settle() next.
 */
enum fail_code cursor_check_lengths(
    const struct cursor *c, const uint64_t *sequences, const bool *sealed, struct failure *f);
enum fail_code cursor_set_lengths(
    struct cursor *c, const uint64_t *sequences, const bool *sealed, struct failure *f);

/* Notes the place before a step; goes back to it. Nothing but cursor_take() came between. */
void cursor_keep(struct cursor *c);
void cursor_undo(struct cursor *c);

/* Makes longer lengths permanent that the cursor counts with; no undo after it. */
void cursor_settle(struct cursor *c);

#endif
