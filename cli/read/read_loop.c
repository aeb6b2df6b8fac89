#include "cli/read/read_loop.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "common/base/clock.h"
#include "common/base/log.h"

enum {
	SLICE_MS = 200, /* a wait is looked at so often: time, and signals */
	WAITING_EVERY_MS = 10000,
};

/* What was read, for the rate. */
struct tally {
	int64_t begun_ms, first_ms;
	uint64_t steps, sequences, tokens;
};

enum fail_code
read_loop_fail(struct failure *f, const struct riffle_error *e)
{
	static const enum fail_code codes[] = {
	    [RIFFLE_TIMEOUT] = FAIL_TIMEOUT,
	    [RIFFLE_ERROR_USAGE] = FAIL_CONFIG,
	    [RIFFLE_ERROR_MEMORY] = FAIL_MEMORY,
	    [RIFFLE_ERROR_BROKER] = FAIL_BROKER,
	    [RIFFLE_ERROR_DATA] = FAIL_DATA,
	    [RIFFLE_ERROR_EXPIRED] = FAIL_DATA,
	    [RIFFLE_ERROR_LOST] = FAIL_DATA,
	};

	return fail(f, codes[e->code], "%s", e->text);
}

/* The next step, with an eye on signals: FAIL_STOPPED; *s NULL at the end of the mix. */
static enum fail_code
next_step(
    struct riffle *r, const struct read_plan *p, const struct riffle_step **s, struct failure *f)
{
	int64_t begun_ms = clock_ms(), told_ms = begun_ms;
	struct riffle_error e;

	for (;;) {
		int code = stop_asked(p->stop) ? RIFFLE_END : riffle_next(r, SLICE_MS, s, &e);
		int64_t now_ms = clock_ms();

		if (stop_asked(p->stop) && code != RIFFLE_OK)
			return fail(f, FAIL_STOPPED, "stopped by a signal");
		if (code == RIFFLE_OK || code == RIFFLE_END)
			return FAIL_NONE;
		if (code != RIFFLE_TIMEOUT)
			return read_loop_fail(f, &e);
		if (p->timeout_s > 0 && now_ms - begun_ms >= (int64_t)p->timeout_s * 1000)
			return fail(f, FAIL_TIMEOUT,
			    "step %" PRIu64 " did not come within %" PRIu32 " s: %s",
			    riffle_position(r), p->timeout_s, e.text);
		if (now_ms - told_ms >= WAITING_EVERY_MS) {
			log_warning("read: READ-WAITING seconds=%" PRId64 ": %s",
			    (now_ms - begun_ms) / 1000, e.text);
			told_ms = now_ms;
		}
	}
}

/* Commits what is printed, every `commit_every` steps. A broker that is away is waited for as for a
 * step; FAIL_STOPPED. */
static enum fail_code
commit_due(struct riffle *r, const struct read_plan *p, const struct tally *t, struct failure *f)
{
	int64_t begun_ms = clock_ms(), told_ms = begun_ms;
	struct riffle_error e;
	int code;

	if (p->commit_every == 0 || t->steps % p->commit_every != 0)
		return FAIL_NONE;
	if (riffle_commit_async(r, &e) != RIFFLE_OK)
		return read_loop_fail(f, &e);
	while ((code = riffle_flush(r, SLICE_MS, &e)) == RIFFLE_TIMEOUT) {
		int64_t now_ms = clock_ms();

		if (stop_asked(p->stop))
			return fail(f, FAIL_STOPPED, "stopped by a signal");
		if (p->timeout_s > 0 && now_ms - begun_ms >= (int64_t)p->timeout_s * 1000)
			break;
		if (now_ms - told_ms >= WAITING_EVERY_MS) {
			log_warning("read: READ-WAITING seconds=%" PRId64 ": %s",
			    (now_ms - begun_ms) / 1000, e.text);
			told_ms = now_ms;
		}
	}
	return code == RIFFLE_OK ? FAIL_NONE : read_loop_fail(f, &e);
}

static enum fail_code
read_steps(struct riffle *r, const struct read_plan *p, struct read_output *out, struct tally *t,
    struct failure *f)
{
	const struct riffle_step *s = NULL;
	struct riffle_info info;

	riffle_get_info(r, &info);
	while (t->steps < p->steps) {
		enum fail_code code = next_step(r, p, &s, f);

		if (code == FAIL_STOPPED || (code == FAIL_NONE && s == NULL))
			return FAIL_NONE;
		if (code != FAIL_NONE || read_output_step(out, s, info.lanes_mine, f) != FAIL_NONE)
			return f->code;
		if (t->steps++ == 0)
			t->first_ms = clock_ms();
		t->sequences += s->sequences;
		t->tokens += s->sequences * s->tokens_each;
		code = commit_due(r, p, t, f);
		if (code != FAIL_NONE)
			return code == FAIL_STOPPED ? FAIL_NONE : code;
	}
	return FAIL_NONE;
}

static void
print_rate(const struct tally *t)
{
	int64_t now_ms = clock_ms(), ms = now_ms - (t->steps == 0 ? t->begun_ms : t->first_ms);
	double seconds = (double)(ms < 1 ? 1 : ms) / 1000;

	fprintf(stderr,
	    "read: steps=%" PRIu64 " sequences=%" PRIu64 " tokens=%" PRIu64
	    " first_step_ms=%" PRId64 " seconds=%.3f steps_per_s=%.1f tokens_per_s=%.0f\n",
	    t->steps, t->sequences, t->tokens, t->steps == 0 ? -1 : t->first_ms - t->begun_ms,
	    seconds, (double)t->steps / seconds, (double)t->tokens / seconds);
}

static enum fail_code
check_lanes(const struct riffle *r, const struct read_plan *p, struct failure *f)
{
	struct riffle_info info;

	riffle_get_info(r, &info);
	if (p->lanes == 0 || info.lanes == p->lanes)
		return FAIL_NONE;
	return fail(f, FAIL_CONFIG,
	    "topic %s.batches has %" PRIu32 " partitions, the configuration wants %" PRIu32
	    " (mix.lanes)",
	    p->reader->mix, info.lanes, p->lanes);
}

enum fail_code
read_loop(const struct read_plan *p, FILE *to, struct failure *f)
{
	struct tally tally = {.begun_ms = clock_ms()};
	struct read_output *out = NULL;
	struct riffle *r = NULL;
	struct riffle_error e;
	enum fail_code code = read_output_open(&out, to, p->format, f);

	assert(p->reader->token_bytes == sizeof(uint32_t));
	if (code == FAIL_NONE && riffle_open(&r, p->reader, &e) != RIFFLE_OK)
		code = read_loop_fail(f, &e);
	if (code == FAIL_NONE)
		code = check_lanes(r, p, f);
	if (code == FAIL_NONE)
		code = read_steps(r, p, out, &tally, f);
	if (r != NULL && p->format == READ_NONE)
		print_rate(&tally);
	riffle_close(r);
	read_output_close(out);
	return code;
}
