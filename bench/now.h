/*
 * now.h -- seconds of a clock that only goes forward, for what takes from nanoseconds to minutes.
 */
#ifndef BENCH_NOW_H
#define BENCH_NOW_H

#include <time.h>

static inline double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

#endif
