/*
 * mix_names.h -- which mixes a broker has, for a sentence about one that it does not have.
 *
 * Without common/config/config.h, so that rooms may see it that know no configuration.
 */
#ifndef COMMON_KAFKA_MIX_NAMES_H
#define COMMON_KAFKA_MIX_NAMES_H

#include <librdkafka/rdkafka.h>
#include <stddef.h>

#include "common/base/failure.h"

/*
 * Gives *out (free), the names of all topics of the cluster that end with `end` and that the user
 * may see, *n of them, one after the other, each with its NUL. They are sorted by what stands
 * before `end`.
 */
enum fail_code topics_ending(
    char **out, size_t *n, rd_kafka_t *rk, const char *end, int timeout_ms, struct failure *f);

/*
 * FAIL_CONFIG: topic `topic` of the mix does not exist. If the mix has no ledger either, its name
 * may be mistyped, so the sentence names the nearest mix and those that the broker has, if it
 * answers within five seconds.
 */
enum fail_code mix_names_fail(
    rd_kafka_t *rk, const char *topic, const char *mix, struct failure *f);

#endif
