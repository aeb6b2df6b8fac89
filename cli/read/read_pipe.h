/*
 * read_pipe.h -- a stream to a file descriptor that a request to stop can end.
 *
 * A write to a pipe that nobody empties waits for ever, and a signal wakes it at most once. So
 * bytes go out in pieces that the pipe has room for, and the wait for room is cut into slices,
 * between which the stop is looked at. After a stop a piece that finds no room within a slice
 * fails with EINTR, and so does all that follows.
 */
#ifndef CLI_READ_READ_PIPE_H
#define CLI_READ_READ_PIPE_H

#include <stdio.h>

#include "common/base/stop.h"

/* To be ended with fclose(), which leaves `fd` open. Borrows `stop`. NULL: no memory. */
FILE *read_pipe_open(int fd, const struct stop *stop);

#endif
