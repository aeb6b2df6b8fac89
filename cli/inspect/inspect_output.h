/*
 * inspect_output.h -- how `riffle inspect` prints the sequences of a step and their documents.
 *
 *   text   a line of column names, then a line a document of each sequence, tabs between
 *   json   one object with the step's facts and a list of sequences, each with its documents
 *
 *     lane slot domain partition ordinal epoch start tokens source      document offset line
 *     0    0    code   0         17      0     0     213    code.jsonl  41       512    42
 *     0    0    code   0         17      0     213   300    code.jsonl  42       0      43
 *     0    1    prose  0         88      0     0     513    prose.jsonl 1009     1024   ~10
 *
 * Read: slot 0 of lane 0 is ordinal 17 of code. Its tokens [0, 213) are the rest of document 41 of
 * its input, from that document's token 512 on: line 42 of code.jsonl. At token 213 document 42
 * begins. "~10": line 10, if there are no blank lines around; "-": the domain logs do not say it.
 *
 * Behind these come, where they are wanted, the ids of the document's tokens in the sequence, with
 * spaces between, and its text as a JSON string: a text can hold newlines and tabs.
 *
 *     inspect_output_open   inspect_output_lane ...   inspect_output_end   inspect_output_close
 *
 * Text is written lane by lane. JSON is kept until the end, since one object is to be whole: its
 * memory grows with the documents of a step.
 */
#ifndef CLI_INSPECT_INSPECT_OUTPUT_H
#define CLI_INSPECT_INSPECT_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/inspect/inspect_lines.h"
#include "common/base/failure.h"
#include "common/record/batch.h"
#include "consumer/replay/published_step.h"
#include "producer/tokenizer/tokenizer.h"

struct inspect_output;

struct inspect_output_options {
	FILE *to;
	bool json;
	bool ids;                     /* the tokens of each document */
	const struct tokenizer *text; /* NULL: no text */
	bool derived;                 /* the step is not in the batch topic any more */
	const struct inspect_lines *lines;
};

/* Copies the options, borrows what they point to. Gives *out, for inspect_output_close(). */
enum fail_code inspect_output_open(
    struct inspect_output **out, const struct inspect_output_options *o, struct failure *f);
void inspect_output_close(struct inspect_output *o); /* NULL is accepted */

/*
 * The next lane of the step, of which nothing was read yet but the head. FAIL_DATA: a sequence in
 * it cannot be read, or its tokens where they are wanted; those before it are printed. FAIL_CONFIG:
 * it was made with another tokenizer than the one for the text.
 */
enum fail_code inspect_output_lane(
    struct inspect_output *o, struct batch_view *b, struct failure *f);

/* All lanes are there; JSON is written now. */
enum fail_code inspect_output_end(struct inspect_output *o, struct failure *f);

/* Both, of a whole step, or of one `lane` of it; -1: of all. A failure names the record. */
enum fail_code inspect_output_step(
    struct inspect_output *o, const struct published_step *s, int64_t lane, struct failure *f);

#endif
