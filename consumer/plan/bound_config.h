/*
 * bound_config.h -- the part of a configuration that a mix is bound to, as canonical text.
 *
 * JSON with sorted keys and no spaces, so that equal configurations have equal bytes:
 *
 *     {"changeable":{"domains":{"web":{"weight":3.0,"on_end":"repeat",...}},...},
 *      "fixed":{"corpus":"c","seed":"7","lanes":4,...}}
 *
 * "fixed" decides the order of the data and never changes in a mix's life; its XXH64 is the
 * schedule hash in every record. "changeable" (weights, temperature, phases, domains and what
 * happens at their ends, lead, runs) may change, as a new version, with --accept-config. The text
 * goes into the ledger. A later start compares its own with it, and ledger_plan.h makes a plan of
 * it. The name of the mix is in neither part: two mixes of one seed are alike but for their names.
 *
 * A key that came later stands in the text only where it is not at its default, so that texts of
 * before keep their bytes: `batches`, `partitions`, `shuffle`, and a domain's `shuffle` where it is
 * not the mix's. If one is missing, a comparison reports its default. A domain's `shuffle` is
 * changeable in the text, for domains may come; mixer_replan() refuses it for one that has drawn.
 *
 * Numbers that need 64 bits are strings, because JSON's numbers are doubles to many readers.
 *
 * Weights `size` are the domains' parts of all sequences at the first start. The text has them as
 * numbers, and that they were made so: a later start keeps them although domains have grown.
 *
 * Thread: any. No I/O.
 */
#ifndef CONSUMER_PLAN_BOUND_CONFIG_H
#define CONSUMER_PLAN_BOUND_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/config/config.h"
#include "consumer/plan/config_plan.h"

/*
 * Gives *out (free). `p` is the plan made of `c`; `tokenizer` is the fingerprint of all domains.
 * FAIL_MEMORY only.
 */
enum fail_code bound_config_text(char **out, const struct config *c, const struct config_plan *p,
    uint64_t tokenizer, struct failure *f);

/*
 * Where both the configuration and the ledger's text have weights by `size`: the plan's weights
 * become the text's, of domains that it has. FAIL_DATA: not such a text.
 */
enum fail_code bound_config_keep_sizes(
    struct config_plan *p, const struct config *c, const char *text, struct failure *f);

/* Gives *out (free), the corpus of the mix. FAIL_DATA: not such a text. */
enum fail_code bound_config_corpus(char **out, const char *text, struct failure *f);

/* Hash of the "fixed" part of a text. FAIL_DATA: not such a text. */
enum fail_code bound_config_schedule(uint64_t *out, const char *text, struct failure *f);

/*
 * Compares the ledger's text with the present one. *changed: "changeable" differs. FAIL_CONFIG
 * lists what differs, as "mix.seed: 1 in the ledger, 2 in the file": in "fixed" always, in
 * "changeable" unless `accept`. FAIL_DATA: one is not such a text.
 */
enum fail_code bound_config_compare(
    const char *ledger, const char *present, bool accept, bool *changed, struct failure *f);

#endif
