/*
 * part.h -- one producer's part of an input: from its records to the End of each partition that it
 * writes.
 *
 * A part is what is done for partition k of n (`domains.X.partitions: n`, --partition k/n). It
 * reads its part of the input: every n-th file, beginning with the k-th, or of a live input the
 * files whose names hash to k. It writes partition k of every topic that the input feeds, one for
 * each domain and set (part_outputs.h). So a part is not a Kafka partition: it serves several of
 * them, which all have its number. Two parts have no file and no partition in common, and run on
 * different machines, at different times, without knowing of each other.
 *
 *     input --chunk--> text job --documents--> outputs --frame job--> records --> writer
 *              POOL_TEXTS: on a worker             POOL_FRAMES: on a worker
 *
 * One thread runs the loop: it reads a chunk where there is room, takes the oldest text job that is
 * done, takes the oldest frame job that is done, serves delivery reports, and waits only where none
 * of these has done anything. Everything that decides the bytes happens in this loop, in the order
 * of the input; workers only compute. So the bytes do not depend on how many workers there are.
 *
 * Memory has a limit at each stage: the reader's queue (chunk_queue.h), POOL_TEXTS by jobs and by
 * bytes of records, POOL_FRAMES by jobs, jobs that are not full by tokens (part_outputs.c), a
 * partition by its batches (writer.h), and librdkafka's queue.
 *
 * A part resumes by itself: part_run() asks where its partitions end and continues there
 * (resume.h). Nothing else is kept between two runs.
 */
#ifndef PRODUCER_PRODUCE_PART_H
#define PRODUCER_PRODUCE_PART_H

#include <librdkafka/rdkafka.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/base/stop.h"
#include "common/config/config.h"
#include "producer/tokenizer/tokenizer.h"

struct measures;

struct part_options {
	const struct config *config;
	const struct tokenizer *tokenizer;
	rd_kafka_t *reader; /* KAFKA_READER with nothing assigned */
	/* The domains that share the input, by index in the configuration, and which of them to
	 * write. */
	const size_t *domain;
	const bool *wanted;
	size_t domains_n;
	enum names_set set; /* train: the input may be split; else all of it goes to this set */
	bool append;        /* partitions that have ended continue behind their End */
	bool follow;        /* a live domain: waits for more, until `stop` */
	bool seal;          /* a live domain, too, gets its End */
	bool skip_missing;  /* files of a live domain that are gone are given up; live_order.h */
	bool repeats;       /* a program that is followed does not begin where RIFFLE_RESUME says */
	bool *mismatch; /* set where the first document of a resume was another: it may repeat */
	bool *empty;    /* may be NULL; set to whether nothing of the input seems to be published */
	uint32_t partition, partitions;
	uint32_t workers;
	const char *label;         /* for progress: "code", or "code lane 2/4" */
	struct measures *measures; /* of all parts of the process; NULL: none are taken */
	const struct stop *stop;
	/* Called all the time while it runs; its failure ends the part. NULL: nothing is. */
	enum fail_code (*tick)(void *opaque, struct failure *f);
	void *opaque;
};

enum { PART_FLUSH_MS = 10000 /* for what is on its way when asked to stop */ };

/*
 * *needed: part_run() has something to do; else it has said why not. `reader` may be used again.
 * Fails as part_run().
 */
enum fail_code part_look(const struct part_options *o, bool *needed, struct failure *f);

/*
 * Runs to the Ends. FAIL_STOPPED: asked to stop; all that was put is delivered, as far as
 * PART_FLUSH_MS allow, and the text says to the user how far it came. FAIL_BROKER, FAIL_TIMEOUT:
 * another call resumes, with a new reader. FAIL_DATA: the input has changed. FAIL_FENCED: another
 * producer writes to a partition, or did.
 */
enum fail_code part_run(const struct part_options *o, struct failure *f);

/* FAIL_STOPPED, as part_run() says it before the first document. */
enum fail_code part_fail_early(const struct part_options *o, struct failure *f);

const char *part_domain(const struct part_options *o); /* the first that is written */

#endif
