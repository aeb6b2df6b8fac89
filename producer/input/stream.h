/*
 * stream.h -- the bytes of one file, decompressed, or what a program prints.
 *
 * Kinds of files are known by their first bytes, not by their names: gzip with all its members,
 * zstd with all its frames (skippable ones are left out; windows up to 2^31 bytes), else plain.
 * After the last member of a gzip file zeros are padding and other bytes are ignored with the
 * warning INPUT-GARBAGE, as gzip(1) does; a file that is named .gz or .zst and is shorter than the
 * mark of its kind is a truncated one. Bytes of bzip2, xz, zip, Parquet or UTF-16, and a file of
 * JSON lines that is named .gz or .zst and is neither, are FAIL_DATA. What is truncated or damaged
 * gives all that comes before, then FAIL_DATA with the place.
 *
 * A program is run by /bin/sh -c in a process group of its own, reads nothing, and leaves its
 * stderr alone. `bash --posix -o pipefail -c` runs a command with a | instead, with the echo of sh
 * and without brace expansion, so that the command fails if any program of the pipe fails or is
 * ended by SIGPIPE. A command that does not end with status 0 gives FAIL_DATA after all it has
 * printed. Of `a; b` the shell still reports the status of b only.
 *
 * Thread: a stream belongs to one thread at a time.
 */
#ifndef PRODUCER_INPUT_STREAM_H
#define PRODUCER_INPUT_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"

enum {
	STREAM_STORED_BYTES = 256 << 10, /* read from a file at once */
	STREAM_WINDOW_LOG_MAX = 31,      /* of zstd: it may ask for 2 GiB of memory */
	STREAM_TERM_MS = 1000,           /* from SIGTERM to SIGKILL for a program that is closed */
};

struct stream;

/*
 * Gives *out, to be ended with stream_close(). Copies; `name` is what sentences call the file.
 * FAIL_IO: cannot be opened. FAIL_DATA: is truncated to less than the mark of its kind.
 */
enum fail_code stream_open_file(
    struct stream **out, const char *path, const char *name, struct failure *f);

struct stream_program {
	const char *command; /* for sh or bash */
	const char *name;    /* for failures, which do not show the command */
	const char *folder;  /* where it is run */
	bool says_resume;    /* RIFFLE_RESUME is in its environment: */
	uint64_t resume;     /* the record that it is to begin with */
	int stop_fd;         /* reading ends with FAIL_STOPPED once this can be read; -1: none */
	int idle_ms;         /* FAIL_TIMEOUT where nothing is printed for so long; -1: waits */
};

/*
 * Gives *out, to be ended with stream_close(), which kills what still runs. Copies all.
 * FAIL_CONFIG: the command has a |, and PATH has no bash.
 */
enum fail_code stream_open_program(
    struct stream **out, const struct stream_program *o, struct failure *f);

void stream_close(struct stream *s); /* NULL is accepted */

/*
 * Reads at least one byte into out[room] unless the stream is at its end, where *got is 0.
 * FAIL_DATA: truncated, damaged, or a program failed; all before was given. FAIL_IO: cannot be
 * read, or the file shrank, was rewritten or replaced since it was opened, or its size is not true
 * (stream_check_sizes()). Only after FAIL_TIMEOUT can it be read again.
 */
enum fail_code stream_read(
    struct stream *s, char *out, size_t room, size_t *got, struct failure *f);

/*
 * Before the first read: goes to `byte` where that is possible without reading what is before. *at
 * is where the stream stands then: `byte`, or 0. FAIL_DATA: the file is shorter.
 */
enum fail_code stream_seek(struct stream *s, uint64_t byte, uint64_t *at, struct failure *f);

/* Bytes as stored that were used up; of a program, what it has printed. */
uint64_t stream_used(const struct stream *s);

/*
 * Compares the sizes of a file that had `opened` bytes when it was opened, has `now` bytes, and
 * ended after read_bytes. FAIL_IO: it was truncated, or its size is not true, as in /proc (0 bytes)
 * and /sys (4,096 bytes), and of some FUSE file systems. A file may become longer.
 */
enum fail_code stream_check_sizes(
    const char *name, uint64_t opened, uint64_t now, uint64_t read_bytes, struct failure *f);

/* Whether a file that begins with bytes[n] is gzip's or zstd's; 4 bytes are enough. */
bool stream_is_compressed(const uint8_t *bytes, size_t n);

#endif
