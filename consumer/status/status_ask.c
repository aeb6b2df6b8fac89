#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/record/batch.h"
#include "common/base/clock.h"
#include "common/kafka/kafka.h"
#include "consumer/status/status_source.h"

enum {
	BROKER_MS = 8000,
	SAMPLES_MAX = 64,        /* ledger records that are read for the rates */
	SAMPLES_BYTES = 4 << 20, /* and what they may weigh together */
};

static rd_kafka_t *
open_handle(const struct config *c, enum kafka_role role, struct failure *f)
{
	struct kafka_options o = {.role = role, .client = "status", .properties = &c->kafka};
	rd_kafka_t *rk;

	return kafka_open(&rk, &o, f) == FAIL_NONE ? rk : NULL;
}

rd_kafka_t *
status_open_group(const struct config *c, const char *name, struct failure *f)
{
	char group[TOPIC_MAX_BYTES + 1];
	struct kafka_options o = {.role = KAFKA_READER,
	    .client = "status",
	    .properties = &c->kafka,
	    .group = group,
	    .asks_only = true,
	    .quiet = true};
	rd_kafka_t *rk;

	names_topic(group, c->mix.name, name);
	return kafka_open(&rk, &o, f) == FAIL_NONE ? rk : NULL;
}

enum fail_code
status_open(struct status_source **out, const struct config *c, struct failure *f)
{
	struct status_source *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return fail_memory(f);
	s->config = c;
	s->seen = calloc(c->domains_n + 1, sizeof(*s->seen));
	s->seen_n = calloc(c->domains_n + 1, sizeof(*s->seen_n));
	if (s->seen == NULL || s->seen_n == NULL) {
		fail_memory(f);
		goto failed;
	}
	s->admin = open_handle(c, KAFKA_ADMIN, f);
	if (s->admin == NULL || kafka_wait_broker(s->admin, BROKER_MS, f) != FAIL_NONE)
		goto failed;
	s->reader = open_handle(c, KAFKA_READER, f);
	if (s->reader == NULL)
		goto failed;
	if (c->mix.name != NULL && (s->mixer = status_open_group(c, "mixer", f)) == NULL)
		goto failed;
	*out = s;
	return FAIL_NONE;
failed:
	status_close(s);
	return f->code;
}

void
status_close(struct status_source *s)
{
	if (s == NULL)
		return;
	status_close_runs(s);
	kafka_close(s->election);
	kafka_close(s->mixer);
	kafka_close(s->reader);
	kafka_close(s->admin);
	for (size_t i = 0; s->seen != NULL && i < s->config->domains_n; i++)
		free(s->seen[i]);
	free(s->seen);
	free(s->seen_n);
	free(s);
}

const struct topics_report *
status_topic(const struct status *st, enum topics_kind kind, int domain, const char **name)
{
	for (size_t i = 0; i < st->plan->n; i++) {
		const struct topic_plan *t = &st->plan->topic[i];

		if (t->kind != kind || t->domain != domain || t->set != SET_TRAIN)
			continue;
		*name = t->name;
		return st->report[i].exists ? &st->report[i] : NULL;
	}
	return NULL;
}

static rd_kafka_resp_err_t
assign_one(rd_kafka_t *rk, const char *topic, int32_t partition, int64_t offset)
{
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
	rd_kafka_resp_err_t err;

	rd_kafka_topic_partition_list_add(list, topic, partition)->offset = offset;
	err = rd_kafka_assign(rk, list);
	rd_kafka_topic_partition_list_destroy(list);
	return err;
}

/*
 * Hands the visible records of [from, end) to `take` until it returns false, or the partition ends,
 * or time is up: what is shown then is what was read.
 */
static enum fail_code
read_range(rd_kafka_t *rk, const char *topic, int64_t from, int64_t end,
    bool (*take)(const rd_kafka_message_t *, void *), void *to, struct failure *f)
{
	int64_t deadline_ms = clock_ms() + STATUS_ASK_MS;
	rd_kafka_resp_err_t err = assign_one(rk, topic, 0, from);
	bool more = err == RD_KAFKA_RESP_ERR_NO_ERROR;

	while (more && clock_ms() < deadline_ms) {
		rd_kafka_message_t *m = rd_kafka_consumer_poll(rk, STATUS_SLICE_MS);

		if (m == NULL)
			continue;
		if (m->err == RD_KAFKA_RESP_ERR_NO_ERROR)
			more = m->offset < end && take(m, to) && m->offset + 1 < end;
		else if (m->err == RD_KAFKA_RESP_ERR__PARTITION_EOF)
			more = false;
		else if (kafka_message_denied(rk, m) ||
			 (!kafka_denied(m->err) && m->err != RD_KAFKA_RESP_ERR__TRANSPORT))
			err = m->err, more = false;
		rd_kafka_message_destroy(m);
	}
	rd_kafka_assign(rk, NULL);
	if (err == RD_KAFKA_RESP_ERR_NO_ERROR || err == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET)
		return FAIL_NONE; /* deleted while we looked: there is nothing to show */
	kafka_fail_topic(f, rk, err, NULL, "reading it", topic);
	return fail_within(f, "topic %s", topic);
}

static struct status_sample
sample_of(const struct ledger *l, const rd_kafka_message_t *m)
{
	struct status_sample s = {.mixer = l->mixer,
	    .time_ms = rd_kafka_message_timestamp(m, NULL),
	    .step_next = l->step_next,
	    .draws = l->draws};

	for (size_t i = 0; i < l->domains_n; i++)
		s.tokens += l->domain[i].tokens;
	return s;
}

static bool
take_sample(const rd_kafka_message_t *m, void *to)
{
	struct status *st = to;
	struct ledger l = {0};
	struct failure ignored; /* an older record that cannot be read is no sample */

	if (ledger_decode(&l, m->payload, m->len, &ignored) == FAIL_NONE) {
		st->sample[st->samples_n++] = sample_of(&l, m);
		ledger_clear(&l);
	}
	return st->samples_n < SAMPLES_MAX;
}

/* The last record, and so many before it as the rates need: each has a marker behind it. */
static enum fail_code
read_ledger(struct status_source *s, struct status *st, const char *topic, struct failure *f)
{
	rd_kafka_message_t *last;
	int64_t low, high, samples, from, offset;
	enum fail_code code;

	if (kafka_last_record(s->reader, topic, 0, &last, STATUS_ASK_MS, f) != FAIL_NONE)
		return f->code;
	if (last == NULL)
		return FAIL_NONE;
	code = ledger_decode(&st->ledger, last->payload, last->len, f);
	st->ledger_time_ms = rd_kafka_message_timestamp(last, NULL);
	offset = last->offset;
	samples = SAMPLES_BYTES / (int64_t)(last->len + 1);
	rd_kafka_message_destroy(last);
	if (code != FAIL_NONE)
		return fail_within(f, "topic %s, offset %" PRId64, topic, offset);
	st->state = st->ledger.kind == LEDGER_END ? STATUS_ENDED : STATUS_RUNNING;
	st->sample = calloc(SAMPLES_MAX, sizeof(*st->sample));
	if (st->sample == NULL)
		return fail_memory(f);
	if (kafka_watermarks(s->reader, topic, 0, &low, &high, STATUS_ASK_MS, f) != FAIL_NONE)
		return f->code;
	samples = samples < 2 ? 2 : samples > SAMPLES_MAX ? SAMPLES_MAX : samples;
	from = offset - 2 * (samples - 1);
	return read_range(
	    s->reader, topic, from > low ? from : low, offset + 1, take_sample, st, f);
}

static bool
take_first_batch(const rd_kafka_message_t *m, void *to)
{
	struct status *st = to;
	struct batch_view view;
	struct failure ignored; /* the trainers will say it */

	st->batches_kept = batch_decode(&view, m->payload, m->len, &ignored) == FAIL_NONE;
	if (st->batches_kept)
		st->step_kept = view.head.step;
	return false;
}

static enum fail_code
read_first_batch(struct status_source *s, struct status *st, const char *topic, struct failure *f)
{
	int64_t low, high;

	if (kafka_watermarks(s->reader, topic, 0, &low, &high, STATUS_ASK_MS, f) != FAIL_NONE)
		return f->code;
	if (high <= low)
		return FAIL_NONE;
	st->batches_kept = s->kept_known && s->kept_low == low;
	st->step_kept = s->step_kept;
	if (!st->batches_kept &&
	    read_range(s->reader, topic, low, high, take_first_batch, st, f) != FAIL_NONE)
		return f->code;
	s->kept_known = st->batches_kept;
	s->kept_low = low;
	s->step_kept = st->step_kept;
	return FAIL_NONE;
}

static enum fail_code
ask_mix(struct status_source *s, struct status *st, struct failure *f)
{
	const char *topic;

	st->state = STATUS_NOT_STARTED;
	if (status_topic(st, TOPIC_LEDGER, -1, &topic) != NULL &&
	    read_ledger(s, st, topic, f) != FAIL_NONE)
		return f->code;
	if (status_topic(st, TOPIC_BATCHES, -1, &topic) != NULL)
		return read_first_batch(s, st, topic, f);
	return FAIL_NONE;
}

static enum fail_code
ask_rejects(struct status_source *s, struct status *st, struct failure *f)
{
	int64_t low, high;
	const char *topic;

	if (status_topic(st, TOPIC_REJECTS, -1, &topic) == NULL)
		return FAIL_NONE;
	if (kafka_watermarks(s->reader, topic, 0, &low, &high, STATUS_ASK_MS, f) != FAIL_NONE)
		return f->code;
	st->rejects = high - low;
	return FAIL_NONE;
}

static enum fail_code
ask_topics(struct status_source *s, struct status *st, struct failure *f)
{
	const struct topics_use use = {.read = 1U << TOPIC_DOMAIN | 1U << TOPIC_BATCHES |
					       1U << TOPIC_LEDGER | 1U << TOPIC_FEEDBACK};

	if (topics_plan_open(&st->plan, s->config, f) != FAIL_NONE)
		return f->code;
	st->report = calloc(st->plan->n, sizeof(*st->report));
	if (st->report == NULL)
		return fail_memory(f);
	return topics_ask(s->admin, s->config, st->plan, use, st->report, STATUS_ASK_MS, f);
}

static enum fail_code
ask_all(struct status_source *s, struct status *st, struct failure *f)
{
	if (ask_topics(s, st, f) != FAIL_NONE)
		return f->code;
	if (s->config->mix.name != NULL &&
	    (status_open_mixers(s, f) != FAIL_NONE || ask_mix(s, st, f) != FAIL_NONE ||
		status_open_runs(s, st, f) != FAIL_NONE))
		return f->code;
	if (status_ask_domains(s, st, f) != FAIL_NONE || ask_rejects(s, st, f) != FAIL_NONE ||
	    status_ask_runs(s, st, f) != FAIL_NONE || status_ask_feedback(s, st, f) != FAIL_NONE)
		return f->code;
	if (s->config->mix.name != NULL && status_ask_mixers(s, st, f) != FAIL_NONE)
		return f->code;
	return status_derive(st, f);
}

static enum fail_code
ask_lengths(struct status_source *s, struct status *st, struct failure *f)
{
	if (ask_topics(s, st, f) != FAIL_NONE ||
	    (s->config->mix.name != NULL && ask_mix(s, st, f) != FAIL_NONE))
		return f->code;
	return status_ask_domains(s, st, f);
}

/* Gives *out as `ask` fills it. */
static enum fail_code
ask_for(struct status_source *s, struct status **out,
    enum fail_code (*ask)(struct status_source *, struct status *, struct failure *),
    struct failure *f)
{
	struct status *st = calloc(1, sizeof(*st));
	struct timespec now;

	if (st == NULL)
		return fail_memory(f);
	clock_gettime(CLOCK_REALTIME, &now);
	st->now_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
	st->ledger_time_ms = -1;
	st->config = s->config;
	if (ask(s, st, f) != FAIL_NONE) {
		status_free(st);
		return f->code;
	}
	*out = st;
	return FAIL_NONE;
}

enum fail_code
status_ask(struct status_source *s, struct status **out, struct failure *f)
{
	return ask_for(s, out, ask_all, f);
}

enum fail_code
status_ask_lengths(struct status_source *s, struct status **out, struct failure *f)
{
	return ask_for(s, out, ask_lengths, f);
}
