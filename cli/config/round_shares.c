#include "cli/config/round_shares.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/base/limits.h"
#include "common/base/log.h"
#include "common/schedule/weights.h"

enum { TEXT_BYTES = 600, LISTED_MAX = 8, PART = 10 /* a share may be off by 1 / PART of it */ };

/* Fills wanted[] and got[], of 1; false: nothing is known, or the weights are refused elsewhere. */
static bool
find_shares(double *wanted, double *got, const struct config *c, const struct config_phase *phase)
{
	double raw[LIMIT_DOMAINS], temperature = c->mix.temperature;
	const char *name[LIMIT_DOMAINS];
	uint64_t exact[LIMIT_DOMAINS], draws[LIMIT_DOMAINS];
	struct failure ignored;

	if (phase != NULL && phase->temperature > 0)
		temperature = phase->temperature;
	for (size_t d = 0; d < c->domains_n; d++) {
		raw[d] =
		    phase == NULL || isnan(phase->weight[d]) ? c->mix.weight[d] : phase->weight[d];
		name[d] = c->domains[d].name;
		if (isnan(raw[d])) /* by size */
			return false;
	}
	if (weights_quantise(exact, raw, name, c->domains_n, temperature, &ignored) != FAIL_NONE ||
	    weights_count(draws, raw, name, c->domains_n, temperature, c->mix.epoch_size,
		&ignored) != FAIL_NONE)
		return false;
	for (size_t d = 0; d < c->domains_n; d++) {
		wanted[d] = (double)exact[d] / (double)WEIGHT_ONE;
		got[d] = (double)draws[d] / (double)c->mix.epoch_size;
	}
	return true;
}

bool
round_shares_differ(
    char *out, size_t out_bytes, const struct config *c, const struct config_phase *phase)
{
	double wanted[LIMIT_DOMAINS], got[LIMIT_DOMAINS], least = 1;
	size_t listed = 0, n;

	if (c->mix.epoch_size == 0 || !find_shares(wanted, got, c, phase))
		return false;
	n = (size_t)snprintf(out, out_bytes,
	    "a round of %" PRIu64 " draws gives other shares than the weights%s%s",
	    c->mix.epoch_size, phase == NULL ? "" : " of phase ", phase == NULL ? "" : phase->name);
	for (size_t d = 0; d < c->domains_n; d++) {
		if (wanted[d] > 0 && wanted[d] < least)
			least = wanted[d];
		if (fabs(got[d] - wanted[d]) * PART <= wanted[d])
			continue;
		if (++listed <= LISTED_MAX && n < out_bytes)
			n += (size_t)snprintf(out + n, out_bytes - n, "%s %s %.3g %% (not %.3g %%)",
			    listed == 1 ? ":" : ",", c->domains[d].name, 100 * got[d],
			    100 * wanted[d]);
	}
	if (listed > LISTED_MAX && n < out_bytes)
		n += (size_t)snprintf(out + n, out_bytes - n, " and %zu more", listed - LISTED_MAX);
	if (listed > 0 && n < out_bytes)
		snprintf(out + n, out_bytes - n, "; from %.0f draws on, none is off by a tenth",
		    ceil(PART / least));
	return listed > 0;
}

void
round_shares_warn(const struct config *c)
{
	char text[TEXT_BYTES];

	for (size_t i = 0; c->mix.name != NULL && i <= c->mix.phases_n; i++)
		if (round_shares_differ(
			text, sizeof(text), c, i == 0 ? NULL : &c->mix.phases[i - 1]))
			log_warning("config: CONFIG-ROUND-SHARES mix.epoch_size: %s", text);
}
