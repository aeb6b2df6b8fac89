#include "consumer/assembler.h"

#include <assert.h>
#include <stdlib.h>

#include "common/clock.h"

struct assembler {
	struct mixer *now, *ahead;
	bool ahead_ended;
	struct feed *feed;
	uint32_t global_batch;
	struct mixer_draw *draw, *ahead_draw;
	const struct feed_record **record;
	assembler_quarantined *quarantined;
	void *opaque;
};

enum { POLL_MS = 5 };

enum fail_code
assembler_open(struct assembler **out, struct mixer *now, struct feed *feed, uint32_t global_batch,
    assembler_quarantined *quarantined, void *opaque, struct failure *f)
{
	struct assembler *a = calloc(1, sizeof(*a));

	if (a == NULL)
		return fail_memory(f);
	a->feed = feed;
	a->global_batch = global_batch;
	a->quarantined = quarantined;
	a->opaque = opaque;
	a->draw = calloc(global_batch, sizeof(*a->draw));
	a->ahead_draw = calloc(global_batch, sizeof(*a->ahead_draw));
	a->record = calloc(global_batch, sizeof(*a->record));
	if (a->draw == NULL || a->ahead_draw == NULL || a->record == NULL) {
		fail_memory(f);
		goto failed;
	}
	if (mixer_copy(&a->ahead, now, f) != FAIL_NONE)
		goto failed;
	a->now = now;
	*out = a;
	return FAIL_NONE;
failed:
	assembler_close(a);
	return f->code;
}

void
assembler_close(struct assembler *a)
{
	if (a == NULL)
		return;
	feed_forget(a->feed);
	mixer_close(a->now);
	mixer_close(a->ahead);
	free(a->draw);
	free(a->ahead_draw);
	free(a->record);
	free(a);
}

const struct mixer *
assembler_mixer(const struct assembler *a)
{
	return a->now;
}

static enum fail_code
announce_step(struct assembler *a, struct failure *f)
{
	enum mixer_result result;

	if (mixer_step(a->ahead, a->ahead_draw, &result, f) != FAIL_NONE)
		return f->code;
	a->ahead_ended = result != MIXER_DRAWN;
	for (uint32_t i = 0; !a->ahead_ended && i < a->global_batch; i++)
		if (feed_want(a->feed, &a->ahead_draw[i], f) != FAIL_NONE)
			return f->code;
	return FAIL_NONE;
}

/* Lets `ahead` run until the feed has enough to do, or the horizon is reached. */
static enum fail_code
announce(struct assembler *a, struct failure *f)
{
	uint64_t horizon = ASSEMBLER_AHEAD_DRAWS / a->global_batch + 1;

	while (!a->ahead_ended && mixer_step_next(a->ahead) - mixer_step_next(a->now) < horizon &&
	       (!feed_full(a->feed) || mixer_step_next(a->ahead) == mixer_step_next(a->now)))
		if (announce_step(a, f) != FAIL_NONE)
			return f->code;
	return FAIL_NONE;
}

enum fail_code
assembler_idle(struct assembler *a, int timeout_ms, struct failure *f)
{
	if (announce(a, f) != FAIL_NONE)
		return f->code;
	return feed_poll(a->feed, timeout_ms, f);
}

/* Waits until every sequence of the step is in memory. FAIL_TIMEOUT: it is not, in time. */
static enum fail_code
gather(struct assembler *a, int timeout_ms, struct failure *f)
{
	int64_t deadline = clock_ms() + timeout_ms;

	for (uint32_t i = 0; i < a->global_batch; i++) {
		while ((a->record[i] = feed_find(a->feed, &a->draw[i])) == NULL) {
			feed_urge(a->feed, &a->draw[i]);
			if (feed_poll(a->feed, POLL_MS, f) != FAIL_NONE)
				return f->code;
			if (clock_ms() >= deadline)
				return fail(f, FAIL_TIMEOUT, "waiting for sequences of domain %s",
				    mixer_domain_name(a->now, a->draw[i].domain));
		}
	}
	return FAIL_NONE;
}

/* Takes the step back and keeps its bad sequences out. *any: there were some. */
static enum fail_code
quarantine_bad(struct assembler *a, bool *any, struct failure *f)
{
	*any = false;
	for (uint32_t i = 0; i < a->global_batch; i++)
		*any = *any || a->record[i]->payload == NULL;
	if (!*any)
		return FAIL_NONE;
	mixer_undo(a->now);
	for (uint32_t i = 0; i < a->global_batch; i++) {
		const struct mixer_draw *d = &a->draw[i];

		if (a->record[i]->payload != NULL)
			continue;
		if (mixer_quarantine(a->now, d->domain, d->partition, d->ordinal,
			a->record[i]->reason, f) != FAIL_NONE)
			return f->code;
		a->quarantined(a->opaque, d, a->record[i]);
	}
	mixer_close(a->ahead);
	a->ahead = NULL;
	a->ahead_ended = false;
	feed_forget(a->feed);
	return mixer_copy(&a->ahead, a->now, f);
}

enum fail_code
assembler_next(
    struct assembler *a, int timeout_ms, struct assembled *out, bool *ended, struct failure *f)
{
	enum mixer_result result;
	bool again = true;

	while (again) {
		if (announce(a, f) != FAIL_NONE ||
		    mixer_step(a->now, a->draw, &result, f) != FAIL_NONE)
			return f->code;
		*ended = result == MIXER_ENDED;
		if (*ended)
			return FAIL_NONE;
		if (gather(a, timeout_ms, f) != FAIL_NONE) {
			mixer_undo(a->now);
			return f->code;
		}
		if (quarantine_bad(a, &again, f) != FAIL_NONE)
			return f->code;
	}
	if (feed_poll(a->feed, 0, f) != FAIL_NONE)
		return f->code;
	out->draw = a->draw;
	out->record = a->record;
	return FAIL_NONE;
}

void
assembler_release(struct assembler *a)
{
	for (uint32_t i = 0; i < a->global_batch; i++)
		feed_release(a->feed, &a->draw[i]);
}
