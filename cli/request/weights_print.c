#include "cli/request/weights_print.h"

#include <assert.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/json_print.h"
#include "common/base/text.h"
#include "consumer/plan/ledger_plan.h"

/* What is printed, by print_table() and print_json(); borrows all. */
struct shown {
	const char *mix;
	const struct ledger *ledger;     /* the last record */
	const struct mixer_phase *phase; /* [phases_n] of the configuration in the ledger */
	size_t phases_n;
	uint32_t global_batch; /* of the configuration: where nothing gives another */
	const struct weight_history *history;
};

static uint32_t
batch_of(const struct shown *w, uint32_t given)
{
	return given > 0 ? given : w->global_batch;
}

/* ---- for people ---- */

static void
print_domains(const struct ledger *l)
{
	int width = 6;

	for (size_t i = 0; i < l->domains_n; i++)
		if ((int)strlen(TEXT_SHOWN(l->domain[i].name)) > width)
			width = (int)strlen(TEXT_SHOWN(l->domain[i].name));
	printf("\n%-*s %12s %12s  %s\n", width, "DOMAIN", "WEIGHT", "SHARE", "STATE");
	for (size_t i = 0; i < l->domains_n; i++)
		printf("%-*s %12.6g %11.6f%%  %s%s\n", width, TEXT_SHOWN(l->domain[i].name),
		    l->domain[i].raw_weight, 100 * weight_history_share(l, i),
		    ledger_domain_state_names[l->domain[i].state],
		    l->domain[i].joined ? ", by request" : "");
}

/* One accepted change; what it leaves as it is, is left out. */
static void
print_change(const struct ledger_change *c)
{
	printf("  step %" PRId64 "  %s", c->step, ledger_change_names[c->kind]);
	if (TEXT_SHOWN(c->domain)[0] != '\0')
		printf(" %s", TEXT_SHOWN(c->domain));
	if (c->kind == LEDGER_SKIP || c->kind == LEDGER_UNDO)
		printf("/%" PRId32 " %" PRId64 "..%" PRId64, c->partition, c->first, c->end);
	for (size_t i = 0; i < c->weights_n; i++)
		printf(" %s=%g", TEXT_SHOWN(c->weight[i].domain), c->weight[i].weight);
	if (c->temperature != 0)
		printf(" temperature %g", c->temperature);
	if (c->lr_scale != 0)
		printf(" lr_scale %g", c->lr_scale);
	if (c->global_batch != 0)
		printf(" global_batch %" PRIu32, c->global_batch);
	printf("  (request %s by %s)\n", TEXT_SHOWN(c->id), TEXT_SHOWN(c->who));
}

static void
print_pending(const struct shown *w)
{
	const struct ledger *l = w->ledger;
	bool any = l->pending_n > 0;

	for (size_t i = 0; i < w->phases_n; i++)
		any = any || w->phase[i].start_step >= (uint64_t)l->step_next;
	if (!any)
		return;
	printf("\nto come\n");
	for (size_t i = 0; i < l->pending_n; i++)
		print_change(&l->pending[i]);
	for (size_t i = 0; i < w->phases_n; i++)
		if (w->phase[i].start_step >= (uint64_t)l->step_next)
			printf("  step %" PRIu64 "  phase %s global_batch %" PRIu32 "\n",
			    w->phase[i].start_step, w->phase[i].name,
			    batch_of(w, w->phase[i].global_batch));
}

static void
print_history(const struct shown *w)
{
	const struct weight_history *h = w->history;

	printf("\nVERSION         STEP  BY\n");
	for (size_t i = 0; i < h->n; i++) {
		const struct weight_history_version *v = &h->version[i];

		printf("%7" PRId64 " %12" PRId64 "  %s%s%s ", v->version, v->step,
		    ledger_reason_names[v->reason], v->reason_id[0] == '\0' ? "" : " ",
		    TEXT_SHOWN(v->reason_id));
		for (size_t k = 0; k < v->domains_n && k < 8; k++)
			printf(" %s=%g", TEXT_SHOWN(v->domain[k].name), v->domain[k].weight);
		if (v->domains_n > 8)
			printf(" and %zu more", v->domains_n - 8);
		if (v->temperature != 1)
			printf(" temperature %g", v->temperature);
		if (v->lr_scale != 1)
			printf(" lr_scale %g", v->lr_scale);
		if (batch_of(w, v->global_batch) != w->global_batch)
			printf(" global_batch %" PRIu32, v->global_batch);
		printf("\n");
	}
}

static void
print_table(const struct shown *w)
{
	const struct ledger *l = w->ledger;

	printf("mix      %s, next step %" PRId64 "\n", w->mix, l->step_next);
	printf("version  %" PRId64 " since step %" PRId64 ", by %s%s%s\n", l->version,
	    l->version_step, ledger_reason_names[l->reason],
	    TEXT_SHOWN(l->reason_id)[0] == '\0' ? "" : " ", TEXT_SHOWN(l->reason_id));
	printf("phase    %s, lr_scale %g, temperature %g, global_batch %" PRIu32 "\n",
	    TEXT_SHOWN(l->phase)[0] == '\0' ? "none" : TEXT_SHOWN(l->phase), l->lr_scale,
	    l->temperature, batch_of(w, l->global_batch));
	print_domains(l);
	print_pending(w);
	print_history(w);
}

/* ---- for programs ---- */

static json_t *
domains_json(const struct ledger *l)
{
	json_t *list = json_array();

	for (size_t i = 0; i < l->domains_n; i++)
		json_array_append_new(list,
		    json_pack("{s:o, s:I, s:s, s:b, s:f, s:f, s:f}", "name",
			json_print_text(l->domain[i].name), "index", (json_int_t)l->domain[i].index,
			"state", ledger_domain_state_names[l->domain[i].state], "joined",
			(int)l->domain[i].joined, "weight", l->domain[i].raw_weight, "base_weight",
			l->domain[i].base_weight, "share", weight_history_share(l, i)));
	return list;
}

static json_t *
change_json(const struct ledger_change *c)
{
	json_t *o = json_pack("{s:o, s:s, s:I, s:o, s:o}", "id", json_print_text(c->id), "kind",
	    ledger_change_names[c->kind], "step", (json_int_t)c->step, "weights",
	    json_print_weights(c->weight, c->weights_n), "who", json_print_text(c->who));
	if (c->temperature != 0)
		json_object_set_new(o, "temperature", json_real(c->temperature));
	if (c->lr_scale != 0)
		json_object_set_new(o, "lr_scale", json_real(c->lr_scale));
	if (c->global_batch != 0)
		json_object_set_new(o, "global_batch", json_integer(c->global_batch));
	if (TEXT_SHOWN(c->domain)[0] != '\0')
		json_object_set_new(o, "domain", json_print_text(c->domain));
	if (c->kind == LEDGER_SKIP || c->kind == LEDGER_UNDO) {
		json_object_set_new(o, "partition", json_integer(c->partition));
		json_object_set_new(o, "first", json_integer(c->first));
		json_object_set_new(o, "end", json_integer(c->end));
	}
	return o;
}

static json_t *
version_json(const struct shown *w, const struct weight_history_version *v)
{
	json_t *weights = json_object();

	for (size_t i = 0; i < v->domains_n; i++)
		json_object_set_new(weights, v->domain[i].name, json_real(v->domain[i].weight));
	return json_pack("{s:I, s:I, s:s, s:o, s:o, s:f, s:f, s:I, s:o}", "version",
	    (json_int_t)v->version, "step", (json_int_t)v->step, "reason",
	    ledger_reason_names[v->reason], "reason_id", json_print_text(v->reason_id), "phase",
	    json_print_text(v->phase), "temperature", v->temperature, "lr_scale", v->lr_scale,
	    "global_batch", (json_int_t)batch_of(w, v->global_batch), "weights", weights);
}

static json_t *
phases_json(const struct shown *w)
{
	json_t *list = json_array();

	for (size_t i = 0; i < w->phases_n; i++)
		json_array_append_new(
		    list, json_pack("{s:o, s:I, s:I}", "name", json_print_text(w->phase[i].name),
			      "start_step", (json_int_t)w->phase[i].start_step, "global_batch",
			      (json_int_t)batch_of(w, w->phase[i].global_batch)));
	return list;
}

static enum fail_code
print_json(const struct shown *w, struct failure *f)
{
	const struct ledger *l = w->ledger;
	json_t *pending = json_array(), *history = json_array(), *o;

	for (size_t i = 0; i < l->pending_n; i++)
		json_array_append_new(pending, change_json(&l->pending[i]));
	for (size_t i = 0; i < w->history->n; i++)
		json_array_append_new(history, version_json(w, &w->history->version[i]));
	o = json_pack("{s:s, s:I, s:I, s:I, s:s, s:o, s:o, s:f, s:f, s:I, s:o, s:o, s:o, s:o}",
	    "mix", w->mix, "step_next", (json_int_t)l->step_next, "version", (json_int_t)l->version,
	    "since_step", (json_int_t)l->version_step, "reason", ledger_reason_names[l->reason],
	    "reason_id", json_print_text(l->reason_id), "phase", json_print_text(l->phase),
	    "temperature", l->temperature, "lr_scale", l->lr_scale, "global_batch",
	    (json_int_t)batch_of(w, l->global_batch), "domains", domains_json(l), "pending",
	    pending, "phases", phases_json(w), "history", history);
	return json_print(o, JSON_INDENT(2) | JSON_PRESERVE_ORDER, stdout, f);
}

/* ---- all of it ---- */

enum fail_code
weights_print_history(const char *mix, const struct ledger *last,
    const struct weight_history *history, bool json, struct failure *f)
{
	struct ledger_plan plan = {0};
	enum fail_code code = ledger_plan_open(&plan, last, f);
	struct shown shown = {
	    mix, last, plan.plan.phase, plan.plan.phases_n, plan.plan.global_batch, history};

	if (code == FAIL_NONE && json)
		code = print_json(&shown, f);
	else if (code == FAIL_NONE)
		print_table(&shown);
	ledger_plan_close(&plan);
	return code;
}

enum fail_code
weights_print(const char *mix, const struct properties *properties, const struct ledger *last,
    size_t history_max, bool json, struct failure *f)
{
	struct weight_history history = {0};
	enum fail_code code;

	assert(history_max >= 1);
	assert(history_max <= WEIGHT_HISTORY_MAX);
	if (last == NULL)
		return fail(f, FAIL_DATA,
		    "mix %s has not started: its ledger is empty; `riffle plan` shows what its "
		    "configuration will do",
		    mix);
	code = weight_history_read(&history, mix, properties, last, history_max, f);
	if (code == FAIL_NONE)
		code = weights_print_history(mix, last, &history, json, f);
	weight_history_close(&history);
	return code;
}
