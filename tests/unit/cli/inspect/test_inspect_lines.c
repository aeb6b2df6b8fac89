/* inspect_lines.h, on places, a ledger and domain logs of this test's own. */
#include "cli/inspect/inspect_lines.h"

#include "consumer/domain/documents.h"
#include "consumer/ledger/ledger_log.h"
#include "consumer/plan/bound_config.h"
#include "tests/unit/capture.h"

static const struct config config = {0};
static const struct published_step step = {.step = 5};

/* What was called, one word per call. */
static char calls[1024];

static void
note(const char *format, ...)
{
	size_t n = strlen(calls);
	va_list list;

	va_start(list, format);
	vsnprintf(calls + n, sizeof(calls) - n, format, list);
	va_end(list);
}

/* The call that fails, by its word; NULL: none. */
static const char *failing;

static enum fail_code
call(const char *word, enum fail_code code, struct failure *f)
{
	note("%s ", word);
	return failing != NULL && strcmp(failing, word) == 0 ? fail(f, code, "%s failed", word)
							     : FAIL_NONE;
}

/* ---- the step ---- */

static const struct published_place places[] = {
    {.domain = "web", .partition = 1, .lane = 0, .slot = 0, .ordinal = 7, .spans_n = 2},
    {.domain = "code", .partition = 0, .lane = 0, .slot = 1, .ordinal = 3, .spans_n = 1},
    {.domain = "web", .partition = 0, .lane = 1, .slot = 0, .ordinal = 9, .spans_n = 1},
    {.domain = "web", .partition = 1, .lane = 1, .slot = 1, .ordinal = 7, .spans_n = 2},
    {.domain = "web", .partition = 1, .lane = 2, .slot = 0, .ordinal = 8, .spans_n = 3},
    {.domain = "web", .partition = 1, .lane = 2, .slot = 1, .ordinal = 12, .spans_n = 1},
    {.domain = "code", .partition = 0, .lane = 3, .slot = 0, .ordinal = 5, .spans_n = 1},
    {.domain = "math", .partition = 2, .lane = 3, .slot = 1, .ordinal = 1, .spans_n = 1},
};
enum { PLACES = sizeof(places) / sizeof(places[0]) };

static enum fail_code places_code;
static int64_t places_lane;

enum fail_code
published_step_places(struct published_place **out, size_t *n, const struct published_step *s,
    int64_t lane, struct failure *f)
{
	assert_ptr_equal(s, &step);
	places_lane = lane;
	if (places_code != FAIL_NONE)
		return fail(f, places_code, "no places");
	*out = malloc(sizeof(places));
	assert_non_null(*out);
	memcpy(*out, places, sizeof(places));
	*n = PLACES;
	return FAIL_NONE;
}

int
published_place_by_log(const void *a, const void *b)
{
	const struct published_place *x = a, *y = b;
	int order = strcmp(x->domain, y->domain);

	if (order == 0)
		order = (x->partition > y->partition) - (x->partition < y->partition);
	return order != 0 ? order : (x->ordinal > y->ordinal) - (x->ordinal < y->ordinal);
}

/* ---- the ledger ---- */

static bool any;

enum fail_code
ledger_log_ask(struct ledger *out, bool *found, const char *mix,
    const struct properties *properties, int timeout_ms, struct failure *f)
{
	assert_string_equal(mix, "pre");
	assert_ptr_equal(properties, &config.kafka);
	assert_int_equal(timeout_ms, 15000);
	if (any)
		out->config = strdup("bound");
	*found = any;
	return call("ledger", FAIL_BROKER, f);
}

enum fail_code
bound_config_corpus(char **out, const char *text, struct failure *f)
{
	assert_string_equal(text, "bound");
	*out = strdup("c");
	return call("corpus", FAIL_DATA, f);
}

/* ---- the domain logs ---- */

static const struct {
	const char *topic;
	int32_t partition;
	uint64_t ordinal;
	int64_t time_ms;
	size_t spans_n;
	struct document_line line[2];
} logs[] = {
    {"c.code", 0, 3, 1003, 1, {{31, true}}},
    {"c.code", 0, 6, 1006, 1, {{61, true}}},
    {"c.math", 2, 2, 1002, 1, {{21, true}}},
    {"c.web", 0, 9, 1009, 1, {{91, false}}},
    {"c.web", 1, 7, 1007, 2, {{71, true}, {72, false}}},
    {"c.web", 1, 8, 1008, 2, {{81, true}, {82, true}}},
};
enum { LOGS = sizeof(logs) / sizeof(logs[0]) };

static size_t at; /* the next sequence in `logs` */
static int opened;

enum fail_code
documents_open(struct documents **out, const struct properties *properties, const struct stop *stop,
    int timeout_ms, struct failure *f)
{
	assert_ptr_equal(properties, &config.kafka);
	assert_non_null(stop);
	assert_int_equal(timeout_ms, 15000);
	if (call("open", FAIL_BROKER, f) != FAIL_NONE)
		return f->code;
	opened++;
	*out = (struct documents *)(uintptr_t)&opened;
	return FAIL_NONE;
}

void
documents_close(struct documents *d)
{
	if (d == NULL)
		return;
	assert_ptr_equal(d, (struct documents *)(uintptr_t)&opened);
	opened--;
}

enum fail_code
documents_seek(
    struct documents *d, const char *topic, int32_t partition, uint64_t first, struct failure *f)
{
	char word[64];

	assert_non_null(d);
	snprintf(word, sizeof(word), "%s/%d/%llu", topic, partition, (unsigned long long)first);
	at = 0;
	while (at < LOGS && !(strcmp(logs[at].topic, topic) == 0 &&
				logs[at].partition == partition && logs[at].ordinal >= first))
		at++;
	return call(word, FAIL_CONFIG, f);
}

enum fail_code
documents_next(struct documents *d, struct documents_sequence *out, bool *there, struct failure *f)
{
	assert_non_null(d);
	*there = at < LOGS;
	if (*there)
		*out = (struct documents_sequence){.ordinal = logs[at].ordinal,
		    .time_ms = logs[at].time_ms,
		    .spans_n = logs[at].spans_n,
		    .line = logs[at].line};
	return call("next", FAIL_BROKER, f);
}

/* ---- the tests ---- */

#define LOST                                                                                       \
	" that the mix has drawn: it was recreated, or cut by retention. The lines of its "        \
	"documents are not known\n"
#define UNKNOWN                                                                                    \
	"warning inspect: INSPECT-NO-LINES the lines of documents in their files are not known: "

static enum fail_code
open_lines(struct inspect_lines **l, char said[static 4096])
{
	struct capture log;
	char text[4096];
	size_t n = 0;
	enum fail_code code;

	calls[0] = said[0] = '\0';
	*l = NULL;
	capture_begin(&log);
	code = inspect_lines_open(l, "pre", &config, &step, 4, &f);
	capture_end_lines(&log, text, sizeof(text));
	for (char *rest = NULL, *line = strtok_r(text, "\n", &rest); line != NULL;
	     line = strtok_r(NULL, "\n", &rest))
		n += (size_t)snprintf(said + n, 4096 - n, "%s\n", strchr(line, ' ') + 1);
	assert_int_equal(opened, 0);
	return code;
}

/* Prints "LANE.SLOT=LINE,~LINE@TIME" of each place whose lines are known. */
static void
list_known(const struct inspect_lines *l, char out[static 1024])
{
	size_t n = 0;

	out[0] = '\0';
	for (size_t i = 0; i < PLACES; i++) {
		const struct published_place *p = &places[i];
		int64_t time_ms = 0;
		const struct document_line *line =
		    inspect_lines_of(l, p->lane, p->slot, p->spans_n, &time_ms);

		if (line == NULL) {
			assert_int_equal(time_ms, -1);
			continue;
		}
		n += (size_t)snprintf(out + n, 1024 - n, "%u.%zu=", p->lane, p->slot);
		for (size_t k = 0; k < p->spans_n; k++)
			n += (size_t)snprintf(out + n, 1024 - n, "%s%s%llu", k == 0 ? "" : ",",
			    line[k].exact ? "" : "~", (unsigned long long)line[k].line);
		n += (size_t)snprintf(out + n, 1024 - n, "@%lld ", (long long)time_ms);
	}
}

/* A sequence that is drawn twice is read once, and one warning per topic is enough. */
static void
test_each_sequence_has_the_lines_of_its_own_record(void **unused)
{
	char said[4096], known[1024];
	struct inspect_lines *l;
	int64_t time_ms;

	(void)unused;
	any = true;
	assert_int_equal(open_lines(&l, said), FAIL_NONE);
	assert_int_equal(places_lane, 4);
	assert_string_equal(calls,
	    "ledger corpus open c.code/0/3 next c.code/0/5 next c.math/2/1 next c.web/0/9 next "
	    "c.web/1/7 next c.web/1/8 next c.web/1/12 next ");
	assert_string_equal(said,
	    "warning inspect: INSPECT-NO-LINES topic c.code no longer holds sequence 5 of "
	    "partition 0" LOST
	    "warning inspect: INSPECT-NO-LINES topic c.math no longer holds sequence 1 of "
	    "partition 2" LOST
	    "warning inspect: INSPECT-NO-LINES topic c.web holds another sequence 8 of "
	    "partition 1" LOST);
	list_known(l, known);
	assert_string_equal(known, "0.0=71,~72@1007 0.1=31@1003 1.0=~91@1009 1.1=71,~72@1007 ");
	assert_null(inspect_lines_of(l, 0, 0, 1, &time_ms)); /* the record has another number */
	assert_int_equal(time_ms, -1);
	assert_null(inspect_lines_of(l, 0, 2, 1, &time_ms));
	assert_null(inspect_lines_of(l, 4, 0, 1, &time_ms));
	assert_null(inspect_lines_of(NULL, 0, 0, 2, &time_ms));
	assert_int_equal(time_ms, -1);
	inspect_lines_close(l);
	inspect_lines_close(NULL);
}

static void
test_a_log_that_cannot_be_read_leaves_the_rest_unknown(void **unused)
{
	static const struct {
		const char *fails;
		bool any;
		const char *why, *known;
	} rows[] = {
	    {"ledger", true, "ledger failed", ""},
	    {NULL, false, "the ledger of mix pre is empty", ""},
	    {"corpus", true, "corpus failed", ""},
	    {"open", true, "open failed", ""},
	    {"c.code/0/3", true, "c.code/0/3 failed", ""},
	    {"next", true, "next failed", ""},
	    {"c.math/2/1", true, "c.math/2/1 failed", "0.1=31@1003 "},
	    {"c.web/1/12", true, "c.web/1/12 failed",
		"0.0=71,~72@1007 0.1=31@1003 1.0=~91@1009 1.1=71,~72@1007 "},
	};

	(void)unused;
	EACH_ROW(i, rows) {
		char said[4096], known[1024], expected[512];
		const char *last;
		struct inspect_lines *l;

		failing = rows[i].fails;
		any = rows[i].any;
		assert_int_equal(open_lines(&l, said), FAIL_NONE);
		list_known(l, known);
		assert_string_equal(known, rows[i].known);
		snprintf(expected, sizeof(expected), UNKNOWN "%s\n", rows[i].why);
		last = strstr(said, UNKNOWN);
		assert_non_null(last);
		assert_string_equal(last, expected);
		inspect_lines_close(l);
	}
	failing = NULL;
	any = true;
}

static void
test_a_damaged_record_has_no_lines_and_other_failures_are_returned(void **unused)
{
	char said[4096], known[1024];
	struct inspect_lines *l;

	(void)unused;
	places_code = FAIL_DATA;
	assert_int_equal(open_lines(&l, said), FAIL_NONE);
	assert_non_null(l);
	list_known(l, known);
	assert_string_equal(known, "");
	assert_string_equal(said, "");
	inspect_lines_close(l);
	places_code = FAIL_USAGE;
	assert_int_equal(open_lines(&l, said), FAIL_USAGE);
	assert_null(l);
	assert_string_equal(calls, "");
	places_code = FAIL_NONE;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_each_sequence_has_the_lines_of_its_own_record),
	    cmocka_unit_test(test_a_log_that_cannot_be_read_leaves_the_rest_unknown),
	    cmocka_unit_test(test_a_damaged_record_has_no_lines_and_other_failures_are_returned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
