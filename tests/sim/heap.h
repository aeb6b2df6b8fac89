/*
 * heap.h -- malloc() and its kin of this program, with a heap for each task: all that one has
 * allocated is forgotten at once, as what a process had is when it dies. Whoever is no task has the
 * C library's heap.
 *
 * Blocks have sizes of a few classes; a freed one is used again by the next of its class. Nothing
 * is given back before the whole heap is, so that the pages stay and a new task finds them there.
 *
 * Thread: a task has one, and one task runs at a time. Not in builds for tools that watch the
 * memory (HEAP_NONE): there tasks are processes.
 */
#ifndef TESTS_SIM_HEAP_H
#define TESTS_SIM_HEAP_H

#include <stddef.h>

#if defined(SIM_PROCESSES) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HEAP_NONE 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(memory_sanitizer)
#define HEAP_NONE 1
#endif
#endif

enum { HEAPS_MAX = 16, HEAP_LIBRARY = -1 };

/* Address space for all heaps; ends the program where there is none. */
void heap_open(void);
/* Whose heap is used from here on: a number below HEAPS_MAX, or HEAP_LIBRARY. */
void heap_use(int number);
/* Forgets all that was allocated there. */
void heap_clear(int number);

#endif
