/*
 * resume_bench -- how long a trainer waits for its first batch when it starts at a step.
 *
 *     resume_bench BOOTSTRAP MIX WORLD STEP...
 *
 * For each step, RUNS times: opens a reader of rank 0 there, reads the step, closes. Prints the
 * median and the worst time from before riffle_open() to the step in memory, and where it goes.
 * Then the same from committed offsets, in a run of its own that has committed that step.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/now.h"
#include "consumer/reader/riffle.h"

enum { RUNS = 7, TIMEOUT_MS = 20000 };

struct times {
	double open_ms, first_ms; /* both from the start */
};

static _Noreturn void
end_with(const char *why)
{
	fprintf(stderr, "resume_bench: %s\n", why);
	exit(1);
}

static struct times
start_once(const struct riffle_options *o, uint64_t step, int commit)
{
	double begun = now();
	const struct riffle_step *s;
	struct riffle_error e;
	struct times t;
	struct riffle *r;

	if (riffle_open(&r, o, &e) != RIFFLE_OK)
		end_with(e.text);
	t.open_ms = (now() - begun) * 1e3;
	if (commit && riffle_commit(r, &e) != RIFFLE_OK)
		end_with(e.text);
	if (riffle_next(r, TIMEOUT_MS, &s, &e) != RIFFLE_OK)
		end_with(e.text);
	t.first_ms = (now() - begun) * 1e3;
	if (s->step != step)
		end_with("another step came");
	riffle_close(r);
	return t;
}

static int
compare(const void *a, const void *b)
{
	const struct times *x = a, *y = b;

	return x->first_ms < y->first_ms ? -1 : x->first_ms > y->first_ms;
}

static void
measure(const struct riffle_options *o, uint64_t step, const char *from)
{
	struct times t[RUNS];

	for (int i = 0; i < RUNS; i++)
		t[i] = start_once(o, step, 0);
	qsort(t, RUNS, sizeof(t[0]), compare);
	printf("step %8" PRIu64
	       " from %-8s first batch: median %6.1f ms (open %6.1f), worst %6.1f ms\n",
	    step, from, t[RUNS / 2].first_ms, t[RUNS / 2].open_ms, t[RUNS - 1].first_ms);
}

static void
measure_step(struct riffle_options *o, uint64_t step)
{
	char run[64];

	o->start = RIFFLE_START_STEP;
	o->step = step;
	measure(o, step, "step");
	snprintf(run, sizeof(run), "bench-%" PRIu64, step);
	o->run = run;
	for (o->rank = 0; o->rank < o->world; o->rank++)
		start_once(o, step, 1);
	o->rank = 0;
	o->start = RIFFLE_START_COMMITTED;
	measure(o, step, "commits");
}

int
main(int argc, char **argv)
{
	struct riffle_options o = {.size = sizeof(o), .token_bytes = 4};

	if (argc < 5) {
		fprintf(stderr, "usage: %s BOOTSTRAP MIX WORLD STEP...\n", argv[0]);
		return 2;
	}
	o.bootstrap = argv[1];
	o.mix = argv[2];
	o.world = (uint32_t)strtoul(argv[3], NULL, 10);
	for (int i = 4; i < argc; i++)
		measure_step(&o, strtoull(argv[i], NULL, 10));
	return 0;
}
