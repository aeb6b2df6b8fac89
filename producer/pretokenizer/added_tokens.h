/*
 * added_tokens.h -- tokens that are looked for in the text itself, before anything is split.
 *
 * A tokenizer.json has two sets: one for the text as it is, one for what the normaliser made of the
 * rest. In each, from left to right, the longest token that begins at a place is found, and the
 * search continues behind it. Then the flags of that token decide:
 *
 *   single_word   it counts only where neither neighbour is of a word (\w)
 *   lstrip        it takes the white space before it, up to the token before
 *   rstrip        it takes the white space behind it
 *   special       it counts as text where that is asked for
 *
 * A token of white space with lstrip may stand where a token before it has taken all of that white
 * space. Nothing is left for it, and it is dropped.
 *
 * A token that does not count hides those that would begin inside it: the ids must be those of the
 * library tokenizers, so its rules are kept to the letter. Example, the tokens <s> and [M] with
 * lstrip: "ab [M]<s>" gives the spans ab, " [M]" as a token, <s> as a token.
 *
 * Tokens are in a tree by bytes, each node with a list of its children. Most texts hold none of
 * them, so what counts is passing over text quickly: a table of the first two bytes says where a
 * token can begin at all, and if all begin with the same byte, memchr() finds the places.
 *
 * Thread: a set is immutable after the last change, and shared; a search is one
 * thread's.
 */
#ifndef PRODUCER_PRETOKENIZER_ADDED_TOKENS_H
#define PRODUCER_PRETOKENIZER_ADDED_TOKENS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"

enum {
	ADDED_TOKENS_MAX = 1 << 16,
	ADDED_TOKENS_BYTES_MAX = 1 << 10, /* of one token */
};

struct added_token {
	uint32_t id;
	bool single_word, lstrip, rstrip;
	bool as_text; /* special, and those are text here */
};

/* A byte on the way to tokens. */
struct added_node {
	uint32_t child, sibling; /* 0: there is none */
	uint32_t token;          /* + 1; 0: no token ends here */
	uint8_t byte;
};

/* One set; zero-initialise, end with added_tokens_close(). */
struct added_tokens {
	struct added_token *token; /* [n], owned */
	size_t n, room;
	struct added_node *node; /* [nodes_n], owned; the first is the root */
	size_t nodes_n, nodes_room;
	uint64_t begins[256 * 256 / 64]; /* a bit for each two bytes that a token can begin with */
	bool begins_one[256];            /* and for each single one */
	int only;                        /* the byte all begin with; -1: there are several */
};

void added_tokens_close(struct added_tokens *a);

/*
 * Adds content[n], 0 < n <= ADDED_TOKENS_BYTES_MAX; copies both. The set has fewer than
 * ADDED_TOKENS_MAX. FAIL_DATA for the same content twice: the sentence is the caller's to write.
 */
enum fail_code added_tokens_add(struct added_tokens *a, const uint8_t *content, size_t n,
    const struct added_token *token, struct failure *f);

/* Forgets the tokens with this id: their contents are text again. Looks at all nodes. */
void added_tokens_drop(struct added_tokens *a, uint32_t id);

/* A stretch of text: a token, or text up to the next one. */
struct added_span {
	const struct added_token *token; /* NULL: text[start] up to text[end] is none */
	size_t start, end;
};

/* Where a search stands; zero-initialise and set the first three. */
struct added_search {
	const struct added_tokens *set;
	const uint8_t *text; /* [n], valid UTF-8, borrowed */
	size_t n;
	size_t at;       /* where the search continues */
	size_t given;    /* spans up to here were given */
	size_t space[2]; /* known: white space reaches from the first to the second of these */
	struct added_span next; /* found, and not given yet, as text before it was to be given */
	bool has_next;
};

/*
 * Gives the next span; false: there are no more. Spans are never empty. A token without lstrip that
 * begins in the white space another one took is given all the same, and the text behind it again,
 * as tokenizers does.
 */
bool added_search_next(struct added_search *s, struct added_span *span);

#endif
