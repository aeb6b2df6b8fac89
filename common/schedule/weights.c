#include "common/schedule/weights.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "common/base/limits.h"
#include "common/schedule/power.h"

__extension__ typedef unsigned __int128 wide;

/* What a person wrote can be weights at all. */
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

/*
 * Weights within 0 to 1 in proportion: scaled by a power of two, which is exact, so that sums stay
 * within a double's range; tempered, over the largest one.
 */
static void
temper(double *share, const double *raw, size_t n, double temperature)
{
	double max = largest(raw, n), power = fmin(1 / temperature, 1e300);
	int exponent;

	frexp(max, &exponent);
	for (size_t i = 0; i < n; i++) {
		share[i] = ldexp(raw[i], -exponent);
		if (temperature != 1.0 && raw[i] / max > 0)
			share[i] = power_of(raw[i] / max, power);
	}
}

/*
 * Largest remainder: floors of the exact shares first, at least 1 for what is positive; then one
 * more for each of the largest fractions until `total` is given. The ones that were lifted to 1 can
 * make it too much: that comes from the heaviest, one by one, where it is felt least.
 */
static void
round_shares(uint64_t *out, double *share, const double *raw, size_t n, uint64_t total)
{
	double sum = 0;
	uint64_t given = 0;

	for (size_t i = 0; i < n; i++)
		sum += share[i];
	for (size_t i = 0; i < n; i++) {
		double exact = share[i] * (double)total / sum;

		out[i] = (uint64_t)exact;
		share[i] = exact - (double)out[i];
		if (out[i] == 0 && raw[i] > 0) {
			out[i] = 1;
			share[i] = 0;
		}
		given += out[i];
	}
	for (; given < total; given++) {
		size_t i = index_of_largest(share, n);

		out[i]++;
		share[i] = -1;
	}
	for (; given > total; given--)
		out[index_of_heaviest(out, n)]--;
}

enum fail_code
weights_count(uint64_t *out, const double *raw, const char *const *name, size_t n,
    double temperature, uint64_t total, struct failure *f)
{
	double share[LIMIT_DOMAINS];
	size_t positive = 0;

	assert(n >= 1 && n <= LIMIT_DOMAINS);
	if (check(raw, name, n, temperature, f) != FAIL_NONE)
		return f->code;
	for (size_t i = 0; i < n; i++)
		positive += raw[i] > 0;
	if (positive > total)
		return fail(f, FAIL_CONFIG,
		    "%llu draws a round are too few: %zu domains have a weight, and each is drawn "
		    "at "
		    "least once",
		    (unsigned long long)total, positive);
	temper(share, raw, n, temperature);
	round_shares(out, share, raw, n, total);
	return FAIL_NONE;
}

enum fail_code
weights_quantise(uint64_t *out, const double *raw, const char *const *name, size_t n,
    double temperature, struct failure *f)
{
	return weights_count(out, raw, name, n, temperature, WEIGHT_ONE, f);
}

double
weights_double(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

uint64_t
weights_bits(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

/*
 * The sum of NumPy's arrays of doubles (pairwise_sum of its loops_utils.h.src): below 8 items one
 * by one, up to 128 in eight running sums, above by halves that are multiples of 8. The order of
 * the additions decides the last bits, and they decide ties of the greedy rule.
 */
static double
pairwise_sum(const double *value, size_t n)
{
	double part[8], sum = 0;
	size_t i;

	if (n < 8) {
		for (i = 0; i < n; i++)
			sum += value[i];
		return sum;
	}
	if (n > 128) {
		size_t half = n / 2 - n / 2 % 8;

		return pairwise_sum(value, half) + pairwise_sum(value + half, n - half);
	}
	memcpy(part, value, sizeof(part));
	for (i = 8; i < n - n % 8; i++)
		part[i % 8] += value[i];
	sum = ((part[0] + part[1]) + (part[2] + part[3])) +
	      ((part[4] + part[5]) + (part[6] + part[7]));
	for (; i < n; i++)
		sum += value[i];
	return sum;
}

enum fail_code
weights_share(uint64_t *out, const double *raw, const char *const *name, size_t n,
    double temperature, struct failure *f)
{
	double share[LIMIT_DOMAINS], sum;

	assert(n >= 1 && n <= LIMIT_DOMAINS);
	if (check(raw, name, n, temperature, f) != FAIL_NONE)
		return f->code;
	memcpy(share, raw, n * sizeof(*raw));
	sum = pairwise_sum(share, n);
	if (temperature != 1.0 || !isfinite(sum)) {
		temper(share, raw, n, temperature);
		sum = pairwise_sum(share, n);
	}
	if (temperature == 1.0 && fabs(sum - 1) <= WEIGHTS_SUM_SLACK)
		sum = 1;
	for (size_t i = 0; i < n; i++)
		out[i] = weights_bits(share[i] / sum);
	return FAIL_NONE;
}

void
weights_apportion(uint64_t *shares, uint64_t total, const uint64_t *weight, size_t n)
{
	uint64_t left = total;
	wide sum = 0, rest[LIMIT_DOMAINS];

	assert(n >= 1 && n <= LIMIT_DOMAINS);
	for (size_t i = 0; i < n; i++)
		sum += weight[i];
	assert(sum > 0); /* else nobody could get the total */
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
