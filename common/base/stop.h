/*
 * stop.h -- the request to stop that a signal handler makes and every loop of a command looks at.
 *
 * One thread or signal handler asks, any number of threads look. The flag is a lock-free atomic: a
 * `volatile bool` would be a data race between threads, which C11 leaves undefined. It carries no
 * data from one thread to another, so it orders nothing (relaxed). It is never taken back.
 */
#ifndef COMMON_BASE_STOP_H
#define COMMON_BASE_STOP_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>

static_assert(ATOMIC_BOOL_LOCK_FREE == 2, "a signal handler may only touch lock-free atomics");

/* Zero is "not asked". */
struct stop {
	atomic_bool asked;
};

/* Async-signal-safe. */
static inline void
stop_ask(struct stop *s)
{
	atomic_store_explicit(&s->asked, true, memory_order_relaxed);
}

static inline bool
stop_asked(const struct stop *s)
{
	return atomic_load_explicit(&s->asked, memory_order_relaxed);
}

#endif
