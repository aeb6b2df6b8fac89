/*
 * domains.h -- what the broker knows of the domains that a mix draws from: lengths, sizes,
 * tokenizer; asked at the start, and again while the mix runs.
 *
 * What counts. A partition is sealed once it has an End, and counts with the sequences up to its
 * last End: those behind it belong to the next one. The mixer waits for the Ends of all domains
 * that are not live, because without lengths there is no order of an epoch. A partition of a live
 * domain that has no End counts with what is there.
 *
 * What it costs. A partition's last record tells all (partition_tail.h), so domains_ask() is one
 * question for the ends of all partitions, and then one record of each that has moved. Facts here
 * only follow the broker. When they reach the mixer is decided elsewhere (lengths.h).
 *
 * The configuration's domains come first, in its order; behind them stand those that joined the mix
 * by request.
 *
 * Thread: one.
 */
#ifndef CONSUMER_DOMAIN_DOMAINS_H
#define CONSUMER_DOMAIN_DOMAINS_H

#include <librdkafka/rdkafka.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "common/base/failure.h"
#include "common/base/names.h"
#include "common/config/config.h"
#include "common/record/ledger.h"

/* After the reason, if a domain's topic holds fewer sequences than a mix counts with. */
#define DOMAINS_WAY_BACK                                                                           \
	"`riffle status` says how to publish the same files again; or begin a mix of another name"

struct domains_facts {
	char name[NAME_MAX_BYTES + 1];
	char topic[TOPIC_MAX_BYTES + 1];
	bool live;
	enum mix_shuffle shuffle; /* its own; the mix's where the configuration lacks the domain */
	bool changed; /* lengths or seals differ from when the reader of them last cleared this */
	bool unheard; /* when they were asked last, a last record did not come in time */
	size_t partitions_n;
	int64_t *high;       /* [partitions_n]: its end when its last record was read */
	uint64_t *sequences; /* [partitions_n] */
	bool *sealed;        /* [partitions_n] */
	uint64_t *bytes;     /* [partitions_n]: of its sequence records */
	uint64_t sequences_total;
	uint64_t record_bytes;     /* of a typical sequence record; at least 1 */
	uint64_t record_bytes_max; /* of the largest; live: that there may be */
};

struct domains {
	size_t n;
	struct domains_facts *facts;
	uint64_t tokenizer; /* fingerprint of all */
	const struct config *config;
};

/* Called twice a second while domains_open() waits; true: the wait is to end. */
typedef bool domains_stopped(void *opaque);

/*
 * Gives *out, to be ended with domains_close(). Waits for the Ends, and until one domain shows the
 * tokenizer; logs at once and then every minute what is missing (domains_missing()); FAIL_STOPPED
 * once stopped() says so, or at once if it is NULL. `last`: the ledger's last record, zeroed before
 * the first. FAIL_CONFIG: two tokenizers, another sequence_length, or a log that is of another kind
 * than the configuration says (recipe.h); another source is a warning. Borrows the configuration.
 * `reader` is a KAFKA_READER with nothing assigned.
 */
enum fail_code domains_open(struct domains **out, rd_kafka_t *reader, const struct config *c,
    const struct ledger *last, domains_stopped *stopped, void *opaque, struct failure *f);
void domains_close(struct domains *d); /* NULL is accepted */

/*
 * Every domain that domains_open() would wait for, and the command that publishes them. If the
 * ledger counts more sequences of one than its topic holds, both numbers. Gives the text (free);
 * NULL: no memory. Pure.
 */
char *domains_missing(const struct domains *d, const struct ledger *last);

/* Index of a domain by name; -1: there is none. Here, as what libriffle needs of it is no more. */
static inline int
domains_named(const struct domains *d, const char *name)
{
	for (size_t i = 0; i < d->n; i++)
		if (strcmp(d->facts[i].name, name) == 0)
			return (int)i;
	return -1;
}

/*
 * FAIL_CONFIG: the domain has no topic on the broker of `rk` (NULL: it is not named). Names the
 * commands that create and fill it, which need the domain in the configuration.
 */
enum fail_code domains_fail_missing(
    const struct config *c, rd_kafka_t *rk, const char *name, struct failure *f);

/*
 * FAIL_CONFIG: the log is of another kind than the configuration says. `kind` is what differs. If
 * no mix is known to have drawn from it, names the command that publishes it again.
 */
enum fail_code domains_fail_changed(
    const struct config *c, const char *name, const char *kind, bool drawn, struct failure *f);

/*
 * Adds a domain that the configuration lacks, behind the others. FAIL_CONFIG, in words for who
 * asked for it: there is no such topic, it is not sealed (and not live), it has another tokenizer
 * or sequence_length. FAIL_TIMEOUT: its last records did not come in time, which says nothing of
 * the domain. Nothing is added then. Pointers into d->facts move.
 */
enum fail_code domains_add(
    struct domains *d, rd_kafka_t *reader, const char *name, bool live, struct failure *f);

/* Takes the domain that was added last out again. */
void domains_drop_last(struct domains *d);

/*
 * Asks once more how far the partitions reach: of live domains, or of all. Sets `changed` where
 * lengths differ. What the broker does not answer in time stays as it was. FAIL_CONFIG as above.
 */
enum fail_code domains_ask(
    struct domains *d, rd_kafka_t *reader, bool live_only, struct failure *f);

#endif
