/*
 * input_internal.h -- an input at work: what input.c shares with its two variants, input_live.c and
 * input_tokens.c.
 *
 * Four kinds of input have one struct. Which it is:
 *
 *     program   live   tokens   files
 *     set       -      -        -        a program
 *     -         -      -        set      files that are all there
 *     -         set    -        -        files that keep arriving (input_live.c)
 *     -         -      set      set      token files (input_tokens.c)
 *
 * The caller's thread fills all of it before the reader starts; from then on everything under "The
 * reader's" belongs to the reader thread alone, until it is joined.
 */
#ifndef PRODUCER_INPUT_INPUT_INTERNAL_H
#define PRODUCER_INPUT_INPUT_INTERNAL_H

#include <pthread.h>

#include "producer/input/chunk_queue.h"
#include "producer/input/file_list.h"
#include "producer/input/input.h"
#include "producer/input/record_cutter.h"
#include "producer/input/stream.h"

struct input {
	char *folder;
	char *program;               /* owned; exec:NAME#HASH; see above */
	struct file_list *files;     /* owned */
	struct input_live *live;     /* owned */
	struct input_tokens *tokens; /* owned */
	uint64_t bytes_total, bytes_skipped;
	struct chunk_queue *queue;
	int stop_fd; /* readable once the thread is to stop */
	pthread_t thread;
	bool running;

	/* The reader's, as soon as it runs. */
	struct record_cutter *cutter;
	struct stream *stream;  /* of file_at, or the command; NULL: not open */
	struct failure refused; /* why it could not be opened, where that is a reject */
	size_t file_at;         /* in files; files->n: all are read */
	uint64_t used;          /* bytes as stored, of the input so far, */
	uint64_t passed_on;     /* and those of them that chunks in the queue count */
	struct input_end end;   /* complete when the reader has ended */
};

/* ---- input.c, for its variants ---- */

/* Lists the files, and goes to the one where a resume starts: in->file_at. */
enum fail_code input_list_files(struct input *in, const struct input_options *o,
    const struct input_position *from, struct failure *f);

/* Opens the stream of a file; what is wrong with its bytes is kept in in->refused. */
enum fail_code input_open_stream(struct input *in, const char *name, struct failure *f);

/* FAIL_STOPPED once input_close() wants the reader to end. */
enum fail_code input_check_stopped(const struct input *in, struct failure *f);

/* Gives the records cut so far to the queue. */
enum fail_code input_pass_on(struct input *in, struct failure *f);

/* Cuts what was fed, and passes on every chunk that is full. */
enum fail_code input_cut_all(struct input *in, struct failure *f);

/* Reads the file or program that is open to its end, and closes it. After it in->used is at least
 * `used_after`: decompression can end before the last stored byte. */
enum fail_code input_read_one(struct input *in, uint64_t used_after, struct failure *f);

/* ---- input_live.c ---- */

/* Fills in->live. FAIL_DATA: the order does not have the place where the last run stood. */
enum fail_code input_live_open(struct input *in, const struct input_options *o,
    const struct input_position *from, struct failure *f);
void input_live_close(struct input_live *l); /* NULL is accepted */
/* The reader thread's work. */
enum fail_code input_live_read(struct input *in, struct failure *f);

/* ---- input_tokens.c ---- */

/* Fills in->tokens. FAIL_DATA: the place where the last run stood is not in the files. */
enum fail_code input_tokens_open(struct input *in, const struct input_options *o,
    const struct input_position *from, struct failure *f);
void input_tokens_close(struct input_tokens *t); /* NULL is accepted */
/* The reader thread's work. */
enum fail_code input_tokens_read(struct input *in, struct failure *f);

#endif
