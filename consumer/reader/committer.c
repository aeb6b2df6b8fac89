#include "consumer/reader/committer.h"

#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/fault.h"
#include "common/base/limits.h"
#include "common/base/log.h"
#include "consumer/ledger/run_position.h"
#include "consumer/reader/owner.h"

enum { LOOK_TIMEOUT_MS = 500 };

/* A commit that was asked for; its fields outlive `there`, so that it can be repeated. */
struct wanted {
	bool there;
	uint64_t step;
	int64_t *offset_next; /* [lanes] */
};

struct committer {
	struct lanes *lanes;
	struct wanted flying, waiting;
	bool repeats; /* what flies repeats the last good one */
	bool kept;    /* `flying` still has the last good commit */
	uint64_t good;
	struct failure failure; /* code FAIL_NONE: none */
	char owner[RUN_POSITION_OWNER_MAX];
	int64_t looked_ms;
	bool ours; /* a commit of ours was good since the last look */
	/* Another one's commit behind ours; "": none was met. */
	char other[RUN_POSITION_OWNER_MAX], named[RUN_POSITION_OWNER_MAX];
	uint64_t other_step;
	uint32_t sightings; /* of it at that step, in a row, with nothing of ours on its way */
};

enum fail_code
committer_open(struct committer **out, struct lanes *lanes, uint64_t step, struct failure *f)
{
	struct committer *c = calloc(1, sizeof(*c));
	size_t n = lanes_count(lanes);

	if (c == NULL)
		return fail_memory(f);
	if (owner_draw(c->owner, f) != FAIL_NONE) {
		free(c);
		return f->code;
	}
	c->lanes = lanes;
	c->good = step;
	c->looked_ms = clock_ms();
	c->flying.offset_next = calloc(n, sizeof(int64_t));
	c->waiting.offset_next = calloc(n, sizeof(int64_t));
	if (c->flying.offset_next == NULL || c->waiting.offset_next == NULL) {
		committer_close(c);
		return fail_memory(f);
	}
	*out = c;
	return FAIL_NONE;
}

void
committer_close(struct committer *c)
{
	if (c == NULL)
		return;
	free(c->flying.offset_next);
	free(c->waiting.offset_next);
	free(c);
}

static void
set(const struct committer *c, struct wanted *w, uint64_t step, const int64_t *offset_next)
{
	w->there = true;
	w->step = step;
	memcpy(w->offset_next, offset_next, lanes_count(c->lanes) * sizeof(*offset_next));
}

static enum fail_code
fly(struct committer *c, uint64_t step, const int64_t *offset_next, struct failure *f)
{
	char metadata[RUN_POSITION_TEXT_MAX];

	assert(!c->flying.there);
	run_position_format(metadata, step, c->owner);
	fault_point("read.before_commit");
	if (lanes_commit_begin(c->lanes, offset_next, metadata, f) != FAIL_NONE)
		return fail_within(f, "committing step %" PRIu64, step);
	if (offset_next != c->flying.offset_next) /* it is, where the last one is repeated */
		set(c, &c->flying, step, offset_next);
	c->flying.there = true;
	c->repeats = false;
	return FAIL_NONE;
}

enum fail_code
committer_ask(struct committer *c, uint64_t step, const int64_t *offset_next, struct failure *f)
{
	assert(step < LIMIT_STEP);
	assert(c->flying.there || !c->waiting.there);
	if (!c->flying.there)
		return fly(c, step, offset_next, f);
	set(c, &c->waiting, step, offset_next);
	return FAIL_NONE;
}

void
committer_repeat(struct committer *c, uint64_t step, const int64_t *offset_next)
{
	const struct wanted *w = &c->flying;
	struct failure ignored;

	if (w->there || (!c->kept && offset_next == NULL))
		return;
	if (c->kept)
		c->repeats = fly(c, w->step, w->offset_next, &ignored) == FAIL_NONE;
	else
		c->repeats = fly(c, step, offset_next, &ignored) == FAIL_NONE;
}

/* One lane's last commit. False: it is ours, or of a program that does not say whose it is. */
static bool
judge(struct committer *c, const char *mix, const char *run, const char *metadata)
{
	char owner[RUN_POSITION_OWNER_MAX];
	struct failure ignored; /* whoever resumes there reports it */
	uint64_t step;
	bool again, moved, repeated;

	if (run_position_parse(&step, owner, metadata, &ignored) != FAIL_NONE || owner[0] == '\0' ||
	    strcmp(owner, c->owner) == 0)
		return false;
	again = strcmp(owner, c->other) == 0;
	moved = again && step != c->other_step;
	if (!again || moved)
		c->sightings = 0;
	if (!c->flying.there) /* else the next look may find this same commit after ours */
		c->sightings++;
	repeated = step == c->good && c->sightings >= COMMITTER_SIGHTINGS;
	if ((moved || repeated) && strcmp(owner, c->named) != 0) {
		snprintf(c->named, sizeof(c->named), "%s", owner);
		log_warning(
		    "riffle: READ-RUN-TWICE run %s of mix %s: another process commits the "
		    "same lanes, %.*s (host/process). Its last commit is step %" PRIu64
		    ", and that of this process is step %" PRIu64
		    ", so both train some of the lanes of this process, %" PRIu32 " to %" PRIu32
		    " of %" PRIu32 ". Start all ranks with the same world. "
		    "If they have the same, end one of the two, or give it a run of its own",
		    run, mix, (int)(strrchr(owner, '/') - owner), owner, step, c->good,
		    lanes_first(c->lanes), lanes_first(c->lanes) + lanes_count(c->lanes) - 1,
		    lanes_total(c->lanes));
	}
	snprintf(c->other, sizeof(c->other), "%s", owner);
	c->other_step = step;
	return true;
}

void
committer_look(struct committer *c, const char *mix, const char *run, int64_t now_ms)
{
	uint32_t n = lanes_count(c->lanes);
	struct failure ignored;
	char **metadata;
	bool met = false;

	if (!c->ours || now_ms < c->looked_ms + COMMITTER_LOOK_MS)
		return;
	c->looked_ms = now_ms;
	c->ours = false;
	metadata = calloc(n, sizeof(*metadata));
	if (metadata == NULL)
		return;
	/* Of the first lane that is another's: the ranks of a world of another size are several. */
	if (lanes_committed_mine(c->lanes, metadata, LOOK_TIMEOUT_MS, &ignored) == FAIL_NONE)
		for (uint32_t i = 0; !met && i < n; i++)
			met = judge(c, mix, run, metadata[i]);
	for (uint32_t i = 0; i < n; i++)
		free(metadata[i]);
	free(metadata);
}

/* The commit on its way was answered by `code`: notes that, and sends the one that waits. */
static void
answered(struct committer *c, enum fail_code code, struct failure *f)
{
	assert(c->flying.there);
	c->flying.there = false;
	if (code == FAIL_NONE) {
		fault_point("read.after_commit");
		c->good = c->flying.step;
		c->kept = c->ours = true;
	} else if (!c->repeats) {
		c->kept = false;
		fail_within(f, "committing step %" PRIu64, c->flying.step);
		c->failure = *f;
	}
	if (!c->waiting.there)
		return;
	c->waiting.there = false;
	if (fly(c, c->waiting.step, c->waiting.offset_next, f) != FAIL_NONE)
		c->failure = *f;
}

enum fail_code
committer_poll(struct committer *c, int timeout_ms, struct failure *f)
{
	int64_t deadline_ms = clock_ms() + timeout_ms;

	while (c->flying.there) {
		int64_t left = deadline_ms - clock_ms();
		enum fail_code code = lanes_commit_end(c->lanes, left < 0 ? 0 : (int)left, f);

		if (code == FAIL_TIMEOUT)
			return fail_within(f, "committing step %" PRIu64, c->flying.step);
		answered(c, code, f);
	}
	assert(!c->waiting.there);
	return FAIL_NONE;
}

enum fail_code
committer_failure(struct committer *c, struct failure *f)
{
	if (c->failure.code == FAIL_NONE)
		return FAIL_NONE;
	*f = c->failure;
	c->failure.code = FAIL_NONE;
	return f->code;
}

bool
committer_flies(const struct committer *c)
{
	return c->flying.there;
}

uint64_t
committer_good(const struct committer *c)
{
	return c->good;
}
