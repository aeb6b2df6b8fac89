/*
 * turn.h -- whose turn it is to write an input's partition: of several producers one at a time.
 *
 * Whoever writes is the only member of a consumer group of that input and partition,
 * <corpus>.producer/<domain>/<k>, the domain being the first of those that share the input. The
 * group's members are all that counts; nothing is read and nothing assigned.
 *
 *     a process               what it sees in the group         what it does
 *     not joined              others                            waits
 *     not joined              nobody                            joins
 *     joined                  itself alone                      has the turn, until it leaves
 *     joined                  a member with a lower id          leaves, waits
 *     joined                  members with higher ids only      waits until they have left
 *
 * So two never have the turn: each saw itself as the only member after it had joined, and the later
 * of the two would have seen the other. Of two that join at the same time the one with the higher
 * id leaves. It makes no difference how long the broker takes to balance the group.
 *
 * How soon after a kill -9.  The broker takes a member that is silent for TURN_SESSION_MS out of
 * the group. On the same machine nobody waits for that: a member whose process has ended (holder.h)
 * does not count.
 *
 * A lost session proves nothing, as with mixers: one that was stopped for a minute, or had no
 * network, continues. But another may have had the turn meanwhile, and what waited in the first
 * one's queue lands between the other's records. Both find that out by their offsets (writer.h) and
 * call turn_check(): the id with which a producer once was alone is in the group as long as it has
 * the turn. At most one of the two still has such an id. It resumes; the other ends.
 *
 * The group only says whose turn it is. That a partition has no gap, and each record once for
 * readers, is the work of offsets and ordinals, as without it.
 *
 * Thread: one.
 */
#ifndef PRODUCER_WRITER_TURN_H
#define PRODUCER_WRITER_TURN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/base/stop.h"
#include "common/config/properties.h"
#include "common/kafka/kafka_groups.h"

enum {
	TURN_SESSION_MS = 10000, /* until a member that is silent is out */
	TURN_SILENT_MS = 5000, /* of this process, after which it looks whether it was taken out */
	TURN_LOOK_MS = 500,    /* between two looks at the group, while another has the turn */
	TURN_MEMBERS_MAX = 64, /* that are looked at; further ones would change nothing */
};

struct turn;

struct turn_options {
	const struct properties *properties;
	const char *corpus;
	const char *input;  /* of the group's name: a domain, with its set where that is not all */
	uint32_t partition; /* likewise */
	const char *topic;  /* that members subscribe to: one which the producer writes */
	const char *label;  /* for messages; "code" */
	const struct stop *stop;
};

/* Gives *out, to be ended with turn_close(). Asks nothing. Borrows all of `o` but the names. */
enum fail_code turn_open(struct turn **out, const struct turn_options *o, struct failure *f);
void turn_close(struct turn *t); /* leaves the group; NULL is accepted */

bool turn_taken(const struct turn *t); /* turn_take() has succeeded */
bool turn_waits(const struct turn *t); /* it has not, and another producer has the turn */

/*
 * Waits until it is this producer's turn, and warns by name where that is not at once.
 * FAIL_STOPPED: asked to stop. FAIL_DENIED: the user may not be a member. FAIL_BROKER,
 * FAIL_TIMEOUT.
 */
enum fail_code turn_take(struct turn *t, struct failure *f);

/*
 * Looks at the group now. FAIL_FENCED: another producer, which is named, has had the turn since.
 * FAIL_BROKER, FAIL_TIMEOUT, FAIL_DENIED: it is not known.
 */
enum fail_code turn_check(struct turn *t, struct failure *f);

/*
 * To be called all the time; asks only where this process did nothing for TURN_SILENT_MS.
 * FAIL_FENCED as turn_check().
 */
enum fail_code turn_poll(struct turn *t, struct failure *f);

/* Fails where a producer has the turn now, which is named: FAIL_DATA. Others as turn_check(). */
enum fail_code turn_free(struct turn *t, struct failure *f);

/* ---- the rule, with plain values ---- */

enum turn_rule {
	TURN_JOIN,   /* nobody is there */
	TURN_MINE,   /* this one is a member, alone */
	TURN_UNSEEN, /* it has joined, and is not a member yet */
	TURN_WAIT,   /* as it is: for others to go, joined or not */
	TURN_LEAVE,
};

/*
 * `client` is this producer's own client.id, which no other has. *mine: its place among the
 * members, n where it is none. *other: that of another that counts, n: there is none.
 */
enum turn_rule turn_judge(const struct kafka_member *member, size_t n, const char *client,
    bool joined, size_t *mine, size_t *other);

enum turn_standing {
	TURN_HELD, /* the member with which this producer was alone is in the group */
	TURN_FREE, /* its session was over for a while, and no other producer came */
	TURN_LOST, /* another producer has had the turn since, or has it */
};

/*
 * Whether the turn is still that of a producer that was once alone as the member `held`. *mine and
 * *other as of turn_judge(); with TURN_FREE, *mine is the member that holds the turn from now on.
 */
enum turn_standing turn_stands(const struct kafka_member *member, size_t n, const char *client,
    const char *held, size_t *mine, size_t *other);

enum turn_due { TURN_DUE_NOTHING, TURN_DUE_POLL, TURN_DUE_CHECK };

/* What turn_poll() does at the time `now_ms` if it last did something at `polled_ms`. */
enum turn_due turn_is_due(int64_t polled_ms, int64_t now_ms);

#endif
