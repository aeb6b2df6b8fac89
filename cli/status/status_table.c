#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/status/status_print.h"

static const char *const reason_name[] = {
    [LEDGER_BY_CONFIG] = "the configuration",
    [LEDGER_BY_PHASE] = "phase",
    [LEDGER_BY_REQUEST] = "request",
};

/* "1.61 M": three figures and a unit of thousands. */
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
	fprintf(to, "\n");
}

static void
print_pending(const struct status *st, FILE *to)
{
	const struct ledger *l = &st->ledger;
	static const char *const kind[] = {[LEDGER_WEIGHTS] = "weights",
	    [LEDGER_SKIP] = "a skip",
	    [LEDGER_JOIN] = "a domain that joins",
	    [LEDGER_LEAVE] = "a domain that leaves"};

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
	char steps[32], sequences[32], tokens[32];

	if (st->rate_ms > 0)
		fprintf(to,
		    "rates    %s steps/s, %s sequences/s, %s tokens/s (over %.1f s up to the last "
		    "record)\n",
		    scaled(st->steps_per_s, steps), scaled(st->sequences_per_s, sequences),
		    scaled(st->tokens_per_s, tokens), (double)st->rate_ms / 1000);
	fprintf(to, "written  %.1f s ago\n", (double)(st->now_ms - st->ledger_time_ms) / 1000);
}

/* "active 10.0.0.7; standby 10.0.0.8, 10.0.0.9" */
static void
print_mixers(const struct status *st, FILE *to)
{
	const char *before[] = {"active ", "standby "};

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
	fprintf(to, "\n");
}

static void
print_feedback(const struct status *st, FILE *to)
{
	const struct status_feedback *b = status_feedback(st);

	if (b != NULL)
		fprintf(to,
		    "losses   run %s, mean of %" PRIu64 " steps, %" PRId64 " to %" PRId64
		    ", in nats a token\n",
		    st->run[b - st->feedback].name, b->steps, b->step_first, b->step_last);
}

static void
print_mix(const struct status *st, FILE *to)
{
	const struct config_mix *m = &st->config->mix;

	fprintf(to, "mix      %s, %s\n", m->name,
	    st->state == STATUS_RUNNING ? "started" : status_state_name(st->state));
	fprintf(to, "step     %" PRIu32 " sequences of %" PRIu32 " tokens on %" PRIu32 " lanes\n",
	    m->global_batch, st->config->sequence_length, m->lanes);
	print_mixers(st, to);
	if (st->state == STATUS_NOT_STARTED)
		return;
	fprintf(to, "next     step %" PRId64, st->ledger.step_next);
	if (st->batches_kept && st->step_kept > 0)
		fprintf(to, ", kept from step %" PRIu64, st->step_kept);
	if (st->step_limit != UINT64_MAX && st->state == STATUS_RUNNING)
		fprintf(to, ", may go to step %" PRIu64, st->step_limit);
	fprintf(to, "\n");
	print_weights(st, to);
	print_pending(st, to);
	print_owed(st, to);
	print_rates(st, to);
	print_feedback(st, to);
}

static void
print_runs(const struct status *st, FILE *to)
{
	int width = 3;

	for (size_t i = 0; i < st->runs_n; i++)
		if ((int)strlen(st->run[i].name) > width)
			width = (int)strlen(st->run[i].name);
	fprintf(to, "\n%-*s %12s %12s %12s\n", width, "RUN", "STEP", "LAG", "MAY LAG");
	for (size_t i = 0; i < st->runs_n; i++) {
		const struct status_run *r = &st->run[i];

		fprintf(to, "%-*s ", width, r->name);
		if (r->committed)
			fprintf(to, "%12" PRIu64, r->step);
		else
			fprintf(to, "%12s", "-");
		fprintf(to, " %12" PRIu64, r->lag_steps);
		if (r->configured && st->config->mix.max_lead_steps > 0)
			fprintf(to, " %12" PRIu32 "\n", st->config->mix.max_lead_steps);
		else
			fprintf(to, " %12s\n", "any");
	}
}

static const char *
sealed(const struct status_domain *d, char out[static 32])
{
	if (d->partitions_n == 0)
		return "no topic";
	if (d->partitions_sealed == d->partitions_n)
		return "yes";
	if (d->live)
		return d->dry ? "live dry" : "live";
	if (d->partitions_n == 1)
		return "no";
	snprintf(out, 32, "%zu of %zu", d->partitions_sealed, d->partitions_n);
	return out;
}

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
		fprintf(to, " %8s %11s %11s %12s %6s %12s", "WEIGHT", "INTENDED", "REALISED",
		    "TAKEN", "EPOCH", "POSITION");
	if (b != NULL)
		fprintf(to, " %8s", "LOSS");
	fprintf(to, "\n");
	for (size_t i = 0; i < st->domains_n; i++) {
		const struct status_domain *d = &st->domain[i];

		fprintf(
		    to, "%-*s %12" PRId64 " %8s", width, d->name, d->sequences, sealed(d, buffer));
		if (st->state != STATUS_NO_MIX)
			fprintf(to,
			    " %8.4g %10.6f%% %10.6f%% %12" PRId64 " %6" PRId64 " %12" PRId64,
			    d->weight, 100 * d->intended, 100 * d->realised, d->taken, d->epoch,
			    d->position);
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
	if (st->problems_n > 0)
		fprintf(to, "\n");
	for (size_t i = 0; i < st->problems_n; i++)
		fprintf(to, "! %s\n", st->problem[i]);
	if (st->problems_more > 0)
		fprintf(to, "! and %zu more\n", st->problems_more);
}

void
status_print_table(const struct status *st, FILE *to)
{
	fprintf(to, "corpus   %s\n", st->config->corpus);
	if (st->state != STATUS_NO_MIX) {
		print_mix(st, to);
		print_runs(st, to);
	}
	print_domains(st, to);
	print_problems(st, to);
}
