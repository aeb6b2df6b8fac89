#include "consumer/admin/request.h"

#include <assert.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/names.h"
#include "common/kafka/kafka.h"
#include "common/kafka/kafka_groups.h"
#include "common/kafka/topics.h"
#include "consumer/domain/domains.h"
#include "consumer/ledger/ledger_log.h"
#include "consumer/mixer/mixer.h"
#include "consumer/plan/ledger_plan.h"

enum { SAID_MS = 2000 }; /* of a wait, before it is explained */
enum { SLICE_MS = 200, DELIVERY_MS = 30000, FIRST_ANSWER_MS = 10000, ELECTION_MS = 5000 };

struct request {
	struct request_options o;
	struct ledger_log *log;
	bool started;       /* the ledger had a record */
	bool following;     /* ledger_log_next() gives what comes behind `last` */
	struct ledger last; /* at the opening */
	rd_kafka_resp_err_t failed;
	/* Of those that were sent last: given to librdkafka; the broker has them; it has not. */
	size_t put, delivered, refused;
	char mixer_host[64]; /* of one that was registered when they were sent; "": not known */
	bool without_mixer;  /* no mixer ran when the last ones were sent */
};

/* ---- opening ---- */

/* Keeps the ledger's last record; what ledger_log_next() gives from here on came after it. */
static enum fail_code
follow(struct request *r, struct failure *f)
{
	struct ledger record = {0};
	enum fail_code code;
	int64_t offset;

	if (ledger_log_last(r->log, &record, &r->started, f) != FAIL_NONE)
		return f->code;
	ledger_clear(&record);
	if (!r->started)
		return FAIL_NONE;
	if (ledger_log_seek(r->log, UINT64_MAX, false, f) != FAIL_NONE)
		return f->code;
	code = ledger_log_next(r->log, 0, &r->last, &offset, f);
	r->following = code == FAIL_NONE;
	return code;
}

enum fail_code
request_open(struct request **out, const struct request_options *o, struct failure *f)
{
	struct request *r = calloc(1, sizeof(*r));

	assert(o->mix != NULL);
	assert(o->properties != NULL);
	if (r == NULL)
		return fail_memory(f);
	r->o = *o;
	if (ledger_log_open(&r->log, o->mix, o->properties, REQUEST_ASK_MS, f) != FAIL_NONE ||
	    follow(r, f) != FAIL_NONE) {
		request_close(r);
		return f->code;
	}
	*out = r;
	return FAIL_NONE;
}

void
request_close(struct request *r)
{
	if (r == NULL)
		return;
	ledger_log_close(r->log);
	ledger_clear(&r->last);
	free(r);
}

const struct ledger *
request_ledger(const struct request *r)
{
	return r->started ? &r->last : NULL;
}

const struct request_options *
request_options(const struct request *r)
{
	return &r->o;
}

enum request_sent
request_sent(const struct request *r)
{
	if (r->refused == r->put)
		return REQUEST_UNSENT;
	return r->delivered == r->put ? REQUEST_SENT : REQUEST_IN_DOUBT;
}

bool
request_without_mixer(const struct request *r)
{
	return r->without_mixer;
}

/* ---- answers ---- */

/* Takes the answer to `id` out of a record. */
static bool
take_answer(struct ledger *l, const char *id, struct ledger_answer *out)
{
	for (size_t i = 0; i < l->answers_n; i++)
		if (l->answer[i].id != NULL && strcmp(l->answer[i].id, id) == 0) {
			*out = l->answer[i];
			l->answer[i] = (struct ledger_answer){0};
			return true;
		}
	return false;
}

static bool
is_answered(const struct ledger *l, const char *id)
{
	for (size_t i = 0; i < l->request_ids_n; i++)
		if (l->request_id[i] != NULL && strcmp(l->request_id[i], id) == 0)
			return true;
	return false;
}

/* Reads the whole ledger: an earlier answer is rarely wanted. */
static enum fail_code
search(struct ledger_log *log, const char *id, struct ledger_answer *out, bool *found,
    struct failure *f)
{
	struct ledger record = {0};
	enum fail_code code;
	bool any;

	*found = false;
	code = ledger_log_first(log, &record, &any, f);
	while (code == FAIL_NONE && any && !*found) {
		int64_t offset;

		*found = take_answer(&record, id, out);
		ledger_clear(&record);
		if (!*found)
			code = ledger_log_next(log, 0, &record, &offset, f);
	}
	ledger_clear(&record);
	return code == FAIL_TIMEOUT ? FAIL_NONE : code;
}

enum fail_code
request_earlier(
    struct request *r, const char *id, struct ledger_answer *out, bool *found, struct failure *f)
{
	struct ledger_log *log;
	enum fail_code code;

	assert(id != NULL);
	*found = false;
	if (!r->started || !is_answered(&r->last, id))
		return FAIL_NONE;
	if (ledger_log_open(&log, r->o.mix, r->o.properties, REQUEST_ASK_MS, f) != FAIL_NONE)
		return f->code;
	code = search(log, id, out, found, f);
	if (code == FAIL_NONE && !*found)
		code = fail(f, FAIL_DATA,
		    "request %s was answered, and its answer was deleted from topic %s", id,
		    ledger_log_topic(log));
	ledger_log_close(log);
	return code;
}

/*
 * The next record of the ledger, into a zeroed *out; *any is false: none came in time. A mix that
 * had not started at the opening has an empty ledger: there is nothing to follow until its first
 * record.
 */
static enum fail_code
next_record(struct request *r, struct ledger *out, bool *any, struct failure *f)
{
	int64_t offset;
	enum fail_code code;

	*any = false;
	if (!r->following) {
		code = ledger_log_first(r->log, out, any, f);
		r->following = code == FAIL_NONE && *any;
		if (code == FAIL_NONE && !*any)
			clock_pause_ms(SLICE_MS);
		return code;
	}
	code = ledger_log_next(r->log, SLICE_MS, out, &offset, f);
	*any = code == FAIL_NONE;
	return code == FAIL_TIMEOUT ? FAIL_NONE : code;
}

static enum fail_code
fail_unanswered(const struct request *r, const struct control *c, int timeout_ms, struct failure *f)
{
	return fail(f, FAIL_TIMEOUT,
	    "no answer to request %s within %d s: is a mixer running (`riffle mix`)? The request "
	    "stays in topic %s.control and is answered when one runs; asking again with --id %s "
	    "finds the "
	    "answer",
	    c->id, timeout_ms / 1000, r->o.mix, c->id);
}

enum fail_code
request_wait(struct request *r, const struct control *c, size_t n, struct ledger_answer *out,
    int timeout_ms, struct failure *f)
{
	int64_t begun_ms = clock_ms(), deadline_ms = begun_ms + timeout_ms;
	size_t missing = n, first = 0;
	bool ended = false, said = false;

	assert(n > 0);
	assert(timeout_ms >= 0);
	memset(out, 0, n * sizeof(*out));
	while (missing > 0) {
		struct ledger record = {0};
		bool any;

		assert(first < n);
		if (stop_asked(r->o.stop))
			return fail(f, FAIL_STOPPED,
			    "stopped while waiting for the answer to request %s; "
			    "`riffle requests --cancel %s` withdraws it",
			    c[first].id, c[first].id);
		if (clock_ms() >= deadline_ms)
			return fail_unanswered(r, &c[first], timeout_ms, f);
		if (!said && r->mixer_host[0] != '\0' && clock_ms() - begun_ms >= SAID_MS) {
			log_warning(
			    "request: REQUEST-WAIT a mixer is registered on %s, and has not "
			    "answered request %s yet: it is busy, or was killed within the "
			    "last %d s. Waiting up to %d s",
			    r->mixer_host, c[first].id, KAFKA_GROUPS_SESSION_MS / 1000,
			    timeout_ms / 1000);
			said = true;
		}
		if (next_record(r, &record, &any, f) != FAIL_NONE)
			return f->code;
		for (size_t i = first; any && record.answers_n > 0 && i < n; i++)
			if (out[i].id == NULL && take_answer(&record, c[i].id, &out[i]))
				missing--;
		while (missing > 0 && out[first].id != NULL)
			first++;
		ended = any && record.kind == LEDGER_END;
		ledger_clear(&record);
		if (ended && missing > 0)
			return fail(f, FAIL_DATA,
			    "mix %s has ended without an answer to request %s", r->o.mix,
			    c[first].id);
	}
	return FAIL_NONE;
}

/* ---- sending ---- */

static void
delivered(rd_kafka_t *rk, const rd_kafka_message_t *m, void *opaque)
{
	struct request *r = opaque;

	(void)rk;
	if (m->err == RD_KAFKA_RESP_ERR_NO_ERROR)
		r->delivered++;
	else if (r->failed == RD_KAFKA_RESP_ERR_NO_ERROR)
		r->failed = m->err;
	r->refused += rd_kafka_message_status(m) == RD_KAFKA_MSG_STATUS_NOT_PERSISTED;
}

/* A user without WRITE on any topic gets no producer id: then nothing of the handle's is taken. */
static enum fail_code
fail_writing(struct failure *f, rd_kafka_t *rk, rd_kafka_resp_err_t err, const char *topic)
{
	char ignored[8];

	if (rd_kafka_fatal_error(rk, ignored, sizeof(ignored)) ==
	    RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED)
		err = RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED;
	kafka_fail_topic(f, rk, err, NULL, "writing a request", topic);
	return fail_within(f, "topic %s", topic);
}

static enum fail_code
put(rd_kafka_t *rk, const char *topic, const struct control *c, struct failure *f)
{
	rd_kafka_resp_err_t err;
	uint8_t *bytes;
	size_t n;

	if (control_encode(c, &bytes, &n, f) != FAIL_NONE)
		return f->code;
	err = rd_kafka_producev(rk, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_PARTITION(0),
	    RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_FREE), RD_KAFKA_V_VALUE(bytes, n), RD_KAFKA_V_END);
	if (err == RD_KAFKA_RESP_ERR_NO_ERROR)
		return FAIL_NONE;
	free(bytes);
	return fail_writing(f, rk, err, topic);
}

static enum fail_code
send_all(struct request *r, rd_kafka_t *rk, const struct control *c, size_t n, struct failure *f)
{
	int64_t deadline_ms = clock_ms() + DELIVERY_MS;
	char topic[TOPIC_MAX_BYTES + 1];
	int partitions;

	assert(n > 0);
	names_topic(topic, r->o.mix, "control");
	if (kafka_partitions(rk, topic, &partitions, REQUEST_ASK_MS, f) != FAIL_NONE)
		return f->code;
	if (partitions == 0)
		return kafka_fail_missing(f, rk, topic);
	for (; r->put < n; r->put++)
		if (put(rk, topic, &c[r->put], f) != FAIL_NONE)
			return f->code;
	while (r->delivered < n && r->failed == 0 && clock_ms() < deadline_ms)
		rd_kafka_poll(rk, SLICE_MS);
	if (r->delivered == n)
		return FAIL_NONE;
	return fail_writing(
	    f, rk, r->failed == 0 ? RD_KAFKA_RESP_ERR__TIMED_OUT : r->failed, topic);
}

/* Says at once what a wait would only show at its end. No answer is no failure of the request. */
static void
warn_without_mixer(struct request *r, const char *id)
{
	char group[TOPIC_MAX_BYTES + 1];
	struct kafka_member member;
	struct failure why;
	enum fail_code code;
	size_t n;

	names_topic(group, r->o.mix, "election");
	code = kafka_group_members_of(group, r->o.properties, &member, 1, &n, ELECTION_MS, &why);
	if (code == FAIL_DENIED)
		log_warning(
		    "request: REQUEST-MIXERS %s: whether a mixer runs is not known", why.text);
	r->without_mixer = code == FAIL_NONE && n == 0;
	if (code == FAIL_NONE && n > 0)
		snprintf(r->mixer_host, sizeof(r->mixer_host), "%s", member.host);
	if (r->without_mixer)
		log_warning("request: REQUEST-NO-MIXER no mixer of mix %s runs: request %s stays "
			    "in topic %s.control, and the next `riffle mix` answers it. `riffle "
			    "requests --cancel %s` withdraws it",
		    r->o.mix, id, r->o.mix, id);
}

enum fail_code
request_send(struct request *r, const struct control *c, size_t n, struct failure *f)
{
	struct property tune[] = {{(char[]){"linger.ms"}, (char[]){"0"}}};
	struct kafka_options k = {.role = KAFKA_WRITER,
	    .properties = r->o.properties,
	    .client = "request",
	    .tune = tune,
	    .tune_n = 1,
	    .delivered = delivered,
	    .opaque = r};
	rd_kafka_t *rk;
	enum fail_code code;

	if (r->started && r->last.kind == LEDGER_END)
		return fail(f, FAIL_DATA,
		    "mix %s ended before step %" PRId64 " and takes no requests any more", r->o.mix,
		    r->last.step_next);
	if (kafka_open(&rk, &k, f) != FAIL_NONE)
		return f->code;
	r->put = r->delivered = r->refused = 0;
	r->failed = RD_KAFKA_RESP_ERR_NO_ERROR;
	code = send_all(r, rk, c, n, f);
	kafka_close(rk);
	if (code == FAIL_NONE)
		warn_without_mixer(r, c[0].id);
	return code;
}

enum fail_code
request_new_id(char out[static REQUEST_ID_BYTES], const char *prefix, struct failure *f)
{
	uint64_t random;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return fail_errno(f, FAIL_IO, "cannot draw a random number for the request's id");
	snprintf(out, REQUEST_ID_BYTES, "%.14s-%016" PRIx64, prefix, random);
	return FAIL_NONE;
}

void
request_who(char out[static REQUEST_WHO_BYTES])
{
	const struct passwd *user = getpwuid(geteuid());
	char host[65] = "";

	if (gethostname(host, sizeof(host) - 1) != 0)
		host[0] = '\0';
	snprintf(
	    out, REQUEST_WHO_BYTES, "%.128s@%s", user == NULL ? "unknown" : user->pw_name, host);
}

/* ---- without asking ---- */

/*
 * What a mix would answer is what a mixer in the state of its last record answers: the same code
 * judges (mixer_request()). A mixer that runs may be some steps further, and then decide otherwise.
 */
struct dry {
	struct ledger_plan plan;
	struct mixer *mixer;
	rd_kafka_t *reader;
	struct config config;   /* of what domains_add() looks at */
	struct domains domains; /* none, or the one that would join */
};

static void
close_dry(struct dry *d)
{
	while (d->domains.n > 0)
		domains_drop_last(&d->domains);
	free(d->domains.facts);
	kafka_close(d->reader);
	mixer_close(d->mixer);
	ledger_plan_close(&d->plan);
}

/* FAIL_CONFIG: why the domain cannot join. */
static enum fail_code
look_at(struct dry *d, const struct ledger *last, const char *name, const struct config *c,
    struct mixer_source *out, struct failure *f)
{
	struct kafka_options k = {
	    .role = KAFKA_READER, .properties = &c->kafka, .client = "request-dry"};
	const struct domains_facts *facts;

	d->config = (struct config){.corpus = (char *)(uintptr_t)d->plan.corpus,
	    .sequence_length = d->plan.plan.sequence_length};
	d->domains = (struct domains){.tokenizer = last->tokenizer, .config = &d->config};
	if (kafka_open(&d->reader, &k, f) != FAIL_NONE ||
	    kafka_wait_broker(d->reader, FIRST_ANSWER_MS, f) != FAIL_NONE ||
	    domains_add(&d->domains, d->reader, name, false, f) != FAIL_NONE)
		return f->code;
	assert(d->domains.n == 1);
	facts = &d->domains.facts[0];
	*out = (struct mixer_source){
	    .name = facts->name,
	    .partitions_n = facts->partitions_n,
	    .sequences = facts->sequences,
	    .sealed = facts->sealed,
	};
	return FAIL_NONE;
}

/*
 * Whether the topic of batches takes steps of that many sequences. Without the configuration of the
 * mix it is not known how large a sequence can be; nor is what memory the mixer has, ever.
 */
static enum fail_code
look_at_batch(const struct ledger *last, uint32_t batch, const struct config *c, struct failure *f)
{
	struct kafka_options k = {
	    .role = KAFKA_ADMIN, .properties = &c->kafka, .client = "request-dry"};
	rd_kafka_t *admin;
	enum fail_code code;

	if (batch == 0 || c->mix.name == NULL || strcmp(c->mix.name, last->mix) != 0 ||
	    batch % c->mix.lanes != 0)
		return FAIL_NONE;
	if (kafka_open(&admin, &k, f) != FAIL_NONE)
		return f->code;
	code = kafka_wait_broker(admin, FIRST_ANSWER_MS, f);
	if (code == FAIL_NONE)
		code = topics_check_batch(admin, c, batch, REQUEST_ASK_MS, f);
	kafka_close(admin);
	return code;
}

static enum fail_code
judge(struct dry *d, const struct ledger *last, const struct control *request,
    const struct config *c, struct ledger_answer *out, struct mixer_effect *effect,
    struct failure *f)
{
	struct mixer_source joining;
	struct failure why = {0};
	bool duplicate;

	if (look_at_batch(last, request->global_batch, c, &why) == FAIL_NONE &&
	    request->kind != LEDGER_JOIN)
		return mixer_request_with_effect(
		    d->mixer, request, NULL, out, &duplicate, effect, f);
	if (why.code == FAIL_NONE &&
	    look_at(d, last, request->domain, c, &joining, &why) == FAIL_NONE)
		return mixer_request_with_effect(
		    d->mixer, request, &joining, out, &duplicate, effect, f);
	if (why.code == FAIL_CONFIG || why.code == FAIL_DATA)
		return mixer_refuse(d->mixer, request, why.text, out, &duplicate, f);
	*f = why;
	return f->code;
}

enum fail_code
request_dry(struct ledger_answer *out, struct mixer_effect *effect, const struct ledger *last,
    const struct control *request, const struct config *c, struct failure *f)
{
	struct dry d = {0};
	enum fail_code code;

	assert(last != NULL);
	assert(request->id != NULL);
	*out = (struct ledger_answer){0};
	*effect = (struct mixer_effect){0};
	code = ledger_plan_open(&d.plan, last, f);
	if (code == FAIL_NONE)
		code = mixer_resume(&d.mixer, &d.plan.plan, last, f);
	if (code == FAIL_NONE)
		code = judge(&d, last, request, c, out, effect, f);
	close_dry(&d);
	return code;
}
