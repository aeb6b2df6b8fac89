/*
 * tokenize_input.h -- the lines that `riffle tokenize` reads: of one file, plain or compressed, or
 * of standard input, plain.
 */
#ifndef CLI_TOKENIZE_TOKENIZE_INPUT_H
#define CLI_TOKENIZE_TOKENIZE_INPUT_H

#include "common/base/failure.h"
#include "producer/input/chunk.h"

enum {
	TOKENIZE_INPUT_CHUNK_BYTES = 256 << 10, /* a job of a worker */
	TOKENIZE_INPUT_LINE_MAX = 512 << 20,    /* bytes */
};

struct tokenize_input;

/* Gives *out, to be ended with tokenize_input_close(). `path` NULL: standard input; borrowed. */
enum fail_code tokenize_input_open(
    struct tokenize_input **out, const char *path, struct failure *f);
void tokenize_input_close(struct tokenize_input *in); /* NULL is accepted */

/*
 * Gives the next lines as a chunk (chunk_close), *out = NULL at the end. What is too long to
 * be a line is a record with its reject set.
 */
enum fail_code tokenize_input_next(
    struct tokenize_input *in, struct chunk **out, struct failure *f);

#endif
