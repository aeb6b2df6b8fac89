/* clock.h -- time for deadlines and rates; never for a decision about data. */
#ifndef COMMON_BASE_CLOCK_H
#define COMMON_BASE_CLOCK_H

#include <stdint.h>

/* Milliseconds of the monotonic clock. */
int64_t clock_ms(void);

/* Sleeps so long, or until a signal comes. */
void clock_pause_ms(int64_t ms);

#endif
