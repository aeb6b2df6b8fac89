/*
 * Part of status_query: the last records of the ledger, for the rates and for when runs went on.
 *
 * A record of a mix of hundreds of domains takes a millisecond to decode. Who reads a status every
 * second has met most of them before: what is needed of each is kept, and new ones are read alone.
 */
#include "consumer/status/status_query_internal.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
clear(struct status_query *q)
{
	for (size_t i = 0; i < q->records_n; i++)
		free(q->record[i].run);
	q->records_n = 0;
	q->records_from = -1;
}

void
status_records_close(struct status_query *q)
{
	clear(q);
}

/* Takes off the oldest `n`. */
static void
forget(struct status_query *q, size_t n)
{
	assert(n <= q->records_n);
	for (size_t i = 0; i < n; i++)
		free(q->record[i].run);
	q->records_n -= n;
	memmove(q->record, q->record + n, q->records_n * sizeof(q->record[0]));
}

static struct status_sample
sample_of(const struct ledger *l, int64_t time_ms)
{
	struct status_sample s = {
	    .mixer = l->mixer, .time_ms = time_ms, .step_next = l->step_next, .draws = l->draws};

	for (size_t i = 0; i < l->domains_n; i++)
		s.tokens += l->domain[i].tokens - l->domain[i].taken;
	return s;
}

/* Without memory the record is missed, as one that cannot be read. */
static void
keep(struct status_query *q, const struct ledger *l, int64_t offset, int64_t time_ms)
{
	struct status_step *run = calloc(l->runs_n + 1, sizeof(*run));

	if (run == NULL)
		return;
	for (size_t k = 0; k < l->runs_n; k++) {
		const char *name = l->run[k].name;

		snprintf(run[k].name, sizeof(run[k].name), "%s", name == NULL ? "" : name);
		run[k].step = l->run[k].step;
	}
	if (q->records_n == STATUS_RECORDS)
		forget(q, 1);
	q->record[q->records_n++] = (struct status_record){
	    .offset = offset, .sample = sample_of(l, time_ms), .run = run, .runs_n = l->runs_n};
}

static bool
take(const rd_kafka_message_t *m, void *to)
{
	struct status_query *q = to;
	struct ledger l = {0};
	struct failure ignored; /* an older record that cannot be read is no sample */

	if (ledger_decode(&l, m->payload, m->len, &ignored) == FAIL_NONE) {
		keep(q, &l, m->offset, rd_kafka_message_timestamp(m, NULL));
		ledger_clear(&l);
	}
	return true;
}

/* The step at which a record knows a run; 0 as well where it does not know it. */
static int64_t
step_of(const struct status_record *r, const char *run)
{
	for (size_t k = 0; k < r->runs_n; k++)
		if (strcmp(r->run[k].name, run) == 0)
			return r->run[k].step < 0 ? 0 : r->run[k].step;
	return 0;
}

/* A run that advances in a record was seen when that was written. A reset is no sight of it. */
static void
take_seen(struct status *st, const struct status_record *r)
{
	for (size_t k = 0; k < st->ledger.runs_n; k++) {
		const char *name = st->ledger.run[k].name;
		int64_t step = step_of(r, name == NULL ? "" : name);

		if (st->seen[k].step >= 0 && step > st->seen[k].step)
			st->seen[k].time_ms = r->sample.time_ms;
		st->seen[k].step = step;
	}
}

enum fail_code
status_records_read(
    struct status_query *q, struct status *st, const char *topic, int64_t from, struct failure *f)
{
	int64_t end = st->ledger_offset, next;
	size_t old = 0;

	assert(from <= end);
	/* Another ledger, or one that goes back further than what is kept: all of it. */
	if (q->records_from < 0 || from < q->records_from ||
	    (q->records_n > 0 && q->record[q->records_n - 1].offset > end))
		clear(q);
	while (old < q->records_n && q->record[old].offset < from)
		old++;
	forget(q, old);
	next = q->records_n == 0 ? from : q->record[q->records_n - 1].offset + 1;
	if (next < end && status_query_range(q->reader, topic, next, end, take, q,
			      &st->late[STATUS_PART_LEDGER], f) != FAIL_NONE)
		return f->code;
	if (q->records_n == 0 || q->record[q->records_n - 1].offset < end)
		keep(q, &st->ledger, end, st->ledger_time_ms);
	q->records_from = st->late[STATUS_PART_LEDGER] ? -1 : from; /* with a gap: read all again */
	st->sample = calloc(STATUS_RECORDS, sizeof(*st->sample));
	st->seen = calloc(st->ledger.runs_n + 1, sizeof(*st->seen));
	if (st->sample == NULL || st->seen == NULL)
		return fail_memory(f);
	for (size_t k = 0; k < st->ledger.runs_n; k++)
		st->seen[k] = (struct status_seen){-1, -1};
	for (size_t i = 0; i < q->records_n; i++) {
		st->sample[st->samples_n++] = q->record[i].sample;
		take_seen(st, &q->record[i]);
	}
	return FAIL_NONE;
}
