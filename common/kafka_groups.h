/*
 * kafka_groups.h -- which consumer groups a cluster knows, those that only commit included.
 */
#ifndef COMMON_KAFKA_GROUPS_H
#define COMMON_KAFKA_GROUPS_H

#include <librdkafka/rdkafka.h>
#include <stddef.h>

#include "common/failure.h"

/*
 * Gives the names that begin with `prefix` (kafka_groups_free(name, n)), in no order. `rk` is a
 * KAFKA_READER. FAIL_BROKER: a broker did not answer, or the user may not list groups.
 */
enum fail_code kafka_groups(
    rd_kafka_t *rk, const char *prefix, char ***name, size_t *n, int timeout_ms, struct failure *f);
void kafka_groups_free(char **name, size_t n); /* NULL is accepted */

#endif
