#include "cli/request/skip_print.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/json_print.h"
#include "common/base/names.h"

enum { PLACE_BYTES = NAME_MAX_BYTES + 16, RANGE_BYTES = 48 };

static const char *
name_of(const struct ledger *l, uint32_t domain)
{
	const char *name = domain < l->domains_n ? l->domain[domain].name : NULL;

	return name == NULL ? "?" : name;
}

/* ---- for people ---- */

static void
print_range(const char *domain, uint32_t partition, int64_t first, int64_t end)
{
	char place[PLACE_BYTES], range[RANGE_BYTES];

	snprintf(place, sizeof(place), "%s/%" PRIu32, domain, partition);
	snprintf(range, sizeof(range), "%" PRId64 "..%" PRId64, first, end);
	printf("%-20s %24s  ", place, range);
}

/* Whether a change to come skips sequences, or takes a skip back. */
static bool
is_of_skips(const struct ledger_change *c)
{
	return c->kind == LEDGER_SKIP || c->kind == LEDGER_UNDO;
}

static void
print_table(const struct ledger *l)
{
	bool any = l->skips_n > 0;

	for (size_t i = 0; i < l->pending_n; i++)
		any = any || is_of_skips(&l->pending[i]);
	if (any)
		printf("%-20s %24s  %s\n", "PLACE", "ORDINALS", "SINCE");
	else
		printf("no sequence is skipped\n");
	for (size_t i = 0; i < l->skips_n; i++) {
		const struct ledger_skip *s = &l->skip[i];

		print_range(name_of(l, s->domain), s->partition, s->first, s->end);
		printf("in force\n");
	}
	for (size_t i = 0; i < l->pending_n; i++) {
		const struct ledger_change *c = &l->pending[i];

		if (!is_of_skips(c))
			continue;
		print_range(c->domain, (uint32_t)c->partition, c->first, c->end);
		printf("%sstep %" PRId64 " (request %s by %s)\n",
		    c->kind == LEDGER_UNDO ? "taken back from " : "", c->step, c->id, c->who);
	}
	if (l->quarantined_n > 0)
		printf(
		    "\n%-20s %24s  quarantined: the mixer found it damaged\n", "PLACE", "ORDINAL");
	for (size_t i = 0; i < l->quarantined_n; i++) {
		const struct ledger_quarantined *q = &l->quarantined[i];
		char place[PLACE_BYTES];

		snprintf(place, sizeof(place), "%s/%" PRIu32, name_of(l, q->domain), q->partition);
		printf("%-20s %24" PRId64 "  %s\n", place, q->ordinal,
		    q->reason == NULL ? "" : q->reason);
	}
}

/* ---- for programs ---- */

static json_t *
range_json(const char *domain, int64_t partition, int64_t first, int64_t end)
{
	return json_pack("{s:s, s:I, s:I, s:I}", "domain", domain, "partition",
	    (json_int_t)partition, "first", (json_int_t)first, "end", (json_int_t)end);
}

static json_t *
pending_json(const struct ledger *l)
{
	json_t *list = json_array();

	for (size_t i = 0; i < l->pending_n; i++) {
		const struct ledger_change *c = &l->pending[i];
		json_t *o;

		if (!is_of_skips(c))
			continue;
		o = range_json(c->domain, c->partition, c->first, c->end);
		json_object_set_new(o, "step", json_integer(c->step));
		json_object_set_new(o, "id", json_print_text(c->id));
		json_object_set_new(o, "who", json_print_text(c->who));
		json_object_set_new(o, "kind", json_string(ledger_change_names[c->kind]));
		json_array_append_new(list, o);
	}
	return list;
}

static enum fail_code
print_json(const char *mix, const struct ledger *l, struct failure *f)
{
	json_t *skipped = json_array(), *quarantined = json_array(), *o;

	for (size_t i = 0; i < l->skips_n; i++) {
		const struct ledger_skip *s = &l->skip[i];

		json_array_append_new(
		    skipped, range_json(name_of(l, s->domain), s->partition, s->first, s->end));
	}
	for (size_t i = 0; i < l->quarantined_n; i++) {
		const struct ledger_quarantined *q = &l->quarantined[i];

		json_array_append_new(
		    quarantined, json_pack("{s:s, s:I, s:I, s:o}", "domain", name_of(l, q->domain),
				     "partition", (json_int_t)q->partition, "ordinal",
				     (json_int_t)q->ordinal, "reason", json_print_text(q->reason)));
	}
	o = json_pack("{s:s, s:I, s:o, s:o, s:o}", "mix", mix, "step_next",
	    (json_int_t)l->step_next, "skipped", skipped, "pending", pending_json(l), "quarantined",
	    quarantined);
	return json_print(o, JSON_INDENT(2) | JSON_PRESERVE_ORDER, stdout, f);
}

enum fail_code
skip_print(const char *mix, const struct ledger *last, bool json, struct failure *f)
{
	if (last == NULL)
		return fail(f, FAIL_DATA,
		    "mix %s has not started: its ledger is empty, and no sequence is skipped", mix);
	if (json)
		return print_json(mix, last, f);
	print_table(last);
	return FAIL_NONE;
}
