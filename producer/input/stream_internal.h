/*
 * stream_internal.h -- a stream at work: what stream.c, which has the files, and stream_exec.c,
 * which has the programs, share.
 */
#ifndef PRODUCER_INPUT_STREAM_INTERNAL_H
#define PRODUCER_INPUT_STREAM_INTERNAL_H

#include <sys/stat.h>

#include "producer/input/stream.h"

/* The three functions in which kinds differ. */
struct stream_kind {
	/* Sets s->state up; the first stored bytes are there already. NULL: has no state. */
	enum fail_code (*open)(struct stream *s, struct failure *f);
	enum fail_code (*read)(
	    struct stream *s, char *out, size_t room, size_t *got, struct failure *f);
	void (*close)(struct stream *s); /* accepts NULL in s->state; NULL: nothing to do */
};

struct stream {
	const struct stream_kind *kind;
	char *path, *name;
	int fd; /* -1: none */
	struct stat opened;
	uint8_t *stored; /* [STREAM_STORED_BYTES]; [at, n) was read and is not used yet */
	size_t at, n;
	uint64_t read_bytes; /* how far the file was read */
	bool ended;          /* there is nothing after stored[n] */
	void *state;         /* the kind's own */
};

#endif
