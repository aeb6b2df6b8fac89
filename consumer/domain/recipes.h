/*
 * recipes.h -- whether the domain logs are what the configuration says: their recipes (recipe.h)
 * against those of now.
 *
 * A domain's recipe stands on the last End of a partition, and on its first record; partition 0 is
 * asked, as all have the same. Where the last record is no End the first one tells of what kind the
 * records are, but not which files were appended since: then sources are not compared.
 *
 * Thread: that of the handle.
 */
#ifndef CONSUMER_DOMAIN_RECIPES_H
#define CONSUMER_DOMAIN_RECIPES_H

#include <librdkafka/rdkafka.h>
#include <stdbool.h>

#include "common/base/failure.h"
#include "common/config/config.h"
#include "common/config/recipe.h"

/*
 * Fills out[domains_n of the configuration]; empty where a domain is as configured, or nothing is
 * known: no record, or a release without recipes. Only domains with there[i] are asked (NULL: all);
 * their train topics must exist. `reader` is a KAFKA_READER with nothing assigned. FAIL_DATA: a
 * recipe cannot be read. FAIL_TIMEOUT: a record did not come in time. FAIL_DENIED, FAIL_BROKER.
 */
enum fail_code recipes_ask(struct recipe_differences *out, rd_kafka_t *reader,
    const struct config *c, const bool *there, int timeout_ms, struct failure *f);

#endif
