#include "cli/config/round_shares.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "common/base/limits.h"
#include "common/base/log.h"
#include "common/base/text.h"
#include "common/schedule/weights.h"

enum { LISTED_MAX = 8, PART = 10 /* a share may be off by 1 / PART of it */ };

char *
round_shares_compare(const struct config *c, const struct config_phase *phase)
{
	double raw[LIMIT_DOMAINS], temperature = c->mix.temperature, least = 1;
	const char *name[LIMIT_DOMAINS];
	uint64_t exact[LIMIT_DOMAINS], draws[LIMIT_DOMAINS], round = c->mix.epoch_size;
	struct text t = {0};
	struct failure ignored;
	size_t off = 0;

	if (phase != NULL && phase->temperature > 0)
		temperature = phase->temperature;
	for (size_t d = 0; d < c->domains_n; d++) {
		raw[d] =
		    phase == NULL || isnan(phase->weight[d]) ? c->mix.weight[d] : phase->weight[d];
		name[d] = c->domains[d].name;
		if (isnan(raw[d])) /* by size */
			return NULL;
	}
	/* Weights that are refused are refused elsewhere. */
	if (round == 0 ||
	    weights_quantise(exact, raw, name, c->domains_n, temperature, &ignored) != FAIL_NONE ||
	    weights_count(draws, raw, name, c->domains_n, temperature, round, &ignored) !=
		FAIL_NONE)
		return NULL;
	text_add(&t, "a round of %" PRIu64 " draws gives other shares than the weights%s%s", round,
	    phase == NULL ? "" : " of phase ", phase == NULL ? "" : phase->name);
	for (size_t d = 0; d < c->domains_n; d++) {
		double wanted = (double)exact[d] / (double)WEIGHT_ONE;
		double got = (double)draws[d] / (double)round;

		if (wanted > 0 && wanted < least)
			least = wanted;
		if (fabs(got - wanted) * PART > wanted && off++ < LISTED_MAX)
			text_add(&t, "%s %s %.3g %% (not %.3g %%)", off == 1 ? ":" : ",", name[d],
			    100 * got, 100 * wanted);
	}
	if (off > LISTED_MAX)
		text_add(&t, " and %zu more", off - LISTED_MAX);
	text_add(&t, "; from %.0f draws on, none is off by a tenth", ceil(PART / least));
	if (off == 0)
		text_clear(&t);
	return off == 0 ? NULL : text_take(&t);
}

void
round_shares_warn(const struct config *c)
{
	for (size_t i = 0; c->mix.name != NULL && i <= c->mix.phases_n; i++) {
		char *text = round_shares_compare(c, i == 0 ? NULL : &c->mix.phases[i - 1]);

		if (text != NULL)
			log_warning("config: CONFIG-ROUND-SHARES mix.epoch_size: %s", text);
		free(text);
	}
}
