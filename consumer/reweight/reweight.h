/*
 * reweight.h -- a learner of domain weights: DoReMi or ODM behind one interface, with floors and
 * ceilings.
 *
 *     reweight_init  { reweight_step }  reweight_weights, reweight_result
 *
 *     losses of a step --> doremi_step() or odm_step() --> weights --> weight_bounds_apply()
 *                              ^          |
 *                              +----------+ what was learned, never with the bounds applied
 *
 * The bounds apply to what comes out, not to what is learned: a domain at its ceiling leaves it as
 * soon as its losses say so, and another ceiling needs no new start.
 *
 * Files of this room:
 *     reweight      the learner: a method and its bounds
 *     doremi        weights by DoReMi
 *     odm           weights by online data mixing
 *     weight_bounds weights pushed inside floors and ceilings
 *
 * What it has learned is a value that can be saved and set (cli/reweight keeps it in a file), so
 * that a learner that was stopped resumes with the same bits.
 *
 * Pure. Thread: one.
 */
#ifndef CONSUMER_REWEIGHT_REWEIGHT_H
#define CONSUMER_REWEIGHT_REWEIGHT_H

#include <stdbool.h>
#include <stddef.h>

#include "consumer/reweight/doremi.h"
#include "consumer/reweight/odm.h"

enum reweight_method { REWEIGHT_DOREMI, REWEIGHT_ODM };

#define REWEIGHT_SMOOTHING 1e-3 /* of DoReMi; its paper's value */
#define REWEIGHT_MEMORY    0.9  /* of ODM */

struct reweight_options {
	enum reweight_method method;
	size_t domains_n;
	const double *start; /* DoReMi: the reference's weights; NULL: uniform */
	double eta;          /* DoReMi: step size. ODM: what the losses are multiplied by */
	double smoothing;    /* DoReMi */
	double memory;       /* ODM */
	const double *floor; /* [domains_n] within what weight_bounds_check() passes */
	const double *ceiling;
};

struct reweight {
	enum reweight_method method;
	size_t n;
	union {
		struct doremi doremi;
		struct odm odm;
	} of;
	bool excess_seen; /* some report had one */
	double floor[LOSSES_DOMAINS_MAX], ceiling[LOSSES_DOMAINS_MAX];
};

/* Copies what `o` points to. */
void reweight_init(struct reweight *r, const struct reweight_options *o);
/* One step; the domains of step->sum are those of the options, in their order. */
void reweight_step(struct reweight *r, const struct losses_step *step);

uint64_t reweight_steps(const struct reweight *r);

/* The weights after the last step, inside their bounds; out [r->n] sums to 1. */
void reweight_weights(const struct reweight *r, double *out);

/* The result so far: DoReMi's average over the steps, ODM's last weights; likewise. */
void reweight_result(const struct reweight *r, double *out);

/* "doremi", "odm", NULL. */
extern const char *const reweight_method_name[];

#endif
