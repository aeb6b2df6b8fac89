/*
 * domains.h -- what the broker knows of a configuration's sealed domains: lengths, sizes,
 * tokenizer.
 *
 * A partition is sealed once it has an End. The mixer waits for that: without the length there is
 * no order of an epoch. The last End counts; sequences behind it belong to the next one.
 */
#ifndef CONSUMER_DOMAINS_H
#define CONSUMER_DOMAINS_H

#include <librdkafka/rdkafka.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/config.h"
#include "common/failure.h"
#include "common/names.h"

struct domain_facts {
	char topic[TOPIC_MAX_BYTES + 1];
	size_t partitions_n;
	uint64_t *sequences; /* [partitions_n] */
	uint64_t sequences_total;
	uint64_t record_bytes;     /* of a typical sequence record; at least 1 */
	uint64_t record_bytes_max; /* of the largest */
};

struct domains {
	size_t n; /* as in the configuration, same order */
	struct domain_facts *facts;
	uint64_t tokenizer; /* fingerprint of all */
};

/*
 * Gives *out, to be ended with domains_close(). Waits for every partition's End; logs every ten
 * seconds whom it waits for; FAIL_STOPPED once *stop is set. FAIL_CONFIG: two tokenizers, another
 * sequence_length. `reader` is a KAFKA_READER with nothing assigned.
 */
enum fail_code domains_open(struct domains **out, rd_kafka_t *reader, const struct config *c,
    const volatile bool *stop, struct failure *f);
void domains_close(struct domains *d); /* NULL is accepted */

#endif
