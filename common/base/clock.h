/* clock.h -- time for deadlines and rates; never for a decision about data. */
#ifndef COMMON_BASE_CLOCK_H
#define COMMON_BASE_CLOCK_H

#include <stdint.h>

enum { CLOCK_SPAN_BYTES = 48 };

/* Milliseconds of the monotonic clock. */
int64_t clock_ms(void);

/* Milliseconds since 1970 by the wall clock, as a broker's timestamps are. It may jump. */
int64_t clock_wall_ms(void);

/* Sleeps so long, or until a signal comes. */
void clock_pause_ms(int64_t ms);

/*
 * How long something took, or is ago, for people, in two units at most: "0.4 s", "7 min 36 s", "3 h
 * 5 min", "12 d 4 h". Below 0 counts as 0: it may be another machine's clock. Returns `out`.
 */
const char *clock_span(char out[static CLOCK_SPAN_BYTES], int64_t ms);

#endif
