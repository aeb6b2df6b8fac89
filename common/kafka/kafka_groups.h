/*
 * kafka_groups.h -- which consumer groups a cluster knows, those that only commit included, and who
 * the members of one are. (kafka_commits.h: what a group has committed.)
 */
#ifndef COMMON_KAFKA_KAFKA_GROUPS_H
#define COMMON_KAFKA_KAFKA_GROUPS_H

#include <librdkafka/rdkafka.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/base/failure.h"

/*
 * Gives the names that begin with `prefix` (kafka_groups_free(name, n)), in no order. `rk` is a
 * KAFKA_READER. FAIL_BROKER: a broker did not answer, or the user may not list groups.
 */
enum fail_code kafka_groups(
    rd_kafka_t *rk, const char *prefix, char ***name, size_t *n, int timeout_ms, struct failure *f);
void kafka_groups_free(char **name, size_t n); /* NULL is accepted */

struct kafka_member {
	char client[64]; /* its client.id; cut where it is longer, as is the next */
	char host[64];   /* as the broker sees it */
	bool assigned;   /* it has a partition */
};

/*
 * The members of the group that `rk` was opened with, up to `max` of them; *n = 0: it has none, or
 * there is no such group. FAIL_BROKER, FAIL_DENIED, FAIL_TIMEOUT. `rk` is a KAFKA_READER that is
 * used for nothing else: after FAIL_TIMEOUT it must be closed at once. An admin request that found
 * no coordinator in its time is not forgotten by librdkafka 2.0.2, which ends the process (an
 * assertion on eonce->refcnt) when the coordinator comes up behind it.
 */
enum fail_code kafka_group_members(rd_kafka_t *rk, struct kafka_member *member, size_t max,
    size_t *n, int timeout_ms, struct failure *f);

#endif
