#include "consumer/publish/control_requests.h"

#include <assert.h>
#include <inttypes.h>
#include <librdkafka/rdkafka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/names.h"
#include "common/kafka/kafka.h"
#include "common/record/control.h"
#include "consumer/domain/feed_block.h"

enum {
	ASK_TIMEOUT_MS = 30000,
	CATCH_UP_MS = 30000,
	SLICE_MS = 100,
	EVENTS_MAX = 16,
	KNOWN_BACK = 16,    /* records before offset_next, the last of which must be known */
	REASON_BYTES = 256, /* of a record that is no request */
	RESET_BYTES = 512,  /* of an answer to RESET */
	CONTROL_REQUESTS_MAX = 256,  /* answered in one transaction, */
	ANSWERS_BYTES_MAX = 1 << 20, /* as long as their texts are no longer than this */
	/* A ledger record with what waits for its step. The rest of TOPIC_LEDGER_BYTES is for what
	 * grows by itself. */
	PENDING_BYTES_MAX = 4 << 20,
};

struct control_requests {
	rd_kafka_t *rk;
	char topic[TOPIC_MAX_BYTES + 1];
	struct lead *lead;
	struct control_requests_judges judges;
	int64_t offset_next;         /* of the first record that was not taken */
	int64_t begin, end;          /* of the topic at the last seek */
	bool at_end;                 /* was met since then, or nothing stood in front of it */
	rd_kafka_message_t *waiting; /* NULL: none */
};

/* ---- opening and closing ---- */

enum fail_code
control_requests_open(struct control_requests **out, const char *mix,
    const struct properties *properties, struct lead *lead,
    const struct control_requests_judges *judges, struct failure *f)
{
	/*
	 * A broker holds a fetch until a request comes, so that a mixer which only waits asks
	 * twice a second. That the topic ends where it stands it knows without (assign()).
	 */
	struct property tune[] = {
	    {(char[]){"fetch.wait.max.ms"}, (char[]){"500"}},
	    {(char[]){"queued.max.messages.kbytes"}, (char[]){"1024"}},
	    {(char[]){"fetch.message.max.bytes"}, (char[]){"262144"}},
	};
	struct kafka_options k = {.role = KAFKA_READER,
	    .properties = properties,
	    .client = "mix-control",
	    .tune = tune,
	    .tune_n = sizeof(tune) / sizeof(tune[0])};
	struct control_requests *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return fail_memory(f);
	r->lead = lead;
	r->judges = *judges;
	names_topic(r->topic, mix, "control");
	if (kafka_open(&r->rk, &k, f) != FAIL_NONE) {
		free(r);
		return f->code;
	}
	*out = r;
	return FAIL_NONE;
}

static void
drop_waiting(struct control_requests *r)
{
	if (r->waiting != NULL)
		rd_kafka_message_destroy(r->waiting);
	r->waiting = NULL;
}

void
control_requests_close(struct control_requests *r)
{
	if (r == NULL)
		return;
	drop_waiting(r);
	kafka_close(r->rk);
	free(r);
}

/* ---- following the topic ---- */

static enum fail_code
assign(struct control_requests *r, int64_t offset_next, struct failure *f)
{
	rd_kafka_resp_err_t err = kafka_assign_one(r->rk, r->topic, 0, offset_next);

	drop_waiting(r);
	r->at_end = offset_next >= r->end;
	r->offset_next = offset_next;
	if (err == RD_KAFKA_RESP_ERR_NO_ERROR)
		return FAIL_NONE;
	kafka_fail_code(f, err, NULL, "following");
	return fail_within(f, "topic %s", r->topic);
}

/* Sets `begin` and `end`. *offset_next becomes the first offset if the topic does not hold it. */
static enum fail_code
find_next(struct control_requests *r, int64_t *offset_next, struct failure *f)
{
	int64_t low, high;

	if (kafka_watermarks(r->rk, r->topic, 0, &low, &high, ASK_TIMEOUT_MS, f) != FAIL_NONE)
		return f->code;
	r->begin = low;
	r->end = high;
	if (*offset_next >= low && *offset_next <= high)
		return FAIL_NONE;
	log_warning("mix: MIX-CONTROL topic=%s: the ledger has answered up to offset=%" PRId64
		    ", the topic holds %" PRId64 "..%" PRId64
		    ": records were deleted, or the topic was recreated; continuing at %" PRId64,
	    r->topic, *offset_next, low, high, low);
	*offset_next = low;
	return FAIL_NONE;
}

static enum fail_code
seek(struct control_requests *r, int64_t offset_next, struct failure *f)
{
	return find_next(r, &offset_next, f) == FAIL_NONE ? assign(r, offset_next, f) : f->code;
}

int64_t
control_requests_next(const struct control_requests *r)
{
	return r->offset_next;
}

/*
 * Takes events until a record waits; the first event may be waited for. Records before offset_next
 * are passed over: what was fetched before a seek may still come.
 */
static enum fail_code
poll(struct control_requests *r, int timeout_ms, struct failure *f)
{
	for (int i = 0; r->waiting == NULL && i < EVENTS_MAX; i++) {
		rd_kafka_message_t *m = kafka_poll(r->rk, i == 0 ? timeout_ms : 0);
		enum fail_code denied = FAIL_NONE;
		rd_kafka_resp_err_t err;

		if (m == NULL)
			break;
		err = m->err;
		if (err == RD_KAFKA_RESP_ERR_NO_ERROR && m->offset >= r->offset_next) {
			r->waiting = m;
			break;
		}
		if (kafka_at_end(m, r->end))
			r->at_end = true;
		if (kafka_message_denied(r->rk, m))
			denied = kafka_fail_topic(f, r->rk, err, NULL, "reading", r->topic);
		rd_kafka_message_destroy(m);
		if (denied != FAIL_NONE)
			return denied;
		if (kafka_lost(err))
			return seek(r, r->offset_next, f);
		/* other errors mend */
	}
	return FAIL_NONE;
}

/* Whether the record is a request that has an id. *known: the ledger has answered it. */
static bool
has_id(const rd_kafka_message_t *msg, const struct mixer *m, bool *known)
{
	struct control c = {0};
	struct failure ignored;
	bool has = control_decode(&c, msg->payload, msg->len, &ignored) == FAIL_NONE &&
		   c.id != NULL && c.id[0] != '\0' && strlen(c.id) <= MIXER_ID_BYTES_MAX;

	*known = has && mixer_has_answered(m, c.id);
	control_clear(&c);
	return has;
}

/*
 * A topic that was recreated, and has more records since than the old one had, does not end before
 * offset_next. So the last request in front of it must be one that was answered. What is no request
 * has no id, and the one before it counts.
 */
static enum fail_code
check_answered(struct control_requests *r, const struct mixer *m, struct failure *f)
{
	const int64_t next = r->offset_next, deadline_ms = clock_ms() + CATCH_UP_MS;
	int64_t unknown = -1;

	if (assign(r, next - r->begin > KNOWN_BACK ? next - KNOWN_BACK : r->begin, f) != FAIL_NONE)
		return f->code;
	while (r->offset_next < next && !r->at_end) {
		bool known;

		if (poll(r, SLICE_MS, f) != FAIL_NONE)
			return f->code;
		if (r->waiting == NULL && clock_ms() >= deadline_ms)
			return fail(f, FAIL_BROKER, "topic %s: nothing came within %d ms", r->topic,
			    CATCH_UP_MS);
		if (r->waiting == NULL)
			continue;
		if (r->waiting->offset >= next)
			break;
		if (has_id(r->waiting, m, &known))
			unknown = known ? -1 : r->waiting->offset;
		r->offset_next = r->waiting->offset + 1;
		drop_waiting(r);
	}
	if (unknown < 0) {
		r->offset_next = next;
		r->at_end = r->at_end || next >= r->end;
		return FAIL_NONE;
	}
	log_warning(
	    "mix: MIX-CONTROL topic=%s: the record at offset=%" PRId64
	    " is none that the ledger has answered, and it has answered up to offset=%" PRId64
	    ": the topic was recreated; continuing at %" PRId64,
	    r->topic, unknown, next, r->begin);
	return seek(r, r->begin, f);
}

/*
 * Assigns the topic once. The broker holds a fetch at its end for half a second, and a fetch from
 * another offset would have to wait for that.
 */
enum fail_code
control_requests_attach(struct control_requests *r, const struct mixer *m, struct failure *f)
{
	const int64_t next = mixer_control_next(m);
	int64_t at = next;

	if (find_next(r, &at, f) != FAIL_NONE)
		return f->code;
	if (at != next || next == r->begin)
		return assign(r, at, f);
	r->offset_next = next;
	return check_answered(r, m, f);
}

enum fail_code
control_requests_wait(struct control_requests *r, bool *waits, struct failure *f)
{
	if (r->waiting == NULL && poll(r, 0, f) != FAIL_NONE)
		return f->code;
	*waits = r->waiting != NULL;
	return FAIL_NONE;
}

enum fail_code
control_requests_catch_up(
    struct control_requests *r, const struct stop *stop, bool *waits, struct failure *f)
{
	int64_t deadline_ms = clock_ms() + CATCH_UP_MS;

	while (r->waiting == NULL && !r->at_end) {
		if (stop_asked(stop))
			return fail(f, FAIL_STOPPED, "stopped while reading topic %s", r->topic);
		if (poll(r, SLICE_MS, f) != FAIL_NONE)
			return f->code;
		if (clock_ms() >= deadline_ms)
			return fail(f, FAIL_BROKER, "topic %s: nothing came within %d ms", r->topic,
			    CATCH_UP_MS);
	}
	*waits = r->waiting != NULL;
	return FAIL_NONE;
}

/* ---- judging ---- */

/* What the answers of one transaction have come to. */
struct sizes {
	size_t ledger_bytes; /* of a record without them, with what they have made pending */
	size_t answers_bytes;
};

enum { LOGGED_BYTES = 200 }; /* of an answer's text */

/* Joins the lines of an answer by "; ", because the log would write each newline as \n. */
static void
join_lines(char out[static LOGGED_BYTES], const char *text)
{
	size_t n = 0;

	for (; *text != '\0' && n + 3 < LOGGED_BYTES; text++) {
		if (*text == '\n')
			out[n++] = ';';
		out[n++] = (char)(*text == '\n' ? ' ' : *text);
	}
	out[n] = '\0';
}

static enum fail_code
pass_answer(struct output *o, struct ledger_answer *answer, struct failure *f)
{
	char what[LOGGED_BYTES];

	join_lines(what, answer->text == NULL ? "" : answer->text);
	if (answer->accepted)
		log_info("mix: request id=%s accepted step=%" PRId64 " what=\"%s\"", answer->id,
		    answer->step, what);
	else
		log_info("mix: request id=%s refused why=\"%s\"", answer->id, answer->text);
	return output_add_answer(o, answer, f);
}

/* A request that would make the ledger record too large is refused, whatever it asks for. */
static enum fail_code
refuse_size(struct mixer *m, const struct control *c, struct ledger_answer *answer, bool *duplicate,
    struct failure *f)
{
	char why[160];

	snprintf(why, sizeof(why),
	    "%zu accepted requests wait for their steps, and with this one the ledger record would "
	    "be larger than %d MB",
	    mixer_pending(m), PENDING_BYTES_MAX >> 20);
	return mixer_refuse(m, c, why, answer, duplicate, f);
}

static enum fail_code
check_reset(const struct mixer *m, const struct control *c, struct failure *f)
{
	const char *id = c->id == NULL ? "" : c->id;

	if (id[0] == '\0' || strlen(id) > MIXER_ID_BYTES_MAX)
		return fail(f, FAIL_DATA, "a request needs an id of 1 to %d bytes, not %zu",
		    MIXER_ID_BYTES_MAX, strlen(id));
	if ((uint64_t)c->to_step > mixer_step_next(m))
		return fail(f, FAIL_DATA,
		    "step %" PRId64 " is not published: the mix is at step %" PRIu64, c->to_step,
		    mixer_step_next(m));
	return FAIL_NONE;
}

/* A run's known position: the lead's, and in the ledger with this answer. */
static enum fail_code
reset_run(struct control_requests *r, struct mixer *m, const struct control *c,
    struct ledger_answer *answer, bool *duplicate, struct failure *f)
{
	const char *run = c->run == NULL ? "" : c->run, *who = c->who == NULL ? "" : c->who;
	char text[RESET_BYTES];
	struct failure why;
	uint64_t from;

	*answer = (struct ledger_answer){0};
	*duplicate = mixer_has_answered(m, c->id);
	if (*duplicate)
		return FAIL_NONE;
	if (check_reset(m, c, &why) != FAIL_NONE ||
	    lead_reset(r->lead, run, (uint64_t)c->to_step, &from, &why) != FAIL_NONE) {
		if (why.code == FAIL_DATA)
			return mixer_refuse(m, c, why.text, answer, duplicate, f);
		*f = why;
		return f->code;
	}
	snprintf(text, sizeof(text),
	    "run %s is known at step %" PRId64 " from here on, where it was known at step %" PRIu64
	    " (by %s)",
	    run, c->to_step, from, who);
	return mixer_accept(m, c, text, answer, f);
}

static enum fail_code
ask(struct control_requests *r, struct mixer *m, const struct control *c,
    struct ledger_answer *answer, bool *duplicate, struct failure *f)
{
	const struct control_requests_judges *j = &r->judges;
	struct mixer_source joining;
	struct failure why = {0};

	if (c->kind == LEDGER_RESET)
		return reset_run(r, m, c, answer, duplicate, f);
	if (c->global_batch > 0 && !mixer_has_answered(m, c->id))
		j->batch(j->opaque, c->global_batch, &why);
	if (why.code == FAIL_NONE && c->kind != LEDGER_JOIN)
		return mixer_request(m, c, NULL, answer, duplicate, f);
	if (why.code == FAIL_NONE &&
	    j->join(j->opaque, c->domain == NULL ? "" : c->domain, &joining, &why) == FAIL_NONE)
		return mixer_request(m, c, &joining, answer, duplicate, f);
	if (why.code == FAIL_CONFIG || why.code == FAIL_DATA)
		return mixer_refuse(m, c, why.text, answer, duplicate, f);
	*f = why;
	return f->code;
}

/* It is passed over in the ledger, too: else it would wait there for ever. */
static void
reject(
    struct control_requests *r, struct output *o, const rd_kafka_message_t *msg, const char *reason)
{
	char why[REASON_BYTES];
	struct transactions_reject letter = {
	    .topic = r->topic,
	    .offset = msg->offset,
	    .reason = why,
	    .bytes = msg->payload,
	    .n = msg->len < FEED_BLOCK_BAD_BYTES_MAX ? msg->len : FEED_BLOCK_BAD_BYTES_MAX,
	};

	snprintf(why, sizeof(why), "%.*s", REASON_BYTES - 1, reason);
	log_warning("mix: MIX-CONTROL topic=%s offset=%" PRId64
		    " is no request and is passed over: %s",
	    r->topic, msg->offset, why);
	dead_letters_keep(&o->letters, &letter);
}

/* One request, decoded. */
static enum fail_code
take_request(struct control_requests *r, struct mixer *m, struct output *o, const struct control *c,
    size_t bytes, struct sizes *s, struct failure *f)
{
	struct ledger_answer answer;
	bool duplicate = false;

	/* A cancelled request leaves the record smaller. */
	if (c->kind != LEDGER_CANCEL && s->ledger_bytes + bytes > PENDING_BYTES_MAX
		? refuse_size(m, c, &answer, &duplicate, f) != FAIL_NONE
		: ask(r, m, c, &answer, &duplicate, f) != FAIL_NONE)
		return f->code;
	if (duplicate) {
		log_info("mix: request id=%s was answered before", c->id);
		return FAIL_NONE;
	}
	s->ledger_bytes += answer.accepted ? bytes : MIXER_ID_BYTES_MAX;
	s->answers_bytes += strlen(answer.text);
	return pass_answer(o, &answer, f);
}

/* Takes the record that waits into the mixer's state. */
static enum fail_code
take(struct control_requests *r, struct mixer *m, struct output *o, struct sizes *s,
    struct failure *f)
{
	rd_kafka_message_t *msg = r->waiting;
	struct control control = {0};
	struct failure why;
	enum fail_code code;

	assert(msg != NULL);
	assert(msg->offset >= r->offset_next);
	r->waiting = NULL;
	r->offset_next = msg->offset + 1;
	code = control_decode(&control, msg->payload, msg->len, &why);
	if (code == FAIL_NONE)
		code = take_request(r, m, o, &control, msg->len, s, f);
	else if (code == FAIL_MEMORY)
		fail_memory(f);
	else {
		reject(r, o, msg, why.text);
		code = FAIL_NONE;
	}
	if (code == FAIL_NONE)
		mixer_set_control_next(m, r->offset_next);
	control_clear(&control);
	rd_kafka_message_destroy(msg);
	return code;
}

enum fail_code
control_requests_judge(
    struct control_requests *r, struct mixer *m, struct output *o, struct failure *f)
{
	struct sizes s = {0};
	bool waits = true;

	assert(!o->open);
	assert(o->answers_n == 0);
	if (output_ledger_bytes(o, m, &s.ledger_bytes, f) != FAIL_NONE)
		return f->code;
	for (int i = 0; i < CONTROL_REQUESTS_MAX && s.answers_bytes < ANSWERS_BYTES_MAX; i++) {
		if (control_requests_wait(r, &waits, f) != FAIL_NONE)
			return f->code;
		if (!waits)
			break;
		if (take(r, m, o, &s, f) != FAIL_NONE)
			return f->code;
	}
	return FAIL_NONE;
}
