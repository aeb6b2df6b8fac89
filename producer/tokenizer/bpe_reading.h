/*
 * bpe_reading.h -- what bpe_json.c, bpe_vocab.c and bpe_merges.c share: a "model" that is being
 * read. Nobody else includes it.
 *
 * "vocab" and "merges" are most of a tokenizer.json, so that they are read as they stand and never
 * become a tree.
 */
#ifndef PRODUCER_TOKENIZER_BPE_READING_H
#define PRODUCER_TOKENIZER_BPE_READING_H

#include "common/base/json_text.h"
#include "producer/tokenizer/bpe_json.h"

enum { BPE_MERGES_AT_ONCE = 64 /* looked up together, so that the slots have time to arrive */ };

/* A token as read: its text in the buffer of the reading. */
struct bpe_entry {
	uint32_t id, start, n;
};

/* A merge whose texts are read, [start, start + left_n + right_n) of the buffer. */
struct bpe_waiting {
	size_t start, left_n, right_n;
	uint64_t left_hash, right_hash;
};

struct bpe_reading {
	struct bpe_json *b;
	const char *file, *key; /* what is being read */
	struct json_text t;
	char *room; /* for one decoded text, as long as the JSON */
	struct buffer texts;
	struct bpe_entry *entry; /* [b->entries] */
	size_t entries_room;
	size_t merges_room;
	struct bpe_waiting waiting[BPE_MERGES_AT_ONCE]; /* [waiting_n] */
	size_t waiting_n;
};

/* Fails with the place where the JSON was no good. */
enum fail_code bpe_reading_fail(const struct bpe_reading *r, struct failure *f);

/* Each gives false where the text is not so; bpe_reading_fail() then says it. */
bool bpe_reading_text(struct bpe_reading *r, const char **text, size_t *n);
/* Opens a container; *ended: it is empty. */
bool bpe_reading_open(struct bpe_reading *r, char open, char end, bool *ended);
/* What follows a value: true: a comma, or the end with *ended. */
bool bpe_reading_comma(struct bpe_reading *r, char end, bool *ended);

/* ---- bpe_vocab.c ---- */

enum fail_code bpe_reading_vocab(struct bpe_reading *r, struct failure *f);
/* Makes the vocabulary of what was read. */
enum fail_code bpe_reading_index(struct bpe_reading *r, struct failure *f);

/* ---- bpe_merges.c ---- */

/* After the vocabulary. */
enum fail_code bpe_reading_merges(struct bpe_reading *r, struct failure *f);

#endif
