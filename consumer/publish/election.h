/*
 * election.h -- whose turn it is to mix, as far as the election group tells: a machine without I/O.
 *
 * All mixers of a mix are members of group <mix>.election, which gives one partition to one of
 * them: whoever has it is active, a standby waits for it. The group only says whose turn it is.
 * That there are never two is the work of the transactional id: whoever attaches fences the other
 * (claim.h). So the group may be wrong for a while, and nothing but time is lost.
 *
 *     state    who starts there  has the partition         has it not                  attached
 *     WAITING  a standby         TAKE_OVER, -> CHOSEN      WAIT                        -> DOUBTED
 *     CHOSEN   any other mixer   TAKE_OVER                 a standby: WAIT, -> WAITING -> DOUBTED
 *                                                          any other: TAKE_OVER
 *     DOUBTED                    LOOK once a second, with  LOOK once a second
 *                                it -> LEADING
 *     LEADING                    GO_ON                     GO_ON, -> DOUBTED
 *
 * A mixer that leads and has lost the partition continues, because a lost session proves nothing:
 * only a START of another in the ledger proves that one has taken over. It looks there once a
 * second, so that it ends soon also where it has nothing to publish, and one second after it got
 * the partition back for the last time. Why that last look:
 *
 *     1. A leads and is stopped (SIGSTOP, a suspended machine) for a minute. Its session ends.
 *     2. The group gives the partition to B, a standby. B attaches, and fences A.
 *     3. A continues and joins the group again. The assignor prefers the first id, and may give the
 *        partition to A although B leads.
 *     4. A "has it again". Without a look it would believe that it leads until it publishes, which
 *        may be never: a mixer that waits for its trainers publishes nothing.
 *
 * A mixer that has just attached is DOUBTED, too: the group has not heard of it yet, and one that
 * is no standby never asked the group at all.
 *
 * Invariants: only a standby is ever WAITING; LEADING and DOUBTED never go back to WAITING or
 * CHOSEN, because the START of this mixer stands in the ledger for good.
 *
 * Pure: the clock comes in as a number. Thread: one.
 */
#ifndef CONSUMER_PUBLISH_ELECTION_H
#define CONSUMER_PUBLISH_ELECTION_H

#include <stdbool.h>
#include <stdint.h>

enum { ELECTION_LOOK_MS = 1000 };

enum election_state { ELECTION_WAITING, ELECTION_CHOSEN, ELECTION_LEADING, ELECTION_DOUBTED };

enum election_action {
	ELECTION_WAIT,
	ELECTION_TAKE_OVER, /* attach, then election_attached() */
	ELECTION_GO_ON,
	ELECTION_LOOK, /* whether the ledger holds another mixer's START */
};

struct election {
	enum election_state state;
	bool standby;
	int64_t looked_ms; /* DOUBTED: the last look, or since when */
};

/* One that is no standby is chosen by its user, whatever the group says. */
void election_init(struct election *e, bool standby);

/* `has`: the group has given us the partition. Time is any clock that does not go back. */
enum election_action election_step(struct election *e, bool has, int64_t now_ms);

/* The START of this mixer stands in the ledger. */
void election_attached(struct election *e, int64_t now_ms);

/* "waiting", "chosen", "leading", "doubted". */
const char *election_state_name(enum election_state state);

#endif
