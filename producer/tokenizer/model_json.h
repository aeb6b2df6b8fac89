/*
 * model_json.h -- reads the `model` of a tokenizer.json: the vocabulary as it is written, the
 * merges, the flags.
 *
 * "vocab" and "merges" are most of a tokenizer.json of tens of megabytes, so that they are read as
 * they stand, from front to back, and never become a tree.
 *
 * Merges are "a b" or ["a", "b"]; of the first, those that begin with #version are left out. Texts
 * of tokens are as in the file: model_compile.c knows what they stand for.
 */
#ifndef PRODUCER_TOKENIZER_MODEL_JSON_H
#define PRODUCER_TOKENIZER_MODEL_JSON_H

#include <stdbool.h>

#include "common/base/buffer.h"
#include "producer/bpe/pair_table.h"

/* Zero-initialise, end with model_json_close(). */
struct model_json {
	struct vocabulary text;   /* of the tokens, with an index */
	uint32_t entries;         /* how many tokens there are; ids can have holes */
	struct pair_merge *merge; /* [merges_n], owned; the first has the lowest rank */
	uint32_t merges_n;
	struct buffer unknown; /* text of the unknown token, if has_unknown */
	bool has_unknown, fuse_unknown, byte_fallback, ignore_merges;
};

/*
 * Fills the zeroed *model from json[n], which is valid UTF-8; `file` is for sentences. FAIL_DATA
 * names the member, and the byte or the merge.
 */
enum fail_code model_json_read(
    struct model_json *model, const char *file, const char *json, size_t n, struct failure *f);
void model_json_close(struct model_json *model);

#endif
