#include "cli/request/requests_print.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/json_print.h"
#include "common/base/text.h"

/* ---- for people ---- */

static void
print_table(const struct request_list *l, FILE *to)
{
	if (l->n == 0) {
		fprintf(to, "no request\n");
		return;
	}
	fprintf(to, "%-9s %12s  %-8s  %-30s  %s\n", "STATE", "STEP", "KIND", "ID", "WHO");
	for (size_t i = 0; i < l->n; i++) {
		const struct request_entry *e = &l->entry[i];
		char step[24] = "-";

		if (e->answer.accepted)
			snprintf(step, sizeof(step), "%" PRId64, e->answer.step);
		fprintf(to, "%-9s %12s  %-8s  %-30s  %s\n", request_state_names[e->state], step,
		    ledger_change_names[e->asked.kind], TEXT_SHOWN(e->asked.id),
		    TEXT_SHOWN(e->asked.who));
		if (e->state == REQUEST_REFUSED)
			fprintf(to, "%35s%s\n", "", TEXT_SHOWN(e->answer.text));
	}
	if (l->unreadable > 0)
		fprintf(to, "%zu records of the topic are no requests\n", l->unreadable);
}

/* ---- for programs ---- */

static json_t *
entry_json(const struct request_entry *e)
{
	const struct control *c = &e->asked;

	return json_pack(
	    "{s:o, s:s, s:s, s:o, s:o, s:o, s:I, s:o, s:o, s:f, s:f, s:I, s:I, s:I, s:I, s:I, s:o}",
	    "id", json_print_text(c->id), "kind", ledger_change_names[c->kind], "state",
	    request_state_names[e->state], "step",
	    e->answer.accepted ? json_integer(e->answer.step) : json_null(), "who",
	    json_print_text(c->who), "text", json_print_text(e->answer.text), "asked_step",
	    (json_int_t)c->at_step, "weights", json_print_weights(c->weight, c->weights_n),
	    "domain", json_print_text(c->domain), "temperature", c->temperature, "lr_scale",
	    c->lr_scale, "global_batch", (json_int_t)c->global_batch, "partition",
	    (json_int_t)c->partition, "first", (json_int_t)c->first, "end", (json_int_t)c->end,
	    "time_ms", (json_int_t)e->time_ms, "request", json_print_text(c->request));
}

enum fail_code
requests_print(const struct request_list *l, bool json, FILE *to, struct failure *f)
{
	json_t *all;

	if (!json) {
		print_table(l, to);
		return FAIL_NONE;
	}
	all = json_array();
	for (size_t i = 0; i < l->n; i++)
		json_array_append_new(all, entry_json(&l->entry[i]));
	return json_print(all, JSON_INDENT(2) | JSON_PRESERVE_ORDER, to, f);
}
