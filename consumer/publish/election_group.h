/*
 * election_group.h -- a member of group <mix>.election: has it been given the partition?
 *
 * Members subscribe to <mix>.control, which has one partition, and read nothing of it. The group
 * gives it to the member whose id comes first (assignor `range`), and an id begins with the
 * client.id: riffle-mix-active comes before riffle-mix-standby. So a standby gets it when no active
 * mixer is left, never because it joined, and an active one that left for a moment gets it back. A
 * standby whose turn has come joins a second time by the other name, and leaves by the old one once
 * the group has given the partition to the new.
 *
 * How soon. A member that dies or is stopped is out after the session timeout; one that is closed
 * is out at once. librdkafka's thread sends the heartbeats, so that they continue where the mixer's
 * own loop hangs. Against that the loop itself must call election_group_poll(): after
 * ELECTION_POLL_MAX_MS without a call the member leaves. No thread of ours calls it, because such a
 * thread would vouch for a mixer that does nothing. The limit is above all that the loop may wait
 * for in one go (40 s for a commit that the broker does not answer): another mixer would wait for
 * the same broker.
 *
 * Thread: one.
 */
#ifndef CONSUMER_PUBLISH_ELECTION_GROUP_H
#define CONSUMER_PUBLISH_ELECTION_GROUP_H

#include <stdbool.h>

#include "common/base/failure.h"
#include "common/config/config.h"
#include "common/kafka/kafka_groups.h"

enum {
	ELECTION_POLL_MAX_MS = 60000,
	ELECTION_POLL_MS = 50, /* polling more often does nothing */
};

#define ELECTION_ACTIVE  "mix-active" /* client.id is "riffle-<this>" */
#define ELECTION_STANDBY "mix-standby"

/*
 * The hosts of the active mixers among the group's members, as "a or b" in out[room], room > 0; ""
 * if there is none. A mixer that was killed stays a member until its session ends, so that nobody
 * can tell which of two members is the mixer whose record is the ledger's last.
 */
void election_group_hosts(const struct kafka_member *member, size_t n, char *out, size_t room);

/* Asks for them. One that was killed less than its session ago counts. False: none is known. */
bool election_group_active(const struct config *c, char *hosts, size_t room);

struct election_group;

/* Gives *out, to be ended with election_group_close(). Joins in the background. */
enum fail_code election_group_join(struct election_group **out, const char *mix,
    const struct properties *properties, bool standby, struct failure *f);
void election_group_close(struct election_group *g); /* leaves; NULL is accepted */

/*
 * *has: this member has the partition. FAIL_BROKER, again at each call: the user has not the right
 * to be a member. What passes by itself (no coordinator, no broker) is no failure.
 */
enum fail_code election_group_poll(struct election_group *g, bool *has, struct failure *f);

/*
 * It is this member's turn: it joins once more, by the name of an active mixer. Nothing to do for
 * one that has that name.
 */
enum fail_code election_group_lead(struct election_group *g, struct failure *f);

#endif
