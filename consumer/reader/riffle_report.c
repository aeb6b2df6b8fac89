#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "consumer/ledger/run_position.h"
#include "consumer/reader/riffle_state.h"

static int
by_name(const void *a, const void *b)
{
	const struct feedback_loss *x = a, *y = b;

	return strcmp(x->domain, y->domain);
}

/* Sorted by name, those without tokens left out; borrows the names. */
static enum fail_code
gather(struct feedback *b, const struct riffle_loss *loss, size_t n, struct failure *f)
{
	b->loss = calloc(n + 1, sizeof(*b->loss));
	if (b->loss == NULL)
		return fail_memory(f);
	for (size_t i = 0; i < n; i++) {
		if (loss[i].domain == NULL || !names_valid(loss[i].domain))
			return fail(f, FAIL_USAGE, "\"%s\" is not a name of a domain",
			    loss[i].domain == NULL ? "" : loss[i].domain);
		if (loss[i].tokens < 0)
			return fail(f, FAIL_USAGE, "domain %s: %" PRId64 " tokens", loss[i].domain,
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

/* Checks `loss`, completes `b` with it and sends it. */
static enum fail_code
send_losses(struct reporter *r, struct feedback *b, const struct riffle_loss *loss, size_t n,
    struct failure *f)
{
	enum fail_code code;

	if (b->step < 0 || (uint64_t)b->step >= RUN_POSITION_STEP_MAX)
		code = fail(f, FAIL_USAGE, "the step is out of range");
	else
		code = gather(b, loss, n, f);
	if (code == FAIL_NONE)
		code = reporter_send(r, b, f);
	free(b->loss);
	if (code != FAIL_NONE)
		fail_within(f, "losses of step %" PRId64, b->step);
	return code;
}

int
riffle_report(struct riffle *r, uint64_t step, const struct riffle_loss *loss, size_t n,
    struct riffle_error *e)
{
	struct feedback b = {
	    .mix = r->reader.mix,
	    .run = r->reader.run,
	    .step = (int64_t)step,
	    .rank = r->rank,
	    .world = r->world,
	};
	struct failure f;

	if (riffle_check_process(r->process, "reader", e) != RIFFLE_OK)
		return RIFFLE_ERROR_USAGE;
	if (r->reporter == NULL && reporter_open(&r->reporter, r->reader.mix, &r->properties,
				       r->reader.open_timeout_ms, &f) != FAIL_NONE)
		return riffle_give_failure(e, &f);
	if (send_losses(r->reporter, &b, loss, n, &f) != FAIL_NONE)
		return riffle_give_failure(e, &f);
	return RIFFLE_OK;
}

int
riffle_flush(struct riffle *r, int timeout_ms, struct riffle_error *e)
{
	int64_t deadline_ms = clock_ms() + timeout_ms, left;
	struct failure f;
	enum fail_code code;

	if (riffle_check_process(r->process, "reader", e) != RIFFLE_OK)
		return RIFFLE_ERROR_USAGE;
	code = committer_poll(r->commits, timeout_ms, &f);
	left = deadline_ms - clock_ms();
	if (code == FAIL_NONE && r->reporter != NULL)
		code = reporter_flush(r->reporter, left < 0 ? 0 : (int)left, &f);
	if (code == FAIL_TIMEOUT)
		return riffle_give(e, RIFFLE_TIMEOUT, f.text);
	if (code == FAIL_NONE)
		code = committer_failure(r->commits, &f);
	return code == FAIL_NONE ? RIFFLE_OK : riffle_give_failure(e, &f);
}

/* ---- without a reader ---- */

struct riffle_reporter {
	pid_t process;
	char mix[NAME_MAX_BYTES + 1], run[NAME_MAX_BYTES + 1];
	uint32_t rank, world;
	struct reporter *reporter;
};

static enum fail_code
open_reporter(struct riffle_reporter *r, const struct riffle_options *o, struct failure *f)
{
	int timeout_ms = o->open_timeout_ms > 0 ? o->open_timeout_ms : READER_OPEN_TIMEOUT_MS;
	struct properties properties;
	enum fail_code code;

	r->process = getpid();
	r->rank = o->rank;
	r->world = o->world;
	snprintf(r->mix, sizeof(r->mix), "%s", o->mix);
	snprintf(r->run, sizeof(r->run), "%s", o->run == NULL ? "trainers" : o->run);
	code = riffle_properties_copy(&properties, o->bootstrap, o->properties, o->properties_n, f);
	if (code == FAIL_NONE)
		code = reporter_open(&r->reporter, r->mix, &properties, timeout_ms, f);
	riffle_properties_clear(&properties);
	return code;
}

int
riffle_reporter_open(
    struct riffle_reporter **out, const struct riffle_options *options, struct riffle_error *e)
{
	struct riffle_reporter *r;
	struct failure f;

	*out = NULL;
	if (riffle_check_names(options, &f) != FAIL_NONE)
		return riffle_give_failure(e, &f);
	r = calloc(1, sizeof(*r));
	if (r == NULL)
		fail_memory(&f);
	else if (open_reporter(r, options, &f) == FAIL_NONE)
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
	struct failure f;

	if (riffle_check_process(r->process, "reporter", e) != RIFFLE_OK)
		return RIFFLE_ERROR_USAGE;
	if (send_losses(r->reporter, &b, loss, n, &f) != FAIL_NONE)
		return riffle_give_failure(e, &f);
	return RIFFLE_OK;
}

int
riffle_reporter_flush(struct riffle_reporter *r, int timeout_ms, struct riffle_error *e)
{
	struct failure f;
	enum fail_code code;

	if (riffle_check_process(r->process, "reporter", e) != RIFFLE_OK)
		return RIFFLE_ERROR_USAGE;
	code = reporter_flush(r->reporter, timeout_ms, &f);
	if (code == FAIL_TIMEOUT)
		return riffle_give(e, RIFFLE_TIMEOUT, f.text);
	return code == FAIL_NONE ? RIFFLE_OK : riffle_give_failure(e, &f);
}

void
riffle_reporter_close(struct riffle_reporter *r)
{
	struct failure f;

	if (r == NULL || r->process != getpid())
		return;
	reporter_flush(r->reporter, RIFFLE_CLOSE_TIMEOUT_MS, &f);
	reporter_close(r->reporter);
	free(r);
}
