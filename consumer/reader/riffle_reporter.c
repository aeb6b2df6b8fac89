/*
 * riffle_reporter.c -- part of the public API (riffle.h): reports of losses, without a reader; and
 * how a report is put together, for readers as well.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/limits.h"
#include "common/base/names.h"
#include "consumer/feedback/reporter.h"
#include "consumer/ledger/run_position.h"
#include "consumer/reader/riffle_internal.h"

/* ---- a report ---- */

static int
by_name(const void *a, const void *b)
{
	const struct feedback_loss *x = a, *y = b;

	return strcmp(x->domain, y->domain);
}

enum fail_code
riffle_gather_losses(
    struct feedback *b, const struct riffle_loss *loss, size_t n, struct failure *f)
{
	assert(b->loss == NULL);
	assert(b->losses_n == 0);
	b->loss = calloc(n + 1, sizeof(*b->loss));
	if (b->loss == NULL)
		return fail_memory(f);
	for (size_t i = 0; i < n; i++) {
		if (loss[i].domain == NULL || !names_valid(loss[i].domain))
			return fail(f, FAIL_USAGE, "\"%s\" is not a name of a domain",
			    loss[i].domain == NULL ? "" : loss[i].domain);
		if (loss[i].tokens < 0)
			return fail(f, FAIL_USAGE,
			    "domain %s: %" PRId64 " tokens, must be at least 0", loss[i].domain,
			    loss[i].tokens);
		if (loss[i].tokens == 0)
			continue;
		b->loss[b->losses_n++] = (struct feedback_loss){
		    .domain = (char *)(uintptr_t)loss[i].domain, /* only read */
		    .loss_sum = loss[i].loss_sum,
		    .excess_sum = loss[i].excess_sum,
		    .tokens = loss[i].tokens,
		};
	}
	qsort(b->loss, b->losses_n, sizeof(*b->loss), by_name);
	for (size_t i = 1; i < b->losses_n; i++)
		if (by_name(&b->loss[i - 1], &b->loss[i]) == 0)
			return fail(f, FAIL_USAGE, "domain %s twice", b->loss[i].domain);
	return FAIL_NONE;
}

enum fail_code
riffle_send_losses(struct reporter *r, struct feedback *b, const struct riffle_loss *loss, size_t n,
    struct failure *f)
{
	enum fail_code code;

	assert(r != NULL);
	if (b->step < 0 || (uint64_t)b->step >= LIMIT_STEP)
		code = fail(f, FAIL_USAGE, "the step is out of range");
	else
		code = riffle_gather_losses(b, loss, n, f);
	if (code == FAIL_NONE)
		code = reporter_send(r, b, f);
	free(b->loss);
	if (code != FAIL_NONE)
		fail_within(f, "losses of step %" PRId64, b->step);
	return code;
}

enum fail_code
riffle_flush_reporter(
    struct reporter *r, const struct riffle_gate *g, int64_t deadline_ms, struct failure *f)
{
	for (;;) {
		int64_t until_ms = riffle_gate_slice(deadline_ms), left_ms = until_ms - clock_ms();
		enum fail_code code = reporter_flush(r, left_ms < 0 ? 0 : (int)left_ms, f);

		if (code != FAIL_TIMEOUT || until_ms == deadline_ms)
			return code;
		if (riffle_gate_ends(g))
			return riffle_gate_fail_ended(g, f);
	}
}

/* ---- without a reader ---- */

struct riffle_reporter {
	struct riffle_gate gate;
	char mix[NAME_MAX_BYTES + 1], run[NAME_MAX_BYTES + 1];
	uint32_t rank, world;
	struct reporter *reporter;
};

static enum fail_code
open_reporter(struct riffle_reporter *r, const struct riffle_options *o, struct failure *f)
{
	struct properties properties;
	enum fail_code code;

	riffle_gate_init(&r->gate, "reporter", false);
	r->rank = o->rank;
	r->world = o->world;
	snprintf(r->mix, sizeof(r->mix), "%s", o->mix);
	snprintf(r->run, sizeof(r->run), "%s", riffle_run(o));
	code = riffle_properties_copy(&properties, o->bootstrap, o->properties, o->properties_n, f);
	if (code == FAIL_NONE)
		code = reporter_open(
		    &r->reporter, r->mix, &properties, riffle_timeout_ms(o->open_timeout_ms), f);
	properties_clear(&properties);
	return code;
}

int
riffle_reporter_open(
    struct riffle_reporter **out, const struct riffle_options *options, struct riffle_error *e)
{
	struct riffle_options o;
	struct riffle_reporter *r;
	struct failure f;

	*out = NULL;
	if (riffle_take_options(&o, options, &f) != FAIL_NONE ||
	    riffle_check_names(&o, &f) != FAIL_NONE)
		return riffle_give_failure(e, &f);
	r = calloc(1, sizeof(*r));
	if (r == NULL)
		fail_memory(&f);
	else if (open_reporter(r, &o, &f) == FAIL_NONE)
		*out = r;
	if (*out != NULL)
		return RIFFLE_OK;
	free(r);
	return riffle_give_failure(e, &f);
}

int
riffle_reporter_report(struct riffle_reporter *r, uint64_t step, const struct riffle_loss *loss,
    size_t n, struct riffle_error *e)
{
	struct feedback b = {
	    .mix = r->mix,
	    .run = r->run,
	    .step = (int64_t)step,
	    .rank = r->rank,
	    .world = r->world,
	};
	enum fail_code code;
	struct failure f;

	if (riffle_gate_enter(&r->gate, &f) != FAIL_NONE)
		return riffle_give_failure(e, &f);
	code = riffle_send_losses(r->reporter, &b, loss, n, &f);
	riffle_gate_leave(&r->gate);
	return code == FAIL_NONE ? RIFFLE_OK : riffle_give_failure(e, &f);
}

int
riffle_reporter_flush(struct riffle_reporter *r, int timeout_ms, struct riffle_error *e)
{
	int64_t deadline_ms = clock_ms() + (timeout_ms < 0 ? 0 : timeout_ms);
	struct failure f;
	enum fail_code code;

	if (riffle_gate_enter(&r->gate, &f) != FAIL_NONE)
		return riffle_give_failure(e, &f);
	code = riffle_flush_reporter(r->reporter, &r->gate, deadline_ms, &f);
	riffle_gate_leave(&r->gate);
	if (code == FAIL_TIMEOUT)
		return riffle_give(e, RIFFLE_TIMEOUT, f.text);
	return code == FAIL_NONE ? RIFFLE_OK : riffle_give_failure(e, &f);
}

void
riffle_reporter_close(struct riffle_reporter *r)
{
	struct failure f;

	if (r == NULL || !riffle_gate_end(&r->gate))
		return; /* in a child of a fork nothing of it can be ended */
	reporter_flush(r->reporter, RIFFLE_CLOSE_TIMEOUT_MS, &f);
	reporter_close(r->reporter);
	free(r);
}
