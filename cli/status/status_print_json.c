/* JSON of a status, value after value: hundreds of domains, every second, for whoever watches. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/hints.h"
#include "cli/json_writer.h"
#include "cli/status/status_print.h"

/* JSON integers are signed; a step or a count is far below. */
static void
put_count(struct json_writer *w, const char *key, uint64_t value)
{
	json_writer_integer(w, key, value > INT64_MAX ? INT64_MAX : (int64_t)value);
}

/* A text, since a number of 64 bits loses digits in programs that read it as a double. */
static void
put_hash(struct json_writer *w, const char *key, bool is_known, uint64_t value)
{
	char text[17];

	snprintf(text, sizeof(text), "%016" PRIx64, value);
	if (is_known)
		json_writer_text(w, key, text);
	else
		json_writer_null(w, key);
}

/*
 * A key is for ever: "bounds_lead" is the `bounds` of today, and a run that has committed
 * nothing has the step 0 and "committed": false, not null.
 */
static void
put_runs(struct json_writer *w, const char *key, const struct status *st)
{
	json_writer_begin(w, key, '[');
	for (size_t i = 0; i < st->runs_n; i++) {
		const struct status_run *r = &st->run[i];

		json_writer_begin(w, NULL, '{');
		json_writer_text(w, "name", r->name);
		json_writer_boolean(w, "bounds_lead", r->bounds);
		json_writer_boolean(w, "committed", r->committed);
		put_count(w, "step", r->step);
		put_count(w, "step_ahead", r->step_ahead);
		put_count(w, "lane", r->lane);
		put_count(w, "lag_steps", r->lag_steps);
		put_count(w, "step_known", r->known);
		json_writer_text(w, "state", status_run_state_name(status_run_state(r)));
		json_writer_known(w, "seen_ms", r->seen_ms >= 0, r->seen_ms);
		json_writer_boolean(w, "waited_for", r->waited_for);
		json_writer_end(w, '}');
	}
	json_writer_end(w, ']');
}

static void
put_loss(struct json_writer *w, const struct losses_means *l)
{
	json_writer_begin(w, NULL, '{');
	json_writer_double(w, "loss", l->loss);
	json_writer_double(w, "excess", l->excess);
	json_writer_integer(w, "tokens", (int64_t)l->tokens);
	json_writer_end(w, '}');
}

static void
put_dropped(struct json_writer *w, const struct losses_counts *c)
{
	json_writer_begin(w, "dropped", '{');
	put_count(w, "duplicate", c->duplicate);
	put_count(w, "late", c->late);
	put_count(w, "unknown_step", c->unknown_step);
	put_count(w, "unknown_domain", c->unknown_domain);
	put_count(w, "not_a_number", c->not_a_number);
	put_count(w, "malformed", c->malformed);
	json_writer_end(w, '}');
}

/* What runs have reported lately; domains without a report are left out. */
static void
put_losses(struct json_writer *w, const struct status *st)
{
	json_writer_begin(w, "losses", '[');
	for (size_t i = 0; i < st->feedback_n; i++) {
		const struct status_feedback *b = &st->feedback[i];

		json_writer_begin(w, NULL, '{');
		json_writer_text(w, "run", b->run);
		json_writer_boolean(w, "configured", b->configured);
		put_count(w, "steps", b->steps);
		json_writer_known(w, "step_first", b->steps > 0, b->step_first);
		json_writer_known(w, "step_last", b->steps > 0, b->step_last);
		json_writer_known(w, "world", b->steps > 0, b->world);
		if (b->all.tokens > 0) {
			json_writer_key(w, "all");
			put_loss(w, &b->all);
		} else {
			json_writer_null(w, "all");
		}
		json_writer_begin(w, "domains", '{');
		for (size_t d = 0; d < st->domains_n; d++)
			if (b->domain[d].tokens > 0) {
				json_writer_key(w, st->domain[d].name);
				put_loss(w, &b->domain[d]);
			}
		json_writer_end(w, '}');
		put_dropped(w, &b->counts);
		json_writer_end(w, '}');
	}
	json_writer_end(w, ']');
}

static void
put_rates(struct json_writer *w, const struct status *st)
{
	if (st->rate_ms <= 0) {
		json_writer_null(w, "rates");
		return;
	}
	json_writer_begin(w, "rates", '{');
	json_writer_integer(w, "window_ms", st->rate_ms);
	json_writer_double(w, "steps_per_s", st->steps_per_s);
	json_writer_double(w, "sequences_per_s", st->sequences_per_s);
	json_writer_double(w, "tokens_per_s", st->tokens_per_s);
	json_writer_end(w, '}');
}

/* What is in force, from the ledger's last record; null before the first. */
static void
put_weights(struct json_writer *w, const struct status *st)
{
	const struct ledger *l = &st->ledger;

	if (st->state == STATUS_NOT_STARTED) {
		json_writer_null(w, "weights");
		return;
	}
	json_writer_begin(w, "weights", '{');
	json_writer_integer(w, "version", l->version);
	json_writer_integer(w, "since_step", l->version_step);
	json_writer_text(w, "reason", ledger_reason_names[l->reason]);
	json_writer_text(w, "reason_id", l->reason_id);
	json_writer_text(w, "phase", l->phase);
	json_writer_double(w, "lr_scale", l->lr_scale);
	json_writer_double(w, "temperature", l->temperature);
	json_writer_end(w, '}');
}

/* Accepted changes that have not taken effect, in their order. */
static void
put_pending(struct json_writer *w, const struct status *st)
{
	json_writer_begin(w, "pending", '[');
	for (size_t i = 0; i < st->ledger.pending_n; i++) {
		const struct ledger_change *c = &st->ledger.pending[i];

		json_writer_begin(w, NULL, '{');
		json_writer_integer(w, "step", c->step);
		json_writer_text(w, "kind", ledger_change_names[c->kind]);
		json_writer_text(w, "id", c->id);
		json_writer_text(w, "domain", c->domain);
		json_writer_end(w, '}');
	}
	json_writer_end(w, ']');
}

/* null: the election could not be asked */
static void
put_mixers(struct json_writer *w, const struct status *st)
{
	if (!st->mixers_known) {
		json_writer_null(w, "mixers");
		return;
	}
	json_writer_begin(w, "mixers", '[');
	for (size_t i = 0; i < st->mixers_n; i++) {
		json_writer_begin(w, NULL, '{');
		json_writer_text(w, "host", st->mixer[i].host);
		json_writer_boolean(w, "standby", st->mixer[i].standby);
		json_writer_end(w, '}');
	}
	json_writer_end(w, ']');
}

/* The lanes that lack what the ledger has, or have what it lacks. */
static void
put_lanes(
    struct json_writer *w, const char *key, const struct status *st, enum lane_ends_state state)
{
	json_writer_begin(w, key, '[');
	for (uint32_t i = 0; i < st->ends_n; i++) {
		if (!st->apart[i] || st->end[i].state != state)
			continue;
		json_writer_begin(w, NULL, '{');
		json_writer_integer(w, "lane", i);
		json_writer_integer(w, "step_next", (int64_t)st->end[i].next);
		json_writer_end(w, '}');
	}
	json_writer_end(w, ']');
}

/* At the rate of now; null: not known. */
static void
put_seconds(struct json_writer *w, const struct status *st, int64_t steps)
{
	double seconds = status_seconds(st, steps);

	if (seconds < 0)
		json_writer_null(w, "seconds");
	else
		json_writer_double(w, "seconds", seconds);
}

/* null: no phase is to come */
static void
put_next_phase(struct json_writer *w, const struct status *st)
{
	if (st->next_phase_step < 0) {
		json_writer_null(w, "next_phase");
		return;
	}
	json_writer_begin(w, "next_phase", '{');
	json_writer_text(w, "name", st->next_phase);
	json_writer_integer(w, "step", st->next_phase_step);
	put_seconds(w, st, st->next_phase_step - st->ledger.step_next);
	json_writer_end(w, '}');
}

/* null: no domain is sealed and drawn */
static void
put_first_end(struct json_writer *w, const struct status *st)
{
	if (st->first_end < 0) {
		json_writer_null(w, "first_end");
		return;
	}
	json_writer_begin(w, "first_end", '{');
	json_writer_text(w, "domain", st->domain[st->first_end].name);
	json_writer_integer(w, "epoch", st->domain[st->first_end].epoch);
	json_writer_integer(w, "steps", st->first_end_steps);
	put_seconds(w, st, st->first_end_steps);
	json_writer_end(w, '}');
}

/* Facts of the ledger are 0 or null before its first record. null: the corpus has no mix. */
static void
put_mix(struct json_writer *w, const struct status *st)
{
	const struct config_mix *m = &st->config->mix;
	const struct ledger *l = &st->ledger;
	bool started = st->state != STATUS_NOT_STARTED;

	if (st->state == STATUS_NO_MIX) {
		json_writer_null(w, "mix");
		return;
	}
	json_writer_begin(w, "mix", '{');
	json_writer_text(w, "name", m->name);
	json_writer_text(w, "state", status_state_name(st));
	json_writer_integer(w, "lanes", m->lanes);
	json_writer_integer(w, "global_batch", status_global_batch(st));
	json_writer_integer(w, "sequence_length", st->config->sequence_length);
	put_count(w, "max_lead_steps", st->lead_steps);
	json_writer_integer(w, "step_next", l->step_next);
	json_writer_integer(w, "draws", l->draws);
	json_writer_known(w, "step_limit", st->step_limit <= INT64_MAX, (int64_t)st->step_limit);
	json_writer_known(w, "step_kept", st->batches_kept, (int64_t)st->step_kept);
	put_lanes(w, "lanes_behind", st, LANE_ENDS_BEHIND);
	put_lanes(w, "lanes_ahead", st, LANE_ENDS_AHEAD);
	json_writer_known(w, "ledger_offset", started, st->ledger_offset);
	json_writer_known(w, "written_ms", started, st->ledger_time_ms);
	json_writer_known(w, "age_ms", started, st->now_ms - st->ledger_time_ms);
	put_hash(w, "schedule", started, l->schedule);
	put_hash(w, "tokenizer", started, l->tokenizer);
	put_hash(w, "choices", started, l->choices);
	put_count(w, "quarantined", l->quarantined_n);
	put_mixers(w, st);
	put_weights(w, st);
	put_next_phase(w, st);
	put_first_end(w, st);
	json_writer_known(w, "deviation_promised", status_promises_deviation(st), STATUS_DEVIATION);
	json_writer_integer(w, "tokens", st->tokens);
	put_pending(w, st);
	put_count(w, "skips", l->skips_n);
	put_rates(w, st);
	put_runs(w, "runs", st);
	put_losses(w, st);
	json_writer_end(w, '}');
}

/* `reported`: its losses; NULL: nobody has reported any. */
static void
put_domain(
    struct json_writer *w, const struct status_domain *d, const struct losses_means *reported)
{
	json_writer_begin(w, NULL, '{');
	json_writer_text(w, "name", d->name);
	json_writer_boolean(w, "configured", d->configured >= 0);
	json_writer_boolean(w, "mixed", d->mixed >= 0);
	json_writer_boolean(w, "live", d->live);
	json_writer_double(w, "weight", d->weight);
	json_writer_double(w, "intended", d->intended);
	json_writer_double(w, "realised", d->realised);
	json_writer_double(w, "target", d->target); /* both are NAN, or neither */
	json_writer_double(w, "deviation", d->deviation);
	if (d->mixed >= 0)
		json_writer_text(w, "state", ledger_domain_state_names[d->state]);
	else
		json_writer_null(w, "state");
	json_writer_boolean(w, "dry", d->dry);
	json_writer_integer(w, "owed", d->owed);
	json_writer_integer(w, "taken", d->taken);
	json_writer_integer(w, "tokens", d->tokens);
	json_writer_integer(w, "epoch", d->epoch);
	json_writer_integer(w, "position", d->position);
	json_writer_known(w, "sealed_length", d->sealed_length >= 0, d->sealed_length);
	json_writer_integer(w, "sequences", d->sequences);
	json_writer_known(w, "remaining", status_remaining(d) >= 0, status_remaining(d));
	put_count(w, "partitions", d->partitions_n);
	put_count(w, "partitions_sealed", d->partitions_sealed);
	json_writer_known(w, "mixer_commit", d->mixer_commit >= 0, d->mixer_commit);
	if (reported != NULL)
		json_writer_double(w, "loss", reported->loss);
	else
		json_writer_null(w, "loss");
	json_writer_end(w, '}');
}

/* In the order of st->domain: the configuration's first, then those that only the ledger has. */
static void
put_domains(struct json_writer *w, const struct status *st)
{
	const struct status_feedback *b = status_feedback(st);

	json_writer_begin(w, "domains", '[');
	for (size_t i = 0; i < st->domains_n; i++)
		put_domain(
		    w, &st->domain[i], b != NULL && b->domain[i].tokens > 0 ? &b->domain[i] : NULL);
	json_writer_end(w, ']');
}

static void
put_topics(struct json_writer *w, const struct status *st)
{
	assert(st->report != NULL);
	json_writer_begin(w, "topics", '[');
	for (size_t i = 0; i < st->plan->n; i++) {
		json_writer_begin(w, NULL, '{');
		json_writer_text(w, "name", st->plan->topic[i].name);
		json_writer_boolean(w, "exists", st->report[i].exists);
		json_writer_integer(w, "partitions", st->report[i].partitions);
		json_writer_integer(w, "partitions_wanted", st->plan->topic[i].partitions);
		json_writer_text(w, "problem", st->report[i].problem);
		json_writer_end(w, '}');
	}
	json_writer_end(w, ']');
}

static void
put_problem(struct json_writer *w, const char *key, const char *text)
{
	char said[HINTS_TEXT_MAX];

	hints_say(said, sizeof(said), text);
	json_writer_text(w, key, said);
}

/* Twice: "problems" was a list of texts before they had codes. */
static void
put_problems(struct json_writer *w, const struct status *st)
{
	assert(st->problems_n <= STATUS_PROBLEMS_MAX);
	json_writer_begin(w, "problems", '[');
	for (size_t i = 0; i < st->problems_n; i++)
		put_problem(w, NULL, st->problem[i].text);
	json_writer_end(w, ']');
	json_writer_begin(w, "problem_list", '[');
	for (size_t i = 0; i < st->problems_n; i++) {
		json_writer_begin(w, NULL, '{');
		json_writer_text(w, "code", st->problem[i].code);
		put_problem(w, "text", st->problem[i].text);
		json_writer_end(w, '}');
	}
	json_writer_end(w, ']');
}

/* All that was written, to a stream. */
static enum fail_code
print(struct json_writer *w, FILE *to, struct failure *f)
{
	char *text;
	size_t n;

	if (json_writer_take(w, &text, &n, f) != FAIL_NONE)
		return f->code;
	fwrite(text, 1, n, to);
	free(text);
	return FAIL_NONE;
}

enum fail_code
status_print_json(const struct status *st, FILE *to, bool compact, struct failure *f)
{
	struct json_writer w = {.compact = compact};

	json_writer_begin(&w, NULL, '{');
	json_writer_text(&w, "corpus", st->config->corpus);
	json_writer_integer(&w, "now_ms", st->now_ms);
	put_mix(&w, st);
	put_domains(&w, st);
	put_topics(&w, st);
	json_writer_integer(&w, "rejects", st->rejects);
	if (st->arrivals_foreign < 0)
		json_writer_null(&w, "arrivals_foreign");
	else
		json_writer_integer(&w, "arrivals_foreign", st->arrivals_foreign);
	put_problems(&w, st);
	put_count(&w, "problems_more", st->problems_more);
	json_writer_text(&w, "headline", st->headline);
	json_writer_end(&w, '}');
	return print(&w, to, f);
}

enum fail_code
status_print_runs_json(const struct status *st, FILE *to, struct failure *f)
{
	struct json_writer w = {0};

	put_runs(&w, NULL, st);
	return print(&w, to, f);
}
