/* request.h: requests and their answers, by a ledger and a control topic in a mock cluster. */
#include "consumer/admin/request.h"

#include "common/base/log.h"
#include "consumer/admin/request_list.h"
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

static int
open_cluster(void **unused)
{
	static const char *const mixes[] = {"early", "wait", "ends", "list"};
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
	};

	log_set_level(LOG_ERROR);
	return cmocka_run_group_tests(tests, open_cluster, close_cluster);
}
