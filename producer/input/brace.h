/*
 * brace.h -- brace expansion, as bash does it: one pattern to its words, in order.
 *
 *     code.{1..3}.gz  ->  code.1.gz code.2.gz code.3.gz      {a,b{1,2}}  ->  a b1 b2
 *     {08..10} -> 08 09 10    {1..9..4} -> 1 5 9    {c..a} -> c b a    x{,y} -> x xy
 *
 * Braces that are neither a list nor a range are ordinary text, as "{}", "{a}" and "{1..b}" are. A
 * backslash takes away the meaning of the next character; it stays in the word, for the matcher
 * that comes after.
 */
#ifndef PRODUCER_INPUT_BRACE_H
#define PRODUCER_INPUT_BRACE_H

#include <stddef.h>

#include "common/base/failure.h"

enum {
	BRACE_WORDS_MAX = 1 << 20, /* of one pattern */
	BRACE_WORD_BYTES = 4095,   /* of a pattern, and of each of its words */
};

struct brace_words {
	char **word;
	size_t n, room;
};

/* Appends the words of `pattern` to `w`. FAIL_CONFIG: a limit; the words before are in `w` then. */
enum fail_code brace_expand(struct brace_words *w, const char *pattern, struct failure *f);
void brace_words_close(struct brace_words *w);

#endif
