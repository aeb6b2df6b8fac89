/*
 * input_tokens.h -- an input that is files of tokens; part of input.c.
 *
 * The reader thread finds the documents and checks their ids (token_file.h); a chunk is some of
 * them, an array of uint32_t each.
 */
#ifndef PRODUCER_INPUT_INPUT_TOKENS_H
#define PRODUCER_INPUT_INPUT_TOKENS_H

#include "producer/input/input_state.h"

struct input_tokens;

/* Fills in->tokens. FAIL_DATA: the place where the last run stood is not in the files. */
enum fail_code input_tokens_open(struct input *in, const struct input_options *o,
    const struct input_position *from, struct failure *f);
void input_tokens_close(struct input_tokens *t); /* NULL is accepted */

/* The reader thread's work. */
enum fail_code input_tokens_read(struct input *in, struct failure *f);

#endif
