/*
 * tokenizer.h -- byte-level BPE: text to token ids, exactly as the model's own tokenizer.
 *
 * A `struct tokenizer` is the compiled table: immutable after tokenizer_open(), shared by threads
 * without locks. A `struct encoder` is one thread's scratch memory and piece cache over a table.
 * Text is what a document holds; the special tokens of a .tiktoken inside it are ordinary text (as
 * tiktoken's encode_ordinary). No BOS or EOS is added but with `add_special`: the packer puts eos
 * between documents in any case.
 *
 * Of a .tiktoken file the rank is the id and the order of merges. It holds no special tokens: those
 * of gpt2, r50k_base, p50k_base, cl100k_base and o200k_base are known by pattern and number of
 * ranks.
 *
 * A tokenizer.json (tokenizer_json.h) says all of that itself, in the semantics of its own library:
 * merges have an order of their own, and added tokens are found in the text, special ones too
 * unless `special_as_text`.
 */
#ifndef PRODUCER_TOKENIZER_TOKENIZER_H
#define PRODUCER_TOKENIZER_TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"

struct tokenizer;
struct encoder;

struct tokenizer_options {
	const char *file;    /* .tiktoken or tokenizer.json, told apart by the content */
	const char *pattern; /* of a .tiktoken: "gpt2", ...; else FAIL_CONFIG that lists them */
	const char *eos;  /* special token, or one of the file; NULL: tokenizer_eos() is not used */
	bool add_special; /* a tokenizer.json's template, such as BOS, around every text */
	bool special_as_text; /* its special tokens are not looked for in the text */
};

/* Growing array of ids; zero-initialise, end with token_buffer_close(). */
struct token_buffer {
	uint32_t *id;
	size_t n;
	size_t room;
};

/* Gives *out, to be ended with tokenizer_close(). FAIL_CONFIG or FAIL_DATA names file and line. */
enum fail_code tokenizer_open(
    struct tokenizer **out, const struct tokenizer_options *o, struct failure *f);
void tokenizer_close(struct tokenizer *t);

/* XXH64 of the canonical compiled table: vocabulary bytes, ranks, pattern, specials, class table.
 */
uint64_t tokenizer_fingerprint(const struct tokenizer *t);
uint32_t tokenizer_entries(const struct tokenizer *t); /* largest id, specials included, + 1 */
uint32_t tokenizer_eos(const struct tokenizer *t);

/* Borrows the bytes of one id for the table's life; NULL: no such id. */
const uint8_t *tokenizer_bytes(const struct tokenizer *t, uint32_t id, size_t *n);

/*
 * Bytes at the start of decoded text[n] that the tokenizer put there, as the space that some files
 * have before every text; `first` is the first id of it.
 */
size_t tokenizer_decoded_cut(
    const struct tokenizer *t, uint32_t first, const uint8_t *text, size_t n);

/* Gives *out, to be ended with encoder_close() before the table; borrows `t` until then. */
enum fail_code encoder_open(struct encoder **out, const struct tokenizer *t, struct failure *f);
void encoder_close(struct encoder *e);

/*
 * Appends the ids of text[n] to `out`. Invalid UTF-8 is read as U+FFFD for each maximal invalid
 * part, as Python's errors="replace" does. Linear or n log n on any input. FAIL_MEMORY only, to
 * which a text of over 715,827,882 bytes belongs.
 */
enum fail_code encoder_encode(
    struct encoder *e, const char *text, size_t n, struct token_buffer *out, struct failure *f);

/* The same for a text that is known to be UTF-8: it is not looked through once more. */
enum fail_code encoder_encode_valid(
    struct encoder *e, const char *text, size_t n, struct token_buffer *out, struct failure *f);

/* Makes room for `more` further ids. */
enum fail_code token_buffer_reserve(struct token_buffer *b, size_t more, struct failure *f);
void token_buffer_close(struct token_buffer *b);

#endif
