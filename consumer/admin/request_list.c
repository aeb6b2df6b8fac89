#include "consumer/admin/request_list.h"

#include <assert.h>
#include <librdkafka/rdkafka.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/names.h"
#include "common/kafka/kafka.h"
#include "consumer/admin/request.h"
#include "consumer/ledger/ledger_log.h"

enum {
	SLICE_MS = 200,
	SEARCHES_MIN = 64,   /* requests whose answers are searched for one by one, however */
	SEARCH_RECORDS = 32, /* short the ledger is; else one for so many records of it */
};

const char *const request_state_names[] = {[REQUEST_OPEN] = "open",
    [REQUEST_ACCEPTED] = "accepted",
    [REQUEST_IN_FORCE] = "in force",
    [REQUEST_CANCELLED] = "cancelled",
    [REQUEST_REFUSED] = "refused"};

static void
clear_entry(struct request_entry *e)
{
	control_clear(&e->asked);
	ledger_answer_clear(&e->answer);
}

void
request_list_close(struct request_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		clear_entry(&l->entry[i]);
	free(l->entry);
	*l = (struct request_list){0};
}

static struct request_entry *
find(const struct request_list *l, const char *id)
{
	for (size_t i = 0; id != NULL && i < l->n; i++)
		if (l->entry[i].asked.id != NULL && strcmp(l->entry[i].asked.id, id) == 0)
			return &l->entry[i];
	return NULL;
}

const struct request_entry *
request_list_find(const struct request_list *l, const char *id)
{
	return find(l, id);
}

/* ---- the requests ---- */

static enum fail_code
add(struct request_list *l, const rd_kafka_message_t *m, struct failure *f)
{
	struct request_entry e = {
	    .offset = m->offset, .time_ms = rd_kafka_message_timestamp(m, NULL)};
	struct request_entry *grown;

	if (control_decode(&e.asked, m->payload, m->len, f) != FAIL_NONE) {
		l->unreadable++;
		return f->code == FAIL_MEMORY ? f->code : FAIL_NONE;
	}
	if (e.asked.id == NULL || find(l, e.asked.id) != NULL) {
		control_clear(&e.asked);
		return FAIL_NONE;
	}
	grown = realloc(l->entry, (l->n + 1) * sizeof(*grown));
	if (grown == NULL) {
		control_clear(&e.asked);
		return fail_memory(f);
	}
	l->entry = grown;
	l->entry[l->n++] = e;
	return FAIL_NONE;
}

/* The records up to `high`, the topic's end when it was asked for. */
static enum fail_code
read_requests(
    struct request_list *l, rd_kafka_t *rk, const char *topic, int64_t high, struct failure *f)
{
	int64_t deadline_ms = clock_ms() + REQUEST_ASK_MS;
	enum fail_code code = FAIL_NONE;
	bool more = true;

	while (code == FAIL_NONE && more) {
		rd_kafka_message_t *m = kafka_poll(rk, SLICE_MS);

		if (m == NULL && clock_ms() >= deadline_ms)
			return fail(f, FAIL_TIMEOUT, "topic %s: nothing came within %d s", topic,
			    REQUEST_ASK_MS / 1000);
		if (m == NULL)
			continue;
		if (m->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
			code = add(l, m, f);
			if (code == FAIL_NONE)
				l->next = m->offset + 1;
			more = m->offset + 1 < high;
			deadline_ms = clock_ms() + REQUEST_ASK_MS;
		} else if (m->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
			more = !kafka_at_end(m, high);
		} else if (kafka_message_denied(rk, m)) {
			code = kafka_fail_topic(f, rk, m->err, NULL, "reading", topic);
		}
		rd_kafka_message_destroy(m);
	}
	return code;
}

/* Drops the oldest. */
static void
drop(struct request_list *l, size_t n)
{
	assert(n <= l->n);
	for (size_t i = 0; i < n; i++)
		clear_entry(&l->entry[i]);
	l->n -= n;
	if (n > 0)
		memmove(l->entry, l->entry + n, l->n * sizeof(*l->entry));
}

/* What came since the last time. A topic that is shorter than it was is another one. */
static enum fail_code
read_asked(
    struct request_list *l, const char *mix, const struct properties *properties, struct failure *f)
{
	struct kafka_options k = {
	    .role = KAFKA_READER, .properties = properties, .client = "requests"};
	char topic[TOPIC_MAX_BYTES + 1];
	int64_t low, high;
	rd_kafka_t *rk;
	enum fail_code code;

	names_topic(topic, mix, "control");
	if (kafka_open(&rk, &k, f) != FAIL_NONE)
		return f->code;
	code = kafka_watermarks(rk, topic, 0, &low, &high, REQUEST_ASK_MS, f);
	if (code == FAIL_NONE && high < l->next)
		request_list_close(l);
	if (code == FAIL_NONE && high > low && high > l->next) {
		rd_kafka_resp_err_t err =
		    kafka_assign_one(rk, topic, 0, low > l->next ? low : l->next);

		code = err == RD_KAFKA_RESP_ERR_NO_ERROR
			   ? read_requests(l, rk, topic, high, f)
			   : kafka_fail_topic(f, rk, err, NULL, "reading", topic);
	}
	if (code == FAIL_NONE)
		l->next = high;
	kafka_close(rk);
	return code;
}

/* ---- the answers ---- */

static void
take_answers(struct request_list *l, struct ledger *record)
{
	for (size_t i = 0; i < record->answers_n; i++) {
		struct request_entry *e = find(l, record->answer[i].id);

		if (e == NULL || e->answer.id != NULL)
			continue;
		e->answer = record->answer[i];
		record->answer[i] = (struct ledger_answer){0};
	}
}

/* Reads all of the ledger. */
static enum fail_code
read_all(
    struct request_list *l, const char *mix, const struct properties *properties, struct failure *f)
{
	struct ledger record = {0};
	struct ledger_log *log = NULL;
	bool any = false;
	enum fail_code code = ledger_log_open(&log, mix, properties, REQUEST_ASK_MS, f);

	if (code == FAIL_NONE)
		code = ledger_log_first(log, &record, &any, f);
	while (code == FAIL_NONE && any) {
		int64_t offset;

		take_answers(l, &record);
		ledger_clear(&record);
		code = ledger_log_next(log, 0, &record, &offset, f);
	}
	ledger_clear(&record);
	ledger_log_close(log);
	return code == FAIL_TIMEOUT ? FAIL_NONE : code;
}

/*
 * Reads from the record that was written before a request was heard to the one that answers it: as
 * control_next never falls, it is found without what lies before.
 */
static enum fail_code
search(struct request_list *l, struct ledger_log *log, const struct request_entry *e,
    struct failure *f)
{
	enum fail_code code = ledger_log_seek_control(log, e->offset, f);
	bool heard = false;

	while (code == FAIL_NONE && !heard) {
		struct ledger record = {0};
		int64_t offset;

		code = ledger_log_next(log, 0, &record, &offset, f);
		if (code == FAIL_NONE) {
			heard = record.control_next > e->offset;
			take_answers(l, &record);
		}
		ledger_clear(&record);
	}
	return code == FAIL_TIMEOUT ? FAIL_NONE : code;
}

/* Whether the mix has heard a request, and its answer was not looked for everywhere. */
static bool
lacks_answer(const struct request_entry *e, const struct ledger *last)
{
	return e->answer.id == NULL && !e->unanswered && e->offset < last->control_next;
}

/* How many searches cost less than to read the whole ledger. */
static enum fail_code
count_searches(struct ledger_log *log, size_t *most, struct failure *f)
{
	struct ledger last = {0};
	bool any;
	enum fail_code code = ledger_log_last(log, &last, &any, f);

	ledger_clear(&last);
	*most = SEARCHES_MIN;
	if (code == FAIL_NONE && any)
		*most += (size_t)ledger_log_last_offset(log) / 2 / SEARCH_RECORDS;
	return code;
}

/*
 * A few requests are searched for, each by itself; a record that is read so may have the answers to
 * others, too. What is not found so, because there are many, or the control topic was recreated and
 * has other offsets, is looked for in all of the ledger, once.
 */
static enum fail_code
read_answers(struct request_list *l, const char *mix, const struct properties *properties,
    const struct ledger *last, struct failure *f)
{
	struct ledger_log *log;
	size_t most, searches = 0;
	bool lacks = false;
	enum fail_code code;

	if (ledger_log_open_for_looks(&log, mix, properties, REQUEST_ASK_MS, f) != FAIL_NONE)
		return f->code;
	code = count_searches(log, &most, f);
	for (size_t i = 0; code == FAIL_NONE && i < l->n; i++) {
		if (lacks_answer(&l->entry[i], last) && searches++ < most)
			code = search(l, log, &l->entry[i], f);
		lacks = lacks || lacks_answer(&l->entry[i], last);
	}
	ledger_log_close(log);
	if (code == FAIL_NONE && lacks)
		code = read_all(l, mix, properties, f);
	for (size_t i = 0; code == FAIL_NONE && i < l->n; i++)
		l->entry[i].unanswered = l->entry[i].unanswered || lacks_answer(&l->entry[i], last);
	return code;
}

static bool
lacks_any(const struct request_list *l, const struct ledger *last)
{
	for (size_t i = 0; last != NULL && i < l->n; i++)
		if (lacks_answer(&l->entry[i], last))
			return true;
	return false;
}

/* ---- what became of them ---- */

static bool
is_pending(const struct ledger *last, const char *id)
{
	for (size_t i = 0; i < last->pending_n; i++)
		if (last->pending[i].id != NULL && strcmp(last->pending[i].id, id) == 0)
			return true;
	return false;
}

void
request_list_judge(struct request_list *l, const struct ledger *last)
{
	for (size_t i = 0; i < l->n; i++) {
		struct request_entry *e = &l->entry[i];

		if (e->answer.id == NULL)
			e->state = REQUEST_OPEN;
		else if (!e->answer.accepted)
			e->state = REQUEST_REFUSED;
		else if (last != NULL && is_pending(last, e->asked.id))
			e->state = REQUEST_ACCEPTED;
		else
			e->state = REQUEST_IN_FORCE;
	}
	for (size_t i = 0; i < l->n; i++) {
		const struct request_entry *e = &l->entry[i];
		struct request_entry *of = find(l, e->asked.request);

		if (e->asked.kind == LEDGER_CANCEL && e->answer.accepted && of != NULL)
			of->state = REQUEST_CANCELLED;
	}
}

enum fail_code
request_list_read_on(struct request_list *l, const char *mix, const struct properties *properties,
    const struct ledger *last, size_t most, struct failure *f)
{
	if (read_asked(l, mix, properties, f) != FAIL_NONE)
		return f->code;
	drop(l, l->n > most ? l->n - most : 0);
	if (lacks_any(l, last) && read_answers(l, mix, properties, last, f) != FAIL_NONE)
		return f->code;
	request_list_judge(l, last);
	return FAIL_NONE;
}

enum fail_code
request_list_read(struct request_list *out, const char *mix, const struct properties *properties,
    const struct ledger *last, struct failure *f)
{
	assert(out->n == 0);
	return request_list_read_on(out, mix, properties, last, SIZE_MAX, f);
}
