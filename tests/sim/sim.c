/*
 * sim -- riffle on a Kafka in memory, with the faults that a seed decides.
 *
 *     sim                                 plays some seeds, for the runner of unit tests
 *     sim [--seeds N] [--first S]         plays S..S+N-1 (200 from 0); --workers W: a core each
 *     sim --seed S [--without MASK]       plays one seed again and prints all its calls
 *
 * Faults that destroy what was published are in some seeds, with --lost in all; so are worlds in
 * which lanes share partitions, with --shared all that can, and those of mixes without copies,
 * whose trainers derive their lanes, with --derived all; and those of live inputs, whose files
 * arrive while producers run, with --live all. In some seeds somebody reads documents, status and
 * ledger, with --readers in all. With --processes every actor is a process,
 * not a task; the runner's seeds are played both ways, and must be played alike. Ends with the
 * number of faults of each kind. Exit 1 where a seed failed: faults that it does not need are left
 * out one by one, and what is left is printed, with the line that plays it again.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/base/log.h"
#include "tests/sim/driver.h"

enum {
	WORKERS_MAX = WORLD_WORKERS_MAX,
	FAILED_MAX = 16,
	UNIT_SEEDS = 200,
	UNIT_BOTH = 24, /* of those, played as processes, too */
	UNIT_DERIVED = 2 * WORLD_KINDS,
	UNIT_LIVE = 12 * WORLD_INBOXES,
	UNIT_READERS = WORLD_KINDS,
	UNIT_SWITCHED = UNIT_DERIVED + UNIT_LIVE + UNIT_READERS,
	UNIT_SWITCHED_BOTH = 12, /* one of so many of these, too, after the derived ones */
	SHRUNK_MAX = 4,          /* of the seeds that failed */
	SHRINK_ROUNDS = 3,
	SHRINK_TURN_S = 5,
	DRAWN_MAX = 64, /* faults that a mask can leave out */
};

/* Seeds that once found something, beside the first ones; some with --lost, --shared, --derived. */
static const struct {
	uint64_t seed;
	bool lost, shared, derived, live, readers;
} unit_seeds[] = {
    {.seed = 3904}, {.seed = 32332}, /* a domain log lost its tail as the mix ended */
    {.seed = 660981},                /* all of a ledger was lost, and a lane's marker */
    {.seed = 369454},                /* a mixer was stopped as it asked how long a live domain is */
    {.seed = 4023,
	.lost = true}, /* the ends of lanes, freed twice where the broker did not answer */
    {.seed = 3009, .lost = true}, /* partitions were added before the first step */
    {.seed = 405, .lost = true},  /* the ledger lost the marker of an aborted transaction */
    {.seed =
	    24873}, /* a record whose answer was lost was the first of a ledger that had lost all */
    {.seed = 823955}, /* a lane lost the marker of an abort, and showed its records */
    {.seed = 653173}, /* the ledger did */
    {.seed = 965125}, /* commits looked lost where the broker did not answer the second time */
    {.seed = 63357},  /* a lane lost more while it was repaired */
    {.seed = 9756,
	.lost = true}, /* the ledger was recreated under a mixer that had answered requests */
    {.seed = 3552, .shared = true},  /* partitions were added: as many as lanes that share them, */
    {.seed = 1517, .shared = true},  /* a trainer took one for its lane, */
    {.seed = 11944, .shared = true}, /* and as a mixer looked at the ends of lanes */
    {.seed = 146180}, /* a partition went offline behind an end that it had told too low */
    {.seed = 81, .live = true},  /* a producer that was stopped published from a void order */
    {.seed = 421, .live = true}, /* a take-over that came late voided what was published */
    {.seed = 45, .live = true},  /* a closed partition without an order was read by names */
    {.seed = 115,
	.derived =
	    true}, /* a follower did not have the ledger's first record yet, which was read */
};

struct options {
	uint64_t seeds, first, one, without;
	uint64_t both;     /* so many of the first are played both ways */
	size_t more_n;     /* of unit_seeds, and then */
	size_t switched_n; /* then those of UNIT_SWITCHED */
	bool single, processes, lost, shared, derived, live, readers, mixed;
	bool pairs; /* print how often two features met */
	unsigned workers;
};

/* A worker's figures. */
struct tally {
	uint64_t played, calls, runs, turns;
	uint64_t fault[CHANCE_FAULTS];
	uint64_t met[WORLD_FEATURES][WORLD_FEATURES]; /* runs that had both, and passed */
	uint64_t failed_n, failed[FAILED_MAX];
	unsigned number; /* of the worker */
	uint64_t seed;   /* being played */
	bool over;
};

/* What workers share. */
struct work {
	_Atomic uint64_t next; /* of the seeds, that nobody plays yet */
	struct tally tally[WORKERS_MAX];
};

static struct world worlds[WORLDS];

static int
usage(void)
{
	fprintf(stderr, "usage: sim [--processes] [--lost] [--shared] [--derived] [--live] "
			"[--readers] [--mixed] [--pairs] [--seeds N] [--first S] [--workers W] "
			"[--both N] | --seed S "
			"[--without MASK]\n");
	return 2;
}

/* What an option without a value sets; NULL: no such option is called so. */
static bool *
flag(struct options *o, const char *name)
{
	if (strcmp(name, "--processes") == 0)
		return &o->processes;
	if (strcmp(name, "--lost") == 0)
		return &o->lost;
	if (strcmp(name, "--derived") == 0)
		return &o->derived;
	if (strcmp(name, "--live") == 0)
		return &o->live;
	if (strcmp(name, "--readers") == 0)
		return &o->readers;
	if (strcmp(name, "--mixed") == 0)
		return &o->mixed;
	if (strcmp(name, "--pairs") == 0)
		return &o->pairs;
	return strcmp(name, "--shared") == 0 ? &o->shared : NULL;
}

/* The number that an option asks for; NULL: no option is called so. */
static uint64_t *
number(struct options *o, const char *name)
{
	if (strcmp(name, "--seeds") == 0)
		return &o->seeds;
	if (strcmp(name, "--first") == 0)
		return &o->first;
	if (strcmp(name, "--both") == 0)
		return &o->both;
	if (strcmp(name, "--without") == 0)
		return &o->without;
	o->single = o->single || strcmp(name, "--seed") == 0;
	return strcmp(name, "--seed") == 0 ? &o->one : NULL;
}

static bool
parse(struct options *o, int argc, char **argv)
{
	uint64_t workers = o->workers;

	for (int i = 1; i < argc; i++) {
		bool counts = strcmp(argv[i], "--workers") == 0;
		uint64_t *to = counts ? &workers : number(o, argv[i]);
		bool *sets = flag(o, argv[i]);
		char *end;

		if (sets != NULL) {
			*sets = true;
			continue;
		}
		if (to == NULL || ++i == argc)
			return false;
		*to = strtoull(argv[i], &end, 0);
		if (*end != '\0' || end == argv[i])
			return false;
	}
	o->workers = (unsigned)workers;
	return workers > 0 && workers <= WORKERS_MAX;
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

/* No two trainers of a rank live at one time. */
static void
note_line(void *opaque, enum log_level level, const char *line)
{
	(void)opaque;
	if (strstr(line, "READ-RUN-TWICE") != NULL)
		world_told()->twice = true;
	fprintf(stderr, "%s%s\n", level == LOG_WARNING ? "warning " : "", line);
}

/* The product logs to stderr. */
static void
hush(void)
{
	log_set_sink(note_line, NULL);
	int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (nowhere >= 0 && getenv("SIM_LOG") == NULL)
		dup2(nowhere, STDERR_FILENO);
}

static void
note_failed(struct tally *t, uint64_t seed, const char *what)
{
	printf("seed %" PRIu64 ": %s\n", seed, what);
	fflush(stdout);
	if (t->failed_n < FAILED_MAX)
		t->failed[t->failed_n] = seed;
	t->failed_n++;
}

static void
count(struct tally *t, const struct driver_result *r)
{
	t->played++;
	t->calls += r->calls;
	t->runs += r->runs;
	t->turns += r->turns;
	for (int k = 0; k < CHANCE_FAULTS; k++)
		t->fault[k] += r->fault[k];
	for (int k = 0; k < WORLD_FEATURES * WORLD_FEATURES; k++) {
		int one = k / WORLD_FEATURES, other = k % WORLD_FEATURES;

		t->met[one][other] += r->features >> one & r->features >> other & 1;
	}
	if (r->problem[0] != '\0')
		note_failed(t, t->seed, r->problem);
}

/* The other way must not be another course of things. */
static void
play_again(struct tally *t, const struct driver_options *before, const struct driver_result *first)
{
	struct driver_options o = *before;
	struct driver_result r;

	o.processes = !before->processes;

	driver_play(worlds, t->seed, &o, &r);
	if (r.mark != first->mark || r.calls != first->calls || r.turns != first->turns)
		note_failed(t, t->seed, "tasks and processes play it in different ways");
}

/* The i-th seed that is played, and how. */
static uint64_t
pick(const struct options *o, uint64_t i, struct driver_options *d)
{
	d->lost = o->lost;
	d->shared = o->shared;
	d->derived = o->derived;
	d->live = o->live;
	d->readers = o->readers;
	d->mixed = o->mixed;
	if (i < o->seeds)
		return o->first + i;
	i -= o->seeds;
	if (i >= o->more_n) {
		i -= o->more_n;
		d->lost = d->shared = false;
		d->derived = i < UNIT_DERIVED;
		d->live = !d->derived && i < UNIT_DERIVED + UNIT_LIVE;
		d->readers = !d->derived && !d->live;
		return i - (d->derived ? 0 : d->live ? UNIT_DERIVED : UNIT_DERIVED + UNIT_LIVE);
	}
	d->lost = unit_seeds[i].lost;
	d->shared = unit_seeds[i].shared;
	d->derived = unit_seeds[i].derived;
	d->live = unit_seeds[i].live;
	d->readers = unit_seeds[i].readers;
	return unit_seeds[i].seed;
}

static void
work(const struct options *o, struct work *w, struct tally *t)
{
	struct driver_options d = {.processes = o->processes};
	uint64_t i;

	own_cluster();
	world_enter(t->number);
	while ((i = w->next++) < o->seeds + o->more_n + o->switched_n) {
		struct driver_result r;

		t->seed = pick(o, i, &d);
		driver_play(worlds, t->seed, &d, &r);
		count(t, &r);
		if (i < o->both || (o->switched_n > 0 && i >= o->seeds + o->more_n + UNIT_DERIVED &&
				       i % UNIT_SWITCHED_BOTH == 0))
			play_again(t, &d, &r);
	}
	t->over = true;
}

/* An actor that makes no call any more is named, as a task and as a process. */
static bool
names_stuck(void)
{
	bool named = true;

	own_cluster();
	for (int processes = 0; processes < 2; processes++) {
		struct driver_options o = {.processes = processes, .stuck = true, .turn_s = 1};
		struct driver_result r;

		driver_play(worlds, 0, &o, &r);
		named = named && strstr(r.problem, " hangs: it goes on, or waits") != NULL;
	}
	if (!named)
		printf("[  FAILED  ] an_actor_that_makes_no_call_is_named\n");
	else
		printf("[       OK ] an_actor_that_makes_no_call_is_named\n");
	return named;
}

static int
play_one(const struct options *of, uint64_t seed, uint64_t without)
{
	struct driver_options o = {.trace = true,
	    .processes = of->processes,
	    .lost = of->lost,
	    .shared = of->shared,
	    .derived = of->derived,
	    .live = of->live,
	    .readers = of->readers,
	    .mixed = of->mixed,
	    .without = without};
	struct driver_result r;

	own_cluster();
	world_enter(WORKERS_MAX);
	driver_play(worlds, seed, &o, &r);
	printf("seed %" PRIu64 ": %s\n", seed, r.problem[0] == '\0' ? "all is well" : r.problem);
	return r.problem[0] != '\0';
}

/* ---- a seed that failed, with fewer faults ---- */

/* In a process of its own, which it may end. Whether it fails; *drawn: faults, 0 where that is
 * not known. */
static bool
fails(const struct options *of, uint64_t seed, uint64_t without, uint64_t *drawn)
{
	struct driver_result *r =
	    mmap(NULL, sizeof(*r), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	bool failed;
	pid_t pid;

	if (r == MAP_FAILED)
		return false;
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		struct driver_options o = {.lost = of->lost,
		    .shared = of->shared,
		    .derived = of->derived,
		    .live = of->live,
		    .readers = of->readers,
		    .mixed = of->mixed,
		    .without = without,
		    .turn_s = SHRINK_TURN_S};

		own_cluster();
		world_enter(WORKERS_MAX);
		driver_play(worlds, seed, &o, r);
		_exit(r->problem[0] != '\0');
	}
	if (pid < 0 || waitpid(pid, &(int){0}, 0) != pid)
		abort();
	failed = r->turns == 0 || r->problem[0] != '\0'; /* 0: it has ended the process */
	*drawn = r->turns == 0 ? DRAWN_MAX : r->faults;
	munmap(r, sizeof(*r));
	return failed;
}

/* Leaves out what the failure does not need, the last faults first. */
static uint64_t
shrink(const struct options *o, uint64_t seed)
{
	uint64_t without = 0, drawn, ignored;
	bool less = fails(o, seed, 0, &drawn);

	drawn = drawn < DRAWN_MAX ? drawn : DRAWN_MAX;
	for (int round = 0; less && round < SHRINK_ROUNDS; round++) {
		less = false;
		for (uint64_t i = drawn; i-- > 0;) {
			uint64_t fewer = without | UINT64_C(1) << i;

			if (fewer == without || !fails(o, seed, fewer, &ignored))
				continue;
			without = fewer;
			less = true;
		}
	}
	return without;
}

static int
print_failed(const struct options *o, const struct tally *t)
{
	uint64_t first = 0;

	for (uint64_t i = 0; i < t->failed_n && i < SHRUNK_MAX; i++) {
		uint64_t without = shrink(o, t->failed[i]);

		printf("play it again, with as few faults: make sim SEED=%" PRIu64
		       " WITHOUT=0x%" PRIx64 "%s%s%s%s%s%s\n",
		    t->failed[i], without, o->lost ? " LOST=1" : "", o->shared ? " SHARED=1" : "",
		    o->derived ? " DERIVED=1" : "", o->live ? " LIVE=1" : "",
		    o->readers ? " READERS=1" : "", o->mixed ? " MIXED=1" : "");
		first = i == 0 ? without : first;
	}
	fflush(stdout);
	return play_one(o, t->failed[0], first);
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
	for (int k = 0; k < WORLD_FEATURES * WORLD_FEATURES; k++)
		sum->met[k / WORLD_FEATURES][k % WORLD_FEATURES] +=
		    t->met[k / WORLD_FEATURES][k % WORLD_FEATURES];
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

/* One line per pair of features: both names, and the runs that had both. */
static void
print_pairs(const struct tally *t)
{
	for (int one = 0; one < WORLD_FEATURES; one++)
		for (int other = one + 1; other < WORLD_FEATURES; other++)
			printf("%s\t%s\t%" PRIu64 "\n", world_feature_names[one],
			    world_feature_names[other], t->met[one][other]);
}

static double
seconds_since(const struct timespec *begun)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - begun->tv_sec) + (double)(now.tv_nsec - begun->tv_nsec) / 1e9;
}

/* One that a seed has ended is replaced. */
static void
start_worker(const struct options *o, struct work *w, unsigned i, pid_t *pid)
{
	pid[i] = fork();
	if (pid[i] != 0)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* nobody would wait for it */
	w->tally[i].number = i;
	work(o, w, &w->tally[i]);
	exit(0);
}

static void
run_workers(const struct options *o, struct work *w)
{
	pid_t pid[WORKERS_MAX], ended;

	fflush(stdout);
	for (unsigned i = 0; i < o->workers; i++)
		start_worker(o, w, i, pid);
	while ((ended = wait(NULL)) > 0)
		for (unsigned i = 0; i < o->workers; i++) {
			if (pid[i] != ended || w->tally[i].over)
				continue;
			note_failed(&w->tally[i], w->tally[i].seed, "ends the whole program");
			start_worker(o, w, i, pid);
		}
}

static int
play_all(const struct options *o)
{
	struct work *w =
	    mmap(NULL, sizeof(*w), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct tally sum = {0};
	struct timespec begun;

	if (w == MAP_FAILED)
		return 1;
	clock_gettime(CLOCK_MONOTONIC, &begun);
	run_workers(o, w);
	for (unsigned i = 0; i < o->workers; i++)
		add(&sum, &w->tally[i]);
	if (o->pairs)
		print_pairs(&sum);
	print(&sum, seconds_since(&begun));
	return sum.failed_n > 0 ? print_failed(o, &sum) : 0;
}

int
main(int argc, char **argv)
{
	int failed;
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	struct options o = {.seeds = UNIT_SEEDS,
	    .workers = cores < 1             ? 1
		       : cores > WORKERS_MAX ? WORKERS_MAX
					     : (unsigned)cores};

	if (!parse(&o, argc, argv))
		return usage();
	if (argc == 1) {
		o.both = UNIT_BOTH;
		o.more_n = sizeof(unit_seeds) / sizeof(unit_seeds[0]);
		o.switched_n = UNIT_SWITCHED;
	}
	if (o.live && !driver_plays_live()) {
		fprintf(stderr, "sim: --live: actors are processes in this build, and these worlds "
				"need tasks: use another build\n");
		return 2;
	}
	hush();
	world_open_all(worlds);
	failed = o.single ? play_one(&o, o.one, o.without) : play_all(&o);
	if (argc == 1 && !names_stuck())
		failed = 1;
	world_close_all(worlds);
	if (argc == 1 && !failed)
		printf("[       OK ] faults_change_no_byte\n");
	return failed;
}
