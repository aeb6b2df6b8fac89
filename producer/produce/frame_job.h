/*
 * frame_job.h -- a worker's job: sequences of one output become compressed frames with their
 * hashes.
 *
 * Sequences are compressed one by one, each into a frame of its own: a mixer copies the frames that
 * it picks, without decompressing.
 *
 * Thread: a job belongs to one thread at a time.
 */
#ifndef PRODUCER_PRODUCE_FRAME_JOB_H
#define PRODUCER_PRODUCE_FRAME_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "producer/pack/pack.h"
#include "producer/produce/worker.h"

enum {
	FRAME_JOB_SEQUENCES = 16,      /* sequences of one job, at most */
	FRAME_JOB_TOKENS = 256 * 1024, /* and tokens, unless it is one sequence */
};

struct frame_job_item {
	struct pack_sequence *sequence; /* owned */
	uint8_t *frame;                 /* owned */
	size_t frame_n;
	uint64_t hash;
};

struct frame_job {
	const struct worker_context *context;
	void *output; /* whose sequences they are: the caller knows its type */
	struct frame_job_item item[FRAME_JOB_SEQUENCES];
	size_t n;
};

/* An empty job for `output`; NULL: no memory. Borrows the context. */
struct frame_job *frame_job_open(const struct worker_context *c, void *output);
void frame_job_close(struct frame_job *j); /* its sequences, too; NULL is accepted */

/* Whether another sequence would be too much. */
bool frame_job_full(const struct frame_job *j);

/* The work, on a worker with its struct worker_memory. */
pool_work frame_job_run;

#endif
