/*
 * held_out.h -- the sequences of one set of one domain, once, in order of (partition, ordinal).
 *
 * How many there are is fixed when it is opened: a partition with an End has as many as its last
 * End says, another one as many as it held at that moment. So two trainers that open it while the
 * domain is being sealed may disagree, and two that open it later do not. Partitions are read one
 * after the other. Ordinals must be dense from 0; one that was published twice (a producer that was
 * killed) is dropped.
 *
 * Memory: HELD_OUT_AHEAD_BYTES of read-ahead, and one record. Thread: one.
 */
#ifndef CONSUMER_DOMAIN_HELD_OUT_H
#define CONSUMER_DOMAIN_HELD_OUT_H

#include <stdint.h>

#include "common/base/failure.h"
#include "common/base/names.h"
#include "common/config/properties.h"
#include "common/record/sequence.h"

enum { HELD_OUT_AHEAD_BYTES = 32 << 20 };

struct held_out;

struct held_out_options {
	const char *corpus, *domain;
	enum names_set set;
	const struct properties *properties;
	int timeout_ms; /* to open, for all of it */
};

/*
 * Gives *out, to be ended with held_out_close(). FAIL_CONFIG: there is no such topic. Copies the
 * options.
 */
enum fail_code held_out_open(
    struct held_out **out, const struct held_out_options *o, struct failure *f);
void held_out_close(struct held_out *h); /* NULL is accepted */

const char *held_out_domain(const struct held_out *h);
uint64_t held_out_sequences(const struct held_out *h);
uint32_t held_out_partitions(const struct held_out *h);
uint32_t held_out_length(const struct held_out *h);    /* S; 0: nothing is there */
uint64_t held_out_tokenizer(const struct held_out *h); /* 0 likewise */
bool held_out_untouched(const struct held_out *h);     /* no record was ever in the topic */

struct held_out_sequence {
	uint32_t partition;
	struct sequence_view view; /* borrowed until the next call */
};

/*
 * The next sequence; *end: there is none. FAIL_TIMEOUT after deadline_ms (clock_ms()): call again.
 * FAIL_DATA: a record is damaged, or one is missing.
 */
enum fail_code held_out_next(struct held_out *h, int64_t deadline_ms, struct held_out_sequence *out,
    bool *end, struct failure *f);

#endif
