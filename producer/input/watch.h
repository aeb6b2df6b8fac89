/*
 * watch.h -- waits until something may have happened in a set of folders.
 *
 * inotify reports files that are written to, created or renamed there; that is a hint to look
 * again, nothing more, so events are read and thrown away. Where it reports nothing (files that
 * another machine writes to a shared file system, no watches left) the caller's timeout does.
 *
 * Thread: one.
 */
#ifndef PRODUCER_INPUT_WATCH_H
#define PRODUCER_INPUT_WATCH_H

#include "common/base/failure.h"

struct watch;

/* Gives *out, to be ended with watch_close(). Waiting ends when `stop_fd` can be read. */
enum fail_code watch_open(struct watch **out, int stop_fd, struct failure *f);
void watch_close(struct watch *w); /* NULL is accepted */

/* Watches a folder from now on; one that is watched already, or cannot be, changes nothing. */
void watch_folder(struct watch *w, const char *path);

/* FAIL_NONE: look again. FAIL_TIMEOUT: nothing was reported. FAIL_STOPPED. */
enum fail_code watch_wait(struct watch *w, int timeout_ms, struct failure *f);

#endif
