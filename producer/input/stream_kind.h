/*
 * stream_kind.h -- what stream.c and its kinds share: the stored bytes of a file, and the three
 * functions that a kind has. Nobody else includes it.
 */
#ifndef PRODUCER_INPUT_STREAM_KIND_H
#define PRODUCER_INPUT_STREAM_KIND_H

#include <sys/stat.h>

#include "producer/input/stream.h"

struct stream_kind {
	/* Sets s->state up; stored bytes are there already. */
	enum fail_code (*open)(struct stream *s, struct failure *f);
	enum fail_code (*read)(
	    struct stream *s, char *out, size_t room, size_t *got, struct failure *f);
	void (*close)(struct stream *s); /* accepts a stream that was not opened */
};

extern const struct stream_kind stream_plain, stream_gz, stream_zst, stream_exec;

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

/* Reads until `count` bytes are stored or the file ends; count <= STREAM_STORED_BYTES. */
enum fail_code stream_need(struct stream *s, size_t count, struct failure *f);

/* read(2) with its retries; *got = 0 at the end, where the file is checked against its opening. */
enum fail_code stream_read_fd(
    struct stream *s, void *out, size_t room, size_t *got, struct failure *f);

#endif
