/*
 * riffle.h -- libriffle: a trainer's end of a mix.
 *
 * A reader is one rank of a training run. It reads lanes l with floor(l * world / lanes) == rank of
 * <mix>.batches (L lanes, B sequences a step, B/L a lane), whole steps in order: step s of the rank
 * is the B/world sequences of its lanes, in lane order. Any world that divides L sees the same
 * global batches. The first step is one the caller names (a checkpoint) or the lowest that the run
 * has committed; after that each step must be the previous one plus 1, or riffle_next() fails.
 *
 *     struct riffle *r;
 *     struct riffle_error e;
 *     struct riffle_options o = {.mix = "pretrain", .bootstrap = "localhost:9092", .world = 1,
 *         .token_bytes = 4, .start = RIFFLE_START_COMMITTED};
 *     if (riffle_open(&r, &o, &e) != RIFFLE_OK) ...
 *     for (;;) {
 *         const struct riffle_step *s;
 *         int rc = riffle_next(r, 10000, &s, &e);
 *         if (rc != RIFFLE_OK) break;     // RIFFLE_END, RIFFLE_TIMEOUT, or an error
 *         train(s->tokens, s->sequences, s->tokens_each);
 *         riffle_commit(r, &e);           // progress: all up to s->step is read
 *     }
 *     riffle_close(r);
 *
 * Ownership: what riffle_next() points to is borrowed until the next call on the same reader.
 * Errors: a code to branch on and a sentence in *e. Thread: one thread a reader; readers are
 * independent. The library writes nothing to stdout, logs to stderr, never ends the process.
 */
#ifndef RIFFLE_H
#define RIFFLE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RIFFLE_API __attribute__((visibility("default")))

enum {
	RIFFLE_OK = 0,
	RIFFLE_END = 1,         /* the mix has ended; there is no such step */
	RIFFLE_TIMEOUT = 2,     /* the step is not published yet; call again */
	RIFFLE_ERROR_USAGE = 3, /* the options are wrong, or do not fit the mix */
	RIFFLE_ERROR_MEMORY = 4,
	RIFFLE_ERROR_BROKER = 5,  /* Kafka could not be reached, or refused */
	RIFFLE_ERROR_DATA = 6,    /* a record, a hash or the order of steps is wrong */
	RIFFLE_ERROR_EXPIRED = 7, /* the step is below the earliest that is retained */
	RIFFLE_ERROR_LOST = 8, /* the run's commits are gone, and the mix knows that it had some */
};

struct riffle_error {
	int code;
	char text[1024];
};

enum riffle_start {
	RIFFLE_START_COMMITTED =
	    0,                 /* lowest step over all lanes of the run's group; none: step 0 */
	RIFFLE_START_STEP = 1, /* `step` */
};

struct riffle; /* a reader */

struct riffle_property {
	const char *name, *value;
};

struct riffle_options {
	const char *mix;       /* name of the mix */
	const char *bootstrap; /* host:port,...; NULL: only through properties */
	const char *run;       /* group is <mix>.<run>; NULL: "trainers" */
	uint32_t rank, world;
	enum riffle_start start;
	uint64_t step;        /* RIFFLE_START_STEP: the first step */
	uint32_t token_bytes; /* element size of tokens: 2 (uint16) or 4 (uint32) */
	const struct riffle_property *properties; /* further librdkafka properties */
	size_t properties_n;
	/*
	 * k > 0: riffle_next() commits by itself, before it looks for the next step, once k steps
	 * were read since the last commit, or a quarter of the mix's lead where that is less: a run
	 * that never commits holds the mixer up. At the mix's end it commits the end. 0: only
	 * riffle_commit().
	 */
	uint64_t commit_every;
	int open_timeout_ms; /* riffle_open() waits this long for the broker; 0: 10,000 */
};

/* A stretch of one document inside a sequence; it ends where the next begins, the last at `used`.
 */
struct riffle_span {
	uint32_t start;     /* index in the sequence of its first token */
	const char *source; /* file or program it came from */
	uint64_t document;  /* index in its input */
	uint64_t offset;    /* index of that token in the document */
	/*
	 * What the configuration keeps of the document (`keep`): a JSON object without line ends,
	 * {"answer":"42","meta.id":7}, with a NUL behind it that keep_n does not count. keep_n 0:
	 * nothing is kept. A document that was split has it in each of its stretches.
	 */
	const char *keep;
	size_t keep_n;
};

/* Tokens [start, end) of a sequence; not empty. */
struct riffle_range {
	uint32_t start, end;
};

/*
 * A sequence of tokens_each tokens, of which the first `used` are of documents and the others
 * padding, all of them the tokenizer's eos. `used` is tokens_each but for packing none and best_fit
 * (docs/DESIGN.md). A token in a no_loss range is no target: with inputs token[0 .. n-1) and labels
 * token[1 .. n), label i counts unless i + 1 is in a range. Prompts (`prompt`) and padding are in
 * one, so that whoever masks by no_loss need not look at `used`.
 */
struct riffle_sequence {
	const char *domain;
	uint32_t domain_index; /* in the mix */
	uint32_t lane;
	uint32_t partition;              /* of the domain's topic */
	uint64_t ordinal;                /* in that partition */
	uint64_t epoch;                  /* complete passes over the domain before it */
	uint32_t used;                   /* tokens before padding */
	const struct riffle_span *spans; /* [spans_n], ascending by start */
	size_t spans_n;
	const struct riffle_range *no_loss; /* [no_loss_n], ascending, without overlap */
	size_t no_loss_n;
};

struct riffle_step {
	uint64_t step;
	size_t sequences;   /* B / world */
	size_t tokens_each; /* S + 1 */
	const void *tokens; /* [sequences][tokens_each], native order, token_bytes each */
	const struct riffle_sequence *sequence; /* [sequences], in lane order */
	double lr_scale;
	const char *phase; /* "" where there is none */
	uint64_t version;  /* of the weights in force */
};

/* Shape of the mix, known after riffle_open(). */
struct riffle_info {
	uint32_t lanes;           /* L */
	uint32_t lanes_mine;      /* L / world */
	uint32_t global_batch;    /* B */
	uint32_t sequence_length; /* S */
	uint64_t schedule;        /* hash of what fixes the order; belongs into checkpoints */
	uint64_t tokenizer;       /* fingerprint */
};

/* Gives *out, to be ended with riffle_close(). Copies the options. Finds the first step. */
RIFFLE_API int riffle_open(
    struct riffle **out, const struct riffle_options *options, struct riffle_error *e);
RIFFLE_API void riffle_close(struct riffle *r); /* NULL is accepted; commits nothing */

/* Known once a first record was read; lanes_mine and lanes from the start, else zeros. */
RIFFLE_API void riffle_get_info(const struct riffle *r, struct riffle_info *out);

/*
 * The next whole step, or nothing: RIFFLE_TIMEOUT after timeout_ms leaves the position as it was.
 * Checks record, frame hash, mix, and that the step is the previous one plus 1 on every lane.
 */
RIFFLE_API int riffle_next(
    struct riffle *r, int timeout_ms, const struct riffle_step **out, struct riffle_error *e);

/* The step that riffle_next() will return: what belongs into a checkpoint. */
RIFFLE_API uint64_t riffle_position(const struct riffle *r);

/*
 * Commits, for the reader's lanes, that all steps below riffle_position() are read; waits for the
 * broker's answer.
 */
RIFFLE_API int riffle_commit(struct riffle *r, struct riffle_error *e);

/* Version of the library: "0.1.0". */
RIFFLE_API const char *riffle_version(void);

#ifdef __cplusplus
}
#endif

#endif
