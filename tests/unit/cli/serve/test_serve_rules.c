/* serve_rules.h: which requests are answered. */
#include "cli/serve/serve_rules.h"

#include "common/base/limits.h"
#include "tests/unit/test.h"

#define TOKEN   "0123456789abcdef"
#define SESSION "00112233445566778899aabbccddeeff"

static const char *const hosts[] = {"riffle.example", "box"};

static const struct serve_rules open_rules = {.cookie = "riffle.m", .session = SESSION},
				closed_rules = {.token = TOKEN,
				    .cookie = "riffle.m",
				    .session = SESSION,
				    .host = hosts,
				    .hosts_n = 2,
				    .changes = true},
				reading_rules = {
				    .token = TOKEN, .cookie = "riffle.m", .session = SESSION};

static struct serve_verdict
judge(const struct serve_rules *r, struct http_request q)
{
	struct serve_verdict v;

	q.method = q.method == NULL ? "GET" : q.method;
	q.path = q.path == NULL ? "/api/v1/status" : q.path;
	serve_rules_judge(&v, r, &q);
	assert_int_equal(v.status == 200 || v.status == 303, v.why[0] == '\0');
	return v;
}

static void
test_only_addresses_localhost_and_names_that_were_given_are_hosts(void **unused)
{
	static const struct {
		const char *host;
		bool named, allowed;
	} rows[] = {
	    {"127.0.0.1:8640", false, true},
	    {"127.0.0.1", false, true},
	    {"10.1.2.3:80", false, true},
	    {"[::1]:8640", false, true},
	    {"[::1]", false, true},
	    {"localhost:8640", false, true},
	    {"LocalHost", false, true},
	    {"riffle.example:8640", true, true},
	    {"RIFFLE.example", true, true},
	    {"riffle.example", false, false},
	    {"evil.example", true, false},
	    {"localhost.evil.example", false, false},
	    {"127.0.0.1.evil.example", false, false},
	    {"127.0.0.1:8640@evil.example", false, false},
	    {"evil.example:127.0.0.1", false, false},
	    {"box", true, true},
	    {"BOX:8640", true, true},
	    {"box:", true, true},
	    {"box:8640x", true, false},
	    {"box:8640:1", true, false},
	    {"box:-1", true, false},
	    {"boxes", true, false},
	    {"bo", true, false},
	    {"evilbox", true, false},
	    {"evil.box", true, false},
	    {"box.evil.example", true, false},
	    {"box.", true, false},
	    {" box", true, false},
	    {"box ", true, false},
	    {"box,evil.example", true, false},
	    {"box@evil.example", true, false},
	    {"evil@box", true, false},
	    {"evil:pass@box", true, false},
	    {"http://box", true, false},
	    {"riffle.example.evil", true, false},
	    {"riffle-example", true, false},
	    {"xlocalhost", false, false},
	    {"localhost.", false, false},
	    {"localhosts:8640", false, false},
	    {"127.0.0.1x", false, false},
	    {"127.0.0.1:8640x", false, false},
	    {"1127.0.0.1.", false, false},
	    {"[fe80::a]:8640", false, true},
	    {"[::ffff:127.0.0.1]", false, true},
	    {"[::1]:", false, true},
	    {"[::1]:8640x", false, false},
	    {"[::1]8640", false, false},
	    {"[::1]].evil", false, false},
	    {"[[::1]]", false, false},
	    {"[::1%lo]", false, false},
	    {"[evil.example]", true, false},
	    {"::1", false, false},
	    {"::1:8640", false, false},
	    {"1:2:3:4:5:6:7:8", false, false},
	    {"[::1", false, false},
	    {"[::1]x", false, false},
	    {"[]", false, false},
	    {":8640", false, false},
	    {"", false, false},
	    {"0x7f000001", false, false},
	    {"127.1", false, false},
	    {NULL, false, false},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, host) {
		struct serve_rules r = open_rules;
		struct serve_verdict v;

		r.host = hosts;
		r.hosts_n = rows[i].named ? 2 : 0;
		v = judge(&r, (struct http_request){.host = rows[i].host});
		assert_int_equal(v.status, rows[i].allowed ? 200 : 421);
	}
}

static void
test_probes_need_neither_a_name_nor_a_token(void **unused)
{
	static const char *const path[] = {"/healthz", "/readyz"};

	(void)unused;
	for (size_t i = 0; i < 2; i++) {
		struct http_request q = {.path = path[i], .host = "10.2.3.4.pod.local"};

		assert_int_equal(judge(&closed_rules, q).status, 200);
		q.host = NULL;
		assert_int_equal(judge(&closed_rules, q).status, 200);
	}
}

static void
test_paths_have_their_routes_and_methods(void **unused)
{
	static const struct {
		const char *method, *path;
		unsigned status;
		enum serve_route route;
	} rows[] = {
	    {"GET", "/", 200, SERVE_PAGE},
	    {"HEAD", "/", 200, SERVE_PAGE},
	    {"GET", "/metrics", 200, SERVE_METRICS},
	    {"GET", "/api/v1/status", 200, SERVE_STATUS},
	    {"GET", "/api/v1/history", 200, SERVE_HISTORY},
	    {"GET", "/api/v1/plan", 200, SERVE_PLAN},
	    {"GET", "/api/v1/requests", 200, SERVE_REQUESTS},
	    {"GET", "/api/v1/steps/0", 200, SERVE_STEP},
	    {"GET", "/api/v1/steps/", 400, SERVE_STEP},
	    {"GET", "/api/v1/steps/-1", 400, SERVE_STEP},
	    {"GET", "/api/v1/steps/1/", 400, SERVE_STEP},
	    {"GET", "/api/v1/steps/0x1", 400, SERVE_STEP},
	    {"GET", "/api/v1/steps/99999999999999999999", 400, SERVE_STEP},
	    {"GET", "/api/v1/steps", 404, 0},
	    {"GET", "/api/v1/status/", 404, 0},
	    {"GET", "/api/v1", 404, 0},
	    {"GET", "//", 404, 0},
	    {"GET", "/../etc/passwd", 404, 0},
	    {"GET", "", 404, 0},
	    {"GET", "/api/v1/weights", 405, SERVE_WEIGHTS},
	    {"POST", "/", 405, SERVE_PAGE},
	    {"POST", "/api/v1/status", 405, SERVE_STATUS},
	    {"DELETE", "/api/v1/steps/1", 405, SERVE_STEP},
	    {"OPTIONS", "/", 405, SERVE_PAGE},
	    {"get", "/", 405, SERVE_PAGE},
	    {"TRACE", "/healthz", 405, SERVE_HEALTH},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, method) {
		struct serve_verdict v = judge(&open_rules,
		    (struct http_request){
			.host = "localhost", .method = rows[i].method, .path = rows[i].path});

		assert_int_equal(v.status, rows[i].status);
		if (v.status != 404)
			assert_int_equal(v.route, rows[i].route);
		assert_int_equal(v.allow != NULL, v.status == 405);
	}
}

static void
test_a_token_is_a_bearer_or_the_session_of_a_cookie(void **unused)
{
	static const struct {
		const char *authorization, *cookie;
		unsigned status;
	} rows[] = {
	    {NULL, NULL, 401},
	    {"Bearer " TOKEN, NULL, 200},
	    {"bearer " TOKEN, NULL, 200},
	    {"Bearer " TOKEN "0", NULL, 401},
	    {"Bearer 0123456789abcde", NULL, 401},
	    {"Bearer", NULL, 401},
	    {"Bearer ", NULL, 401},
	    {"Basic " TOKEN, NULL, 401},
	    {TOKEN, NULL, 401},
	    {NULL, "riffle.m=" SESSION, 200},
	    {NULL, "a=b; riffle.m=" SESSION "; c=d", 200},
	    {NULL, "riffle.m=" TOKEN, 401}, /* the token itself is in no cookie */
	    {NULL, "xriffle.m=" SESSION, 401},
	    {NULL, "riffle.n=" SESSION, 401},
	    {NULL, "riffle.m=" SESSION "0", 401},
	    {NULL, "riffle.m=;", 401},
	    {NULL, ";;; ;", 401},
	    {NULL, "riffle.m=00112233445566778899aabbccddeefe", 401},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, authorization) {
		struct http_request q = {.host = "box",
		    .authorization = rows[i].authorization,
		    .cookie = rows[i].cookie};

		assert_int_equal(judge(&closed_rules, q).status, rows[i].status);
	}
}

static void
test_a_browser_logs_in_by_the_address_of_the_page_alone(void **unused)
{
	struct http_request q = {.host = "box", .path = "/", .arguments_n = 1};

	(void)unused;
	q.argument[0].name = "token";
	q.argument[0].value = TOKEN;
	assert_int_equal(judge(&closed_rules, q).status, 303);
	q.argument[0].value = "0123456789abcdeg";
	assert_int_equal(judge(&closed_rules, q).status, 401);
	q.argument[0].value = NULL;
	assert_int_equal(judge(&closed_rules, q).status, 401);
	q.argument[0].value = TOKEN;
	q.path = "/api/v1/status";
	assert_int_equal(judge(&closed_rules, q).status, 401);
	q.path = "/";
	q.host = "localhost";
	assert_int_equal(judge(&open_rules, q).status, 400); /* there is no token */
}

static void
test_a_change_needs_the_option_a_token_the_header_the_origin_and_json(void **unused)
{
	static const char bearer[] = "Bearer " TOKEN, cookie[] = "riffle.m=" SESSION,
			  json[] = "application/json";
	static const struct {
		const struct serve_rules *rules;
		const char *authorization, *cookie, *custom, *origin, *type;
		unsigned status;
	} rows[] = {
	    {&closed_rules, bearer, NULL, "1", NULL, json, 200},
	    {&closed_rules, NULL, cookie, "1", "http://box:8640", json, 200},
	    {&closed_rules, NULL, cookie, "1", "https://BOX:8640", json, 200},
	    {&closed_rules, NULL, cookie, "1", "http://box:8640", "application/json; charset=utf-8",
		200},
	    {&open_rules, NULL, NULL, "1", "http://box:8640", json, 421},
	    {&reading_rules, bearer, NULL, "1", NULL, json, 421},
	    {&closed_rules, NULL, NULL, "1", "http://box:8640", json, 401},
	    {&closed_rules, bearer, NULL, NULL, NULL, json, 403},
	    {&closed_rules, bearer, NULL, "0", NULL, json, 403},
	    {&closed_rules, NULL, cookie, "1", NULL, json, 403},
	    {&closed_rules, NULL, cookie, "1", "null", json, 403},
	    {&closed_rules, NULL, cookie, "1", "http://evil.example", json, 403},
	    {&closed_rules, NULL, cookie, "1", "http://box:8641", json, 403},
	    {&closed_rules, bearer, NULL, "1", "http://evil.example", json, 403},
	    {&closed_rules, NULL, cookie, "1", "ftp://box:8640", json, 403},
	    {&closed_rules, bearer, NULL, "1", NULL, "text/plain", 415},
	    {&closed_rules, bearer, NULL, "1", NULL, "application/jsonx", 415},
	    {&closed_rules, bearer, NULL, "1", NULL, NULL, 415},
	};
	struct serve_rules secure = closed_rules;
	struct http_request q = {.method = "POST",
	    .path = "/api/v1/weights",
	    .host = "box:8640",
	    .cookie = cookie,
	    .custom = "1",
	    .origin = "http://box:8640",
	    .content_type = json};

	(void)unused;
	EACH_NAMED_ROW(i, rows, authorization) {
		struct http_request one = {.method = "POST",
		    .path = "/api/v1/weights",
		    .host = "box:8640",
		    .authorization = rows[i].authorization,
		    .cookie = rows[i].cookie,
		    .custom = rows[i].custom,
		    .origin = rows[i].origin,
		    .content_type = rows[i].type};

		assert_int_equal(judge(rows[i].rules, one).status, rows[i].status);
		if (rows[i].rules != &closed_rules) { /* the same where the name is no matter */
			one.host = "localhost";
			assert_int_equal(judge(rows[i].rules, one).status, 403);
		}
	}
	secure.secure = true;
	assert_int_equal(judge(&secure, q).status, 403); /* not by a page that came in plain */
	q.origin = "https://box:8640";
	assert_int_equal(judge(&secure, q).status, 200);
}

static void
test_a_page_changes_weights_of_the_server_that_it_came_from_alone(void **unused)
{
	static const struct {
		const char *host, *origin;
		bool own;
	} rows[] = {
	    {"box:8640", "http://box:8640", true},
	    {"box:8640", "http://BOX:8640", true},
	    {"BOX:8640", "https://box:8640", true},
	    {"box", "http://box", true},
	    {"[::1]:8640", "http://[::1]:8640", true},
	    {"[fe80::a]:8640", "http://[FE80::A]:8640", true},
	    {"box:8640", "http://box:86400", false}, /* the right port and a digit more */
	    {"box:8640", "http://box:8640x", false},
	    {"box:8640", "http://box:864", false},
	    {"box:8640", "http://box:18640", false},
	    {"box:8640", "http://box", false},
	    {"box", "http://box:8640", false},
	    {"box", "http://box.evil.example", false},
	    {"box", "http://boxes", false},
	    {"box:8640", "http://evilbox:8640", false},
	    {"box:8640", "http://evil.box:8640", false},
	    {"box:8640", "http://box.evil.example:8640", false},
	    {"box:8640", "http://box:8640.evil.example", false},
	    {"box:8640", "http://box:8640@evil.example", false},
	    {"box:8640", "http://evil.example@box:8640", false},
	    {"box:8640", "http://box:8640/", false},
	    {"box:8640", "http://box:8640#", false},
	    {"box:8640", "http:///box:8640", false},
	    {"box:8640", "http:/box:8640", false},
	    {"box:8640", "http:xxbox:8640", false},
	    {"box:8640", "https:xxbox:8640", false},
	    {"box:8640", "httpx://box:8640", false},
	    {"box:8640", "HTTP://box:8640", false}, /* no browser sends it */
	    {"box:8640", "box:8640", false},
	    {"box:8640", "//box:8640", false},
	    {"box:8640", "http://", false},
	    {"box:8640", "", false},
	    {"box:8640", "null", false},
	    {"[::1]:8640", "http://[::1]:86400", false},
	    {"[::1]:8640", "http://[::1]", false},
	    {"[::1]:8640", "http://[::11]:8640", false},
	    {"[::1]:8640", "http://[::1:8640]", false},
	    {"[::1]:8640", "http://::1:8640", false},
	    {"[::1]:8640", "http://localhost:8640", false},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, origin) {
		struct http_request q = {.method = "POST",
		    .path = "/api/v1/weights",
		    .host = rows[i].host,
		    .cookie = "riffle.m=" SESSION,
		    .custom = "1",
		    .origin = rows[i].origin,
		    .content_type = "application/json"};

		assert_int_equal(judge(&closed_rules, q).status, rows[i].own ? 200 : 403);
	}
}

static struct serve_verdict
ask(const char *path, const char *name, const char *value)
{
	struct http_request q = {.host = "localhost", .path = path, .arguments_n = 1};

	q.argument[0].name = name;
	q.argument[0].value = value;
	return judge(&open_rules, q);
}

static void
test_arguments_are_known_once_and_in_range(void **unused)
{
	struct serve_verdict v = ask("/api/v1/history", "from", "100");
	struct http_request q = {.host = "localhost", .path = "/api/v1/history"};

	(void)unused;
	assert_int_equal(v.status, 200);
	assert_int_equal(v.range.from, 100);
	assert_int_equal(v.range.to, LIMIT_STEP);
	assert_int_equal(v.range.points, SERVE_POINTS);
	assert_int_equal(ask("/api/v1/history", "points", "2").range.points, 2);
	assert_int_equal(v.range.losses_from, 100);
	assert_int_equal(ask("/api/v1/history", "losses_from", "7").range.losses_from, 7);
	assert_int_equal(ask("/api/v1/history", "losses_from", "7").range.from, 0);
	assert_int_equal(ask("/api/v1/history", "losses_from", "-7").status, 400);
	assert_non_null(strstr(ask("/api/v1/history", "steps", "1").why, ", losses_from"));
	assert_int_equal(ask("/api/v1/history", "points", "1").status, 400);
	assert_int_equal(ask("/api/v1/history", "points", "4096").status, 200);
	assert_int_equal(ask("/api/v1/history", "points", "4097").status, 400);
	assert_int_equal(ask("/api/v1/history", "from", "-1").status, 400);
	assert_int_equal(ask("/api/v1/history", "from", "").status, 400);
	assert_int_equal(ask("/api/v1/history", "from", NULL).status, 400);
	assert_int_equal(ask("/api/v1/history", "steps", "1").status, 400);
	assert_int_equal(ask("/api/v1/plan", "steps", "1000000").steps, 1000000);
	assert_int_equal(ask("/api/v1/plan", "steps", "0").status, 400);
	assert_int_equal(ask("/api/v1/plan", "steps", "1000001").status, 400);
	assert_int_equal(ask("/metrics", "x", "1").status, 400);
	assert_int_equal(ask("/api/v1/steps/7", "x", "1").status, 400);
	assert_int_equal(ask("/api/v1/steps/7", "", "").status, 400);
	q.arguments_n = 2;
	q.argument[0].name = q.argument[1].name = "from";
	q.argument[0].value = q.argument[1].value = "1";
	assert_int_equal(judge(&open_rules, q).status, 400);
	q.argument[1].name = "to";
	assert_int_equal(judge(&open_rules, q).status, 200);
	q.arguments_n = 5000; /* more than were taken */
	for (size_t i = 0; i < HTTP_ARGUMENTS_MAX; i++)
		q.argument[i].name = "from";
	assert_int_equal(judge(&open_rules, q).status, 400);
}

/* Whole verdicts, with their sentences. */
static void
test_a_refusal_says_what_to_send(void **unused)
{
#define ASKS(m, p) .method = (m), .path = (p)
	static const struct {
		const char *method, *path;
		const struct serve_rules *rules;
		const char *host, *name, *value;
		const char *authorization, *custom, *origin, *type;
		unsigned status;
		const char *why, *allow;
	} rows[] = {
	    {ASKS("GET", "/metrics"), .rules = &open_rules, .host = "evil", .status = 421,
		.why = "the Host of the request is neither an address nor localhost: where that "
		       "name is right, start riffle serve with --host NAME"},
	    {ASKS("GET", "/none"), .rules = &open_rules, .host = "localhost", .status = 404,
		.why = "there is no such path; / is the page, /api/v1/status the status"},
	    {ASKS("POST", "/metrics"), .rules = &open_rules, .host = "localhost", .status = 405,
		.why = "/metrics is asked with GET", .allow = "GET, HEAD"},
	    {ASKS("HEAD", "/api/v1/weights"), .rules = &closed_rules, .host = "box", .status = 405,
		.why = "/api/v1/weights is asked with POST", .allow = "POST"},
	    {ASKS("GET", "/"), .rules = &open_rules, .host = "localhost", .name = "token",
		.value = "", .status = 400, .why = "no token is needed here: leave out ?token="},
	    {ASKS("GET", "/"), .rules = &closed_rules, .host = "box", .name = "token", .value = "x",
		.status = 401, .why = "the token is not that of --token-file"},
	    {ASKS("GET", "/"), .rules = &closed_rules, .host = "box", .name = "token",
		.value = TOKEN, .status = 303, .why = ""},
	    {ASKS("GET", "/"), .rules = &closed_rules, .host = "box", .status = 401,
		.why = "a token is needed: send Authorization: Bearer TOKEN, or open /?token=TOKEN "
		       "once in this browser; the server was started with --token-file"},
	    {ASKS("POST", "/api/v1/weights"), .rules = &reading_rules, .host = "localhost",
		.authorization = "Bearer " TOKEN, .status = 403,
		.why = "this server only reads: it was started without --allow-changes; `riffle "
		       "weights` changes the mix"},
	    {ASKS("POST", "/api/v1/weights"), .rules = &closed_rules, .host = "box",
		.authorization = "Bearer " TOKEN, .custom = "2", .status = 403,
		.why = "a change needs the header X-Riffle: 1"},
	    {ASKS("POST", "/api/v1/weights"), .rules = &closed_rules, .host = "box",
		.authorization = "Bearer " TOKEN, .custom = "1", .origin = "http://x",
		.status = 403, .why = "a change from a page of another origin is refused"},
	    {ASKS("POST", "/api/v1/weights"), .rules = &closed_rules, .host = "box",
		.authorization = "Bearer " TOKEN, .custom = "1", .type = "APPLICATION/json2",
		.status = 415, .why = "a change is JSON: send Content-Type: application/json"},
	    {ASKS("GET", "/api/v1/history"), .rules = &open_rules, .host = "localhost", .name = "x",
		.status = 400,
		.why = "/api/v1/history takes no argument of that name: it has from, to, points, "
		       "losses_from"},
	    {ASKS("GET", "/api/v1/plan"), .rules = &open_rules, .host = "localhost", .name = "x",
		.status = 400, .why = "/api/v1/plan takes no argument of that name: it has steps"},
	    {ASKS("GET", "/readyz"), .rules = &closed_rules, .host = "evil", .name = "x",
		.status = 400, .why = "/readyz takes no argument of that name: it has none"},
	    {ASKS("GET", "/api/v1/history"), .rules = &open_rules, .host = "localhost",
		.name = "to", .value = "x", .status = 400,
		.why = "to is a whole number from 0 to 4611686018427387904"},
	    {ASKS("GET", "/api/v1/history"), .rules = &open_rules, .host = "localhost",
		.name = "from", .value = "x", .status = 400,
		.why = "from is a whole number from 0 to 4611686018427387904"},
	    {ASKS("GET", "/api/v1/history"), .rules = &open_rules, .host = "localhost",
		.name = "losses_from", .value = "x", .status = 400,
		.why = "losses_from is a whole number from 0 to 4611686018427387904"},
	    {ASKS("GET", "/api/v1/history"), .rules = &open_rules, .host = "localhost",
		.name = "points", .value = "1", .status = 400,
		.why = "points is a whole number from 2 to 4096"},
	    {ASKS("GET", "/api/v1/plan"), .rules = &open_rules, .host = "localhost",
		.name = "steps", .value = "0", .status = 400,
		.why = "steps is a whole number from 1 to 1000000"},
	    {ASKS("GET", "/api/v1/steps/x"), .rules = &open_rules, .host = "localhost",
		.status = 400, .why = "the step is a whole number from 0 to 4611686018427387904"},
	};
	struct http_request twice = {
	    .host = "localhost", .path = "/api/v1/history", .arguments_n = 3};

	(void)unused;
	EACH_NAMED_ROW(i, rows, path) {
		struct http_request q = {.method = rows[i].method,
		    .path = rows[i].path,
		    .host = rows[i].host,
		    .authorization = rows[i].authorization,
		    .custom = rows[i].custom,
		    .origin = rows[i].origin,
		    .content_type = rows[i].type,
		    .arguments_n = rows[i].name != NULL};
		struct serve_verdict v;

		q.argument[0].name = rows[i].name;
		q.argument[0].value = rows[i].value;
		v = judge(rows[i].rules, q);
		assert_int_equal(v.status, rows[i].status);
		assert_string_equal(v.why, rows[i].why);
		assert_int_equal(v.allow != NULL, rows[i].allow != NULL);
		if (v.allow != NULL)
			assert_string_equal(v.allow, rows[i].allow);
	}
	twice.argument[0].name = "points";
	twice.argument[0].value = "2";
	twice.argument[1].name = twice.argument[2].name = "to";
	twice.argument[1].value = twice.argument[2].value = "3";
	assert_string_equal(judge(&open_rules, twice).why, "argument to is given twice");
}

/* What a request leaves out is at its default; each number goes to its own place. */
static void
test_a_verdict_holds_the_numbers_of_its_request(void **unused)
{
	static const char *const names[] = {"from", "to", "points", "losses_from"};
	static const char *const values[] = {"11", "12", "13", "0"};
	struct http_request q = {.host = "localhost", .path = "/api/v1/history"};
	struct serve_verdict v = judge(&open_rules, q);

	(void)unused;
	assert_true(
	    v.range.from == 0 && v.range.to == LIMIT_STEP && v.range.points == SERVE_POINTS);
	assert_true(v.range.losses_from == 0 && v.steps == 0 && v.step == 0);
	q.arguments_n = 4;
	for (size_t i = 0; i < 4; i++) {
		q.argument[i].name = names[i];
		q.argument[i].value = values[i];
	}
	v = judge(&open_rules, q);
	assert_int_equal(v.status, 200);
	assert_true(v.range.from == 11 && v.range.to == 12 && v.range.points == 13);
	assert_true(v.range.losses_from == 0 && v.steps == 0 && v.step == 0);
	assert_int_equal(ask("/api/v1/history", "to", "0").range.to, 0);
	q = (struct http_request){.host = "localhost", .path = "/api/v1/steps/4611686018427387904"};
	v = judge(&open_rules, q);
	assert_int_equal(v.status, 200);
	assert_int_equal(v.step, LIMIT_STEP);
	assert_int_equal(v.steps, 0);
	q.path = "/api/v1/steps/4611686018427387905";
	assert_int_equal(judge(&open_rules, q).status, 400);
	assert_int_equal(ask("/api/v1/plan", "steps", "1").steps, 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_only_addresses_localhost_and_names_that_were_given_are_hosts),
	    cmocka_unit_test(test_probes_need_neither_a_name_nor_a_token),
	    cmocka_unit_test(test_paths_have_their_routes_and_methods),
	    cmocka_unit_test(test_a_token_is_a_bearer_or_the_session_of_a_cookie),
	    cmocka_unit_test(test_a_browser_logs_in_by_the_address_of_the_page_alone),
	    cmocka_unit_test(test_a_change_needs_the_option_a_token_the_header_the_origin_and_json),
	    cmocka_unit_test(test_a_page_changes_weights_of_the_server_that_it_came_from_alone),
	    cmocka_unit_test(test_arguments_are_known_once_and_in_range),
	    cmocka_unit_test(test_a_refusal_says_what_to_send),
	    cmocka_unit_test(test_a_verdict_holds_the_numbers_of_its_request),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
