/*
 * limits.h -- how much of everything a corpus and a mix may have.
 *
 * The configuration's table of keys refuses more, and so does whoever decodes a record: what is
 * read from a topic was perhaps not written by riffle. Arrays of a fixed size have these sizes, so
 * that a loop over one is bounded by the same number that the user's error message shows.
 */
#ifndef COMMON_BASE_LIMITS_H
#define COMMON_BASE_LIMITS_H

#include <stdint.h>

enum {
	LIMIT_DOMAINS = 4096,          /* of a corpus, hence of a mix and of its weights */
	LIMIT_LANES = 4096,            /* of a mix: partitions of its topic of batches */
	LIMIT_SEQUENCE = 1 << 20,      /* S: a sequence has S + 1 tokens */
	LIMIT_BATCH = 1 << 20,         /* B: sequences of one step */
	LIMIT_PHASES = 1024,           /* of a mix */
	LIMIT_RUNS = 64,               /* of a mix */
	LIMIT_RECORD_BYTES = 64 << 20, /* of one lane's batch record */
	LIMIT_KEEP_BYTES = 64 << 10,   /* of one document, by the key `keep` */
};

/* Steps, and positions that are counted in steps, are below it: sums of two fit 63 bits. */
#define LIMIT_STEP (UINT64_C(1) << 62)

/* Draws of a round (epoch_size): as many as weights_count() can deal. */
#define LIMIT_ROUND (UINT64_C(1) << 40)

#endif
