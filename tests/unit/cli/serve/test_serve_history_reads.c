/*
 * serve_history.h: what its thread reads of a ledger, of the reports of a run and of requests,
 * which are the test's own, and what is known afterwards.
 */
#include "cli/serve/serve_history_internal.h"

#include <semaphore.h>

#include "common/base/clock.h"
#include "common/schedule/weights.h"
#include "consumer/ledger/ledger_log.h"
#include "consumer/status/past_losses.h"
#include "tests/unit/capture.h"
#include "tests/unit/printed.h"

static struct config config = {.corpus = (char[]){"demo"}, .mix = {.name = (char[]){"pre"}}};

/* One word per call, until the first round is over. */
static char calls[8192];
static bool over;
static sem_t seen, done; /* the follower has noted its status; the round is over */

static void
end_round(void)
{
	over = true;
	sem_post(&done);
}

static const char *failing = ""; /* the word of the call that fails */
static enum fail_code fails_with;

static enum fail_code
note(struct failure *f, const char *format, ...)
{
	char word[64];
	size_t n = strlen(calls);
	va_list list;

	va_start(list, format);
	vsnprintf(word, sizeof(word), format, list);
	va_end(list);
	if (!over)
		snprintf(calls + n, sizeof(calls) - n, "%s ", word);
	return f != NULL && strcmp(word, failing) == 0 ? fail(f, fails_with, "%s failed", word)
						       : FAIL_NONE;
}

/* ---- the ledger: a record at each even offset ---- */

enum { RECORDS_MAX = 8, BIG = 1000 };

static size_t records; /* that there are */
static int64_t newest; /* the version of the last one; 0: each two records have one */
static size_t stands;  /* at which record ledger_log_next() is */
static bool losses_follow;

static char *
copy(const char *text)
{
	char *made = strdup(text);

	assert_non_null(made);
	return made;
}

/* After (i + 1) * 10 steps: all of it is owned, for ledger_clear(). */
static struct ledger
make_record(size_t i)
{
	int64_t step = ((int64_t)i + 1) * 10, version = 1 + (int64_t)i / 2;
	struct ledger l = {.step_first = step - 10,
	    .step_next = step,
	    .draws = 1000 * step,
	    .version = newest > 0 && i + 1 == records ? newest : version,
	    .version_step = (version - 1) * 20,
	    .mixer = 7,
	    .reason = LEDGER_BY_REQUEST,
	    .temperature = 1,
	    .lr_scale = 1,
	    .domain = calloc(1, sizeof(*l.domain)),
	    .domains_n = 1};
	char id[16];

	snprintf(id, sizeof(id), "r%d", (int)l.version);
	l.reason_id = copy(id);
	l.phase = copy("");
	l.domain[0] = (struct ledger_domain){.name = copy("web"),
	    .weight = WEIGHT_ONE,
	    .raw_weight = 1,
	    .taken = 10 * step,
	    .tokens = 100 * step};
	return l;
}

enum fail_code
ledger_log_open_for_looks(struct ledger_log **out, const char *mix,
    const struct properties *properties, int timeout_ms, struct failure *f)
{
	enum fail_code code;

	sem_wait(&seen); /* its thread may begin before the test has said what there is */
	sem_post(&seen);
	code = note(f, "open");
	assert_string_equal(mix, "pre");
	assert_ptr_equal(properties, &config.kafka);
	assert_int_equal(timeout_ms, 5000);
	if (code == FAIL_NONE)
		*out = (struct ledger_log *)&records;
	return code;
}

void
ledger_log_close(struct ledger_log *l)
{
	note(NULL, l == NULL ? "close-none" : "close");
	if (!losses_follow)
		end_round();
}

enum fail_code
ledger_log_last(struct ledger_log *l, struct ledger *out, bool *any, struct failure *f)
{
	assert_non_null(l);
	*any = records > 0;
	if (*any)
		*out = make_record(records - 1);
	return note(f, "last");
}

int64_t
ledger_log_last_offset(const struct ledger_log *l)
{
	assert_non_null(l);
	return 2 * ((int64_t)records - 1);
}

enum fail_code
ledger_log_at(struct ledger_log *l, int64_t offset, struct ledger *out, int64_t *found,
    int64_t *time_ms, bool *any, struct failure *f)
{
	size_t i = (size_t)(offset + 1) / 2;

	assert_non_null(l);
	if (note(f, "at%d", (int)offset) != FAIL_NONE)
		return f->code;
	*any = i < records;
	if (!*any)
		return FAIL_NONE;
	*out = make_record(i);
	*found = 2 * (int64_t)i;
	*time_ms = 5000 + out->step_next;
	return FAIL_NONE;
}

enum fail_code
ledger_log_first_at(struct ledger_log *l, struct ledger *out, int64_t *found, int64_t *time_ms,
    bool *any, struct failure *f)
{
	assert_non_null(l);
	*any = records > 0;
	*out = make_record(0);
	*found = 0;
	*time_ms = 5010;
	return note(f, "first");
}

enum fail_code
ledger_log_first(struct ledger_log *l, struct ledger *out, bool *any, struct failure *f)
{
	int64_t found, time_ms;

	stands = 1;
	return ledger_log_first_at(l, out, &found, &time_ms, any, f);
}

enum fail_code
ledger_log_seek(struct ledger_log *l, uint64_t step, bool one_before, struct failure *f)
{
	assert_non_null(l);
	if (note(f, "seek%d", (int)step) != FAIL_NONE)
		return f->code;
	if (step < 10)
		return fail(f, FAIL_DATA, "the ledger has none");
	stands = (size_t)step / 10 - 1;
	stands = stands < records ? stands : records - 1;
	if (one_before && stands > 0)
		stands--;
	return FAIL_NONE;
}

enum fail_code
ledger_log_next(
    struct ledger_log *l, int wait_ms, struct ledger *out, int64_t *offset, struct failure *f)
{
	assert_non_null(l);
	assert_int_equal(wait_ms, 0);
	if (stands == records)
		return fail(f, FAIL_TIMEOUT, "there is none");
	*offset = 2 * (int64_t)stands;
	*out = make_record(stands++);
	return FAIL_NONE;
}

/* ---- reports of a run, and requests ---- */

enum { LOW = 1000 };
static int64_t reports; /* offsets that are kept, from LOW on */
static char *const *asked_for;

enum fail_code
past_losses_open(struct past_losses **out, const struct config *c, char *const *domain,
    size_t domains_n, struct failure *f)
{
	enum fail_code code = note(f, "losses");

	assert_ptr_equal(c, &config);
	assert_int_equal(domains_n, 1);
	asked_for = domain;
	assert_string_equal(domain[0], "web");
	if (code == FAIL_NONE)
		*out = (struct past_losses *)&reports;
	return code;
}

void
past_losses_close(struct past_losses *p)
{
	note(NULL, p == NULL ? "end-none" : "end");
	end_round();
}

enum fail_code
past_losses_ends(struct past_losses *p, int64_t *low, int64_t *high, struct failure *f)
{
	assert_non_null(p);
	*low = LOW;
	*high = LOW + reports;
	return note(f, "ends");
}

enum fail_code
past_losses_look(struct past_losses *p, int64_t from, int64_t end,
    const struct status_feedback **out, size_t *n, struct failure *f)
{
	static struct losses_means domain;
	static struct status_feedback found;

	assert_non_null(p);
	domain = (struct losses_means){(double)from, 0, 1};
	found = (struct status_feedback){.run = "main",
	    .steps = 1,
	    .step_last = from - LOW,
	    .world = 1,
	    .all = domain,
	    .domain = &domain};
	*out = &found;
	*n = 1;
	if (note(f, "%d-%d", (int)from, (int)end) == FAIL_NONE)
		return FAIL_NONE;
	*n = 0;
	return f->code;
}

static bool wanted;

bool
serve_requests_wanted(struct serve_requests *r)
{
	assert_ptr_equal(r, (struct serve_requests *)&wanted);
	return wanted;
}

enum fail_code
serve_requests_read(
    struct serve_requests *r, const struct ledger *last, int64_t offset, struct failure *f)
{
	assert_ptr_equal(r, (struct serve_requests *)&wanted);
	assert_int_equal(
	    last == NULL ? -1 : last->step_next, records == 0 ? -1 : 10 * (int64_t)records);
	wanted = false;
	return note(f, "requests%d", (int)offset);
}

const char *
serve_requests_who(const struct serve_requests *r, const char *id)
{
	assert_ptr_equal(r, (const struct serve_requests *)&wanted);
	return strcmp(id, "r2") == 0 ? "ann" : NULL;
}

/* ---- a round ---- */

static struct serve_history *h;

/* What the follower has seen: the last record, and with `world` ranks a run that reports. */
static void
see(uint32_t world)
{
	static struct status_domain domain = {.name = "web"};
	static struct losses_means means = {0.5, 0, 1};
	static struct status_feedback feedback;
	struct status st = {.config = &config,
	    .ledger_offset = 2 * ((int64_t)records - 1),
	    .domain = &domain,
	    .domains_n = 1};

	feedback = (struct status_feedback){.run = "main",
	    .steps = 1,
	    .step_last = BIG,
	    .world = world,
	    .all = means,
	    .domain = &means};
	if (records == 0) {
		st.ledger_offset = -1;
		serve_history_note(h, &st);
		return;
	}
	st.ledger = make_record(records - 1);
	st.ledger_time_ms = 5000 + st.ledger.step_next;
	st.feedback = &feedback;
	st.feedback_n = world > 0;
	serve_history_note(h, &st);
	ledger_clear(&st.ledger);
}

/* What is known before the round. */
static size_t versions_before;
static int64_t first_time_ms = -1;
static uint64_t first_mixer;

static void
know_before(void)
{
	pthread_mutex_lock(&h->thread.lock);
	h->version = calloc(versions_before + 1, sizeof(*h->version));
	assert_non_null(h->version);
	for (; h->versions_n < versions_before; h->versions_n++)
		h->version[h->versions_n].v =
		    (struct weight_history_version){.step = 100000 + (int64_t)h->versions_n,
			.reason_id = copy("before"),
			.phase = copy("")};
	h->first_time_ms = first_time_ms;
	h->first_mixer = first_mixer;
	pthread_mutex_unlock(&h->thread.lock);
}

/* One round of reads. The history stays, and its thread has ended. */
static void
read_once(uint32_t world, char log[static 1024])
{
	struct capture c;

	calls[0] = '\0';
	losses_follow = world > 0;
	over = false;
	sem_init(&seen, 0, 0);
	sem_init(&done, 0, 0);
	capture_begin(&c);
	assert_int_equal(
	    serve_history_open(&h, &config, (struct serve_requests *)&wanted, &f), FAIL_NONE);
	know_before();
	see(world);
	sem_post(&seen);
	sem_wait(&done);
	assert_true(serve_history_end(h, 30000));
	capture_end_lines(&c, log, 1024);
	sem_destroy(&seen);
	sem_destroy(&done);
}

static bool
is_complete(void)
{
	struct serve_text *t = serve_history_text(h, &(struct serve_range){0, 5000, 50, 0});
	bool complete = strstr(t->bytes, "\"complete\":true") != NULL;

	serve_text_release(t);
	return complete;
}

#define ENDS     "open last at10 first "
#define GAPS     "at5 at3 at2 at8 "
#define VERSIONS "seek39 seek19 "
#define LOOKS    "1000-1014 1050-1064 1025-1039 1075-1089 1012-1026 1062-1076 1037-1051 1087-1100 "

static void
test_a_round_reads_ends_gaps_versions_and_reports(void **unused)
{
	char log[1024];
	struct serve_text *t;
	struct printed p;

	(void)unused;
	records = 6;
	reports = 100;
	wanted = true;
	read_once(3, log);
	assert_string_equal(
	    calls, ENDS "requests10 " GAPS VERSIONS "close losses ends " LOOKS "end ");
	assert_string_equal(log, "");
	assert_true(h->looked && h->first_known && h->losses_known);
	assert_in_range(h->finer_ms, clock_ms() + 1, clock_ms() + 30000);
	t = serve_history_text(h, &(struct serve_range){0, 5000, 100, 0});
	fwrite(t->bytes, 1, t->n, printed_begin(&p));
	printed_json_is(&p,
	    "{'mix':'pre','ledger_offset':10,'step_first':0,'step_next':60,'complete':true,"
	    "'error':null,'step':[10,20,30,40,50,60],'time_ms':[5010,5020,5030,5040,5050,5060],"
	    "'draws':[10000,20000,30000,40000,50000,60000],'version':[1,1,2,2,3,3],"
	    "'domains':[{'name':'web','taken':[100,200,300,400,500,600],'tokens':[900,1800,2700,"
	    "3600,4500,5400],'intended':[1,1,1,1,1,1],'deviation':[0,0,0,0,0,0]}],'versions':["
	    "{'version':1,'step':0,'reason':'request','reason_id':'r1','who':null,'phase':'',"
	    "'temperature':1.0,'lr_scale':1.0,'global_batch':0,'shares':{'web':1.0}},"
	    "{'version':2,'step':20,'reason':'request','reason_id':'r2','who':'ann','phase':'',"
	    "'temperature':1.0,'lr_scale':1.0,'global_batch':0,'shares':{'web':1.0}},"
	    "{'version':3,'step':40,'reason':'request','reason_id':'r3','who':null,'phase':'',"
	    "'temperature':1.0,'lr_scale':1.0,'global_batch':0,'shares':{'web':1.0}}],"
	    "'losses':[{'run':'main','step':[0,12,25,37,50,62,75,87,1000],'all':[1000,1012,1025,"
	    "1037,1050,1062,1075,1087,0.5],'domains':{'web':[1000,1012,1025,1037,1050,1062,1075,"
	    "1087,0.5]}}]}");
	serve_text_release(t);
	serve_history_close(h);
}

/* Few reports are looked into once, many at 128 places, each wide enough for two steps. */
static void
test_reports_are_looked_into_at_even_distances(void **unused)
{
	static const struct {
		uint32_t world;
		int64_t reports;
		size_t looks;
		const char *first; /* looks */
	} rows[] = {
	    {3, 0, 1, " 1000-1000 end"},
	    {3, 13, 1, " 1000-1013 end"},
	    {3, 14, 2, " 1000-1014 1007-1014 end"},
	    {3, 27, 2, " 1000-1014 1013-1027 end"},
	    {3, 28, 4, " 1000-1014 1014-1028 1007-1021 1021-1028 end"},
	    {3, 895, 64, " 1000-1014 1447-1461 "},
	    {3, 896, 128, " 1000-1014 1448-1462 "},
	    {3, 1 << 20, 128, " 1000-1014 525288-525302 263144-263158 "},
	    {1, 1 << 20, 128, " 1000-1010 525288-525298 "},
	    {1 << 30, 32768, 128, " 1000-1512 17384-17896 "},
	    {1 << 30, 32767, 64, " 1000-1512 17383-17895 "},
	};

	(void)unused;
	records = 6;
	EACH_ROW(i, rows) {
		char log[1024];
		const char *at;
		size_t looks = 0;

		reports = rows[i].reports;
		read_once(rows[i].world, log);
		at = strstr(calls, " ends");
		assert_non_null(at);
		at += strlen(" ends");
		for (const char *k = at; (k = strchr(k, '-')) != NULL; k++)
			looks++;
		assert_int_equal(looks, rows[i].looks);
		assert_memory_equal(at, rows[i].first, strlen(rows[i].first));
		serve_history_close(h);
	}
}

static void
test_an_empty_ledger_is_complete(void **unused)
{
	char log[1024];

	(void)unused;
	records = 0;
	wanted = true;
	read_once(0, log);
	assert_string_equal(calls, "open last requests-1 close ");
	assert_true(is_complete());
	assert_false(h->looked || h->first_known);
	serve_history_close(h);
}

/* A broker that is silent is no fault of the history: the status says it. */
static void
test_a_failure_ends_the_round_and_is_said_unless_the_broker_is_silent(void **unused)
{
	static const struct {
		const char *fails;
		enum fail_code code;
		uint32_t world;
		bool said, complete;
		const char *calls;
	} rows[] = {
	    {"open", FAIL_BROKER, 0, false, false, "open close-none "},
	    {"open", FAIL_TIMEOUT, 0, false, false, "open close-none "},
	    {"open", FAIL_DENIED, 0, true, false, "open close-none "},
	    {"last", FAIL_DATA, 0, true, false, "open last close "},
	    {"at10", FAIL_DATA, 0, true, false, "open last at10 close "},
	    {"first", FAIL_CONFIG, 0, true, false, ENDS "close "},
	    {"requests10", FAIL_DENIED, 0, true, false, ENDS "requests10 close "},
	    {"at5", FAIL_BROKER, 0, false, false, ENDS "requests10 at5 close "},
	    {"at2", FAIL_DENIED, 0, true, false, ENDS "requests10 at5 at3 at2 close "},
	    {"at2", FAIL_DATA, 0, false, true, ENDS "requests10 " GAPS VERSIONS "close "},
	    {"seek39", FAIL_BROKER, 0, false, false, ENDS "requests10 " GAPS "seek39 close "},
	    {"losses", FAIL_BROKER, 3, false, false,
		ENDS "requests10 " GAPS VERSIONS "close losses end-none "},
	    {"losses", FAIL_TIMEOUT, 3, false, false,
		ENDS "requests10 " GAPS VERSIONS "close losses end-none "},
	    {"losses", FAIL_MEMORY, 3, true, false,
		ENDS "requests10 " GAPS VERSIONS "close losses end-none "},
	    {"losses", FAIL_DENIED, 3, false, true,
		ENDS "requests10 " GAPS VERSIONS "close losses end-none "},
	    {"losses", FAIL_CONFIG, 3, false, true,
		ENDS "requests10 " GAPS VERSIONS "close losses end-none "},
	    {"ends", FAIL_DENIED, 3, false, true,
		ENDS "requests10 " GAPS VERSIONS "close losses ends end "},
	    {"1050-1064", FAIL_DATA, 3, false, true,
		ENDS "requests10 " GAPS VERSIONS "close losses ends " LOOKS "end "},
	    {"1050-1064", FAIL_BROKER, 3, false, false,
		ENDS "requests10 " GAPS VERSIONS "close losses ends 1000-1014 1050-1064 end "},
	};

	(void)unused;
	records = 6;
	reports = 100;
	EACH_NAMED_ROW(i, rows, fails) {
		char log[1024], why[64], line[256];

		failing = rows[i].fails;
		fails_with = rows[i].code;
		wanted = true;
		read_once(rows[i].world, log);
		failing = "";
		assert_string_equal(calls, rows[i].calls);
		snprintf(why, sizeof(why), "%s failed",
		    rows[i].code == FAIL_MEMORY ? "losses" : rows[i].fails);
		assert_string_equal(h->why, rows[i].said ? why : "");
		if (rows[i].said) {
			snprintf(line, sizeof(line),
			    " warning serve: SERVE-HISTORY %s: the history lacks what is behind "
			    "it\n",
			    why);
			assert_string_equal(strchr(log, ' '), line);
		} else {
			assert_string_equal(log, "");
		}
		wanted = false;
		assert_int_equal(is_complete(), rows[i].complete);
		serve_history_close(h);
	}
}

/* ---- what was known before ---- */

/* The newest 512 versions stay. Those of another ledger, whose first record differs, go. */
static void
test_versions_are_appended_unless_the_ledger_is_another(void **unused)
{
	static const struct {
		size_t before, after;
		int64_t first_time_ms;
		uint64_t first_mixer;
		int64_t oldest; /* its step */
	} rows[] = {
	    {SERVE_HISTORY_VERSIONS, SERVE_HISTORY_VERSIONS, -1, 0, 100003},
	    {SERVE_HISTORY_VERSIONS, SERVE_HISTORY_VERSIONS, 5010, 7, 100003},
	    {SERVE_HISTORY_VERSIONS - 3, SERVE_HISTORY_VERSIONS, 5010, 7, 100000},
	    {SERVE_HISTORY_VERSIONS - 2, SERVE_HISTORY_VERSIONS, 5010, 7, 100001},
	    {SERVE_HISTORY_VERSIONS, 3, 5011, 7, 0},
	    {SERVE_HISTORY_VERSIONS, 3, 5010, 8, 0},
	    {0, 3, -1, 0, 0},
	};

	(void)unused;
	records = 6;
	EACH_ROW(i, rows) {
		char log[1024];

		versions_before = rows[i].before;
		first_time_ms = rows[i].first_time_ms;
		first_mixer = rows[i].first_mixer;
		read_once(0, log);
		assert_int_equal(h->versions_n, rows[i].after);
		assert_int_equal(h->version[0].v.step, rows[i].oldest);
		for (size_t k = 1; k <= 3; k++)
			assert_int_equal(h->version[h->versions_n - k].v.version, 4 - (int64_t)k);
		assert_string_equal(h->version[h->versions_n - 2].who, "ann");
		assert_null(h->version[h->versions_n - 1].who);
		assert_int_equal(h->version_known, 3);
		assert_int_equal(h->first_time_ms, 5010);
		assert_int_equal(h->first_mixer, 7);
		serve_history_close(h);
	}
	versions_before = 0;
	first_time_ms = -1;
}

/* Versions whose records were deleted with the ledger's beginning are not looked for again. */
static void
test_versions_that_nobody_has_any_more_are_known_to_be_lost(void **unused)
{
	char log[1024];

	(void)unused;
	records = 6;
	newest = 700;
	read_once(0, log);
	newest = 0;
	assert_int_equal(h->version_known, 700);
	assert_int_equal(h->versions_n, 1);
	assert_true(is_complete());
	serve_history_close(h);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_round_reads_ends_gaps_versions_and_reports),
	    cmocka_unit_test(test_reports_are_looked_into_at_even_distances),
	    cmocka_unit_test(test_an_empty_ledger_is_complete),
	    cmocka_unit_test(test_a_failure_ends_the_round_and_is_said_unless_the_broker_is_silent),
	    cmocka_unit_test(test_versions_are_appended_unless_the_ledger_is_another),
	    cmocka_unit_test(test_versions_that_nobody_has_any_more_are_known_to_be_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
