/*
 * weight_history.h -- the versions of a mix's weights, newest first, out of its ledger.
 *
 * Walks back from version to version by the step that each began at, so that it costs a few reads a
 * version, however long the ledger is. A version that began and ended inside one transaction stands
 * in no record of its own: a mixer that takes the steps of that transaction again, from the record
 * before it, tells it.
 */
#ifndef CONSUMER_LEDGER_WEIGHT_HISTORY_H
#define CONSUMER_LEDGER_WEIGHT_HISTORY_H

#include <stddef.h>

#include "common/base/failure.h"
#include "common/config/properties.h"
#include "common/record/ledger.h"

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
	struct weight_history_domain *domain;
	size_t domains_n;
};

struct weight_history {
	struct weight_history_version *version; /* newest first */
	size_t n;
};

/*
 * Fills a zeroed *out, to be ended with weight_history_close(), with at most `most` versions up to
 * the one of `last`, the ledger's last record.
 */
enum fail_code weight_history_read(struct weight_history *out, const char *mix,
    const struct properties *properties, const struct ledger *last, size_t most, struct failure *f);
void weight_history_close(struct weight_history *h);

/* The share of domain i of a record under the weights in force. */
double weight_history_share(const struct ledger *l, size_t i);

#endif
