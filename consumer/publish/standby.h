/*
 * standby.h -- what a standby sees of the active mixer while it waits for its turn.
 *
 * A standby has all its handles open, so that it can take over within a second. While it waits it
 * reads the ledger's last record once a second: to log where the active mixer is, to end when the
 * mix has ended, and to end at once, not in the night in which it is needed, when it could not take
 * over because its configuration is not the ledger's. A broker that does not answer is waited for:
 * that is what a standby is for.
 *
 * Whose turn it is comes from the election (election.h), not from here: a ledger that does not grow
 * proves nothing.
 *
 * Thread: one.
 */
#ifndef CONSUMER_PUBLISH_STANDBY_H
#define CONSUMER_PUBLISH_STANDBY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "consumer/publish/attach.h"

struct standby {
	struct attach *attach; /* borrowed */
	int64_t asked_ms, logged_ms;
	int64_t seen_ms; /* when the last record was first seen */
	bool found;      /* there is one, and the next three are of it */
	uint64_t mixer;
	int64_t step_next, version;
};

void standby_init(struct standby *s, struct attach *a);

/*
 * Reads the ledger when it is time. *ended: the mix has ended. Fails as attach_check() does, but
 * not with FAIL_BROKER or FAIL_TIMEOUT.
 */
enum fail_code standby_follow(struct standby *s, bool *ended, struct failure *f);

/* Logs that it is this mixer's turn, and whom it follows. */
void standby_log_turn(const struct standby *s);

#endif
