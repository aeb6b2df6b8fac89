/*
 * encoder.h -- text to token ids by a tokenizer: one thread's way.
 *
 * A `struct encoder` is one thread's scratch memory and caches over a table that all threads share
 * (producer/tokenizer/tokenizer.h). Two encoders of one table give the same ids for the same text,
 * whatever they have encoded before.
 *
 * Files of this room:
 *     encoder       a text: added tokens, normaliser, pieces, batches of pieces
 *     rare_pieces   the pieces of a batch that the first look into the cache did not find
 *     token_buffer  ids that grow at their end
 *
 *     text -- valid UTF-8? --> U+FFFD for what is not
 *       |
 *       |  of a tokenizer.json: added tokens | normaliser | added tokens | pretokenizer
 *       |  of a .tiktoken: the splitter alone
 *       v
 *     pieces, in batches of 256 or so
 *       |
 *       +-- keys of all, and their lines of the piece cache on their way here
 *       +-- a look into the line of each: found, as nearly all are --> ids
 *       +-- the others together, in rare_pieces --> their ids put between these
 *
 * Why batches. A look into the cache reads one line of up to 32 MB, and waiting for each would take
 * far longer than all else. So the lines of a whole batch are sent for before the first is read.
 *
 * Text is what a document holds; the special tokens of a .tiktoken inside it are ordinary text (as
 * tiktoken's encode_ordinary). No BOS or EOS is added but with `add_special`: the packer puts eos
 * between documents in any case.
 *
 * Thread: an encoder belongs to one thread at a time.
 */
#ifndef PRODUCER_ENCODER_ENCODER_H
#define PRODUCER_ENCODER_ENCODER_H

#include "producer/encoder/token_buffer.h"
#include "producer/tokenizer/tokenizer.h"

struct encoder;

/* Gives *out, to be ended with encoder_close() before the table; borrows `t` until then. */
enum fail_code encoder_open(struct encoder **out, const struct tokenizer *t, struct failure *f);
void encoder_close(struct encoder *e); /* NULL is accepted */

/*
 * Appends the ids of text[n] to `out`. Invalid UTF-8 is read as U+FFFD for each maximal invalid
 * part, as Python's errors="replace" does. Linear or n log n on any input. FAIL_MEMORY only, to
 * which a text of over 715,827,882 bytes belongs; then `out` may hold ids of a part of the text.
 */
enum fail_code encoder_encode(
    struct encoder *e, const char *text, size_t n, struct token_buffer *out, struct failure *f);

/* The same for a text that is known to be UTF-8: it is not checked a second time. */
enum fail_code encoder_encode_valid(
    struct encoder *e, const char *text, size_t n, struct token_buffer *out, struct failure *f);

#endif
