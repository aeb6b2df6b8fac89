#include "consumer/admin/retain.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/kafka/kafka.h"
#include "common/kafka/kafka_groups.h"
#include "common/kafka/kafka_trim.h"
#include "common/terminal/progress.h"
#include "consumer/ledger/ledger_log.h"
#include "consumer/ledger/run_position.h"

enum {
	OPEN_MS = 30000,
	ASK_MS = 30000,
	TRIM_MS = 60000,
	CUT_AT_ONCE = 64,  /* partitions of one request to delete records */
	RUNS_AT_ONCE = 16, /* handles that look for the coordinators of their groups */
};

/* What one command holds. */
struct work {
	const struct retain_options *o;
	const char *mix;
	rd_kafka_t *rk;
	struct ledger last;
	struct step_records *records;
	struct retain_runs runs;
	uint64_t end; /* all lanes are cut at this step */
};

/* ---- runs, as values ---- */

static enum fail_code
add_run(struct retain_runs *r, const char *name, bool named, struct failure *f)
{
	struct retain_run *grown;

	if (!names_run_valid(name))
		return FAIL_NONE;
	for (size_t i = 0; i < r->n; i++)
		if (strcmp(r->run[i].name, name) == 0)
			return FAIL_NONE;
	assert(r->n <= RETAIN_RUNS_MAX);
	if (r->n == RETAIN_RUNS_MAX)
		return fail(f, FAIL_DATA,
		    "there are more than %d runs: delete the consumer groups that are not used any "
		    "more",
		    RETAIN_RUNS_MAX);
	assert(strlen(name) <= NAME_MAX_BYTES); /* names_run_valid() */
	grown = realloc(r->run, (r->n + 1) * sizeof(*grown));
	if (grown == NULL)
		return fail_memory(f);
	r->run = grown;
	memset(&grown[r->n], 0, sizeof(*grown));
	memcpy(grown[r->n].name, name, strlen(name) + 1);
	grown[r->n++].named = named;
	return FAIL_NONE;
}

enum fail_code
retain_add_run(struct retain_runs *r, const char *name, struct failure *f)
{
	return add_run(r, name, true, f);
}

enum fail_code
retain_add_group(struct retain_runs *r, const char *mix, const char *group, struct failure *f)
{
	size_t n = strlen(mix);

	if (strncmp(group, mix, n) != 0 || group[n] != '.')
		return FAIL_NONE;
	return add_run(r, group + n + 1, false, f);
}

void
retain_remember(struct retain_runs *r, const struct ledger *l)
{
	for (size_t i = 0; i < r->n; i++) {
		uint64_t step = ledger_run_step(l, r->run[i].name);

		if (!r->run[i].committed && step > 0) {
			r->run[i].remembered = true;
			r->run[i].step = step;
		}
	}
}

enum fail_code
retain_check(const struct retain_runs *r, uint64_t step, struct failure *f)
{
	const struct retain_run *lowest = NULL;

	for (size_t i = 0; i < r->n; i++) {
		const struct retain_run *run = &r->run[i];

		if ((run->committed || run->remembered) && run->step < step &&
		    (lowest == NULL || run->step < lowest->step))
			lowest = run;
	}
	if (lowest == NULL)
		return FAIL_NONE;
	fail(f, FAIL_DATA,
	    "nothing was deleted: run %s is at step %" PRIu64
	    "%s and has not read the steps from there to %" PRIu64
	    "; --force deletes them all the same",
	    lowest->name, lowest->step,
	    lowest->committed ? "" : " (as the ledger says; the broker has no commit of it)", step);
	return lowest->named
		   ? f->code
		   : fail_more(f,
			 ", and `riffle runs --forget %s` forgets the run, which neither mix.runs "
			 "nor the ledger names",
			 lowest->name);
}

enum fail_code
retain_check_published(
    const struct ledger *last, uint64_t from_step, const char *mix, struct failure *f)
{
	uint64_t next = (uint64_t)last->step_next;

	if (from_step < next || (from_step == next && last->kind == LEDGER_END))
		return FAIL_NONE;
	return fail(f, FAIL_DATA,
	    "nothing was deleted: step %" PRIu64 " is not published, mix %s is at step %" PRIu64,
	    from_step, mix, next);
}

uint64_t
retain_cut_at(const struct step_records_kept *kept, uint64_t from_step, bool *cuts)
{
	uint64_t at = kept->any && kept->whole > from_step ? kept->whole : from_step;

	*cuts = kept->any && kept->lowest < at;
	return at;
}

/* ---- what there is ---- */

static enum fail_code
read_ledger(struct work *w, struct failure *f)
{
	bool any;
	enum fail_code code =
	    ledger_log_ask(&w->last, &any, w->mix, &w->o->config->kafka, OPEN_MS, f);

	if (code != FAIL_NONE || any)
		return code;
	return fail(f, FAIL_DATA, "mix %s has not begun: there is nothing to delete", w->mix);
}

static enum fail_code
open_handles(struct work *w, struct failure *f)
{
	struct kafka_options k = {
	    .role = KAFKA_READER, .properties = &w->o->config->kafka, .client = "retain"};

	if (step_records_open(&w->records, w->mix, &w->o->config->kafka, OPEN_MS, f) != FAIL_NONE)
		return f->code;
	return kafka_open(&w->rk, &k, f);
}

/* ---- positions of the runs ---- */

static enum fail_code
ask_position(const struct work *w, struct retain_run *run, struct run_position_query *commits,
    struct failure *f)
{
	struct run_position at;
	enum fail_code code =
	    run_position_ask(commits, step_records_lanes(w->records), ASK_MS, &at, f);

	if (code == FAIL_NONE) {
		run->committed = at.any;
		run->step = at.any ? at.step : 0;
		return FAIL_NONE;
	}
	if (code != FAIL_DATA)
		return code;
	fail_within(f, "group %s", run_position_group(commits));
	if (!w->o->force)
		return code; /* a position that cannot be read may be any */
	log_warning("retain: RETAIN-POSITION %s", f->text);
	return FAIL_NONE;
}

/* Runs [from, end), at most RUNS_AT_ONCE. */
static enum fail_code
ask_positions(const struct work *w, size_t from, size_t end, struct failure *f)
{
	struct run_position_query *commits[RUNS_AT_ONCE] = {NULL};
	struct lane_map map = step_records_map(w->records);
	enum fail_code code = FAIL_NONE;

	assert(from <= end);
	assert(end - from <= RUNS_AT_ONCE);
	for (size_t i = from; code == FAIL_NONE && i < end; i++)
		code = run_position_open(&commits[i - from], w->mix, w->runs.run[i].name,
		    map.partitions < map.lanes, "retain", &w->o->config->kafka, f);
	for (size_t i = from; code == FAIL_NONE && i < end; i++)
		code = ask_position(w, &w->runs.run[i], commits[i - from], f);
	for (size_t i = 0; i < RUNS_AT_ONCE; i++)
		run_position_close(commits[i]);
	return code;
}

/* Adds runs that neither configuration nor ledger name; not every user may list groups. */
static enum fail_code
add_groups(struct work *w, struct failure *f)
{
	char prefix[NAME_MAX_BYTES + 2];
	char **name;
	size_t n;
	enum fail_code code = FAIL_NONE;

	snprintf(prefix, sizeof(prefix), "%s.", w->mix);
	if (kafka_groups(w->rk, prefix, &name, &n, ASK_MS, f) != FAIL_NONE) {
		if (f->code == FAIL_MEMORY)
			return f->code;
		log_warning("retain: RETAIN-GROUPS %s: only the runs of mix.runs and of the ledger "
			    "are looked at",
		    f->text);
		return FAIL_NONE;
	}
	for (size_t i = 0; code == FAIL_NONE && i < n; i++)
		code = retain_add_group(&w->runs, w->mix, name[i], f);
	kafka_groups_free(name, n);
	return code;
}

static enum fail_code
find_runs(struct work *w, struct failure *f)
{
	const struct config_list *runs = &w->o->config->mix.runs;

	for (size_t i = 0; i < runs->n; i++)
		if (retain_add_run(&w->runs, runs->text[i], f) != FAIL_NONE)
			return f->code;
	for (size_t i = 0; i < w->last.runs_n; i++)
		if (retain_add_run(&w->runs, w->last.run[i].name, f) != FAIL_NONE)
			return f->code;
	if (add_groups(w, f) != FAIL_NONE)
		return f->code;
	for (size_t from = 0; from < w->runs.n; from += RUNS_AT_ONCE) {
		size_t left = w->runs.n - from, n = left < RUNS_AT_ONCE ? left : RUNS_AT_ONCE;

		if (ask_positions(w, from, from + n, f) != FAIL_NONE)
			return f->code;
	}
	retain_remember(&w->runs, &w->last);
	return FAIL_NONE;
}

static void
warn_uncommitted(const struct work *w)
{
	for (size_t i = 0; i < w->o->config->mix.runs.n; i++)
		for (size_t k = 0; k < w->runs.n; k++) {
			const struct retain_run *run = &w->runs.run[k];

			if (strcmp(run->name, w->o->config->mix.runs.text[i]) == 0 &&
			    !run->committed && !run->remembered)
				log_warning("retain: RETAIN-UNCOMMITTED run=%s has committed "
					    "nothing: it will find step=%" PRIu64 " the earliest",
				    run->name, w->end);
		}
}

/* ---- cutting ---- */

/* Partitions [first, end). */
static enum fail_code
cut_some(struct work *w, const struct step_record *record, const struct lane_map *map,
    uint32_t first, uint32_t end, struct failure *f)
{
	rd_kafka_topic_partition_list_t *list =
	    rd_kafka_topic_partition_list_new((int)(end - first));
	enum fail_code code;

	for (uint32_t p = first; p < end; p++) /* a step begins with the first of its lanes */
		rd_kafka_topic_partition_list_add(list, step_records_topic(w->records), (int32_t)p)
		    ->offset = record[lane_map_first(map, p)].offset;
	code = kafka_trim(w->rk, list, TRIM_MS, f);
	rd_kafka_topic_partition_list_destroy(list);
	return code;
}

static enum fail_code
cut(struct work *w, const struct step_record *record, struct failure *f)
{
	struct lane_map map = step_records_map(w->records);
	enum fail_code code = FAIL_NONE;
	struct progress progress;

	progress_begin(&progress, "retain", "partitions", map.partitions, 0);
	for (uint32_t first = 0; code == FAIL_NONE && first < map.partitions;) {
		uint32_t end =
		    first + CUT_AT_ONCE < map.partitions ? first + CUT_AT_ONCE : map.partitions;

		progress_draw(&progress, NULL, 0);
		code = cut_some(w, record, &map, first, end, f);
		progress.done = first = end;
	}
	progress_end(&progress);
	return code;
}

/* Finds where the first step that stays begins on every lane, and cuts there. */
static enum fail_code
find_and_cut(struct work *w, struct failure *f)
{
	struct step_record *record = calloc(step_records_lanes(w->records), sizeof(*record));
	enum fail_code code;

	if (record == NULL)
		return fail_memory(f);
	assert(w->end >= w->o->from_step);
	code = step_records_seek(w->records, w->end, f);
	if (code == FAIL_NONE)
		code = step_records_next(w->records, 0, record, f);
	if (code == FAIL_NONE && !w->o->dry_run)
		code = cut(w, record, f);
	free(record);
	return code;
}

static enum fail_code
work(struct work *w, struct retain_result *out, struct failure *f)
{
	struct step_records_kept kept;
	bool cuts;

	if (w->o->config->mix.batches == MIX_BATCHES_DERIVED)
		return fail(f, FAIL_CONFIG,
		    "mix %s has no copies of its steps (mix.batches: derived): there is nothing to "
		    "delete",
		    w->mix);
	if (read_ledger(w, f) != FAIL_NONE ||
	    retain_check_published(&w->last, w->o->from_step, w->mix, f) != FAIL_NONE ||
	    open_handles(w, f) != FAIL_NONE ||
	    step_records_earliest(w->records, &kept, f) != FAIL_NONE)
		return f->code;
	w->end = retain_cut_at(&kept, w->o->from_step, &cuts);
	out->first = out->end = w->end;
	out->lanes = step_records_lanes(w->records);
	if (!cuts)
		return FAIL_NONE;
	if (find_runs(w, f) != FAIL_NONE)
		return f->code;
	if (!w->o->force && retain_check(&w->runs, w->o->from_step, f) != FAIL_NONE)
		return f->code;
	warn_uncommitted(w);
	if (find_and_cut(w, f) != FAIL_NONE)
		return f->code;
	out->first = kept.lowest;
	return FAIL_NONE;
}

enum fail_code
retain(const struct retain_options *o, struct retain_result *out, struct failure *f)
{
	struct work w = {.o = o, .mix = o->config->mix.name};
	enum fail_code code;

	assert(w.mix != NULL);
	*out = (struct retain_result){0};
	code = work(&w, out, f);
	step_records_close(w.records);
	kafka_close(w.rk);
	ledger_clear(&w.last);
	free(w.runs.run);
	return code;
}
