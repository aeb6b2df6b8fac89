/*
 * The text of an accepted answer: what becomes of shares, passes and ends. Decides nothing.
 *
 * It compares three mixers, which mixer_request() has made: `now`, as the mixer stands, `before`,
 * with all in force that precedes the change, and `after`, with the change as well. Shares are
 * exact. Steps in the future are estimates from the shares, and the text says "about": they ignore
 * excluded sequences, other changes to come, and the lengths of padded sequences.
 *
 * Example. B is 100 sequences a step; the mix stands at step 1000, and the change takes effect at
 * step 1100. Domain web has a share of 20% before it and 50% after it, and its epoch has 4000
 * sequences left. Until step 1100 it is drawn 100 * 20 = 2000 times. The other 2000 take 2000/50 =
 * 40 steps, so that the epoch ends about step 1140. Without the change: 1000 + 4000/20 = 1200.
 *
 *     web: 50% (was 20%); epoch 0 ends about step 1140 (was 1200)
 */
#include <assert.h>
#include <inttypes.h>
#include <math.h>

#include "common/base/text.h"
#include "consumer/mixer/mixer_internal.h"

#define NEVER 1e18 /* a step beyond any run: the domain is not drawn any more */

/* How often one domain is drawn, until the change and from it on. Doubles: nothing is decided. */
struct rates {
	double now, step;     /* the step that is drawn next; that of the change, not below it */
	double before, after; /* sequences a step; 0: it is not drawn */
};

/* The step at which `sequences` more are drawn; NEVER. The example is at the top of this file. */
static double
step_after(const struct rates *r, double sequences)
{
	double until = (r->step - r->now) * r->before;

	assert(r->step >= r->now);
	if (sequences <= until)
		return r->now + ceil(sequences / r->before);
	if (r->after <= 0)
		return NEVER;
	return fmin(NEVER, r->step + ceil((sequences - until) / r->after));
}

/* Adds "about step N (was M)", with the change and without it; the second only if it differs. */
static void
add_step(struct text *t, double with, double without)
{
	if (with >= NEVER)
		text_add(t, "at no step");
	else
		text_add(t, "about step %.0f", with);
	if (with == without)
		return;
	if (without >= NEVER)
		text_add(t, " (was: at none)");
	else
		text_add(t, " (was %.0f)", without);
}

/*
 * Adds when this pass ends, and, where passes are limited, when the last one does. The passes
 * between are of the length that this one has.
 */
static void
add_ends(struct text *t, const struct mixer *now, uint32_t d, const struct rates *with)
{
	const struct rates without = {with->now, with->step, with->before, with->before};
	struct mixer_standing s;
	double left, all;

	mixer_stand(now, d, &s);
	if (s.live) {
		text_add(t, "; live: its end is not known");
		return;
	}
	left = (double)(s.length - s.position);
	text_add(t, "; epoch %" PRIu64 " ends ", s.epoch);
	add_step(t, step_after(with, left), step_after(&without, left));
	if (s.passes == 0)
		return;
	all = left + (double)(s.passes - s.epoch - 1) * (double)s.length;
	text_add(
	    t, now->cursor[d].on_end == MIX_END_STOP ? "; it ends the mix " : "; it is dropped ");
	add_step(t, step_after(with, all), step_after(&without, all));
}

/* Adds the line of one domain: its share, and when it ends. */
static void
add_domain(struct text *t, const struct mixer *now, uint32_t d, double before, double after,
    const struct ledger_change *c)
{
	const struct rates with = {(double)now->at.step_next, (double)c->step,
	    before * now->shape.global_batch, after * now->shape.global_batch};

	text_add(t, "\n%s: %.5g%%", now->cursor[d].name, after * 100);
	if (before != after)
		text_add(t, " (was %.5g%%)", before * 100);
	add_ends(t, now, d, &with);
}

/* Adds a line for each domain that has a share before or after the change; the first 64 of them. */
static void
add_domains(struct text *t, const struct mixer *now, const struct mixer *before,
    const struct mixer *after, const struct ledger_change *c)
{
	size_t lines = 0, rest = 0;

	for (uint32_t d = 0; d < after->domains_n; d++) {
		struct mixer_standing was, will;

		mixer_stand(before, d, &was);
		mixer_stand(after, d, &will);
		if (was.share == 0 && will.share == 0)
			continue;
		if (lines < MIXER_ANSWER_DOMAINS_MAX) {
			add_domain(t, now, d, was.share, will.share, c);
			lines++;
		} else
			rest++;
	}
	if (rest > 0)
		text_add(t, "\nand %zu more", rest);
}

/*
 * Adds where in its round the change comes. Each step is B draws, so that this is exact. The steps
 * until the change are divided by the size of a round first, because steps * B can exceed 64 bits:
 * steps = q * size + r, and q * size steps are exactly q * B rounds.
 */
static void
add_round(struct text *t, const struct mixer *now, int64_t step)
{
	uint64_t size = now->shares.epoch_size, steps = (uint64_t)step - now->at.step_next;
	uint64_t rounds = steps / size * now->shape.global_batch + now->shares.round;
	uint64_t draws = steps % size * now->shape.global_batch + now->shares.round_draws;
	uint64_t left = (size - draws % size) % size;

	assert(step >= (int64_t)now->at.step_next);
	rounds += draws / size;
	if (left == 0)
		text_add(t, "\nround %" PRIu64 " begins with it", rounds);
	else
		text_add(t,
		    "\nthe %" PRIu64 " draws of round %" PRIu64
		    " that remain are dealt anew by the new weights",
		    left, rounds);
}

/* Adds the first phase that starts after the change, which it ends. */
static void
add_phase(struct text *t, const struct mixer *now, int64_t step)
{
	size_t i = agenda_phase_from(&now->agenda, (uint64_t)step + 1);

	if (i < now->agenda.phases_n)
		text_add(t, "\nphase %s at step %" PRIu64 " will replace these weights",
		    now->agenda.phase[i].name, now->agenda.phase[i].start_step);
}

/* Adds what a skip takes out, and how many sequences of the domain are out with it. */
static void
add_skip(struct text *t, const struct mixer *after, const struct ledger_change *c)
{
	int d = mixer_domain_named(after, c->domain);
	const struct cursor *cursor = &after->cursor[d];
	uint64_t out = exclusions_count(
	    &after->exclusions, (uint32_t)d, cursor->sequences, cursor->partitions_n);

	assert(d >= 0);
	text_add(t,
	    "\n%s/%d: %" PRId64 "..%" PRId64 " are not drawn again; %" PRIu64 " of %" PRIu64
	    " sequences are kept out",
	    c->domain, (int)c->partition, c->first, c->end, out, cursor_length(cursor));
	if (!cursor->sealed[c->partition] &&
	    (uint64_t)c->end > cursor->sequences_next[c->partition])
		text_add(t,
		    "; the domain is live, and has %" PRIu64
		    " sequences there so far: those of the range that are published later are not "
		    "drawn either",
		    cursor->sequences_next[c->partition]);
}

/* Adds what comes back: `before` has the skips that the change takes back. */
static void
add_undo(struct text *t, const struct mixer *before, const struct mixer *after,
    const struct ledger_change *c)
{
	int d = mixer_domain_named(after, c->domain);
	const struct ledger_skip range = {(uint32_t)d, (uint32_t)c->partition, c->first, c->end};
	const struct exclusions_within w = exclusions_within(&before->exclusions, &range);
	const struct cursor *cursor = &after->cursor[d];
	uint64_t out = exclusions_count(
	    &after->exclusions, (uint32_t)d, cursor->sequences, cursor->partitions_n);

	assert(d >= 0);
	assert(w.skipped);
	text_add(t,
	    "\n%s/%d: %" PRIu64 " of %" PRId64 "..%" PRId64
	    " are drawn again: those whose place this epoch has passed, in the next one; %" PRIu64
	    " of %" PRIu64 " sequences are kept out",
	    c->domain, (int)c->partition, w.alone, c->first, c->end, out, cursor_length(cursor));
	if (w.quarantined > 0)
		text_add(
		    t, "; %" PRIu64 " of the range are quarantined and stay out", w.quarantined);
}

char *
mixer_describe(const struct mixer *now, const struct mixer *before, const struct mixer *after,
    const struct ledger_change *c, int64_t asked_step)
{
	const struct shares_version *was = &before->shares.version, *will = &after->shares.version;
	struct text t = {0};

	assert(c->step >= (int64_t)now->at.step_next);
	assert(now->domains_n == after->domains_n);
	assert(before->domains_n == after->domains_n);
	text_add(&t, "takes effect at step %" PRId64, c->step);
	if (asked_step >= 0 && asked_step < c->step)
		text_add(&t, ", for step %" PRId64 " is drawn already", asked_step);
	if (c->kind == LEDGER_SKIP) {
		add_skip(&t, after, c);
		return text_take(&t);
	}
	if (c->kind == LEDGER_UNDO) {
		add_undo(&t, before, after, c);
		return text_take(&t);
	}
	if (was->temperature != will->temperature)
		text_add(&t, "\ntemperature %g (was %g)", will->temperature, was->temperature);
	if (was->lr_scale != will->lr_scale)
		text_add(&t, "\nlr_scale %g (was %g)", will->lr_scale, was->lr_scale);
	add_domains(&t, now, before, after, c);
	if (now->shares.epoch_size != 0)
		add_round(&t, now, c->step);
	add_phase(&t, now, c->step);
	return text_take(&t);
}
