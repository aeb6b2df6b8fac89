/*
 * clock_jump -- a library to preload that moves the wall clock of one process, for tests.
 *
 *     RIFFLE_CLOCK_FILE=offset LD_PRELOAD=.../clock_jump.so riffle mix -c run.yml
 *
 * The file holds one int64: the nanoseconds by which CLOCK_REALTIME is wrong. It is mapped, so that
 * writing it moves the clock of all processes that were started with it, while they run. The
 * monotonic clock stays as it is, as with a clock that is set by hand or by NTP.
 *
 * A thread that waits until a point of wall time feels a jump, too: the kernel looks at the
 * deadline again when the clock is set, so that it wakes early after a jump forward and late after
 * one back. Waits on condition variables are therefore taken apart into slices of SLICE_NS, with a
 * look at the moved clock after each.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

enum { SLICE_NS = 20000000 };
#define SECOND_NS INT64_C(1000000000)
/* Deadlines below it are of the monotonic clock: no machine is up for 30 years. */
#define WALL_SECONDS_MIN 946684800

#define EXPORT __attribute__((visibility("default")))

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const volatile int64_t *offset_ns; /* mapped */

static void
map_offset(void)
{
	const char *path = getenv("RIFFLE_CLOCK_FILE");
	int fd = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	void *at = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED) {
		fprintf(stderr, "clock_jump: RIFFLE_CLOCK_FILE=%s cannot be mapped\n",
		    path == NULL ? "" : path);
		abort();
	}
	close(fd);
	offset_ns = at;
}

/* A function of the C library that this file stands before. */
static void *
next(const char *name)
{
	void *found = dlsym(RTLD_NEXT, name);

	if (found == NULL)
		abort();
	return found;
}

static int64_t
wall_ns(void)
{
	static int (*real)(clockid_t, struct timespec *);
	struct timespec t;

	pthread_once(&once, map_offset);
	if (real == NULL)
		*(void **)&real = next("clock_gettime");
	real(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * SECOND_NS + t.tv_nsec + *offset_ns;
}

static struct timespec
split(int64_t ns)
{
	return (struct timespec){.tv_sec = ns / SECOND_NS, .tv_nsec = ns % SECOND_NS};
}

EXPORT int
clock_gettime(clockid_t id, struct timespec *t)
{
	static int (*real)(clockid_t, struct timespec *);

	if (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE) {
		*t = split(wall_ns());
		return 0;
	}
	if (real == NULL)
		*(void **)&real = next("clock_gettime");
	return real(id, t);
}

EXPORT int
timespec_get(struct timespec *t, int base)
{
	*t = split(wall_ns());
	return base;
}

EXPORT int
gettimeofday(struct timeval *restrict t, void *restrict zone)
{
	int64_t ns = wall_ns();

	(void)zone;
	*t = (struct timeval){.tv_sec = ns / SECOND_NS, .tv_usec = ns % SECOND_NS / 1000};
	return 0;
}

EXPORT time_t
time(time_t *out)
{
	time_t now = wall_ns() / SECOND_NS;

	if (out != NULL)
		*out = now;
	return now;
}

/* A deadline of the true clock: SLICE_NS from now, or what is left. NULL: the deadline is over. */
static const struct timespec *
slice(struct timespec *out, const struct timespec *deadline)
{
	int64_t left = (int64_t)deadline->tv_sec * SECOND_NS + deadline->tv_nsec - wall_ns();

	*out = split(wall_ns() - *offset_ns + (left < SLICE_NS ? left : SLICE_NS));
	return left <= 0 ? NULL : out;
}

EXPORT int
pthread_cond_timedwait(pthread_cond_t *restrict c, pthread_mutex_t *restrict m,
    const struct timespec *restrict deadline)
{
	static int (*real)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
	struct timespec until;
	int code = ETIMEDOUT;

	if (real == NULL)
		*(void **)&real = next("pthread_cond_timedwait");
	if (deadline->tv_sec < WALL_SECONDS_MIN)
		return real(c, m, deadline);
	while (code == ETIMEDOUT && slice(&until, deadline) != NULL)
		code = real(c, m, &until);
	return code;
}

EXPORT int
cnd_timedwait(cnd_t *restrict c, mtx_t *restrict m, const struct timespec *restrict deadline)
{
	static int (*real)(cnd_t *, mtx_t *, const struct timespec *);
	struct timespec until;
	int code = thrd_timedout;

	if (real == NULL)
		*(void **)&real = next("cnd_timedwait");
	if (deadline->tv_sec < WALL_SECONDS_MIN)
		return real(c, m, deadline);
	while (code == thrd_timedout && slice(&until, deadline) != NULL)
		code = real(c, m, &until);
	return code;
}
