/*
 * reminder.h -- when a wait is worth another line of the log.
 *
 * A wait that another process must end says what is missing and what to type: first after a time
 * that the caller chooses, then once a minute for as long as it lasts. Someone who looks at a
 * silent program then finds the reason on its last screen.
 *
 * Plain data. A zeroed reminder is that of a wait that has not begun. Pure.
 */
#ifndef COMMON_BASE_REMINDER_H
#define COMMON_BASE_REMINDER_H

#include <stdbool.h>
#include <stdint.h>

enum { REMINDER_EVERY_MS = 60000 };

struct reminder {
	bool began;
	int64_t next_ms; /* when the next line is due */
};

/* Whether a line is due. The first call begins the wait; its first line is due first_ms later. */
static inline bool
reminder_due(struct reminder *r, int64_t now_ms, int64_t first_ms)
{
	if (!r->began)
		*r = (struct reminder){true, now_ms + first_ms};
	if (now_ms < r->next_ms)
		return false;
	r->next_ms = now_ms + REMINDER_EVERY_MS;
	return true;
}

#endif
