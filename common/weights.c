#include "common/weights.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

__extension__ typedef unsigned __int128 wide;

static enum fail_code
check(const double *raw, const char *const *name, size_t n, double temperature, struct failure *f)
{
	bool positive = false;

	if (!(temperature > 0) || !isfinite(temperature))
		return fail(
		    f, FAIL_CONFIG, "temperature must be a positive number, not %g", temperature);
	for (size_t i = 0; i < n; i++) {
		if (!(raw[i] >= 0) || !isfinite(raw[i]))
			return fail(f, FAIL_CONFIG,
			    "the weight of domain %s must be a finite number of at least 0, not %g",
			    name[i], raw[i]);
		positive = positive || raw[i] > 0;
	}
	if (!positive)
		return fail(f, FAIL_CONFIG, "all weights are zero: at least one must be positive");
	return FAIL_NONE;
}

/* Largest raw weight first: dividing by it keeps pow() and the sum within a double's range. */
static double
largest(const double *raw, size_t n)
{
	double max = 0;

	for (size_t i = 0; i < n; i++)
		max = raw[i] > max ? raw[i] : max;
	return max;
}

static size_t
index_of_largest(const double *fraction, size_t n)
{
	size_t best = 0;

	for (size_t i = 1; i < n; i++)
		if (fraction[i] > fraction[best])
			best = i;
	return best;
}

static size_t
index_of_heaviest(const uint64_t *weight, size_t n)
{
	size_t best = 0;

	for (size_t i = 1; i < n; i++)
		if (weight[i] > weight[best])
			best = i;
	return best;
}

enum fail_code
weights_quantise(uint64_t *out, const double *raw, const char *const *name, size_t n,
    double temperature, struct failure *f)
{
	double share[WEIGHTS_MAX], sum = 0, max = largest(raw, n);
	uint64_t total = 0;

	assert(n >= 1 && n <= WEIGHTS_MAX);
	if (check(raw, name, n, temperature, f) != FAIL_NONE)
		return f->code;
	for (size_t i = 0; i < n; i++) {
		share[i] = raw[i] / max;
		if (temperature != 1.0 && share[i] > 0)
			share[i] = pow(share[i], 1 / temperature);
		sum += share[i];
	}
	for (size_t i = 0; i < n; i++) {
		double exact = share[i] / sum * (double)WEIGHT_ONE;

		out[i] = (uint64_t)exact;
		share[i] = exact - (double)out[i];
		if (out[i] == 0 && raw[i] > 0) {
			out[i] = 1;
			share[i] = 0;
		}
		total += out[i];
	}
	for (; total < WEIGHT_ONE; total++) {
		size_t i = index_of_largest(share, n);

		out[i]++;
		share[i] = -1;
	}
	for (; total > WEIGHT_ONE; total--)
		out[index_of_heaviest(out, n)]--;
	return FAIL_NONE;
}

void
weights_apportion(uint64_t *shares, uint64_t total, const uint64_t *weight, size_t n)
{
	uint64_t left = total;
	wide sum = 0, rest[WEIGHTS_MAX];

	assert(n >= 1 && n <= WEIGHTS_MAX);
	for (size_t i = 0; i < n; i++)
		sum += weight[i];
	assert(sum > 0);
	for (size_t i = 0; i < n; i++) {
		wide product = (wide)total * weight[i];

		shares[i] = (uint64_t)(product / sum);
		rest[i] = product % sum;
		left -= shares[i];
	}
	for (; left > 0; left--) {
		size_t best = 0;

		for (size_t i = 1; i < n; i++)
			if (rest[i] > rest[best])
				best = i;
		shares[best]++;
		rest[best] = 0;
	}
}
