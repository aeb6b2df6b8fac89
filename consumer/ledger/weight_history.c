#include "consumer/ledger/weight_history.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/schedule/weights.h"
#include "consumer/mixer/mixer.h"
#include "consumer/plan/ledger_plan.h"

enum { ASK_MS = 15000 };

/* ---- one version ---- */

static void
close_version(struct weight_history_version *v)
{
	for (size_t i = 0; i < v->domains_n; i++)
		free(v->domain[i].name);
	free(v->domain);
	free(v->reason_id);
	free(v->phase);
	*v = (struct weight_history_version){0};
}

void
weight_history_close(struct weight_history *h)
{
	for (size_t i = 0; i < h->n; i++)
		close_version(&h->version[i]);
	free(h->version);
	*h = (struct weight_history){0};
}

/* A weight as a number: of the schedule greedy it is the `bits` of a double. */
static double
weight_of(const struct ledger *l, size_t i, bool bits)
{
	uint64_t weight = l->domain[i].weight;

	return bits ? weights_double(weight) : (double)weight;
}

void
weight_history_scale(struct weight_history_scale *out, const struct ledger *l)
{
	uint64_t total = l->epoch_size > 0 ? (uint64_t)l->epoch_size : WEIGHT_ONE, whole = 0;

	*out = (struct weight_history_scale){0};
	for (size_t k = 0; k < l->domains_n; k++) {
		whole += l->domain[k].weight;
		out->round += l->domain[k].round_weight;
	}
	out->greedy = whole != total; /* the others sum to a known integer */
	for (size_t k = 0; k < l->domains_n; k++)
		out->sum += weight_of(l, k, out->greedy);
}

double
weight_history_scaled_share(const struct weight_history_scale *s, const struct ledger *l, size_t i)
{
	assert(i < l->domains_n);
	return s->sum > 0 ? weight_of(l, i, s->greedy) / s->sum : 0;
}

double
weight_history_scaled_behind(
    const struct weight_history_scale *s, const struct ledger *l, size_t i, uint64_t unit)
{
	const struct ledger_domain *d = &l->domain[i];

	assert(i < l->domains_n);
	assert(unit >= 1);
	if (s->greedy)
		return weight_history_scaled_share(s, l, i) * (double)l->greedy_draws -
		       (double)d->greedy_count;
	/* What the credits count in: what the schedule's weights sum to. */
	return (double)d->credit / (double)(l->epoch_size > 0 ? s->round : WEIGHT_ONE) /
	       (double)unit;
}

double
weight_history_share(const struct ledger *l, size_t i)
{
	struct weight_history_scale s;

	weight_history_scale(&s, l);
	return weight_history_scaled_share(&s, l, i);
}

double
weight_history_behind(const struct ledger *l, size_t i, uint64_t unit)
{
	struct weight_history_scale s;

	weight_history_scale(&s, l);
	return weight_history_scaled_behind(&s, l, i, unit);
}

static char *
copy(const char *text)
{
	return strdup(text == NULL ? "" : text);
}

static enum fail_code
fill(struct weight_history_version *v, const struct ledger *l, struct failure *f)
{
	*v = (struct weight_history_version){
	    .version = l->version,
	    .step = l->version_step,
	    .reason = l->reason,
	    .reason_id = copy(l->reason_id),
	    .phase = copy(l->phase),
	    .temperature = l->temperature,
	    .lr_scale = l->lr_scale,
	    .global_batch = l->global_batch,
	    .domain = calloc(l->domains_n + 1, sizeof(*v->domain)),
	};
	if (v->reason_id == NULL || v->phase == NULL || v->domain == NULL)
		goto failed;
	for (; v->domains_n < l->domains_n; v->domains_n++) {
		struct weight_history_domain *d = &v->domain[v->domains_n];
		const struct ledger_domain *from = &l->domain[v->domains_n];

		d->weight = from->state == LEDGER_ACTIVE ? from->raw_weight : 0;
		d->share = weight_history_share(l, v->domains_n);
		d->name = copy(from->name);
		if (d->name == NULL)
			goto failed;
	}
	return FAIL_NONE;
failed:
	close_version(v);
	return fail_memory(f);
}

/* ---- walking back ---- */

/*
 * Reads the record that holds the state before step `step`, at which a version began: the last
 * record of an earlier version is that one, or follows it.
 */
static enum fail_code
stand_before(
    struct ledger_log *log, int64_t step, struct ledger *record, bool *any, struct failure *f)
{
	int64_t offset;

	*any = true;
	if (step == 0)
		return ledger_log_first(log, record, any, f);
	if (ledger_log_seek(log, (uint64_t)step - 1, false, f) != FAIL_NONE)
		return f->code;
	return ledger_log_next(log, 0, record, &offset, f);
}

/* The last record before `version`, which began at `step`; *found: there is one. */
static enum fail_code
before(struct ledger_log *log, int64_t version, int64_t step, struct ledger *out, bool *found,
    struct failure *f)
{
	struct ledger record = {0};
	bool any;
	enum fail_code code = stand_before(log, step, &record, &any, f);

	*found = false;
	while (code == FAIL_NONE && any && record.version < version) {
		int64_t offset;

		ledger_clear(out);
		*out = record;
		*found = true;
		record = (struct ledger){0};
		code = ledger_log_next(log, 0, &record, &offset, f);
	}
	ledger_clear(&record);
	return code == FAIL_TIMEOUT ? FAIL_NONE : code;
}

/* ---- versions without a record ---- */

/* What is in force in `m`, by way of the record that it would write. */
static enum fail_code
fill_from_mixer(struct weight_history_version *v, const struct mixer *m, struct failure *f)
{
	struct ledger record = {0};
	enum fail_code code = mixer_save(m, &record, f);

	if (code == FAIL_NONE)
		code = fill(v, &record, f);
	ledger_clear(&record);
	return code;
}

/*
 * Takes steps until `version` begins. The versions on the way are met oldest first, and are wanted
 * newest first: each is put at `first`, in front of those met before it. Where the list is full,
 * its last one, the oldest, gives way.
 */
static enum fail_code
step_until(struct weight_history *h, struct mixer *m, struct mixer_draw *draws, int64_t version,
    size_t most, struct failure *f)
{
	size_t first = h->n;
	enum mixer_result result = MIXER_DRAWN;

	assert(first < most);
	while (result == MIXER_DRAWN) {
		uint64_t was = mixer_version(m);

		if (mixer_step(m, draws, &result, f) != FAIL_NONE)
			return f->code;
		if ((int64_t)mixer_version(m) >= version)
			break;
		if (mixer_version(m) == was)
			continue;
		if (h->n == most) /* the oldest of them gives way */
			close_version(&h->version[--h->n]);
		assert(h->n < most);
		assert(first <= h->n);
		memmove(&h->version[first + 1], &h->version[first],
		    (h->n - first) * sizeof(h->version[0]));
		h->version[first] = (struct weight_history_version){0};
		h->n++;
		if (fill_from_mixer(&h->version[first], m, f) != FAIL_NONE)
			return f->code;
	}
	return FAIL_NONE;
}

/* Appends the versions between that of `record` and `version`, newest first. */
static enum fail_code
derive_between(struct weight_history *h, const struct ledger *record, int64_t version, size_t most,
    struct failure *f)
{
	struct ledger_plan plan = {0};
	struct mixer_draw *draws = NULL;
	struct mixer *m = NULL;
	enum fail_code code = ledger_plan_open(&plan, record, f);

	if (code == FAIL_NONE)
		code = mixer_resume(&m, &plan.plan, record, f);
	if (code == FAIL_NONE) {
		draws = calloc(mixer_global_batch_most(m), sizeof(*draws));
		code = draws == NULL ? fail_memory(f) : step_until(h, m, draws, version, most, f);
	}
	free(draws);
	mixer_close(m);
	ledger_plan_close(&plan);
	return code;
}

/* ---- all ---- */

static enum fail_code
walk(struct weight_history *h, struct ledger_log *log, size_t most, struct failure *f)
{
	bool found = true;

	assert(h->n >= 1);
	while (h->n < most && found) {
		const struct weight_history_version *newest = &h->version[h->n - 1];
		struct ledger record = {0};
		enum fail_code code =
		    before(log, newest->version, newest->step, &record, &found, f);

		if (code == FAIL_NONE && found && record.version + 1 < newest->version)
			code = derive_between(h, &record, newest->version, most, f);
		found = found && h->n < most;
		if (code == FAIL_NONE && found)
			code = fill(&h->version[h->n], &record, f);
		ledger_clear(&record);
		/* A trimmed ledger has no beginning: what it has is the history. */
		if (code == FAIL_DATA && h->n > 0)
			return FAIL_NONE;
		if (code != FAIL_NONE)
			return code;
		h->n += found;
	}
	return FAIL_NONE;
}

enum fail_code
weight_history_read_log(struct weight_history *out, struct ledger_log *log,
    const struct ledger *last, size_t most, struct failure *f)
{
	assert(most >= 1 && most <= WEIGHT_HISTORY_MAX);
	assert(out->n == 0);
	out->version = calloc(most, sizeof(*out->version));
	if (out->version == NULL)
		return fail_memory(f);
	if (fill(&out->version[0], last, f) != FAIL_NONE)
		return f->code;
	out->n = 1;
	if (most == 1 || last->version <= 1)
		return FAIL_NONE;
	return walk(out, log, most, f);
}

enum fail_code
weight_history_read(struct weight_history *out, const char *mix,
    const struct properties *properties, const struct ledger *last, size_t most, struct failure *f)
{
	struct ledger_log *log = NULL;
	enum fail_code code;

	if (most > 1 && last->version > 1 &&
	    ledger_log_open_for_looks(&log, mix, properties, ASK_MS, f) != FAIL_NONE)
		return f->code;
	code = weight_history_read_log(out, log, last, most, f);
	ledger_log_close(log);
	return code;
}
