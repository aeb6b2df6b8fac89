/*
 * normalizer.h -- what is done to text before it is split: NFC, text put in front, text replaced.
 *
 * A list of steps, each over the whole of what the one before gave. Example, Llama-2: prepend "_",
 * then replace " " by "_" (where _ is U+2581): "a b" -> "_a_b". Most texts are changed by no step;
 * these are recognised first and never copied.
 *
 * Thread: the list is immutable once it is filled, and shared; a scratch belongs to one thread.
 */
#ifndef PRODUCER_PRETOKENIZER_NORMALIZER_H
#define PRODUCER_PRETOKENIZER_NORMALIZER_H

#include "producer/pretokenizer/nfc.h"

enum { NORMALIZER_STEPS_MAX = 16, NORMALIZER_TEXT_MAX = 256 };

enum normalizer_kind { NORMALIZER_NFC, NORMALIZER_PREPEND, NORMALIZER_REPLACE };

struct normalizer_step {
	enum normalizer_kind kind;
	uint8_t pattern[NORMALIZER_TEXT_MAX]; /* [pattern_n], of REPLACE; never empty there */
	uint8_t content[NORMALIZER_TEXT_MAX]; /* [content_n], of REPLACE and PREPEND */
	size_t pattern_n, content_n;
};

struct normalizer {
	struct normalizer_step step[NORMALIZER_STEPS_MAX];
	size_t n;
};

/* Zero-initialise, end with normalizer_scratch_close(). */
struct normalizer_scratch {
	struct buffer text[2];
	struct nfc_scratch nfc;
};

void normalizer_scratch_close(struct normalizer_scratch *s);

/*
 * Sets *out to what the steps make of text[n], valid UTF-8: the text itself where nothing changes,
 * else memory of the scratch, borrowed until the next call. *out_n can be 0. *head, the bytes of
 * the first character, becomes how many of the first bytes of *out come from it; after NFC it means
 * nothing, and recipe_json.c refuses what would need it. FAIL_MEMORY only.
 */
enum fail_code normalizer_run(const struct normalizer *z, struct normalizer_scratch *s,
    const uint8_t *text, size_t n, const uint8_t **out, size_t *out_n, size_t *head,
    struct failure *f);

/*
 * Adds text[n] to `out` with every `pattern`, which is not empty, as `content`, from left to right.
 */
enum fail_code normalizer_replace(const uint8_t *text, size_t n, const uint8_t *pattern,
    size_t pattern_n, const uint8_t *content, size_t content_n, struct buffer *out,
    struct failure *f);

#endif
