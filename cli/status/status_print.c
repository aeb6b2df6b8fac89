#include "cli/status/status_print.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/hints.h"
#include "common/base/clock.h"
#include "common/base/text.h"
#include "common/terminal/terminal.h"

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

static void
print_weights(const struct status *st, FILE *to)
{
	const struct ledger *l = &st->ledger;

	fprintf(to, "weights  version %" PRId64 " since step %" PRId64 ", by %s", l->version,
	    l->version_step, ledger_reason_names[l->reason]);
	if (TEXT_SHOWN(l->reason_id)[0] != '\0')
		fprintf(to, " %s", TEXT_SHOWN(l->reason_id));
	if (TEXT_SHOWN(l->phase)[0] != '\0')
		fprintf(to, "; phase %s", TEXT_SHOWN(l->phase));
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
	    l->pending[0].step, TEXT_SHOWN(l->pending[0].id));
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
		    first ? before[standby] : "", TEXT_SHOWN(st->mixer[i].host));
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
			    TEXT_SHOWN(b->run), b->configured ? "" : " (not in mix.runs)", b->steps,
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
	char said[HINTS_TEXT_MAX];

	if (st->problems_n > 0)
		fprintf(to, "\n");
	for (size_t i = 0; i < st->problems_n; i++) {
		hints_say(said, sizeof(said), st->problem[i].text);
		fprintf(to, "%s! %s%s ", colours ? TERMINAL_YELLOW : "", st->problem[i].code,
		    colours ? TERMINAL_PLAIN : "");
		terminal_print(to, TEXT_LINE, said, strlen(said));
		fprintf(to, "\n");
	}
	if (st->problems_more > 0)
		fprintf(to, "! and %zu more\n", st->problems_more);
}

void
status_print_table(const struct status *st, FILE *to)
{
	char said[HINTS_TEXT_MAX];

	assert(st->problem != NULL); /* status_derive() was called */
	fprintf(to, "health   %s\ncorpus   %s\n", st->headline, st->config->corpus);
	hints_say(said, sizeof(said), "`riffle rejects` lists them");
	if (st->rejects > 0) /* no problem: `riffle produce` has judged them by max_rejects */
		fprintf(to, "rejects  %" PRId64 " at most; %s\n", st->rejects, said);
	if (st->state != STATUS_NO_MIX) {
		print_mix(st, to);
		print_runs(st, to);
	}
	print_domains(st, to);
	print_problems(st, to);
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
		/* The lanes are listed if the run stops, or may stop, because some are behind. */
		bool held = r->bounds && st->lead_steps > 0 && r->lag_steps >= st->lead_steps;
		bool apart = status_run_state(r) == STATUS_RUN_PART || held;

		apart = apart && r->apart[0] != '\0' && r->bad[0] == '\0';
		if (r->committed)
			snprintf(step, sizeof(step), "%" PRIu64, r->step);
		if (r->bounds && st->lead_steps > 0)
			snprintf(lead, sizeof(lead), "%" PRIu64, st->lead_steps);
		if (r->seen_ms >= 0)
			snprintf(seen, sizeof(seen), "%s ago", clock_span(span, r->seen_ms));
		fprintf(to, "%-*s %12s %12" PRIu64 " %12" PRIu64 " %12s  %-12s  %s%s%s\n", width,
		    r->name, step, r->known, r->lag_steps, lead, seen,
		    r->bad[0] != '\0' ? TEXT_SHOWN(r->bad)
				      : status_run_state_name(status_run_state(r)),
		    apart ? ": " : "", apart ? r->apart : "");
	}
}
