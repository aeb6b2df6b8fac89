#include "consumer/status/status_query_internal.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "common/base/clock.h"
#include "common/kafka/kafka.h"
#include "common/record/batch.h"
#include "consumer/batches/lane_ends.h"
#include "consumer/ledger/ledger_log.h"

enum {
	BROKER_MS = 8000,
	FETCH_BYTES = 64 << 10, /* of a partition, beside the record that is wanted */
};

/*
 * One record is wanted of each of hundreds of partitions. By default a megabyte comes with each,
 * and stays until the next read: 70 MB of 200 domains.
 */
static rd_kafka_t *
open_handle(const struct config *c, enum kafka_role role, struct failure *f)
{
	char bytes[32];
	struct property tune = {(char[]){"fetch.message.max.bytes"}, bytes};
	struct kafka_options o = {.role = role,
	    .client = "status",
	    .properties = &c->kafka,
	    .tune = &tune,
	    .tune_n = role == KAFKA_READER};
	rd_kafka_t *rk;

	snprintf(bytes, sizeof(bytes), "%d", FETCH_BYTES);
	return kafka_open(&rk, &o, f) == FAIL_NONE ? rk : NULL;
}

rd_kafka_t *
status_query_open_group(const struct config *c, const char *name, struct failure *f)
{
	char group[TOPIC_MAX_BYTES + 1];
	struct kafka_options o = {.role = KAFKA_READER,
	    .client = "status",
	    .properties = &c->kafka,
	    .group = group,
	    .asks_only = true,
	    .quiet = true};
	rd_kafka_t *rk;

	assert(c->mix.name != NULL);
	names_topic(group, c->mix.name, name);
	return kafka_open(&rk, &o, f) == FAIL_NONE ? rk : NULL;
}

enum fail_code
status_query_open(struct status_query **out, const struct config *c, struct failure *f)
{
	struct status_query *q = calloc(1, sizeof(*q));

	if (q == NULL)
		return fail_memory(f);
	q->config = c;
	q->records_from = -1;
	q->seen = calloc(c->domains_n + 1, sizeof(*q->seen));
	q->seen_n = calloc(c->domains_n + 1, sizeof(*q->seen_n));
	if (q->seen == NULL || q->seen_n == NULL) {
		fail_memory(f);
		goto failed;
	}
	q->admin = open_handle(c, KAFKA_ADMIN, f);
	if (q->admin == NULL || kafka_wait_broker(q->admin, BROKER_MS, f) != FAIL_NONE)
		goto failed;
	q->reader = open_handle(c, KAFKA_READER, f);
	if (q->reader == NULL)
		goto failed;
	if (c->mix.name != NULL && (q->mixer = status_query_open_group(c, "mixer", f)) == NULL)
		goto failed;
	*out = q;
	return FAIL_NONE;
failed:
	status_query_close(q);
	return f->code;
}

void
status_query_close(struct status_query *q)
{
	if (q == NULL)
		return;
	status_runs_close(q);
	status_losses_close(q);
	status_records_close(q);
	kafka_close(q->election);
	kafka_close(q->mixer);
	kafka_close(q->reader);
	kafka_close(q->admin);
	for (size_t i = 0; q->seen != NULL && i < q->config->domains_n; i++)
		free(q->seen[i]);
	free(q->seen);
	free(q->seen_n);
	free(q->differs);
	free(q->last.bytes);
	last_drawn_close(&q->drawn);
	free(q->other);
	free(q->report);
	free(q->config_of);
	free(q->plan_of);
	ledger_plan_close(&q->plan);
	free(q);
}

void
status_query_set_pace(struct status_query *q, const struct status_query_pace *pace)
{
	q->pace = *pace;
}

bool
status_query_due(const struct status_query *q, int64_t read_ms, int64_t pace_ms)
{
	return read_ms == 0 || pace_ms == 0 || q->now_ms - read_ms >= pace_ms;
}

const struct topics_report *
status_query_topic(const struct status *st, enum topic_kind kind, int domain, const char **name)
{
	assert(st->plan != NULL);
	assert(st->report != NULL);
	for (size_t i = 0; i < st->plan->n; i++) {
		const struct planned_topic *t = &st->plan->topic[i];

		if (t->kind != kind || t->domain != domain || t->set != SET_TRAIN)
			continue;
		*name = t->name;
		return st->report[i].exists ? &st->report[i] : NULL;
	}
	return NULL;
}

/*
 * Two ways to stop, since the last offset below `end` may hold a transaction marker: at the record
 * end - 1, and at any record or partition end behind it.
 */
enum fail_code
status_query_range(rd_kafka_t *rk, const char *topic, int64_t from, int64_t end,
    bool (*take)(const rd_kafka_message_t *, void *), void *to, bool *late, struct failure *f)
{
	int64_t deadline_ms = clock_ms() + STATUS_QUERY_MS;
	rd_kafka_resp_err_t err = kafka_assign_one(rk, topic, 0, from);
	bool more = err == RD_KAFKA_RESP_ERR_NO_ERROR;

	while (more && clock_ms() < deadline_ms) {
		rd_kafka_message_t *m = kafka_poll(rk, STATUS_QUERY_SLICE_MS);

		if (m == NULL)
			continue;
		if (m->err == RD_KAFKA_RESP_ERR_NO_ERROR)
			more = m->offset < end && take(m, to) && m->offset + 1 < end;
		else if (m->err == RD_KAFKA_RESP_ERR__PARTITION_EOF)
			more = !kafka_at_end(m, end);
		else if (kafka_message_denied(rk, m) ||
			 (!kafka_denied(m->err) && !kafka_passing(m->err)))
			err = m->err, more = false;
		rd_kafka_message_destroy(m);
	}
	kafka_assign(rk, NULL);
	*late = more;
	if (err == RD_KAFKA_RESP_ERR_NO_ERROR || err == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET)
		return FAIL_NONE; /* deleted meanwhile: there is nothing to show */
	kafka_fail_topic(f, rk, err, NULL, "reading it", topic);
	return fail_within(f, "topic %s", topic);
}

/*
 * The first and last offsets of all topics of one partition, by two requests in all. A domain's are
 * asked for less often (status_domains.c).
 */
static enum fail_code
ask_ends(struct status_query *q, struct status *st, struct failure *f)
{
	static const enum topic_kind kind[STATUS_ENDS] = {[STATUS_ENDS_LEDGER] = TOPIC_LEDGER,
	    [STATUS_ENDS_BATCHES] = TOPIC_BATCHES,
	    [STATUS_ENDS_CONTROL] = TOPIC_CONTROL,
	    [STATUS_ENDS_REJECTS] = TOPIC_REJECTS,
	    [STATUS_ENDS_ARRIVALS] = TOPIC_ARRIVALS};
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(STATUS_ENDS);
	int64_t low[STATUS_ENDS], high[STATUS_ENDS];
	size_t n = 0;
	const char *topic;
	enum fail_code code;

	for (size_t i = 0; i < STATUS_ENDS; i++) {
		q->ends[i] = (struct status_ends){-1, -1};
		if (status_query_topic(st, kind[i], -1, &topic) != NULL)
			rd_kafka_topic_partition_list_add(list, topic, 0)->opaque = &q->ends[i];
	}
	code = kafka_watermarks_list(q->reader, list, low, high, STATUS_QUERY_MS, f);
	for (; code == FAIL_NONE && n < (size_t)list->cnt; n++)
		*(struct status_ends *)list->elems[n].opaque =
		    (struct status_ends){low[n], high[n]};
	rd_kafka_topic_partition_list_destroy(list);
	st->control_end = q->ends[STATUS_ENDS_CONTROL].high;
	return code;
}

static enum fail_code
keep_last(struct status_query *q, const rd_kafka_message_t *m, struct failure *f)
{
	uint8_t *bytes = malloc(m->len + 1);

	if (bytes == NULL)
		return fail_memory(f);
	memcpy(bytes, m->payload, m->len);
	free(q->last.bytes);
	q->last = (struct status_last){.bytes = bytes,
	    .n = m->len,
	    .offset = m->offset,
	    .time_ms = rd_kafka_message_timestamp(m, NULL)};
	return last_drawn_read(&q->drawn, m, f);
}

bool
status_last_stands(const struct status_last *last, int64_t low, int64_t high)
{
	return last->bytes != NULL && last->low <= low && last->high <= high && last->offset >= low;
}

/* Looks for the last record: behind the one that is known, while the topic is the same. */
static enum fail_code
find_last(struct status_query *q, const char *topic, struct failure *f)
{
	const struct status_ends *e = &q->ends[STATUS_ENDS_LEDGER];
	bool known = status_last_stands(&q->last, e->low, e->high);
	rd_kafka_message_t *m;
	enum fail_code code;

	if (known && q->last.high == e->high)
		return FAIL_NONE;
	code = kafka_last_record_in(q->reader, topic, 0, known ? q->last.offset + 1 : e->low,
	    e->high, &m, STATUS_QUERY_MS, f);
	if (code != FAIL_NONE)
		return code;
	if (m != NULL)
		code = keep_last(q, m, f);
	else if (!known) {
		free(q->last.bytes);
		q->last = (struct status_last){0};
	}
	if (m != NULL)
		rd_kafka_message_destroy(m);
	if (code != FAIL_NONE)
		return code;
	q->last.low = e->low;
	q->last.high = e->high;
	return FAIL_NONE;
}

int64_t
status_samples_from(int64_t offset, size_t record_bytes, int64_t low)
{
	int64_t samples = STATUS_SAMPLES_BYTES / (int64_t)(record_bytes + 1), from;

	samples = samples < 2 ? 2 : samples > STATUS_RECORDS ? STATUS_RECORDS : samples;
	from = offset - 2 * (samples - 1);
	return from > low ? from : low;
}

/* The last record, and as many before it as the rates need. */
static enum fail_code
read_ledger(struct status_query *q, struct status *st, const char *topic, struct failure *f)
{
	const struct status_ends *e = &q->ends[STATUS_ENDS_LEDGER];
	const struct status_last *last = &q->last;

	if (find_last(q, topic, f) != FAIL_NONE)
		return f->code;
	if (last->bytes == NULL)
		return FAIL_NONE;
	if (ledger_decode(&st->ledger, last->bytes, last->n, f) != FAIL_NONE)
		return fail_within(f, "topic %s, offset %" PRId64, topic, last->offset);
	st->ledger_time_ms = last->time_ms;
	st->ledger_offset = last->offset;
	st->state = st->ledger.kind == LEDGER_END ? STATUS_ENDED : STATUS_STARTED;
	return status_records_read(
	    q, st, topic, status_samples_from(last->offset, last->n, e->low), f);
}

static bool
take_first_batch(const rd_kafka_message_t *m, void *to)
{
	struct status *st = to;
	struct batch_view view;
	struct failure ignored; /* the trainers will report it */

	st->batches_kept = batch_decode(&view, m->payload, m->len, &ignored) == FAIL_NONE;
	if (st->batches_kept)
		st->step_kept = view.head.step;
	return false;
}

/* Which step is the first one kept; known from the last read while lane 0 begins where it did. */
static enum fail_code
read_first_batch(struct status_query *q, struct status *st, const char *topic, struct failure *f)
{
	int64_t low = q->ends[STATUS_ENDS_BATCHES].low, high = q->ends[STATUS_ENDS_BATCHES].high;

	if (high <= low)
		return FAIL_NONE;
	st->batches_kept = q->kept_known && q->kept_low == low;
	st->step_kept = q->step_kept;
	if (!st->batches_kept && status_query_range(q->reader, topic, low, high, take_first_batch,
				     st, &st->late[STATUS_PART_BATCHES], f) != FAIL_NONE)
		return f->code;
	q->kept_known = st->batches_kept;
	q->kept_low = low;
	q->step_kept = st->step_kept;
	return FAIL_NONE;
}

/* Whether the ledger still ends as it did when it was read. */
static enum fail_code
ledger_stands(struct status_query *q, const struct status *st, const char *topic, bool *stands,
    struct failure *f)
{
	rd_kafka_message_t *last;

	*stands = false;
	if (kafka_last_record(q->reader, topic, 0, &last, STATUS_QUERY_MS, f) != FAIL_NONE)
		return f->code;
	if (last == NULL)
		return FAIL_NONE;
	*stands = rd_kafka_message_timestamp(last, NULL) == st->ledger_time_ms;
	rd_kafka_message_destroy(last);
	return FAIL_NONE;
}

/*
 * The ends of the lanes: at the first read, and while the mixer is silent. One that works has found
 * them right when it started, and sees for itself when a lane goes back.
 */
static enum fail_code
read_ends(struct status_query *q, struct status *st, struct failure *f)
{
	struct lane_ends_ledger l = {
	    .next = (uint64_t)st->ledger.step_next, .ended = st->ledger.kind == LEDGER_END};
	const struct config *c = q->config;
	struct lane_ends_report report;
	struct lane_map map;
	const char *batches, *lanes, *ledger;
	const struct topics_report *topic = status_query_topic(st, TOPIC_BATCHES, -1, &batches);
	const struct topics_report *positions = status_query_topic(st, TOPIC_LANES, -1, &lanes);
	struct failure why;
	bool stands;
	enum fail_code code;

	/* Where partitions are not the lanes that is the problem, and the ends say nothing. */
	if (st->ledger.mix == NULL || topic == NULL ||
	    topic->partitions != (int)c->mix.partitions ||
	    (c->mix.partitions < c->mix.lanes &&
		(positions == NULL || positions->partitions != (int)c->mix.lanes)) ||
	    status_query_topic(st, TOPIC_LEDGER, -1, &ledger) == NULL ||
	    (q->ends_seen && st->now_ms - st->ledger_time_ms < STATUS_WAIT_MS))
		return FAIL_NONE;
	code = lane_ends_query(&st->end, &map, c->mix.name, &c->kafka, STATUS_QUERY_MS, &why);
	if (code == FAIL_DATA) { /* the trainers meet it too */
		snprintf(st->ends_bad, sizeof(st->ends_bad), "%.*s", (int)sizeof(st->ends_bad) - 1,
		    why.text);
		return FAIL_NONE;
	}
	if (code != FAIL_NONE) {
		*f = why;
		return code;
	}
	/* The topic was deleted or widened since: the next look at the topics says so. */
	if (map.lanes != c->mix.lanes || map.partitions != c->mix.partitions)
		return FAIL_NONE;
	st->ends_n = map.lanes;
	if (lane_ends_empty(st->end, st->ends_n) && ledger_log_begins(&l.first, &l.cut, c->mix.name,
							&c->kafka, STATUS_QUERY_MS, f) != FAIL_NONE)
		return f->code;
	if (ledger_stands(q, st, ledger, &stands, f) != FAIL_NONE)
		return f->code;
	q->ends_seen = true;
	lane_ends_compare(&report, st->end, st->ends_n, &l);
	if (!stands) /* the two were not read at one moment */
		st->ends_n = 0;
	return FAIL_NONE;
}

static enum fail_code
ask_mix(struct status_query *q, struct status *st, struct failure *f)
{
	const char *topic;
	enum fail_code code;

	assert(st->state == STATUS_NO_MIX);
	st->state = STATUS_NOT_STARTED;
	if (status_query_topic(st, TOPIC_LEDGER, -1, &topic) != NULL &&
	    read_ledger(q, st, topic, f) != FAIL_NONE)
		return f->code;
	if (status_query_topic(st, TOPIC_BATCHES, -1, &topic) != NULL &&
	    read_first_batch(q, st, topic, f) != FAIL_NONE)
		return f->code;
	if (st->state != STATUS_NOT_STARTED)
		return FAIL_NONE;
	code = mix_loss_check(q->reader, q->config->mix.name, &st->loss, true, STATUS_QUERY_MS, f);
	return st->loss == MIX_LOSS_NONE ? code : FAIL_NONE; /* status.c has the words */
}

/* The reports of all topics; FAIL_MEMORY. What is missing may come any moment: that is not kept. */
static enum fail_code
keep_topics(struct status_query *q, const struct status *st, struct failure *f)
{
	free(q->report);
	q->topics_ms = 0;
	q->reports_n = st->plan->n;
	q->report = malloc((st->plan->n + 1) * sizeof(*q->report));
	if (q->report == NULL)
		return fail_memory(f);
	memcpy(q->report, st->report, st->plan->n * sizeof(*q->report));
	q->topics_ms = q->now_ms;
	for (size_t i = 0; i < st->plan->n; i++)
		if (!st->report[i].exists)
			q->topics_ms = 0;
	return FAIL_NONE;
}

/* All topics of the plan; or, for runs alone, those that say where they are. */
static enum fail_code
ask_topics(struct status_query *q, struct status *st, bool runs_alone, struct failure *f)
{
	unsigned runs = 1U << TOPIC_BATCHES | 1U << TOPIC_LEDGER;
	const struct topics_use use = {
	    .read = runs_alone ? runs : runs | 1U << TOPIC_DOMAIN | 1U << TOPIC_FEEDBACK};
	size_t kept = 0;

	if (topic_plan_open(&st->plan, q->config, f) != FAIL_NONE)
		return f->code;
	for (size_t i = 0; i < st->plan->n; i++)
		if (!runs_alone ||
		    (1U << st->plan->topic[i].kind & (runs | 1U << TOPIC_LANES)) != 0)
			st->plan->topic[kept++] = st->plan->topic[i];
	st->plan->n = kept;
	st->report = calloc(kept, sizeof(*st->report));
	if (st->report == NULL)
		return fail_memory(f);
	if (!runs_alone && !status_query_due(q, q->topics_ms, q->pace.topics_ms) &&
	    q->reports_n == kept) {
		memcpy(st->report, q->report, kept * sizeof(*st->report));
		return FAIL_NONE;
	}
	if (topics_query(q->admin, q->config, st->plan, use, st->report, STATUS_QUERY_MS, f) !=
	    FAIL_NONE)
		return f->code;
	return runs_alone ? FAIL_NONE : keep_topics(q, st, f);
}

/* An empty status of this moment. NULL: no memory. */
static struct status *
new_status(const struct config *c)
{
	struct status *st = calloc(1, sizeof(*st));

	if (st == NULL)
		return NULL;
	st->now_ms = clock_wall_ms();
	st->ledger_time_ms = st->ledger_offset = st->control_end = -1;
	st->config = c;
	return st;
}

/* Of the lengths of all domains: partitions, sequences, ends. */
static uint64_t
hash_lengths(const struct status *st)
{
	uint64_t hash = 0;

	for (size_t i = 0; i < st->domains_n; i++) {
		const struct status_domain *d = &st->domain[i];

		hash = XXH64(&d->partitions_n, sizeof(d->partitions_n), hash);
		for (size_t p = 0; p < d->partitions_n; p++) {
			uint64_t length[] = {
			    d->partition[p].sequences, d->partition[p].sealed ? 1 : 0};

			hash = XXH64(length, sizeof(length), hash);
		}
	}
	return hash;
}

/* A configuration is compared again where the ledger's, a topic or a length may be another one. */
static void
reuse_comparison(const struct status_query *q, struct status *st)
{
	st->config_compared = q->config_of != NULL && st->ledger.config != NULL &&
			      strcmp(q->config_of, st->ledger.config) == 0 &&
			      q->config_topics_ms == q->topics_ms &&
			      q->config_lengths == hash_lengths(st);
	if (!st->config_compared)
		return;
	st->config_why = q->config_why;
	st->config_fixed = q->config_fixed;
}

static enum fail_code
keep_comparison(struct status_query *q, const struct status *st, struct failure *f)
{
	if (st->config_compared || st->ledger.config == NULL)
		return FAIL_NONE;
	free(q->config_of);
	q->config_of = strdup(st->ledger.config);
	if (q->config_of == NULL)
		return fail_memory(f);
	q->config_why = st->config_why;
	q->config_fixed = st->config_fixed;
	q->config_topics_ms = q->topics_ms;
	q->config_lengths = hash_lengths(st);
	return FAIL_NONE;
}

/* The plan of the ledger's text, which is long, is opened once for each text. */
static enum fail_code
reuse_plan(struct status_query *q, struct status *st, struct failure *f)
{
	struct failure unread; /* as status_derive() has it: derived without */

	if (st->ledger.config == NULL)
		return FAIL_NONE;
	if (q->plan_of == NULL || strcmp(q->plan_of, st->ledger.config) != 0) {
		ledger_plan_close(&q->plan);
		free(q->plan_of);
		q->plan_of = strdup(st->ledger.config);
		if (q->plan_of == NULL)
			return fail_memory(f);
		if (ledger_plan_open(&q->plan, &st->ledger, &unread) == FAIL_MEMORY)
			return fail_memory(f);
	}
	st->by = q->plan.memory == NULL ? NULL : &q->plan;
	return FAIL_NONE;
}

enum fail_code
status_query_read(struct status_query *q, struct status **out, struct failure *f)
{
	bool mix = q->config->mix.name != NULL;
	struct status *st = new_status(q->config);

	if (st == NULL)
		return fail_memory(f);
	q->now_ms = clock_ms();
	if (ask_topics(q, st, false, f) != FAIL_NONE || ask_ends(q, st, f) != FAIL_NONE)
		goto failed;
	st->rejects = q->ends[STATUS_ENDS_REJECTS].high - q->ends[STATUS_ENDS_REJECTS].low;
	if (mix &&
	    (status_mixers_open(q, f) != FAIL_NONE || ask_mix(q, st, f) != FAIL_NONE ||
		read_ends(q, st, f) != FAIL_NONE || status_runs_open(q, st, false, f) != FAIL_NONE))
		goto failed;
	if (status_arrivals_read(q, st, f) != FAIL_NONE ||
	    status_domains_read(q, st, f) != FAIL_NONE || status_runs_read(q, st, f) != FAIL_NONE ||
	    status_losses_read(q, st, f) != FAIL_NONE)
		goto failed;
	if (mix && status_mixers_read(q, st, f) != FAIL_NONE)
		goto failed;
	reuse_comparison(q, st);
	if (reuse_plan(q, st, f) != FAIL_NONE || status_derive(st, f) != FAIL_NONE ||
	    keep_comparison(q, st, f) != FAIL_NONE)
		goto failed;
	st->by = NULL; /* it is of this query alone */
	*out = st;
	return FAIL_NONE;
failed:
	status_free(st);
	return f->code;
}

enum fail_code
status_query_runs(struct status_query *q, struct status **out, struct failure *f)
{
	struct status *st = new_status(q->config);

	assert(q->config->mix.name != NULL);
	if (st == NULL)
		return fail_memory(f);
	if (ask_topics(q, st, true, f) != FAIL_NONE || ask_ends(q, st, f) != FAIL_NONE ||
	    ask_mix(q, st, f) != FAIL_NONE || status_runs_open(q, st, true, f) != FAIL_NONE ||
	    status_runs_read(q, st, f) != FAIL_NONE || status_derive_runs(st, f) != FAIL_NONE) {
		status_free(st);
		return f->code;
	}
	*out = st;
	return FAIL_NONE;
}

enum fail_code
status_query_lengths(struct status_query *q, struct status **out, struct failure *f)
{
	struct status *st = new_status(q->config);

	if (st == NULL)
		return fail_memory(f);
	if (ask_topics(q, st, false, f) != FAIL_NONE || ask_ends(q, st, f) != FAIL_NONE ||
	    (q->config->mix.name != NULL && ask_mix(q, st, f) != FAIL_NONE) ||
	    status_domains_read(q, st, f) != FAIL_NONE) {
		status_free(st);
		return f->code;
	}
	*out = st;
	return FAIL_NONE;
}
