#include "consumer/ledger/step_round.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "consumer/ledger/ledger_log.h"
#include "consumer/mixer/mixer.h"
#include "consumer/plan/ledger_plan.h"

void
step_round_pass(struct step_round *r, uint64_t draws)
{
	if (r->size == 0)
		return;
	assert(r->draws < r->size);
	r->round += (r->draws + draws) / r->size;
	r->draws = (r->draws + draws) % r->size;
}

/* The steps of a transaction up to `step` once more, from the record before it. */
static enum fail_code
repeat_steps(struct step_round *out, const struct ledger *before, uint64_t step, struct failure *f)
{
	struct ledger_plan plan = {0};
	struct mixer_draw *draws = NULL;
	struct mixer *m = NULL;
	enum mixer_result result = MIXER_DRAWN;
	enum fail_code code = ledger_plan_open(&plan, before, f);

	if (code == FAIL_NONE)
		code = mixer_resume(&m, &plan.plan, before, f);
	if (code == FAIL_NONE)
		draws = calloc(mixer_global_batch_most(m), sizeof(*draws));
	if (code == FAIL_NONE && draws == NULL)
		code = fail_memory(f);
	while (code == FAIL_NONE && result == MIXER_DRAWN && mixer_step_next(m) < step)
		code = mixer_step(m, draws, &result, f);
	if (code == FAIL_NONE && result != MIXER_DRAWN)
		code = fail(f, FAIL_DATA, "step %" PRIu64 " cannot be drawn again", step);
	if (code == FAIL_NONE)
		out->round = mixer_round(m, &out->draws);
	free(draws);
	mixer_close(m);
	ledger_plan_close(&plan);
	return code;
}

/* `before` holds the state before `step` or an earlier one, `after` that behind it. */
static enum fail_code
derive(struct step_round *out, const struct ledger *before, const struct ledger *after,
    uint64_t step, struct failure *f)
{
	uint64_t steps = (uint64_t)(after->step_next - before->step_next);

	assert(steps > 0);
	*out = (struct step_round){
	    (uint64_t)before->epoch_size, (uint64_t)before->round, (uint64_t)before->round_draws};
	if (before->version != after->version)
		return repeat_steps(out, before, step, f);
	step_round_pass(out, (uint64_t)(after->draws - before->draws) / steps *
				 (step - (uint64_t)before->step_next));
	return FAIL_NONE;
}

static enum fail_code
find(struct step_round *out, struct ledger_log *log, uint64_t step, struct failure *f)
{
	struct ledger before = {0}, after = {0};
	int64_t offset;
	enum fail_code code = ledger_log_seek(log, step, false, f);

	if (code == FAIL_NONE)
		code = ledger_log_next(log, 0, &before, &offset, f);
	if (code == FAIL_NONE && before.epoch_size == 0)
		*out = (struct step_round){0};
	else if (code == FAIL_NONE)
		code = ledger_log_next(log, 0, &after, &offset, f);
	if (code == FAIL_TIMEOUT)
		code = fail(f, FAIL_DATA, "step %" PRIu64 " is not published", step);
	if (code == FAIL_NONE && before.epoch_size > 0)
		code = derive(out, &before, &after, step, f);
	ledger_clear(&before);
	ledger_clear(&after);
	return code;
}

enum fail_code
step_round_find(struct step_round *out, const char *mix, const struct properties *properties,
    int timeout_ms, uint64_t step, struct failure *f)
{
	struct ledger_log *log;
	enum fail_code code;

	if (ledger_log_open(&log, mix, properties, timeout_ms, f) != FAIL_NONE)
		return f->code;
	code = find(out, log, step, f);
	ledger_log_close(log);
	return code == FAIL_NONE ? FAIL_NONE : fail_within(f, "rounds of mix %s", mix);
}
