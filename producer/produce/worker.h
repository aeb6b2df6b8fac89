/*
 * worker.h -- what a producer's worker threads do: records to tokens, sequences to frames.
 *
 * A text job holds one chunk of an input and, when done, its documents in order, each with its
 * domain, set and tokens (eos included) or the reason why it is none. What is tokens already gets
 * its eos; its set is that of the text that they stand for, so that a document is in the same set
 * whether it comes as text or as tokens (unless the tokenizer normalises). A frame job holds
 * sequences of one stream and, when done, their frames. Jobs own their memory and touch nothing
 * shared but constant tables.
 */
#ifndef PRODUCER_PRODUCE_WORKER_H
#define PRODUCER_PRODUCE_WORKER_H

#include "common/base/buffer.h"
#include "producer/input/chunk.h"
#include "producer/pack/pack.h"
#include "producer/produce/pool.h"
#include "producer/document/router.h"
#include "producer/document/split.h"
#include "producer/tokenizer/tokenizer.h"

enum {
	WORKER_FRAMES = 16,                /* sequences of one frame job, at most */
	WORKER_FRAMES_TOKENS = 256 * 1024, /* and tokens, unless it is one sequence */
};

/* Constant while a lane runs. */
struct worker_context {
	const struct tokenizer *tokenizer;
	const struct router *router;
	const uint32_t (*split)[SETS_COUNT]; /* of each domain; one part where a set is given */
	const bool *reject_long;             /* of each domain: documents over S+1 tokens */
	unsigned width;                      /* of a token in a frame */
	uint32_t sequence_length;
};

enum worker_verdict { WORKER_DOCUMENT, WORKER_UNMATCHED, WORKER_REJECT };

struct worker_document {
	enum worker_verdict verdict;
	size_t record; /* index in the chunk */
	size_t domain; /* index among the router's domains */
	enum names_set set;
	size_t first, n;           /* its tokens in the job's buffer, */
	size_t prompt_n;           /* of which the first so many are of the prompt */
	size_t keep_first, keep_n; /* in the job's `keep` */
	char *reason;              /* WORKER_REJECT; owned */
};

struct text_job {
	const struct worker_context *context;
	struct chunk *chunk;              /* owned */
	size_t bytes;                     /* of its records */
	struct worker_document *document; /* [chunk->n] */
	struct token_buffer tokens;
	struct buffer keep; /* of all documents, one after the other */
};

struct frame_item {
	struct pack_sequence *sequence; /* owned */
	uint8_t *frame;                 /* owned */
	size_t frame_n;
	uint64_t hash;
};

struct frame_job {
	const struct worker_context *context;
	void *stream; /* whose sequences they are */
	struct frame_item item[WORKER_FRAMES];
	size_t n;
};

/* Memory of one worker for pool_open(); its context is a struct worker_context. */
struct pool_memory worker_memory(struct worker_context *context);

/* Takes the chunk; NULL: no memory, the chunk is ended. */
struct text_job *text_job_open(const struct worker_context *c, struct chunk *chunk);
void text_job_close(struct text_job *j);
pool_work text_job_run;

struct frame_job *frame_job_open(const struct worker_context *c, void *stream);
void frame_job_close(struct frame_job *j);
bool frame_job_full(const struct frame_job *j);
pool_work frame_job_run;

/* For pool_close(). */
void worker_drop(enum pool_line line, void *job);

#endif
