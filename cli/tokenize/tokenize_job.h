/*
 * tokenize_job.h -- what a worker of `riffle tokenize` does with one chunk of lines.
 *
 *     {"text": "Hello world"}  ->  {"tokens":[9906,1917]}      and with `decode` the other way
 * round
 *
 * The first line that cannot be done ends the job with "FILE: line 7: why"; what came before it is
 * in the job all the same.
 *
 * Thread: a job and a worker's memory belong to one thread at a time; the task is shared.
 */
#ifndef CLI_TOKENIZE_TOKENIZE_JOB_H
#define CLI_TOKENIZE_TOKENIZE_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "producer/input/chunk.h"
#include "common/base/json_field.h"
#include "producer/tokenizer/tokenizer.h"

/* What all workers do; immutable, borrowed by them. */
struct tokenize_task {
	const struct tokenizer *tokenizer;
	const char *field;        /* where the text is, or the tokens */
	struct json_paths *paths; /* of `field` alone */
	bool decode;
	bool count; /* no output but the totals */
};

struct tokenize_job {
	struct chunk *chunk; /* owned */
	char *output;        /* [output_n], owned */
	size_t output_n, output_room;
	uint64_t documents, bytes, tokens; /* bytes of text, not of JSON */
};

/* Gives *out, to be ended with tokenize_job_close(); takes `chunk` in any case. */
enum fail_code tokenize_job_open(struct tokenize_job **out, struct chunk *chunk, struct failure *f);
void tokenize_job_close(struct tokenize_job *j); /* NULL is accepted */

/* Worker's memory and work for producer/produce/pool.h; the context is a struct tokenize_task. */
enum fail_code tokenize_worker_open(void **out, void *task, struct failure *f);
void tokenize_worker_close(void *worker);
enum fail_code tokenize_job_work(void *job, void *worker, struct failure *f);

#endif
