/*
 * bpe_json.h -- reads the `model` of a tokenizer.json: the vocabulary as it is written, the merges,
 * the flags.
 *
 * Merges are "a b" or ["a", "b"]; of the first, those that begin with #version are left out. Texts
 * of tokens are as in the file: what they stand for is tokenizer_json.c's to say.
 */
#ifndef PRODUCER_TOKENIZER_BPE_JSON_H
#define PRODUCER_TOKENIZER_BPE_JSON_H

#include <stdbool.h>

#include "producer/bpe/pair_table.h"
#include "common/base/buffer.h"

/* Zero-initialise, end with bpe_json_close(). */
struct bpe_json {
	struct vocabulary text;   /* of the tokens, with an index */
	uint32_t entries;         /* how many tokens there are; ids can have holes */
	struct pair_merge *merge; /* [merges_n], owned; the first has the lowest rank */
	uint32_t merges_n;
	struct buffer unknown; /* text of the unknown token; n 0: none */
	bool fuse_unknown, byte_fallback, ignore_merges;
};

/* Reads json[n], which is valid UTF-8; `file` is for sentences. */
enum fail_code bpe_json_read(
    struct bpe_json *b, const char *file, const char *json, size_t n, struct failure *f);
void bpe_json_close(struct bpe_json *b);

#endif
