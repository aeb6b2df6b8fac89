#include "cli/serve/serve_metrics.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "common/metrics/metrics.h"

static void
add_problems(struct metrics_text *m, const struct status *st, const char *mix)
{
	metrics_count(
	    m, METRICS_PROBLEMS, (int64_t)(st->problems_n + st->problems_more), mix, NULL);
	for (size_t i = 0; i < st->problems_n; i++) {
		int64_t n = 0;
		bool first = true;

		for (size_t k = 0; k < st->problems_n; k++) {
			bool same = strcmp(st->problem[k].code, st->problem[i].code) == 0;

			n += same;
			first = first && !(same && k < i);
		}
		if (first)
			metrics_count(m, METRICS_PROBLEMS_BY_CODE, n, mix, st->problem[i].code);
	}
}

static void
add_mixers(struct metrics_text *m, const struct status *st, const char *mix)
{
	int64_t standby = 0;

	if (!st->mixers_known)
		return;
	for (size_t i = 0; i < st->mixers_n; i++)
		standby += st->mixer[i].standby;
	metrics_count(m, METRICS_MIXERS_ACTIVE, (int64_t)st->mixers_n - standby, mix, NULL);
	metrics_count(m, METRICS_MIXERS_STANDBY, standby, mix, NULL);
}

/* Of a mix that has started: facts of its ledger. */
static void
add_ledger(struct metrics_text *m, const struct status *st, const char *mix)
{
	const struct ledger *l = &st->ledger;

	metrics_count(m, METRICS_LEDGER_OFFSET, st->ledger_offset, mix, NULL);
	metrics_number(m, METRICS_LEDGER_TIME, (double)st->ledger_time_ms / 1000, mix, NULL);
	metrics_count(m, METRICS_MIX_STEPS, l->step_next, mix, NULL);
	metrics_count(m, METRICS_MIX_SEQUENCES, l->draws, mix, NULL);
	metrics_count(m, METRICS_MIX_TOKENS, st->tokens, mix, NULL);
	metrics_count(m, METRICS_MIX_ENDED, st->state == STATUS_ENDED, mix, NULL);
	metrics_count(m, METRICS_MIX_VERSION, l->version, mix, NULL);
	metrics_count(m, METRICS_MIX_VERSION_STEP, l->version_step, mix, NULL);
	metrics_number(m, METRICS_MIX_TEMPERATURE, l->temperature, mix, NULL);
	metrics_number(m, METRICS_MIX_LR_SCALE, l->lr_scale, mix, NULL);
	metrics_count(m, METRICS_MIX_PENDING, (int64_t)l->pending_n, mix, NULL);
	metrics_count(m, METRICS_MIX_QUARANTINED, (int64_t)l->quarantined_n, mix, NULL);
}

static void
add_mix(struct metrics_text *m, const struct status *st, const char *mix)
{
	metrics_count(m, METRICS_MIX_INFO, 1, mix, schedule_names[st->config->mix.schedule]);
	metrics_count(m, METRICS_MIX_BATCH, status_global_batch(st), mix, NULL);
	metrics_count(m, METRICS_MIX_LEAD, (int64_t)st->lead_steps, mix, NULL);
	if (st->step_limit != UINT64_MAX)
		metrics_count(m, METRICS_MIX_STEP_LIMIT, (int64_t)st->step_limit, mix, NULL);
	if (st->batches_kept)
		metrics_count(m, METRICS_MIX_STEP_KEPT, (int64_t)st->step_kept, mix, NULL);
	metrics_count(m, METRICS_REJECTS, st->rejects, mix, NULL);
}

/* A metric of the domains: of each one that has it. */
struct of_domain {
	enum metrics_id id;
	double (*number)(const struct status_domain *d); /* NAN: it has none */
	int64_t (*count)(const struct status_domain *d); /* where there is no `number` */
	bool (*has)(const struct status_domain *d);      /* NULL: each one */
};

/* Sequences until its last pass ends; NAN: not known, or none is the last. */
static double
until_end(const struct status *st, const struct status_domain *d)
{
	const struct config_domain *c;
	double passes, left;

	if (d->configured < 0 || d->mixed < 0 || d->state != LEDGER_ACTIVE || d->sealed_length < 0)
		return NAN;
	c = &st->config->domains[d->configured];
	if (c->max_epochs == 0 && c->on_end == MIX_END_REPEAT)
		return NAN;
	passes = c->max_epochs == 0 ? 1 : (double)c->max_epochs;
	left = (passes - (double)d->epoch) * (double)d->sealed_length - (double)d->position;
	return left > 0 ? left : 0;
}

static bool
is_mixed(const struct status_domain *d)
{
	return d->mixed >= 0;
}

static bool
is_sealed(const struct status_domain *d)
{
	return d->sealed_length >= 0;
}

static int64_t
taken_of(const struct status_domain *d)
{
	return d->taken;
}

static int64_t
tokens_of(const struct status_domain *d)
{
	return d->tokens;
}

static double
intended_of(const struct status_domain *d)
{
	return d->intended;
}

static double
target_of(const struct status_domain *d)
{
	return d->target;
}

static double
realised_of(const struct status_domain *d)
{
	return d->realised;
}

static double
deviation_of(const struct status_domain *d)
{
	return isnan(d->target) ? NAN : d->deviation;
}

static int64_t
epoch_of(const struct status_domain *d)
{
	return d->epoch;
}

static int64_t
remaining_of(const struct status_domain *d)
{
	return status_remaining(d);
}

static int64_t
published_of(const struct status_domain *d)
{
	return d->sequences;
}

static int64_t
dry_of(const struct status_domain *d)
{
	return d->dry;
}

static int64_t
owed_of(const struct status_domain *d)
{
	return d->owed;
}

static const struct of_domain of_domains[] = {
    {METRICS_DOMAIN_SEQUENCES, NULL, taken_of, is_mixed},
    {METRICS_DOMAIN_TOKENS, NULL, tokens_of, is_mixed},
    {METRICS_DOMAIN_SHARE_INTENDED, intended_of, NULL, NULL},
    {METRICS_DOMAIN_SHARE_TARGET, target_of, NULL, NULL},
    {METRICS_DOMAIN_SHARE_REALISED, realised_of, NULL, is_mixed},
    {METRICS_DOMAIN_DEVIATION, deviation_of, NULL, NULL},
    {METRICS_DOMAIN_EPOCH, NULL, epoch_of, is_mixed},
    {METRICS_DOMAIN_REMAINING, NULL, remaining_of, is_sealed},
    {METRICS_DOMAIN_PUBLISHED, NULL, published_of, NULL},
    {METRICS_DOMAIN_DRY, NULL, dry_of, is_mixed},
    {METRICS_DOMAIN_OWED, NULL, owed_of, is_mixed},
};

static void
add_domains(struct metrics_text *m, const struct status *st, const char *mix)
{
	const struct status_feedback *b = status_feedback(st);

	for (size_t k = 0; k < sizeof(of_domains) / sizeof(of_domains[0]); k++)
		for (size_t i = 0; i < st->domains_n; i++) {
			const struct of_domain *of = &of_domains[k];
			const struct status_domain *d = &st->domain[i];

			if (of->has != NULL && !of->has(d))
				continue;
			if (of->number != NULL)
				metrics_number(m, of->id, of->number(d), mix, d->name);
			else
				metrics_count(m, of->id, of->count(d), mix, d->name);
		}
	for (size_t i = 0; i < st->domains_n; i++)
		metrics_number(m, METRICS_DOMAIN_UNTIL_END, until_end(st, &st->domain[i]), mix,
		    st->domain[i].name);
	for (size_t i = 0; b != NULL && i < st->domains_n; i++)
		if (b->domain[i].tokens > 0)
			metrics_number(
			    m, METRICS_DOMAIN_LOSS, b->domain[i].loss, mix, st->domain[i].name);
}

static void
add_runs(struct metrics_text *m, const struct status *st, const char *mix)
{
	for (size_t i = 0; i < st->runs_n; i++)
		metrics_count(m, METRICS_RUN_STEP, (int64_t)st->run[i].step, mix, st->run[i].name);
	for (size_t i = 0; i < st->runs_n; i++)
		metrics_count(
		    m, METRICS_RUN_LAG, (int64_t)st->run[i].lag_steps, mix, st->run[i].name);
	for (size_t i = 0; i < st->runs_n; i++) {
		enum status_run_state state = status_run_state(&st->run[i]);

		metrics_count(m, METRICS_RUN_LOST,
		    state == STATUS_RUN_BACK || state == STATUS_RUN_LOST, mix, st->run[i].name);
	}
}

char *
serve_metrics(const struct status *st)
{
	const char *mix = st->config->mix.name;
	struct metrics_text m = {0};

	assert(mix != NULL);
	assert(st->problem != NULL); /* status_derive() was called */
	metrics_number(&m, METRICS_STATUS_TIME, (double)st->now_ms / 1000, mix, NULL);
	add_problems(&m, st, mix);
	add_mixers(&m, st, mix);
	if (st->state == STATUS_STARTED || st->state == STATUS_ENDED)
		add_ledger(&m, st, mix);
	add_mix(&m, st, mix);
	add_domains(&m, st, mix);
	add_runs(&m, st, mix);
	return metrics_take(&m);
}

char *
serve_metrics_up(const char *mix, bool up)
{
	struct metrics_text m = {0};

	metrics_count(&m, METRICS_UP, up, mix, NULL);
	return metrics_take(&m);
}
