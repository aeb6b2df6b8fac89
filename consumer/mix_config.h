/*
 * mix_config.h -- the part of a configuration that a mix is bound to, as canonical text.
 *
 * JSON with sorted keys and no spaces: {"changeable":{...},"fixed":{...}}. "fixed" decides the
 * order of the data and never changes in a mix's life; its XXH64 is the schedule hash in every
 * record. "changeable" (weights, temperature, domains, on_end, lead, runs) may change, as a new
 * version, with --accept-config. The text goes into the ledger; a later start compares itself with
 * it.
 */
#ifndef CONSUMER_MIX_CONFIG_H
#define CONSUMER_MIX_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "common/config.h"
#include "common/failure.h"

/* Gives *out (free). `tokenizer` is the fingerprint of all domains. */
enum fail_code mix_config_text(
    char **out, const struct config *c, uint64_t tokenizer, struct failure *f);

/* Hash of the "fixed" part of a text. FAIL_DATA: not such a text. */
enum fail_code mix_config_schedule(uint64_t *out, const char *text, struct failure *f);

/*
 * Compares the ledger's text with the present one. *changed: "changeable" differs. FAIL_CONFIG
 * lists what differs, as "mix.seed: 1 in the ledger, 2 in the file": in "fixed" always, in
 * "changeable" unless `accept`.
 */
enum fail_code mix_config_compare(
    const char *ledger, const char *present, bool accept, bool *changed, struct failure *f);

#endif
