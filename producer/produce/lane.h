/*
 * lane.h -- one lane of one input: from its records to the End of each of its partitions.
 *
 *     chunks --text jobs--> documents --pack, by stream--> sequences --frame jobs--> records
 *
 * A stream is one partition: a domain's train, valid or test set at this lane. Everything that
 * decides the bytes happens in the order of the input; workers only compute. Memory is bounded by
 * the pool's lines, the reader's queue and librdkafka's.
 *
 * A lane resumes by itself: lane_run() asks where its partitions stand and goes on there.
 */
#ifndef PRODUCER_PRODUCE_LANE_H
#define PRODUCER_PRODUCE_LANE_H

#include <librdkafka/rdkafka.h>
#include <stdbool.h>

#include "common/config/config.h"
#include "common/base/failure.h"
#include "common/base/names.h"
#include "common/base/stop.h"
#include "producer/tokenizer/tokenizer.h"

struct lane_options {
	const struct config *config;
	const struct tokenizer *tokenizer;
	rd_kafka_t *reader; /* KAFKA_READER with nothing assigned */
	/* The domains that share the input, by index in the configuration, and which of them to
	 * write. */
	const size_t *domain;
	const bool *wanted;
	size_t domains_n;
	bool held_out;  /* the input is the domain's `valid` files: all go to that set */
	bool append;    /* partitions that have ended go on behind their End */
	bool follow;    /* a live domain: waits for more, until `stop` */
	bool seal;      /* a live domain, too, gets its End */
	bool repeats;   /* a program that is followed does not begin where it is told to */
	bool *mismatch; /* set where the first document of a resume was another: it may repeat */
	uint32_t lane, lanes;
	uint32_t workers;
	const char *label; /* for progress: "code", or "code lane 2/4" */
	const struct stop *stop;
};

enum { LANE_FLUSH_MS = 10000 /* for what is on its way when asked to stop */ };

/*
 * Runs to the Ends. FAIL_STOPPED: asked to stop, all that was published is delivered. FAIL_BROKER:
 * the handle failed; another call resumes.
 */
enum fail_code lane_run(const struct lane_options *o, struct failure *f);

#endif
