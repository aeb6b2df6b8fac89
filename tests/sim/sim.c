/*
 * sim -- riffle on a Kafka in memory, with the faults that a seed decides.
 *
 *     sim                                         plays 200 seeds, for the runner of unit tests
 *     sim [--seeds N] [--first S] [--workers W]   plays seeds S..S+N-1 (200 from 0, 2 workers)
 *     sim --seed S                                plays one seed again and prints all its calls
 *
 * Ends with the number of faults of each kind. Exit 1 where a seed failed; its trace is printed.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/sim/driver.h"

enum { WORKERS_MAX = 64, FAILED_MAX = 16 };

struct options {
	uint64_t seeds, first, one;
	bool single;
	unsigned workers;
};

/* A worker's figures, in shared memory. */
struct tally {
	uint64_t played, calls, runs, turns;
	uint64_t fault[CHANCE_FAULTS];
	uint64_t failed_n, failed[FAILED_MAX];
	bool over;
};

static struct world worlds[WORLD_KINDS];

static int
usage(void)
{
	fprintf(stderr, "usage: sim [--seeds N] [--first S] [--workers W] | --seed S\n");
	return 2;
}

static bool
parse(struct options *o, int argc, char **argv)
{
	for (int i = 1; i < argc; i += 2) {
		uint64_t value;
		char *end;

		if (i + 1 == argc)
			return false;
		value = strtoull(argv[i + 1], &end, 10);
		if (*end != '\0' || end == argv[i + 1])
			return false;
		if (strcmp(argv[i], "--seeds") == 0)
			o->seeds = value;
		else if (strcmp(argv[i], "--first") == 0)
			o->first = value;
		else if (strcmp(argv[i], "--workers") == 0)
			o->workers = (unsigned)value;
		else if (strcmp(argv[i], "--seed") == 0) {
			o->one = value;
			o->single = true;
		} else
			return false;
	}
	return o->workers > 0 && o->workers <= WORKERS_MAX;
}

/* A cluster of its own for this process, at the same place: images point into it. */
static void
own_cluster(void)
{
	size_t size = cluster->size;

	if (munmap(cluster, size) != 0 ||
	    mmap(cluster, size, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED) {
		perror("sim: no memory for a cluster");
		exit(1);
	}
}

/* The product logs to stderr. */
static void
hush(void)
{
	int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (nowhere >= 0 && getenv("SIM_LOG") == NULL)
		dup2(nowhere, STDERR_FILENO);
}

static void
work(const struct options *o, unsigned worker, struct tally *t)
{
	own_cluster();
	for (uint64_t i = worker; i < o->seeds; i += o->workers) {
		struct driver_result r;

		driver_play(worlds, o->first + i, false, &r);
		t->played++;
		t->calls += r.calls;
		t->runs += r.runs;
		t->turns += r.turns;
		for (int k = 0; k < CHANCE_FAULTS; k++)
			t->fault[k] += r.fault[k];
		if (r.problem[0] == '\0')
			continue;
		printf("seed %" PRIu64 ": %s\n", o->first + i, r.problem);
		fflush(stdout);
		if (t->failed_n < FAILED_MAX)
			t->failed[t->failed_n] = o->first + i;
		t->failed_n++;
	}
	t->over = true;
}

static int
play_one(uint64_t seed)
{
	struct driver_result r;

	own_cluster();
	driver_play(worlds, seed, true, &r);
	printf("seed %" PRIu64 ": %s\n", seed, r.problem[0] == '\0' ? "all is well" : r.problem);
	return r.problem[0] != '\0';
}

static void
add(struct tally *sum, const struct tally *t)
{
	sum->played += t->played;
	sum->calls += t->calls;
	sum->runs += t->runs;
	sum->turns += t->turns;
	for (int k = 0; k < CHANCE_FAULTS; k++)
		sum->fault[k] += t->fault[k];
	for (uint64_t i = 0; i < t->failed_n && i < FAILED_MAX && sum->failed_n + i < FAILED_MAX;
	     i++)
		sum->failed[sum->failed_n + i] = t->failed[i];
	sum->failed_n += t->failed_n;
}

static void
print(const struct tally *t, double seconds)
{
	for (int k = 0; k < CHANCE_FAULTS; k++)
		printf("%9" PRIu64 "  %s\n", t->fault[k], chance_name[k]);
	printf("%" PRIu64 " seeds, %" PRIu64 " processes, %" PRIu64 " turns, %" PRIu64
	       " calls in %.1f s: %" PRIu64 " failed\n",
	    t->played, t->runs, t->turns, t->calls, seconds, t->failed_n);
}

static int
play_all(const struct options *o)
{
	struct tally *tally = mmap(NULL, o->workers * sizeof(*tally), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0),
		     sum = {0};
	struct timespec begun, now;
	bool over = true;

	if (tally == MAP_FAILED)
		return 1;
	clock_gettime(CLOCK_MONOTONIC, &begun);
	for (unsigned i = 0; i < o->workers; i++)
		if (fork() == 0) {
			work(o, i, &tally[i]);
			exit(0);
		}
	while (wait(NULL) > 0)
		;
	clock_gettime(CLOCK_MONOTONIC, &now);
	for (unsigned i = 0; i < o->workers; i++) {
		add(&sum, &tally[i]);
		over = over && tally[i].over;
	}
	print(&sum,
	    (double)(now.tv_sec - begun.tv_sec) + (double)(now.tv_nsec - begun.tv_nsec) / 1e9);
	if (!over)
		printf("a worker ended before its time\n");
	if (sum.failed_n > 0)
		play_one(sum.failed[0]);
	return sum.failed_n > 0 || !over;
}

int
main(int argc, char **argv)
{
	int failed;
	struct options o = {.seeds = 200, .workers = 2};

	if (!parse(&o, argc, argv))
		return usage();
	hush();
	world_open_all(worlds);
	failed = o.single ? play_one(o.one) : play_all(&o);
	world_close_all(worlds);
	if (argc == 1 && !failed)
		printf("[       OK ] faults_change_no_byte\n");
	return failed;
}
