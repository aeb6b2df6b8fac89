/*
 * inspect_output.h -- how `riffle inspect` prints the sequences of a step and their documents.
 *
 *   text   a line of column names, then a line a document of each sequence, tabs between
 *   json   one object with the step's facts and a list of sequences, each with its documents
 */
#ifndef CLI_INSPECT_INSPECT_OUTPUT_H
#define CLI_INSPECT_INSPECT_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "common/record/batch.h"
#include "common/base/failure.h"

struct inspect_output;

/* Borrows `to` for its life. Gives *out, to be ended with inspect_output_close(). */
enum fail_code inspect_output_open(
    struct inspect_output **out, FILE *to, bool json, struct failure *f);
void inspect_output_close(struct inspect_output *o); /* NULL is accepted */

/* The next lane of the step. FAIL_DATA: a sequence in it cannot be read. */
enum fail_code inspect_output_lane(
    struct inspect_output *o, struct batch_view *b, struct failure *f);

/* All lanes are there; JSON is written now. */
enum fail_code inspect_output_end(struct inspect_output *o, struct failure *f);

#endif
