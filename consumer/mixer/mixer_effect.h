/*
 * mixer_effect.h -- what an accepted change does, in numbers: shares, ends of epochs, rounds, what
 * a skip keeps out.
 *
 * mixer_effect_open() compares three mixers, which mixer_request() has made: `now`, as the mixer
 * stands, `before`, with all in force that precedes the change, and `after`, with the change as
 * well. Shares are exact. Steps in the future are estimates from the shares: they ignore excluded
 * sequences, changes behind this one, and the lengths of padded sequences. Of what comes into force
 * between the present step and the change, mixer_request() notes each stretch in a course.
 *
 * Example. B is 100 sequences a step; the mix stands at step 1000, and the change takes effect at
 * step 1100. Domain web has a share of 20% before it and 50% after it, and its epoch has 4000
 * sequences left. Until step 1100 it is drawn 100 * 20 = 2000 times. The other 2000 take 2000/50 =
 * 40 steps, so that the epoch ends about step 1140. Without the change: 1000 + 4000/20 = 1200.
 *
 * The text of an answer is made of it (mixer_answer.c), and the fields of `riffle weights --dry-run
 * --json`. It decides nothing. Doubles: estimates.
 */
#ifndef CONSUMER_MIXER_MIXER_EFFECT_H
#define CONSUMER_MIXER_MIXER_EFFECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/base/names.h"
#include "common/record/ledger.h"

#define MIXER_EFFECT_NEVER 1e18 /* a step beyond any run: the domain is not drawn any more */

struct mixer;

/* How many sequences of a step each domain supplies, from one step to the next that is here. */
struct mixer_effect_course {
	double *step; /* [n], increasing */
	double *rate; /* [n][domains_n] */
	size_t n, room, domains_n;
};

/* From `step` on the domains supply what `m` says, in place of what was noted of that step. */
enum fail_code mixer_effect_note(
    struct mixer_effect_course *c, const struct mixer *m, uint64_t step, struct failure *f);

/* Frees what *c owns and zeroes it; a zeroed one is empty. */
void mixer_effect_forget(struct mixer_effect_course *c);

/* About which step something comes, with the change and without it; MIXER_EFFECT_NEVER. */
struct mixer_effect_step {
	double with, without;
};

struct mixer_effect_domain {
	char name[NAME_MAX_BYTES + 1];
	double share, share_before;         /* of the draws (or tokens) */
	bool live;                          /* no end is known: the next fields are 0 */
	uint64_t epoch;                     /* the present one, */
	struct mixer_effect_step epoch_end; /* and its end */
	bool limited;                       /* its epochs are limited, */
	bool ends_mix;                      /* and the last one ends the mix; else it is dropped */
	struct mixer_effect_step last_end;
};

struct mixer_effect {
	int64_t step;    /* the first that the change governs */
	int64_t clamped; /* the step that the request named and that is drawn already; else -1 */

	/* Of a skip and its undo: the domain has `sequences`, of which `excluded` are out then. */
	bool skip;
	uint64_t excluded, sequences;
	/* The domain is live and has so many in that partition, fewer than the range; else -1. */
	int64_t published;
	bool undo;                   /* an undo: */
	uint64_t drawn, quarantined; /* of its range so many are drawn again, and stay out */

	/* Of all other changes. */
	double temperature, temperature_before, lr_scale, lr_scale_before;
	uint32_t global_batch, global_batch_before;
	struct mixer_effect_domain *domain; /* [domains_n]: those with a share, before or after */
	size_t domains_n;
	bool rounds;           /* draws go in rounds: the change comes in `round`, */
	uint64_t round, dealt; /* of which so many draws are dealt by the new weights; 0: all */
	char phase[NAME_MAX_BYTES + 1]; /* the next one that replaces these weights; else "" */
	uint64_t phase_step;
	uint32_t phase_batch; /* its global_batch */
};

/*
 * Fills *e, to be ended with mixer_effect_clear(); FAIL_MEMORY: *e is empty. Borrows all. `course`
 * begins with the present step and ends with what is in force before the change.
 */
enum fail_code mixer_effect_open(struct mixer_effect *e, const struct mixer *now,
    const struct mixer *before, const struct mixer *after, const struct mixer_effect_course *course,
    const struct ledger_change *c, int64_t asked_step, struct failure *f);

/* Frees what *e owns and zeroes it; a zeroed one is empty. */
void mixer_effect_clear(struct mixer_effect *e);

#endif
