/*
 * worker.h -- what a worker thread has for its jobs: constant tables that all share, and memory of
 * its own.
 *
 * text_job.h and frame_job.h are the two kinds of jobs. A job owns its memory and touches nothing
 * shared but the context, so that workers never wait for each other.
 */
#ifndef PRODUCER_PRODUCE_WORKER_H
#define PRODUCER_PRODUCE_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/buffer.h"
#include "common/base/names.h"
#include "common/record/frame.h"
#include "producer/document/router.h"
#include "producer/document/split.h"
#include "producer/encoder/encoder.h"
#include "producer/pack/pack.h"
#include "producer/produce/pool.h"
#include "producer/tokenizer/tokenizer.h"

/* What becomes of a domain's documents. */
struct worker_domain {
	struct pack_options pack;
	bool reject_long;    /* documents of more than S+1 tokens are rejects */
	bool skip_no_target; /* documents without a target are left out */
};

/* Constant while a part runs. */
struct worker_context {
	const struct tokenizer *tokenizer;
	const struct router *router;
	const struct split *split;          /* of each domain; one part where a set is given */
	const struct worker_domain *domain; /* of each domain */
	unsigned width;                     /* of a token in a frame */
	uint32_t sequence_length;
};

/* Of one worker; what it holds is reused from job to job. */
struct worker_memory {
	struct encoder *encoder;
	struct router_scratch *scratch;
	struct frame_codec *codec;
	struct buffer text; /* of a document of tokens */
};

/* For pool_open(): each worker gets a struct worker_memory. Borrows the context. */
struct pool_memory worker_memory(struct worker_context *context);

#endif
