#include "common/base/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

int64_t
clock_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int64_t
clock_wall_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void
clock_pause_ms(int64_t ms)
{
	struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&t, NULL);
}

const char *
clock_span(char out[static CLOCK_SPAN_BYTES], int64_t ms)
{
	static const struct {
		int64_t seconds;
		const char *name;
	} unit[] = {{86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}};
	int64_t s = ms / 1000;
	size_t i = 0;

	if (s < 10) {
		snprintf(
		    out, CLOCK_SPAN_BYTES, "%.1f s", ms < 0 ? 0 : (double)(ms - ms % 100) / 1000);
		return out;
	}
	while (s < unit[i].seconds)
		i++;
	if (unit[i].seconds == 1)
		snprintf(out, CLOCK_SPAN_BYTES, "%" PRId64 " s", s);
	else
		snprintf(out, CLOCK_SPAN_BYTES, "%" PRId64 " %s %" PRId64 " %s",
		    s / unit[i].seconds, unit[i].name, s % unit[i].seconds / unit[i + 1].seconds,
		    unit[i + 1].name);
	return out;
}
