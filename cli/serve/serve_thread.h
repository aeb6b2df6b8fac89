/*
 * serve_thread.h -- a thread of serve that is asked to end, and is not waited for longer than it
 * may take.
 *
 * Each of the threads waits for brokers, which can take minutes: a process that is asked to
 * end then goes without it. Its lock and its condition are its owner's, too.
 *
 * Thread: open and close from one; the rest as each function says.
 */
#ifndef CLI_SERVE_SERVE_THREAD_H
#define CLI_SERVE_SERVE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/failure.h"

struct serve_thread {
	pthread_t thread;
	pthread_mutex_t lock; /* protects what follows, and what the owner says */
	pthread_cond_t wake;  /* of the monotonic clock */
	bool stop, ended;
	void (*main)(void *of); /* returns soon after `stop` */
	void *of;
};

/* Starts main(of). After a failure there is nothing to close. */
enum fail_code serve_thread_open(
    struct serve_thread *t, void (*main)(void *of), void *of, struct failure *f);

/*
 * Asks it to end, and waits `wait_ms` at most. False: it has not ended, and all that it borrowed
 * must stay. Its lock and its condition stay: others may still use what it has left.
 */
bool serve_thread_end(struct serve_thread *t, int wait_ms);

/* Of one that has ended, and that nobody uses any more. */
void serve_thread_close(struct serve_thread *t);

/* With the lock: waits until `when_ms`, `stop` or a wake. */
void serve_thread_wait(struct serve_thread *t, int64_t when_ms);

/* Without it. */
bool serve_thread_stopped(struct serve_thread *t);

#endif
