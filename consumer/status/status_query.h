/*
 * status_query.h -- reads a status from the broker.
 *
 * A query holds the handles and may be read many times (`riffle status --watch`): it then keeps
 * what cannot change, the last records of partitions whose ends have not moved, and reads the rest.
 *
 *     status_query_open   status_query_read ...   status_query_close
 *
 * Thread: one.
 */
#ifndef CONSUMER_STATUS_STATUS_QUERY_H
#define CONSUMER_STATUS_STATUS_QUERY_H

#include "common/base/failure.h"
#include "common/config/config.h"
#include "consumer/status/status.h"

struct status_query;

/* Gives *out, to be ended with status_query_close(). FAIL_BROKER: no broker answers. Keeps `c`. */
enum fail_code status_query_open(
    struct status_query **out, const struct config *c, struct failure *f);
void status_query_close(struct status_query *q); /* NULL is accepted */

/*
 * How old parts of a status may be, in milliseconds; 0: none, as without this call. For who reads
 * a status every second: the ledger and the runs are read each time, and what changes slowly, or
 * costs a request for each topic, is taken from the last read while it is no older than that.
 */
struct status_query_pace {
	int64_t topics_ms;  /* the topics and their settings */
	int64_t domains_ms; /* the ends of domains */
	int64_t losses_ms, mixers_ms;
};

void status_query_set_pace(struct status_query *q, const struct status_query_pace *pace);

/* Gives *out, to be ended with status_free(), complete with what status_derive() makes. */
enum fail_code status_query_read(struct status_query *q, struct status **out, struct failure *f);

/* The same for topics, ledger and domains alone: nothing is derived, and no group is asked. */
enum fail_code status_query_lengths(struct status_query *q, struct status **out, struct failure *f);

/* The same for ledger and runs alone, with what status_derive_runs() makes. There is a mix. */
enum fail_code status_query_runs(struct status_query *q, struct status **out, struct failure *f);

#endif
