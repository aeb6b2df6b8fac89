#include "consumer/derive/assembler.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "consumer/domain/domains.h"

struct assembler {
	struct mixer *now, *ahead;
	bool ahead_ended; /* or a live domain is dry: it cannot decide further */
	bool stale;       /* `ahead` no longer decides as `now` will */
	bool dry;
	bool likely;           /* announcements are not certain: weights count tokens */
	uint64_t renewed_step; /* likely: where `ahead` began last */
	struct feed *feed;
	uint32_t room;                        /* draws of a step, at most, since the last renewal */
	uint32_t n;                           /* draws of the step that `now` drew last */
	struct mixer_draw *draw, *ahead_draw; /* [room], of which n are used */
	const struct feed_block_record **record;
	/* likely: [asked_n] of [room], announced because their tokens are needed */
	struct mixer_draw *asked;
	uint32_t asked_n;
	assembler_quarantined *quarantined;
	void *opaque;
};

enum { POLL_MS = 5 };

/* mixer_tokens: of a sequence that is loaded; a bad one is quarantined whatever it counts. */
static uint32_t
tokens_of(void *opaque, const struct mixer_draw *draw)
{
	struct assembler *a = opaque;
	const struct feed_block_record *r = feed_find(a->feed, draw);

	if (!a->likely) {
		a->likely = true;
		a->stale = true;
	}
	if (r == NULL)
		return 0;
	return r->payload == NULL ? UINT32_MAX : r->tokens;
}

static void
free_draws(struct assembler *a)
{
	free(a->draw);
	free(a->ahead_draw);
	free(a->record);
	free(a->asked);
}

/* Makes room for the largest step that can come. Nothing is borrowed or asked for. */
static enum fail_code
make_room(struct assembler *a, uint32_t most, struct failure *f)
{
	assert(a->asked_n == 0);
	if (most <= a->room)
		return FAIL_NONE;
	free_draws(a);
	a->room = 0;
	a->draw = calloc(most, sizeof(*a->draw));
	a->ahead_draw = calloc(most, sizeof(*a->ahead_draw));
	a->record = calloc(most, sizeof(*a->record));
	a->asked = calloc(most, sizeof(*a->asked));
	if (a->draw == NULL || a->ahead_draw == NULL || a->record == NULL || a->asked == NULL)
		return fail_memory(f);
	a->room = most;
	return FAIL_NONE;
}

enum fail_code
assembler_open(struct assembler **out, struct mixer *now, struct feed *feed,
    assembler_quarantined *quarantined, void *opaque, struct failure *f)
{
	struct assembler *a = calloc(1, sizeof(*a));

	if (a == NULL)
		return fail_memory(f);
	a->feed = feed;
	a->quarantined = quarantined;
	a->opaque = opaque;
	if (make_room(a, mixer_global_batch_most(now), f) != FAIL_NONE)
		goto failed;
	if (mixer_copy(&a->ahead, now, f) != FAIL_NONE)
		goto failed;
	a->now = now;
	mixer_set_tokens(now, tokens_of, a);
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
	free_draws(a);
	free(a);
}

const struct mixer *
assembler_mixer(const struct assembler *a)
{
	return a->now;
}

struct mixer *
assembler_change(struct assembler *a)
{
	a->stale = true;
	return a->now;
}

const struct mixer_draw *
assembler_dry(const struct assembler *a)
{
	return a->dry ? mixer_blocked(a->now) : NULL;
}

/* ---- reading ahead ---- */

static enum fail_code
announce_step(struct assembler *a, struct failure *f)
{
	enum mixer_result result;

	if (mixer_step(a->ahead, a->ahead_draw, &result, f) != FAIL_NONE)
		return f->code;
	a->ahead_ended = result != MIXER_DRAWN;
	for (uint32_t i = 0; !a->ahead_ended && i < mixer_global_batch(a->ahead); i++)
		if (feed_want(a->feed, &a->ahead_draw[i], f) != FAIL_NONE)
			return f->code;
	return FAIL_NONE;
}

/* `ahead` restarts from `now`, and all announcements with it. */
static enum fail_code
renew(struct assembler *a, struct failure *f)
{
	feed_forget(a->feed);
	a->asked_n = 0;
	mixer_close(a->ahead);
	a->ahead = NULL;
	if (make_room(a, mixer_global_batch_most(a->now), f) != FAIL_NONE)
		return f->code;
	if (mixer_copy(&a->ahead, a->now, f) != FAIL_NONE)
		return f->code;
	a->ahead_ended = false;
	a->stale = false;
	a->renewed_step = mixer_step_next(a->now);
	return FAIL_NONE;
}

static bool
must_renew(const struct assembler *a)
{
	uint64_t steps = ASSEMBLER_RENEW_DRAWS / mixer_global_batch(a->now) + 1;

	return a->stale || a->ahead == NULL ||
	       (a->likely && mixer_step_next(a->now) - a->renewed_step >= steps);
}

/*
 * Lets `ahead` run until the feed has enough to do, or the horizon is reached. One step is
 * announced in any case: `now` is about to draw it.
 */
static enum fail_code
announce(struct assembler *a, struct failure *f)
{
	uint64_t horizon = ASSEMBLER_AHEAD_DRAWS / mixer_global_batch(a->now) + 1;

	if (must_renew(a) && renew(a, f) != FAIL_NONE)
		return f->code;
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

enum fail_code
assembler_rest(struct assembler *a, int timeout_ms, struct failure *f)
{
	feed_forget(a->feed);
	a->asked_n = 0;
	a->stale = true;
	if (feed_poll(a->feed, timeout_ms, f) != FAIL_NONE)
		return f->code;
	feed_drop_idle(a->feed);
	return FAIL_NONE;
}

/* ---- one step ---- */

/* Nothing that a replay could repeat: the records may come back with a broker. A skip is. */
static enum fail_code
fail_missing(const struct assembler *a, const struct mixer_draw *draw,
    const struct feed_block_record *r, struct failure *f)
{
	if (r->missing_end == UINT64_MAX) /* no mixer starts with fewer sequences */
		return fail(f, FAIL_DATA,
		    "domain %s partition %" PRIu32 ": the mix counts with %" PRIu64
		    " sequences, the topic holds %" PRIu64
		    ": it was recreated or cut. " DOMAINS_WAY_BACK,
		    mixer_domain_name(a->now, draw->domain), draw->partition,
		    mixer_partition_sequences(a->now, draw->domain, draw->partition),
		    r->missing_first);
	return fail(f, FAIL_DATA,
	    "%s. `riffle skip %s/%" PRIu32 " %" PRIu64 "..%" PRIu64
	    "` leaves them out of all later draws; it is answered once the mixer is started again",
	    r->reason, mixer_domain_name(a->now, draw->domain), draw->partition, r->missing_first,
	    r->missing_end);
}

static enum fail_code
wait_record(struct assembler *a, const struct mixer_draw *draw, int64_t deadline_ms,
    const struct feed_block_record **out, struct failure *f)
{
	while ((*out = feed_find(a->feed, draw)) == NULL) {
		feed_urge(a->feed, draw);
		if (feed_poll(a->feed, POLL_MS, f) != FAIL_NONE)
			return f->code;
		if (clock_ms() >= deadline_ms)
			return fail(f, FAIL_TIMEOUT, "waiting for sequences of domain %s",
			    mixer_domain_name(a->now, draw->domain));
	}
	return (*out)->missing_end > 0 ? fail_missing(a, draw, *out, f) : FAIL_NONE;
}

/* The draw whose tokens `now` needs to know: waits until it is loaded. */
static enum fail_code
load_unknown(struct assembler *a, int64_t deadline_ms, struct failure *f)
{
	struct mixer_draw draw = *mixer_blocked(a->now);
	const struct feed_block_record *record;

	/*
	 * What `ahead` has announced in vain may hold the room that this one needs. And where `now`
	 * has just met its first unknown length, announce() would renew `ahead`, which forgets what
	 * is wanted here: so that comes first.
	 */
	if ((must_renew(a) || feed_over(a->feed) || a->asked_n == a->room) &&
	    renew(a, f) != FAIL_NONE)
		return f->code;
	if (feed_want(a->feed, &draw, f) != FAIL_NONE)
		return f->code;
	assert(a->asked_n < a->room);
	a->asked[a->asked_n++] = draw;
	if (announce(a, f) != FAIL_NONE)
		return f->code;
	return wait_record(a, &draw, deadline_ms, &record, f);
}

/*
 * Likely: `ahead` may have announced other draws. These are released with the step; what `ahead`
 * has announced in vain stays until it is renewed.
 */
static enum fail_code
want_step(struct assembler *a, struct failure *f)
{
	for (uint32_t i = 0; a->likely && i < a->n; i++)
		if (feed_want(a->feed, &a->draw[i], f) != FAIL_NONE)
			return f->code;
	return FAIL_NONE;
}

/* Waits until every sequence of the step is in memory. FAIL_TIMEOUT: it is not, in time. */
static enum fail_code
gather(struct assembler *a, int64_t deadline_ms, struct failure *f)
{
	for (uint32_t i = 0; i < a->n; i++)
		if (wait_record(a, &a->draw[i], deadline_ms, &a->record[i], f) != FAIL_NONE)
			return f->code;
	return FAIL_NONE;
}

/* The step was not taken after all: its sequences are not there yet. */
static void
give_back(struct assembler *a)
{
	mixer_undo(a->now);
	if (a->likely)
		a->stale = true;
}

/* Takes the step back and keeps its bad sequences out. *any: there were some. */
static enum fail_code
quarantine_bad(struct assembler *a, bool *any, struct failure *f)
{
	*any = false;
	for (uint32_t i = 0; i < a->n; i++)
		*any = *any || a->record[i]->payload == NULL;
	if (!*any)
		return FAIL_NONE;
	mixer_undo(a->now);
	a->stale = true;
	for (uint32_t i = 0; i < a->n; i++) {
		const struct mixer_draw *d = &a->draw[i];

		if (a->record[i]->payload != NULL)
			continue;
		if (mixer_quarantine(a->now, d->domain, d->partition, d->ordinal,
			a->record[i]->reason, f) != FAIL_NONE)
			return f->code;
		a->quarantined(a->opaque, d, a->record[i]);
	}
	return FAIL_NONE;
}

/* Draws a step whose tokens are all known. */
static enum fail_code
draw(struct assembler *a, int64_t deadline_ms, enum mixer_result *result, struct failure *f)
{
	do {
		if (announce(a, f) != FAIL_NONE ||
		    mixer_step(a->now, a->draw, result, f) != FAIL_NONE ||
		    (*result == MIXER_UNKNOWN && load_unknown(a, deadline_ms, f) != FAIL_NONE))
			return f->code;
	} while (*result == MIXER_UNKNOWN);
	a->n = *result == MIXER_DRAWN ? mixer_global_batch(a->now) : 0;
	a->dry = *result == MIXER_DRY;
	if (a->dry)
		return fail(f, FAIL_TIMEOUT, "domain %s is dry",
		    mixer_domain_name(a->now, mixer_blocked(a->now)->domain));
	return FAIL_NONE;
}

/* Only what is reported: padding is no token. */
static void
correct_tokens(struct assembler *a)
{
	for (uint32_t i = 0; i < a->n; i++)
		if (a->record[i]->padding > 0 && !a->likely)
			mixer_correct_tokens(a->now, a->draw[i].domain, a->record[i]->tokens);
}

enum fail_code
assembler_next(
    struct assembler *a, int timeout_ms, struct assembled *out, bool *ended, struct failure *f)
{
	int64_t deadline_ms = clock_ms() + timeout_ms;
	enum mixer_result result;
	bool again = true; /* with one ordinal fewer each time: it ends */

	*ended = false;
	a->dry = false;
	while (again) {
		if (draw(a, deadline_ms, &result, f) != FAIL_NONE)
			return f->code;
		*ended = result == MIXER_ENDED;
		if (*ended)
			return FAIL_NONE;
		if (want_step(a, f) != FAIL_NONE || gather(a, deadline_ms, f) != FAIL_NONE) {
			give_back(a);
			return f->code;
		}
		if (quarantine_bad(a, &again, f) != FAIL_NONE)
			return f->code;
	}
	if (feed_poll(a->feed, 0, f) != FAIL_NONE)
		return f->code;
	correct_tokens(a);
	out->draw = a->draw;
	out->record = a->record;
	out->n = a->n;
	return FAIL_NONE;
}

void
assembler_release(struct assembler *a)
{
	for (uint32_t i = 0; i < a->n; i++)
		feed_release(a->feed, &a->draw[i]);
	for (; a->asked_n > 0; a->asked_n--)
		feed_release(a->feed, &a->asked[a->asked_n - 1]);
}
