/*
 * tokenize_job.h -- what `riffle tokenize` does once its options are read: reads lines, has threads
 * turn them into others, prints these in the order of the input.
 *
 *     {"text": "Hello world"}  ->  {"tokens":[9906,1917]}       with `decode` the other way round
 *
 *     tokenize_input --chunk--> pool of threads --job with its output--> `to`
 *
 * The caller's thread reads ahead of the workers and prints behind them; the jobs come out of the
 * pool in the order in which they went in. The first line that cannot be done ends the run with
 * "FILE: line 7: why"; what came before it is printed all the same.
 *
 * Thread: one. A job and a worker's memory belong to one thread at a time; the task is shared.
 */
#ifndef CLI_TOKENIZE_TOKENIZE_JOB_H
#define CLI_TOKENIZE_TOKENIZE_JOB_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/base/failure.h"
#include "common/base/json_field.h"
#include "producer/tokenizer/tokenizer.h"

/* What all workers do; immutable, borrowed by them. */
struct tokenize_job_task {
	const struct tokenizer *tokenizer;
	const char *field;              /* where the text is, or the tokens */
	struct json_field_paths *paths; /* of `field` alone */
	bool decode;
	bool count; /* no output but the totals */
};

struct tokenize_job_totals {
	uint64_t documents, bytes, tokens; /* bytes of text, not of JSON */
};

/*
 * Reads the file at `path`, NULL: standard input, and writes to `to`, which is flushed on return.
 * *totals counts what was done, also where it failed. Borrows all. FAIL_DATA: a line.
 */
enum fail_code tokenize_job_run(struct tokenize_job_task *task, uint32_t threads, const char *path,
    FILE *to, struct tokenize_job_totals *totals, struct failure *f);

#endif
