/*
 * task.h -- actors without a process each: a task has a stack and a heap of its own, which a crash
 * takes with all that is in them, and descriptors that are closed then. To start one costs some
 * microseconds, to go from one to another less; a fork and a signal cost a hundred times that.
 *
 * What tasks could share and processes would not is what riffle keeps outside of stack and heap:
 * the level of its log, and Avro's classes, made once. `sim --processes` forks for every actor, and
 * both must play a seed alike (tests/sim/sim.c).
 *
 * Thread: the driver's only.
 */
#ifndef TESTS_SIM_TASK_H
#define TESTS_SIM_TASK_H

#include <stdbool.h>
#include <stddef.h>

#include "tests/sim/heap.h"

enum { TASKS_MAX = HEAPS_MAX };

typedef void task_work(const void *context, size_t number);

/* Makes what all tasks need. False: this build has none. */
bool task_open(void);
/*
 * A new task, in the place of one that is over or was never there; it waits for its turn. Only with
 * `opens_files` is what it leaves open closed.
 */
void task_start(size_t number, task_work *work, const void *context, bool opens_files);
/* Lets it run until it rests: true. False: it is over, and *status is that of task_exit(). */
bool task_go_on(size_t number, int *status);
/* Forgets it and what it had. */
void task_drop(size_t number);

/* For a task: whether the caller is one, and to rest, and to end here and now. */
bool task_runs(void);
void task_rest(void);
_Noreturn void task_exit(int status);

#endif
