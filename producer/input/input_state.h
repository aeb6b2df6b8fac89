/*
 * input_state.h -- what input.c and input_live.c share: an input at work. Nobody else includes it.
 */
#ifndef PRODUCER_INPUT_INPUT_STATE_H
#define PRODUCER_INPUT_INPUT_STATE_H

#include <pthread.h>

#include "producer/input/chunk_queue.h"
#include "producer/input/file_list.h"
#include "producer/input/live_scan.h"
#include "producer/input/record_cutter.h"
#include "producer/input/stream.h"

struct input {
	char *folder;
	char *command;               /* NULL: files */
	struct file_list *files;     /* NULL: a command, or files that keep arriving */
	struct input_live *live;     /* NULL: the others */
	struct input_tokens *tokens; /* NULL: text */
	uint64_t bytes_total, bytes_skipped;
	struct chunk_queue *queue;
	int stop_fd; /* readable once the thread is to stop */
	pthread_t thread;
	bool running;

	/* The reader's, as soon as it runs. */
	struct record_cutter *cutter;
	struct stream *stream;  /* of file_at, or the command; NULL: not open */
	struct failure refused; /* why it could not be opened, where that is a reject */
	size_t file_at;
	uint64_t used, passed_on; /* bytes as stored, of the input so far; counted in chunks */
	struct input_end end;     /* complete when the reader has ended */
};

/* Lists the files, and goes to that where a resume starts: in->file_at. */
enum fail_code input_list_files(struct input *in, const struct input_options *o,
    const struct input_position *from, struct failure *f);

/* Gives the records cut so far to the queue. */
enum fail_code input_pass_on(struct input *in, struct failure *f);

/* Cuts what was fed, and passes on every chunk that is full. */
enum fail_code input_cut_all(struct input *in, struct failure *f);

/* Reads the file or program that is open to its end, and closes it. */
enum fail_code input_read_one(struct input *in, uint64_t used_after, struct failure *f);

#endif
