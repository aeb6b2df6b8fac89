#include "consumer/status/status.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/schedule/weights.h"
#include "consumer/domain/domains.h"
#include "consumer/ledger/weight_history.h"
#include "consumer/plan/bound_config.h"
#include "consumer/plan/ledger_plan.h"
#include "consumer/publish/wait_words.h"

bool
status_is_mixed(const struct status *st)
{
	for (size_t i = 0; i < st->mixers_n; i++)
		if (!st->mixer[i].standby)
			return true;
	return false;
}

uint32_t
status_global_batch(const struct status *st)
{
	uint32_t in_force = st->ledger.global_batch;

	return in_force > 0 ? in_force : st->config->mix.global_batch;
}

const char *
status_state_name(const struct status *st)
{
	switch (st->state) {
	case STATUS_NO_MIX: return "no mix";
	case STATUS_NOT_STARTED: return "not started";
	case STATUS_STARTED:
		if (!st->mixers_known)
			return "unknown";
		return status_is_mixed(st) ? "running" : "stopped";
	case STATUS_ENDED: return "ended";
	}
	abort(); /* unreachable */
}

enum status_run_state
status_run_state(const struct status_run *r)
{
	if (r->known > 0 && !r->committed_all)
		return STATUS_RUN_LOST;
	if (!r->committed)
		return STATUS_RUN_NEW;
	if (!r->committed_all)
		return STATUS_RUN_PART;
	return r->step < r->known ? STATUS_RUN_BACK : STATUS_RUN_GOOD;
}

const char *
status_run_state_name(enum status_run_state state)
{
	static const char *const name[] = {
	    [STATUS_RUN_NEW] = "new",
	    [STATUS_RUN_GOOD] = "good",
	    [STATUS_RUN_BACK] = "went back",
	    [STATUS_RUN_LOST] = "commits lost",
	    [STATUS_RUN_PART] = "part of its lanes",
	};

	assert((size_t)state < sizeof(name) / sizeof(name[0]));
	return name[state];
}

void
status_free(struct status *st)
{
	if (st == NULL)
		return;
	for (size_t i = 0; st->domain != NULL && i < st->domains_n; i++)
		free(st->domain[i].partition);
	for (size_t i = 0; i < st->feedback_n; i++)
		free(st->feedback[i].domain);
	free(st->feedback);
	topic_plan_close(st->plan);
	ledger_clear(&st->ledger);
	free(st->report);
	free(st->sample);
	free(st->seen);
	free(st->end);
	free(st->apart);
	free(st->domain);
	free(st->run);
	free(st->problem);
	free(st);
}

/* ---- shares, rates, lags ---- */

/* Of a mix that has started: those in the ledger. */
static void
derive_mixed_shares(struct status *st)
{
	const struct ledger *l = &st->ledger;
	const struct config_mix *m = &st->config->mix;
	uint64_t unit =
	    m->weights_unit == MIX_BY_TOKENS ? (uint64_t)st->config->sequence_length + 1 : 1;
	struct weight_history_scale scale;

	weight_history_scale(&scale, l);
	for (size_t i = 0; i < st->domains_n; i++) {
		struct status_domain *d = &st->domain[i];

		d->intended =
		    d->mixed >= 0 ? weight_history_scaled_share(&scale, l, (size_t)d->mixed) : 0;
		d->realised = l->draws > 0 ? (double)d->taken / (double)l->draws : 0;
		d->target = d->deviation = NAN;
		if (d->mixed < 0 || l->draws == 0 || m->schedule == SCHEDULE_RANDOM)
			continue;
		d->deviation = -weight_history_scaled_behind(&scale, l, (size_t)d->mixed, unit);
		d->target = ((double)d->taken - d->deviation) / (double)l->draws;
	}
}

/* Before the first ledger record: what the configuration intends. */
static enum fail_code
derive_configured_shares(struct status *st, struct failure *f)
{
	const struct config *c = st->config;
	uint64_t *weight = calloc(c->domains_n, sizeof(*weight));
	double *raw = calloc(c->domains_n, sizeof(*raw)), all = 0;
	const char **name = calloc(c->domains_n, sizeof(*name));
	enum fail_code code =
	    weight == NULL || name == NULL || raw == NULL ? fail_memory(f) : FAIL_NONE;

	for (size_t i = 0; code == FAIL_NONE && i < st->domains_n; i++) {
		int k = st->domain[i].configured;

		st->domain[i].target = st->domain[i].deviation = NAN;
		if (k < 0)
			continue;
		assert((size_t)k < c->domains_n);
		name[k] = c->domains[k].name;
		raw[k] = c->mix.weights_kind == CONFIG_WEIGHTS_SIZE
			     ? (double)st->domain[i].sequences
			     : c->mix.weight[k];
		all += raw[k];
	}
	if (code == FAIL_NONE && all > 0) /* by size, and all are empty: nothing is intended yet */
		code = weights_quantise(weight, raw, name, c->domains_n, c->mix.temperature, f);
	for (size_t i = 0; code == FAIL_NONE && i < st->domains_n; i++)
		if (st->domain[i].configured >= 0)
			st->domain[i].intended =
			    (double)weight[st->domain[i].configured] / (double)WEIGHT_ONE;
	free(weight);
	free(raw);
	free(name);
	return code;
}

/*
 * Between the last sample and the oldest one that the same mixer wrote without another one between
 * them, at most STATUS_RATE_MS before it. Samples of an earlier mixer do not count: the time
 * between two mixers says nothing about the speed of either.
 */
static void
derive_rates(struct status *st)
{
	const struct status_sample *last, *first = NULL;
	double seconds;

	assert(st->sample != NULL || st->samples_n == 0);
	st->rate_ms = 0;
	st->steps_per_s = st->sequences_per_s = st->tokens_per_s = 0;
	if (st->samples_n == 0)
		return;
	last = &st->sample[st->samples_n - 1];
	for (size_t i = st->samples_n - 1; i-- > 0;) {
		if (st->sample[i].mixer != last->mixer ||
		    last->time_ms - st->sample[i].time_ms > STATUS_RATE_MS)
			break;
		first = &st->sample[i];
	}
	if (first == NULL || last->time_ms <= first->time_ms)
		return;
	st->rate_ms = last->time_ms - first->time_ms;
	seconds = (double)st->rate_ms / 1000;
	st->steps_per_s = (double)(last->step_next - first->step_next) / seconds;
	st->sequences_per_s = (double)(last->draws - first->draws) / seconds;
	st->tokens_per_s = (double)(last->tokens - first->tokens) / seconds;
}

/*
 * A run may be at most max_lead_steps behind the mixer. The slowest run of mix.runs decides where
 * the mixer waits; other runs are shown and limit nothing. Both keys are those that the ledger has,
 * until a mixer has accepted others.
 */
static void
derive_runs(struct status *st, const struct ledger_plan *plan)
{
	uint64_t next = (uint64_t)st->ledger.step_next;

	st->lead_steps = plan != NULL ? plan->max_lead_steps : st->config->mix.max_lead_steps;
	st->step_limit = UINT64_MAX;
	for (size_t i = 0; i < st->runs_n; i++) {
		struct status_run *r = &st->run[i];

		r->lag_steps = next > r->step ? next - r->step : 0;
		r->bounds = plan != NULL ? ledger_plan_has_run(plan, r->name) : r->configured;
		if (r->bounds && st->lead_steps > 0 && r->step + st->lead_steps < st->step_limit)
			st->step_limit = r->step + st->lead_steps;
		r->waited_for = st->state == STATUS_STARTED && status_is_mixed(st) && r->bounds &&
				st->lead_steps > 0 && next >= r->step + st->lead_steps;
	}
}

int64_t
status_remaining(const struct status_domain *d)
{
	if (d->sealed_length >= 0)
		return d->sealed_length > d->position ? d->sealed_length - d->position : 0;
	if (d->live)
		return d->sequences > d->position ? d->sequences - d->position : 0;
	return -1;
}

double
status_seconds(const struct status *st, int64_t steps)
{
	if (st->state != STATUS_STARTED || !status_is_mixed(st) || st->steps_per_s <= 0)
		return -1;
	return (double)steps / st->steps_per_s;
}

bool
status_promises_deviation(const struct status *st)
{
	const struct config *c = st->config;

	for (size_t i = 0; i < c->domains_n; i++)
		if (c->domains[i].live && c->domains[i].on_dry == MIX_DRY_LEND)
			return false;
	return st->state != STATUS_NO_MIX && c->mix.schedule == SCHEDULE_DEFICIT;
}

static void
derive_first_end(struct status *st)
{
	st->first_end = -1;
	for (size_t i = 0; i < st->domains_n; i++) {
		const struct status_domain *d = &st->domain[i];
		double steps;

		if (d->mixed < 0 || d->state != LEDGER_ACTIVE || d->intended <= 0 ||
		    d->sealed_length <= 0)
			continue;
		steps = ceil((double)status_remaining(d) / d->intended / status_global_batch(st));
		if (steps > 1e15 || (st->first_end >= 0 && steps >= (double)st->first_end_steps))
			continue;
		st->first_end = (int)i;
		st->first_end_steps = (int64_t)steps;
	}
}

/* By the plan that the ledger holds; NULL: by the configuration, where the mix has no ledger. */
static void
derive_next_phase(struct status *st, const struct ledger_plan *plan)
{
	const struct config_mix *m = &st->config->mix;
	size_t n = plan != NULL ? plan->plan.phases_n : m->phases_n;

	st->next_phase_step = -1;
	if (st->state != STATUS_NOT_STARTED && st->state != STATUS_STARTED)
		return;
	if (plan == NULL && st->ledger.config != NULL)
		return;
	for (size_t i = 0; i < n && st->next_phase_step < 0; i++) {
		uint64_t step =
		    plan != NULL ? plan->plan.phase[i].start_step : m->phases[i].start_step;

		if (step < (uint64_t)st->ledger.step_next)
			continue;
		st->next_phase_step = (int64_t)step;
		snprintf(st->next_phase, sizeof(st->next_phase), "%s",
		    plan != NULL ? plan->plan.phase[i].name : m->phases[i].name);
	}
}

/* A text in the ledger that cannot be read is told by compare_config(). */
static enum fail_code
derive_by_plan(struct status *st, bool phases, struct failure *f)
{
	struct ledger_plan plan = {0};
	struct failure unread;
	bool open = st->by == NULL && st->ledger.config != NULL;
	enum fail_code code = open ? ledger_plan_open(&plan, &st->ledger, &unread) : FAIL_NONE;
	const struct ledger_plan *by = open && code == FAIL_NONE ? &plan : st->by;

	if (code == FAIL_MEMORY)
		return fail_memory(f);
	derive_runs(st, by);
	if (phases)
		derive_next_phase(st, by);
	ledger_plan_close(&plan);
	return FAIL_NONE;
}

enum fail_code
status_derive_runs(struct status *st, struct failure *f)
{
	return derive_by_plan(st, false, f);
}

/* ---- a live domain that is dry ---- */

/*
 * The mixer draws from the partitions of a domain in rounds: ordinal 0 of each partition, then
 * ordinal 1 of each, and so on. A partition drops out of the rounds at its End. An open partition
 * has no End yet: it takes part in every round, and a round that needs an ordinal which its
 * producer has not written makes the domain dry.
 *
 * Example: partition 0 is sealed with 2 sequences, partition 1 is open and holds 3.
 *
 *     round       0      1      2      3
 *     partition   0 1    0 1    1      1
 *     position    0 1    2 3    4      5
 *
 * At position 5 the domain is dry: round 3 needs ordinal 3 of partition 1, which holds 0 to 2.
 */

/* First round in which the partition has no turn. */
static uint64_t
end_of(const struct status_partition *p)
{
	return p->sealed ? p->sealed_sequences : UINT64_MAX;
}

/* Sequences that the first `rounds` rounds take from all partitions together. */
static uint64_t
dealt(const struct status_domain *d, uint64_t rounds)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < d->partitions_n; i++)
		sum += end_of(&d->partition[i]) < rounds ? end_of(&d->partition[i]) : rounds;
	return sum;
}

bool
status_is_dry(const struct status_domain *d)
{
	uint64_t low = 0, high = (uint64_t)d->position + 1, behind;

	assert(d->position >= 0);
	assert(d->partitions_sealed <= d->partitions_n);
	if (!d->live || d->epoch > 0 || d->partition == NULL ||
	    d->partitions_sealed == d->partitions_n)
		return false;
	while (low + 1 < high) { /* the last round that begins at or before the position */
		uint64_t middle = low + (high - low) / 2;

		if (dealt(d, middle) <= (uint64_t)d->position)
			low = middle;
		else
			high = middle;
	}
	behind = (uint64_t)d->position - dealt(d, low);
	for (size_t i = 0; i < d->partitions_n; i++)
		if (end_of(&d->partition[i]) > low && behind-- == 0)
			return !d->partition[i].known || d->partition[i].sequences <= low;
	return false;
}

/* ---- whether a mixer would start with this configuration ---- */

/* The lengths of the configuration's domains, as their topics have them. */
struct lengths {
	struct config_plan_length *domain; /* [domains_n] */
	uint64_t *sequences;               /* of all partitions, one domain after the other */
	bool *sealed;                      /* the same */
	bool whole;                        /* each domain has a topic */
};

static size_t
count_partitions(const struct status *st)
{
	size_t n = 0;

	for (size_t i = 0; i < st->domains_n; i++)
		n += st->domain[i].partitions_n;
	return n;
}

static enum fail_code
lengths_open(struct lengths *l, const struct status *st, struct failure *f)
{
	size_t n = count_partitions(st), at = 0, found = 0;

	l->domain = calloc(st->config->domains_n, sizeof(*l->domain));
	l->sequences = calloc(n + 1, sizeof(*l->sequences));
	l->sealed = calloc(n + 1, sizeof(*l->sealed));
	if (l->domain == NULL || l->sequences == NULL || l->sealed == NULL)
		return fail_memory(f);
	for (size_t i = 0; i < st->domains_n; i++) {
		const struct status_domain *d = &st->domain[i];

		if (d->configured < 0 || d->partitions_n == 0)
			continue;
		assert((size_t)d->configured < st->config->domains_n);
		for (size_t p = 0; p < d->partitions_n; p++) {
			l->sequences[at + p] = d->partition[p].sequences;
			l->sealed[at + p] = d->partition[p].sealed;
		}
		l->domain[d->configured] = (struct config_plan_length){
		    .partitions_n = d->partitions_n,
		    .sequences = l->sequences + at,
		    .sealed = d->live ? l->sealed + at : NULL,
		};
		at += d->partitions_n;
		found++;
	}
	l->whole = found == st->config->domains_n;
	return FAIL_NONE;
}

static void
lengths_close(struct lengths *l)
{
	free(l->domain);
	free(l->sequences);
	free(l->sealed);
}

/*
 * As a mixer that starts now does. FAIL_CONFIG: why it would not start; *fixed: not even with
 * --accept-config, because a key differs that a mix keeps for its whole life.
 */
static enum fail_code
compare_lengths(const struct status *st, const struct lengths *l, bool *fixed, struct failure *f)
{
	const struct ledger *last = &st->ledger;
	const struct config *c = st->config;
	struct config_plan p = {0};
	char *text = NULL;
	bool changed;
	enum fail_code code = config_plan_open(&p, c, l->domain, f);

	assert(l->whole);
	if (code == FAIL_NONE && c->mix.weights_kind == CONFIG_WEIGHTS_SIZE)
		code = bound_config_keep_sizes(&p, c, last->config, f);
	if (code == FAIL_NONE)
		code = bound_config_text(&text, c, &p, last->tokenizer, f);
	if (code == FAIL_NONE) {
		code = bound_config_compare(last->config, text, true, &changed, f);
		*fixed = code == FAIL_CONFIG;
	}
	if (code == FAIL_NONE)
		code = bound_config_compare(last->config, text, false, &changed, f);
	free(text);
	config_plan_close(&p);
	return code;
}

/*
 * Compares the configuration with that of the ledger's last record, as `riffle mix` does when it
 * starts. FAIL_CONFIG or FAIL_DATA: why it would not start. Without a finding while a domain of the
 * configuration has no topic: the missing topic is then what a mixer reports first.
 */
static enum fail_code
compare_config(const struct status *st, bool *fixed, struct failure *f)
{
	struct lengths l = {0};
	enum fail_code code = lengths_open(&l, st, f);

	if (code == FAIL_NONE && l.whole)
		code = compare_lengths(st, &l, fixed, f);
	lengths_close(&l);
	return code;
}

/* ---- problems ---- */

static void __attribute__((format(printf, 3, 4)))
problem(struct status *st, const char *code, const char *format, ...)
{
	va_list ap;

	assert(st->problem != NULL);
	assert(st->problems_n <= STATUS_PROBLEMS_MAX);
	if (st->problems_n == STATUS_PROBLEMS_MAX) {
		st->problems_more++;
		return;
	}
	va_start(ap, format);
	st->problem[st->problems_n].code = code;
	vsnprintf(st->problem[st->problems_n++].text, STATUS_PROBLEM_BYTES, format, ap);
	va_end(ap);
}

/* What the broker did not return in time, and what follows from it. */
static void
find_late_problems(struct status *st)
{
	static const struct {
		const char *what, *so;
	} part[STATUS_PARTS] = {
	    [STATUS_PART_LEDGER] = {"the last records of the ledger",
		"the rates and when a run was last seen are incomplete"},
	    [STATUS_PART_BATCHES] = {"the first batch that is kept",
		"the first step that is kept is not known"},
	    [STATUS_PART_RECIPES] = {"the recipes of the domains",
		"they are not compared with the configuration"},
	    [STATUS_PART_LOSSES] = {"the last reports of losses", "the losses are incomplete"},
	    [STATUS_PART_MIXERS] = {"the members of the election",
		"it is not known which mixers run"},
	    [STATUS_PART_ARRIVALS] = {"all records of arrivals",
		"records of other programs there may be more than shown"},
	};

	for (size_t i = 0; i < STATUS_PARTS; i++)
		if (st->late[i])
			problem(st, "STATUS-INCOMPLETE",
			    "the broker has not returned %s within %d s, so %s: run `riffle "
			    "status` again",
			    part[i].what, STATUS_QUERY_MS / 1000, part[i].so);
	for (size_t i = 0; i < st->domains_n; i++)
		if (st->domain[i].partitions_late > 0)
			problem(st, "STATUS-INCOMPLETE",
			    "domain %s: the broker has not returned the last record of %zu of %zu "
			    "partitions within %d s, so its length and whether it is sealed are "
			    "not known: run `riffle status` again",
			    st->domain[i].name, st->domain[i].partitions_late,
			    st->domain[i].partitions_n, STATUS_QUERY_MS / 1000);
}

static void
find_topic_problems(struct status *st)
{
	struct failure missing;

	if (topics_fail_missing(st->config, st->plan, st->report, &missing) != FAIL_NONE)
		problem(st, "STATUS-TOPICS-MISSING", "%s", missing.text);
	for (size_t i = 0; i < st->plan->n; i++)
		if (st->report[i].exists && st->report[i].problem[0] != '\0')
			problem(st, "STATUS-TOPIC", "topic %s: %s", st->plan->topic[i].name,
			    topics_judge_problem(
				&st->report[i], STATUS_PROBLEM_BYTES - sizeof("topic : ") -
						    strlen(st->plan->topic[i].name)));
}

static bool
waits_long(const struct status *st)
{
	return st->state == STATUS_STARTED && st->now_ms - st->ledger_time_ms > STATUS_WAIT_MS;
}

/* A step is drawn whole: where too few sequences of a live domain are left, all of it waits. */
static bool
may_be_waited_for(const struct status *st, const struct status_domain *d)
{
	int64_t left = d->sequences - d->position;

	return d->live && d->mixed >= 0 && d->partitions_sealed < d->partitions_n &&
	       st->config->domains[d->configured].on_dry == MIX_DRY_WAIT &&
	       (double)left < d->intended * status_global_batch(st) && waits_long(st);
}

/* Whether the mix skips all ordinals of a partition below `end`. */
static bool
skips_all_below(
    const struct ledger *l, const struct status_domain *d, size_t partition, int64_t end)
{
	int64_t at = 0;
	bool found = d->mixed >= 0;

	while (found && at < end) {
		found = false;
		for (size_t i = 0; i < l->skips_n; i++) {
			const struct ledger_skip *s = &l->skip[i];

			if ((int)s->domain == d->mixed && s->partition == partition &&
			    s->first <= at && s->end > at) {
				at = s->end;
				found = true;
			}
		}
	}
	return at >= end;
}

/* Records that retention or DeleteRecords has taken from the beginning of a domain's log. */
static void
find_cut(struct status *st, const struct status_domain *d)
{
	for (size_t p = 0; d->partition != NULL && p < d->partitions_n; p++) {
		const struct status_partition *s = &d->partition[p];
		char way[NAME_MAX_BYTES + 80];
		int64_t end = s->low < (int64_t)s->sequences ? s->low : (int64_t)s->sequences;

		if (s->low == 0 || d->state == LEDGER_LEFT ||
		    skips_all_below(&st->ledger, d, p, end))
			continue;
		if (d->mixed < 0)
			snprintf(way, sizeof(way), "`riffle %s %s --restart` publishes all again",
			    config_publisher(st->config, d->name), d->name);
		else
			snprintf(way, sizeof(way),
			    "`riffle skip %s/%zu 0..%" PRId64 "` leaves them out", d->name, p, end);
		problem(st, "STATUS-DOMAIN-CUT",
		    "domain %s: the first %" PRId64
		    " records of partition %zu were deleted (retention, or DeleteRecords; domain "
		    "topics are to be kept for ever). A mix stops where it would draw one of them: "
		    "%s",
		    d->name, s->low, p, way);
	}
}

/* Whether the mix counts with more sequences of some partition than are there up to its End. */
static bool
has_short_partition(const struct status *st, const struct status_domain *d)
{
	const struct ledger_domain *l = d->mixed < 0 ? NULL : &st->ledger.domain[d->mixed];

	for (size_t p = 0; l != NULL && d->partition != NULL && p < d->partitions_n; p++)
		if (p < l->partitions_n && d->partition[p].sealed &&
		    d->partition[p].sealed_sequences < (uint64_t)l->partition[p].sequences)
			return true;
	return false;
}

/* A domain that is not live, and whose topic has an End in each partition, but too early a one. */
static void
find_recreated(struct status *st, const struct status_domain *d)
{
	if (d->state != LEDGER_LEFT && d->other[0] == '\0' && has_short_partition(st, d))
		problem(st, "STATUS-NOT-PRODUCED",
		    "domain %s: its topic holds %" PRId64 " sequences, and the mix counts with "
		    "%" PRIu64 ": it was recreated with other data. `riffle topics --delete "
		    "--create --domain %s --force` empties it; then run `riffle %s %s` with the "
		    "same files and keys as before: the mix continues only with equal sequences",
		    d->name, d->sealed_length,
		    ledger_domain_sequences(&st->ledger.domain[d->mixed]), d->name,
		    config_publisher(st->config, d->name), d->name);
}

/* A domain that is not live and lacks Ends. */
static void
find_unsealed(struct status *st, const struct status_domain *d)
{
	const char *command = config_publisher(st->config, d->name);
	uint64_t counted = d->mixed < 0 ? 0 : ledger_domain_sequences(&st->ledger.domain[d->mixed]);
	char rejected[2 * NAME_MAX_BYTES + 128] = "";

	if (st->rejects > 0) /* of which domain is not known */
		snprintf(rejected, sizeof(rejected),
		    ". If `riffle rejects --domain %s` lists its records, it also says why: "
		    "correct domains.%s first",
		    d->name, d->name);
	if (counted > (uint64_t)d->sequences)
		problem(st, "STATUS-NOT-PRODUCED",
		    "domain %s: its topic holds %" PRId64 " sequences, and the mix counts with "
		    "%" PRIu64 ": its log is gone. Run `riffle %s %s` with the same files and keys "
		    "as before: the mix continues only with equal sequences",
		    d->name, d->sequences, counted, command, d->name);
	else if (d->partitions_sealed == 0 && d->sequences == 0)
		problem(st, "STATUS-NOT-PRODUCED",
		    "domain %s has no sequences yet: run `riffle %s %s`%s", d->name, command,
		    d->name, rejected);
	else
		problem(st, "STATUS-UNSEALED",
		    "domain %s is not sealed (%zu of %zu partitions are): run `riffle %s %s`",
		    d->name, d->partitions_sealed, d->partitions_n, command, d->name);
}

static void
find_domain_problems(struct status *st, const struct status_domain *d)
{
	const char *command = config_publisher(st->config, d->name);
	struct failure changed;

	if (d->other[0] != '\0')
		problem(st, "STATUS-DOMAIN-REPLACED", "%s", d->other);
	find_cut(st, d);
	if (d->bad[0] != '\0')
		problem(st, "STATUS-DOMAIN-UNREADABLE", "domain %s: %s", d->name, d->bad);
	if (d->differs.kind[0] != '\0') {
		domains_fail_changed(st->config, d->name, d->differs.kind, d->mixed >= 0, &changed);
		problem(st, "STATUS-DOMAIN-CHANGED", "%s", changed.text);
	}
	if (d->differs.source[0] != '\0')
		problem(st, "STATUS-SOURCE-CHANGED",
		    "domain %s was published from another source: %s; `riffle %s %s` says what is "
		    "new",
		    d->name, d->differs.source, command, d->name);
	if (d->configured < 0) {
		assert(d->mixed >= 0);
		if (st->ledger.domain[d->mixed].joined || d->state == LEDGER_LEFT)
			return;
		problem(st, "STATUS-NOT-CONFIGURED",
		    "domain %s is in the mix and not in the configuration", d->name);
		return;
	}
	if (d->dry && waits_long(st))
		problem(st, "STATUS-DRY",
		    "domain %s is live and dry: its next sequence is not there yet; `riffle "
		    "produce %s --follow` writes it",
		    d->name, d->name);
	else if (may_be_waited_for(st, d))
		problem(st, "STATUS-ALMOST-DRY",
		    "domain %s is live and has %" PRId64
		    " sequences left, fewer than its share of a "
		    "step: the mixer may wait for it; `riffle produce %s --follow` writes more",
		    d->name, d->sequences - d->position, d->name);
	if (st->state == STATUS_STARTED && d->mixed < 0)
		problem(st, "STATUS-NOT-MIXED",
		    "domain %s is in the configuration and not in the mix: `riffle mix "
		    "--accept-config` takes it in",
		    d->name);
	if (d->partitions_n == 0 || d->live || d->bad[0] != '\0' || d->partitions_late > 0)
		return;
	if (d->partitions_sealed < d->partitions_n) {
		find_unsealed(st, d);
		return;
	}
	find_recreated(st, d);
	if (d->sealed_length >= 0 && d->sequences > d->sealed_length)
		problem(st, "STATUS-APPEND-OPEN",
		    "domain %s has %" PRId64 " sequences behind its End, which do not count yet: "
		    "`riffle %s %s --append` completes them",
		    d->name, d->sequences - d->sealed_length, command, d->name);
	else if (d->sequences == 0 && d->intended > 0)
		problem(st, "STATUS-EMPTY",
		    "domain %s is sealed and empty: its sources hold less than one sequence",
		    d->name);
}

/*
 * A lane that lacks what the ledger's last transaction but one held has lost it: the last one began
 * when the markers of that were written. Of the last one itself markers may be on their way, for
 * seconds at most.
 */
static bool
is_apart(const struct status *st, const struct lane_end *e)
{
	if (e->state == LANE_ENDS_LEVEL)
		return false;
	return st->now_ms - st->ledger_time_ms > STATUS_WAIT_MS ||
	       (e->state == LANE_ENDS_BEHIND && e->next < (uint64_t)st->ledger.step_first);
}

static void
add_lane_problem(struct status *st, uint32_t lane)
{
	const struct lane_end *e = &st->end[lane];

	problem(st, "STATUS-LANE-END",
	    "%s has lost its end: lane %" PRIu32 " ends before step %" PRIu64
	    ", the ledger before step %" PRId64
	    ": no mixer continues; `riffle repair` completes what can be derived again",
	    e->state == LANE_ENDS_AHEAD ? "the ledger" : "the batch topic", lane, e->next,
	    st->ledger.step_next);
}

/* A broker that loses what it acknowledged does so for many lanes: the first ones say it all. */
static void
find_lane_problems(struct status *st)
{
	uint32_t apart = 0;

	if (st->ends_bad[0] != '\0')
		problem(st, "STATUS-LANE-UNREADABLE", "%s", st->ends_bad);
	for (uint32_t i = 0; i < st->ends_n; i++) {
		st->apart[i] = is_apart(st, &st->end[i]);
		if (st->apart[i] && apart++ < STATUS_LANES_SAID)
			add_lane_problem(st, i);
	}
	if (apart > STATUS_LANES_SAID)
		problem(st, "STATUS-LANE-END",
		    "and %" PRIu32 " more lanes do not end with the ledger",
		    apart - STATUS_LANES_SAID);
}

/* What is to be done about the lanes comes first, and takes commits with it. */
static bool
any_apart(const struct status *st)
{
	for (uint32_t i = 0; i < st->ends_n; i++)
		if (st->apart[i])
			return true;
	return false;
}

/*
 * A problem that ends with what to type for the run's trainers. The remedy may restart the mixer,
 * which a file with another fixed key cannot do.
 */
static void __attribute__((format(printf, 4, 5))) problem_of_run(
    struct status *st, const struct status_run *r, const char *code, const char *format, ...)
{
	char text[STATUS_PROBLEM_BYTES];
	char *remedy = wait_words_remedy(&(struct wait_words_run){
	    .name = r->name, .committed = r->committed, .apart = r->apart});
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	problem(st, code, "%s%s%s", text,
	    st->config_fixed      ? "; once this file is set back (STATUS-CONFIG), "
	    : r->apart[0] != '\0' ? ": "
				  : "; ",
	    remedy == NULL ? "start its trainers" : remedy);
	free(remedy);
}

static void
find_run_problems(struct status *st, const struct status_run *r)
{
	uint64_t lead = st->lead_steps, next = (uint64_t)st->ledger.step_next;
	bool waits = r->bounds && lead > 0 && next >= r->step + lead;
	enum status_run_state state = status_run_state(r);
	bool begins = state == STATUS_RUN_NEW && r->bounds;
	bool gone = (r->committed || begins) && st->batches_kept && r->step < st->step_kept;
	char where[RUN_POSITION_APART_MAX + 32];

	if (r->apart[0] != '\0')
		snprintf(where, sizeof(where), "has committed %s", r->apart);
	else
		snprintf(
		    where, sizeof(where), "is at step %" PRIu64 " (lane %zu)", r->step, r->lane);
	if (r->bad[0] != '\0')
		problem(st, "STATUS-RUN-UNREADABLE", "run %s: %s", r->name, r->bad);
	else if (state == STATUS_RUN_LOST && any_apart(st))
		return;
	else if (state == STATUS_RUN_LOST)
		problem(st, "STATUS-RUN-LOST",
		    "run %s is at step %" PRIu64 " in the ledger, and the broker has no commit "
		    "of group %s.%s for every lane: they were deleted, or have expired "
		    "(offsets.retention.minutes). No trainer starts from its commits before "
		    "`riffle runs --reset %s --to %" PRIu64 "` sets them again",
		    r->name, r->known, st->config->mix.name, r->name, r->name, r->known);
	else if (state == STATUS_RUN_BACK && !gone)
		problem(st, "STATUS-RUN-BACK",
		    "run %s went back to step %" PRIu64 ", and the ledger knows it at step %" PRIu64
		    ": the steps between are read again (a trainer that was started there, or two "
		    "trainers of one rank). `riffle runs --reset %s --to %" PRIu64
		    "`, while no trainer runs, takes the ledger's step back, too",
		    r->name, r->step, r->known, r->name, r->step);
	else if (!r->committed && waits) {
		/* Trainers that have just been started commit their first step before long. */
		if (st->state == STATUS_STARTED &&
		    st->now_ms - st->ledger_time_ms > STATUS_SILENT_MS)
			problem_of_run(st, r, "STATUS-RUN-NEW",
			    "run %s has committed nothing: the mixer waits at step %" PRIu64,
			    r->name, lead);
	} else if (waits && waits_long(st) && st->mixers_known && !status_is_mixed(st))
		problem_of_run(st, r, "STATUS-LEAD",
		    "no mixer runs, and one would wait at step %" PRIu64 " for run %s, which %s",
		    next, r->name, where);
	else if (waits && waits_long(st))
		problem_of_run(st, r, "STATUS-LEAD",
		    "the mixer waits at step %" PRIu64 " for run %s, which %s", next, r->name,
		    where);
	if (gone)
		problem(st, "STATUS-RUN-NOT-KEPT",
		    "run %s %s step %" PRIu64 ", and the first step that is kept is %" PRIu64
		    ": `riffle runs --reset %s --to %" PRIu64
		    "`, while no trainer runs, lets it %s there; `riffle replay --republish` "
		    "publishes the steps before it again",
		    r->name, begins ? "has committed nothing and would begin at" : "is at", r->step,
		    st->step_kept, r->name, st->step_kept, begins ? "begin" : "continue");
}

static bool
ready_to_mix(const struct status *st)
{
	for (size_t i = 0; i < st->plan->n; i++)
		if (st->report[i].problem[0] != '\0')
			return false;
	for (size_t i = 0; i < st->domains_n; i++)
		if (!st->domain[i].live &&
		    st->domain[i].partitions_sealed < st->domain[i].partitions_n)
			return false;
	return true;
}

const struct status_feedback *
status_feedback(const struct status *st)
{
	assert(st->feedback_n <= STATUS_FEEDBACK_RUNS);
	for (size_t i = 0; i < st->feedback_n; i++)
		if (st->feedback[i].steps > 0)
			return &st->feedback[i];
	return NULL;
}

static void
find_feedback_problems(struct status *st, const struct status_feedback *b)
{
	const struct losses_counts *c = &b->counts;
	struct failure f;

	if (c->not_a_number > 0)
		problem(st, "STATUS-LOSS-NUMBER",
		    "run %s reported %" PRIu64
		    " losses lately that are no finite numbers: they are dropped",
		    b->run, c->not_a_number);
	if (c->unknown_step > 0)
		problem(st, "STATUS-LOSS-STEP",
		    "run %s reported %" PRIu64
		    " losses lately of steps that the mix has not published: they are dropped",
		    b->run, c->unknown_step);
	if (c->unknown_domain > 0) {
		fail(&f, FAIL_DATA,
		    "run %s reported %" PRIu64
		    " losses lately of domains that the mix does not have: they are dropped. "
		    "Correct the names in the trainer. The mix has no domain %s",
		    b->run, c->unknown_domain, b->unknown);
		ledger_fail_domains(&st->ledger, b->unknown, &f);
		problem(st, "STATUS-LOSS-DOMAIN", "%s", f.text);
	}
}

/*
 * Whether a mixer that starts now would be refused, by this file or by what was found already, or
 * would only wait.
 */
static bool
is_stuck(const struct status *st)
{
	static const char *const refused[] = {"STATUS-TOPICS-MISSING", "STATUS-TOPIC",
	    "STATUS-NOT-PRODUCED", "STATUS-DOMAIN-REPLACED", "STATUS-DOMAIN-CHANGED",
	    "STATUS-DOMAIN-UNREADABLE", "STATUS-LANE-END", "STATUS-LANE-UNREADABLE",
	    "STATUS-RUN-LOST"};

	if (st->config_why.code != FAIL_NONE)
		return true;
	for (size_t i = 0; i < st->problems_n; i++)
		for (size_t k = 0; k < sizeof(refused) / sizeof(refused[0]); k++)
			if (strcmp(st->problem[i].code, refused[k]) == 0)
				return true;
	return false;
}

/* Nobody writes although more could be written: there is no mixer, or it does nothing. */
static void
find_silence(struct status *st, int64_t silent_ms)
{
	char span[CLOCK_SPAN_BYTES];

	clock_span(span, silent_ms);
	if (st->mixers_known && !status_is_mixed(st) && is_stuck(st))
		problem(st, "STATUS-NO-MIXER",
		    "no mixer runs, and the last one wrote %s ago: none starts before the other "
		    "problems are mended; then `riffle mix` continues the mix at step %" PRId64,
		    span, st->ledger.step_next);
	else if (st->mixers_known && !status_is_mixed(st))
		problem(st, "STATUS-NO-MIXER",
		    "no mixer runs, and the last one wrote %s ago: `riffle mix` continues the mix "
		    "at step %" PRId64,
		    span, st->ledger.step_next);
	else if (st->mixers_known)
		problem(st, "STATUS-SILENT",
		    "the mixer has written nothing for %s, at step %" PRId64
		    ": its log says what it waits for",
		    span, st->ledger.step_next);
	else
		problem(st, "STATUS-SILENT",
		    "the mixer has written nothing for %s, at step %" PRId64
		    ": is `riffle mix` running?",
		    span, st->ledger.step_next);
}

static void
find_mixer_problems(struct status *st)
{
	const struct ledger *l = &st->ledger;
	int64_t silent_ms = st->now_ms - st->ledger_time_ms;
	const struct ledger_quarantined *q;
	struct failure why;

	if (st->loss == MIX_LOSS_RECORDS)
		problem(st, "STATUS-LEDGER-EMPTY",
		    "topic %s.ledger holds no record any more: its records were deleted "
		    "(DeleteRecords, or retention; it is kept for ever). A mixer that still runs "
		    "writes its whole state with the next step or request (`riffle weights`); "
		    "without one the mix cannot continue: start one of another name",
		    st->config->mix.name);
	else if (st->loss != MIX_LOSS_NONE) {
		mix_loss_fail(st->loss, st->config->mix.name, l->step_next, &why);
		problem(st, "STATUS-LEDGER-EMPTY", "%s", why.text);
	} else if (st->state == STATUS_NOT_STARTED && ready_to_mix(st))
		problem(
		    st, "STATUS-NOT-STARTED", "the mix has not started: `riffle mix` starts it");
	if (st->state == STATUS_STARTED && silent_ms > STATUS_SILENT_MS &&
	    (uint64_t)l->step_next < st->step_limit)
		find_silence(st, silent_ms);
	if (l->quarantined_n == 0)
		return;
	q = &l->quarantined[l->quarantined_n - 1];
	problem(st, "STATUS-QUARANTINE",
	    "%zu sequences failed the mixer's check and were left out, the last one: domain %s, "
	    "partition %" PRIu32 ", ordinal %" PRId64 ": %s",
	    l->quarantined_n, q->domain < l->domains_n ? l->domain[q->domain].name : "?",
	    q->partition, q->ordinal, q->reason == NULL ? "" : q->reason);
}

static enum fail_code
judge_config(struct status *st, struct failure *f)
{
	enum fail_code code = FAIL_NONE;

	if (st->state != STATUS_NO_MIX && st->config->tokenizer.misfit.code != FAIL_NONE) {
		st->config_why = st->config->tokenizer.misfit;
		return FAIL_NONE;
	}
	if (st->ledger.config == NULL || st->config_compared)
		return FAIL_NONE;
	code = compare_config(st, &st->config_fixed, f);
	if (code == FAIL_MEMORY)
		return code;
	if (code != FAIL_NONE)
		st->config_why = *f;
	return FAIL_NONE;
}

/* A running mixer keeps the configuration that it was started with: only a restart is refused. */
static void
find_config_problem(struct status *st)
{
	if (st->config_why.code != FAIL_NONE)
		problem(st, "STATUS-CONFIG", "riffle mix would not start with this file: %s",
		    st->config_why.text);
}

/* ---- all of it ---- */

/* "is running", as it follows "the mix"; waits are named after it. */
static const char *
state_phrase(const struct status *st)
{
	switch (st->state) {
	case STATUS_NO_MIX: return "is not configured";
	case STATUS_NOT_STARTED: return "has not started";
	case STATUS_ENDED: return "has ended";
	case STATUS_STARTED: break;
	}
	if (!st->mixers_known)
		return "has started, and the election does not say whether a mixer runs";
	return status_is_mixed(st) ? "is running" : "is stopped";
}

/* Appends as much as there is room for. */
static void __attribute__((format(printf, 2, 3))) say(struct status *st, const char *format, ...)
{
	size_t n = strlen(st->headline);
	va_list args;

	va_start(args, format);
	vsnprintf(st->headline + n, sizeof(st->headline) - n, format, args);
	va_end(args);
}

/* "All is well: the mix is running; it waits for run a, run b" */
static void
derive_headline(struct status *st)
{
	size_t problems = st->problems_n + st->problems_more;
	bool idle = st->state == STATUS_NOT_STARTED ||
		    (st->state == STATUS_STARTED && st->mixers_known && !status_is_mixed(st));
	const char *before = "; it waits for run ";
	bool level = true;

	for (uint32_t i = 0; i < st->ends_n; i++)
		level = level && st->end[i].state == LANE_ENDS_LEVEL;
	st->headline[0] = '\0';
	if (problems > 0)
		say(st, "%zu problem%s", problems, problems == 1 ? "" : "s");
	else if (idle && !level) /* see is_apart() */
		say(st,
		    "It is too early to judge, because not every lane ends with the ledger yet. "
		    "Run it again in %d s. No mixer runs",
		    STATUS_WAIT_MS / 1000);
	else
		say(st, "%s", idle ? "Nothing is wrong, and no mixer runs" : "All is well");
	if (st->state == STATUS_NO_MIX) {
		say(st, problems > 0 ? " of a corpus without a mix" : ": a corpus without a mix");
		return;
	}
	say(st, "%s the mix %s", problems > 0 ? ";" : ":", state_phrase(st));
	for (size_t i = 0; i < st->runs_n; i++)
		if (st->run[i].waited_for) {
			say(st, "%s%s", before, st->run[i].name);
			before = ", run ";
		}
}

enum fail_code
status_derive(struct status *st, struct failure *f)
{
	assert(st->config != NULL);
	assert(st->plan != NULL);
	assert(st->domains_n >= st->config->domains_n || st->domain == NULL);
	assert(st->report != NULL);
	assert(st->feedback_n <= STATUS_FEEDBACK_RUNS);
	assert(st->problem == NULL);
	st->problem = calloc(STATUS_PROBLEMS_MAX, sizeof(*st->problem));
	st->apart = calloc(st->ends_n + 1, sizeof(*st->apart));
	if (st->problem == NULL || st->apart == NULL)
		return fail_memory(f);
	if (st->state == STATUS_STARTED || st->state == STATUS_ENDED)
		derive_mixed_shares(st);
	else if (st->state == STATUS_NOT_STARTED && derive_configured_shares(st, f) != FAIL_NONE)
		return f->code;
	for (size_t i = 0; i < st->domains_n; i++)
		st->domain[i].dry = st->domain[i].mixed >= 0 && status_is_dry(&st->domain[i]);
	st->tokens = 0;
	for (size_t i = 0; i < st->domains_n; i++)
		st->tokens += st->domain[i].tokens;
	derive_rates(st);
	derive_first_end(st);
	if (derive_by_plan(st, true, f) != FAIL_NONE)
		return f->code;
	if (judge_config(st, f) != FAIL_NONE)
		return f->code;
	if (st->config_fixed) /* first: other problems may follow from it, and so may remedies */
		find_config_problem(st);
	find_late_problems(st);
	find_topic_problems(st);
	if (st->arrivals_foreign > 0)
		problem(st, "STATUS-ARRIVALS",
		    "topic %s.arrivals holds %" PRId64 " records of other programs near its end, "
		    "which producers pass over; the first is at offset %" PRId64 ": find the "
		    "program that writes there, and take away its right to",
		    st->config->corpus, st->arrivals_foreign, st->arrivals_offset);
	for (size_t i = 0; i < st->domains_n; i++)
		find_domain_problems(st, &st->domain[i]);
	find_lane_problems(st);
	for (size_t i = 0; i < st->runs_n && st->state != STATUS_ENDED; i++)
		find_run_problems(st, &st->run[i]);
	for (size_t i = 0; i < st->feedback_n; i++)
		find_feedback_problems(st, &st->feedback[i]);
	if (st->state != STATUS_NO_MIX)
		find_mixer_problems(st);
	if (!st->config_fixed)
		find_config_problem(st);
	derive_headline(st);
	return FAIL_NONE;
}
