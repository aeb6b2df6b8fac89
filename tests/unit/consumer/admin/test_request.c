/* request.h: requests and their answers, by a ledger and a control topic in a mock cluster. */
#include "consumer/admin/request.h"

#include <pwd.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/kafka/kafka_groups.h"
#include "common/kafka/topics.h"
#include "consumer/admin/request_list.h"
#include "consumer/domain/domains.h"
#include "tests/unit/capture.h"
#include "tests/unit/ledger_mix.h"
#include "tests/unit/mock_cluster.h"
#include "tests/unit/test.h"

enum { WAIT_MS = 10000, SHORT_MS = 1000 };

static struct failure f;
static char at_broker[256];
static struct property item[] = {{(char[]){"bootstrap.servers"}, at_broker}};
static const struct properties properties = {1, item};
static rd_kafka_t *writer;

/* Answers of a record: "+a" accepted, "-a" refused; all ids that were answered up to it. */
struct written {
	const char *answers[3], *ids[4];
	int64_t step_next, control_next;
	enum ledger_kind kind;
	const char *pending;
};

static void
put_record(const char *mix, const struct written *w)
{
	struct ledger_answer answer[3] = {{0}};
	struct ledger_change pending = {.id = (char *)(uintptr_t)w->pending};
	struct ledger l = {.mix = (char *)(uintptr_t)mix,
	    .config = (char *)(uintptr_t) "{}",
	    .kind = w->kind,
	    .step_first = w->step_next,
	    .step_next = w->step_next,
	    .control_next = w->control_next,
	    .answer = answer,
	    .request_id = (char **)(uintptr_t)w->ids,
	    .pending = &pending,
	    .pending_n = w->pending != NULL};
	char topic[32];
	uint8_t *bytes;
	size_t n;

	for (; l.answers_n < 3 && w->answers[l.answers_n] != NULL; l.answers_n++) {
		const char *a = w->answers[l.answers_n];

		answer[l.answers_n] = (struct ledger_answer){.id = (char *)(uintptr_t)(a + 1),
		    .accepted = *a == '+',
		    .step = w->step_next + a[1],
		    .text = (char *)(uintptr_t)a};
	}
	while (l.request_ids_n < 4 && w->ids[l.request_ids_n] != NULL)
		l.request_ids_n++;
	assert_int_equal(ledger_encode(&l, &bytes, &n, &f), FAIL_NONE);
	snprintf(topic, sizeof(topic), "%s.ledger", mix);
	assert_int_equal(rd_kafka_producev(writer, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_PARTITION(0),
			     RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_FREE), RD_KAFKA_V_VALUE(bytes, n),
			     RD_KAFKA_V_END),
	    RD_KAFKA_RESP_ERR_NO_ERROR);
	assert_int_equal(rd_kafka_flush(writer, WAIT_MS), RD_KAFKA_RESP_ERR_NO_ERROR);
}

static void
put_request(const char *topic, const char *id)
{
	const struct control c = {.id = (char *)(uintptr_t)id, .kind = LEDGER_WEIGHTS};
	uint8_t *bytes;
	size_t n;

	assert_int_equal(control_encode(&c, &bytes, &n, &f), FAIL_NONE);
	assert_int_equal(rd_kafka_producev(writer, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_PARTITION(0),
			     RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_FREE), RD_KAFKA_V_VALUE(bytes, n),
			     RD_KAFKA_V_END),
	    RD_KAFKA_RESP_ERR_NO_ERROR);
	assert_int_equal(rd_kafka_flush(writer, WAIT_MS), RD_KAFKA_RESP_ERR_NO_ERROR);
}

/* ---- in place of kafka_groups.c, topics.c and domains.c ---- */

/* What the election answers: FAIL_NONE with a member on `member_host` ("": without one). */
static enum fail_code election_fails;
static const char *member_host = "";
static char asked_group[64];

enum fail_code
kafka_group_members_of(const char *group, const struct properties *p, struct kafka_member *member,
    size_t max, size_t *n, int timeout_ms, struct failure *why)
{
	assert_ptr_equal(p, &properties);
	assert_true(max == 1 && timeout_ms == 5000);
	snprintf(asked_group, sizeof(asked_group), "%s", group);
	*n = member_host[0] != '\0';
	*member = (struct kafka_member){.assigned = true};
	snprintf(member->host, sizeof(member->host), "%s", member_host);
	return election_fails == FAIL_NONE ? FAIL_NONE : fail(why, election_fails, "no members");
}

static int asked_batch; /* sequences of a step; 0: topics_check_batch() was not called */
static enum fail_code batch_fails, domain_fails;
static char asked_domain[64];

enum fail_code
topics_check_batch(rd_kafka_t *rk, const struct config *c, uint32_t global_batch, int timeout_ms,
    struct failure *why)
{
	assert_non_null(rk);
	assert_string_equal(c->mix.name, "m");
	assert_int_equal(timeout_ms, REQUEST_ASK_MS);
	asked_batch = (int)global_batch;
	return batch_fails == FAIL_NONE ? FAIL_NONE : fail(why, batch_fails, "too large");
}

static uint64_t joining_sequences[] = {50};
static bool joining_sealed[] = {true};

enum fail_code
domains_add(struct domains *d, rd_kafka_t *reader, const char *name, bool live, struct failure *why)
{
	assert_non_null(reader);
	assert_false(live);
	snprintf(asked_domain, sizeof(asked_domain), "%s of %s, %d tokens, %d", name,
	    d->config->corpus, (int)d->config->sequence_length, (int)d->tokenizer);
	if (domain_fails != FAIL_NONE)
		return fail(why, domain_fails, "it cannot join");
	d->facts = calloc(1, sizeof(*d->facts));
	d->n = 1;
	d->facts[0] = (struct domains_facts){
	    .partitions_n = 1, .sequences = joining_sequences, .sealed = joining_sealed};
	snprintf(d->facts[0].name, sizeof(d->facts[0].name), "%s", name);
	return FAIL_NONE;
}

void
domains_drop_last(struct domains *d)
{
	assert_int_equal(d->n, 1);
	d->n--;
}

/* ---- tests ---- */

static struct request *
open_request(const char *mix)
{
	static const struct stop stop;
	const struct request_options o = {.mix = mix, .properties = &properties, .stop = &stop};
	struct request *r;

	assert_int_equal(request_open(&r, &o, &f), FAIL_NONE);
	return r;
}

static void
check_answer(struct ledger_answer *a, const char *id, bool accepted, int64_t step)
{
	assert_non_null(a->id);
	assert_string_equal(a->id, id);
	assert_int_equal(a->accepted, accepted);
	assert_int_equal(a->step, step + id[0]);
	assert_true(a->text[0] == (accepted ? '+' : '-') && strcmp(a->text + 1, id) == 0);
	ledger_answer_clear(a);
}

static void
test_an_earlier_answer_is_found_by_its_id(void **unused)
{
	static const struct written records[] = {
	    {.answers = {"+a"}, .ids = {"gone", "a"}, .step_next = 0},
	    {.answers = {"-b", "+c"}, .ids = {"gone", "a", "b", "c"}, .step_next = 10},
	    {.ids = {"gone", "a", "b", "c"}, .step_next = 20},
	};
	struct ledger_answer a;
	struct request *r;
	bool found;

	(void)unused;
	r = open_request("early");
	assert_null(request_ledger(r)); /* the mix has not started */
	assert_int_equal(request_earlier(r, "a", &a, &found, &f), FAIL_NONE);
	assert_false(found);
	request_close(r);
	EACH_ROW(i, records)
		put_record("early", &records[i]);
	r = open_request("early");
	assert_int_equal(request_ledger(r)->step_next, 20);
	assert_int_equal(request_earlier(r, "c", &a, &found, &f), FAIL_NONE);
	assert_true(found);
	check_answer(&a, "c", true, 10);
	assert_int_equal(request_earlier(r, "nobody", &a, &found, &f), FAIL_NONE);
	assert_false(found);
	assert_int_equal(request_earlier(r, "a", &a, &found, &f), FAIL_NONE);
	assert_true(found);
	check_answer(&a, "a", true, 0);
	assert_int_equal(request_earlier(r, "b", &a, &found, &f), FAIL_NONE);
	check_answer(&a, "b", false, 10);
	assert_int_equal(request_earlier(r, "gone", &a, &found, &f), FAIL_DATA);
	assert_non_null(strstr(f.text, "its answer was deleted"));
	request_close(r);
}

/* Answers come in any order, in one or more records, with answers to other requests. */
static void
test_each_request_gets_its_own_answer(void **unused)
{
	static const struct written before = {.answers = {"+x"}, .ids = {"x"}, .step_next = 0},
				    after[] = {
					{.answers = {"+other", "-z"}, .step_next = 10},
					{.step_next = 20},
					{.answers = {"+x", "+y"}, .step_next = 30},
				    };
	const struct control c[] = {
	    {.id = (char[]){"x"}}, {.id = (char[]){"y"}}, {.id = (char[]){"z"}}};
	struct ledger_answer a[3];
	struct request *r;

	(void)unused;
	put_record("wait", &before);
	r = open_request("wait");
	EACH_ROW(i, after)
		put_record("wait", &after[i]);
	assert_int_equal(request_wait(r, c, 3, a, WAIT_MS, &f), FAIL_NONE);
	check_answer(&a[0], "x", true, 30); /* not the answer from before the opening */
	check_answer(&a[1], "y", true, 30);
	check_answer(&a[2], "z", false, 10);
	assert_int_equal(request_wait(r, c, 1, a, SHORT_MS, &f), FAIL_TIMEOUT);
	assert_non_null(strstr(f.text, "no answer to request x within 1 s"));
	request_close(r);
}

static void
test_a_mix_that_ends_answers_no_more(void **unused)
{
	static const struct written begun = {.step_next = 0},
				    ended = {
					.answers = {"+x"}, .step_next = 10, .kind = LEDGER_END};
	const struct control c[] = {{.id = (char[]){"x"}}, {.id = (char[]){"y"}}};
	struct ledger_answer a[2];
	struct request *r;

	(void)unused;
	put_record("ends", &begun);
	r = open_request("ends");
	put_record("ends", &ended);
	assert_int_equal(request_wait(r, c, 2, a, WAIT_MS, &f), FAIL_DATA);
	assert_non_null(strstr(f.text, "has ended without an answer to request y"));
	check_answer(&a[0], "x", true, 10);
	request_close(r);
	r = open_request("ends");
	assert_int_equal(request_send(r, c, 2, &f), FAIL_DATA);
	assert_non_null(strstr(f.text, "ended before step 10"));
	request_close(r);
}

/* Reading only the new records gives the same list as reading all of them. */
static void
test_a_list_that_is_read_on_is_that_which_is_read_anew(void **unused)
{
	static const struct {
		const char *sent[3];
		struct written record;
		enum request_state state[5]; /* of those of a, b, c, d, e that were sent */
	} rows[] = {
	    {{"a", "b"}, {.step_next = 1}, {REQUEST_OPEN, REQUEST_OPEN}},
	    {{"a", "c"},
		{.answers = {"+a", "-b"}, .step_next = 2, .control_next = 2, .pending = "a"},
		{REQUEST_ACCEPTED, REQUEST_REFUSED, REQUEST_OPEN}},
	    {{NULL}, {.step_next = 3, .control_next = 2},
		{REQUEST_IN_FORCE, REQUEST_REFUSED, REQUEST_OPEN}},
	    {{"d", "e"},
		{.answers = {"+c", "+e"}, .step_next = 4, .control_next = 6, .pending = "e"},
		{REQUEST_IN_FORCE, REQUEST_REFUSED, REQUEST_IN_FORCE, REQUEST_OPEN,
		    REQUEST_ACCEPTED}},
	};
	struct request_list kept = {0};
	size_t sent = 0;

	(void)unused;
	EACH_ROW(i, rows) {
		struct request_list fresh = {0};
		struct request *r;
		size_t n = 0;

		for (; n < 3 && rows[i].sent[n] != NULL; n++)
			put_request("list.control", rows[i].sent[n]);
		for (size_t k = 0; k < n; k++)
			sent += rows[i].sent[k][0] - 'a' == (int)sent;
		put_record("list", &rows[i].record);
		r = open_request("list");
		assert_int_equal(
		    request_list_read(&fresh, "list", &properties, request_ledger(r), &f),
		    FAIL_NONE);
		assert_int_equal(
		    request_list_read_on(&kept, "list", &properties, request_ledger(r), 100, &f),
		    FAIL_NONE);
		assert_int_equal(fresh.n, sent);
		assert_int_equal(kept.n, sent);
		assert_int_equal(fresh.next, kept.next);
		for (size_t k = 0; k < sent; k++) {
			assert_int_equal(fresh.entry[k].asked.id[0], 'a' + (int)k);
			assert_int_equal(fresh.entry[k].state, rows[i].state[k]);
			assert_int_equal(kept.entry[k].state, rows[i].state[k]);
			assert_int_equal(fresh.entry[k].offset, kept.entry[k].offset);
			assert_int_equal(
			    kept.entry[k].answer.id != NULL, fresh.entry[k].answer.id != NULL);
		}
		request_list_close(&fresh);
		request_close(r);
	}
	/* The oldest give way. */
	assert_int_equal(request_list_read_on(&kept, "list", &properties, NULL, 2, &f), FAIL_NONE);
	assert_int_equal(kept.n, 2);
	assert_string_equal(kept.entry[0].asked.id, "d");
	request_list_close(&kept);
}

/* Requests are in the topic when request_send() returns, and the election says who can answer. */
static void
test_requests_are_sent_and_a_missing_mixer_is_told(void **unused)
{
	static const struct {
		enum fail_code election;
		const char *host;
		bool without;
		const char *says;
	} rows[] = {
	    {FAIL_NONE, "", true,
		"request: REQUEST-NO-MIXER no mixer of mix sent runs: request %c1 stays in topic "
		"sent.control, and the next `riffle mix` answers it. `riffle requests --cancel "
		"%c1` withdraws it\n"},
	    {FAIL_NONE, "host", false, ""},
	    {FAIL_DENIED, "", false,
		"request: REQUEST-MIXERS no members: whether a mixer runs is not known\n"},
	    {FAIL_TIMEOUT, "", false, ""},
	};
	const struct written begun = {.step_next = 1};
	struct request_list list = {0};
	struct request *r;

	(void)unused;
	put_record("sent", &begun);
	r = open_request("sent");
	assert_string_equal(request_options(r)->mix, "sent");
	EACH_NAMED_ROW(i, rows, says) {
		char id[2][4] = {{(char)('a' + i), '1'}, {(char)('a' + i), '2'}};
		struct control c[] = {{.id = id[0], .kind = LEDGER_WEIGHTS, .at_step = 7},
		    {.id = id[1], .kind = LEDGER_LEAVE, .domain = (char[]){"web"}}};
		char text[1024], expected[1024];
		struct capture captured;
		enum fail_code code;
		int lines;

		election_fails = rows[i].election;
		member_host = rows[i].host;
		capture_begin(&captured);
		code = request_send(r, c, 2, &f);
		lines = capture_end_lines(&captured, text, sizeof(text));
		assert_int_equal(code, FAIL_NONE);
		assert_int_equal(request_sent(r), REQUEST_SENT);
		assert_string_equal(asked_group, "sent.election");
		assert_int_equal(request_without_mixer(r), rows[i].without);
		assert_int_equal(lines, rows[i].says[0] != '\0');
		snprintf(expected, sizeof(expected), rows[i].says, (int)id[0][0], (int)id[0][0]);
		assert_non_null(strstr(text, expected));
	}
	assert_int_equal(
	    request_list_read(&list, "sent", &properties, request_ledger(r), &f), FAIL_NONE);
	assert_int_equal(list.n, 8);
	for (size_t k = 0; k < list.n; k++) {
		const struct control *c = &list.entry[k].asked;

		assert_int_equal(c->id[0], 'a' + k / 2);
		assert_int_equal(c->id[1], '1' + k % 2);
		assert_int_equal(c->kind, k % 2 == 0 ? LEDGER_WEIGHTS : LEDGER_LEAVE);
		assert_int_equal(c->at_step, k % 2 == 0 ? 7 : 0);
		assert_string_equal(c->domain, k % 2 == 0 ? "" : "web");
		assert_int_equal(list.entry[k].offset, k);
		assert_int_equal(list.entry[k].state, REQUEST_OPEN);
	}
	assert_int_equal(list.next, 8);
	request_list_close(&list);
	request_close(r);
}

/* A mix without topics takes nothing, and a topic that fails leaves the requests unsent. */
static void
test_what_is_not_sent_is_told(void **unused)
{
	const struct control c = {.id = (char[]){"x"}, .kind = LEDGER_WEIGHTS};
	struct request *r;

	(void)unused;
	asked_group[0] = '\0';
	r = open_request("refused");
	rd_kafka_mock_topic_set_error(
	    cluster, "refused.control", RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
	assert_int_equal(request_send(r, &c, 1, &f), FAIL_CONFIG);
	assert_non_null(strstr(f.text, "refused.control"));
	assert_int_equal(request_sent(r), REQUEST_UNSENT);
	rd_kafka_mock_topic_set_error(cluster, "refused.control", RD_KAFKA_RESP_ERR_NO_ERROR);
	rd_kafka_mock_push_request_errors(
	    cluster, 0 /* Produce */, 1, RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
	assert_int_equal(request_send(r, &c, 1, &f), FAIL_DENIED);
	assert_int_equal(strncmp(f.text, "topic refused.control: ", 23), 0);
	assert_int_equal(request_sent(r), REQUEST_UNSENT);
	assert_string_equal(asked_group, ""); /* no request waits for a mixer */
	election_fails = FAIL_NONE;
	assert_int_equal(request_send(r, &c, 1, &f), FAIL_NONE);
	assert_int_equal(request_sent(r), REQUEST_SENT);
	request_close(r);
}

static void
test_a_wait_is_stopped_or_explained(void **unused)
{
	enum { SAID_MS = 2000 };
	static struct stop stop;
	const struct request_options o = {.mix = "waits", .properties = &properties, .stop = &stop};
	const struct control c = {.id = (char[]){"x"}, .kind = LEDGER_WEIGHTS};
	struct ledger_answer a;
	struct capture captured;
	struct request *r;
	enum fail_code code;
	char text[1024];

	(void)unused;
	assert_int_equal(request_open(&r, &o, &f), FAIL_NONE);
	election_fails = FAIL_NONE;
	member_host = "busy";
	assert_int_equal(request_send(r, &c, 1, &f), FAIL_NONE);
	capture_begin(&captured);
	code = request_wait(r, &c, 1, &a, SAID_MS + 500, &f);
	assert_int_equal(capture_end_lines(&captured, text, sizeof(text)), 1);
	assert_non_null(strstr(text,
	    "request: REQUEST-WAIT a mixer is registered on busy, and has not answered request x "
	    "yet: it is busy, or was killed within the last 10 s. Waiting up to 2 s\n"));
	assert_int_equal(code, FAIL_TIMEOUT);
	assert_string_equal(f.text,
	    "no answer to request x within 2 s: is a mixer running (`riffle mix`)? The request "
	    "stays in topic waits.control and is answered when one runs; asking again with --id x "
	    "finds the answer");
	stop_ask(&stop);
	assert_int_equal(request_wait(r, &c, 1, &a, WAIT_MS, &f), FAIL_STOPPED);
	assert_string_equal(f.text,
	    "stopped while waiting for the answer to request x; `riffle requests --cancel x` "
	    "withdraws it");
	assert_null(a.id);
	request_close(r);
}

/* A mix that starts after the opening: its first record is followed like any other. */
static void
test_an_answer_of_a_mix_that_starts_later_is_met(void **unused)
{
	static const struct written records[] = {
	    {.step_next = 0}, {.answers = {"+x"}, .step_next = 10}};
	const struct control c = {.id = (char[]){"x"}};
	struct request *r = open_request("later");
	struct ledger_answer a;

	(void)unused;
	assert_null(request_ledger(r));
	assert_int_equal(request_wait(r, &c, 1, &a, 0, &f), FAIL_TIMEOUT);
	assert_int_equal(request_wait(r, &c, 1, &a, 1, &f), FAIL_TIMEOUT);
	EACH_ROW(i, records)
		put_record("later", &records[i]);
	assert_int_equal(request_wait(r, &c, 1, &a, WAIT_MS, &f), FAIL_NONE);
	check_answer(&a, "x", true, 10);
	request_close(r);
}

static void
test_ids_are_new_and_say_what_they_are_of(void **unused)
{
	static const struct {
		const char *prefix, *begins;
	} rows[] = {{"weights", "weights-"}, {"", "-"}, {"fourteen-bytes", "fourteen-bytes-"},
	    {"fifteen--bytes-", "fifteen--bytes-"}};
	char who[REQUEST_WHO_BYTES], expected[REQUEST_WHO_BYTES], host[65] = "";

	(void)unused;
	EACH_NAMED_ROW(i, rows, prefix) {
		char a[REQUEST_ID_BYTES], b[REQUEST_ID_BYTES];
		size_t n = strlen(rows[i].begins);

		assert_int_equal(request_new_id(a, rows[i].prefix, &f), FAIL_NONE);
		assert_int_equal(request_new_id(b, rows[i].prefix, &f), FAIL_NONE);
		assert_string_not_equal(a, b);
		assert_int_equal(strncmp(a, rows[i].begins, n), 0);
		assert_int_equal(strspn(a + n, "0123456789abcdef"), 16);
		assert_int_equal(strlen(a), n + 16);
	}
	request_who(who);
	assert_int_equal(gethostname(host, sizeof(host) - 1), 0);
	snprintf(expected, sizeof(expected), "%.128s@%s",
	    getpwuid(geteuid()) == NULL ? "unknown" : getpwuid(geteuid())->pw_name, host);
	assert_string_equal(who, expected);
}

/* A dry run asks of the broker only what a mixer would: a domain that joins, and a larger step. */
static void
test_a_dry_run_answers_as_a_mixer_would(void **unused)
{
	static const struct {
		enum ledger_change_kind kind;
		const char *mix, *domain;
		uint32_t batch;
		enum fail_code batch_fails, domain_fails, code;
		bool accepted;
		const char *says; /* of a refusal, or the failure */
		int asked_batch;
		const char *asked_domain;
	} rows[] = {
	    {LEDGER_WEIGHTS, "m", NULL, 0, 0, 0, FAIL_NONE, true, NULL, 0, ""},
	    {LEDGER_WEIGHTS, "m", NULL, 16, 0, 0, FAIL_NONE, true, NULL, 16, ""},
	    {LEDGER_WEIGHTS, "m", NULL, 16, FAIL_CONFIG, 0, FAIL_NONE, false, "too large", 16, ""},
	    {LEDGER_WEIGHTS, "m", NULL, 16, FAIL_BROKER, 0, FAIL_BROKER, false, "too large", 16,
		""},
	    {LEDGER_WEIGHTS, "m", NULL, 18, FAIL_CONFIG, 0, FAIL_NONE, false, NULL, 0, ""},
	    {LEDGER_WEIGHTS, "n", NULL, 16, FAIL_CONFIG, 0, FAIL_NONE, true, NULL, 0, ""},
	    {LEDGER_WEIGHTS, NULL, NULL, 16, FAIL_CONFIG, 0, FAIL_NONE, true, NULL, 0, ""},
	    {LEDGER_JOIN, "m", "c", 0, 0, 0, FAIL_NONE, true, NULL, 0, "c of corpus, 64 tokens, 7"},
	    {LEDGER_JOIN, "m", "c", 0, 0, FAIL_CONFIG, FAIL_NONE, false, "it cannot join", 0,
		"c of corpus, 64 tokens, 7"},
	    {LEDGER_JOIN, "m", "c", 0, 0, FAIL_DATA, FAIL_NONE, false, "it cannot join", 0,
		"c of corpus, 64 tokens, 7"},
	    {LEDGER_JOIN, "m", "c", 0, 0, FAIL_TIMEOUT, FAIL_TIMEOUT, false, "it cannot join", 0,
		"c of corpus, 64 tokens, 7"},
	};
	struct ledger_mix x;
	struct ledger last;

	(void)unused;
	ledger_mix_open(&x, 1);
	last = ledger_mix_record(&x, 2);
	last.mix = strdup("m");
	last.tokenizer = 7;
	EACH_ROW(i, rows) {
		struct ledger_raw_weight weight = {(char[]){"a"}, 5}, joins = {(char[]){"c"}, 1};
		const struct control c = {.id = (char[]){"x"},
		    .kind = rows[i].kind,
		    .domain = (char *)(uintptr_t)rows[i].domain,
		    .weight = rows[i].kind == LEDGER_JOIN ? &joins : &weight,
		    .weights_n = 1,
		    .at_step = -1,
		    .global_batch = rows[i].batch};
		const struct config config = {.kafka = properties,
		    .mix = {.name = (char *)(uintptr_t)rows[i].mix, .lanes = 4}};
		struct ledger_answer a;
		struct mixer_effect effect;

		asked_batch = 0;
		asked_domain[0] = '\0';
		batch_fails = rows[i].batch_fails;
		domain_fails = rows[i].domain_fails;
		assert_int_equal(request_dry(&a, &effect, &last, &c, &config, &f), rows[i].code);
		assert_int_equal(asked_batch, rows[i].asked_batch);
		assert_string_equal(asked_domain, rows[i].asked_domain);
		assert_int_equal(a.accepted, rows[i].accepted);
		if (rows[i].says != NULL)
			assert_string_equal(
			    rows[i].code == FAIL_NONE ? a.text : f.text, rows[i].says);
		assert_int_equal(effect.domains_n, !rows[i].accepted             ? 0
						   : rows[i].kind == LEDGER_JOIN ? 3
										 : 2);
		if (rows[i].accepted)
			assert_int_equal(
			    effect.global_batch, rows[i].batch == 0 ? 8 : rows[i].batch);
		ledger_answer_clear(&a);
		mixer_effect_clear(&effect);
	}
	ledger_clear(&last);
	ledger_mix_close(&x);
}

static int
open_cluster(void **unused)
{
	static const char *const mixes[] = {
	    "early", "wait", "ends", "list", "sent", "refused", "waits", "later"};
	struct kafka_options o = {.role = KAFKA_WRITER,
	    .client = "test",
	    .properties = &properties,
	    .message_bytes_max = 1 << 20};

	(void)unused;
	if (open_mock_cluster(&f) != FAIL_NONE)
		return -1;
	snprintf(at_broker, sizeof(at_broker), "%s", rd_kafka_mock_cluster_bootstraps(cluster));
	for (size_t i = 0; i < sizeof(mixes) / sizeof(mixes[0]); i++) {
		char topic[32];

		snprintf(topic, sizeof(topic), "%s.ledger", mixes[i]);
		rd_kafka_mock_topic_create(cluster, topic, 1, 1);
		snprintf(topic, sizeof(topic), "%s.control", mixes[i]);
		rd_kafka_mock_topic_create(cluster, topic, 1, 1);
	}
	return kafka_open(&writer, &o, &f) != FAIL_NONE;
}

static int
close_cluster(void **unused)
{
	(void)unused;
	kafka_close(writer);
	kafka_close(owner);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_an_earlier_answer_is_found_by_its_id),
	    cmocka_unit_test(test_each_request_gets_its_own_answer),
	    cmocka_unit_test(test_a_mix_that_ends_answers_no_more),
	    cmocka_unit_test(test_a_list_that_is_read_on_is_that_which_is_read_anew),
	    cmocka_unit_test(test_requests_are_sent_and_a_missing_mixer_is_told),
	    cmocka_unit_test(test_what_is_not_sent_is_told),
	    cmocka_unit_test(test_a_wait_is_stopped_or_explained),
	    cmocka_unit_test(test_an_answer_of_a_mix_that_starts_later_is_met),
	    cmocka_unit_test(test_ids_are_new_and_say_what_they_are_of),
	    cmocka_unit_test(test_a_dry_run_answers_as_a_mixer_would),
	};

	log_set_level(LOG_ERROR);
	return cmocka_run_group_tests(tests, open_cluster, close_cluster);
}
