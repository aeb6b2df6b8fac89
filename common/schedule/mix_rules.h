/*
 * mix_rules.h -- the choices that a mix's owner makes, by name: what happens at a domain's end,
 * when a live domain is dry, what weights count, which draw goes to which lane, in which order the
 * sequences of a domain come, whether steps are published as copies.
 *
 * One enumeration a choice, from the configuration to the mixer and back out of the ledger, whose
 * text has the names below. (Which rule draws is enum schedule_kind of schedule.h.)
 *
 * Names are as the configuration's keys and the ledger's text have them: an entry a constant, in
 * order, then NULL. Both formats last longer than a program: a constant is only ever added at the
 * end.
 */
#ifndef COMMON_SCHEDULE_MIX_RULES_H
#define COMMON_SCHEDULE_MIX_RULES_H

enum mix_on_end {
	MIX_END_REPEAT, /* the next epoch starts */
	MIX_END_STOP,   /* the mix ends */
	MIX_END_DROP,   /* the others get the domain's weight */
};

enum mix_on_dry {     /* a live domain that has nothing at the moment */
	MIX_DRY_WAIT, /* the mix waits for it */
	MIX_DRY_LEND, /* others are drawn in its place, and it is paid back later */
};

enum mix_unit { MIX_BY_SEQUENCES, MIX_BY_TOKENS }; /* that weights are shares of */

enum mix_lane_order {
	MIX_LANES_CONTIGUOUS, /* draw k of a step goes to lane k * L / B */
	MIX_LANES_STRIDED,    /* to lane k mod L */
};

enum mix_shuffle {         /* order.h */
	MIX_SHUFFLE_BLOCK, /* blocks are permuted, and the sequences of a window of them */
	MIX_SHUFFLE_FULL,  /* all sequences are permuted */
	MIX_SHUFFLE_NONE,  /* as they stand */
};

enum mix_batches {
	MIX_BATCHES_COPIED,  /* the mixer publishes each step's sequences */
	MIX_BATCHES_DERIVED, /* its decisions alone; readers take the sequences from the domains */
};

extern const char *const mix_on_end_names[];
extern const char *const mix_on_dry_names[];
extern const char *const mix_unit_names[];
extern const char *const mix_lane_order_names[];
extern const char *const mix_shuffle_names[];
extern const char *const mix_batches_names[];

#endif
