/*
 * round_shares.h -- warns if rounds are too short for the weights.
 *
 * A round of mix.epoch_size draws holds whole draws, and at least one of each domain with a weight.
 * So 5 draws by the weights 0.99 and 0.01 are 4 and 1, which is 80 % and 20 %:
 *
 *     warning config: CONFIG-ROUND-SHARES mix.epoch_size: a round of 5 draws gives other
 *     shares than the weights: a 80 % (not 99 %), b 20 % (not 1 %); from 1000 draws on, none is
 *     off by a tenth
 */
#ifndef CLI_CONFIG_ROUND_SHARES_H
#define CLI_CONFIG_ROUND_SHARES_H

#include "common/config/config.h"

/*
 * Gives the sentence after "mix.epoch_size: " (free) for the weights of a phase, or (NULL) of the
 * mix. NULL: every share is less than a tenth off, or not known without the domains' sizes.
 */
char *round_shares_compare(const struct config *c, const struct config_phase *phase);

/* Warns of the mix's weights and of each phase's. */
void round_shares_warn(const struct config *c);

#endif
