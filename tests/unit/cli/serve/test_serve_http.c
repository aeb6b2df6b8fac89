/* serve_http.h: whole answers. The clock, the snapshot and the workers are the test's own. */
#include "cli/serve/serve_http.h"

#include "cli/serve/serve_metrics.h"
#include "cli/serve/serve_page.h"
#include "common/base/clock.h"
#include "tests/unit/printed.h"

enum { NOW_MS = 100000 };

/* One word for each call, in their order. */
static char calls[256];

static void
note(const char *word)
{
	size_t n = strlen(calls);

	snprintf(calls + n, sizeof(calls) - n, "%s ", word);
}

/* ---- the clock ---- */

int64_t
clock_ms(void)
{
	return NOW_MS;
}

int64_t
clock_wall_ms(void)
{
	return NOW_MS;
}

/* ---- the snapshot ---- */

static struct serve_snapshot snapshot;
static bool known;               /* there is a snapshot */
static bool no_memory;           /* for its texts */
static const char *trouble = ""; /* why it is old */
static struct serve_state state;

void
serve_state_get(
    struct serve_state *s, struct serve_snapshot **out, char why[static FAILURE_TEXT_MAX])
{
	assert_ptr_equal(s, &state);
	*out = known ? &snapshot : NULL;
	snprintf(why, FAILURE_TEXT_MAX, "%s", trouble);
}

void
serve_snapshot_release(struct serve_snapshot *s)
{
	assert_ptr_equal(s, known ? &snapshot : NULL);
	note("released");
}

const char *
serve_snapshot_status(struct serve_snapshot *s)
{
	assert_ptr_equal(s, &snapshot);
	return no_memory ? NULL : "{\"mix\":\"pre\"}\n";
}

const char *
serve_snapshot_metrics(struct serve_snapshot *s)
{
	assert_ptr_equal(s, &snapshot);
	return no_memory ? NULL : "one 1\n";
}

/* ---- texts of others ---- */

char *
serve_metrics_up(const char *mix, bool up)
{
	char text[64];

	snprintf(text, sizeof(text), "%s is %s\n", mix, up ? "up" : "down");
	return strdup(text);
}

static struct serve_range asked;
static bool full;
static const char *requests_why = "";

struct serve_text *
serve_history_text(struct serve_history *h, const struct serve_range *range)
{
	assert_ptr_equal(h, (struct serve_history *)&asked);
	asked = *range;
	return no_memory ? NULL : serve_text_make(strdup("[\"history\"]"), 11);
}

struct serve_text *
serve_requests_text(struct serve_requests *r, char why[static FAILURE_TEXT_MAX])
{
	assert_ptr_equal(r, (struct serve_requests *)&full);
	snprintf(why, FAILURE_TEXT_MAX, "%s", requests_why);
	return requests_why[0] != '\0' || no_memory ? NULL
						    : serve_text_make(strdup("[\"asked\"]"), 9);
}

/* ---- the server and the workers ---- */

static int looks, changes, call; /* for their addresses */
static struct serve_job *job;

void
http_answer_text(struct http_answer *a, unsigned status, const char *type, char *text)
{
	*a = (struct http_answer){.status = status, .type = type, .release = free, .of = text};
	a->part[0].bytes = text;
	a->part[0].n = text == NULL ? 0 : strlen(text);
}

void
http_answer_word(struct http_answer *a, unsigned status, const char *type, const char *word)
{
	*a = (struct http_answer){.status = status, .type = type};
	a->part[0].bytes = word;
	a->part[0].n = strlen(word);
}

void
http_call_suspend(struct http_call *c)
{
	assert_ptr_equal(c, (struct http_call *)&call);
	note("suspend");
}

void
http_call_resume(struct http_call *c)
{
	assert_ptr_equal(c, (struct http_call *)&call);
	note("resume");
}

bool
http_server_full(const struct http_server *s)
{
	assert_ptr_equal(s, (struct http_server *)&call);
	return full;
}

char *
serve_work_error(const char *why)
{
	char text[FAILURE_TEXT_MAX];

	snprintf(text, sizeof(text), "{error: %s}", why);
	return strdup(text);
}

void
serve_work_put(struct serve_work *w, struct serve_job *j)
{
	note(w == (struct serve_work *)&looks     ? "looks"
	     : w == (struct serve_work *)&changes ? "changes"
						  : "nobody");
	job = j;
}

/* ---- what judges ---- */

static const struct http_request request = {.method = "GET", .path = "/"};
static struct serve_rules rules = {.cookie = "riffle.pre.1", .session = "5e55"};
static struct serve_verdict verdict;

void
serve_rules_judge(
    struct serve_verdict *v, const struct serve_rules *r, const struct http_request *q)
{
	assert_ptr_equal(r, &rules);
	assert_ptr_equal(q, &request);
	*v = verdict;
}

/* ---- a request ---- */

static struct serve_http server = {.mix = "pre",
    .rules = &rules,
    .server = (struct http_server *)&call,
    .state = &state,
    .history = (struct serve_history *)&asked,
    .requests = (struct serve_requests *)&full,
    .looks = (struct serve_work *)&looks,
    .changes = (struct serve_work *)&changes};

/* Ends the answer. Returns "STATUS TYPE NAME=HEADER... BODY". */
static const char *
print_answer(struct http_answer *a)
{
	static char text[8192];
	size_t n = (size_t)snprintf(text, sizeof(text), "%u %s", a->status, a->type);
	const char *const header[][2] = {
	    {"allow", a->allow}, {"location", a->location}, {"cookie", a->cookie}};

	for (size_t i = 0; i < 3; i++)
		if (header[i][1] != NULL)
			n += (size_t)snprintf(
			    text + n, sizeof(text) - n, " %s=%s", header[i][0], header[i][1]);
	n += (size_t)snprintf(text + n, sizeof(text) - n, " ");
	for (size_t i = 0; i < HTTP_PARTS; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%.*s", (int)a->part[i].n,
		    a->part[i].n == 0 ? "" : (const char *)a->part[i].bytes);
	if (a->release != NULL)
		a->release(a->of);
	return text;
}

/* The answer to a request with this verdict. */
static const char *
answer(struct serve_verdict v)
{
	struct http_handler handler;
	struct http_answer a = {0};
	char *body = NULL;
	const char *text;
	void *kept;

	calls[0] = '\0';
	verdict = v;
	serve_http_init(&handler, &server);
	assert_ptr_equal(handler.of, &server);
	kept = calloc(1, handler.state_bytes);
	assert_non_null(kept);
	handler.head(handler.of, kept, &request, &a);
	assert_int_equal(a.status == 0, v.status == 200);
	if (v.status == 200)
		handler.whole(handler.of, kept, (struct http_call *)&call, &body, 0, &a);
	text = print_answer(&a);
	handler.end(kept);
	free(kept);
	return text;
}

static const char *
answer_route(enum serve_route route)
{
	return answer((struct serve_verdict){.status = 200, .route = route});
}

/* ---- the tests ---- */

static void
test_a_refusal_is_json_but_for_the_page(void **unused)
{
	(void)unused;
	assert_string_equal(
	    answer((struct serve_verdict){
		.status = 405, .route = SERVE_WEIGHTS, .why = "it is posted", .allow = "POST"}),
	    "405 application/json; charset=utf-8 allow=POST {error: it is posted}");
	assert_string_equal(answer((struct serve_verdict){.status = 421, .why = "which host?"}),
	    "421 application/json; charset=utf-8 {error: which host?}");
	assert_string_equal(answer((struct serve_verdict){
				.status = 401, .route = SERVE_PAGE, .why = "which token?"}),
	    "401 text/plain; charset=utf-8 which token?\n");
}

static void
test_a_right_token_is_answered_with_a_cookie(void **unused)
{
	const struct serve_verdict v = {.status = 303, .route = SERVE_PAGE};

	(void)unused;
	assert_string_equal(answer(v), "303 text/plain; charset=utf-8 location=/ "
				       "cookie=riffle.pre.1=5e55; HttpOnly; SameSite=Strict; "
				       "Path=/ ");
	rules.secure = true;
	assert_string_equal(answer(v), "303 text/plain; charset=utf-8 location=/ "
				       "cookie=riffle.pre.1=5e55; HttpOnly; SameSite=Strict; "
				       "Path=/; Secure ");
	rules.secure = false;
}

#define STATUS(age, error, changes, token)                                                         \
	"200 application/json; charset=utf-8 "                                                     \
	"{\"mix\":\"pre\",\"server\":{\"version\":\"" RIFFLE_VERSION "\",\"age_ms\":" age          \
	",\"error\":" error ",\"changes\":" changes ",\"token\":" token "}}\n"

/* What is known is shown for as long as the server lives; only probes and metrics say it is old. */
static void
test_the_status_says_how_old_it_is(void **unused)
{
	static const struct {
		const char *why;
		bool known;
		int64_t age_ms;
		bool stale;
		const char *status;
	} rows[] = {
	    {"", true, 0, false, STATUS("0", "null", "false", "false")},
	    {"", true, 5000, false, STATUS("5000", "null", "false", "false")},
	    {"", true, 5001, true,
		STATUS("5001", "\"the broker has not answered yet\"", "false", "false")},
	    {"no broker", true, 3, true, STATUS("3", "\"no broker\"", "false", "false")},
	    {"no broker", true, 9000, true, STATUS("9000", "\"no broker\"", "false", "false")},
	    {"\xff", true, 1, true, STATUS("1", "\"(not UTF-8)\"", "false", "false")},
	    {"no broker", false, 0, true, "503 application/json; charset=utf-8 {error: no broker}"},
	    {"", false, 0, true,
		"503 application/json; charset=utf-8 {error: the broker has not answered yet: the "
		"server has "
		"just begun}"},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, why) {
		char metrics[128];

		trouble = rows[i].why;
		known = rows[i].known;
		snapshot.read_ms = NOW_MS - rows[i].age_ms;
		assert_string_equal(answer_route(SERVE_STATUS), rows[i].status);
		assert_string_equal(calls, "released ");
		assert_string_equal(answer_route(SERVE_READY),
		    rows[i].stale ? "503 text/plain; charset=utf-8 not ready\n"
				  : "200 text/plain; charset=utf-8 ready\n");
		assert_string_equal(calls, "released ");
		snprintf(metrics, sizeof(metrics),
		    "200 text/plain; version=0.0.4; charset=utf-8 pre is %s\n%s",
		    rows[i].stale ? "down" : "up", known ? "one 1\n" : "");
		assert_string_equal(answer_route(SERVE_METRICS), metrics);
		assert_string_equal(calls, "released ");
	}
	trouble = "";
	known = true;
	snapshot.read_ms = NOW_MS;
	rules.changes = true;
	assert_string_equal(answer_route(SERVE_STATUS), STATUS("0", "null", "true", "false"));
	rules.changes = false;
	rules.token = "t";
	assert_string_equal(answer_route(SERVE_STATUS), STATUS("0", "null", "false", "true"));
	rules.token = NULL;
}

static void
test_texts_of_others_are_answered_as_they_are(void **unused)
{
	struct serve_verdict v = {.status = 200,
	    .route = SERVE_HISTORY,
	    .range = {.from = 1, .to = 2, .points = 3, .losses_from = 4}};

	(void)unused;
	assert_string_equal(answer(v), "200 application/json; charset=utf-8 [\"history\"]");
	assert_memory_equal(&asked, &v.range, sizeof(asked));
	full = true;
	asked = (struct serve_range){0};
	assert_string_equal(answer(v),
	    "503 application/json; charset=utf-8 {error: too many answers are on "
	    "their way: try again in a second}");
	assert_int_equal(asked.points, 0); /* nothing was made */
	assert_string_equal(
	    answer_route(SERVE_REQUESTS), "200 application/json; charset=utf-8 [\"asked\"]");
	full = false;
	requests_why = "not read yet";
	assert_string_equal(answer_route(SERVE_REQUESTS),
	    "503 application/json; charset=utf-8 {error: not read yet}");
	requests_why = "";
	assert_string_equal(answer_route(SERVE_HEALTH), "200 text/plain; charset=utf-8 ok\n");
}

/* The connection is closed then: there is nothing to release but what there is. */
static void
test_without_memory_there_is_no_body(void **unused)
{
	static const struct {
		enum serve_route route;
		const char *answer, *calls;
	} rows[] = {
	    {SERVE_STATUS, "200 application/json; charset=utf-8 ", "released "},
	    {SERVE_METRICS, "200 text/plain; version=0.0.4; charset=utf-8 ", "released "},
	    {SERVE_HISTORY, "200 application/json; charset=utf-8 ", ""},
	    {SERVE_REQUESTS, "200 application/json; charset=utf-8 ", ""},
	};

	(void)unused;
	no_memory = known = true;
	EACH_ROW(i, rows) {
		assert_string_equal(answer_route(rows[i].route), rows[i].answer);
		assert_string_equal(calls, rows[i].calls);
	}
	no_memory = false;
}

static void
test_the_page_allows_its_own_style_and_script(void **unused)
{
	struct http_handler handler;
	struct http_answer a = {0};
	char *body = NULL, expected[1024], *kept;

	(void)unused;
	verdict = (struct serve_verdict){.status = 200, .route = SERVE_PAGE};
	serve_http_init(&handler, &server);
	kept = calloc(1, handler.state_bytes);
	assert_non_null(kept);
	handler.head(handler.of, kept, &request, &a);
	handler.whole(handler.of, kept, (struct http_call *)&call, &body, 0, &a);
	snprintf(expected, sizeof(expected),
	    "default-src 'none'; connect-src 'self'; img-src data:; style-src %s; script-src %s; "
	    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	    serve_page_style, serve_page_script);
	assert_string_equal(a.policy, expected);
	assert_int_equal(a.status, 200);
	assert_string_equal(a.type, "text/html; charset=utf-8");
	assert_ptr_equal(a.part[0].bytes, serve_page);
	assert_int_equal(a.part[0].n, serve_page_n);
	assert_int_equal(a.part[1].n, 0);
	assert_null(a.release);
	handler.end(kept);
	free(kept);
}

/* The first `whole` gives the job away with the body; the second one answers with its text. */
static void
test_a_job_is_answered_when_it_is_done(void **unused)
{
	static const struct {
		enum serve_route route;
		const char *calls;
	} rows[] = {
	    {SERVE_STEP, "suspend looks "},
	    {SERVE_PLAN, "suspend looks "},
	    {SERVE_WEIGHTS, "suspend changes "},
	};

	(void)unused;
	EACH_ROW(i, rows) {
		for (int gone = 0; gone < 2; gone++) {
			struct http_handler handler;
			struct http_answer a = {0};
			char *body = strdup("body"), *kept;

			calls[0] = '\0';
			verdict = (struct serve_verdict){
			    .status = 200, .route = rows[i].route, .step = 11, .steps = 12};
			serve_http_init(&handler, &server);
			kept = calloc(1, handler.state_bytes);
			assert_non_null(kept);
			handler.head(handler.of, kept, &request, &a);
			handler.whole(handler.of, kept, (struct http_call *)&call, &body, 4, &a);
			assert_int_equal(a.status, 0);
			assert_null(body); /* the job has it */
			assert_string_equal(calls, rows[i].calls);
			assert_int_equal(job->route, rows[i].route);
			assert_int_equal(job->step, 11);
			assert_int_equal(job->steps, 12);
			assert_string_equal(job->body, "body");
			assert_int_equal(job->body_n, 4);
			job->status = 409;
			job->text = strdup("{\"done\":1}");
			calls[0] = '\0';
			job->done(job, job->of);
			assert_string_equal(calls, "resume ");
			if (gone == 0) { /* else the client has gone, and `end` frees all */
				handler.whole(
				    handler.of, kept, (struct http_call *)&call, &body, 0, &a);
				assert_string_equal(print_answer(&a),
				    "409 application/json; charset=utf-8 {\"done\":1}");
			}
			handler.end(kept);
			free(kept);
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_refusal_is_json_but_for_the_page),
	    cmocka_unit_test(test_a_right_token_is_answered_with_a_cookie),
	    cmocka_unit_test(test_the_status_says_how_old_it_is),
	    cmocka_unit_test(test_texts_of_others_are_answered_as_they_are),
	    cmocka_unit_test(test_without_memory_there_is_no_body),
	    cmocka_unit_test(test_the_page_allows_its_own_style_and_script),
	    cmocka_unit_test(test_a_job_is_answered_when_it_is_done),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
