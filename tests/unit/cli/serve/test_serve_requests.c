/* serve_requests.h: when there is something to read, and what clients get, on a mock cluster. */
#include "cli/serve/serve_requests.h"

#include "common/base/log.h"
#include "common/record/control.h"
#include "tests/unit/mock_topics.h"

static struct config config = {.corpus = (char[]){"demo"}, .mix = {.name = (char[]){"pre"}}};

/* What the follower sees: where the control topic ends, and the ledger's last record. */
static void
note(struct serve_requests *r, int64_t control_end, int64_t offset, struct ledger ledger)
{
	const struct status st = {
	    .ledger = ledger, .ledger_offset = offset, .control_end = control_end};

	serve_requests_note(r, &st);
}

/* Nothing has been read yet, so a read is wanted if there may be something. */
static void
test_the_first_read_is_wanted_unless_there_is_no_topic(void **unused)
{
	static const struct {
		int64_t end;
		bool wanted;
	} rows[] = {{-1, false}, {0, true}, {1, true}};
	char why[FAILURE_TEXT_MAX];
	struct serve_requests *r;

	(void)unused;
	EACH_ROW(i, rows) {
		assert_int_equal(serve_requests_open(&r, &config, &f), FAIL_NONE);
		assert_true(serve_requests_wanted(r)); /* the follower does not know either */
		note(r, rows[i].end, -1, (struct ledger){0});
		assert_int_equal(serve_requests_wanted(r), rows[i].wanted);
		assert_null(serve_requests_text(r, why));
		assert_string_equal(why, "the requests have not been read yet");
		serve_requests_close(r);
	}
	serve_requests_close(NULL);
}

static void
ask_for(const char *id, const char *who)
{
	const struct control c = {.kind = LEDGER_SKIP,
	    .id = (char *)(uintptr_t)id,
	    .who = (char *)(uintptr_t)who,
	    .domain = (char[]){"web"}};
	uint8_t *bytes;
	size_t n;

	assert_int_equal(control_encode(&c, &bytes, &n, &f), FAIL_NONE);
	mock_write("pre.control", 0, bytes, n);
	free(bytes);
}

static void
test_a_later_read_is_wanted_for_what_changes_the_list(void **unused)
{
	static const struct {
		const char *claim;
		int64_t end, offset, control_next, version;
		size_t pending_n;
		bool wanted;
	} rows[] = {
	    {"nothing new", 2, 7, 2, 3, 0, false},
	    {"a request", 3, 7, 2, 3, 0, true},
	    {"the topic was emptied", 0, 7, 2, 3, 0, true},
	    {"the topic is gone", -1, 7, 2, 3, 0, false},
	    {"a step", 2, 8, 2, 3, 0, false},
	    {"an answer", 2, 8, 3, 3, 0, true},
	    {"a version", 2, 8, 2, 4, 0, true},
	    {"a change that waits", 2, 8, 2, 3, 1, true},
	    {"an older record, for a moment", 2, 7, 1, 2, 1, false},
	};
	static const struct ledger last = {.control_next = 2, .version = 3};
	char why[FAILURE_TEXT_MAX];
	struct serve_requests *r;
	struct serve_text *t;

	(void)unused;
	config.kafka = mock_properties;
	mock_topic("pre.control", 1);
	ask_for("q1", "ann");
	ask_for("q2", "bob");
	assert_int_equal(serve_requests_open(&r, &config, &f), FAIL_NONE);
	assert_int_equal(serve_requests_read(r, &last, 7, &f), FAIL_NONE);
	assert_false(serve_requests_wanted(r)); /* the follower comes later */
	EACH_NAMED_ROW(i, rows, claim) {
		note(r, rows[i].end, rows[i].offset,
		    (struct ledger){.control_next = rows[i].control_next,
			.version = rows[i].version,
			.pending_n = rows[i].pending_n});
		assert_int_equal(serve_requests_wanted(r), rows[i].wanted);
	}
	t = serve_requests_text(r, why);
	assert_non_null(t);
	assert_string_equal(why, "");
	assert_int_equal(t->n, strlen(t->bytes));
	assert_true(strstr(t->bytes, "\"q1\"") != NULL && strstr(t->bytes, "\"q2\"") != NULL);
	assert_string_equal(serve_requests_who(r, "q1"), "ann");
	assert_string_equal(serve_requests_who(r, "q2"), "bob");
	assert_null(serve_requests_who(r, "q3"));
	serve_requests_close(r);
	serve_text_release(t); /* a client may keep it for longer */
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_the_first_read_is_wanted_unless_there_is_no_topic),
	    cmocka_unit_test(test_a_later_read_is_wanted_for_what_changes_the_list),
	};

	log_set_level(LOG_ERROR);
	return cmocka_run_group_tests(tests, mock_begin, mock_end);
}
