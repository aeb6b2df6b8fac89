/*
 * What must hold where the interleaving of domains rests on when things happen: a domain that is
 * dry lends, a request comes while the mix runs, a configuration is changed. All of it is counted
 * here again, from the records alone:
 *
 *     steps are dense, whole and alike on all lanes; every sequence is that of its domain log;
 *     of each domain the sequences come in the order that it has by itself;
 *     the ledger counts what the steps hold, its weights are those that were asked for, its credits
 *     follow from both;
 *     a request is answered once, with the step at which it takes effect;
 *     a step has as many sequences as the configuration, a phase or a request gives it.
 */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "common/record/schema.h"
#include "tests/sim/world.h"

#define ONE (INT64_C(1) << 32) /* what weights sum to, and a draw costs */

static char found[1024];

static const char *problem(const char *format, ...) __attribute__((format(printf, 1, 2)));

static const char *
problem(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(found, sizeof(found), format, ap);
	va_end(ap);
	return found;
}

/* What is counted on the way. Domains by their numbers in the mix. */
struct count {
	const struct world *w;
	int64_t offset[WORLD_LANES_MAX]; /* of the next record of each lane */
	char name[WORLD_DOMAINS_MAX][64];
	int64_t taken[WORLD_STEPS_MAX + 1][WORLD_DOMAINS_MAX]; /* before each step */
	uint64_t version[WORLD_STEPS_MAX];
	uint32_t batch[WORLD_STEPS_MAX];
	int64_t draws[WORLD_STEPS_MAX + 1]; /* before each step */
	size_t at[WORLD_DOMAINS_MAX];       /* the next place in the order of each domain */
	uint64_t steps;
	bool over;
	/* of the ledger */
	struct ledger before;
	struct ledger_answer kept[WORLD_LATE_MAX];
	size_t answers_n;
};

/* One step of all lanes. Its draws are collected first: how many a domain has says which. */
struct drawn {
	struct batch_drawn draw[64];
	size_t n;
};

static const struct control *
asked_by(const struct count *c, const char *id)
{
	for (size_t k = 0; k < c->w->late_n; k++)
		if (strcmp(c->w->late[k].id, id) == 0)
			return &c->w->late[k];
	return NULL;
}

/* ---- answers ---- */

/* Whether another batch fits a record only its topic says: while that is deleted nobody knows. */
static bool
may_be_refused(const struct control *asked, const struct ledger_answer *a)
{
	return !a->accepted && a->step < 0 && asked->global_batch > 0 &&
	       cluster->chance.count[CHANCE_BATCHES_MADE] > 0 &&
	       strstr(a->text, "topic m.batches: missing") != NULL;
}

/* An answer names the step that is drawn next, or the later one that was asked for. */
static const char *
take_answers(struct count *c, const struct ledger *l)
{
	for (size_t i = 0; i < l->answers_n; i++) {
		const struct ledger_answer *a = &l->answer[i];
		const struct control *asked = asked_by(c, a->id);
		int64_t step;

		if (asked == NULL || c->answers_n == WORLD_LATE_MAX)
			return problem("ledger: an answer to %s, which nobody asked", a->id);
		for (size_t k = 0; k < c->answers_n; k++)
			if (strcmp(c->kept[k].id, a->id) == 0)
				return problem("duplicate: request %s is answered twice", a->id);
		step = asked->at_step > l->step_next ? asked->at_step : l->step_next;
		if ((!a->accepted || a->step != step) && !may_be_refused(asked, a))
			return problem("request %s: %s for step %" PRId64
				       ", not accepted for %" PRId64 ": %.100s",
			    a->id, a->accepted ? "accepted" : "refused", a->step, step, a->text);
		c->kept[c->answers_n] = *a;
		c->kept[c->answers_n++].id = asked->id; /* it outlives the record */
	}
	return NULL;
}

/* All answers of the ledger, before the steps, which are drawn by them. */
static const char *
collect_answers(struct count *c)
{
	const struct cluster_partition *p = cluster_partition("m.ledger", 0);
	const char *bad = NULL;

	for (int64_t i = 0; bad == NULL && i < p->end; i++) {
		const struct cluster_record *r = &p->record[i];
		struct ledger l = {0};
		struct failure f;

		if (r->fate == CLUSTER_COMMITTED && !(r->undone && i < p->log_start) &&
		    ledger_decode(&l, r->bytes, r->n, &f) == FAIL_NONE)
			bad = take_answers(c, &l);
		ledger_clear(&l);
	}
	return bad;
}

/* ---- steps ---- */

/* NULL: the lane has no more. */
static const struct cluster_record *
next_record(struct count *c, uint32_t lane)
{
	const struct cluster_partition *p = world_lane(c->w, lane);

	while (c->offset[lane] < p->end) {
		const struct cluster_record *r = &p->record[c->offset[lane]++];

		if (r->fate != CLUSTER_MARKER && r->fate != CLUSTER_ABORTED &&
		    world_in_lane(c->w, lane, r))
			return r;
	}
	return NULL;
}

static const struct world_log *
log_of(const struct world *w, const char *domain, uint32_t partition)
{
	for (size_t i = 0; i < w->logs_n; i++)
		if (w->log[i].partition == (int32_t)partition &&
		    strcmp(w->log[i].domain, domain) == 0)
			return &w->log[i];
	return NULL;
}

static const char *
check_payload(const struct count *c, const char *domain, const struct batch_drawn *d,
    const struct sequence_payload_view *payload)
{
	const struct world_log *l = log_of(c->w, domain, d->partition);
	const struct world_bytes *b;
	struct sequence_view s;
	struct failure f;

	if (l == NULL || d->ordinal + 1 >= l->records_n)
		return problem("step %" PRIu64 ": domain %s has no sequence %" PRIu32 "/%" PRIu64,
		    c->steps, domain, d->partition, d->ordinal);
	b = &l->record[d->ordinal];
	if (sequence_decode(&s, b->bytes, b->n, &f) != FAIL_NONE || s.ordinal != d->ordinal ||
	    s.payload.raw_n != payload->raw_n ||
	    memcmp(s.payload.raw, payload->raw, payload->raw_n) != 0)
		return problem("other bytes: step %" PRIu64 ": sequence %" PRIu32 "/%" PRIu64
			       " of domain %s is not that of its log",
		    c->steps, d->partition, d->ordinal, domain);
	return NULL;
}

/* A live domain's partitions take turns; else the order is that of a mix of one sequence a step. */
static bool
wanted_draw(const struct world *w, const char *domain, size_t k, struct batch_drawn *out)
{
	const struct world_log *l = log_of(w, domain, 0);
	uint32_t partitions = 1;

	if (l == NULL)
		return false;
	while (log_of(w, domain, partitions) != NULL)
		partitions++;
	*out = (struct batch_drawn){
	    .partition = (uint32_t)(k % partitions), .ordinal = k / partitions};
	if (l->live || world_ordered(w, domain, k, out))
		return true;
	for (size_t i = 0; i < w->orders_n; i++)
		if (strcmp(w->order[i].domain, domain) == 0 && k < w->order[i].n) {
			*out = w->order[i].draw[k];
			return true;
		}
	return false;
}

/* A request that was accepted keeps the sequence out of the steps from the one that it names on. */
static bool
is_skipped(const struct count *c, const char *domain, const struct batch_drawn *d)
{
	for (size_t a = 0; a < c->answers_n; a++) {
		const struct control *asked = asked_by(c, c->kept[a].id);

		if (asked->kind == LEDGER_SKIP && c->kept[a].step <= (int64_t)c->steps &&
		    strcmp(asked->domain, domain) == 0 &&
		    asked->partition == (int32_t)d->partition &&
		    asked->first <= (int64_t)d->ordinal && (int64_t)d->ordinal < asked->end)
			return true;
	}
	return false;
}

/*
 * The draws of a step come in any order; together they are the domain's next ones, but for those
 * that are skipped. *all loses those of the domain as they are found.
 */
static const char *
check_domain_draws(struct count *c, uint32_t domain, struct drawn *all)
{
	size_t left = 0;

	for (size_t i = 0; i < all->n; i++)
		left += all->draw[i].domain == domain;
	while (left > 0) {
		struct batch_drawn want;
		size_t i = 0;

		if (!wanted_draw(c->w, c->name[domain], c->at[domain]++, &want))
			return problem("step %" PRIu64 ": the order of domain %s is not known",
			    c->steps, c->name[domain]);
		if (is_skipped(c, c->name[domain], &want))
			continue;
		while (
		    i < all->n &&
		    (all->draw[i].domain != domain || want.partition != all->draw[i].partition ||
			want.ordinal != all->draw[i].ordinal || want.epoch != all->draw[i].epoch))
			i++;
		if (i == all->n)
			return problem("order: step %" PRIu64 ": sequence %" PRIu32 "/%" PRIu64
				       " (epoch %" PRIu64 ") of domain %s is due and is not drawn",
			    c->steps, want.partition, want.ordinal, want.epoch, c->name[domain]);
		all->draw[i] = all->draw[--all->n];
		left--;
	}
	return NULL;
}

static const char *
check_head(const struct count *c, uint32_t lane, const struct batch_view *v, uint64_t version,
    uint32_t batch)
{
	uint64_t each = v->head.last ? 0 : v->head.global_batch / c->w->lanes;

	if (v->head.step != c->steps)
		return problem("%s: lane %" PRIu32 " offset %" PRId64 ": step %" PRIu64
			       " where %" PRIu64 " is due",
		    v->head.step > c->steps ? "gap" : "duplicate", lane, c->offset[lane] - 1,
		    v->head.step, c->steps);
	if (v->head.lane != lane || v->sequences_n != each ||
	    (lane > 0 && (v->head.version != version || v->head.global_batch != batch)))
		return problem("torn step: step %" PRIu64 " of lane %" PRIu32
			       " is not of one kind with lane 0",
		    c->steps, lane);
	return NULL;
}

static const char *
take_lane(struct count *c, uint32_t lane, struct batch_view *v, struct drawn *all)
{
	struct batch_domain domain[WORLD_DOMAINS_MAX];
	struct sequence_payload_view payload;
	const char *bad = NULL;
	struct failure f;

	if (v->domains_n > WORLD_DOMAINS_MAX)
		return problem("step %" PRIu64 ": too many domains", c->steps);
	batch_domains(v, domain);
	for (size_t i = 0; i < v->domains_n; i++)
		if (domain[i].index < WORLD_DOMAINS_MAX)
			snprintf(c->name[domain[i].index], sizeof(c->name[0]), "%.*s",
			    (int)domain[i].name.n, domain[i].name.bytes);
	for (size_t i = 0; bad == NULL && i < v->sequences_n; i++) {
		struct batch_drawn *d = &all->draw[all->n++];

		if (batch_next(v, d, &payload, &f) != FAIL_NONE || d->domain >= WORLD_DOMAINS_MAX)
			return problem(
			    "step %" PRIu64 ", lane %" PRIu32 ": %.100s", c->steps, lane, f.text);
		bad = check_payload(c, c->name[d->domain], d, &payload);
	}
	return bad;
}

static const char *
check_draws(struct count *c, struct drawn *all)
{
	int64_t *behind = c->taken[c->steps + 1];
	const char *bad = NULL;

	memcpy(behind, c->taken[c->steps], sizeof(c->taken[0]));
	for (size_t i = 0; i < all->n; i++)
		behind[all->draw[i].domain]++;
	for (uint32_t d = 0; bad == NULL && d < WORLD_DOMAINS_MAX; d++)
		bad = check_domain_draws(c, d, all);
	return bad;
}

static const char *
check_step(struct count *c)
{
	struct drawn all = {.n = 0};
	const char *bad = NULL;
	uint64_t version = 0;
	uint32_t over = 0, batch = 0;

	for (uint32_t lane = 0; bad == NULL && lane < c->w->lanes; lane++) {
		const struct cluster_record *r = next_record(c, lane);
		struct batch_view v;
		struct failure f;

		/* The record of the end is given to nobody. */
		if (r == NULL && world_derived(c->w) && over == lane) {
			over++;
			continue;
		}
		if (r == NULL)
			return problem("lost write: lane %" PRIu32 " ends before step %" PRIu64,
			    lane, c->steps);
		if (r->fate != CLUSTER_COMMITTED ||
		    batch_decode(&v, r->bytes, r->n, &f) != FAIL_NONE)
			return problem("lane %" PRIu32 ": no committed batch where step %" PRIu64
				       " is due",
			    lane, c->steps);
		bad = check_head(c, lane, &v, version, batch);
		version = v.head.version;
		batch = v.head.global_batch;
		over += v.head.last;
		if (bad == NULL)
			bad = take_lane(c, lane, &v, &all);
	}
	c->over = over == c->w->lanes;
	if (bad == NULL && over > 0 && !c->over)
		bad = problem("torn step: the end stands on some lanes alone");
	if (bad != NULL || c->over)
		return bad;
	c->version[c->steps] = version;
	c->batch[c->steps] = batch;
	c->draws[c->steps + 1] = c->draws[c->steps] + batch;
	bad = check_draws(c, &all);
	c->steps++;
	return bad;
}

static const char *
check_steps(struct count *c)
{
	const char *bad = NULL;

	while (bad == NULL && !c->over && c->steps < WORLD_STEPS_MAX)
		bad = check_step(c);
	for (uint32_t lane = 0; bad == NULL && lane < c->w->lanes; lane++)
		if (next_record(c, lane) != NULL)
			bad = problem("lane %" PRIu32 ": a record lies behind the mix's end", lane);
	return bad;
}

/* ---- the ledger ---- */

/* The phase that begins at a step; NULL: none does. */
static const struct config_phase *
phase_at(const struct count *c, uint64_t step)
{
	const struct config_mix *mix = &c->w->config->mix;

	for (size_t i = 0; i < mix->phases_n; i++)
		if (mix->phases[i].start_step == step)
			return &mix->phases[i];
	return NULL;
}

/*
 * A phase gives the domains that it does not name their weights in the configuration, or in JOIN.
 */
static void
put_phase(const struct config_phase *phase, const struct config *config, const struct ledger *l,
    const double *base, double *raw)
{
	for (size_t i = 0; i < l->domains_n; i++) {
		raw[i] = base[i];
		for (size_t k = 0; k < config->domains_n; k++)
			if (strcmp(config->domains[k].name, l->domain[i].name) == 0 &&
			    phase->weight[k] >= 0)
				raw[i] = phase->weight[k];
	}
}

static void
put_request(const struct control *asked, const struct ledger *l, double *base, double *raw)
{
	for (size_t i = 0; i < l->domains_n; i++) {
		bool its = asked->domain != NULL && strcmp(asked->domain, l->domain[i].name) == 0;

		for (size_t k = 0; k < asked->weights_n; k++)
			if (strcmp(asked->weight[k].domain, l->domain[i].name) == 0)
				raw[i] = asked->weight[k].weight;
		if (asked->kind == LEDGER_JOIN && its)
			base[i] = raw[i];
		if (asked->kind == LEDGER_LEAVE && its)
			raw[i] = 0;
	}
}

/* What was asked for, put in force in the order of the steps that the answers name. */
static void
asked_weights(const struct count *c, const struct ledger *l, double *raw)
{
	const struct config *config = c->w->accepted != NULL && strcmp(l->config, c->w->text) != 0
					  ? c->w->accepted
					  : c->w->config;
	double base[WORLD_DOMAINS_MAX];

	for (size_t i = 0; i < l->domains_n; i++) {
		raw[i] = 0;
		for (size_t k = 0; k < config->domains_n; k++)
			if (strcmp(config->domains[k].name, l->domain[i].name) == 0)
				raw[i] = config->mix.weight[k];
	}
	memcpy(base, raw, sizeof(base));
	for (int64_t step = 0; step < l->step_next; step++) {
		const struct config_phase *phase = phase_at(c, (uint64_t)step);

		if (phase != NULL)
			put_phase(phase, config, l, base, raw);
		for (size_t a = 0; a < c->answers_n; a++)
			if (c->kept[a].step == step)
				put_request(asked_by(c, c->kept[a].id), l, base, raw);
	}
	for (size_t i = 0; i < l->domains_n; i++)
		if (l->domain[i].state != LEDGER_ACTIVE)
			raw[i] = 0;
}

static const char *
check_weights(const struct count *c, const struct ledger *l)
{
	double raw[WORLD_DOMAINS_MAX] = {0}, all = 0, sum = 0;

	asked_weights(c, l, raw);
	for (size_t i = 0; i < l->domains_n; i++) {
		all += raw[i];
		sum += (double)l->domain[i].weight;
	}
	for (size_t i = 0; i < l->domains_n; i++)
		if (fabs((double)l->domain[i].weight - raw[i] / all * sum) > 1.01)
			return problem("ledger, step_next %" PRId64
				       ": domain %s has weight %" PRIu64
				       " of %.0f, and %g of %g was asked for",
			    l->step_next, l->domain[i].name, l->domain[i].weight, sum, raw[i], all);
	return NULL;
}

/* Without lending and rounds a credit is what the weights gave and the draws took. */
static const char *
check_credits(const struct count *c, const struct ledger *l)
{
	const struct ledger *b = &c->before;
	bool plain = !c->w->lends && l->epoch_size == 0;
	int64_t sum = 0;

	for (size_t i = 0; i < l->domains_n; i++) {
		const struct ledger_domain *d = &l->domain[i];

		sum += d->credit;
		if (plain && d->weight > 0 && b->version == l->version && d->credit <= -ONE)
			return problem("ledger, step_next %" PRId64
				       ": domain %s is a whole sequence "
				       "ahead of its share",
			    l->step_next, d->name);
		if (!plain || b->domains_n != l->domains_n || b->version != l->version ||
		    b->version_step >= b->step_next)
			continue;
		if (d->credit - b->domain[i].credit != (l->draws - b->draws) * (int64_t)d->weight -
							   (d->taken - b->domain[i].taken) * ONE)
			return problem("ledger, step_next %" PRId64
				       ": the credit of domain %s does "
				       "not follow from its weight and draws",
			    l->step_next, d->name);
	}
	if (l->epoch_size != 0 || sum == 0)
		return NULL;
	return problem("ledger, step_next %" PRId64 ": credits sum to %" PRId64, l->step_next, sum);
}

static const char *
check_taken(const struct count *c, const struct ledger *l)
{
	if (l->step_next < 0 || l->step_next > (int64_t)c->steps)
		return problem("ledger: step_next %" PRId64 ", and %" PRIu64 " steps are there",
		    l->step_next, c->steps);
	if (l->draws != c->draws[l->step_next])
		return problem("ledger, step_next %" PRId64 ": %" PRId64
			       " draws, the steps have %" PRId64,
		    l->step_next, l->draws, c->draws[l->step_next]);
	if (l->step_next > 0 && l->global_batch != c->batch[l->step_next - 1])
		return problem("ledger, step_next %" PRId64 ": global_batch %" PRIu32
			       ", the step before has %" PRIu32,
		    l->step_next, l->global_batch, c->batch[l->step_next - 1]);
	for (size_t i = 0; i < l->domains_n; i++)
		if (l->domain[i].taken != c->taken[l->step_next][i])
			return problem("ledger, step_next %" PRId64 ": %" PRId64
				       " sequences taken of domain %s, the steps have %" PRId64,
			    l->step_next, l->domain[i].taken, l->domain[i].name,
			    c->taken[l->step_next][i]);
	return NULL;
}

static const char *
check_record(struct count *c, struct ledger *l, int64_t offset)
{
	const struct ledger *b = &c->before;
	const char *bad;

	if (l->domains_n > WORLD_DOMAINS_MAX)
		return problem("ledger offset %" PRId64 ": %zu domains", offset, l->domains_n);
	if (l->step_first != b->step_next)
		return problem("%s: ledger offset %" PRId64 " begins at step %" PRId64
			       ", the record before it ends at %" PRId64,
		    l->step_first < b->step_next ? "duplicate" : "gap", offset, l->step_first,
		    b->step_next);
	if (l->kind != LEDGER_START && l->mixer != b->mixer &&
	    cluster->chance.count[CHANCE_LEDGER_CUT] == 0)
		return problem("ledger offset %" PRId64
			       ": a mixer writes that is not the last one to have started",
		    offset);
	if (ledger_run_step(l, "trainers") < ledger_run_step(b, "trainers"))
		return problem("ledger offset %" PRId64 ": the run stood at step %" PRIu64
			       ", and now at %" PRIu64,
		    offset, ledger_run_step(b, "trainers"), ledger_run_step(l, "trainers"));
	bad = check_taken(c, l);
	if (bad == NULL)
		bad = check_weights(c, l);
	return bad == NULL ? check_credits(c, l) : bad;
}

static const char *
check_ledger(struct count *c)
{
	const struct cluster_partition *p = cluster_partition("m.ledger", 0);
	const char *bad = NULL;

	for (int64_t i = 0; bad == NULL && i < p->end; i++) {
		const struct cluster_record *r = &p->record[i];
		struct ledger l = {0};
		struct failure f;

		if (r->fate == CLUSTER_MARKER || r->fate == CLUSTER_ABORTED)
			continue;
		if (r->undone && i < p->log_start) /* deleted, and shown to nobody */
			continue;
		if (r->fate != CLUSTER_COMMITTED ||
		    ledger_decode(&l, r->bytes, r->n, &f) != FAIL_NONE)
			return problem("ledger offset %" PRId64 ": no committed record", i);
		bad = check_record(c, &l, i);
		ledger_clear(&c->before);
		c->before = l;
	}
	if (bad == NULL &&
	    (c->before.kind != LEDGER_END || c->before.step_next != (int64_t)c->steps))
		bad = problem("lost write: the ledger ends at step %" PRId64 " of %" PRIu64,
		    c->before.step_next, c->steps);
	return bad;
}

/* ---- all together ---- */

/* Each step has the batch of the last phase or request before it; a request wins over a phase. */
static const char *
check_batches(const struct count *c)
{
	const uint32_t usual = c->w->config->mix.global_batch;
	uint32_t batch = usual;

	for (uint64_t step = 0; step < c->steps; step++) {
		const struct config_phase *phase = phase_at(c, step);

		if (phase != NULL)
			batch = phase->global_batch > 0 ? phase->global_batch : usual;
		for (size_t a = 0; a < c->answers_n; a++)
			if (c->kept[a].step == (int64_t)step &&
			    asked_by(c, c->kept[a].id)->global_batch > 0)
				batch = asked_by(c, c->kept[a].id)->global_batch;
		if (c->batch[step] != batch)
			return problem("step %" PRIu64 " has global_batch %" PRIu32 ", and %" PRIu32
				       " was asked for",
			    step, c->batch[step], batch);
	}
	return NULL;
}

/* A version begins where a phase does or an answer says so, unless it skips, and nowhere else. */
static const char *
check_versions(const struct count *c)
{
	bool again = false;

	for (uint64_t step = 1; step < c->steps; step++) {
		bool asked = phase_at(c, step) != NULL;

		for (size_t a = 0; a < c->answers_n; a++)
			asked = asked || (c->kept[a].step == (int64_t)step &&
					     asked_by(c, c->kept[a].id)->kind != LEDGER_SKIP);
		if (c->w->accepted != NULL && !again && c->version[step] != c->version[step - 1])
			again = asked = true; /* at any step, once */
		if (asked != (c->version[step] != c->version[step - 1]))
			return problem("step %" PRIu64 ": %s", step,
			    asked ? "what was answered for it is not in force"
				  : "other weights are in force, and nobody asked");
	}
	return NULL;
}

/* The mix has ended because the domain that stops it has not enough for another step. */
static const char *
check_end(const struct count *c)
{
	int64_t left = world_log_length(log_of(c->w, "a", 0)) - 1;

	for (size_t i = 0; i < WORLD_DOMAINS_MAX; i++)
		if (strcmp(c->name[i], "a") == 0)
			left -= c->taken[c->steps][i];
	if (left >= 0 && c->steps > 0 && left < (int64_t)c->batch[c->steps - 1])
		return NULL;
	return problem("lost write: the mix has ended with %" PRId64 " sequences left", left);
}

const char *
checker_check_free(const struct world *w)
{
	static struct count c;
	const char *bad;

	memset(&c, 0, sizeof(c));
	c.w = w;
	bad = collect_answers(&c);
	if (bad == NULL)
		bad = check_steps(&c);
	if (bad == NULL)
		bad = check_ledger(&c);
	if (bad == NULL)
		bad = check_versions(&c);
	if (bad == NULL)
		bad = check_batches(&c);
	if (bad == NULL)
		bad = check_end(&c);
	ledger_clear(&c.before);
	return bad;
}
