/*
 * token_window.h -- a file of fixed numbers, read through a window that moves.
 *
 * Reading forward costs one pread(2) a window: what is asked for and is not in it fills the window
 * from there on.
 *
 *     file      0 ............. at [=========|.....] ............ size_bytes
 *                                  n in the window    room
 *
 * The file must keep its size while it is open: one that ends earlier is a failure, with both
 * sizes. It is never mapped, since a mapped file that shrinks ends the process with SIGBUS.
 *
 * Thread: one at a time.
 */
#ifndef PRODUCER_INPUT_TOKEN_WINDOW_H
#define PRODUCER_INPUT_TOKEN_WINDOW_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"

/* Zero-initialised: not open. */
struct token_window {
	char *name;
	int fd;
	uint64_t size_bytes;
	uint64_t at;    /* of bytes[0] in the file */
	size_t n, room; /* n <= room */
	uint8_t *bytes; /* NULL: not open */
};

/*
 * To be ended with token_window_close(). Copies `name`. FAIL_DATA: it is no regular file. FAIL_IO:
 * it cannot be opened, or its size is 0 and it has bytes (stream_check_sizes()).
 */
enum fail_code token_window_open(
    struct token_window *w, const char *path, const char *name, size_t room, struct failure *f);
void token_window_close(struct token_window *w);

/*
 * Borrows n <= room bytes at `byte` until the next call. *got >= n is how many follow there without
 * another call. FAIL_DATA: the file is shorter.
 */
enum fail_code token_window_get(struct token_window *w, uint64_t byte, size_t n,
    const uint8_t **out, size_t *got, struct failure *f);

/* One number of `width` bytes, at most 8. */
enum fail_code token_window_number(
    struct token_window *w, uint64_t byte, unsigned width, uint64_t *out, struct failure *f);

#endif
