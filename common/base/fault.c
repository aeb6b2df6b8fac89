#include "common/base/fault.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const char *wanted; /* NULL: no fault is asked for */
static size_t wanted_length;
static atomic_long passes_left;

static void
read_environment(void)
{
	const char *value = getenv("RIFFLE_FAULT"), *colon;

	if (value == NULL || *value == '\0')
		return;
	colon = strchr(value, ':');
	wanted_length = colon == NULL ? strlen(value) : (size_t)(colon - value);
	passes_left = colon == NULL ? 1 : strtol(colon + 1, NULL, 10);
	wanted = value;
}

void
fault_point(const char *point)
{
	pthread_once(&once, read_environment);
	if (wanted == NULL || strlen(point) != wanted_length ||
	    memcmp(point, wanted, wanted_length) != 0)
		return;
	if (atomic_fetch_sub(&passes_left, 1) != 1)
		return;
	fprintf(stderr, "fault: %s reached\n", point);
	raise(SIGKILL);
}
