/* serve_watch.h: what is done with each look at the broker. The looks are the test's own. */
#include "cli/serve/serve_watch.h"

#include <semaphore.h>

#include "common/base/clock.h"
#include "consumer/status/status_query.h"
#include "tests/unit/capture.h"

static const struct config config = {0};
static char calls[1024];

static void
note(const char *word)
{
	size_t n = strlen(calls);

	snprintf(calls + n, sizeof(calls) - n, "%s ", word);
}

/* ---- a clock that is a second later each time: nothing waits ---- */

static int64_t now_ms;

int64_t
clock_ms(void)
{
	return now_ms += 1000;
}

int64_t
clock_wall_ms(void)
{
	return 0;
}

/* ---- the looks ---- */

/* What they do: 'o' no query can be opened, 'r' it cannot be read, '.' it is read, 'm' memory. */
static const char *script;
static sem_t done, may_end;
static struct status read_status;

enum fail_code
status_query_open(struct status_query **out, const struct config *c, struct failure *f)
{
	assert_ptr_equal(c, &config);
	note("open");
	if (*script == 'o') {
		script++;
		return fail(f, FAIL_BROKER, "no broker");
	}
	*out = (struct status_query *)&read_status;
	return FAIL_NONE;
}

void
status_query_close(struct status_query *q)
{
	note(q == NULL ? "close-none" : "close");
}

void
status_query_set_pace(struct status_query *q, const struct status_query_pace *pace)
{
	assert_ptr_equal(q, (struct status_query *)&read_status);
	assert_int_equal(pace->topics_ms, 30000);
	assert_int_equal(pace->domains_ms, 10000);
	assert_int_equal(pace->losses_ms, 3000);
	assert_int_equal(pace->mixers_ms, 2000);
}

enum fail_code
status_query_read(struct status_query *q, struct status **out, struct failure *f)
{
	char what = *script++;

	assert_ptr_equal(q, (struct status_query *)&read_status);
	*out = &read_status;
	if (what == '\0') { /* all is played: the thread is asked to end meanwhile */
		sem_post(&done);
		sem_wait(&may_end);
		return FAIL_NONE;
	}
	if (what == 'm')
		read_status.lead_steps = 1;
	note("read");
	return what == 'r' ? fail(f, FAIL_TIMEOUT, "no answer") : FAIL_NONE;
}

/* ---- who gets it ---- */

static struct serve_state state;

void
serve_requests_note(struct serve_requests *r, const struct status *st)
{
	assert_ptr_equal(r, (struct serve_requests *)&script);
	assert_ptr_equal(st, &read_status);
	note("requests");
}

void
serve_history_note(struct serve_history *h, const struct status *st)
{
	assert_ptr_equal(h, (struct serve_history *)&calls);
	assert_ptr_equal(st, &read_status);
	note("history");
}

static struct serve_snapshot made;

enum fail_code
serve_snapshot_make(
    struct serve_snapshot **out, struct status *of, int64_t read_ms, struct failure *f)
{
	assert_ptr_equal(of, &read_status);
	assert_int_equal(read_ms, now_ms); /* when it was asked, the last time that was looked at */
	*out = &made;
	if (of->lead_steps == 0)
		return FAIL_NONE;
	of->lead_steps = 0;
	return fail_memory(f);
}

void
serve_state_put(struct serve_state *s, struct serve_snapshot *now)
{
	assert_ptr_equal(s, &state);
	assert_ptr_equal(now, &made);
	note("put");
}

void
serve_state_fail(struct serve_state *s, const char *why)
{
	assert_ptr_equal(s, &state);
	note("fail:");
	note(why);
}

/* ---- the test ---- */

#define PUT   "read requests history put "
#define ENDS  "requests history put close "
#define WARNS "warning serve: SERVE-BROKER "
#define AGAIN "info serve: the broker answers again\n"

/* A failure is logged when it begins and when it ends; the state has each of them. */
static void
test_each_look_is_put_or_why_it_failed(void **unused)
{
	static const struct {
		const char *looks, *calls, *said;
	} rows[] = {
	    {"", "open " ENDS, ""},
	    {"..", "open " PUT PUT ENDS, ""},
	    {"o.", "open fail: no broker open " PUT ENDS, WARNS "no broker; asking again\n" AGAIN},
	    {".rr.r",
		"open " PUT "read fail: no answer read fail: no answer " PUT
		"read fail: no answer " ENDS,
		WARNS "no answer; asking again\n" AGAIN WARNS "no answer; asking again\n" AGAIN},
	    {"m", "open read requests history fail: out of memory " ENDS,
		WARNS "out of memory; asking again\n" AGAIN},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, looks) {
		struct serve_watch *w;
		struct capture log;
		char text[4096], said[4096] = "";
		size_t n = 0;

		calls[0] = '\0';
		script = rows[i].looks;
		sem_init(&done, 0, 0);
		sem_init(&may_end, 0, 0);
		capture_begin(&log);
		assert_int_equal(
		    serve_watch_open(&w, &config, &state, (struct serve_history *)&calls,
			(struct serve_requests *)&script, &f),
		    FAIL_NONE);
		sem_wait(&done);
		assert_false(serve_watch_end(w, 0)); /* it is under way */
		sem_post(&may_end);
		assert_true(serve_watch_end(w, 30000));
		capture_end_lines(&log, text, sizeof(text));
		for (char *rest = NULL, *line = strtok_r(text, "\n", &rest); line != NULL;
		     line = strtok_r(NULL, "\n", &rest))
			n += (size_t)snprintf(
			    said + n, sizeof(said) - n, "%s\n", strchr(line, ' ') + 1);
		serve_watch_close(w);
		assert_string_equal(calls, rows[i].calls);
		assert_string_equal(said, rows[i].said);
		sem_destroy(&done);
		sem_destroy(&may_end);
	}
	assert_true(serve_watch_end(NULL, 0));
	serve_watch_close(NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_each_look_is_put_or_why_it_failed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
