/*
 * pretokenizer.h -- cuts text into pieces as the pre_tokenizer of a tokenizer.json does.
 *
 * A list of steps; each cuts every stretch that the one before has left. A step may also change the
 * text: put a space or a mark in front of a stretch, or write every space as the mark. Example,
 * [Digits, ByteLevel]: "ab12 c" -> ab 1 2 _c.
 *
 * Where nothing cuts, as in Llama-2, the whole text is one piece. If no token has the mark behind
 * another character, no merge can reach over such a place, so cutting there changes nothing and
 * makes pieces that can be remembered (`cut_marks`, which the compiler of the table proves).
 *
 * The list is immutable, shared by threads; a scratch belongs to one thread.
 */
#ifndef PRODUCER_PRETOKENIZER_PRETOKENIZER_H
#define PRODUCER_PRETOKENIZER_PRETOKENIZER_H

#include <stdbool.h>

#include "producer/pretokenizer/splitter.h"
#include "common/base/buffer.h"

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
	bool
	    cut_marks; /* what is left is cut before U+2581, where another character is before it */
};

/* Text and where its stretches end. */
struct pretokenizer_cuts {
	const uint8_t *text; /* borrowed, or in a buffer of the scratch */
	size_t n;
	uint32_t *end; /* [count], owned */
	size_t count, room;
};

/* Zero-initialise, end with pretokenizer_scratch_close(). */
struct pretokenizer_scratch {
	struct pretokenizer_cuts cuts[2];
	struct buffer text[2];
};

void pretokenizer_scratch_close(struct pretokenizer_scratch *s);

/*
 * Runs all steps over text[n], n > 0, and gives what is left; borrowed until the next call. `head`:
 * so many bytes are from the first character of the document, 0: none.
 */
enum fail_code pretokenizer_run(const struct pretokenizer *p, struct pretokenizer_scratch *s,
    const uint8_t *text, size_t n, size_t head, const struct pretokenizer_cuts **out,
    struct failure *f);

/* That all of it is one step by a pattern, which can be done without remembering the cuts. */
static inline bool
pretokenizer_is_one_split(const struct pretokenizer *p)
{
	return p->n == 1 && p->step[0].kind == PRETOKENIZER_SPLIT && !p->cut_marks;
}

#endif
