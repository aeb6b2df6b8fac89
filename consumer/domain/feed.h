/*
 * feed.h -- blocks of domain topics in memory, read before they are drawn from.
 *
 * The mixer runs a copy of itself ahead and announces every draw with feed_want(); the feed loads
 * the blocks those draws fall into, in the order of first use, at most FEED_LOADS_MAX partitions at
 * a time, each for one block, and copies the payloads out, so that no fetch buffer stays pinned.
 * A block goes when all its sequences were drawn; one without announced draws is evicted, oldest
 * use first, when room is needed; only feed_urge() may load past the budget. A block whose
 * partition has grown since it was loaded goes through the queue again for the rest.
 *
 *     QUEUED --room, and its partition is free--> LOADING --last sequence--> READY --evicted-->
 * gone
 *
 * Offsets: ordinal k of a partition stands at offset k or later (duplicates after a producer's
 * crash, and End records in the middle of an extended domain, push it back), so a load starts at
 * offset k plus the push that is known, drops what is before k, and starts again further on where
 * it is far before. A record that cannot be decoded, or whose frame has another hash, makes its
 * ordinal bad: feed_find() gives the reason. An ordinal that is missing is FAIL_DATA; where the
 * topic ends before the block, after ten seconds only: new records, or a new leader, may be about
 * to come.
 *
 * Thread: one. Memory: the budget, plus one fetch a load, plus what feed_urge() forces.
 */
#ifndef CONSUMER_DOMAIN_FEED_H
#define CONSUMER_DOMAIN_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/config/properties.h"
#include "consumer/mixer/mixer.h"

enum {
	FEED_LOADS_MAX = 16,
	FEED_QUEUED_MAX = 64,       /* blocks that wait for a load, before feed_full() says so */
	FEED_SKIP_MAX = 4096,       /* records read over before a load starts again further on */
	FEED_BAD_BYTES_MAX = 65536, /* of a bad record, kept for the dead letter */
};

struct feed;

struct feed_options {
	const struct properties *properties;
	const char *group;     /* of the handle; commits nothing */
	uint64_t memory_bytes; /* budget of the blocks */
	uint64_t tokenizer;    /* fingerprint that every sequence must have */
	uint64_t block_bytes;  /* of a typical block: sizes the fetches */
	uint32_t block;        /* sequences of a whole one; a shorter one may grow */
};

/* A sequence in a block; borrowed until its draw is released. */
struct feed_record {
	const uint8_t *payload; /* encoded; NULL: bad */
	size_t n;
	uint32_t tokens;      /* in it, without padding; 0: bad */
	uint32_t padding;     /* and how many are missing at its end */
	const char *reason;   /* why it is bad; NULL: it is not */
	int64_t offset;       /* of the record in its topic; -1: unknown */
	const uint8_t *bytes; /* bad: the record as it was read, cut; NULL where unknown */
	size_t bytes_n;
};

/* Gives *out, to be ended with feed_close(). */
enum fail_code feed_open(struct feed **out, const struct feed_options *o, struct failure *f);
void feed_close(struct feed *d);

/* Adds the next domain (its number is the count before); `record_bytes` is a typical record's size.
 */
enum fail_code feed_add_domain(struct feed *d, const char *topic, size_t partitions_n,
    uint64_t record_bytes, struct failure *f);

/*
 * Announces a draw; records that were found before may move. True from feed_full(): announce no
 * more until something was released.
 */
enum fail_code feed_want(struct feed *d, const struct mixer_draw *draw, struct failure *f);
bool feed_full(const struct feed *d);

/* Takes every announcement back; what is loaded stays until room is needed. */
void feed_forget(struct feed *d);

/* The block of an announced draw is needed now: loads it next, past the budget if need be. */
void feed_urge(struct feed *d, const struct mixer_draw *draw);

/* NULL: not loaded yet, or not announced. */
const struct feed_record *feed_find(struct feed *d, const struct mixer_draw *draw);

/* The draw is done with. */
void feed_release(struct feed *d, const struct mixer_draw *draw);

/* Reads on; waits at most timeout_ms for the first record. */
enum fail_code feed_poll(struct feed *d, int timeout_ms, struct failure *f);

size_t feed_domains(const struct feed *d);

/* Bytes held by blocks. */
uint64_t feed_bytes(const struct feed *d);

/* Whether they are more than the budget, with what is on its way. */
bool feed_over(const struct feed *d);

#endif
