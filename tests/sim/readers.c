/*
 * Actors that only read: the documents of a domain, the status, the ledger. Each compares what it
 * got with the cluster itself. It must get at least what was there when it asked, and at most what
 * is there when the answer comes. If records were taken away meanwhile, it compares nothing.
 */
#include <inttypes.h>
#include <string.h>

#include "common/record/batch.h"
#include "common/record/schema.h"
#include "common/record/sequence.h"
#include "consumer/domain/documents.h"
#include "consumer/ledger/ledger_log.h"
#include "consumer/status/status_query.h"
#include "tests/sim/world.h"

enum { ASK_MS = 15000, AGAIN_MS = 5000, SAMPLES = 64 /* as status_query.c keeps */ };

static struct stop never;

/* ---- what there is ---- */

/* How long a domain partition is, by its last record. */
struct length {
	uint64_t sequences;
	bool any, sealed;
};

static struct length
length_of(const struct world_log *l)
{
	const struct cluster_partition *p = cluster_partition(l->topic, l->partition);
	const struct cluster_record *r = &p->record[p->end - 1];
	struct length length = {.any = p->end > p->log_start};
	struct sequence_view s;
	struct sequence_end end;
	struct failure f;

	if (!length.any)
		return length;
	if (sequence_decode(&s, r->bytes, r->n, &f) == FAIL_NONE)
		length.sequences = s.ordinal + 1;
	else if (sequence_end_decode(&end, r->bytes, r->n, &f) == FAIL_NONE)
		length = (struct length){end.sequences, true, true};
	return length;
}

/* Where records that are undecided begin, whatever a leader says of it. */
static int64_t
stable_end(const struct cluster_partition *p)
{
	int64_t end = p->end;

	for (const struct cluster_producer *s = p->producers; s != NULL; s = s->next)
		if (s->open_first >= 0 && s->open_first < end)
			end = s->open_first;
	return end;
}

/* The last ledger record that readers see, with step_next of at most `step`; -1: there is none. */
static int64_t
last_record(uint64_t step)
{
	const struct cluster_partition *p = cluster_partition("m.ledger", 0);
	int64_t found = -1;

	for (int64_t i = p == NULL ? 0 : stable_end(p);
	     p != NULL && found < 0 && i-- > p->log_start;) {
		struct ledger l = {0};
		struct failure f;

		if (p->record[i].fate == CLUSTER_COMMITTED &&
		    ledger_decode(&l, p->record[i].bytes, p->record[i].n, &f) == FAIL_NONE &&
		    (uint64_t)l.step_next <= step)
			found = i;
		ledger_clear(&l);
	}
	return found;
}

static bool
any_batch(const struct world *w)
{
	const struct cluster_partition *p =
	    world_derived(w) ? NULL : cluster_partition("m.batches", 0);

	for (int64_t i = p == NULL ? 0 : p->log_start; p != NULL && i < stable_end(p); i++)
		if (p->record[i].fate == CLUSTER_COMMITTED)
			return true;
	return false;
}

/* Whether something was taken away since: deleted, lost, recreated. */
static uint64_t
taken_away(void)
{
	const uint64_t *count = cluster->chance.count;
	uint64_t n = count[CHANCE_RETENTION] + count[CHANCE_RECORDS_DELETED] +
		     count[CHANCE_CONTROL_MADE] + count[CHANCE_TAIL_LOST];

	for (int i = CHANCE_LANE_CUT; i <= CHANCE_PARTITIONS; i++)
		n += count[i];
	return n;
}

#define LESS(f, ...) fail(f, FAIL_DATA, "less: " __VA_ARGS__)

/* ---- documents ---- */

static enum fail_code
read_documents(const struct world_log *l, uint64_t first, uint64_t *next, struct failure *f)
{
	struct documents_sequence s;
	struct documents *d;
	bool there = true;
	enum fail_code code = documents_open(&d, NULL, &never, ASK_MS, f);

	*next = first;
	if (code != FAIL_NONE)
		return code;
	code = documents_seek(d, l->topic, l->partition, first, f);
	while (code == FAIL_NONE && there) {
		code = documents_next(d, &s, &there, f);
		if (code != FAIL_NONE || !there)
			continue;
		if (s.ordinal != *next)
			code = LESS(f, "topic %s: sequence %" PRIu64 " where %" PRIu64 " is due",
			    l->topic, s.ordinal, *next);
		*next = s.ordinal + 1;
	}
	documents_close(d);
	return code;
}

static enum fail_code
look_at_documents(const struct world *w, struct failure *f)
{
	const struct world_log *l = &w->log[chance_below(w->logs_n)];
	struct length before = length_of(l), after;
	uint64_t first = chance_below(before.sequences + 1), next, taken = taken_away();
	enum fail_code code = read_documents(l, first, &next, f);

	after = length_of(l);
	if (taken_away() != taken || after.sequences < before.sequences)
		return code == FAIL_DATA ? FAIL_NONE : code;
	if (code == FAIL_NONE && next < before.sequences)
		return LESS(f,
		    "topic %s [%" PRId32 "] had %" PRIu64
		    " sequences when documents were asked for from %" PRIu64
		    " on, and ended at %" PRIu64,
		    l->topic, l->partition, before.sequences, first, next);
	return code;
}

/* ---- the status ---- */

/* What there was before it was read. */
struct seen {
	struct length log[WORLD_LOGS_MAX];
	int64_t begun_ms;
	int64_t ledger; /* offset of its last record; -1 */
	bool batches;
	uint64_t taken;
};

static void
look(struct seen *s, const struct world *w)
{
	for (size_t i = 0; i < w->logs_n; i++)
		s->log[i] = length_of(&w->log[i]);
	s->ledger = w->config->mix.name == NULL ? -1 : last_record(UINT64_MAX);
	s->batches = w->config->mix.name != NULL && any_batch(w);
	s->taken = taken_away();
	s->begun_ms = cluster->now_ms;
}

/* A status whose time is up shows what it has: what it did not hear of is left out. */
static bool
was_slow(const struct seen *before)
{
	return cluster->now_ms - before->begun_ms >= ASK_MS;
}

static const struct status_partition *
partition_of(const struct status *st, const struct world_log *l)
{
	for (size_t i = 0; i < st->domains_n; i++)
		if (strcmp(st->domain[i].name, l->domain) == 0)
			return (size_t)l->partition < st->domain[i].partitions_n
				   ? &st->domain[i].partition[l->partition]
				   : NULL;
	return NULL;
}

static enum fail_code
check_length(const struct status *st, const struct world_log *l, const struct length *before,
    bool slow, struct failure *f)
{
	const struct status_partition *p = partition_of(st, l);
	struct length after = length_of(l);

	if (p == NULL || after.sequences < before->sequences || (before->sealed && !after.sealed))
		return FAIL_NONE; /* not of this mix yet, or a record came late */
	if (before->any && !p->known && slow)
		return FAIL_NONE;
	if (before->any && !p->known)
		return LESS(f, "the last record of topic %s [%" PRId32 "] was not found", l->topic,
		    l->partition);
	if (p->sequences < before->sequences)
		return LESS(f,
		    "topic %s [%" PRId32 "] had %" PRIu64
		    " sequences, and its status says %" PRIu64,
		    l->topic, l->partition, before->sequences, p->sequences);
	if (p->sequences > after.sequences)
		return fail(f, FAIL_DATA,
		    "more: topic %s [%" PRId32 "] has %" PRIu64
		    " sequences, and its status says %" PRIu64,
		    l->topic, l->partition, after.sequences, p->sequences);
	if (before->sealed && !p->sealed)
		return LESS(f, "topic %s [%" PRId32 "] had its End", l->topic, l->partition);
	return FAIL_NONE;
}

/* Rates are made of the records before the last one, and of as many as a minute has at most. */
static enum fail_code
check_samples(const struct status *st, struct failure *f)
{
	const struct cluster_partition *p = cluster_partition("m.ledger", 0);
	int64_t from = st->ledger_offset - 2 * (SAMPLES - 1);
	size_t n = 0;

	for (int64_t i = from < p->log_start ? p->log_start : from; i <= st->ledger_offset; i++)
		n += p->record[i].fate == CLUSTER_COMMITTED;
	if (st->samples_n < n)
		return LESS(f,
		    "%zu records of the ledger are there for rates, and its status has %zu", n,
		    st->samples_n);
	return FAIL_NONE;
}

/* The status is that of a ledger record, not of one before the last one of then. */
static enum fail_code
check_ledger(const struct status *st, const struct seen *before, struct failure *f)
{
	const struct cluster_partition *p = cluster_partition("m.ledger", 0);
	struct avro_difference d;
	struct ledger l = {0};
	bool differs;

	if (st->ledger_offset < before->ledger)
		return LESS(f,
		    "the ledger's last record was at offset %" PRId64
		    ", its status is of offset %" PRId64,
		    before->ledger, st->ledger_offset);
	if (st->ledger_offset < 0)
		return FAIL_NONE;
	if (st->ledger_offset >= p->end || p->record[st->ledger_offset].fate != CLUSTER_COMMITTED)
		return fail(f, FAIL_DATA,
		    "aborted read: the status is of ledger offset %" PRId64
		    ", which is no committed record",
		    st->ledger_offset);
	if (ledger_decode(&l, p->record[st->ledger_offset].bytes, p->record[st->ledger_offset].n,
		f) != FAIL_NONE)
		return f->code;
	differs = ledger_compare(&st->ledger, &l, NULL, &d);
	ledger_clear(&l);
	if (!differs)
		return was_slow(before) ? FAIL_NONE : check_samples(st, f);
	return fail(f, FAIL_DATA, "the status of ledger offset %" PRId64 " has another %s",
	    st->ledger_offset, d.path);
}

static enum fail_code
check_status(
    const struct status *st, const struct world *w, const struct seen *before, struct failure *f)
{
	for (size_t i = 0; i < w->logs_n; i++)
		if (check_length(st, &w->log[i], &before->log[i], was_slow(before), f) != FAIL_NONE)
			return f->code;
	if (w->config->mix.name == NULL)
		return FAIL_NONE;
	if (check_ledger(st, before, f) != FAIL_NONE)
		return f->code;
	if (before->batches && !st->batches_kept && !was_slow(before))
		return LESS(f, "lane 0 had a record, and its status says that it has none");
	return FAIL_NONE;
}

static enum fail_code
read_status(struct status_query *q, const struct world *w, struct failure *f)
{
	struct seen before;
	struct status *st;
	enum fail_code code;

	look(&before, w);
	code = status_query_read(q, &st, f);
	if (code == FAIL_NONE) {
		if (taken_away() == before.taken)
			code = check_status(st, w, &before, f);
		status_free(st);
	} else if (code == FAIL_DATA && taken_away() != before.taken) {
		code = FAIL_NONE;
	}
	return code;
}

/* Once, or again after a while, as `riffle status --watch` does. */
static enum fail_code
look_at_status(const struct world *w, struct failure *f)
{
	struct status_query *q;
	enum fail_code code = status_query_open(&q, w->config, f);

	if (code != FAIL_NONE)
		return code;
	code = read_status(q, w, f);
	if (code == FAIL_NONE && chance_below(2) == 0) {
		chance_wait((int64_t)chance_below(AGAIN_MS));
		code = read_status(q, w, f);
	}
	status_query_close(q);
	return code;
}

/* ---- the ledger ---- */

/* From the state before a step on to the end. */
static enum fail_code
read_ledger(struct ledger_log *log, uint64_t step, int64_t *first, int64_t *last, struct failure *f)
{
	enum fail_code code = ledger_log_seek(log, step, false, f);

	*first = *last = -1;
	if (code != FAIL_NONE)
		return code;
	while (code == FAIL_NONE) {
		struct ledger l = {0};
		int64_t offset;

		code = ledger_log_next(log, 0, &l, &offset, f);
		ledger_clear(&l);
		if (code == FAIL_NONE) {
			*first = *first < 0 ? offset : *first;
			*last = offset;
		}
	}
	return code == FAIL_TIMEOUT ? FAIL_NONE : code;
}

static enum fail_code
look_at_ledger(const struct world *w, struct failure *f)
{
	int64_t end = w->config->mix.name == NULL ? -1 : last_record(UINT64_MAX), due, first, last;
	uint64_t step = chance_below(w->steps_n + 1), taken = taken_away();
	struct ledger_log *log;
	enum fail_code code;

	due = end < 0 ? -1 : last_record(step);
	if (due < 0)
		return FAIL_NONE;
	code = ledger_log_open(&log, "m", NULL, ASK_MS, f);
	if (code != FAIL_NONE)
		return code;
	code = read_ledger(log, step, &first, &last, f);
	ledger_log_close(log);
	if (taken_away() != taken)
		return code == FAIL_DATA || code == FAIL_CONFIG ? FAIL_NONE : code;
	if (code == FAIL_NONE && (first < due || last < end))
		return LESS(f,
		    "the state before step %" PRIu64 " was at ledger offset %" PRId64
		    ", the last one at %" PRId64 "; they were found at %" PRId64 " and %" PRId64,
		    step, due, end, first, last);
	return code;
}

void
actor_read(const struct world *w, size_t actor)
{
	struct failure f = {0};
	enum fail_code code;

	if (actor == WORLD_READER_FIRST)
		code = look_at_documents(w, &f);
	else if (actor == WORLD_READER_FIRST + 1)
		code = look_at_status(w, &f);
	else
		code = look_at_ledger(w, &f);
	actor_tell(actor, code, &f);
}
