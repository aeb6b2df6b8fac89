/*
 * inspect_output.h -- how `riffle inspect` prints the sequences of a step and their documents.
 *
 *   text   a line of column names, then a line a document of each sequence, tabs between
 *   json   one object with the step's facts and a list of sequences, each with its documents
 *
 *     lane  slot  domain  partition  ordinal  epoch  start  tokens  source      document  offset
 *     0     0     code    0          17       0      0      213     code.jsonl  41        512
 *     0     0     code    0          17       0      213    300     code.jsonl  42        0
 *     0     1     prose   0          88       0      0      513     prose.jsonl 9         1024
 *
 * Read: slot 0 of lane 0 is ordinal 17 of code. Its tokens [0, 213) are the rest of document 41 of
 * code.jsonl, from that document's token 512 on; at token 213 document 42 begins.
 *
 *     inspect_output_open   inspect_output_lane ...   inspect_output_end   inspect_output_close
 *
 * Text is written lane by lane. JSON is kept until the end, since one object is to be whole: its
 * memory grows with the documents of a step.
 */
#ifndef CLI_INSPECT_INSPECT_OUTPUT_H
#define CLI_INSPECT_INSPECT_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "common/base/failure.h"
#include "common/record/batch.h"

struct inspect_output;

/* Borrows `to` for its life. Gives *out, to be ended with inspect_output_close(). */
enum fail_code inspect_output_open(
    struct inspect_output **out, FILE *to, bool json, struct failure *f);
void inspect_output_close(struct inspect_output *o); /* NULL is accepted */

/*
 * The next lane of the step, of which nothing was read yet but the head. FAIL_DATA: a sequence in
 * it cannot be read; those before it are printed.
 */
enum fail_code inspect_output_lane(
    struct inspect_output *o, struct batch_view *b, struct failure *f);

/* All lanes are there; JSON is written now. */
enum fail_code inspect_output_end(struct inspect_output *o, struct failure *f);

#endif
