/*
 * control_requests.h: at which record a mixer continues, and what becomes of each record, with
 * control topics in a mock cluster.
 */
#include "consumer/publish/control_requests.h"

#include "common/base/clock.h"
#include "common/record/control.h"
#include "tests/unit/mixes.h"
#include "tests/unit/mock_commits.h"
#include "tests/unit/mock_topics.h"

enum { LANES = 2, REFUSED_BATCH = 64, STEPS = 3, LARGE = 900 << 10 };

static const uint64_t sequences[] = {4000};
static struct config config;
static struct domains domains = {.tokenizer = 7};
static struct stop stop;

/* ---- a mixer and its end of the topic ---- */

static enum fail_code
judge_join(void *opaque, const char *domain, struct mixer_source *out, struct failure *f)
{
	static const uint64_t n[] = {50};

	(void)opaque;
	if (strcmp(domain, "slow") == 0)
		return fail(f, FAIL_BROKER, "no answer");
	if (strcmp(domain, "broken") == 0)
		return fail(f, FAIL_DATA, "it has another tokenizer");
	if (strcmp(domain, "new") != 0)
		return fail(f, FAIL_CONFIG, "there is no topic of domain %s", domain);
	*out = (struct mixer_source){.name = "new", .partitions_n = 1, .sequences = n};
	return FAIL_NONE;
}

static enum fail_code
judge_batch(void *opaque, uint32_t global_batch, struct failure *f)
{
	(void)opaque;
	return global_batch == REFUSED_BATCH ? fail(f, FAIL_DATA, "too many sequences") : FAIL_NONE;
}

struct scene {
	struct mixer *m;
	struct lead *lead;
	struct output o;
	struct control_requests *r;
};

static void
open_scene(struct scene *s, const char *mix)
{
	static const struct mixer_source source[] = {
	    {.name = "web", .weight = 1, .partitions_n = 1, .sequences = sequences}};
	const struct control_requests_judges judges = {judge_join, judge_batch, NULL};
	struct mixer_plan p = mixes_plan(source, 1);

	config = (struct config){.kafka = mock_properties,
	    .mix = {.name = (char *)(uintptr_t)mix, .lanes = LANES, .partitions = LANES}};
	s->m = mixes_open(&p);
	for (int i = 0; i < STEPS; i++)
		mixes_step(s->m, NULL, NULL);
	assert_int_equal(lead_open(&s->lead, &config, &f), FAIL_NONE);
	output_init(&s->o,
	    &(struct output_source){
		.config = &config, .config_text = "{}", .domains = &domains, .lead = s->lead});
	assert_int_equal(
	    control_requests_open(&s->r, mix, &mock_properties, s->lead, &judges, &f), FAIL_NONE);
}

static void
close_scene(struct scene *s)
{
	control_requests_close(s->r);
	output_close(&s->o);
	lead_close(s->lead);
	mixer_close(s->m);
}

static void
write_request(const char *topic, const struct control *c)
{
	uint8_t *bytes;
	size_t n;

	assert_int_equal(control_encode(c, &bytes, &n, &f), FAIL_NONE);
	mock_write(topic, 0, bytes, n);
	free(bytes);
}

static void
wait_for_record(struct scene *s)
{
	int64_t end_ms = clock_ms() + MOCK_WAIT_MS;
	bool waits;

	do {
		assert_int_equal(control_requests_wait(s->r, &waits, &f), FAIL_NONE);
		if (!waits)
			clock_pause_ms(5);
	} while (!waits && clock_ms() < end_ms);
	assert_true(waits);
}

/* Judges all that the topic holds: a call takes what has come, and the rest follows. */
static void
judge_all(struct scene *s, int64_t end)
{
	struct ledger_answer *answer = NULL;
	size_t n = 0;

	while (control_requests_next(s->r) < end) {
		wait_for_record(s);
		assert_int_equal(control_requests_judge(s->r, s->m, &s->o, &f), FAIL_NONE);
		assert_int_equal(mixer_control_next(s->m), control_requests_next(s->r));
		answer = realloc(answer, (n + s->o.answers_n + 1) * sizeof(*answer));
		for (size_t i = 0; i < s->o.answers_n; i++)
			answer[n++] = s->o.answer[i];
		free(s->o.answer);
		s->o.answer = NULL;
		s->o.answers_n = 0;
	}
	s->o.answer = answer;
	s->o.answers_n = n;
}

/* ---- which record is the next one ---- */

static void
test_a_mixer_reads_on_behind_what_it_answered_last(void **unused)
{
	enum { WRITTEN = 24 };
	static const struct {
		int64_t answered_up_to;
		int known[2]; /* requests that the ledger has answered; -1: none */
		int64_t next;
	} rows[] = {
	    {0, {-1, -1}, 0}, {1, {0, -1}, 1},
	    {1, {-1, -1}, 0},  /* another topic: the one before it was not answered */
	    {10, {9, -1}, 10}, /* the last one counts, */
	    {10, {4, -1}, 0},  /* and no earlier one */
	    {23, {22, -1}, 23}, {WRITTEN, {WRITTEN - 1, -1}, WRITTEN}, {WRITTEN, {-1, -1}, 0},
	    {WRITTEN + 1, {WRITTEN - 1, -1}, 0}, /* it ends earlier */
	};
	char id[8];

	(void)unused;
	mock_topic("on.control", 1);
	for (int i = 0; i < WRITTEN; i++) {
		snprintf(id, sizeof(id), "r%u", (unsigned)i % 1000);
		write_request(
		    "on.control", &(struct control){.id = id, .at_step = 100 + i, .lr_scale = 0.5});
	}
	EACH_ROW(i, rows) {
		struct scene s;
		bool waits;

		open_scene(&s, "on");
		for (int k = 0; k < 2 && rows[i].known[k] >= 0; k++) {
			struct ledger_answer answer;

			snprintf(id, sizeof(id), "r%d", rows[i].known[k]);
			assert_int_equal(
			    mixer_accept(s.m, &(struct control){.id = id}, "", &answer, &f),
			    FAIL_NONE);
			ledger_answer_clear(&answer);
		}
		mixer_set_control_next(s.m, rows[i].answered_up_to);
		assert_int_equal(control_requests_attach(s.r, s.m, &f), FAIL_NONE);
		assert_int_equal(control_requests_next(s.r), rows[i].next);
		assert_int_equal(control_requests_catch_up(s.r, &stop, &waits, &f), FAIL_NONE);
		assert_int_equal(waits, rows[i].next < WRITTEN);
		if (waits && rows[i].next == 0 && rows[i].known[0] < 0) {
			judge_all(&s, WRITTEN);
			assert_int_equal(s.o.answers_n, WRITTEN);
			assert_string_equal(s.o.answer[0].id, "r0");
			assert_string_equal(s.o.answer[WRITTEN - 1].id, "r23");
		}
		close_scene(&s);
	}
}

/* ---- what becomes of it ---- */

static void
test_each_kind_of_request_has_its_judge(void **unused)
{
	static char longest[MIXER_ID_BYTES_MAX + 2];
	static struct ledger_raw_weight joining = {(char *)"new", 0.5};
	static const struct {
		struct control c;
		bool accepted;
		const char *says;
	} rows[] = {
	    {{.id = (char *)"w", .at_step = 9, .lr_scale = 0.5}, true,
		"takes effect at step 9\nlr_scale 0.5 (was 1)"},
	    {{.id = (char *)"b", .at_step = 9, .global_batch = 32}, true, "takes effect at step 9"},
	    {{.id = (char *)"c", .at_step = 9, .global_batch = REFUSED_BATCH}, false,
		"too many sequences"},
	    {{.id = (char *)"j", .kind = LEDGER_JOIN, .at_step = 9, .domain = (char *)"old"}, false,
		"there is no topic of domain old"},
	    {{.id = (char *)"k", .kind = LEDGER_JOIN, .at_step = 9}, false,
		"there is no topic of domain "},
	    {{.id = (char *)"d", .kind = LEDGER_JOIN, .at_step = 9, .domain = (char *)"broken"},
		false, "it has another tokenizer"},
	    {{.id = (char *)"n",
		 .kind = LEDGER_JOIN,
		 .at_step = 9,
		 .domain = (char *)"new",
		 .weight = &joining,
		 .weights_n = 1},
		true, "takes effect at step 9"},
	    /* Both judges are asked, and the batch's first. */
	    {{.id = (char *)"m",
		 .kind = LEDGER_JOIN,
		 .at_step = 9,
		 .domain = (char *)"old",
		 .global_batch = REFUSED_BATCH},
		false, "too many sequences"},
	    {{.id = (char *)"s", .kind = LEDGER_RESET, .run = (char *)"r", .to_step = STEPS + 1},
		false, "step 4 is not published: the mix is at step 3"},
	    /* Its step is there: what is wrong is the run. */
	    {{.id = (char *)"t", .kind = LEDGER_RESET, .run = (char *)"r", .to_step = STEPS}, false,
		" r"},
	    {{.id = longest, .kind = LEDGER_RESET, .run = (char *)"r", .to_step = STEPS + 1}, false,
		"step 4 is not published: the mix is at step 3"},
	    {{.id = (char *)"l", .kind = LEDGER_CANCEL, .request = (char *)"w"}, true, ""},
	};
	enum { N = sizeof(rows) / sizeof(rows[0]) };
	struct scene s;

	(void)unused;
	memset(longest, 'i', MIXER_ID_BYTES_MAX);
	mock_topic("kinds.control", 1);
	EACH_ROW(i, rows)
		write_request("kinds.control", &rows[i].c);
	open_scene(&s, "kinds");
	assert_int_equal(control_requests_attach(s.r, s.m, &f), FAIL_NONE);
	judge_all(&s, N);
	assert_int_equal(s.o.answers_n, N);
	EACH_ROW(i, rows) {
		assert_string_equal(s.o.answer[i].id, rows[i].c.id);
		assert_int_equal(s.o.answer[i].accepted, rows[i].accepted);
		assert_non_null(strstr(s.o.answer[i].text, rows[i].says));
		assert_true(mixer_has_answered(s.m, rows[i].c.id));
	}
	assert_null(strstr(s.o.answer[9].text, "not published"));
	assert_int_equal(mixer_pending(s.m), 2); /* the other one was cancelled */
	close_scene(&s);
}

/* A run's position goes back to a published step at which all of its commits are. */
static void
test_a_run_is_reset_to_where_its_commits_stand_and_each_rule_refuses(void **unused)
{
	static char long_id[MIXER_ID_BYTES_MAX + 2], longest_id[MIXER_ID_BYTES_MAX + 1];
	static char *run = (char *)"old";
	static const struct {
		const char *id, *run;
		int64_t to;
		const char *who;
		bool accepted;
		const char *says;
	} rows[] = {
	    {"a", "old", STEPS + 1, "me", false, "step 4 is not published: the mix is at step 3"},
	    {"b", "old", STEPS, "me", false, "are at steps 2 to 2, not at step 3"},
	    {"c", "old", 2, "me@host", true,
		"run old is known at step 2 from here on, where it was known at step 3 (by "
		"me@host)"},
	    {"d", "none", 2, "me", false, "mix back knows no run none"},
	    {"e", NULL, 2, "me", false, "mix back knows no run "},
	    {"", "old", 2, "me", false, "a request needs an id of 1 to 128 bytes, not 0"},
	    {long_id, "old", 2, "me", false, "a request needs an id of 1 to 128 bytes, not 129"},
	    /* Known already, and asked for again: what it was is what it is. */
	    {longest_id, "old", 2, NULL, true, "where it was known at step 2 (by )"},
	};
	enum { N = sizeof(rows) / sizeof(rows[0]) };
	struct ledger_run known = {run, STEPS};
	const struct ledger last = {.run = &known, .runs_n = 1};
	struct scene s;

	(void)unused;
	memset(long_id, 'i', MIXER_ID_BYTES_MAX + 1);
	memset(longest_id, 'i', MIXER_ID_BYTES_MAX);
	mock_topic("back.control", 1);
	mock_topic("back.batches", LANES);
	mock_commit(&mock_properties, "back.old", "back.batches", (uint64_t[]){2, 2}, LANES);
	EACH_NAMED_ROW(i, rows, says)
		write_request("back.control", &(struct control){.id = (char *)(uintptr_t)rows[i].id,
						  .kind = LEDGER_RESET,
						  .run = (char *)(uintptr_t)rows[i].run,
						  .to_step = rows[i].to,
						  .who = (char *)(uintptr_t)rows[i].who});
	open_scene(&s, "back");
	assert_int_equal(lead_ask(s.lead, &f), FAIL_NONE);
	assert_int_equal(lead_attach(s.lead, &last, &f), FAIL_NONE);
	assert_int_equal(control_requests_attach(s.r, s.m, &f), FAIL_NONE);
	judge_all(&s, N);
	assert_int_equal(s.o.answers_n, N);
	EACH_NAMED_ROW(i, rows, says) {
		struct ledger saved = {0};

		assert_int_equal(s.o.answer[i].accepted, rows[i].accepted);
		assert_non_null(strstr(s.o.answer[i].text, rows[i].says));
		assert_int_equal(s.o.answer[i].step, rows[i].accepted ? STEPS : -1);
		assert_int_equal(lead_save(s.lead, &saved, &f), FAIL_NONE);
		assert_int_equal(ledger_run_step(&saved, "old"), 2);
		ledger_clear(&saved);
	}
	close_scene(&s);
}

/* A request that cannot be judged yet is no refusal: the mixer attaches and reads it again. */
static void
test_a_judge_that_has_no_answer_leaves_the_request_unanswered(void **unused)
{
	const struct control join = {.id = (char *)"j",
				 .kind = LEDGER_JOIN,
				 .at_step = 9,
				 .domain = (char *)"slow"},
			     good = {.id = (char *)"g", .at_step = 9, .lr_scale = 0.5};
	enum fail_code code;
	struct scene s;

	(void)unused;
	mock_topic("slow.control", 1);
	write_request("slow.control", &good);
	write_request("slow.control", &join);
	open_scene(&s, "slow");
	assert_int_equal(control_requests_attach(s.r, s.m, &f), FAIL_NONE);
	do { /* the second record may come later than the first */
		wait_for_record(&s);
		code = control_requests_judge(s.r, s.m, &s.o, &f);
		for (; s.o.answers_n > 0; s.o.answers_n--)
			ledger_answer_clear(&s.o.answer[s.o.answers_n - 1]);
	} while (code == FAIL_NONE);
	assert_int_equal(code, FAIL_BROKER);
	assert_string_equal(f.text, "no answer");
	assert_false(mixer_has_answered(s.m, "j"));
	assert_int_equal(mixer_control_next(s.m), 1);
	close_scene(&s);
}

/* One transaction answers 256 requests at most; the rest waits for the next one. */
static void
test_one_transaction_answers_so_many_requests_and_no_more(void **unused)
{
	enum { MOST = 256, N = MOST + 20 };
	struct scene s;
	size_t first;

	(void)unused;
	mock_topic("many.control", 1);
	for (int i = 0; i < N; i++) {
		char id[8];
		uint8_t *bytes;
		size_t n;

		snprintf(id, sizeof(id), "r%u", (unsigned)i % 1000);
		assert_int_equal(
		    control_encode(
			&(struct control){.id = id, .kind = LEDGER_CANCEL, .request = id}, &bytes,
			&n, &f),
		    FAIL_NONE);
		assert_int_equal(rd_kafka_producev(mock_writer, RD_KAFKA_V_TOPIC("many.control"),
				     RD_KAFKA_V_PARTITION(0), RD_KAFKA_V_VALUE(bytes, n),
				     RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_FREE), RD_KAFKA_V_END),
		    RD_KAFKA_RESP_ERR_NO_ERROR);
	}
	assert_int_equal(rd_kafka_flush(mock_writer, MOCK_WAIT_MS), RD_KAFKA_RESP_ERR_NO_ERROR);
	open_scene(&s, "many");
	assert_int_equal(control_requests_attach(s.r, s.m, &f), FAIL_NONE);
	for (int64_t next = 0; next < N; next = control_requests_next(s.r)) {
		wait_for_record(&s);
		assert_int_equal(control_requests_judge(s.r, s.m, &s.o, &f), FAIL_NONE);
		first = s.o.answers_n;
		assert_true(first > 0 && first <= MOST);
		assert_int_equal(control_requests_next(s.r), next + (int64_t)first);
		for (; s.o.answers_n > 0; s.o.answers_n--)
			ledger_answer_clear(&s.o.answer[s.o.answers_n - 1]);
	}
	close_scene(&s);
}

static void
test_a_record_is_passed_over_if_it_was_answered_or_is_no_request(void **unused)
{
	const struct control once = {.id = (char *)"once", .at_step = 9, .lr_scale = 0.5},
			     batch = {.id = (char *)"big",
				 .at_step = 9,
				 .global_batch = REFUSED_BATCH},
			     reset = {.id = (char *)"reset",
				 .kind = LEDGER_RESET,
				 .run = (char *)"r",
				 .to_step = STEPS + 1};
	struct scene s;

	(void)unused;
	mock_topic("over.control", 1);
	for (int i = 0; i < 2; i++) {
		write_request("over.control", &once);
		mock_write("over.control", 0, "garbage", 7);
		write_request("over.control", &batch);
		write_request("over.control", &reset);
	}
	open_scene(&s, "over");
	assert_int_equal(control_requests_attach(s.r, s.m, &f), FAIL_NONE);
	judge_all(&s, 8);
	assert_int_equal(s.o.answers_n, 3);
	assert_string_equal(s.o.answer[0].id, "once");
	assert_string_equal(s.o.answer[1].id, "big");
	assert_string_equal(s.o.answer[2].id, "reset");
	assert_int_equal(mixer_pending(s.m), 1);
	assert_int_equal(s.o.letters.n, 2);
	for (int i = 0; i < 2; i++) {
		const struct transactions_reject *letter = &s.o.letters.reject[i];

		assert_string_equal(letter->topic, "over.control");
		assert_int_equal(letter->offset, 1 + 4 * i);
		assert_int_equal(letter->n, 7);
		assert_memory_equal(letter->bytes, "garbage", 7);
		assert_true(letter->reason[0] != '\0');
	}
	close_scene(&s);
}

/* Four of these fit into 4 MB, and a fifth does not. A cancelled one makes room. */
static void
test_a_request_that_the_ledger_record_has_no_room_for_is_refused(void **unused)
{
	enum { REQUESTS = 7 };
	struct ledger_raw_weight w = {(char *)"web", 2};
	char *who = malloc(LARGE + 1), id[8];
	struct scene s;

	(void)unused;
	memset(who, 'w', LARGE);
	who[LARGE] = '\0';
	mock_topic("size.control", 1);
	open_scene(&s, "size");
	assert_int_equal(control_requests_attach(s.r, s.m, &f), FAIL_NONE);
	for (int i = 0; i < REQUESTS; i++) { /* the mock cluster keeps few of them */
		struct control c = {
		    .id = id, .at_step = 100, .weight = &w, .weights_n = 1, .who = who};

		snprintf(id, sizeof(id), "r%u", (unsigned)i % 1000);
		if (i == REQUESTS - 1)
			c = (struct control){
			    .id = id, .kind = LEDGER_CANCEL, .request = (char *)"r1", .who = who};
		write_request("size.control", &c);
		judge_all(&s, i + 1);
		assert_int_equal(s.o.answers_n, 1);
		assert_int_equal(s.o.answer[0].accepted, i < 4 || i == REQUESTS - 1);
		if (i == 4)
			assert_string_equal(s.o.answer[0].text,
			    "4 accepted requests wait for their steps, and with this one the "
			    "ledger record would be larger than 4 MB");
		ledger_answer_clear(&s.o.answer[0]);
		free(s.o.answer);
		s.o.answer = NULL;
		s.o.answers_n = 0;
	}
	assert_int_equal(mixer_pending(s.m), 3);
	close_scene(&s);
	free(who);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_mixer_reads_on_behind_what_it_answered_last),
	    cmocka_unit_test(test_each_kind_of_request_has_its_judge),
	    cmocka_unit_test(test_a_run_is_reset_to_where_its_commits_stand_and_each_rule_refuses),
	    cmocka_unit_test(test_a_judge_that_has_no_answer_leaves_the_request_unanswered),
	    cmocka_unit_test(test_one_transaction_answers_so_many_requests_and_no_more),
	    cmocka_unit_test(test_a_record_is_passed_over_if_it_was_answered_or_is_no_request),
	    cmocka_unit_test(test_a_request_that_the_ledger_record_has_no_room_for_is_refused),
	};

	return cmocka_run_group_tests(tests, mock_begin, mock_end);
}
