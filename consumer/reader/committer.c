#include "consumer/reader/committer.h"

#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/fault.h"
#include "common/base/limits.h"
#include "consumer/ledger/run_position.h"

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
};

enum fail_code
committer_open(struct committer **out, struct lanes *lanes, uint64_t step, struct failure *f)
{
	struct committer *c = calloc(1, sizeof(*c));
	size_t n = lanes_count(lanes);

	if (c == NULL)
		return fail_memory(f);
	c->lanes = lanes;
	c->good = step;
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
	run_position_format(metadata, step);
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

/* The commit on its way was answered by `code`: notes that, and sends the one that waits. */
static void
answered(struct committer *c, enum fail_code code, struct failure *f)
{
	assert(c->flying.there);
	c->flying.there = false;
	if (code == FAIL_NONE) {
		fault_point("read.after_commit");
		c->good = c->flying.step;
		c->kept = true;
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
