#include "consumer/reweight/weight_bounds.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>

enum { HALVINGS = 200 };

#define SLACK 1e-9 /* floors like 1/3 need not sum to 1 to the last bit */
#define LEAST 1e-9 /* a weight of 0 takes part where the others are at their ceilings */

enum fail_code
weight_bounds_check(const double *floor, const double *ceiling, const char *const *name, size_t n,
    struct failure *f)
{
	double floors = 0, ceilings = 0;

	for (size_t i = 0; i < n; i++) {
		if (!(floor[i] >= 0 && floor[i] <= 1) || !(ceiling[i] >= 0 && ceiling[i] <= 1))
			return fail(f, FAIL_CONFIG,
			    "domain %s: floor %g and ceiling %g must be between 0 and 1", name[i],
			    floor[i], ceiling[i]);
		if (floor[i] > ceiling[i])
			return fail(f, FAIL_CONFIG, "domain %s: floor %g is above ceiling %g",
			    name[i], floor[i], ceiling[i]);
		floors += floor[i];
		ceilings += ceiling[i];
	}
	if (floors > 1 + SLACK)
		return fail(f, FAIL_CONFIG,
		    "the floors of %zu domains sum to %g: no weights that sum to 1 are above them",
		    n, floors);
	if (ceilings < 1 - SLACK)
		return fail(f, FAIL_CONFIG,
		    "the ceilings of %zu domains sum to %g: no weights that sum to 1 are below "
		    "them",
		    n, ceilings);
	return FAIL_NONE;
}

static double
bounded(double weight, double scale, double floor, double ceiling)
{
	return fmin(ceiling, fmax(floor, scale * fmax(weight, LEAST)));
}

void
weight_bounds_apply(double *weight, const double *floor, const double *ceiling, size_t n)
{
	double low = 0, high = 1 / LEAST;
	bool inside = true;

	assert(n > 0);
	for (size_t i = 0; i < n; i++)
		inside = inside && weight[i] >= floor[i] && weight[i] <= ceiling[i];
	/*
	 * The sum grows with the scale s, so that halving finds the s with the sum 1. At 1 / LEAST
	 * every weight is at its ceiling, and the ceilings sum to 1 at least.
	 */
	for (int k = 0; !inside && k < HALVINGS; k++) {
		double middle = low + (high - low) / 2, sum = 0;

		for (size_t i = 0; i < n; i++)
			sum += bounded(weight[i], middle, floor[i], ceiling[i]);
		if (sum < 1)
			low = middle;
		else
			high = middle;
	}
	for (size_t i = 0; !inside && i < n; i++)
		weight[i] = bounded(weight[i], high, floor[i], ceiling[i]);
}
