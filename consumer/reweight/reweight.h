/*
 * reweight.h -- a learner of domain weights: DoReMi or ODM behind one face, with bounds.
 *
 *     reweight_init  { reweight_step }  reweight_weights, reweight_result
 *
 * What it has learned is a value that can be saved and set again (cli/reweight/reweight_state.h), so that a
 * learner that was stopped goes on with the same bits.
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

void reweight_init(struct reweight *r, const struct reweight_options *o);
void reweight_step(struct reweight *r, const struct losses_step *step);

uint64_t reweight_steps(const struct reweight *r);

/* The weights after the last step, inside their bounds; out [r->n] sums to 1. */
void reweight_weights(const struct reweight *r, double *out);

/* The result so far: DoReMi's average over the steps, ODM's last weights; likewise. */
void reweight_result(const struct reweight *r, double *out);

/* "doremi", "odm", NULL. */
extern const char *const reweight_method_name[];

#endif
