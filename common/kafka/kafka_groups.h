/*
 * kafka_groups.h -- which consumer groups a cluster has, those that only commit included, and the
 * members of one group. (kafka_commits.h: what a group has committed.)
 */
#ifndef COMMON_KAFKA_KAFKA_GROUPS_H
#define COMMON_KAFKA_KAFKA_GROUPS_H

#include <librdkafka/rdkafka.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/base/failure.h"
#include "common/config/properties.h"

/*
 * Gives *name, the *n names that begin with `prefix`, in no order (kafka_groups_free(*name, *n)).
 * `rk` is a KAFKA_READER. Every broker lists the groups that it coordinates; where one of them
 * fails, all does: FAIL_BROKER, FAIL_TIMEOUT or FAIL_DENIED, and *name is NULL.
 */
enum fail_code kafka_groups(
    rd_kafka_t *rk, const char *prefix, char ***name, size_t *n, int timeout_ms, struct failure *f);
void kafka_groups_free(char **name, size_t n); /* NULL is accepted */

/* Until a silent member of a group is out, if the member sets this as its session time-out. */
enum { KAFKA_GROUPS_SESSION_MS = 10000 };

struct kafka_member {
	char id[128];    /* the broker's name for it, new at each join; cut where it is longer */
	char client[64]; /* its client.id; cut where it is longer, as is the next */
	char host[64];   /* as the broker sees it */
	bool assigned;   /* it has a partition */
};

/*
 * The members of the group that `rk` was opened with, up to `max` of them; *n = 0: it has none, or
 * there is no such group. FAIL_BROKER, FAIL_DENIED, FAIL_TIMEOUT. `rk` is a KAFKA_READER that is
 * used for nothing else: after FAIL_TIMEOUT it must be closed at once. librdkafka 2.0.2 keeps an
 * admin request that found no coordinator in its time, and ends the process (an assertion on
 * eonce->refcnt) when the coordinator comes up later.
 */
enum fail_code kafka_group_members(rd_kafka_t *rk, struct kafka_member *member, size_t max,
    size_t *n, int timeout_ms, struct failure *f);

/* The same of a group by its name, with a handle of its own. Logs nothing. */
enum fail_code kafka_group_members_of(const char *group, const struct properties *properties,
    struct kafka_member *member, size_t max, size_t *n, int timeout_ms, struct failure *f);

/*
 * Deletes a group, with all that it has committed. FAIL_DATA: it has members. One that is not there
 * is deleted already. `rk` as for kafka_groups().
 */
enum fail_code kafka_group_delete(
    rd_kafka_t *rk, const char *group, int timeout_ms, struct failure *f);

#endif
