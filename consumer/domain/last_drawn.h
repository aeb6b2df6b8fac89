/*
 * last_drawn.h -- of each domain two sequences that the mix has drawn, with their hashes, by which
 * whoever resumes the mix sees that a domain log is still the one that it drew from.
 *
 * A domain topic that was deleted, and produced again from other text, may have as many sequences
 * as before, or more: lengths do not show it, and the mix would continue with text that none of its
 * earlier steps had. So the mixer puts with each record of the ledger, as the Kafka header
 * LAST_DRAWN_HEADER, of each domain
 *
 *     last       the sequence that was drawn last
 *     highest    the one with the highest ordinal: behind a document that became longer or shorter
 *                every sequence of a packed stream is another one
 *
 * each as partition, ordinal and the hash of its frame. A header, as the ledger's own fields are
 * what a replay derives again; a release that does not know it reads on.
 *
 * What is compared is what is there. A sequence that cannot be found (retention has deleted it, its
 * record is damaged) says nothing, as do ledgers without the header: of releases before this one,
 * of `riffle repair` and of `riffle replay --republish`, until the domain is drawn from again.
 *
 * Costs: a handle, and two batches of each domain, those of all domains at once.
 *
 * Thread: one.
 */
#ifndef CONSUMER_DOMAIN_LAST_DRAWN_H
#define CONSUMER_DOMAIN_LAST_DRAWN_H

#include <librdkafka/rdkafka.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/config/properties.h"
#include "common/record/ledger.h"
#include "consumer/domain/domains.h"
#include "consumer/domain/feed_block.h"
#include "consumer/mixer/mixer.h"

#define LAST_DRAWN_HEADER "riffle.drawn"

struct last_drawn_place {
	bool known;
	uint32_t partition;
	uint64_t ordinal, frame_hash;
};

enum { LAST_DRAWN_LAST, LAST_DRAWN_HIGHEST, LAST_DRAWN_PLACES };

struct last_drawn_domain {
	struct last_drawn_place place[LAST_DRAWN_PLACES];
	size_t drawn; /* while a step is taken in: the number of its last draw, plus 1 */
};

/* By the mix's index of the domain. A zeroed one is valid and empty. */
struct last_drawn {
	struct last_drawn_domain *domain; /* [n], owned */
	size_t n;
};

void last_drawn_close(struct last_drawn *l);

/* Takes in the sequences of a step, n of them, all good. */
enum fail_code last_drawn_add(struct last_drawn *l, const struct mixer_draw *draw,
    const struct feed_block_record *const *record, size_t n, struct failure *f);

/* Gives *bytes (free), the header's value. */
enum fail_code last_drawn_encode(
    const struct last_drawn *l, uint8_t **bytes, size_t *n, struct failure *f);

/* What *l held goes. A value that cannot be read leaves it empty. FAIL_MEMORY only. */
enum fail_code last_drawn_decode(
    struct last_drawn *l, const void *value, size_t n, struct failure *f);

/* The same with the header of a ledger record; without one it is empty. */
enum fail_code last_drawn_read(
    struct last_drawn *l, const rd_kafka_message_t *ledger, struct failure *f);

/* A domain that is to be compared, and what came of it. */
struct last_drawn_look {
	const char *topic; /* borrowed; NULL: it is not compared */
	bool other;        /* the sequence at this place is not the one that was drawn: */
	uint32_t partition;
	uint64_t ordinal;
	bool empty; /* its partition has never held a record: the topic is a new one */
	/* Of a typical sequence record, by those that were read; 0: none was. */
	uint64_t record_bytes;
};

/*
 * Compares the domains of look[n], by the mix's index; their topics exist. Logs that end before
 * what was drawn are looked at a second time. FAIL_TIMEOUT: a record did not come. Borrows the
 * properties.
 */
enum fail_code last_drawn_compare(const struct last_drawn *l, struct last_drawn_look *look,
    size_t n, const struct properties *properties, int timeout_ms, struct failure *f);

/* FAIL_DATA: the sequence is another, in words for the user who runs the mix. */
enum fail_code last_drawn_fail(
    const struct last_drawn_look *look, const char *domain, struct failure *f);

/*
 * Compares all domains in force of the ledger's last record, whose `l` is, before steps are derived
 * again from their logs. FAIL_DATA as above, also for an empty topic. *record_bytes becomes that of
 * the domain with the largest records, if it was less.
 */
enum fail_code last_drawn_compare_all(const struct last_drawn *l, const struct ledger *last,
    const char *corpus, const struct properties *properties, int timeout_ms, uint64_t *record_bytes,
    struct failure *f);

/*
 * Compares those domains of a mix that are among `d`, or of these only the one called `name`
 * (NULL: all). FAIL_DATA: one is another; also as above.
 */
enum fail_code last_drawn_check(const struct last_drawn *l, const struct domains *d,
    const struct mixer *m, const char *name, struct failure *f);

#endif
