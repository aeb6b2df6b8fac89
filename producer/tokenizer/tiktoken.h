/*
 * tiktoken.h -- reads a .tiktoken file: a line a token, its bytes in base64, a space, its rank.
 *
 *     IQ== 0
 *     IGE= 258
 *
 * The rank is the id, and the order in which pairs merge. The file is checked strictly: canonical
 * base64 (RFC 4648, section 4), decimal ranks, no rank and no token twice. Empty lines are left
 * out, lines may end with CRLF, their order is free.
 */
#ifndef PRODUCER_TOKENIZER_TIKTOKEN_H
#define PRODUCER_TOKENIZER_TIKTOKEN_H

#include "producer/tokenizer/tokenizer_options.h"
#include "producer/tokenizer/tokenizer_table.h"

enum { TIKTOKEN_FILE_MAX = 256 << 20 /* bytes */ };

/*
 * Fills the zeroed *v, index included, to be ended with vocabulary_close() in any case. Ranks that
 * the file leaves out are holes. FAIL_IO: cannot be read. FAIL_DATA: "FILE: line 7: ...".
 */
enum fail_code tiktoken_read(struct vocabulary *v, const char *file, struct failure *f);

/*
 * Fills the zeroed table, to be ended with tokenizer_close() in any case. The file has no special
 * tokens: those of gpt2, r50k_base, p50k_base, cl100k_base and o200k_base are known by pattern and
 * number of ranks. FAIL_CONFIG: pattern or eos are none. FAIL_DATA: ranks or bytes are missing.
 */
enum fail_code tiktoken_load(
    struct tokenizer *t, const struct tokenizer_options *o, struct failure *f);

/* The pattern of the known file that has as many ranks, where that of `t` is another; or NULL. */
const char *tiktoken_other_pattern(const struct tokenizer *t);

#endif
