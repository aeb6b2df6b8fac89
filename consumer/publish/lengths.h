/*
 * lengths.h -- how long domains are, from what the broker shows to what the mixer counts with.
 *
 * The mixer decides by lengths: which position of an epoch comes next, whether a live domain is
 * dry. A replay must decide the same, and knows no lengths but those in ledger records. So lengths
 * are a snapshot for each transaction:
 *
 *     transaction t         commit          transaction t + 1
 *     steps by lengths L_t  ledger has L_t  asks, L_t+1 -> mixer; steps by lengths L_t+1; commit
 *
 * They change only while no transaction is open, and the record that ends a transaction has the
 * lengths that all its steps were drawn with. If they changed in the middle, a step before the
 * change and one behind it would be under one record with one set of lengths.
 *
 * Live domains are asked about at the beginning of a transaction (at most every 20 ms), all others
 * every five seconds: those only grow by `produce --append`, for their next epoch.
 *
 * Thread: one.
 */
#ifndef CONSUMER_PUBLISH_LENGTHS_H
#define CONSUMER_PUBLISH_LENGTHS_H

#include <librdkafka/rdkafka.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "consumer/derive/assembler.h"
#include "consumer/domain/domains.h"

/* When the broker was last asked; a zeroed one: never. */
struct lengths {
	int64_t all_ms, live_ms;
};

/*
 * Gives all lengths that are known to a mixer that was just resumed. FAIL_CONFIG: partitions were
 * added to a topic. FAIL_DATA: a partition became shorter.
 */
enum fail_code lengths_set(struct domains *d, struct mixer *m, struct failure *f);

/*
 * Asks the broker when it is time, and gives what has changed to the assembler's mixer. Only while
 * no transaction is open. Fails as lengths_set() and domains_ask() do.
 */
enum fail_code lengths_ask(struct lengths *l, struct domains *d, rd_kafka_t *reader,
    struct assembler *a, struct failure *f);

#endif
