#include "consumer/ledger/ledger_log.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/names.h"
#include "common/kafka/kafka.h"
#include "common/kafka/mix_names.h"
#include "common/kafka/offsets.h"
#include "consumer/ledger/mix_loss.h"

enum { SLICE_MS = 100 };

struct ledger_log {
	rd_kafka_t *rk;
	char mix[NAME_MAX_BYTES + 1], topic[TOPIC_MAX_BYTES + 1];
	int timeout_ms;
	int64_t last;     /* offset of the last record, as ledger_log_last() found it; -1 */
	int64_t time_ms;  /* when the record given last was written */
	int64_t assigned; /* records below it are not given; -1: nothing is assigned */
	int64_t end;      /* the topic is known to reach this far; 0: nothing is known */
};

/*
 * For looks: a fetch of the usual size holds hundreds of records behind the one that is wanted.
 * Measured on a million records, on two cores with a load of 40: 512 looks took 3.6 s and 1.1 s of
 * processor time; 43 s and 10 s without this. (With queued.min.messages low, too, librdkafka 2.0.2
 * waits for a second now and then.)
 */
static char fetch_name[] = "fetch.message.max.bytes", fetch_bytes[] = "8192";
static const struct property for_looks = {fetch_name, fetch_bytes};

static enum fail_code
open_log(struct ledger_log **out, const char *mix, const struct properties *properties,
    int timeout_ms, bool looks, struct failure *f)
{
	struct ledger_log *l = calloc(1, sizeof(*l));
	struct kafka_options k = {.role = KAFKA_READER,
	    .properties = properties,
	    .client = "ledger",
	    .quiet = true,
	    .tune = &for_looks,
	    .tune_n = looks};
	enum mix_loss loss;
	int partitions;

	if (l == NULL)
		return fail_memory(f);
	snprintf(l->mix, sizeof(l->mix), "%s", mix);
	names_topic(l->topic, mix, "ledger");
	l->timeout_ms = timeout_ms;
	l->assigned = l->last = -1;
	if (kafka_open(&l->rk, &k, f) != FAIL_NONE ||
	    kafka_wait_broker(l->rk, timeout_ms, f) != FAIL_NONE ||
	    kafka_partitions(l->rk, l->topic, &partitions, timeout_ms, f) != FAIL_NONE)
		goto failed;
	if (partitions == 0 && mix_loss_check(l->rk, mix, &loss, true, timeout_ms, f) != FAIL_NONE)
		goto failed;
	if (partitions == 0) {
		mix_names_fail(l->rk, l->topic, mix, f);
		goto failed;
	}
	*out = l;
	return FAIL_NONE;
failed:
	ledger_log_close(l);
	return f->code;
}

enum fail_code
ledger_log_open(struct ledger_log **out, const char *mix, const struct properties *properties,
    int timeout_ms, struct failure *f)
{
	return open_log(out, mix, properties, timeout_ms, false, f);
}

enum fail_code
ledger_log_open_for_looks(struct ledger_log **out, const char *mix,
    const struct properties *properties, int timeout_ms, struct failure *f)
{
	return open_log(out, mix, properties, timeout_ms, true, f);
}

void
ledger_log_close(struct ledger_log *l)
{
	if (l == NULL)
		return;
	kafka_close(l->rk);
	free(l);
}

const char *
ledger_log_topic(const struct ledger_log *l)
{
	return l->topic;
}

/*
 * Reads from `offset` on. Records that were fetched before may still come: poll() drops those below
 * l->assigned.
 */
static enum fail_code
assign(struct ledger_log *l, int64_t offset, struct failure *f)
{
	rd_kafka_resp_err_t err;

	assert(offset >= 0);
	err = kafka_assign_one(l->rk, l->topic, 0, offset);
	l->assigned = offset;
	if (err == RD_KAFKA_RESP_ERR_NO_ERROR)
		return FAIL_NONE;
	kafka_fail_code(f, err, NULL, "reading");
	return fail_within(f, "topic %s", l->topic);
}

static enum fail_code
decode(
    const struct ledger_log *l, const rd_kafka_message_t *m, struct ledger *out, struct failure *f)
{
	if (ledger_decode(out, m->payload, m->len, f) == FAIL_NONE)
		return FAIL_NONE;
	return fail_within(f, "topic %s, offset %" PRId64, l->topic, m->offset);
}

/* One event: *out is a record (rd_kafka_message_destroy), or NULL where nothing came of it. */
static enum fail_code
poll(
    struct ledger_log *l, int timeout_ms, rd_kafka_message_t **out, bool *at_end, struct failure *f)
{
	rd_kafka_message_t *m = kafka_poll(l->rk, timeout_ms);
	enum fail_code code = FAIL_NONE;

	*out = NULL;
	*at_end = false;
	if (m == NULL)
		return FAIL_NONE;
	if (m->err == RD_KAFKA_RESP_ERR_NO_ERROR && m->offset >= l->assigned) {
		*out = m;
		return FAIL_NONE;
	}
	*at_end = kafka_at_end(m, l->end);
	if (kafka_lost(m->err))
		code = fail(f, FAIL_DATA, "topic %s was cut while it was read", l->topic);
	if (kafka_message_denied(l->rk, m))
		code = kafka_fail_topic(f, l->rk, m->err, NULL, "reading", l->topic);
	rd_kafka_message_destroy(m); /* other errors mend, or time runs out */
	return code;
}

/* Waits for the next record; *out = NULL: the end was met, and `wait` is false. */
static enum fail_code
next_message(struct ledger_log *l, bool wait, int64_t deadline_ms, rd_kafka_message_t **out,
    struct failure *f)
{
	bool at_end = false;

	do {
		int64_t left = deadline_ms - clock_ms();

		if (poll(l,
			left < 0          ? 0
			: left > SLICE_MS ? SLICE_MS
					  : (int)left,
			out, &at_end, f) != FAIL_NONE)
			return f->code;
		if (*out != NULL || (at_end && !wait))
			return FAIL_NONE;
	} while (clock_ms() < deadline_ms);
	if (wait)
		return FAIL_NONE;
	return fail(
	    f, FAIL_BROKER, "topic %s: no record came within %d ms", l->topic, l->timeout_ms);
}

enum fail_code
ledger_log_next(
    struct ledger_log *l, int wait_ms, struct ledger *out, int64_t *offset, struct failure *f)
{
	int64_t deadline_ms = clock_ms() + (wait_ms > 0 ? wait_ms : l->timeout_ms);
	rd_kafka_message_t *m;
	enum fail_code code;

	assert(l->assigned >= 0);
	if (next_message(l, wait_ms > 0, deadline_ms, &m, f) != FAIL_NONE)
		return f->code;
	if (m == NULL)
		return fail(f, FAIL_TIMEOUT, "topic %s has no further record", l->topic);
	assert(m->offset >= l->assigned);
	*offset = m->offset;
	l->assigned = m->offset + 1;
	if (l->end < l->assigned)
		l->end = l->assigned;
	l->time_ms = rd_kafka_message_timestamp(m, NULL);
	code = decode(l, m, out, f);
	rd_kafka_message_destroy(m);
	return code;
}

/* Gives *value: the header of a record; NULL: it has none, or no memory. */
static enum fail_code
copy_header(
    const rd_kafka_message_t *m, const char *name, uint8_t **value, size_t *n, struct failure *f)
{
	const char *header = kafka_header(m, name, n);

	if (header == NULL)
		return FAIL_NONE;
	*value = malloc(*n + 1);
	if (*value == NULL)
		return fail_memory(f);
	memcpy(*value, header, *n);
	return FAIL_NONE;
}

enum fail_code
ledger_log_last(struct ledger_log *l, struct ledger *out, bool *any, struct failure *f)
{
	return ledger_log_last_header(l, NULL, out, any, NULL, NULL, f);
}

enum fail_code
ledger_log_last_header(struct ledger_log *l, const char *name, struct ledger *out, bool *any,
    uint8_t **value, size_t *n, struct failure *f)
{
	enum fail_code code = FAIL_NONE;
	rd_kafka_message_t *m;
	enum mix_loss loss;

	if (name != NULL) {
		*value = NULL;
		*n = 0;
	}
	l->assigned = -1;
	kafka_assign(l->rk, NULL);
	if (kafka_last_record(l->rk, l->topic, 0, &m, l->timeout_ms, f) != FAIL_NONE)
		return f->code;
	*any = m != NULL;
	l->last = m == NULL ? -1 : m->offset;
	l->end = l->last + 1;
	if (m == NULL) { /* none yet, or the topic is a new one */
		code = mix_loss_check(l->rk, l->mix, &loss, true, l->timeout_ms, f);
		return loss == MIX_LOSS_RECORDS ? FAIL_NONE : code; /* a mixer may still run */
	}
	code = decode(l, m, out, f);
	if (code == FAIL_NONE && name != NULL)
		code = copy_header(m, name, value, n, f);
	rd_kafka_message_destroy(m);
	return code;
}

int64_t
ledger_log_last_offset(const struct ledger_log *l)
{
	return l->last;
}

/* The first record at or after `offset`, into a zeroed *out. *any is false at the end. */
static enum fail_code
record_at(struct ledger_log *l, int64_t offset, struct ledger *out, int64_t *found, bool *any,
    struct failure *f)
{
	enum fail_code code;

	*any = false;
	if (assign(l, offset, f) != FAIL_NONE)
		return f->code;
	code = ledger_log_next(l, 0, out, found, f);
	*any = code == FAIL_NONE;
	return code == FAIL_TIMEOUT ? FAIL_NONE : code;
}

enum fail_code
ledger_log_at(struct ledger_log *l, int64_t offset, struct ledger *out, int64_t *found,
    int64_t *time_ms, bool *any, struct failure *f)
{
	enum fail_code code = record_at(l, offset, out, found, any, f);

	*time_ms = l->time_ms;
	return code;
}

/* The first record kept; *low is where the log begins. */
static enum fail_code
read_first(struct ledger_log *l, int64_t *low, struct ledger *out, int64_t *found, bool *any,
    struct failure *f)
{
	*any = false;
	if (kafka_watermarks(l->rk, l->topic, 0, low, &l->end, l->timeout_ms, f) != FAIL_NONE)
		return f->code;
	return *low < l->end ? record_at(l, *low, out, found, any, f) : FAIL_NONE;
}

enum fail_code
ledger_log_first(struct ledger_log *l, struct ledger *out, bool *any, struct failure *f)
{
	int64_t low, found;

	return read_first(l, &low, out, &found, any, f);
}

enum fail_code
ledger_log_first_at(struct ledger_log *l, struct ledger *out, int64_t *found, int64_t *time_ms,
    bool *any, struct failure *f)
{
	int64_t low;
	enum fail_code code = read_first(l, &low, out, found, any, f);

	*time_ms = l->time_ms;
	return code;
}

enum fail_code
ledger_log_ask(struct ledger *out, bool *any, const char *mix, const struct properties *properties,
    int timeout_ms, struct failure *f)
{
	struct ledger_log *l = NULL;
	enum fail_code code = ledger_log_open(&l, mix, properties, timeout_ms, f);

	*any = false;
	if (code == FAIL_NONE)
		code = ledger_log_last(l, out, any, f);
	ledger_log_close(l);
	return code;
}

uint64_t
ledger_log_earliest(const struct ledger *first, bool cut)
{
	return (uint64_t)(cut ? first->step_next : first->step_first);
}

enum fail_code
ledger_log_begins(uint64_t *step, bool *cut, const char *mix, const struct properties *properties,
    int timeout_ms, struct failure *f)
{
	struct ledger first = {0};
	struct ledger_log *l;
	bool any = false;
	int64_t low = 0, found;
	enum fail_code code = ledger_log_open(&l, mix, properties, timeout_ms, f);

	if (code != FAIL_NONE)
		return code;
	code = read_first(l, &low, &first, &found, &any, f);
	*cut = low > 0;
	*step = any ? ledger_log_earliest(&first, *cut) : 0;
	ledger_clear(&first);
	ledger_log_close(l);
	return code;
}

/* What is sought: the last record with step_next, or control_next, of at most so much. */
struct sought {
	bool control;
	uint64_t most;
};

static bool
is_before(const struct ledger *record, const struct sought *s)
{
	return (uint64_t)(s->control ? record->control_next : record->step_next) <= s->most;
}

/*
 * *before: the first record at or after `offset` exists and is before what is sought; *found is its
 * offset.
 */
static enum fail_code
probe(struct ledger_log *l, int64_t offset, const struct sought *s, bool *before, int64_t *found,
    struct failure *f)
{
	struct ledger record = {0};
	bool any;
	enum fail_code code = record_at(l, offset, &record, found, &any, f);

	*before = code == FAIL_NONE && any && is_before(&record, s);
	ledger_clear(&record);
	return code;
}

/*
 * Halves the offsets between *low, at which is a record before what is sought, and `end`, from
 * which on is none. Offsets have gaps: those of aborted transactions and of the marks that end
 * one. So a probe reads the first record at or after the middle. Where that one is before it, *low
 * moves to it; where it is not, or there is none, `end` moves to the middle itself: no record lies
 * between the middle and the one that was found.
 *
 * It ends LEDGER_LOG_NEAR offsets apart, because reading those costs less than another probe.
 */
static enum fail_code
halve(struct ledger_log *l, const struct sought *s, int64_t *low, int64_t end, struct failure *f)
{
	for (int probes = 0; probes < LEDGER_LOG_PROBES_MAX && end - *low > LEDGER_LOG_NEAR;
	     probes++) {
		int64_t middle = *low + (end - *low) / 2, found;
		bool before;

		assert(*low < middle);
		assert(middle < end);
		if (probe(l, middle, s, &before, &found, f) != FAIL_NONE)
			return f->code;
		if (before)
			*low = found;
		else
			end = middle;
	}
	return FAIL_NONE;
}

/*
 * Reads from *low to the last record that is before what is sought; *low becomes its offset. The
 * end of the topic (FAIL_TIMEOUT) ends the search as a record that is not before the step does.
 */
static enum fail_code
read_on(struct ledger_log *l, const struct sought *s, int64_t *low, struct failure *f)
{
	bool before = true;

	if (assign(l, *low, f) != FAIL_NONE)
		return f->code;
	while (before) {
		struct ledger record = {0};
		int64_t offset;
		enum fail_code code = ledger_log_next(l, 0, &record, &offset, f);

		before = code == FAIL_NONE && is_before(&record, s);
		ledger_clear(&record);
		if (code != FAIL_NONE && code != FAIL_TIMEOUT)
			return code;
		if (before)
			*low = offset;
	}
	return FAIL_NONE;
}

/*
 * *at becomes the offset of the record before it; stays where there is none. Offsets without
 * records lie between, nobody knows how many: so it reads the last 4 in front of *at, then 8, 16,
 * ...
 */
static enum fail_code
step_back(struct ledger_log *l, int64_t low, int64_t *at, struct failure *f)
{
	int64_t before = *at, end = *at;

	assert(low <= *at);
	for (int64_t distance = 4; before == end && end > low; distance *= 2) {
		int64_t from = offsets_before(low, end, distance), offset = from;

		if (assign(l, from, f) != FAIL_NONE)
			return f->code;
		while (offset < end) {
			struct ledger record = {0};
			enum fail_code code = ledger_log_next(l, 0, &record, &offset, f);

			ledger_clear(&record);
			if (code != FAIL_NONE)
				return code;
			if (offset < end)
				before = offset;
		}
		if (from == low)
			break;
	}
	*at = before;
	return FAIL_NONE;
}

/* Where the last record stands that is not behind what is sought; -1: none is. */
static enum fail_code
search(
    struct ledger_log *l, const struct sought *sought, int64_t *low, int64_t *at, struct failure *f)
{
	bool before = false;

	*at = -1;
	if (kafka_watermarks(l->rk, l->topic, 0, low, &l->end, l->timeout_ms, f) != FAIL_NONE)
		return f->code;
	if (*low < l->end && probe(l, *low, sought, &before, at, f) != FAIL_NONE)
		return f->code;
	if (!before) {
		*at = -1;
		return FAIL_NONE;
	}
	return halve(l, sought, at, l->end, f) == FAIL_NONE ? read_on(l, sought, at, f) : f->code;
}

enum fail_code
ledger_log_find(struct ledger_log *l, uint64_t step, bool one_before, bool *any, struct failure *f)
{
	const struct sought sought = {.most = step};
	int64_t low, at;

	*any = false;
	if (search(l, &sought, &low, &at, f) != FAIL_NONE)
		return f->code;
	if (at < 0)
		return FAIL_NONE;
	if (one_before && step_back(l, low, &at, f) != FAIL_NONE)
		return f->code;
	*any = true;
	return assign(l, at, f);
}

enum fail_code
ledger_log_seek(struct ledger_log *l, uint64_t step, bool one_before, struct failure *f)
{
	bool any;
	enum fail_code code = ledger_log_find(l, step, one_before, &any, f);

	if (code != FAIL_NONE || any)
		return code;
	return fail(f, FAIL_DATA,
	    "topic %s has no record of the state before step %" PRIu64
	    ": it is empty, or its beginning was deleted",
	    l->topic, step);
}

enum fail_code
ledger_log_seek_control(struct ledger_log *l, int64_t offset, struct failure *f)
{
	const struct sought sought = {.control = true, .most = (uint64_t)offset};
	int64_t low, at;

	if (search(l, &sought, &low, &at, f) != FAIL_NONE)
		return f->code;
	return assign(l, at < 0 ? low : at, f);
}
