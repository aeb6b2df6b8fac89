/*
 * The text of an accepted answer: what becomes of shares, passes and ends, and what a skip keeps
 * out. Steps that are estimates (mixer_effect.h) come with "about".
 *
 *     web: 50% (was 20%); epoch 0 ends about step 1140 (was 1200)
 */
#include <assert.h>
#include <inttypes.h>

#include "common/base/text.h"
#include "consumer/mixer/mixer_effect.h"
#include "consumer/mixer/mixer_internal.h"

/* Adds "about step N (was M)", with the change and without it; the second only if it differs. */
static void
add_step(struct text *t, const struct mixer_effect_step *s)
{
	if (s->with >= MIXER_EFFECT_NEVER)
		text_add(t, "at no step");
	else
		text_add(t, "about step %.0f", s->with);
	if (s->with == s->without)
		return;
	if (s->without >= MIXER_EFFECT_NEVER)
		text_add(t, " (was: at none)");
	else
		text_add(t, " (was %.0f)", s->without);
}

/* Adds the line of one domain: its share, and when it ends. */
static void
add_domain(struct text *t, const struct mixer_effect_domain *d)
{
	text_add(t, "\n%s: %.5g%%", d->name, d->share * 100);
	if (d->share != d->share_before)
		text_add(t, " (was %.5g%%)", d->share_before * 100);
	if (d->live) {
		text_add(t, "; live: its end is not known");
		return;
	}
	text_add(t, "; epoch %" PRIu64 " ends ", d->epoch);
	add_step(t, &d->epoch_end);
	if (!d->limited)
		return;
	text_add(t, d->ends_mix ? "; it ends the mix " : "; it is dropped ");
	add_step(t, &d->last_end);
}

static void
add_round(struct text *t, const struct mixer_effect *e)
{
	if (e->dealt == 0)
		text_add(t, "\nround %" PRIu64 " begins with it", e->round);
	else
		text_add(t,
		    "\nthe %" PRIu64 " draws of round %" PRIu64
		    " that remain are dealt again by the new weights",
		    e->dealt, e->round);
}

/* Adds what a skip takes out, and how many sequences of the domain are out with it. */
static void
add_skip(struct text *t, const struct mixer_effect *e, const struct ledger_change *c)
{
	text_add(t,
	    "\n%s/%d: %" PRId64 "..%" PRId64 " are not drawn again; %" PRIu64 " of %" PRIu64
	    " sequences are kept out",
	    c->domain, (int)c->partition, c->first, c->end, e->excluded, e->sequences);
	if (e->published >= 0)
		text_add(t,
		    "; the domain is live, and has %" PRId64
		    " sequences there so far: those of the range that are published later are not "
		    "drawn either",
		    e->published);
}

/* Adds what an undo brings back. */
static void
add_undo(struct text *t, const struct mixer_effect *e, const struct ledger_change *c)
{
	text_add(t,
	    "\n%s/%d: of %" PRId64 "..%" PRId64 " %" PRIu64
	    " are drawn again, in this epoch where their place is still to come, else from the "
	    "next one on; of %" PRIu64 " sequences %" PRIu64 " are still kept out",
	    c->domain, (int)c->partition, c->first, c->end, e->drawn, e->sequences, e->excluded);
	if (e->quarantined > 0)
		text_add(
		    t, "; %" PRIu64 " of the range are quarantined and stay out", e->quarantined);
}

char *
mixer_answer_text(const struct mixer_effect *e, const struct ledger_change *c)
{
	size_t shown =
	    e->domains_n < MIXER_ANSWER_DOMAINS_MAX ? e->domains_n : MIXER_ANSWER_DOMAINS_MAX;
	struct text t = {0};

	text_add(&t, "takes effect at step %" PRId64, e->step);
	if (e->clamped >= 0)
		text_add(&t, ", for step %" PRId64 " is drawn already", e->clamped);
	if (e->skip) {
		(e->undo ? add_undo : add_skip)(&t, e, c);
		return text_take(&t);
	}
	if (e->temperature != e->temperature_before)
		text_add(&t, "\ntemperature %g (was %g)", e->temperature, e->temperature_before);
	if (e->lr_scale != e->lr_scale_before)
		text_add(&t, "\nlr_scale %g (was %g)", e->lr_scale, e->lr_scale_before);
	if (e->global_batch != e->global_batch_before)
		text_add(&t, "\nglobal_batch %" PRIu32 " (was %" PRIu32 ")", e->global_batch,
		    e->global_batch_before);
	for (size_t i = 0; i < shown; i++)
		add_domain(&t, &e->domain[i]);
	if (e->domains_n > shown)
		text_add(&t, "\nand %zu more", e->domains_n - shown);
	if (e->rounds)
		add_round(&t, e);
	if (e->phase[0] != '\0')
		text_add(&t, "\nphase %s at step %" PRIu64 " will replace these weights", e->phase,
		    e->phase_step);
	if (e->phase[0] != '\0' && e->phase_batch != e->global_batch)
		text_add(&t, "; its global_batch is %" PRIu32, e->phase_batch);
	return text_take(&t);
}
