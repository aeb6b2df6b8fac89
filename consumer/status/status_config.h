/* status_config.h -- whether a mixer would take the configuration for the mix in the ledger. */
#ifndef CONSUMER_STATUS_STATUS_CONFIG_H
#define CONSUMER_STATUS_STATUS_CONFIG_H

#include "common/base/failure.h"
#include "consumer/status/status.h"

/*
 * Compares the configuration with that of the ledger's last record, as `riffle mix` does when it
 * starts. FAIL_CONFIG or FAIL_DATA: why that would refuse it. Says nothing while a domain has no
 * topic: then the mixer asks for that first.
 */
enum fail_code status_compare_config(const struct status *st, struct failure *f);

#endif
