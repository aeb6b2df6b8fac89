#include "cli/request/skip_print.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/json_print.h"
#include "common/base/names.h"
#include "common/base/text.h"
#include "consumer/mixer/exclusions.h"

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

	snprintf(place, sizeof(place), "%s/%" PRIu32, TEXT_SHOWN(domain), partition);
	snprintf(range, sizeof(range), "%" PRId64 "..%" PRId64, first, end);
	printf("%-20s %24s  ", place, range);
}

/* Whether a change to come skips sequences, or takes a skip back. */
static bool
is_of_skips(const struct ledger_change *c)
{
	return c->kind == LEDGER_SKIP || c->kind == LEDGER_UNDO;
}

/* How many sequences are skipped once all that is to come has taken effect. */
static enum fail_code
count_then(uint64_t *out, const struct ledger *l, struct failure *f)
{
	struct exclusions x = {0};
	enum fail_code code = FAIL_NONE;

	*out = 0;
	for (size_t i = 0; code == FAIL_NONE && i < l->skips_n; i++)
		code = exclusions_skip(&x, &l->skip[i], f);
	for (size_t i = 0; code == FAIL_NONE && i < l->pending_n; i++) {
		const struct ledger_change *c = &l->pending[i];
		struct ledger_skip s = {
		    .partition = (uint32_t)c->partition, .first = c->first, .end = c->end};

		while (s.domain < l->domains_n && strcmp(name_of(l, s.domain), c->domain) != 0)
			s.domain++;
		if (c->kind == LEDGER_SKIP && c->first < c->end)
			code = exclusions_skip(&x, &s, f);
		else if (c->kind == LEDGER_UNDO)
			code = exclusions_unskip(&x, &s, f);
	}
	for (size_t i = 0; code == FAIL_NONE && i < x.items_n; i++)
		*out += x.item[i].end - x.item[i].first;
	exclusions_close(&x);
	return code;
}

/* Ranges and their undoing stand a line each: what is left of them is not seen at once. */
static enum fail_code
print_then(const struct ledger *l, struct failure *f)
{
	uint64_t left;

	if (count_then(&left, l, f) != FAIL_NONE)
		return f->code;
	if (left == 0)
		printf("no sequence is skipped once these have taken effect\n");
	else
		printf("%" PRIu64 " sequence%s skipped once these have taken effect\n", left,
		    left == 1 ? " is" : "s are");
	return FAIL_NONE;
}

static enum fail_code
print_table(const struct ledger *l, struct failure *f)
{
	bool pending = false, any;

	for (size_t i = 0; i < l->pending_n; i++)
		pending = pending || is_of_skips(&l->pending[i]);
	any = pending || l->skips_n > 0;
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
		    c->kind == LEDGER_UNDO ? "taken back from " : "", c->step, TEXT_SHOWN(c->id),
		    TEXT_SHOWN(c->who));
	}
	if (pending && print_then(l, f) != FAIL_NONE)
		return f->code;
	if (l->quarantined_n > 0)
		printf(
		    "\n%-20s %24s  quarantined: the mixer found it damaged\n", "PLACE", "ORDINAL");
	for (size_t i = 0; i < l->quarantined_n; i++) {
		const struct ledger_quarantined *q = &l->quarantined[i];
		char place[PLACE_BYTES];

		snprintf(place, sizeof(place), "%s/%" PRIu32, TEXT_SHOWN(name_of(l, q->domain)),
		    q->partition);
		printf("%-20s %24" PRId64 "  %s\n", place, q->ordinal, TEXT_SHOWN(q->reason));
	}
	return FAIL_NONE;
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
	return print_table(last, f);
}
