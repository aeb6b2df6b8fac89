/*
 * commit_pace.h -- decides when a reader commits by itself, and when it repeats its last commit.
 *
 * With commit_every = k > 0 a commit is due once k steps were read since the last one that was
 * asked for. That alone is not enough, for the mixer waits for the run: it publishes at most `lead`
 * steps beyond the run's commits. Four rules keep the two from waiting for each other:
 *
 *   1  A commit is due after lead/4 steps where that is less than k, and at least after one step.
 *      Example: k = 1000, lead = 40: after 10 steps. At k = 1000 the mixer would stop 40 steps
 *      behind the commit, and the reader could never read the 1000 that it waits for.
 *   2  A reader that was placed (riffle_open() at a given step, riffle_seek()) may stand as far
 *      beyond the run's commits as the mixer may go. Where no step comes within
 *      COMMIT_PACE_PLACED_MS, or within the caller's timeout, the place itself is committed.
 *   3  At the end of the mix what was read is committed, however little it is.
 *   4  While a step is waited for, the last commit is repeated every COMMIT_PACE_REPEAT_MS, with
 *      k = 0 as well: committer.h says which race that ends.
 *
 * Where k is 0, rules 1 to 3 are the trainer's business. A progress (riffle_progress.c) obeys rules
 * 1 and 3 for what was trained.
 *
 * Plain data and pure functions; times are clock_ms(). Invariants: asked <= position, which all
 * functions keep; waits_ms is 0 while no caller waits for a step.
 */
#ifndef CONSUMER_READER_COMMIT_PACE_H
#define CONSUMER_READER_COMMIT_PACE_H

#include <stdbool.h>
#include <stdint.h>

enum {
	COMMIT_PACE_PLACED_MS = 1000,  /* for the first step, before its place is committed */
	COMMIT_PACE_LOOK_MS = 1000,    /* between two looks at a commit that is on its way */
	COMMIT_PACE_REPEAT_MS = 10000, /* for a step, before the last commit is repeated */
	COMMIT_PACE_LEAD_PARTS = 4,    /* of the lead, one may be read without a commit */
};

struct commit_pace {
	uint64_t every;    /* steps; 0: only the caller commits */
	uint64_t lead;     /* the mix's, as its last step says; 0: not known yet, or no limit */
	uint64_t position; /* the step that is given next: all below are read */
	uint64_t asked;    /* the position that was asked to be committed last, or the place */
	bool placed;       /* reading began where the caller said, and that was not committed */
	int64_t waits_ms;  /* since when a step is waited for, or the last repeat; 0: none is */
};

/* Reading begins at `position`; `placed`: the caller has named it. */
void commit_pace_init(struct commit_pace *p, uint64_t every, uint64_t position, bool placed);

/* The caller has sought `position`: reading begins there, placed. */
void commit_pace_move(struct commit_pace *p, uint64_t position);

/* The step at the position was given; its record names the mix's lead. */
void commit_pace_given(struct commit_pace *p, uint64_t lead);

/* All steps below `position` are trained, which is not below the last one: of a progress. */
void commit_pace_trained(struct commit_pace *p, uint64_t position, uint64_t lead);

/* A commit of the position was asked for. */
void commit_pace_asked(struct commit_pace *p);

/* Whether a commit is due (rule 1), or, at the end of the mix (rule 3). */
bool commit_pace_due(const struct commit_pace *p);
bool commit_pace_due_at_end(const struct commit_pace *p);

/* Whether the place is to be committed where no step comes soon (rule 2). */
bool commit_pace_place_due(const struct commit_pace *p);

/*
 * The caller waits for a step until deadline_ms: until when, before it looks at the commit on its
 * way (`flies`: there is one) or repeats the last one; at most deadline_ms.
 */
int64_t commit_pace_wait_until(
    struct commit_pace *p, int64_t now_ms, int64_t deadline_ms, bool flies);

/* Whether the last commit is to be repeated (rule 4); commit_pace_repeated() says that it was. */
bool commit_pace_repeat_due(const struct commit_pace *p, int64_t now_ms);
void commit_pace_repeated(struct commit_pace *p, int64_t now_ms);

#endif
