/*
 * runs_config.h -- the configuration that `riffle runs` works with: the file's, or without -c what
 * the ledger of the mix knows of it.
 *
 * A user who was given only a broker and the name of a mix can then show, reset and forget runs.
 * The ledger's last record holds mix.runs, the lanes and the lead that the mixer goes by, and the
 * broker knows the partitions of the batch topic. The rest of such a configuration is empty.
 */
#ifndef CLI_REQUEST_RUNS_CONFIG_H
#define CLI_REQUEST_RUNS_CONFIG_H

#include "cli/options.h"
#include "common/base/failure.h"
#include "common/config/config.h"

/*
 * Gives *out, to be ended with config_close(); it has a mix. `mix`: of --mix, or NULL. FAIL_CONFIG:
 * without -c the mix must have a ledger record, and it has none.
 */
enum fail_code runs_config_open(
    struct config **out, const char *mix, const struct options *o, struct failure *f);

#endif
