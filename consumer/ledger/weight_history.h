/*
 * weight_history.h -- the versions of a mix's weights, newest first, out of its ledger.
 *
 * Walks back from version to version by the step that each began at, so that it costs a few reads a
 * version, however long the ledger is.
 *
 * A record holds the state after a transaction of many steps. A version that began and ended inside
 * one transaction is in no record: it is derived, by a mixer that repeats the steps of that
 * transaction from the record before it. Example, newest first:
 *
 *     record       step_next   version   began at
 *     offset 90    400         7         350
 *     offset 88    300         4         210       versions 5 and 6 began between step 300 and 350
 *
 *     read         7 (the last record) -> 4 is the last below 7 -> two are missing
 *     derived      a mixer resumed from offset 88 takes steps 300, 301, ... until version 7 begins;
 *                  each version that it passes through goes in front of the ones derived before it
 *     result       7 6 5 4 ...
 *
 * The beginning of a ledger can have been deleted: then the history ends where the ledger does.
 *
 * Thread: the caller's.
 */
#ifndef CONSUMER_LEDGER_WEIGHT_HISTORY_H
#define CONSUMER_LEDGER_WEIGHT_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/config/properties.h"
#include "common/record/ledger.h"
#include "consumer/ledger/ledger_log.h"

enum { WEIGHT_HISTORY_MAX = 1000 };

struct weight_history_domain {
	char *name;
	double weight; /* as written, 0 where the domain is not drawn from */
	double share;
};

struct weight_history_version {
	int64_t version, step;
	enum ledger_reason reason;
	char *reason_id, *phase;
	double temperature, lr_scale;
	uint32_t global_batch; /* 0, in records of before it could change: the configuration's */
	struct weight_history_domain *domain;
	size_t domains_n;
};

struct weight_history {
	struct weight_history_version *version; /* newest first */
	size_t n;
};

/*
 * Fills a zeroed *out, to be ended with weight_history_close(), also after a failure, with the
 * newest versions, at most 1 <= `most` <= WEIGHT_HISTORY_MAX, from that of `last`, the ledger's
 * last record.
 */
enum fail_code weight_history_read(struct weight_history *out, const char *mix,
    const struct properties *properties, const struct ledger *last, size_t most, struct failure *f);

/* The same by a log that is open, for looks. */
enum fail_code weight_history_read_log(struct weight_history *out, struct ledger_log *log,
    const struct ledger *last, size_t most, struct failure *f);
void weight_history_close(struct weight_history *h);

/* The share, 0 to 1, of domain i of a record under the weights in force. */
double weight_history_share(const struct ledger *l, size_t i);

/*
 * How many draws domain i of a record is behind what the weights of all versions so far give it;
 * below 0: ahead. Deficit carries it over each change of weights; greedy restarts it there, and in
 * rounds a change inside a round does. `unit`: sequences are 1, tokens those of a sequence. Not of
 * the schedule random, which has no such figure.
 */
double weight_history_behind(const struct ledger *l, size_t i, uint64_t unit);

/* The same for all domains of a record: what is the same for each is summed up once. */
struct weight_history_scale {
	bool greedy;    /* the weights are doubles */
	double sum;     /* of the weights */
	uint64_t round; /* of those of a round */
};

void weight_history_scale(struct weight_history_scale *out, const struct ledger *l);
double weight_history_scaled_share(
    const struct weight_history_scale *s, const struct ledger *l, size_t i);
double weight_history_scaled_behind(
    const struct weight_history_scale *s, const struct ledger *l, size_t i, uint64_t unit);

#endif
