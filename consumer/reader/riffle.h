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
 *     struct riffle_options o = {.size = sizeof(o), .mix = "pretrain", .world = 1,
 *         .bootstrap = "localhost:9092", .token_bytes = 4, .start = RIFFLE_START_COMMITTED};
 *     if (riffle_open(&r, &o, &e) != RIFFLE_OK) ...
 *     for (;;) {
 *         const struct riffle_step *s;
 *         int rc = riffle_next(r, 10000, &s, &e);
 *         if (rc != RIFFLE_OK) break;     // RIFFLE_END, RIFFLE_TIMEOUT, or an error
 *         train(s->tokens, s->sequences, s->tokens_each);
 *         riffle_commit(r, &e);           // progress: all up to s->step is trained
 *     }
 *     riffle_close(r);
 *
 * Threads of the reader's own fetch, check and decompress the steps that come next, within
 * ahead_bytes, so that riffle_next() mostly hands out what is ready.
 *
 * Ownership: what riffle_next() points to is borrowed until the next riffle_next(),
 * riffle_next_into() or riffle_seek() on the same reader, or longer by riffle_keep().
 * Errors: a code to branch on and a sentence in *e. The library has no globals but
 * riffle_set_log(), writes nothing to stdout, logs to stderr, never ends the process.
 *
 * Thread: a reader takes one call at a time. A second thread's call fails with RIFFLE_ERROR_USAGE
 * and changes nothing. Any thread may call riffle_metrics(), riffle_get_round(), riffle_position()
 * and riffle_committed() at any time, and one other thread may report (riffle_report(), and
 * riffle_flush() unless commits are asked for). The same rule holds for reporters and held-out
 * sets; a progress takes calls from any number of threads. Objects are independent of each other.
 *
 * The functions that close an object wait for a call that is in progress in another thread. If
 * that call waits for a step, an answer or a report, it returns RIFFLE_ERROR_USAGE within a tenth
 * of a second; a request to the broker first gets its answer or times out. No call may begin once
 * the object is being closed.
 *
 * Process: an object belongs to the process that opened it. After a fork every call of the child
 * that can fail does, and does nothing else; closing does nothing.
 *
 * Symbols carry the version RIFFLE_0; one that changes its meaning gets another version.
 *
 * Sizes: a struct that a call takes or fills in the caller's memory begins with `size`, which the
 * caller sets to its sizeof before each use. Such a struct may grow at its end while the soname
 * stays. To a program that was compiled before a field was there, that field is 0, or is not
 * written. A program that is newer than the library gets 0 in the fields that it alone knows; one
 * that it has set to something else is RIFFLE_ERROR_USAGE, as is a size that is not set. struct
 * riffle_step grows likewise, in the library's memory. The others never grow: riffle_error, and
 * those that stand in arrays.
 */
#ifndef CONSUMER_READER_RIFFLE_H
#define CONSUMER_READER_RIFFLE_H

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
	size_t size;           /* sizeof of this struct in the caller's program */
	const char *mix;       /* name of the mix */
	const char *bootstrap; /* host:port,...; NULL: only through properties */
	const char *run;       /* group is <mix>.<run>; NULL: "trainers" */
	uint32_t rank, world;
	enum riffle_start start;
	uint64_t step; /* RIFFLE_START_STEP: the first step */
	/* Element size of tokens: 2 (uint16; an error where a token is above 65,535), 4 (uint32) or
	 * 8 (int64). */
	uint32_t token_bytes;
	const struct riffle_property *properties; /* further librdkafka properties */
	size_t properties_n;
	/*
	 * k > 0: riffle_next() commits by itself, before it looks for the next step, once k steps
	 * were read since the last commit, or a quarter of the mix's lead where that is less: a run
	 * that never commits holds the mixer up. At the mix's end it commits the end; and a place
	 * that was given (RIFFLE_START_STEP, riffle_seek) where no step comes within a second,
	 * since the mixer may be waiting for that. 0: only riffle_commit(). While no step comes the
	 * last commit is repeated every ten seconds, in either case. Only for a loop that asks for
	 * a step once the one before is trained: see "what was trained" below.
	 */
	uint64_t commit_every;
	int open_timeout_ms; /* riffle_open() waits this long for the broker; 0: 10,000 */
	/*
	 * Memory of the steps that are decoded ahead, the one at hand included; steps kept are not
	 * counted. At least two steps, whatever they take. Records that are fetched and not
	 * decoded yet take as much again, at least 1 MiB a lane. 0: 64 MiB.
	 */
	uint64_t ahead_bytes;
	uint32_t threads; /* that decompress: 1 to 64; 0: 2 */
	/*
	 * riffle_info.schedule of a checkpoint: a mix that has another one, because it was
	 * recreated under the same name, is RIFFLE_ERROR_DATA. 0: any.
	 */
	uint64_t schedule;
	/*
	 * Not 0: `world` need not divide the lanes L, it only must not be larger. Rank r reads the
	 * lanes l with floor(l*world/L) = r in any case; then ranks differ by one lane, and so by
	 * B/L sequences a step.
	 */
	uint32_t uneven;
	/*
	 * What riffle_find_checkpoint() gave when the checkpoint was made; NULL: none. A mix that
	 * is not the one of the checkpoint is RIFFLE_ERROR_DATA, of riffle_open() or, if the mix
	 * has not come to that step yet, of the first riffle_next(). `start` and `step` say where
	 * reading begins. Copied.
	 */
	const struct riffle_checkpoint *checkpoint;
};

/*
 * What belongs into a checkpoint. A step alone means nothing in another mix, and the topics of a
 * mix may have been deleted and created again. `schedule` and `choices` depend on what the mix has
 * chosen alone, so a mix that was created again with the same configuration and data has the same
 * ones. Example: save step, schedule, choices_step and choices; then open with
 *
 *     struct riffle_checkpoint c = {.size = sizeof(c), .step = step, .schedule = schedule,
 *         .choices_step = choices_step, .choices = choices};
 *     options.start = RIFFLE_START_STEP;
 *     options.step = step;
 *     options.checkpoint = &c;
 */
struct riffle_checkpoint {
	size_t size;       /* sizeof of this struct in the caller's program */
	uint64_t step;     /* comes next */
	uint64_t schedule; /* riffle_info.schedule */
	/* At or below `step`: `step` itself, or where weights count tokens that of the last ledger
	   record; 0: `choices` is of no step. */
	uint64_t choices_step;
	uint64_t choices; /* hash of all choices of the steps below choices_step */
};

/* A stretch of one document in a sequence; it ends where the next begins, the last at `used`. */
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
 * (docs/design/documents.md). A token in a no_loss range is no target: with inputs token[0 .. n-1)
 * and labels token[1 .. n), label i counts unless i + 1 is in a range. Prompts (`prompt`) and
 * padding are in one, so that whoever masks by no_loss need not look at `used`.
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

/* Shape of the mix: see riffle_wait_info(). */
struct riffle_info {
	size_t size;              /* sizeof of this struct in the caller's program */
	uint32_t lanes;           /* L */
	uint32_t lanes_mine;      /* L / world, or with `uneven` one more */
	uint32_t global_batch;    /* B of the step given last; before the first one, see below */
	uint32_t sequence_length; /* S */
	uint64_t schedule;        /* hash of what fixes the order; belongs into checkpoints */
	uint64_t tokenizer;       /* fingerprint */
	uint64_t lead; /* max_lead_steps, by the step given last; 0: no limit, or none was given */
};

/* Gives *out, to be ended with riffle_close(). Copies the options. Finds the first step. */
RIFFLE_API int riffle_open(
    struct riffle **out, const struct riffle_options *options, struct riffle_error *e);
RIFFLE_API void riffle_close(struct riffle *r); /* NULL is accepted; commits nothing */

/*
 * What is known without asking: lanes_mine and lanes from the start, the rest once riffle_next() or
 * riffle_wait_info() has succeeded, until then zeros. RIFFLE_ERROR_USAGE: out->size is not set, or
 * another thread's call is in progress.
 */
RIFFLE_API int riffle_get_info(const struct riffle *r, struct riffle_info *out);

/*
 * All of it, before the first step too: from the next step, where that is there, else from the
 * ledger of the mix. RIFFLE_TIMEOUT: no mixer has begun the mix within timeout_ms. Moves nothing.
 *
 * A mix may change global_batch from one step to the next. Before a step was given, the ledger's is
 * that of the newest step, which may lie ahead of this reader: what a step has, it says itself.
 */
RIFFLE_API int riffle_wait_info(
    struct riffle *r, int timeout_ms, struct riffle_info *out, struct riffle_error *e);

/*
 * The next whole step, or nothing: RIFFLE_TIMEOUT after timeout_ms leaves the position as it was.
 * Checks record, frame hash, mix, and that the step is the previous one plus 1 on every lane. While
 * a step does not come, in one call or in many, the log says why after ten seconds and then once a
 * minute (READ-WAITING).
 */
RIFFLE_API int riffle_next(
    struct riffle *r, int timeout_ms, const struct riffle_step **out, struct riffle_error *e);

/*
 * The same with the tokens in the caller's memory: RIFFLE_ERROR_USAGE where `room_bytes` is less
 * than the step's tokens take, and the step is then still the next one. (*out)->tokens is `tokens`.
 */
RIFFLE_API int riffle_next_into(struct riffle *r, int timeout_ms, void *tokens, size_t room_bytes,
    const struct riffle_step **out, struct riffle_error *e);

/*
 * Keeps the step that riffle_next() gave last, until riffle_free_step(), which any thread may call,
 * also after riffle_close(). Kept steps do not count in ahead_bytes: the caller limits them. A kept
 * step is freed once.
 */
RIFFLE_API int riffle_keep(
    struct riffle *r, const struct riffle_step *step, struct riffle_error *e);
RIFFLE_API void riffle_free_step(const struct riffle_step *step); /* NULL is accepted */

/* The next step will be `step`, wherever the reader stands. Nothing is committed by the call. */
RIFFLE_API int riffle_seek(struct riffle *r, uint64_t step, struct riffle_error *e);

/* The step that riffle_next() will return. */
RIFFLE_API uint64_t riffle_position(const struct riffle *r);

/*
 * What belongs into a checkpoint from which `step` comes next, by the ledger. Uses mix, bootstrap,
 * properties and open_timeout_ms of the options. Needs no reader. RIFFLE_TIMEOUT: the ledger says
 * nothing of that step: no mixer has begun the mix, or its records were deleted.
 */
RIFFLE_API int riffle_find_checkpoint(const struct riffle_options *options, uint64_t step,
    struct riffle_checkpoint *out, struct riffle_error *e);

/*
 * Whether the mix is the one of options->checkpoint. Uses the same options. RIFFLE_ERROR_DATA: it
 * is another one. RIFFLE_TIMEOUT: nothing differs, but the mix has not come to choices_step yet.
 * If nobody can tell, because the ledger has lost those records, it logs READ-CHECKPOINT-UNCHECKED
 * and returns RIFFLE_OK. Inside of a transaction it draws the steps up to choices_step again.
 */
RIFFLE_API int riffle_check_checkpoint(
    const struct riffle_options *options, struct riffle_error *e);

/* riffle_seek() to the step of a checkpoint, with the check that riffle_open() makes. */
RIFFLE_API int riffle_seek_checkpoint(
    struct riffle *r, const struct riffle_checkpoint *checkpoint, struct riffle_error *e);

/*
 * Commits, for the reader's lanes, that all steps below riffle_position() are read; waits for the
 * broker's answer.
 */
RIFFLE_API int riffle_commit(struct riffle *r, struct riffle_error *e);

/*
 * The same without waiting. While one is on its way the newest that is asked for waits for it and
 * replaces one that waits already. What the broker answers is looked at in later calls of
 * riffle_next(), riffle_commit_async() and riffle_flush(); a commit that failed is an error of the
 * next riffle_commit_async() or riffle_flush(), once, and riffle_committed() stays where it was.
 */
RIFFLE_API int riffle_commit_async(struct riffle *r, struct riffle_error *e);

/* The last known good: all steps below it are committed by this reader; its first step at first. */
RIFFLE_API uint64_t riffle_committed(const struct riffle *r);

/*
 * What the reader has counted so far, as Prometheus reads it (docs/METRICS.md has the names): text
 * with a NUL in buffer[room], cut to what fits. Returns how many bytes the whole text has without
 * the NUL, so that a call with room 0 asks; it may have grown by the next one. 0: no memory, or
 * another process than the one that opened the reader.
 *
 * Thread: any, at the same time as any other call but riffle_close(). Of librdkafka itself it has
 * figures where the properties have statistics.interval.ms, and while riffle_next() is called.
 */
RIFFLE_API size_t riffle_metrics(const struct riffle *r, char *buffer, size_t room);

/* The losses of one domain in one step, as this rank saw them; see schemas/Feedback.avsc. */
struct riffle_loss {
	const char *domain;
	double loss_sum;   /* over the tokens, in nats */
	double excess_sum; /* of max(0, loss - reference) a token; 0 without a reference */
	int64_t tokens;
};

/*
 * Reports losses of `step` to <mix>.feedback. Returns at once; a report that the broker did not
 * take is an error of a later riffle_report() or riffle_flush(), once. RIFFLE_ERROR_USAGE: a domain
 * twice or without a name, or negative tokens; nothing is sent. What is not a finite number is sent
 * as it is: whoever reads it drops and counts it.
 */
RIFFLE_API int riffle_report(struct riffle *r, uint64_t step, const struct riffle_loss *loss,
    size_t n, struct riffle_error *e);

/*
 * The same without a reader: for a process whose reader is in another one. Uses mix, bootstrap,
 * run, rank, world, properties and open_timeout_ms of the options. riffle_reporter_close() gives
 * what is on its way two seconds.
 */
struct riffle_reporter;
RIFFLE_API int riffle_reporter_open(
    struct riffle_reporter **out, const struct riffle_options *options, struct riffle_error *e);
RIFFLE_API int riffle_reporter_report(struct riffle_reporter *r, uint64_t step,
    const struct riffle_loss *loss, size_t n, struct riffle_error *e);
RIFFLE_API int riffle_reporter_flush(
    struct riffle_reporter *r, int timeout_ms, struct riffle_error *e);
RIFFLE_API void riffle_reporter_close(struct riffle_reporter *r); /* NULL is accepted */

/* Waits until reports are delivered and commits answered. RIFFLE_TIMEOUT: not all, in time. */
RIFFLE_API int riffle_flush(struct riffle *r, int timeout_ms, struct riffle_error *e);

/*
 * Where the run stands by its commits, without reading: the lowest step over all lanes of the mix,
 * 0 where it has none. Uses mix, bootstrap, run, properties and open_timeout_ms of the options, and
 * start: RIFFLE_START_COMMITTED logs the answer as where the run starts, the other does not.
 * Ranks that must agree ask it once and start at RIFFLE_START_STEP. RIFFLE_ERROR_LOST as above.
 */
RIFFLE_API int riffle_find_committed(
    const struct riffle_options *options, uint64_t *step, struct riffle_error *e);

/* Rounds of a mix (mix.epoch_size): step s is of round s / steps. */
struct riffle_rounds {
	size_t size;    /* sizeof of this struct in the caller's program */
	uint64_t draws; /* of a round; 0: the mix has none */
	uint64_t
	    steps; /* of a round; 0: no whole number, or global_batch has changed since step 0 */
	uint32_t global_batch, lanes;
};

/*
 * Asks the last record of the ledger. Uses mix, bootstrap, properties and open_timeout_ms of the
 * options. RIFFLE_TIMEOUT: no mixer has begun the mix.
 */
RIFFLE_API int riffle_find_rounds(
    const struct riffle_options *options, struct riffle_rounds *out, struct riffle_error *e);

/* How far a mix has come, for whoever counts sequences: number i is in step i / global_batch. */
struct riffle_extent {
	size_t size;    /* sizeof of this struct in the caller's program */
	uint64_t steps; /* that are published */
	uint32_t global_batch, lanes, sequence_length;
	uint8_t ended;   /* not 0: there will be no more */
	uint8_t uniform; /* not 0: no step had another global_batch than the last */
};

/* Asks as riffle_find_rounds() does. RIFFLE_TIMEOUT: no mixer has begun the mix. */
RIFFLE_API int riffle_find_extent(
    const struct riffle_options *options, struct riffle_extent *out, struct riffle_error *e);

/* Where a step stands in the rounds of its mix: they are counted in draws, from step 0 on. */
struct riffle_round {
	size_t size;         /* sizeof of this struct in the caller's program */
	uint64_t epoch_size; /* draws of a round; 0: the mix has none */
	uint64_t round;      /* that the step's first sequence is of, from 0 */
	uint64_t draws;      /* of that round, before the step */
};

/*
 * That of a step that is published. Of the step that riffle_next() gave last: the first call asks
 * the ledger, and those of the steps that follow ask nothing, however global_batch changes. Others
 * are asked for each.
 */
RIFFLE_API int riffle_get_round(
    struct riffle *r, uint64_t step, struct riffle_round *out, struct riffle_error *e);

/* ---- what was trained ---- */

/*
 * A reader knows what it has given, not what was trained: a worker process, or a framework, fetches
 * steps ahead of training. So where riffle_next() is not called by the loop that trains, once for
 * each step and after the step before is trained, reading and training are two ends. The reader
 * commits nothing (commit_every 0, no riffle_commit()). The process that trains has a progress,
 * which reports and commits. Between them goes a place: a step, and where it begins on each lane.
 *
 *     the reader, anywhere             the process that trains
 *     riffle_next(): step 7
 *     riffle_place(): step 8 begins
 *       at these offsets  -----------> keeps the place until step 7 is trained
 *                                      riffle_progress_trained(place 8, losses of step 7)
 */
struct riffle_place {
	size_t size;                /* sizeof of this struct in the caller's program */
	uint64_t step;              /* all steps below it come before the place */
	uint64_t lead;              /* riffle_info.lead */
	size_t lanes;               /* of the rank */
	const int64_t *offset_next; /* [lanes] */
};

/*
 * The place of riffle_position(). Borrowed until the next call on the same reader.
 * RIFFLE_ERROR_USAGE: out->size is not set, or another thread's call is in progress.
 */
RIFFLE_API int riffle_place(const struct riffle *r, struct riffle_place *out);

/*
 * Uses mix, bootstrap, run, rank, world, properties, open_timeout_ms and commit_every of the
 * options; a commit_every of 0 is as 1. Reads nothing. A thread of its own sends reports and
 * commits, so that no call but riffle_progress_open(), the first that reports, and
 * riffle_progress_flush() waits.
 */
struct riffle_progress;
RIFFLE_API int riffle_progress_open(
    struct riffle_progress **out, const struct riffle_options *options, struct riffle_error *e);

/*
 * All steps below place->step are trained. Copies the place. Reports `loss` (loss[n] as of
 * riffle_report(); n 0: nothing is reported) as of step place->step - 1. Commits the place where
 * commit_every steps were trained since the last commit, or a quarter of the lead; the first call
 * commits in any case. A commit is sent once the reports up to it are delivered, so that a run that
 * resumes from its commits has reported every step below. While nothing is trained for ten seconds
 * the last commit is repeated, unless the run stands higher.
 *
 * A report or commit that failed is an error of a later call, once; that call does nothing else.
 * RIFFLE_ERROR_USAGE: a step below the last one (open another progress to begin elsewhere), lanes
 * that are not the rank's, or losses as of riffle_report().
 */
RIFFLE_API int riffle_progress_trained(struct riffle_progress *p, const struct riffle_place *place,
    const struct riffle_loss *loss, size_t n, struct riffle_error *e);

/* Commits all that is trained, and waits until it and the reports are answered. */
RIFFLE_API int riffle_progress_flush(
    struct riffle_progress *p, int timeout_ms, struct riffle_error *e);

/* All steps below are committed, as far as the broker has answered; 0: none. */
RIFFLE_API uint64_t riffle_progress_committed(const struct riffle_progress *p);

/* The same as riffle_progress_flush() for two seconds, then the end. NULL is accepted. */
RIFFLE_API void riffle_progress_close(struct riffle_progress *p);

/*
 * What a model takes, by tokens k in [0, S) of each sequence; every array that is not NULL is
 * [sequences][S], S = tokens_each - 1.
 *
 *   input_ids     token k
 *   labels        token k + 1; `ignored` where that one is in a no_loss range, and with
 *                 mask_boundaries also where it is the first of another document
 *   position_ids  counts from 0 in each stretch of a document, and in the padding
 *   document_ids  which stretch of the sequence it is, from 0; padding has the number behind the
 *                 last
 */
struct riffle_targets {
	size_t size; /* sizeof of this struct in the caller's program */
	int64_t *input_ids, *labels;
	int32_t *position_ids, *document_ids;
	int64_t ignored; /* -100 for PyTorch */
	int mask_boundaries;
};

/*
 * `token_bytes` is the reader's. RIFFLE_ERROR_USAGE: it is not 2, 4 or 8, or out->size is not one
 * that is known.
 */
RIFFLE_API int riffle_step_targets(
    const struct riffle_step *s, uint32_t token_bytes, const struct riffle_targets *out);

/* ---- held-out sets ---- */

/*
 * Reads one set of one domain once, in order of (partition, ordinal), never mixed: what is in
 * <corpus>.<domain>.valid when it is opened. A partition that has an End is as long as it says; one
 * that has none, because its domain is live, as long as it was at that moment.
 */
struct riffle_validation;

struct riffle_validation_options {
	size_t size; /* sizeof of this struct in the caller's program */
	const char *corpus, *domain;
	const char *set; /* "valid" (NULL is the same), "test" or "train" */
	const char *bootstrap;
	const struct riffle_property *properties;
	size_t properties_n;
	uint32_t token_bytes; /* 2, 4 or 8 */
	uint32_t sequences;   /* that one riffle_validation_next() gives at most; 0: 64 */
	int open_timeout_ms;  /* 0: 10,000 */
};

struct riffle_validation_info {
	size_t size;              /* sizeof of this struct in the caller's program */
	uint64_t sequences;       /* of the whole set */
	uint32_t partitions;      /* of its topic */
	uint32_t sequence_length; /* S; 0 where the set is empty */
	uint64_t tokenizer;       /* fingerprint; 0 likewise */
};

RIFFLE_API int riffle_validation_open(struct riffle_validation **out,
    const struct riffle_validation_options *options, struct riffle_error *e);
RIFFLE_API void riffle_validation_close(struct riffle_validation *v); /* NULL is accepted */
/* RIFFLE_ERROR_USAGE: out->size is not set. */
RIFFLE_API int riffle_validation_get_info(
    const struct riffle_validation *v, struct riffle_validation_info *out);

/*
 * The next sequences as a step: numbered from 0, epoch and lane 0, lr_scale 1, no phase. Borrowed
 * until the next call, or kept by riffle_validation_keep() as above. RIFFLE_END after the last one.
 */
RIFFLE_API int riffle_validation_next(struct riffle_validation *v, int timeout_ms,
    const struct riffle_step **out, struct riffle_error *e);
RIFFLE_API int riffle_validation_keep(
    struct riffle_validation *v, const struct riffle_step *step, struct riffle_error *e);

/* Version of the library, such as "1.2.3". */
RIFFLE_API const char *riffle_version(void);

enum riffle_log_level {
	RIFFLE_LOG_ERROR = 0,
	RIFFLE_LOG_WARNING = 1, /* "module: ID ...", with an id that does not change */
	RIFFLE_LOG_INFO = 2,
	RIFFLE_LOG_DEBUG = 3,
};

/* `line` has neither time, level nor end of line, and is borrowed during the call. */
typedef void riffle_log(void *opaque, enum riffle_log_level level, const char *line);

/*
 * For the whole process: lines up to `level` go to log(opaque, level, line) instead of to stderr;
 * NULL: to stderr again. Before that, lines up to RIFFLE_LOG_INFO do. `log` is called by any
 * thread, by several at once, and must not call the library. After the return the one before is not
 * called any more. Not in the child of a fork.
 */
RIFFLE_API void riffle_set_log(enum riffle_log_level level, riffle_log *log, void *opaque);

#ifdef __cplusplus
}
#endif

#endif
