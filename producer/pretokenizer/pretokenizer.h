/*
 * pretokenizer.h -- cuts text into pieces as the pre_tokenizer of a tokenizer.json does.
 *
 * The room producer/pretokenizer/ has all that a tokenizer does to text before it merges:
 *
 *     text -> added_tokens -> normalizer -> added_tokens -> pretokenizer -> pieces -> bpe/
 *             of the text     (nfc)         of what that    (splitter)
 *             as it is                      gave
 *
 * encoder/ leads a text through it. A .tiktoken has none of these but the splitter.
 *
 * Files of this room:
 *     pretokenizer         steps that cut text, or change it for the model
 *     splitter             cuts by the patterns of gpt2, cl100k, o200k and qwen2
 *     splitter_avx2        the same over 64 bytes at once
 *     added_tokens         tokens that are looked for in the text itself
 *     normalizer           steps that change text before it is cut
 *     nfc                  Unicode normalisation form C
 *     nfc_table            what nfc.c knows of Unicode; generated
 *     unicode_class        the class of a code point, as the patterns see it; generated
 *     unicode_range        sets of code points beside these classes
 *     unicode_range_table  their ranges; generated
 *     code_point           one character of UTF-8: read, written
 *
 * A pretokenizer is a list of steps; each cuts every stretch that the one before has left. A step
 * may also change the text: put a space or a mark in front of a stretch, or write every space as
 * the mark. Examples, _ for a space and ~ for the mark:
 *
 *     [Digits, ByteLevel]     ab12_c   ->   ab 1 2 _c
 *     [Metaspace, always]     ab_c     ->   ~ab ~c
 *
 * Where nothing cuts, as in Llama-2, the whole text is one piece, and no cache would ever see it a
 * second time. If no token has the mark behind another character, no merge can reach over such a
 * place: cutting there changes no id, and makes pieces that can be remembered. `cut_marks` says so;
 * model_compile.c proves it, and knows the case of a character that vanishes between two marks.
 *
 * Thread: the list is immutable and shared; a scratch belongs to one thread.
 */
#ifndef PRODUCER_PRETOKENIZER_PRETOKENIZER_H
#define PRODUCER_PRETOKENIZER_PRETOKENIZER_H

#include <stdbool.h>

#include "common/base/buffer.h"
#include "producer/pretokenizer/splitter.h"

enum { PRETOKENIZER_STEPS_MAX = 16, PRETOKENIZER_MARK_MAX = 4 };

enum pretokenizer_kind {
	PRETOKENIZER_SPLIT,  /* by the pattern */
	PRETOKENIZER_DIGITS, /* each number by itself */
	PRETOKENIZER_RUNS,   /* each run of numbers by itself */
	PRETOKENIZER_SPACE,  /* a space in front where there is none */
	PRETOKENIZER_MARK,   /* the mark for every space, and in front by the scheme */
	PRETOKENIZER_CUT,    /* before every mark */
};

enum pretokenizer_scheme { PRETOKENIZER_ALWAYS, PRETOKENIZER_FIRST, PRETOKENIZER_NEVER };

struct pretokenizer_step {
	enum pretokenizer_kind kind;
	enum splitter_pattern pattern;       /* of SPLIT */
	enum pretokenizer_scheme scheme;     /* of MARK */
	uint8_t mark[PRETOKENIZER_MARK_MAX]; /* [mark_n]: one character, of MARK and CUT */
	size_t mark_n;
};

struct pretokenizer {
	struct pretokenizer_step step[PRETOKENIZER_STEPS_MAX];
	size_t n;
	/* What is left in the end is cut before each U+2581 that another character is before. */
	bool cut_marks;
};

/* Text and where its stretches end: they cover it in order, and none is empty. */
struct pretokenizer_cuts {
	const uint8_t *text; /* borrowed, or in a buffer of the scratch */
	size_t n;
	uint32_t *end; /* [count], owned */
	size_t count, room;
};

/* Two of each, from one to the other by turns. Zero-initialise; end with ..._scratch_close(). */
struct pretokenizer_scratch {
	struct pretokenizer_cuts cuts[2];
	struct buffer text[2];
};

void pretokenizer_scratch_close(struct pretokenizer_scratch *s);

/*
 * Takes text[n], valid UTF-8, n > 0, through all steps. Borrows what is left to the caller in *out,
 * until the next call and for the life of `text`. `head`: so many of its first bytes come from the
 * first character of the document; 0: none. FAIL_MEMORY only, to which a text belongs that a step
 * makes too long.
 */
enum fail_code pretokenizer_run(const struct pretokenizer *p, struct pretokenizer_scratch *s,
    const uint8_t *text, size_t n, size_t head, const struct pretokenizer_cuts **out,
    struct failure *f);

/*
 * Whether all of it is one step by a pattern: then the caller can split without keeping the cuts.
 * 
 */
static inline bool
pretokenizer_is_one_split(const struct pretokenizer *p)
{
	return p->n == 1 && p->step[0].kind == PRETOKENIZER_SPLIT && !p->cut_marks;
}

#endif
