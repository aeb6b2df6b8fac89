/*
 * special_list.h -- collects tokens that stand for themselves, and gives them in the order of ids.
 *
 * Such a token has no bytes in the vocabulary, or others than it is decoded to: added tokens, and
 * tokens of a byte-level model whose text shows no bytes. Their texts move while the list grows, so
 * that entries hold places, and pointers are made only when it is given.
 *
 * Zero-initialise, end with special_list_close().
 */
#ifndef PRODUCER_TOKENIZER_SPECIAL_LIST_H
#define PRODUCER_TOKENIZER_SPECIAL_LIST_H

#include "producer/tokenizer/tokenizer_table.h"

struct special_list {
	struct buffer texts; /* one behind the other, each with a NUL */
	struct special_list_entry {
		uint32_t id;
		size_t start, order;
	} * entry; /* [n], owned */
	size_t n, room;
};

void special_list_close(struct special_list *l);

/* Notes text[n], which holds no NUL; a later one of the same id takes its place. */
enum fail_code special_list_add(
    struct special_list *l, uint32_t id, const void *text, size_t n, struct failure *f);

/* Fills t->special and t->recipe->texts, and leaves the list empty. */
enum fail_code special_list_give(struct special_list *l, struct tokenizer *t, struct failure *f);

#endif
