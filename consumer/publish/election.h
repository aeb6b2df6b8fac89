/*
 * election.h -- whose turn it is to mix, as far as the election group tells: a machine without I/O.
 *
 * All mixers of a mix are members of group <mix>.election, which gives one partition to one of
 * them: whoever has it is active, a standby waits for it. The group only says whose turn it is.
 * That there are never two is the work of the transactional.id: whoever attaches fences the other.
 *
 *                 has it                    attached
 *     WAITING <-------------> CHOSEN --------------------------+
 *     (a standby  has lost it (one that is no standby          v
 *      begins)    (a standby)  begins)                      DOUBTED <----> LEADING
 *                             TAKE_OVER                LOOK, once a      has lost it,
 *                                                         second         has it again
 *
 * A mixer that leads and has lost the partition goes on: only a START of another in the ledger
 * proves that one has taken over. It looks there once a second, so that it ends soon also where it
 * has nothing to publish, and one second after it got the partition back for the last time: a
 * mixer that was stopped for a while may get it back although another leads by now.
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
