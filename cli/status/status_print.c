#include "cli/status/status_print.h"

#include <assert.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/json_print.h"
#include "common/base/clock.h"
#include "common/terminal/terminal.h"

/* ---- for people ---- */

static const char *const reason_name[] = {
    [LEDGER_BY_CONFIG] = "the configuration",
    [LEDGER_BY_PHASE] = "phase",
    [LEDGER_BY_REQUEST] = "request",
};

/*
 * "1.61 M": three figures and a unit of thousands. A value is scaled before it is rounded, so that
 * 999.9 becomes "1e+03" and not "1 k".
 */
static const char *
scaled(double value, char out[static 32])
{
	static const char *const unit[] = {"", " k", " M", " G", " T"};
	size_t i = 0;

	for (; value >= 1000 && i + 1 < sizeof(unit) / sizeof(unit[0]); i++)
		value /= 1000;
	snprintf(out, 32, "%.3g%s", value, unit[i]);
	return out;
}

/* A text of a ledger record, which may be missing in it. */
static const char *
text(const char *t)
{
	return t == NULL ? "" : t;
}

static void
print_weights(const struct status *st, FILE *to)
{
	const struct ledger *l = &st->ledger;

	fprintf(to, "weights  version %" PRId64 " since step %" PRId64 ", by %s", l->version,
	    l->version_step, reason_name[l->reason]);
	if (text(l->reason_id)[0] != '\0')
		fprintf(to, " %s", l->reason_id);
	if (text(l->phase)[0] != '\0')
		fprintf(to, "; phase %s", l->phase);
	if (l->lr_scale != 1)
		fprintf(to, "; lr_scale %g", l->lr_scale);
	if (st->next_phase_step >= 0)
		fprintf(to, "; phase %s at step %" PRId64, st->next_phase, st->next_phase_step);
	fprintf(to, "\n");
}

/* The next accepted change alone: `riffle weights` lists them all. */
static void
print_pending(const struct status *st, FILE *to)
{
	const struct ledger *l = &st->ledger;
	static const char *const kind[] = {[LEDGER_WEIGHTS] = "weights",
	    [LEDGER_SKIP] = "a skip",
	    [LEDGER_JOIN] = "a domain that joins",
	    [LEDGER_LEAVE] = "a domain that leaves",
	    [LEDGER_UNDO] = "the undoing of a skip"};

	if (l->pending_n == 0)
		return;
	fprintf(to, "to come  %s at step %" PRId64 ", by request %s", kind[l->pending[0].kind],
	    l->pending[0].step, text(l->pending[0].id));
	if (l->pending_n > 1)
		fprintf(to, "; and %zu more (riffle weights)", l->pending_n - 1);
	fprintf(to, "\n");
}

static void
print_owed(const struct status *st, FILE *to)
{
	for (size_t i = 0; i < st->domains_n; i++)
		if (st->domain[i].owed > 0)
			fprintf(to,
			    "owed     domain %s gets %" PRId64
			    " draws back that others took while it was dry\n",
			    st->domain[i].name, st->domain[i].owed);
}

static void
print_rates(const struct status *st, FILE *to)
{
	char steps[32], sequences[32], tokens[32], span[CLOCK_SPAN_BYTES];

	if (st->rate_ms > 0)
		fprintf(to,
		    "rates    %s steps/s, %s sequences/s, %s tokens/s (over %.1f s up to the last "
		    "record)\n",
		    scaled(st->steps_per_s, steps), scaled(st->sequences_per_s, sequences),
		    scaled(st->tokens_per_s, tokens), (double)st->rate_ms / 1000);
	fprintf(to, "written  %s ago\n", clock_span(span, st->now_ms - st->ledger_time_ms));
}

/*
 * "active 10.0.0.7; standby 10.0.0.8, 10.0.0.9": the active ones come first in st->mixer. Of
 * several at most one works: the group keeps those that could not leave until their sessions are
 * over.
 */
static void
print_mixers(const struct status *st, FILE *to)
{
	const char *before[] = {"active ", "standby "};
	bool several = st->mixers_n > 1 && !st->mixer[1].standby;

	assert(st->mixers_n <= STATUS_MIXERS);
	if (!st->mixers_known || st->state == STATUS_ENDED)
		return;
	fprintf(to, "mixers   %s", st->mixers_n == 0 ? "none runs" : "");
	for (size_t i = 0; i < st->mixers_n; i++) {
		bool standby = st->mixer[i].standby;
		bool first = i == 0 || standby != st->mixer[i - 1].standby;

		fprintf(to, "%s%s%s",
		    i == 0  ? ""
		    : first ? "; "
			    : ", ",
		    first ? before[standby] : "", st->mixer[i].host);
	}
	fprintf(to, "%s\n",
	    several ? " (one works at most: those that died, or were refused after one died, are "
		      "listed for up to 10 s)"
		    : "");
}

/* A line a run; the column LOSS below is of the first one, the JSON has those of all. */
static void
print_feedback(const struct status *st, FILE *to)
{
	for (size_t i = 0; i < st->feedback_n; i++) {
		const struct status_feedback *b = &st->feedback[i];

		if (b->steps > 0)
			fprintf(to,
			    "losses   run %s%s, mean of %" PRIu64 " steps, %" PRId64 " to %" PRId64
			    ", in nats a token: %.4f over all domains\n",
			    b->run, b->configured ? "" : " (not in mix.runs)", b->steps,
			    b->step_first, b->step_last, b->all.loss);
	}
}

static void
print_mix(const struct status *st, FILE *to)
{
	const struct config_mix *m = &st->config->mix;

	fprintf(to, "mix      %s, %s\n", m->name,
	    st->state == STATUS_STARTED && !st->mixers_known
		? "started; whether a mixer runs is not known"
		: status_state_name(st));
	fprintf(to, "step     %" PRIu32 " sequences of %" PRIu32 " tokens on %" PRIu32 " lanes\n",
	    status_global_batch(st), st->config->sequence_length, m->lanes);
	print_mixers(st, to);
	if (st->state == STATUS_NOT_STARTED)
		return;
	fprintf(to, "next     step %" PRId64, st->ledger.step_next);
	if (st->batches_kept && st->step_kept > 0)
		fprintf(to, ", kept from step %" PRIu64, st->step_kept);
	if (st->step_limit != UINT64_MAX && st->state == STATUS_STARTED)
		fprintf(to, ", limit step %" PRIu64, st->step_limit);
	fprintf(to, "\n");
	print_weights(st, to);
	print_pending(st, to);
	print_owed(st, to);
	print_rates(st, to);
	print_feedback(st, to);
}

/* The longest name; at least that of the column. */
static int
runs_width(const struct status *st)
{
	int width = 3;

	for (size_t i = 0; i < st->runs_n; i++)
		if ((int)strlen(st->run[i].name) > width)
			width = (int)strlen(st->run[i].name);
	return width;
}

/* "-": no commit yet. "any": a run that the configuration does not name, or no limit at all. */
static void
print_runs(const struct status *st, FILE *to)
{
	int width = runs_width(st);

	fprintf(to, "\n%-*s %12s %12s %12s\n", width, "RUN", "STEP", "LAG", "MAY LAG");
	for (size_t i = 0; i < st->runs_n; i++) {
		const struct status_run *r = &st->run[i];

		fprintf(to, "%-*s ", width, r->name);
		if (r->committed)
			fprintf(to, "%12" PRIu64, r->step);
		else
			fprintf(to, "%12s", "-");
		fprintf(to, " %12" PRIu64, r->lag_steps);
		if (r->bounds && st->lead_steps > 0)
			fprintf(to, " %12" PRIu64 "\n", st->lead_steps);
		else
			fprintf(to, " %12s\n", "any");
	}
}

/* It has left the mix and is not in the configuration: its topic is not asked about. */
static bool
is_left(const struct status_domain *d)
{
	return d->configured < 0 && d->state == LEDGER_LEFT;
}

/*
 * The column SEALED. "reopened": sequences follow the End, which do not count before the next. A
 * live domain is not expected to be sealed, so that how many of its partitions are is of no
 * interest; whether the mixer waits for it is.
 */
static const char *
sealed(const struct status_domain *d, char out[static 32])
{
	assert(d->partitions_sealed <= d->partitions_n);
	if (d->partitions_n == 0)
		return is_left(d) ? "-" : "no topic";
	if (d->partitions_sealed == d->partitions_n)
		return d->sequences > d->sealed_length ? "reopened" : "yes";
	if (d->live)
		return d->dry ? "live dry" : "live";
	if (d->partitions_n == 1)
		return "no";
	snprintf(out, 32, "%zu of %zu", d->partitions_sealed, d->partitions_n);
	return out;
}

static void
print_shares(const struct status_domain *d, FILE *to)
{
	fprintf(to, " %8.4g %10.6f%%", d->weight, 100 * d->intended);
	if (isnan(d->target))
		fprintf(to, " %11s %10.6f%% %6s", "-", 100 * d->realised, "-");
	else
		fprintf(to, " %10.6f%% %10.6f%% %+6.2f", 100 * d->target, 100 * d->realised,
		    fabs(d->deviation) < 0.005 ? 0 : d->deviation); /* no -0.00 */
	fprintf(to, " %12" PRId64 " %6" PRId64 " %12" PRId64, d->taken, d->epoch, d->position);
}

/* A domain that only the configuration has shows its weight there, and zeros behind it. */
static void
print_domains(const struct status *st, FILE *to)
{
	static const char *const mark[] = {[LEDGER_ACTIVE] = "",
	    [LEDGER_DROPPED] = "  dropped",
	    [LEDGER_LEFT] = "  left",
	    [LEDGER_JOINING] = "  joining"};
	const struct status_feedback *b = status_feedback(st);
	int width = 6;
	char buffer[32];

	for (size_t i = 0; i < st->domains_n; i++)
		if ((int)strlen(st->domain[i].name) > width)
			width = (int)strlen(st->domain[i].name);
	fprintf(to, "\n%-*s %12s %8s", width, "DOMAIN", "SEQUENCES", "SEALED");
	if (st->state != STATUS_NO_MIX)
		fprintf(to, " %8s %11s %11s %11s %6s %12s %6s %12s", "WEIGHT", "INTENDED", "TARGET",
		    "REALISED", "OFF", "TAKEN", "EPOCH", "POSITION");
	if (b != NULL)
		fprintf(to, " %8s", "LOSS");
	fprintf(to, "\n");
	for (size_t i = 0; i < st->domains_n; i++) {
		const struct status_domain *d = &st->domain[i];

		if (is_left(d))
			fprintf(to, "%-*s %12s %8s", width, d->name, "-", sealed(d, buffer));
		else
			fprintf(to, "%-*s %12" PRId64 " %8s", width, d->name, d->sequences,
			    sealed(d, buffer));
		if (st->state != STATUS_NO_MIX)
			print_shares(d, to);
		if (b != NULL && b->domain[i].tokens > 0)
			fprintf(to, " %8.4f", b->domain[i].loss);
		else if (b != NULL)
			fprintf(to, " %8s", "-");
		fprintf(to, "%s\n", d->mixed >= 0 ? mark[d->state] : "");
	}
}

static void
print_problems(const struct status *st, FILE *to)
{
	bool colours = terminal_colours(fileno(to));

	if (st->problems_n > 0)
		fprintf(to, "\n");
	for (size_t i = 0; i < st->problems_n; i++)
		fprintf(to, "%s! %s%s %s\n", colours ? TERMINAL_YELLOW : "", st->problem[i].code,
		    colours ? TERMINAL_PLAIN : "", st->problem[i].text);
	if (st->problems_more > 0)
		fprintf(to, "! and %zu more\n", st->problems_more);
}

void
status_print_table(const struct status *st, FILE *to)
{
	assert(st->problem != NULL); /* status_derive() was called */
	fprintf(to, "health   %s\ncorpus   %s\n", st->headline, st->config->corpus);
	if (st->state != STATUS_NO_MIX) {
		print_mix(st, to);
		print_runs(st, to);
	}
	print_domains(st, to);
	print_problems(st, to);
}

/*
 * ---- for programs ----
 *
 * Each function gives a new value, which json_pack("o") or json_..._new() takes over. Without
 * memory it gives NULL. json_pack() then fails as well, and so on up to status_print_json().
 */
static const char *const reason_key[] = {
    [LEDGER_BY_CONFIG] = "config",
    [LEDGER_BY_PHASE] = "phase",
    [LEDGER_BY_REQUEST] = "request",
};

/* JSON integers are signed; a step or a count is far below. */
static json_int_t
number(uint64_t value)
{
	return value > INT64_MAX ? INT64_MAX : (json_int_t)value;
}

/* A text, since a number of 64 bits loses digits in programs that read it as a double. */
static json_t *
hash(uint64_t value)
{
	char text[17];

	snprintf(text, sizeof(text), "%016" PRIx64, value);
	return json_string(text);
}

static json_t *
known(bool is_known, int64_t value)
{
	return is_known ? json_integer(value) : json_null();
}

/*
 * A key is for ever: "bounds_lead" is the `bounds` of today, and a run that has committed
 * nothing has the step 0 and "committed": false, not null.
 */
static json_t *
runs_json(const struct status *st)
{
	json_t *list = json_array();

	for (size_t i = 0; i < st->runs_n; i++) {
		const struct status_run *r = &st->run[i];

		json_array_append_new(
		    list, json_pack("{s:s, s:b, s:b, s:I, s:I, s:I, s:I, s:I, s:s, s:o, s:b}",
			      "name", r->name, "bounds_lead", r->bounds, "committed", r->committed,
			      "step", number(r->step), "step_ahead", number(r->step_ahead), "lane",
			      number(r->lane), "lag_steps", number(r->lag_steps), "step_known",
			      number(r->known), "state", status_run_state_name(status_run_state(r)),
			      "seen_ms", known(r->seen_ms >= 0, r->seen_ms), "waited_for",
			      r->waited_for));
	}
	return list;
}

static json_t *
loss_json(const struct losses_means *l)
{
	return json_pack("{s:f, s:f, s:I}", "loss", l->loss, "excess", l->excess, "tokens",
	    (json_int_t)l->tokens);
}

/* What runs have reported lately; domains without a report are left out. */
static json_t *
losses_json(const struct status *st)
{
	json_t *list = json_array();

	for (size_t i = 0; i < st->feedback_n; i++) {
		const struct status_feedback *b = &st->feedback[i];
		const struct losses_counts *c = &b->counts;
		json_t *domain = json_object();

		for (size_t d = 0; d < st->domains_n; d++)
			if (b->domain[d].tokens > 0)
				json_object_set_new(
				    domain, st->domain[d].name, loss_json(&b->domain[d]));
		json_array_append_new(list,
		    json_pack("{s:s, s:b, s:I, s:o, s:o, s:o, s:o, s:o, s:{s:I, s:I, s:I, s:I, "
			      "s:I, s:I}}",
			"run", b->run, "configured", b->configured, "steps", number(b->steps),
			"step_first", known(b->steps > 0, b->step_first), "step_last",
			known(b->steps > 0, b->step_last), "world", known(b->steps > 0, b->world),
			"all", b->all.tokens > 0 ? loss_json(&b->all) : json_null(), "domains",
			domain, "dropped", "duplicate", number(c->duplicate), "late",
			number(c->late), "unknown_step", number(c->unknown_step), "unknown_domain",
			number(c->unknown_domain), "not_a_number", number(c->not_a_number),
			"malformed", number(c->malformed)));
	}
	return list;
}

static json_t *
rates_json(const struct status *st)
{
	if (st->rate_ms <= 0)
		return json_null();
	return json_pack("{s:I, s:f, s:f, s:f}", "window_ms", (json_int_t)st->rate_ms,
	    "steps_per_s", st->steps_per_s, "sequences_per_s", st->sequences_per_s, "tokens_per_s",
	    st->tokens_per_s);
}

/* What is in force, from the ledger's last record; null before the first. */
static json_t *
weights_json(const struct status *st)
{
	const struct ledger *l = &st->ledger;

	if (st->state == STATUS_NOT_STARTED)
		return json_null();
	return json_pack("{s:I, s:I, s:s, s:o, s:o, s:f, s:f}", "version", (json_int_t)l->version,
	    "since_step", (json_int_t)l->version_step, "reason", reason_key[l->reason], "reason_id",
	    json_print_text(l->reason_id), "phase", json_print_text(l->phase), "lr_scale",
	    l->lr_scale, "temperature", l->temperature);
}

/* Accepted changes that have not taken effect, in their order. */
static json_t *
pending_json(const struct status *st)
{
	json_t *list = json_array();

	for (size_t i = 0; i < st->ledger.pending_n; i++) {
		const struct ledger_change *c = &st->ledger.pending[i];

		json_array_append_new(
		    list, json_pack("{s:I, s:s, s:o, s:o}", "step", (json_int_t)c->step, "kind",
			      ledger_change_names[c->kind], "id", json_print_text(c->id), "domain",
			      json_print_text(c->domain)));
	}
	return list;
}

/* null: the election could not be asked */
static json_t *
mixers_json(const struct status *st)
{
	json_t *list = st->mixers_known ? json_array() : json_null();

	for (size_t i = 0; i < st->mixers_n; i++)
		json_array_append_new(
		    list, json_pack("{s:o, s:b}", "host", json_print_text(st->mixer[i].host),
			      "standby", st->mixer[i].standby));
	return list;
}

/* The lanes that lack what the ledger has, or have what it lacks. */
static json_t *
lanes_json(const struct status *st, enum lane_ends_state state)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < st->ends_n; i++)
		if (st->apart[i] && st->end[i].state == state)
			json_array_append_new(list, json_pack("{s:I, s:I}", "lane", (json_int_t)i,
							"step_next", (json_int_t)st->end[i].next));
	return list;
}

/* At the rate of now; null: not known. */
static json_t *
seconds_json(const struct status *st, int64_t steps)
{
	double seconds = status_seconds(st, steps);

	return seconds < 0 ? json_null() : json_real(seconds);
}

/* null: no phase is to come */
static json_t *
next_phase_json(const struct status *st)
{
	if (st->next_phase_step < 0)
		return json_null();
	return json_pack("{s:o, s:I, s:o}", "name", json_print_text(st->next_phase), "step",
	    (json_int_t)st->next_phase_step, "seconds",
	    seconds_json(st, st->next_phase_step - st->ledger.step_next));
}

/* null: no domain is sealed and drawn */
static json_t *
first_end_json(const struct status *st)
{
	if (st->first_end < 0)
		return json_null();
	return json_pack("{s:s, s:I, s:I, s:o}", "domain", st->domain[st->first_end].name, "epoch",
	    (json_int_t)st->domain[st->first_end].epoch, "steps", (json_int_t)st->first_end_steps,
	    "seconds", seconds_json(st, st->first_end_steps));
}

/* Facts of the ledger are 0 or null before its first record. null: the corpus has no mix. */
static json_t *
mix_json(const struct status *st)
{
	const struct config_mix *m = &st->config->mix;
	const struct ledger *l = &st->ledger;
	bool started = st->state != STATUS_NOT_STARTED;
	json_t *o;

	if (st->state == STATUS_NO_MIX)
		return json_null();
	o = json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I}", "name", m->name, "state",
	    status_state_name(st), "lanes", (json_int_t)m->lanes, "global_batch",
	    (json_int_t)status_global_batch(st), "sequence_length",
	    (json_int_t)st->config->sequence_length, "max_lead_steps", (json_int_t)st->lead_steps,
	    "step_next", (json_int_t)l->step_next, "draws", (json_int_t)l->draws);
	json_object_set_new(
	    o, "step_limit", known(st->step_limit != UINT64_MAX, number(st->step_limit)));
	json_object_set_new(o, "step_kept", known(st->batches_kept, number(st->step_kept)));
	json_object_set_new(o, "lanes_behind", lanes_json(st, LANE_ENDS_BEHIND));
	json_object_set_new(o, "lanes_ahead", lanes_json(st, LANE_ENDS_AHEAD));
	json_object_set_new(o, "ledger_offset", known(started, st->ledger_offset));
	json_object_set_new(o, "written_ms", known(started, st->ledger_time_ms));
	json_object_set_new(o, "age_ms", known(started, st->now_ms - st->ledger_time_ms));
	json_object_set_new(o, "schedule", started ? hash(l->schedule) : json_null());
	json_object_set_new(o, "tokenizer", started ? hash(l->tokenizer) : json_null());
	json_object_set_new(o, "choices", started ? hash(l->choices) : json_null());
	json_object_set_new(o, "quarantined", json_integer((json_int_t)l->quarantined_n));
	json_object_set_new(o, "mixers", mixers_json(st));
	json_object_set_new(o, "weights", weights_json(st));
	json_object_set_new(o, "next_phase", next_phase_json(st));
	json_object_set_new(o, "first_end", first_end_json(st));
	json_object_set_new(
	    o, "deviation_promised", known(status_promises_deviation(st), STATUS_DEVIATION));
	json_object_set_new(o, "tokens", json_integer(st->tokens));
	json_object_set_new(o, "pending", pending_json(st));
	json_object_set_new(o, "skips", json_integer((json_int_t)l->skips_n));
	json_object_set_new(o, "rates", rates_json(st));
	json_object_set_new(o, "runs", runs_json(st));
	json_object_set_new(o, "losses", losses_json(st));
	return o;
}

/* In the order of st->domain: the configuration's first, then those that only the ledger has. */
static json_t *
domains_json(const struct status *st)
{
	static const char *const state[] = {[LEDGER_ACTIVE] = "active",
	    [LEDGER_DROPPED] = "dropped",
	    [LEDGER_LEFT] = "left",
	    [LEDGER_JOINING] = "joining"};
	const struct status_feedback *b = status_feedback(st);
	json_t *list = json_array();

	for (size_t i = 0; i < st->domains_n; i++) {
		const struct status_domain *d = &st->domain[i];
		bool told = b != NULL && b->domain[i].tokens > 0;
		json_t *o = json_pack("{s:s, s:b, s:b, s:b, s:f, s:f, s:f}", "name", d->name,
		    "configured", d->configured >= 0, "mixed", d->mixed >= 0, "live", d->live,
		    "weight", d->weight, "intended", d->intended, "realised", d->realised);

		json_object_set_new(
		    o, "target", isnan(d->target) ? json_null() : json_real(d->target));
		json_object_set_new(
		    o, "deviation", isnan(d->target) ? json_null() : json_real(d->deviation));
		json_object_set_new(
		    o, "state", d->mixed >= 0 ? json_string(state[d->state]) : json_null());
		json_object_set_new(o, "dry", json_boolean(d->dry));
		json_object_set_new(o, "owed", json_integer(d->owed));
		json_object_set_new(o, "taken", json_integer(d->taken));
		json_object_set_new(o, "tokens", json_integer(d->tokens));
		json_object_set_new(o, "epoch", json_integer(d->epoch));
		json_object_set_new(o, "position", json_integer(d->position));
		json_object_set_new(
		    o, "sealed_length", known(d->sealed_length >= 0, d->sealed_length));
		json_object_set_new(o, "sequences", json_integer(d->sequences));
		json_object_set_new(
		    o, "remaining", known(status_remaining(d) >= 0, status_remaining(d)));
		json_object_set_new(o, "partitions", json_integer(number(d->partitions_n)));
		json_object_set_new(
		    o, "partitions_sealed", json_integer(number(d->partitions_sealed)));
		json_object_set_new(
		    o, "mixer_commit", known(d->mixer_commit >= 0, d->mixer_commit));
		json_object_set_new(o, "loss", told ? json_real(b->domain[i].loss) : json_null());
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *
topics_json(const struct status *st)
{
	json_t *list = json_array();

	assert(st->report != NULL);
	for (size_t i = 0; i < st->plan->n; i++)
		json_array_append_new(
		    list, json_pack("{s:s, s:b, s:i, s:i, s:s}", "name", st->plan->topic[i].name,
			      "exists", st->report[i].exists, "partitions",
			      st->report[i].partitions, "partitions_wanted",
			      st->plan->topic[i].partitions, "problem", st->report[i].problem));
	return list;
}

static json_t *
problems_json(const struct status *st)
{
	json_t *list = json_array();

	assert(st->problems_n <= STATUS_PROBLEMS_MAX);
	for (size_t i = 0; i < st->problems_n; i++)
		json_array_append_new(list, json_print_text(st->problem[i].text));
	return list;
}

/* The same problems with their codes: "problems" was a list of texts before they had codes. */
static json_t *
problem_list_json(const struct status *st)
{
	json_t *list = json_array();

	for (size_t i = 0; i < st->problems_n; i++)
		json_array_append_new(list, json_pack("{s:s, s:o}", "code", st->problem[i].code,
						"text", json_print_text(st->problem[i].text)));
	return list;
}

enum fail_code
status_print_json(const struct status *st, FILE *to, bool compact, struct failure *f)
{
	size_t flags = JSON_PRESERVE_ORDER | (compact ? JSON_COMPACT : JSON_INDENT(2));
	json_t *o = json_pack("{s:s, s:I, s:o, s:o, s:o, s:I, s:o, s:o, s:I, s:s}", "corpus",
	    st->config->corpus, "now_ms", (json_int_t)st->now_ms, "mix", mix_json(st), "domains",
	    domains_json(st), "topics", topics_json(st), "rejects", (json_int_t)st->rejects,
	    "problems", problems_json(st), "problem_list", problem_list_json(st), "problems_more",
	    number(st->problems_more), "headline", st->headline);

	return json_print(o, flags, to, f);
}

enum fail_code
status_print_runs_json(const struct status *st, FILE *to, struct failure *f)
{
	return json_print(runs_json(st), JSON_PRESERVE_ORDER | JSON_INDENT(2), to, f);
}

/* "-" in SEEN: not in the ledger's last records. */
void
status_print_runs_table(const struct status *st, FILE *to)
{
	int width = runs_width(st);

	fprintf(to, "%-*s %12s %12s %12s %12s  %-15s  %s\n", width, "RUN", "STEP", "KNOWN", "LAG",
	    "MAY LAG", "SEEN", "STATE");
	for (size_t i = 0; i < st->runs_n; i++) {
		const struct status_run *r = &st->run[i];
		char step[24] = "-", lead[24] = "any", seen[CLOCK_SPAN_BYTES + 8] = "-";
		char span[CLOCK_SPAN_BYTES];

		if (r->committed)
			snprintf(step, sizeof(step), "%" PRIu64, r->step);
		if (r->bounds && st->lead_steps > 0)
			snprintf(lead, sizeof(lead), "%" PRIu64, st->lead_steps);
		if (r->seen_ms >= 0)
			snprintf(seen, sizeof(seen), "%s ago", clock_span(span, r->seen_ms));
		fprintf(to, "%-*s %12s %12" PRIu64 " %12" PRIu64 " %12s  %-12s  %s\n", width,
		    r->name, step, r->known, r->lag_steps, lead, seen,
		    r->bad[0] != '\0' ? r->bad : status_run_state_name(status_run_state(r)));
	}
}
