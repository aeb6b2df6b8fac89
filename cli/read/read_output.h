/*
 * read_output.h -- how `riffle read` prints a step; every step is out (flushed) on return.
 *
 *   steps   a line a lane: step, lane, XXH64 (seed 0, 16 hex digits) of the lane's tokens as
 *           little-endian u32 in the lane's order, "domain:count,..." sorted by name; tabs between
 *   jsonl   an object a sequence: step, lane, domain, partition, ordinal, epoch, source (of its
 *           first token), used (tokens before the padding), no_loss ([[start, end], ...], half
 *           open: tokens that are no targets), keep (what is kept of its first document; not there
 *           where nothing is; a text where it is not JSON on one line), tokens
 *   tokens  the tokens as little-endian u32, nothing between; all of each sequence, with padding
 *   none    nothing
 */
#ifndef CLI_READ_READ_OUTPUT_H
#define CLI_READ_READ_OUTPUT_H

#include <stdio.h>

#include "common/base/failure.h"
#include "consumer/reader/riffle.h"

enum read_output_format {
	READ_OUTPUT_STEPS,
	READ_OUTPUT_JSONL,
	READ_OUTPUT_TOKENS,
	READ_OUTPUT_NONE
};
extern const char *const read_output_format_text[]; /* by format, ends with NULL */

struct read_output;

/* Borrows `to` for its life. Gives *out, to be ended with read_output_close(). */
enum fail_code read_output_open(
    struct read_output **out, FILE *to, enum read_output_format format, struct failure *f);
void read_output_close(struct read_output *o); /* NULL is accepted */

/* Prints a step of `lanes` lanes; its tokens are 4 bytes each. FAIL_IO: it could not be written. */
enum fail_code read_output_step(
    struct read_output *o, const struct riffle_step *s, size_t lanes, struct failure *f);

#endif
