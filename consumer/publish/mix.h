/*
 * mix.h -- runs a mix: reads domain topics, publishes steps and ledger, until told to stop.
 *
 *     a standby WAITING
 *        | its turn
 *        v     ledger read, START written
 *     ATTACHED ---------------------------> MIXING --stop, --until-step--> done
 *        ^                                   |  |
 *        |  outcome of a transaction unknown |  +--a domain ends the mix--> END published, done
 *        +-----------------------------------+
 *                                            +--fenced, and the ledger names another mixer--> exit
 * 3
 *
 * Requests of the control topic are taken between two transactions and answered in a ledger record
 * without steps, so that a change stands in the ledger before the first step that it governs; one
 * that comes ends the open transaction. What live domains hold is asked for at the beginning of a
 * transaction and stays so until its end. A step that a dry one keeps from being drawn is waited
 * for.
 *
 * All mixers of a mix are members of an election (election.h), which tells standbys when the active
 * one is gone; a mixer that is no standby attaches at once, whoever is active, and fences it.
 *
 * Whatever happens, the only truth is the last committed ledger record: after any doubt the
 * handle of the transactions is replaced, the ledger read again, and the steps after it drawn again, the same.
 */
#ifndef CONSUMER_PUBLISH_MIX_H
#define CONSUMER_PUBLISH_MIX_H

#include <stdbool.h>
#include <stdint.h>

#include "common/config/config.h"
#include "common/base/failure.h"
#include "common/base/stop.h"

enum {
	MIX_RECOVER_MS = 300000, /* gives up when failures go on for so long without a commit */
	MIX_LOG_MS = 10000,      /* between two lines on progress, and before a wait is explained */
};

struct mix_options {
	const struct config *config; /* with a mix section */
	uint64_t until_step;         /* publishes steps below it, then pauses; UINT64_MAX: all */
	bool accept_config;
	bool standby;            /* waits until no other mixer is active */
	const struct stop *stop; /* asked by a signal handler */
};

/* FAIL_NONE: ended, paused or stopped. FAIL_FENCED: another mixer has taken over. */
enum fail_code mix_run(const struct mix_options *o, struct failure *f);

#endif
