/*
 * thread.h -- threads that take no signals, and whether there are any left.
 *
 * A signal goes to any thread of the process that does not block it. Ours are for the main thread
 * of a program, which waits in calls that a signal shall interrupt; those of a trainer that uses
 * libriffle are none of our business at all. So every thread of ours blocks all of them.
 */
#ifndef COMMON_BASE_THREAD_H
#define COMMON_BASE_THREAD_H

#include <pthread.h>
#include <signal.h>
#include <stddef.h>

/* What to do if the system refuses a thread, for messages. */
#define THREAD_LIMITS                                                                              \
	"raise the limit on processes (`ulimit -u`, the container's limit of pids) or on memory "  \
	"(`ulimit -v`)"

/*
 * Starts main(argument) with a stack of `stack_bytes`; 0: the system's default. 0, or the errno of
 * pthread_create(), with *thread unset. The caller joins the thread. Leaves the signal mask of the
 * caller as it was.
 */
int thread_start(
    pthread_t *thread, size_t stack_bytes, void *(*main)(void *argument), void *argument);

enum { THREAD_PROBE_MAX = 64 };

/*
 * Whether the process may start `n` more threads: starts them with the system's default stack, so
 * that all exist at the same time, and joins them; of more than THREAD_PROBE_MAX only that many. 0,
 * or the errno of pthread_create(). For callers of libraries that abort or hang when they get no
 * thread. Another process can still take the threads after the call.
 */
int thread_probe(unsigned n);

/*
 * For threads that a library starts: those that the caller's thread makes between the two take no
 * signals. *before is the caller's mask.
 */
void thread_hide_signals(sigset_t *before);
void thread_show_signals(const sigset_t *before);

#endif
