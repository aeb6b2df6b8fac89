#include "consumer/domain/held_out.h"

#include <assert.h>
#include <inttypes.h>
#include <librdkafka/rdkafka.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/kafka/kafka.h"
#include "consumer/domain/log_record.h"
#include "consumer/domain/partition_tail.h"

enum { NUMBER_MAX_BYTES = 24 };

struct held_out {
	char topic[TOPIC_MAX_BYTES + 1];
	char domain[NAME_MAX_BYTES + 1];
	rd_kafka_t *rk;
	uint32_t partitions;
	uint64_t *sequences; /* [partitions] */
	int64_t *low, *high; /* [partitions] */
	uint64_t all, tokenizer;
	uint32_t length;

	uint32_t at;              /* partition that is read */
	bool assigned;            /* it is */
	uint64_t ordinal;         /* the next one in it */
	rd_kafka_message_t *held; /* what the last sequence borrows from */
};

static enum fail_code
open_handle(struct held_out *h, const struct held_out_options *o, struct failure *f)
{
	static char name[] = "queued.max.messages.kbytes";
	char value[NUMBER_MAX_BYTES];
	const struct property tune = {name, value};
	struct kafka_options k = {
	    .role = KAFKA_READER,
	    .properties = o->properties,
	    .client = "validate",
	    .quiet = true,
	    .tune = &tune,
	    .tune_n = 1,
	};

	snprintf(value, sizeof(value), "%d", HELD_OUT_AHEAD_BYTES >> 10);
	return kafka_open(&h->rk, &k, f);
}

static enum fail_code
find_partitions(struct held_out *h, const struct held_out_options *o, struct failure *f)
{
	int partitions;

	if (kafka_wait_topic(h->rk, h->topic, &partitions, o->timeout_ms, f) != FAIL_NONE)
		return f->code;
	h->partitions = (uint32_t)partitions;
	if (partitions > 0)
		return FAIL_NONE;
	kafka_fail_missing(f, h->rk, h->topic);
	return fail_more(f, " if corpus %s has a domain %s with a %s set", o->corpus, o->domain,
	    names_set_text[o->set]);
}

static enum fail_code
ask_watermarks(struct held_out *h, int timeout_ms, struct failure *f)
{
	h->sequences = calloc(h->partitions, sizeof(*h->sequences));
	h->low = calloc(h->partitions, sizeof(*h->low));
	h->high = calloc(h->partitions, sizeof(*h->high));
	if (h->sequences == NULL || h->low == NULL || h->high == NULL)
		return fail_memory(f);
	return kafka_watermarks_many(
	    h->rk, h->topic, 0, h->partitions, h->low, h->high, timeout_ms, f);
}

static enum fail_code
take_tail(struct held_out *h, const struct partition_tail_at *t, struct failure *f)
{
	const struct partition_tail *tail = &t->tail;
	uint64_t n = tail->sealed ? tail->sealed_sequences : tail->sequences;

	if (t->bad || !t->known)
		return fail(f, t->bad ? FAIL_DATA : FAIL_BROKER,
		    "topic %s, partition %d: its last record %s%s", h->topic, (int)t->partition,
		    t->bad ? "cannot be read: " : "did not come from the broker in time",
		    t->reason);
	if (!tail->sealed)
		log_info("validation: topic=%s partition=%d has no End yet: read as far as it is, "
			 "sequences=%" PRIu64,
		    h->topic, (int)t->partition, n);
	if (n > 0 && h->length > 0 &&
	    (tail->sequence_length != h->length || tail->tokenizer != h->tokenizer))
		return fail(f, FAIL_DATA,
		    "topic %s: its partitions differ in sequence_length or tokenizer", h->topic);
	if (n > 0) {
		h->length = tail->sequence_length;
		h->tokenizer = tail->tokenizer;
	}
	assert(t->partition >= 0);
	assert((uint32_t)t->partition < h->partitions);
	h->sequences[t->partition] = n;
	h->all += n;
	return FAIL_NONE;
}

/* How many sequences each partition has, by its last record. */
static enum fail_code
measure(struct held_out *h, int timeout_ms, struct failure *f)
{
	struct partition_tail_at *tail = calloc(h->partitions + 1, sizeof(*tail));
	enum fail_code code;
	size_t n = 0;

	if (tail == NULL)
		return fail_memory(f);
	for (uint32_t i = 0; i < h->partitions; i++)
		if (h->high[i] > h->low[i])
			tail[n++] = (struct partition_tail_at){
			    .topic = h->topic, .partition = (int32_t)i, .high = h->high[i]};
	code = partition_tail_read_many(h->rk, tail, n, PARTITION_TAIL_MANY_MAX, timeout_ms, f);
	for (size_t i = 0; code == FAIL_NONE && i < n; i++)
		code = take_tail(h, &tail[i], f);
	free(tail);
	return code;
}

enum fail_code
held_out_open(struct held_out **out, const struct held_out_options *o, struct failure *f)
{
	struct held_out *h = calloc(1, sizeof(*h));

	if (h == NULL)
		return fail_memory(f);
	names_domain_topic(h->topic, o->corpus, o->domain, o->set);
	snprintf(h->domain, sizeof(h->domain), "%s", o->domain);
	if (open_handle(h, o, f) != FAIL_NONE || find_partitions(h, o, f) != FAIL_NONE ||
	    ask_watermarks(h, o->timeout_ms, f) != FAIL_NONE ||
	    measure(h, o->timeout_ms, f) != FAIL_NONE) {
		held_out_close(h);
		return f->code;
	}
	*out = h;
	return FAIL_NONE;
}

static void
release(struct held_out *h)
{
	if (h->held != NULL)
		rd_kafka_message_destroy(h->held);
	h->held = NULL;
}

void
held_out_close(struct held_out *h)
{
	if (h == NULL)
		return;
	release(h);
	kafka_close(h->rk);
	free(h->sequences);
	free(h->low);
	free(h->high);
	free(h);
}

const char *
held_out_domain(const struct held_out *h)
{
	return h->domain;
}

uint64_t
held_out_sequences(const struct held_out *h)
{
	return h->all;
}

uint32_t
held_out_partitions(const struct held_out *h)
{
	return h->partitions;
}

uint32_t
held_out_length(const struct held_out *h)
{
	return h->length;
}

uint64_t
held_out_tokenizer(const struct held_out *h)
{
	return h->tokenizer;
}

bool
held_out_untouched(const struct held_out *h)
{
	for (uint32_t i = 0; i < h->partitions; i++)
		if (h->high[i] > 0)
			return false;
	return true;
}

/* Reads partition `at` from its first record that is kept: it must hold ordinal 0. */
static enum fail_code
assign(struct held_out *h, struct failure *f)
{
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
	rd_kafka_resp_err_t err;

	assert(h->at < h->partitions);
	rd_kafka_topic_partition_list_add(list, h->topic, (int32_t)h->at)->offset = h->low[h->at];
	err = kafka_assign(h->rk, list);
	rd_kafka_topic_partition_list_destroy(list);
	if (err != RD_KAFKA_RESP_ERR_NO_ERROR)
		return kafka_fail_code(f, err, NULL, "reading a held-out set");
	h->assigned = true;
	h->ordinal = 0;
	return FAIL_NONE;
}

/* The record that is held. *taken: it is the sequence that comes next. */
static enum fail_code
take(struct held_out *h, struct held_out_sequence *out, bool *taken, struct failure *f)
{
	const rd_kafka_message_t *m = h->held;
	enum log_record what;

	*taken = false;
	if (log_record_judge(&what, &out->view, m->payload, m->len, h->ordinal, f) != FAIL_NONE)
		return f->code;
	if (what == LOG_RECORD_PASSED)
		return FAIL_NONE;
	if (what == LOG_RECORD_GAP)
		return fail(f, FAIL_DATA, "ordinal %" PRIu64 ", where %" PRIu64 " is due%s",
		    out->view.ordinal, h->ordinal,
		    h->low[h->at] > 0 ? ": the beginning of the topic was deleted" : "");
	out->partition = h->at;
	h->ordinal++;
	*taken = true;
	return FAIL_NONE;
}

static enum fail_code
take_message(struct held_out *h, struct held_out_sequence *out, bool *taken, struct failure *f)
{
	rd_kafka_message_t *m = h->held;
	bool record = m->err == RD_KAFKA_RESP_ERR_NO_ERROR;

	*taken = false;
	if (record && m->partition == (int32_t)h->at && take(h, out, taken, f) == FAIL_NONE)
		return FAIL_NONE;
	if (record && m->partition == (int32_t)h->at)
		return fail_within(f, "topic %s, partition %d, offset %" PRId64, h->topic,
		    (int)m->partition, m->offset);
	if (kafka_lost(m->err))
		return fail(f, FAIL_DATA,
		    "topic %s, partition %" PRIu32 ": ordinal %" PRIu64
		    " was deleted while it was read",
		    h->topic, h->at, h->ordinal);
	if (kafka_message_denied(h->rk, m))
		return kafka_fail_topic(f, h->rk, m->err, NULL, "reading a held-out set", h->topic);
	return FAIL_NONE; /* the end of a partition, or what librdkafka mends: the caller waits */
}

enum fail_code
held_out_next(struct held_out *h, int64_t deadline_ms, struct held_out_sequence *out, bool *end,
    struct failure *f)
{
	bool taken = false;

	*end = false;
	while (!taken) {
		int64_t left = deadline_ms - clock_ms();

		release(h);
		if (h->at < h->partitions && h->ordinal == h->sequences[h->at]) {
			h->at++;
			h->ordinal = 0;
			h->assigned = false;
			continue;
		}
		*end = h->at == h->partitions;
		if (*end)
			return FAIL_NONE;
		if (!h->assigned && assign(h, f) != FAIL_NONE)
			return f->code;
		h->held = kafka_poll(h->rk, left < 0 ? 0 : (int)left);
		if (h->held == NULL && clock_ms() >= deadline_ms)
			return fail(f, FAIL_TIMEOUT,
			    "topic %s, partition %" PRIu32 ", ordinal %" PRIu64
			    " did not come in time",
			    h->topic, h->at, h->ordinal);
		if (h->held != NULL && take_message(h, out, &taken, f) != FAIL_NONE)
			return f->code;
	}
	return FAIL_NONE;
}
