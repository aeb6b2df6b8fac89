/*
 * mix.h -- runs a mix: reads domain topics, publishes steps and ledger, until told to stop.
 *
 * The room: `riffle mix`. consumer/mixer decides what each step holds, consumer/domain reads it,
 * in consumer/derive the two meet; here what comes of them is written in transactions.
 *
 * Files of this room:
 *     mix               composes all others; its loop is run(), near the end of the file
 *     attach            from the ledger to a mixer's state, at the start and after every doubt
 *     claim             whether another mixer has taken over, by the ledger; pure
 *     election          whose turn it is to mix; pure
 *     election_group    a member of the consumer group that tells whose turn it is
 *     standby           what a standby sees of the active mixer while it waits
 *     control_requests  the control topic: followed, judged, answered
 *     lengths           how long domains are, as a snapshot for each transaction
 *     lead              how far the trainers are, and so how far the mixer may be
 *     wait_words        what is said about runs that hold the mixer up; pure
 *     worst_case        how much memory that may take, against mix.memory
 *     output            what is written: steps, ledger record, dead letters, the end
 *     dead_letters      records that could not be used, until they are written as dead letters
 *     lane_output       a step's lanes as records of a transaction
 *     transactions      the handle that writes, and what leaves it in doubt
 *
 * The states of a mix:
 *
 *     a standby WAITING
 *        | its turn
 *        v     ledger read, START written
 *     ATTACHED ---------------------------> MIXING --stop, --until-step--> done
 *        ^                                   | | |
 *        |  outcome of a transaction unknown | | +--a domain ends the mix,
 *        |                                   | |    or --end-at-step--------> END written, done
 *        +-----------------------------------+ |
 *                                              +--fenced, the ledger names another mixer--> exit 3
 *
 * One turn of the loop:
 *
 *     election -> requests? commit, judge, commit the answers -> lead used up? commit, wait
 *       -> no transaction open? ask for lengths -> assemble a step -> put it into the transaction
 *       -> full, or old? commit
 *
 * Invariants, and who keeps them:
 *     What is committed is a beginning of the mix's one sequence of steps (mixer: it decides by the
 *     ledger alone; attach: it resumes from the last record; transactions: all or nothing).
 *     A change stands in the ledger before the first step that it governs (control_requests).
 *     All steps of a transaction were drawn with the lengths in its record (lengths).
 *     No step is published that is max_lead_steps ahead of a run (lead).
 *     No transaction is open while the loop waits for trainers or for a dry domain; for blocks it
 *     waits with one open, but briefly (mix).
 *
 * Whatever happens, the only truth is the last committed ledger record: after any doubt the handle
 * of the transactions is replaced, the ledger read again, and the steps after it drawn again, the
 * same.
 *
 * Threads: one, and librdkafka's. Each single wait has a limit below ELECTION_POLL_MAX_MS, so that
 * the loop polls the election in time.
 */
#ifndef CONSUMER_PUBLISH_MIX_H
#define CONSUMER_PUBLISH_MIX_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/base/stop.h"
#include "common/config/config.h"
#include "common/metrics/metrics_board.h"

enum { MIX_RECOVER_MS = 300000 }; /* gives up when failures go on for so long without a commit */

struct mix_options {
	const struct config *config; /* with a mix section */
	uint64_t until_step;         /* publishes steps below it, then pauses; UINT64_MAX: all */
	bool ends;                   /* there the mix ends, for all that read it */
	bool accept_config;          /* takes a configuration that differs from the ledger's */
	/* Asked once about all that would change (attach.h); NULL: nobody is. */
	enum fail_code (*confirm)(void *opaque, const char *changes, struct failure *f);
	void *confirm_opaque;
	/*
	 * Whether an active mixer runs already. Writes its host into hosts[room], or several as
	 * election_group_hosts(). A mixer that was killed counts until its session ends. A mixer
	 * that is no standby asks this when it starts. If until_step is reached and another mixer
	 * runs, it does nothing. NULL: the other mixer would be fenced.
	 */
	bool (*active)(const struct config *c, char *hosts, size_t room);
	/*
	 * Called once, when the mix first waits: for trainers, for a domain, or for its turn. NULL:
	 * nobody is told.
	 */
	void (*waits)(void *opaque);
	void *waits_opaque;
	bool standby;                /* waits until no other mixer is active */
	const struct stop *stop;     /* asked by a signal handler */
	struct metrics_board *board; /* gets the mixer's metrics when asked; NULL: none are taken */
};

/* FAIL_NONE: ended, paused or stopped. FAIL_FENCED: another mixer has taken over. */
enum fail_code mix_run(const struct mix_options *o, struct failure *f);

#endif
