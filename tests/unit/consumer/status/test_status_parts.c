/*
 * status_query_internal.h: status_mixers.c, status_arrivals.c, status_losses.c,
 * status_domains.c and status_runs.c. What asks a broker is replaced here, and answers from plain
 * arrays.
 */
#include "consumer/status/status_query_internal.h"

#include <math.h>

#include "common/kafka/kafka.h"
#include "common/kafka/kafka_commits.h"
#include "common/kafka/kafka_groups.h"
#include "common/record/arrivals.h"
#include "consumer/domain/partition_tail.h"
#include "consumer/domain/recipes.h"
#include "consumer/ledger/run_position.h"
#include "consumer/publish/election_group.h"
#include "tests/unit/capture.h"

enum { NOW_MS = 100000 };

static char calls[4096];
static size_t calls_n;
static enum fail_code answer; /* of the call that a test is about */
static int handle;            /* stands for every handle */

__attribute__((format(printf, 2, 3))) static enum fail_code
call(struct failure *why, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	calls_n += (size_t)vsnprintf(calls + calls_n, sizeof(calls) - calls_n, format, list);
	va_end(list);
	assert_true(calls_n < sizeof(calls));
	return answer == FAIL_NONE ? FAIL_NONE : fail(why, answer, "no answer");
}

static void
calls_are(const char *expected)
{
	assert_string_equal(calls, expected);
	calls[calls_n = 0] = '\0';
}

/* ---- in place of status_query.c ---- */

static struct topics_report report; /* of every topic that exists */
static struct {
	const char *name; /* NULL: there is no such topic */
	int partitions;
} topic_of[32];             /* by kind, except for TOPIC_DOMAIN */
static int domain_topic[4]; /* partitions of each domain; 0: it has no topic */

const struct topics_report *
status_query_topic(const struct status *st, enum topic_kind kind, int domain, const char **name)
{
	(void)st;
	if (kind == TOPIC_DOMAIN) {
		*name = "?";
		report = (struct topics_report){.exists = true, .partitions = domain_topic[domain]};
		return domain_topic[domain] == 0 ? NULL : &report;
	}
	assert_int_equal(domain, -1);
	*name = topic_of[kind].name;
	return *name == NULL ? NULL : &report;
}

bool
status_query_due(const struct status_query *q, int64_t read_ms, int64_t pace_ms)
{
	return read_ms == 0 || q->now_ms - read_ms >= pace_ms;
}

rd_kafka_t *
status_query_open_group(const struct config *c, const char *name, struct failure *why)
{
	return call(why, "open %s.%s\n", c->mix.name, name) == FAIL_NONE ? (rd_kafka_t *)&handle
									 : NULL;
}

static uint8_t *arrival;
static size_t arrival_n;
static bool is_late;                /* time is up before the record late_at */
static int64_t foreign[2], late_at; /* offsets of records that are no arrivals; -1: none */

enum fail_code
status_query_range(rd_kafka_t *rk, const char *topic, int64_t from, int64_t end,
    bool (*take)(const rd_kafka_message_t *, void *), void *to, bool *late, struct failure *why)
{
	assert_ptr_equal((const void *)rk, &handle);
	for (int64_t at = from; answer == FAIL_NONE && at < end && !(is_late && at >= late_at);
	     at++) {
		bool bad = at == foreign[0] || at == foreign[1];
		rd_kafka_message_t m = {
		    .offset = at, .payload = arrival, .len = bad ? arrival_n - 1 : arrival_n};

		assert_true(take(&m, to));
	}
	*late = is_late;
	return call(why, "range %s %d..%d\n", topic, (int)from, (int)end);
}

/* ---- in place of kafka.c and kafka_groups.c ---- */

static struct kafka_member members[STATUS_MIXERS];
static size_t members_n;

void
kafka_close(rd_kafka_t *rk)
{
	assert_ptr_equal((const void *)rk, &handle);
	call(&f, "close\n");
}

enum fail_code
kafka_group_members(rd_kafka_t *rk, struct kafka_member *member, size_t max, size_t *n,
    int timeout_ms, struct failure *why)
{
	assert_ptr_equal((const void *)rk, &handle);
	assert_int_equal(max, STATUS_MIXERS);
	memcpy(member, members, sizeof(members));
	*n = members_n;
	return call(why, "members %d\n", timeout_ms);
}

static void
begin(void)
{
	memset(topic_of, 0, sizeof(topic_of));
	memset(domain_topic, 0, sizeof(domain_topic));
	answer = FAIL_NONE;
	calls[calls_n = 0] = '\0';
	foreign[0] = foreign[1] = -1;
	is_late = false;
}

/* ---- mixers ---- */

static void
test_mixers_are_asked_when_due_and_kept_until_then(void **unused)
{
	static const struct config c = {.mix = {.name = (char *)(uintptr_t) "m"}};
	struct status_query q = {.config = &c, .now_ms = NOW_MS, .pace = {.mixers_ms = 1000}};
	struct status st = {0};

	(void)unused;
	begin();
	assert_int_equal(status_mixers_open(&q, &f), FAIL_NONE);
	assert_int_equal(status_mixers_open(&q, &f), FAIL_NONE); /* it is open */
	calls_are("open m.election\n");
	members[0] = (struct kafka_member){
	    .client = "riffle-" ELECTION_STANDBY, .host = "waits", .assigned = true};
	members[1] = (struct kafka_member){.client = "riffle-" ELECTION_ACTIVE, .host = "mixes"};
	members_n = 2;
	assert_int_equal(status_mixers_read(&q, &st, &f), FAIL_NONE);
	calls_are("members 15000\n");
	assert_true(st.mixers_known && st.mixers_n == 2);
	assert_string_equal(st.mixer[0].host, "mixes");
	assert_string_equal(st.mixer[1].host, "waits");
	assert_int_equal(q.mixers_ms, NOW_MS);
	members_n = 0;
	q.now_ms = NOW_MS + 999; /* not due */
	st = (struct status){0};
	assert_int_equal(status_mixers_read(&q, &st, &f), FAIL_NONE);
	calls_are("");
	assert_true(st.mixers_known && st.mixers_n == 2 && st.mixer[1].standby);
	assert_string_equal(st.mixer[0].host, "mixes");
	q.now_ms = NOW_MS + 1000;
	st = (struct status){0};
	assert_int_equal(status_mixers_read(&q, &st, &f), FAIL_NONE);
	calls_are("members 15000\n");
	assert_true(st.mixers_known && st.mixers_n == 0 && q.mixers_n == 0);
}

static void
test_an_election_that_does_not_answer_is_a_warning_once(void **unused)
{
	static const struct {
		enum fail_code answers, code;
		bool late, known, closed;
		int warnings;
	} rows[] = {
	    {FAIL_DENIED, FAIL_NONE, false, false, false, 1},
	    {FAIL_BROKER, FAIL_NONE, false, false, false, 0}, /* warned */
	    {FAIL_NONE, FAIL_NONE, false, true, false, 0},
	    {FAIL_TIMEOUT, FAIL_NONE, true, false, true, 1},
	    {FAIL_TIMEOUT, FAIL_NONE, true, false, true, 0},
	    {FAIL_MEMORY, FAIL_MEMORY, false, false, false, 0},
	};
	static const struct config c = {.mix = {.name = (char *)(uintptr_t) "m"}};
	struct status_query q = {.config = &c, .now_ms = NOW_MS};

	(void)unused;
	begin();
	members_n = 1;
	EACH_ROW(i, rows) {
		struct status st = {0};
		struct capture captured;
		char text[512];
		enum fail_code code;

		q.election = (rd_kafka_t *)&handle;
		q.mixers_ms = 0;
		answer = rows[i].answers;
		capture_begin(&captured);
		code = status_mixers_read(&q, &st, &f);
		assert_int_equal(
		    capture_end_lines(&captured, text, sizeof(text)), rows[i].warnings);
		if (rows[i].warnings > 0)
			assert_non_null(
			    strstr(text, "status: STATUS-MIXERS no answer: which mixers "
					 "run is not known\n"));
		assert_int_equal(code, rows[i].code);
		assert_int_equal(st.late[STATUS_PART_MIXERS], rows[i].late);
		assert_int_equal(st.mixers_known, rows[i].known);
		assert_int_equal(st.mixers_n, rows[i].known);
		assert_int_equal(q.election == NULL, rows[i].closed);
		assert_int_equal(q.mixers_ms, rows[i].known ? NOW_MS : 0);
		calls_are(rows[i].closed ? "members 15000\nclose\n" : "members 15000\n");
	}
	q.election = NULL;
	answer = FAIL_BROKER;
	assert_int_equal(status_mixers_open(&q, &f), FAIL_BROKER);
	assert_null(q.election);
}

/* ---- arrivals ---- */

static void
test_foreign_arrivals_are_counted_from_read_to_read(void **unused)
{
	static const struct {
		const char *topic;
		int64_t low, high, foreign[2], late_at;
		const char *calls;
		int64_t count, first, next;
		bool late;
	} rows[] = {
	    {"c.arrivals", -1, -1, {-1, -1}, -1, "", -1, 0, 0, false},
	    {NULL, 0, 9, {-1, -1}, -1, "", -1, 0, 0, false},
	    {"c.arrivals", 0, 0, {-1, -1}, -1, "", 0, 0, 0, false},
	    {"c.arrivals", 0, 1000, {0, 999}, -1, "range c.arrivals 0..1000\n", 2, 0, 1000, false},
	    {"c.arrivals", 0, 1000, {0, 999}, -1, "", 2, 0, 1000, false}, /* nothing is new */
	    {"c.arrivals", 0, 1002, {1001, -1}, -1, "range c.arrivals 1000..1002\n", 3, 0, 1002,
		false},
	    {"c.arrivals", 1005, 1008, {-1, -1}, -1, "range c.arrivals 1005..1008\n", 3, 0, 1008,
		false},
	    {"c.arrivals", 1005, 1012, {1009, -1}, 1010, "range c.arrivals 1008..1012\n", 4, 0,
		1010, true},
	    {"c.arrivals", 1005, 1012, {-1, -1}, -1, "range c.arrivals 1010..1012\n", 4, 0, 1012,
		false},
	    /* another topic of that name, of which the last 1,000 are read */
	    {"c.arrivals", 0, 1011, {10, 12}, -1, "range c.arrivals 11..1011\n", 1, 12, 1011,
		false},
	    {"c.arrivals", 3, 900, {3, -1}, -1, "range c.arrivals 3..900\n", 1, 3, 900, false},
	};
	struct wire_writer w = {0};
	const struct arrivals a = {.input = {"x", 1}};
	struct status_query q = {.reader = (rd_kafka_t *)&handle};

	(void)unused;
	begin();
	assert_int_equal(arrivals_encode(&w, &a, NULL, &f), FAIL_NONE);
	arrival = w.bytes;
	arrival_n = w.n;
	EACH_ROW(i, rows) {
		struct status st = {0};

		topic_of[TOPIC_ARRIVALS].name = rows[i].topic;
		q.ends[STATUS_ENDS_ARRIVALS] = (struct status_ends){rows[i].low, rows[i].high};
		memcpy(foreign, rows[i].foreign, sizeof(foreign));
		is_late = rows[i].late;
		late_at = rows[i].late_at;
		assert_int_equal(status_arrivals_read(&q, &st, &f), FAIL_NONE);
		calls_are(rows[i].calls);
		assert_int_equal(st.arrivals_foreign, rows[i].count);
		assert_int_equal(st.arrivals_offset, rows[i].first);
		assert_int_equal(q.arrivals.next, rows[i].next);
		assert_int_equal(st.late[STATUS_PART_ARRIVALS], rows[i].late);
	}
	wire_writer_close(&w);
}

static void
test_arrivals_that_may_not_be_read_are_a_warning_once(void **unused)
{
	struct status_query q = {.reader = (rd_kafka_t *)&handle};
	struct status st = {0};
	struct capture c;
	char text[512];

	(void)unused;
	begin();
	topic_of[TOPIC_ARRIVALS].name = "c.arrivals";
	q.ends[STATUS_ENDS_ARRIVALS] = (struct status_ends){0, 5};
	answer = FAIL_DENIED;
	capture_begin(&c);
	assert_int_equal(status_arrivals_read(&q, &st, &f), FAIL_NONE);
	q.ends[STATUS_ENDS_ARRIVALS] = (struct status_ends){0, 3}; /* another topic of that name */
	q.arrivals.next = 5;
	assert_int_equal(status_arrivals_read(&q, &st, &f), FAIL_NONE);
	assert_int_equal(capture_end_lines(&c, text, sizeof(text)), 1);
	assert_non_null(
	    strstr(text, "status: STATUS-ARRIVALS-HIDDEN no answer: cannot tell whether "
			 "another program has written there\n"));
	assert_int_equal(st.arrivals_foreign, -1);
	answer = FAIL_BROKER;
	assert_int_equal(status_arrivals_read(&q, &st, &f), FAIL_BROKER);
	assert_int_equal(st.arrivals_foreign, -1);
}

/* ---- in place of feedback_feed.c: reports by offset ---- */

enum { REPORTS_MAX = 1200 };

static struct feedback reported[REPORTS_MAX];
static int64_t feed_low, feed_high, feed_at;
static int feeds_open;
static enum fail_code next_fails;
static int64_t hidden_after; /* from this offset on nothing comes: time runs out */
static int64_t now_ms;

int64_t
clock_ms(void)
{
	return now_ms;
}

enum fail_code
feedback_feed_open(struct feedback_feed **out, const char *mix, const struct properties *properties,
    size_t fetch_bytes, struct failure *why)
{
	(void)properties;
	if (call(why, "feed %s %zu\n", mix, fetch_bytes) != FAIL_NONE)
		return why->code;
	*out = (struct feedback_feed *)&handle;
	feeds_open++;
	return FAIL_NONE;
}

void
feedback_feed_close(struct feedback_feed *d)
{
	feeds_open -= d != NULL;
}

enum fail_code
feedback_feed_ends(struct feedback_feed *d, int64_t *low, int64_t *high, struct failure *why)
{
	(void)d;
	*low = feed_low;
	*high = feed_high;
	return call(why, "ends\n");
}

enum fail_code
feedback_feed_seek(struct feedback_feed *d, int64_t offset_next, struct failure *why)
{
	(void)d;
	feed_at = offset_next;
	return call(why, "seek %d\n", (int)offset_next);
}

void
feedback_feed_rest(struct feedback_feed *d)
{
	(void)d;
	call(&f, "rest\n");
}

int64_t
feedback_feed_position(const struct feedback_feed *d)
{
	(void)d;
	return feed_at;
}

enum fail_code
feedback_feed_next(struct feedback_feed *d, int timeout_ms, struct feedback_feed_record *out,
    bool *any, struct failure *why)
{
	(void)d;
	assert_int_equal(timeout_ms, STATUS_QUERY_SLICE_MS);
	*any = feed_at < hidden_after;
	if (next_fails != FAIL_NONE)
		return fail(why, next_fails, "next fails");
	if (!*any) {
		now_ms += timeout_ms;
		return FAIL_NONE;
	}
	*out = (struct feedback_feed_record){.offset = feed_at,
	    .feedback = reported[feed_at].mix == NULL ? NULL : &reported[feed_at]};
	feed_at++;
	return FAIL_NONE;
}

/* ---- losses ---- */

static struct feedback_loss loss_of_a[] = {{(char *)(uintptr_t) "a", 30, 10, 20}},
			    loss_of_b[] = {{(char *)(uintptr_t) "b", 5, 0, 10}};

static struct feedback
report_of(const char *mix, const char *run, int64_t step, struct feedback_loss *loss)
{
	return (struct feedback){.mix = (char *)(uintptr_t)mix,
	    .run = (char *)(uintptr_t)run,
	    .step = step,
	    .world = 1,
	    .loss = loss,
	    .losses_n = 1};
}

static char *run_names[] = {(char *)(uintptr_t) "two", (char *)(uintptr_t) "one"};
static const struct config losses_config = {
    .mix = {.name = (char *)(uintptr_t) "m", .runs = {.n = 2, .text = run_names}}};

/* A status of two domains and one run, with the mix begun, and reports at [0, 6). */
static void
begin_losses(struct status *st, struct status_domain domain[static 2], struct status_run *run)
{
	begin();
	topic_of[TOPIC_FEEDBACK].name = "m.feedback";
	memset(domain, 0, 2 * sizeof(*domain));
	snprintf(domain[0].name, sizeof(domain[0].name), "a");
	snprintf(domain[1].name, sizeof(domain[1].name), "b");
	*run = (struct status_run){.name = "one"};
	*st = (struct status){.config = &losses_config,
	    .state = STATUS_STARTED,
	    .domain = domain,
	    .domains_n = 2,
	    .run = run,
	    .runs_n = 1,
	    .ledger = {.step_next = 7}};
	memset(reported, 0, sizeof(reported));
	reported[0] = report_of("m", "one", 3, loss_of_a);
	reported[1] = report_of("m", "other", 4, loss_of_b);
	reported[2] = report_of("m", "one", 5, loss_of_b);
	reported[3] = report_of("elsewhere", "unknown", 5, loss_of_b);
	reported[4] = report_of("m", "mixer", 5, loss_of_b); /* no run has this name */
	/* 5 is no report; 6 is of a step that is not published */
	reported[6] = report_of("m", "one", 7, loss_of_a);
	feed_low = 0;
	feed_high = hidden_after = 7;
	next_fails = FAIL_NONE;
	now_ms = 1000;
}

static void
end_losses(struct status *st)
{
	for (size_t i = 0; i < st->feedback_n; i++)
		free(st->feedback[i].domain);
	free(st->feedback);
	st->feedback = NULL;
	st->feedback_n = 0;
}

static void
check_losses(const struct status *st)
{
	const struct status_feedback *b = st->feedback;

	assert_int_equal(st->feedback_n, 2);
	assert_string_equal(b[0].run, "one");
	assert_true(b[0].configured);
	assert_int_equal(b[0].steps, 2);
	assert_true(b[0].step_first == 3 && b[0].step_last == 5 && b[0].world == 1);
	assert_true(b[0].domain[0].tokens == 20 && b[0].domain[0].loss == 1.5 &&
		    b[0].domain[0].excess == 0.5);
	assert_true(b[0].domain[1].tokens == 10 && b[0].domain[1].loss == 0.5);
	assert_true(b[0].all.tokens == 30);
	assert_true(b[0].all.loss > 1.16 && b[0].all.loss < 1.17); /* 35/30 */
	assert_int_equal(b[0].counts.reports, 2);
	assert_int_equal(b[0].counts.unknown_step, 1);
	assert_string_equal(b[1].run, "other");
	assert_false(b[1].configured);
	assert_int_equal(b[1].steps, 1);
	assert_true(b[1].step_first == 4 && b[1].step_last == 4);
	assert_true(b[1].domain[0].tokens == 0 && b[1].domain[1].tokens == 10);
}

static void
test_losses_are_read_by_run_and_kept_until_they_are_due(void **unused)
{
	struct status_query q = {
	    .config = &losses_config, .now_ms = NOW_MS, .pace = {.losses_ms = 1000}};
	struct status_domain domain[2];
	struct status_run run;
	struct status st;

	(void)unused;
	begin_losses(&st, domain, &run);
	assert_int_equal(status_losses_read(&q, &st, &f), FAIL_NONE);
	calls_are("feed m 0\nends\nseek 0\nrest\n");
	check_losses(&st);
	assert_false(st.late[STATUS_PART_LOSSES]);
	assert_int_equal(q.losses_ms, NOW_MS);
	end_losses(&st);
	q.now_ms += 999; /* kept, as a copy */
	memset(reported, 0, sizeof(reported));
	assert_int_equal(status_losses_read(&q, &st, &f), FAIL_NONE);
	calls_are("");
	check_losses(&st);
	end_losses(&st);
	st.domains_n = 1; /* a domain has left the file */
	assert_int_equal(status_losses_read(&q, &st, &f), FAIL_NONE);
	calls_are("ends\nseek 0\nrest\n");
	assert_int_equal(st.feedback_n, 1);
	end_losses(&st);
	q.now_ms++; /* due: 1000 ms after the first, and just now read */
	assert_int_equal(status_losses_read(&q, &st, &f), FAIL_NONE);
	calls_are("");
	end_losses(&st);
	status_losses_close(&q);
	assert_int_equal(feeds_open, 0);
}

/* The last STATUS_REPORTS are read, of up to STATUS_FEEDBACK_RUNS runs. */
static void
test_the_last_reports_and_the_first_runs_are_read(void **unused)
{
	static const struct {
		int64_t low, high;
		const char *calls;
	} rows[] = {
	    {0, 0, "feed m 0\nends\nrest\n"},
	    {0, 512, "feed m 0\nends\nseek 0\nrest\n"},
	    {0, 513, "feed m 0\nends\nseek 1\nrest\n"},
	    {2, 513, "feed m 0\nends\nseek 2\nrest\n"},
	};
	struct status_domain domain[2];
	struct status_run run;
	struct status st;
	char name[10][16];

	(void)unused;
	EACH_ROW(i, rows) {
		struct status_query q = {.config = &losses_config, .now_ms = NOW_MS};

		begin_losses(&st, domain, &run);
		feed_low = rows[i].low;
		feed_high = hidden_after = rows[i].high;
		assert_int_equal(status_losses_read(&q, &st, &f), FAIL_NONE);
		calls_are(rows[i].calls);
		assert_false(st.late[STATUS_PART_LOSSES]);
		assert_int_equal(st.feedback[0].steps, rows[i].low == 0 && rows[i].high == 512 ? 2
						       : rows[i].high == 0                     ? 0
											       : 1);
		end_losses(&st);
		status_losses_close(&q);
	}
	for (int k = 0; k < 10; k++) {
		snprintf(name[k], sizeof(name[k]), "r%d", k);
		reported[k] = report_of("m", name[k], 3, loss_of_a);
	}
	for (size_t runs_n = 1; runs_n <= 10; runs_n += 9) { /* of reports, and of the status */
		struct status_query q = {.config = &losses_config, .now_ms = NOW_MS};
		struct status_run runs[10] = {{.name = "r0"}, {.name = "s1"}};

		for (size_t k = 2; k < 10; k++)
			snprintf(runs[k].name, sizeof(runs[k].name), "s%zu", k);
		feed_low = 0;
		feed_high = hidden_after = 10;
		st.run = runs;
		st.runs_n = runs_n;
		assert_int_equal(status_losses_read(&q, &st, &f), FAIL_NONE);
		assert_int_equal(st.feedback_n, STATUS_FEEDBACK_RUNS);
		assert_string_equal(st.feedback[7].run, runs_n == 1 ? "r7" : "s7");
		end_losses(&st);
		status_losses_close(&q);
	}
}

static void
test_losses_that_do_not_come_are_late_and_asked_again(void **unused)
{
	struct status_query q = {
	    .config = &losses_config, .now_ms = NOW_MS, .pace = {.losses_ms = 1000}};
	struct status_domain domain[2];
	struct status_run run;
	struct status st;

	(void)unused;
	begin_losses(&st, domain, &run);
	hidden_after = 3;
	assert_int_equal(status_losses_read(&q, &st, &f), FAIL_NONE);
	assert_true(st.late[STATUS_PART_LOSSES]);
	assert_int_equal(now_ms, 1000 + STATUS_QUERY_MS);
	assert_int_equal(st.feedback[0].steps, 2); /* what has come */
	assert_int_equal(q.losses_ms, 0);
	end_losses(&st);
	calls_are("feed m 0\nends\nseek 0\nrest\n");
	hidden_after = 7;
	assert_int_equal(status_losses_read(&q, &st, &f), FAIL_NONE); /* it was late: again */
	calls_are("ends\nseek 0\nrest\n");
	assert_false(st.late[STATUS_PART_LOSSES]);
	assert_int_equal(q.losses_ms, NOW_MS);
	end_losses(&st);
	status_losses_close(&q);
}

static void
test_a_feed_that_fails_is_closed_and_a_deleted_topic_has_no_losses(void **unused)
{
	static const struct {
		enum fail_code answers, next, code;
	} rows[] = {
	    {FAIL_BROKER, FAIL_NONE, FAIL_BROKER},
	    {FAIL_DATA, FAIL_NONE, FAIL_NONE},
	    {FAIL_NONE, FAIL_DATA, FAIL_NONE},
	    {FAIL_NONE, FAIL_BROKER, FAIL_BROKER},
	};

	(void)unused;
	EACH_ROW(i, rows) {
		struct status_query q = {.config = &losses_config, .now_ms = NOW_MS};
		struct status_domain domain[2];
		struct status_run run;
		struct status st;

		begin_losses(&st, domain, &run);
		answer = rows[i].answers;
		next_fails = rows[i].next;
		assert_int_equal(status_losses_read(&q, &st, &f), rows[i].code);
		assert_null(q.feed);
		assert_int_equal(feeds_open, 0);
		assert_int_equal(q.losses_ms, rows[i].code == FAIL_NONE ? NOW_MS : 0);
		end_losses(&st);
		status_losses_close(&q);
	}
}

static void
test_no_losses_are_asked_for_before_the_mix_and_its_topic_exist(void **unused)
{
	static const struct {
		enum status_state state;
		const char *topic;
		size_t domains_n;
		bool asks;
	} rows[] = {
	    {STATUS_STARTED, "m.feedback", 2, true},
	    {STATUS_ENDED, "m.feedback", 2, true},
	    {STATUS_NOT_STARTED, "m.feedback", 2, false},
	    {STATUS_NO_MIX, "m.feedback", 2, false},
	    {STATUS_STARTED, NULL, 2, false},
	    {STATUS_STARTED, "m.feedback", 0, false},
	};

	(void)unused;
	EACH_ROW(i, rows) {
		struct status_query q = {.config = &losses_config, .now_ms = NOW_MS};
		struct status_domain domain[2];
		struct status_run run;
		struct status st;

		begin_losses(&st, domain, &run);
		st.state = rows[i].state;
		st.domains_n = rows[i].domains_n;
		topic_of[TOPIC_FEEDBACK].name = rows[i].topic;
		assert_int_equal(status_losses_read(&q, &st, &f), FAIL_NONE);
		assert_int_equal(calls_n > 0, rows[i].asks);
		assert_int_equal(st.feedback_n > 0, rows[i].asks);
		end_losses(&st);
		status_losses_close(&q);
	}
}

/*
 * ---- in place of kafka_query.c, kafka_commits.c, partition_tail.c, recipes.c, last_drawn.c ----
 */

/*
 * A corpus "c": domains a (2 partitions), b (live, 1) and new (no topic) of the file, and of the
 * ledger b, a, old (1) and left. The mock of each partition's end is by its topic's letter.
 */
static struct partition_world {
	const char *topic;
	int32_t partition;
	int64_t low, high, commit; /* -1: none */
	struct partition_tail tail;
	enum { TAIL_COMES, TAIL_BAD, TAIL_ABSENT, TAIL_LATE } comes;
} partitions[4];
static enum fail_code old_topic, recipes_fail;
static const struct last_drawn_look *looked;
static bool other_b; /* the mix did not draw from b's log */

static const struct partition_world *
partition_at(const char *topic, int32_t partition)
{
	static const struct partition_world each = {
	    .high = 2, .tail = {.sequences = 1}, .comes = TAIL_COMES};

	if (domain_topic[0] > 2)
		return &each;
	for (size_t i = 0; i < 4; i++)
		if (strcmp(partitions[i].topic, topic) == 0 && partitions[i].partition == partition)
			return &partitions[i];
	assert_null(topic);
	return NULL;
}

enum fail_code
kafka_partitions(rd_kafka_t *rk, const char *topic, int *n, int timeout_ms, struct failure *why)
{
	assert_ptr_equal((const void *)rk, &handle);
	call(why, "partitions %s %d\n", topic, timeout_ms);
	*n = 1;
	return old_topic == FAIL_NONE ? FAIL_NONE : fail(why, old_topic, "no partitions");
}

enum fail_code
kafka_watermarks_list(rd_kafka_t *rk, rd_kafka_topic_partition_list_t *list, int64_t *low,
    int64_t *high, int timeout_ms, struct failure *why)
{
	assert_ptr_equal((const void *)rk, &handle);
	for (int i = 0; i < list->cnt; i++) {
		const struct partition_world *p =
		    partition_at(list->elems[i].topic, list->elems[i].partition);

		low[i] = p->low;
		high[i] = p->high;
	}
	return call(why, "ends of %d %d\n", list->cnt, timeout_ms);
}

enum fail_code
partition_tail_read_many(rd_kafka_t *reader, struct partition_tail_at *at, size_t n, size_t at_once,
    int timeout_ms, struct failure *why)
{
	assert_ptr_equal((const void *)reader, &handle);
	assert_int_equal(at_once, PARTITION_TAIL_FEW_MAX);
	assert_int_equal(timeout_ms, STATUS_QUERY_MS);
	call(why, "tails");
	for (size_t i = 0; i < n; i++) {
		const struct partition_world *p = partition_at(at[i].topic, at[i].partition);

		call(why, " %s/%d@%d", at[i].topic, at[i].partition, (int)at[i].high);
		at[i].answered = p->comes != TAIL_LATE;
		at[i].known = p->comes == TAIL_COMES;
		at[i].bad = p->comes == TAIL_BAD;
		snprintf(at[i].reason, sizeof(at[i].reason), "broken");
		at[i].tail = p->tail;
	}
	return call(why, "\n");
}

enum fail_code
kafka_commits(
    rd_kafka_t *rk, rd_kafka_topic_partition_list_t *list, int timeout_ms, struct failure *why)
{
	assert_ptr_equal((const void *)rk, &handle);
	for (int i = 0; i < list->cnt; i++)
		list->elems[i].offset =
		    partition_at(list->elems[i].topic, list->elems[i].partition)->commit;
	return call(why, "commits of %d %d\n", list->cnt, timeout_ms);
}

enum fail_code
recipes_ask(struct recipe_differences *out, rd_kafka_t *reader, const struct config *c,
    const bool *there, int timeout_ms, struct failure *why)
{
	assert_ptr_equal((const void *)reader, &handle);
	assert_int_equal(c->domains_n, 3);
	snprintf(out[1].kind, sizeof(out[1].kind), "b differs");
	call(why, "recipes %d%d%d %d\n", there[0], there[1], there[2], timeout_ms);
	return recipes_fail == FAIL_NONE ? FAIL_NONE : fail(why, recipes_fail, "no recipes");
}

enum fail_code
last_drawn_compare(const struct last_drawn *l, struct last_drawn_look *look, size_t n,
    const struct properties *properties, int timeout_ms, struct failure *why)
{
	(void)l;
	(void)properties;
	call(why, "drawn");
	for (size_t k = 0; k < n; k++)
		call(why, " %s", look[k].topic == NULL ? "-" : look[k].topic);
	look[0].other = other_b;
	looked = &look[0];
	return call(why, " %d\n", timeout_ms);
}

enum fail_code
last_drawn_fail(const struct last_drawn_look *look, const char *domain, struct failure *why)
{
	assert_ptr_equal(look, looked);
	return fail(why, FAIL_DATA, "%s is another", domain);
}

/* ---- domains ---- */

static struct config_domain domain_list[] = {{.name = (char *)(uintptr_t) "a"},
    {.name = (char *)(uintptr_t) "b", .live = true}, {.name = (char *)(uintptr_t) "new"}};
static double domain_weights[] = {3, 1, NAN};
static const struct config domains_config = {.corpus = (char *)(uintptr_t) "c",
    .domains = domain_list,
    .domains_n = 3,
    .mix = {.name = (char *)(uintptr_t) "m", .weight = domain_weights}};
static struct ledger_domain mixed_domains[] = {
    {.name = (char *)(uintptr_t) "b",
	.raw_weight = 7,
	.taken = 10,
	.tokens = 90,
	.epoch = 1,
	.position = 4,
	.owed = 2,
	.live = true},
    {.name = (char *)(uintptr_t) "a", .raw_weight = 6, .taken = 20, .tokens = 100},
    {.name = (char *)(uintptr_t) "old", .raw_weight = 5, .state = LEDGER_JOINING},
    {.name = (char *)(uintptr_t) "left", .state = LEDGER_LEFT},
};

static struct partition_status {
	int64_t low, high;
	bool known, sealed;
	uint64_t sequences, sealed_sequences;
} const partitions_read[] = {{0, 5, true, true, 4, 4}, {1, 9, true, false, 7, 0},
    {0, 3, true, false, 3, 0}, {2, 6, true, true, 5, 5}};

static void
begin_domains(struct status_query *q, struct status *st)
{
	begin();
	old_topic = recipes_fail = FAIL_NONE;
	other_b = false;
	domain_topic[0] = 2;
	domain_topic[1] = 1;
	partitions[0] = (struct partition_world){
	    "c.a", 0, 0, 5, 2, {.sequences = 4, .sealed = true, .sealed_sequences = 4}, TAIL_COMES};
	partitions[1] = (struct partition_world){"c.a", 1, 1, 9, 3, {.sequences = 7}, TAIL_COMES};
	partitions[2] = (struct partition_world){"c.b", 0, 0, 3, -1, {.sequences = 3}, TAIL_COMES};
	partitions[3] = (struct partition_world){"c.old", 0, 2, 6, 0,
	    {.sequences = 5, .sealed = true, .sealed_sequences = 5}, TAIL_COMES};
	*st = (struct status){
	    .config = &domains_config, .ledger = {.domain = mixed_domains, .domains_n = 4}};
	*q = (struct status_query){.config = &domains_config,
	    .reader = (rd_kafka_t *)&handle,
	    .mixer = (rd_kafka_t *)&handle,
	    .now_ms = NOW_MS,
	    .seen = calloc(4, sizeof(*q->seen)),
	    .seen_n = calloc(4, sizeof(*q->seen_n)),
	    .pace = {.domains_ms = 1000}};
}

static void
end_status_domains(struct status *st)
{
	for (size_t i = 0; i < st->domains_n; i++)
		free(st->domain[i].partition);
	free(st->domain);
	st->domain = NULL;
	st->domains_n = 0;
}

static void
end_domains(struct status_query *q, struct status *st)
{
	end_status_domains(st);
	for (size_t i = 0; i < 3; i++)
		free(q->seen[i]);
	free(q->seen);
	free(q->seen_n);
	free(q->differs);
	free(q->other);
}

static void
check_partitions(const struct status_domain *d, const struct partition_status *expected, size_t n)
{
	assert_int_equal(d->partitions_n, n);
	for (size_t p = 0; p < n; p++) {
		assert_int_equal(d->partition[p].low, expected[p].low);
		assert_int_equal(d->partition[p].high, expected[p].high);
		assert_int_equal(d->partition[p].known, expected[p].known);
		assert_int_equal(d->partition[p].sealed, expected[p].sealed);
		assert_int_equal(d->partition[p].sequences, expected[p].sequences);
		assert_int_equal(d->partition[p].sealed_sequences, expected[p].sealed_sequences);
	}
}

#define TAILS      "tails c.a/0@5 c.a/1@9 c.b/0@3 c.old/0@6\n"
#define PARTITIONS "partitions c.old 15000\nends of 4 15000\n"
#define RECIPES    "recipes 110 15000\n"
#define DRAWN      "drawn c.b c.a c.old - 15000\n"
#define COMMITS    "commits of 4 15000\n"

static void
test_domains_are_those_of_the_file_and_of_the_ledger_with_their_logs(void **unused)
{
	static const struct {
		const char *name;
		int configured, mixed;
		bool live;
		double weight;
		int64_t taken, tokens, epoch, position, owed, sequences, length, commit;
		size_t sealed;
		enum ledger_domain_state state;
	} rows[] = {
	    {"a", 0, 1, false, 6, 20, 80, 0, 0, 0, 11, -1, 5, 1, LEDGER_ACTIVE},
	    {"b", 1, 0, true, 7, 10, 80, 1, 4, 2, 3, -1, -1, 0, LEDGER_ACTIVE},
	    {"new", 2, -1, false, 0, 0, 0, 0, 0, 0, 0, -1, -1, 0, LEDGER_ACTIVE},
	    {"old", -1, 2, false, 5, 0, 0, 0, 0, 0, 5, 5, 0, 1, LEDGER_JOINING},
	    {"left", -1, 3, false, 0, 0, 0, 0, 0, 0, 0, -1, -1, 0, LEDGER_LEFT},
	};
	struct status_query q;
	struct status st;

	(void)unused;
	begin_domains(&q, &st);
	other_b = true;
	assert_int_equal(status_domains_read(&q, &st, &f), FAIL_NONE);
	calls_are(PARTITIONS TAILS RECIPES DRAWN COMMITS);
	assert_int_equal(st.domains_n, 5);
	EACH_NAMED_ROW(i, rows, name) {
		const struct status_domain *d = &st.domain[i];

		assert_string_equal(d->name, rows[i].name);
		assert_int_equal(d->configured, rows[i].configured);
		assert_int_equal(d->mixed, rows[i].mixed);
		assert_int_equal(d->live, rows[i].live);
		assert_true(d->weight == rows[i].weight);
		assert_int_equal(d->taken, rows[i].taken);
		assert_int_equal(d->tokens, rows[i].tokens);
		assert_int_equal(d->epoch, rows[i].epoch);
		assert_int_equal(d->position, rows[i].position);
		assert_int_equal(d->owed, rows[i].owed);
		assert_int_equal(d->sequences, rows[i].sequences);
		assert_int_equal(d->sealed_length, rows[i].length);
		assert_int_equal(d->mixer_commit, rows[i].commit);
		assert_int_equal(d->partitions_sealed, rows[i].sealed);
		assert_int_equal(d->state, rows[i].state);
		assert_int_equal(d->partitions_late, 0);
		assert_string_equal(d->bad, "");
		assert_string_equal(d->other, i == 1 ? "b is another" : "");
		assert_string_equal(d->differs.kind, i == 1 ? "b differs" : "");
	}
	check_partitions(&st.domain[0], partitions_read, 2);
	check_partitions(&st.domain[1], partitions_read + 2, 1);
	check_partitions(&st.domain[2], NULL, 0);
	check_partitions(&st.domain[3], partitions_read + 3, 1);
	end_domains(&q, &st);
}

/* Before the mix begins, weights are those of the file, and domains only it knows are not there. */
static void
test_without_a_ledger_domains_are_those_of_the_file(void **unused)
{
	struct config c = domains_config;
	struct status_query q;
	struct status st;

	(void)unused;
	for (int with_mix = 0; with_mix < 2; with_mix++) {
		begin_domains(&q, &st);
		c.mix.name = with_mix ? domains_config.mix.name : NULL;
		st.config = q.config = &c;
		st.ledger = (struct ledger){0};
		assert_int_equal(status_domains_read(&q, &st, &f), FAIL_NONE);
		assert_int_equal(st.domains_n, 3);
		for (size_t i = 0; i < 3; i++) {
			assert_int_equal(st.domain[i].configured, i);
			assert_int_equal(st.domain[i].mixed, -1);
			assert_true(
			    st.domain[i].weight == (with_mix && i < 2 ? domain_weights[i] : 0));
			assert_int_equal(st.domain[i].mixer_commit, with_mix && i == 0 ? 5 : -1);
		}
		calls_are(with_mix ? "ends of 3 15000\ntails c.a/0@5 c.a/1@9 c.b/0@3\n" RECIPES
				     "drawn 15000\ncommits of 3 15000\n"
				   : "ends of 3 15000\ntails c.a/0@5 c.a/1@9 c.b/0@3\n" RECIPES
				     "drawn 15000\n");
		end_domains(&q, &st);
	}
}

/* What a later read asks, and what it takes from the one before. */
static void
test_only_what_may_have_changed_is_asked_again(void **unused)
{
	struct status_query q;
	struct status st;

	(void)unused;
	begin_domains(&q, &st);
	st.ledger.domains_n = 2; /* a domain that only the ledger knows is asked about each time */
	assert_int_equal(status_domains_read(&q, &st, &f), FAIL_NONE);
	calls_are("ends of 3 15000\ntails c.a/0@5 c.a/1@9 c.b/0@3\n" RECIPES
		  "drawn c.b c.a 15000\ncommits of 3 15000\n");
	assert_int_equal(q.domains_ms, NOW_MS);
	end_status_domains(&st);
	q.now_ms += 999; /* the ends are not due */
	partitions[2].high = 4;
	assert_int_equal(status_domains_read(&q, &st, &f), FAIL_NONE);
	calls_are("commits of 3 15000\n");
	check_partitions(&st.domain[0], partitions_read, 2);
	check_partitions(&st.domain[1], partitions_read + 2, 1);
	assert_string_equal(st.domain[1].differs.kind, "b differs");
	end_status_domains(&st);
	q.now_ms++; /* due: one partition has grown, so that only its last record is read */
	partitions[2].tail.sequences = 4;
	assert_int_equal(status_domains_read(&q, &st, &f), FAIL_NONE);
	calls_are("ends of 3 15000\ntails c.b/0@4\ndrawn c.b c.a 15000\ncommits of 3 15000\n");
	assert_int_equal(st.domain[1].sequences, 4);
	assert_int_equal(st.domain[0].sequences, 11);
	end_status_domains(&st);
	domain_topic[1] = 0; /* its topic was deleted: not due, and asked */
	q.now_ms++;
	assert_int_equal(status_domains_read(&q, &st, &f), FAIL_NONE);
	calls_are("ends of 2 15000\ntails\ndrawn - c.a 15000\ncommits of 2 15000\n");
	assert_int_equal(st.domain[1].sequences, 0);
	end_domains(&q, &st);
}

static void
test_a_last_record_that_is_bad_missing_or_late_is_told_apart(void **unused)
{
	struct status_query q;
	struct status st;

	(void)unused;
	begin_domains(&q, &st);
	st.ledger.domains_n = 2;
	partitions[0].comes = TAIL_BAD;
	partitions[1].comes = TAIL_ABSENT;
	partitions[2].comes = TAIL_LATE;
	assert_int_equal(status_domains_read(&q, &st, &f), FAIL_NONE);
	assert_string_equal(st.domain[0].bad, "partition 0, offset 4: broken");
	assert_int_equal(st.domain[0].partitions_late, 0);
	assert_int_equal(st.domain[0].sequences, 5 + 8); /* by the ends */
	assert_string_equal(st.domain[1].bad, "");
	assert_int_equal(st.domain[1].partitions_late, 1);
	assert_int_equal(st.domain[1].sequences, 3);
	assert_int_equal(q.domains_ms, 0); /* asked again */
	end_status_domains(&st);
	calls_n = 0;
	partitions[0].comes = partitions[1].comes = partitions[2].comes = TAIL_COMES;
	partitions[1].low = partitions[1].high; /* all of it was deleted: there is no record */
	assert_int_equal(status_domains_read(&q, &st, &f), FAIL_NONE);
	calls_are("ends of 3 15000\ntails c.a/0@5 c.b/0@3\ndrawn c.b c.a 15000\n"
		  "commits of 3 15000\n");
	assert_int_equal(st.domain[0].sequences, 4);
	assert_int_equal(q.domains_ms, NOW_MS);
	end_domains(&q, &st);
}

static void
test_what_cannot_be_asked_of_domains_fails_or_is_left_out(void **unused)
{
	static const struct {
		enum fail_code old, recipes, code;
		bool late;
		size_t old_partitions;
		const char *calls;
	} rows[] = {
	    {FAIL_DENIED, FAIL_NONE, FAIL_NONE, false, 0,
		"partitions c.old 15000\nends of 3 15000\ntails c.a/0@5 c.a/1@9 c.b/0@3\n" RECIPES
		"drawn c.b c.a - - 15000\ncommits of 3 15000\n"},
	    {FAIL_BROKER, FAIL_NONE, FAIL_BROKER, false, 0, "partitions c.old 15000\n"},
	    {FAIL_NONE, FAIL_TIMEOUT, FAIL_NONE, true, 1, PARTITIONS TAILS RECIPES DRAWN COMMITS},
	    {FAIL_NONE, FAIL_BROKER, FAIL_BROKER, false, 1, PARTITIONS TAILS RECIPES},
	};

	(void)unused;
	EACH_ROW(i, rows) {
		struct status_query q;
		struct status st;

		begin_domains(&q, &st);
		old_topic = rows[i].old;
		recipes_fail = rows[i].recipes;
		assert_int_equal(status_domains_read(&q, &st, &f), rows[i].code);
		calls_are(rows[i].calls);
		assert_int_equal(st.late[STATUS_PART_RECIPES], rows[i].late);
		assert_int_equal(st.domain[3].partitions_n, rows[i].old_partitions);
		assert_int_equal(
		    q.differs != NULL, rows[i].recipes == FAIL_NONE && rows[i].old != FAIL_BROKER);
		end_domains(&q, &st);
	}
}

static void
test_last_records_are_read_32_at_a_time(void **unused)
{
	static const struct {
		int partitions, requests;
	} rows[] = {{31, 1}, {32, 1}, {33, 2}, {64, 2}, {65, 3}};

	(void)unused;
	EACH_ROW(i, rows) {
		struct status_query q;
		struct status st;
		int requests = 0;

		begin_domains(&q, &st);
		domain_topic[0] = rows[i].partitions;
		domain_topic[1] = 0;
		st.ledger.domains_n = 0;
		assert_int_equal(status_domains_read(&q, &st, &f), FAIL_NONE);
		for (const char *at = calls; (at = strstr(at, "tails")) != NULL; at++)
			requests++;
		assert_int_equal(requests, rows[i].requests);
		assert_int_equal(st.domain[0].sequences, rows[i].partitions);
		assert_true(st.domain[0].partition[rows[i].partitions - 1].known);
		end_domains(&q, &st);
	}
}

/* A mixer compares what it draws; others only if the file names them, and never those dropped. */
static void
test_logs_are_compared_that_a_mixer_would_compare(void **unused)
{
	static const struct {
		enum ledger_domain_state b, old;
		const char *drawn;
	} rows[] = {
	    {LEDGER_ACTIVE, LEDGER_ACTIVE, "drawn c.b c.a c.old - 15000\n"},
	    {LEDGER_JOINING, LEDGER_JOINING, "drawn c.b c.a c.old - 15000\n"},
	    {LEDGER_LEFT, LEDGER_LEFT, "drawn c.b c.a - - 15000\n"},
	    {LEDGER_DROPPED, LEDGER_DROPPED, "drawn - c.a - - 15000\n"},
	};

	(void)unused;
	EACH_ROW(i, rows) {
		struct ledger_domain mixed[4];
		struct status_query q;
		struct status st;

		begin_domains(&q, &st);
		memcpy(mixed, mixed_domains, sizeof(mixed));
		mixed[0].state = rows[i].b;
		mixed[2].state = rows[i].old;
		st.ledger.domain = mixed;
		assert_int_equal(status_domains_read(&q, &st, &f), FAIL_NONE);
		assert_non_null(strstr(calls, rows[i].drawn));
		assert_int_equal(
		    strstr(calls, "partitions c.old") == NULL, rows[i].old == LEDGER_LEFT);
		end_domains(&q, &st);
	}
}

/* ---- in place of run_position.c and kafka_groups.c ---- */

struct run_position_query {
	char run[16];
};

static int queries; /* that are open */
static char *groups[] = {(char *)(uintptr_t) "m.one", (char *)(uintptr_t) "m.mixer",
    (char *)(uintptr_t) "m.extra", (char *)(uintptr_t) "m.known"};
static enum fail_code groups_fail;

enum fail_code
kafka_groups(rd_kafka_t *rk, const char *prefix, char ***name, size_t *n, int timeout_ms,
    struct failure *why)
{
	assert_ptr_equal((const void *)rk, &handle);
	call(why, "groups %s %d\n", prefix, timeout_ms);
	*name = groups;
	*n = 4;
	return groups_fail == FAIL_NONE ? FAIL_NONE : fail(why, groups_fail, "no groups");
}

void
kafka_groups_free(char **name, size_t n)
{
	assert_true(name == groups && n == 4);
}

enum fail_code
run_position_open(struct run_position_query **out, const char *mix, const char *run, bool shared,
    const char *client, const struct properties *properties, struct failure *why)
{
	(void)properties;
	if (call(why, "%s.%s %d %s\n", mix, run, shared, client) != FAIL_NONE)
		return why->code;
	*out = calloc(1, sizeof(**out));
	snprintf((*out)->run, sizeof((*out)->run), "%s", run);
	queries++;
	return FAIL_NONE;
}

void
run_position_close(struct run_position_query *q)
{
	queries -= q != NULL;
	free(q);
}

enum fail_code
run_position_ask(struct run_position_query *q, size_t lanes, int timeout_ms,
    struct run_position *at, struct failure *why)
{
	*at = (struct run_position){
	    .any = true, .all = true, .step = 5, .lane = 1, .step_ahead = 9, .apart = "far"};
	return call(why, "ask %s %zu %d\n", q->run, lanes, timeout_ms);
}

/* ---- runs ---- */

static const struct config runs_config = {.mix = {.name = (char *)(uintptr_t) "m",
					      .lanes = 4,
					      .partitions = 2,
					      .runs = {.n = 2, .text = run_names}}};
static struct ledger_run known_runs[] = {{(char *)(uintptr_t) "known", 30}};

static void
test_groups_name_runs_that_nobody_else_knows(void **unused)
{
	static const char *const rows[] = {"two", "one", "known", "extra"};
	struct status_query q = {.config = &runs_config, .reader = (rd_kafka_t *)&handle};
	struct status st = {.config = &runs_config, .ledger = {.run = known_runs, .runs_n = 1}};

	(void)unused;
	begin();
	groups_fail = FAIL_NONE;
	topic_of[TOPIC_LANES].name = "m.lanes";
	report = (struct topics_report){.partitions = 4};
	assert_int_equal(status_runs_open(&q, &st, true, &f), FAIL_NONE);
	calls_are("groups m. 15000\nm.two 1 status\nm.one 1 status\nm.known 1 status\n"
		  "m.extra 1 status\n");
	assert_int_equal(status_runs_read(&q, &st, &f), FAIL_NONE);
	calls_are("ask two 4 15000\nask one 4 15000\nask known 4 15000\nask extra 4 15000\n");
	assert_int_equal(st.runs_n, 4);
	EACH_ROW(i, rows) {
		const struct status_run *r = &st.run[i];

		assert_string_equal(r->name, rows[i]);
		assert_int_equal(r->configured, i < 2);
		assert_int_equal(r->known, i == 2 ? 30 : 0);
		assert_int_equal(r->seen_ms, -1);
		assert_true(r->committed && r->committed_all && r->step == 5 && r->lane == 1 &&
			    r->step_ahead == 9);
		assert_string_equal(r->apart, "far");
		assert_string_equal(r->bad, "");
	}
	free(st.run);
	/* The next read opens handles of new runs, and closes those of runs that are gone. */
	st = (struct status){.config = &runs_config};
	known_runs[0].name = (char *)(uintptr_t) "later";
	st.ledger = (struct ledger){.run = known_runs, .runs_n = 1};
	assert_int_equal(status_runs_open(&q, &st, false, &f), FAIL_NONE);
	calls_are("m.later 1 status\n");
	assert_int_equal(queries, 3);
	answer = FAIL_DATA;
	assert_int_equal(status_runs_read(&q, &st, &f), FAIL_NONE);
	assert_string_equal(st.run[1].bad, "no answer");
	assert_false(st.run[1].committed);
	answer = FAIL_TIMEOUT;
	assert_int_equal(status_runs_read(&q, &st, &f), FAIL_TIMEOUT);
	free(st.run);
	status_runs_close(&q);
	assert_int_equal(queries, 0);
	known_runs[0].name = (char *)(uintptr_t) "known";
}

static void
test_groups_that_cannot_be_listed_are_missed(void **unused)
{
	static const struct {
		enum fail_code fails, code;
	} rows[] = {
	    {FAIL_DENIED, FAIL_NONE}, {FAIL_TIMEOUT, FAIL_NONE}, {FAIL_MEMORY, FAIL_MEMORY}};

	(void)unused;
	EACH_ROW(i, rows) {
		struct status_query q = {.config = &runs_config, .reader = (rd_kafka_t *)&handle};
		struct status st = {.config = &runs_config};

		begin();
		groups_fail = rows[i].fails;
		assert_int_equal(status_runs_open(&q, &st, true, &f), rows[i].code);
		assert_int_equal(st.runs_n, 2);
		assert_int_equal(q.runs_n, rows[i].code == FAIL_NONE ? 2 : 0);
		free(st.run);
		status_runs_close(&q);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_mixers_are_asked_when_due_and_kept_until_then),
	    cmocka_unit_test(test_an_election_that_does_not_answer_is_a_warning_once),
	    cmocka_unit_test(test_foreign_arrivals_are_counted_from_read_to_read),
	    cmocka_unit_test(test_arrivals_that_may_not_be_read_are_a_warning_once),
	    cmocka_unit_test(test_losses_are_read_by_run_and_kept_until_they_are_due),
	    cmocka_unit_test(test_the_last_reports_and_the_first_runs_are_read),
	    cmocka_unit_test(test_losses_that_do_not_come_are_late_and_asked_again),
	    cmocka_unit_test(test_a_feed_that_fails_is_closed_and_a_deleted_topic_has_no_losses),
	    cmocka_unit_test(test_no_losses_are_asked_for_before_the_mix_and_its_topic_exist),
	    cmocka_unit_test(test_domains_are_those_of_the_file_and_of_the_ledger_with_their_logs),
	    cmocka_unit_test(test_without_a_ledger_domains_are_those_of_the_file),
	    cmocka_unit_test(test_only_what_may_have_changed_is_asked_again),
	    cmocka_unit_test(test_a_last_record_that_is_bad_missing_or_late_is_told_apart),
	    cmocka_unit_test(test_what_cannot_be_asked_of_domains_fails_or_is_left_out),
	    cmocka_unit_test(test_last_records_are_read_32_at_a_time),
	    cmocka_unit_test(test_logs_are_compared_that_a_mixer_would_compare),
	    cmocka_unit_test(test_groups_name_runs_that_nobody_else_knows),
	    cmocka_unit_test(test_groups_that_cannot_be_listed_are_missed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
