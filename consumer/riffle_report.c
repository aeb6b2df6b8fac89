#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "consumer/commits.h"
#include "consumer/riffle_state.h"

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

static enum fail_code
report(struct riffle *r, struct feedback *b, struct failure *f)
{
	if (r->reporter == NULL && reporter_open(&r->reporter, r->reader.mix, &r->properties,
				       r->reader.open_timeout_ms, f) != FAIL_NONE)
		return f->code;
	return reporter_send(r->reporter, b, f);
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
	enum fail_code code;

	if (riffle_check_process(r->process, "reader", e) != RIFFLE_OK)
		return RIFFLE_ERROR_USAGE;
	if (step >= COMMITS_STEP_MAX)
		code = fail(&f, FAIL_USAGE, "%" PRIu64 " is out of range", step);
	else
		code = gather(&b, loss, n, &f);
	if (code == FAIL_NONE)
		code = report(r, &b, &f);
	free(b.loss);
	if (code == FAIL_NONE)
		return RIFFLE_OK;
	fail_within(&f, "losses of step %" PRIu64, step);
	return riffle_give_failure(e, &f);
}

int
riffle_flush(struct riffle *r, int timeout_ms, struct riffle_error *e)
{
	int64_t deadline_ms = clock_ms() + timeout_ms, left;
	struct failure f;
	enum fail_code code;

	if (riffle_check_process(r->process, "reader", e) != RIFFLE_OK)
		return RIFFLE_ERROR_USAGE;
	code = lane_commits_poll(r->commits, timeout_ms, &f);
	left = deadline_ms - clock_ms();
	if (code == FAIL_NONE && r->reporter != NULL)
		code = reporter_flush(r->reporter, left < 0 ? 0 : (int)left, &f);
	if (code == FAIL_TIMEOUT)
		return riffle_give(e, RIFFLE_TIMEOUT, f.text);
	if (code == FAIL_NONE)
		code = lane_commits_failure(r->commits, &f);
	return code == FAIL_NONE ? RIFFLE_OK : riffle_give_failure(e, &f);
}
