#include "consumer/reader/riffle.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "consumer/ledger/run_position.h"
#include "consumer/reader/riffle_state.h"

enum {
	PLACED_WAIT_MS = 1000,  /* for the first step, before its place is committed */
	COMMITS_LOOK_MS = 1000, /* between two looks at a commit while a step is waited for */
	AGAIN_MS = 10000,       /* for a step, before the last commit is told again */
};

void
riffle_get_info(const struct riffle *r, struct riffle_info *out)
{
	*out = r->info;
}

uint64_t
riffle_position(const struct riffle *r)
{
	return r->position;
}

/* ---- commits ---- */

static enum fail_code
ask_commit(struct riffle *r, struct failure *f)
{
	r->placed = false;
	r->commit_position = r->position;
	return committer_ask(r->commits, r->position, r->offset_next, f);
}

static enum fail_code
commit(struct riffle *r, struct failure *f)
{
	committer_failure(r->commits, f); /* an older one is made good by this one */
	if (ask_commit(r, f) != FAIL_NONE ||
	    committer_poll(r->commits, RIFFLE_COMMIT_TIMEOUT_MS, f) != FAIL_NONE)
		return f->code;
	return committer_failure(r->commits, f);
}

int
riffle_commit(struct riffle *r, struct riffle_error *e)
{
	struct failure f;

	if (riffle_check_process(r->process, "reader", e) != RIFFLE_OK)
		return RIFFLE_ERROR_USAGE;
	return commit(r, &f) == FAIL_NONE ? RIFFLE_OK : riffle_give_failure(e, &f);
}

int
riffle_commit_async(struct riffle *r, struct riffle_error *e)
{
	struct failure f;

	if (riffle_check_process(r->process, "reader", e) != RIFFLE_OK)
		return RIFFLE_ERROR_USAGE;
	committer_poll(r->commits, 0, &f); /* what it says is asked for below */
	if (committer_failure(r->commits, &f) != FAIL_NONE || ask_commit(r, &f) != FAIL_NONE)
		return riffle_give_failure(e, &f);
	return RIFFLE_OK;
}

uint64_t
riffle_committed(const struct riffle *r)
{
	return committer_good(r->commits);
}

/* Steps that may be read without a commit before the mixer might have to wait for it. */
static uint64_t
commit_after(const struct riffle *r)
{
	uint64_t quarter = r->lead / 4;

	if (r->lead == 0 || r->commit_every <= quarter)
		return r->commit_every;
	return quarter == 0 ? 1 : quarter;
}

static bool
commit_is_due(const struct riffle *r, bool ended)
{
	uint64_t since = r->position - r->commit_position;

	if (r->commit_every == 0 || since == 0)
		return false;
	return ended || since >= commit_after(r);
}

/* Looks at what became of commits, and asks for one where it is due. */
static enum fail_code
serve_commits(struct riffle *r, struct failure *f)
{
	committer_poll(r->commits, 0, f);
	if (r->commit_every > 0 && committer_failure(r->commits, f) != FAIL_NONE)
		return f->code;
	return commit_is_due(r, false) ? ask_commit(r, f) : FAIL_NONE;
}

/* ---- steps ---- */

static int
give_timeout(const struct riffle *r, const char *reason, struct riffle_error *e)
{
	char text[FAILURE_TEXT_MAX];

	snprintf(text, sizeof(text), "step %" PRIu64 " of mix %s does not come: %s", r->position,
	    r->reader.mix,
	    reason[0] == '\0' ? "it is not published yet (is `riffle mix` running?)" : reason);
	return riffle_give(e, RIFFLE_TIMEOUT, text);
}

/* The end of the mix is committed, and known to be. */
static enum fail_code
commit_end(struct riffle *r, struct failure *f)
{
	if (commit_is_due(r, true))
		return commit(r, f);
	if (committer_poll(r->commits, RIFFLE_COMMIT_TIMEOUT_MS, f) != FAIL_NONE)
		return f->code;
	return committer_failure(r->commits, f);
}

static int
give_end(struct riffle *r, struct riffle_error *e)
{
	char text[FAILURE_TEXT_MAX];
	struct failure f;

	if (r->commit_every > 0 && commit_end(r, &f) != FAIL_NONE)
		return riffle_give_failure(e, &f);
	snprintf(text, sizeof(text), "mix %s has ended; there is no step %" PRIu64, r->reader.mix,
	    r->position);
	return riffle_give(e, RIFFLE_END, text);
}

/* The first step says what the mix is; the length must be the same in all. */
static enum fail_code
check_length(struct riffle *r, const struct step_slot *slot, struct failure *f)
{
	if (r->info.sequence_length == 0) {
		r->info.global_batch = slot->global_batch;
		r->info.schedule = slot->schedule;
		r->info.tokenizer = slot->tokenizer;
		r->info.sequence_length = (uint32_t)(slot->step.tokens_each - 1);
		return FAIL_NONE;
	}
	if (slot->step.tokens_each - 1 == r->info.sequence_length)
		return FAIL_NONE;
	return fail(f, FAIL_DATA,
	    "step %" PRIu64 " of mix %s: %zu tokens, where earlier sequences have %" PRIu32,
	    slot->step.step, r->reader.mix, slot->step.tokens_each, r->info.sequence_length + 1);
}

static void
give_back(struct riffle *r)
{
	if (r->given == NULL)
		return;
	step_slot_take_back(r->given);
	r->given = NULL;
	prefetch_given_back(r->prefetch);
}

/*
 * Waits for the step. The commit that is on its way is looked after meanwhile, and the last one
 * told again now and then: one that a dead process of this run had sent can reach the broker behind
 * ours, and then mixer and trainer would wait for each other for ever.
 */
static enum fail_code
wait_next(struct riffle *r, int64_t deadline_ms, char reason[static PREFETCH_REASON_MAX],
    struct failure *f)
{
	if (r->waits_ms == 0)
		r->waits_ms = clock_ms();
	for (;;) {
		int64_t again_ms = r->waits_ms + AGAIN_MS, look_ms = clock_ms() + COMMITS_LOOK_MS;
		int64_t until_ms = again_ms < deadline_ms ? again_ms : deadline_ms;
		enum fail_code code;

		if (committer_flies(r->commits) && look_ms < until_ms)
			until_ms = look_ms;
		code = prefetch_next(r->prefetch, until_ms, &r->next, reason, f);
		if (code != FAIL_TIMEOUT || until_ms == deadline_ms)
			return code;
		if (serve_commits(r, f) != FAIL_NONE)
			return f->code;
		if (clock_ms() < again_ms)
			continue;
		committer_repeat(
		    r->commits, r->position, r->commit_every > 0 ? r->offset_next : NULL);
		r->waits_ms = clock_ms();
	}
}

/*
 * Brings the step. A trainer that begins at its checkpoint may stand as far ahead of the run's
 * commits as the mixer may go: then each would wait for the other, if the place were not committed.
 */
static enum fail_code
wait_step(struct riffle *r, int64_t deadline_ms, char reason[static PREFETCH_REASON_MAX],
    struct failure *f)
{
	int64_t first_ms = clock_ms() + PLACED_WAIT_MS;
	enum fail_code code;

	if (r->placed && r->commit_every > 0) {
		code = prefetch_next(r->prefetch, first_ms < deadline_ms ? first_ms : deadline_ms,
		    &r->next, reason, f);
		if (code != FAIL_TIMEOUT)
			return code;
		if (ask_commit(r, f) != FAIL_NONE)
			return f->code;
	}
	return wait_next(r, deadline_ms, reason, f);
}

/* Brings the step that is next to r->next. */
static int
fetch(struct riffle *r, int timeout_ms, struct riffle_error *e)
{
	int64_t deadline_ms = clock_ms() + (timeout_ms < 0 ? 0 : timeout_ms);
	char reason[PREFETCH_REASON_MAX];
	struct failure f = {0};
	enum fail_code code;

	if (riffle_check_process(r->process, "reader", e) != RIFFLE_OK)
		return RIFFLE_ERROR_USAGE;
	if (serve_commits(r, &f) != FAIL_NONE)
		return riffle_give_failure(e, &f);
	give_back(r);
	if (r->next != NULL)
		return RIFFLE_OK;
	code = wait_step(r, deadline_ms, reason, &f);
	if (code == FAIL_TIMEOUT)
		return give_timeout(r, reason, e);
	if (code == FAIL_NONE && r->next == NULL)
		return give_end(r, e);
	if (code == FAIL_NONE)
		code = check_length(r, r->next, &f);
	if (code == FAIL_NONE)
		return RIFFLE_OK;
	if (prefetch_expired(r->prefetch))
		return riffle_give(e, RIFFLE_ERROR_EXPIRED, f.text);
	return riffle_give_failure(e, &f);
}

static const struct riffle_step *
hand_out(struct riffle *r)
{
	struct step_slot *slot = r->next;

	step_slot_hand_out(slot);
	r->given = slot;
	r->next = NULL;
	r->waits_ms = 0;
	r->lead = slot->lead;
	r->position = slot->step.step + 1;
	for (uint32_t i = 0; i < slot->lanes; i++)
		r->offset_next[i] = slot->lane[i].offset + 1;
	return &slot->step;
}

int
riffle_next(
    struct riffle *r, int timeout_ms, const struct riffle_step **out, struct riffle_error *e)
{
	int code;

	*out = NULL;
	code = fetch(r, timeout_ms, e);
	if (code == RIFFLE_OK)
		*out = hand_out(r);
	return code;
}

int
riffle_next_into(struct riffle *r, int timeout_ms, void *tokens, size_t room_bytes,
    const struct riffle_step **out, struct riffle_error *e)
{
	char text[FAILURE_TEXT_MAX];
	struct riffle_step *s;
	size_t bytes;
	int code;

	*out = NULL;
	code = fetch(r, timeout_ms, e);
	if (code != RIFFLE_OK)
		return code;
	s = &r->next->step;
	bytes = s->sequences * s->tokens_each * r->token_bytes;
	if (room_bytes < bytes) {
		snprintf(text, sizeof(text),
		    "step %" PRIu64
		    " takes %zu bytes (%zu sequences of %zu tokens), the buffer has "
		    "%zu",
		    s->step, bytes, s->sequences, s->tokens_each, room_bytes);
		return riffle_give(e, RIFFLE_ERROR_USAGE, text);
	}
	memcpy(tokens, s->tokens, bytes);
	s->tokens = tokens;
	*out = hand_out(r);
	return RIFFLE_OK;
}

int
riffle_keep(struct riffle *r, const struct riffle_step *step, struct riffle_error *e)
{
	if (riffle_check_process(r->process, "reader", e) != RIFFLE_OK)
		return RIFFLE_ERROR_USAGE;
	if (r->given == NULL || step != &r->given->step)
		return riffle_give(e, RIFFLE_ERROR_USAGE,
		    "only the step that riffle_next() gave last can be kept");
	step_slot_keep(r->given);
	return RIFFLE_OK;
}

void
riffle_free_step(const struct riffle_step *step)
{
	step_slot_let_go(step);
}

/* ---- another step ---- */

/* The threads rest. */
static enum fail_code
move_to(struct riffle *r, uint64_t step, struct failure *f)
{
	struct reader *reader = &r->reader;

	reader->check.step = step;
	reader->ended = false;
	reader->expired = false;
	return reader_seek(reader, f);
}

int
riffle_seek(struct riffle *r, uint64_t step, struct riffle_error *e)
{
	uint64_t before = r->position;
	struct failure f = {0}, again;
	char text[FAILURE_TEXT_MAX];
	int code = RIFFLE_OK;

	if (riffle_check_process(r->process, "reader", e) != RIFFLE_OK)
		return RIFFLE_ERROR_USAGE;
	if (step >= RUN_POSITION_STEP_MAX) {
		snprintf(text, sizeof(text), "step %" PRIu64 " is out of range", step);
		return riffle_give(e, RIFFLE_ERROR_USAGE, text);
	}
	prefetch_pause(r->prefetch);
	give_back(r);
	if (r->next != NULL)
		step_pool_put(r->next);
	r->next = NULL;
	if (move_to(r, step, &f) == FAIL_NONE) {
		r->position = step;
		r->commit_position = step;
		r->placed = true;
		r->waits_ms = 0;
		for (uint32_t i = 0; i < r->info.lanes_mine; i++)
			r->offset_next[i] = r->reader.lane[i].offset_next;
	} else {
		code = r->reader.expired ? riffle_give(e, RIFFLE_ERROR_EXPIRED, f.text)
					 : riffle_give_failure(e, &f);
		move_to(r, before, &again); /* where that fails, the next step meets it again */
	}
	r->reader.sought = false;
	prefetch_resume(r->prefetch);
	return code;
}

const char *
riffle_version(void)
{
	return RIFFLE_VERSION;
}
