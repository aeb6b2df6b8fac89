/*
 * text_job.h -- a worker's job: the records of one chunk become documents of tokens.
 *
 * Done, a job holds its documents in the order of their records, each with its domain, hash and
 * tokens (eos included), or the reason why it is none. What is tokens already gets its eos; its
 * hash is that of the text that they stand for, so that a document is in the same set whether it
 * comes as text or as tokens (unless the tokenizer normalises).
 *
 * A document has no target if it has no token of its own, besides the eos and what add_special
 * adds, or if no loss is taken at any of its tokens (pack_has_target()). A record with `eos` false
 * whose tokens are all masked is a prompt for sampling, and stays a document.
 *
 * All tokens of a job lie in one buffer, all kept fields in another: a chunk has thousands of
 * documents, and two allocations that grow are cheaper than thousands.
 *
 * Thread: a job belongs to one thread at a time.
 */
#ifndef PRODUCER_PRODUCE_TEXT_JOB_H
#define PRODUCER_PRODUCE_TEXT_JOB_H

#include "common/base/buffer.h"
#include "producer/encoder/encoder.h"
#include "producer/input/chunk.h"
#include "producer/produce/worker.h"

enum text_job_verdict {
	TEXT_JOB_DOCUMENT,
	TEXT_JOB_UNMATCHED,
	TEXT_JOB_REJECT,
	TEXT_JOB_NO_TARGET, /* a document that is left out, under no_target: skip */
};

struct text_job_document {
	enum text_job_verdict verdict;
	size_t record;   /* index in the chunk */
	size_t domain;   /* index among the router's domains */
	uint64_t hash;   /* by which it is split; 0: nothing depends on it */
	bool garbled;    /* as the router says */
	size_t first, n; /* its tokens in the job's buffer; a prompt's have PACK_NO_LOSS */
	size_t keep_first, keep_n; /* in the job's `keep` */
	char *reason;              /* TEXT_JOB_REJECT, TEXT_JOB_NO_TARGET; owned */
};

struct text_job {
	const struct worker_context *context;
	struct chunk *chunk;                /* owned */
	size_t bytes;                       /* of its records */
	struct text_job_document *document; /* [chunk->n] */
	struct token_buffer tokens;
	struct buffer keep; /* of all documents, one after the other */
};

/* Takes the chunk; NULL: no memory, the chunk is ended. Borrows the context. */
struct text_job *text_job_open(const struct worker_context *c, struct chunk *chunk);
void text_job_close(struct text_job *j); /* NULL is accepted */

/* The work, on a worker with its struct worker_memory. FAIL_MEMORY only. */
pool_work text_job_run;

#endif
