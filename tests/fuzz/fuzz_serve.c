/*
 * riffle serve: what of a request is read by riffle itself, and of the address where it listens.
 * The bytes are lines: method, path, Host, Origin, Authorization, Cookie, Content-Type, X-Riffle,
 * then "name=value" of an argument each, and behind an empty line the body of a change. Whatever
 * they say, a verdict is a status with a sentence; without its token or its host nothing is
 * answered, and a change only where all is right. The first line is an address, too: what is taken
 * has a host and a port in range, and its neighbours' ports follow on.
 */
#include <string.h>

#include "cli/http/endpoint.h"
#include "cli/serve/serve_change.h"
#include "cli/serve/serve_rules.h"
#include "common/base/limits.h"
#include "tests/fuzz/fuzz.h"

#define TOKEN   "0123456789abcdef"
#define SESSION "00112233445566778899aabbccddeeff"

enum { HEADERS = 8 };

/* Cuts the next line off; NULL: an empty one, or no more. */
static char *
next_line(char **at)
{
	char *line = *at, *end = strchr(line, '\n');

	if (*line == '\0' || *line == '\n')
		return NULL;
	*at = end == NULL ? line + strlen(line) : end + 1;
	if (end != NULL)
		*end = '\0';
	return line;
}

static void
check_change(const char *body, size_t n)
{
	struct serve_change c = {0};
	struct failure f;
	enum fail_code code = serve_change_parse(&c, body, n, &f);

	FUZZ_CHECK(code == FAIL_NONE || code == FAIL_USAGE);
	FUZZ_CHECK(code != FAIL_NONE || (c.who != NULL && c.who[0] != '\0'));
	FUZZ_CHECK(code != FAIL_NONE || c.temperature >= 0);
	FUZZ_CHECK(c.words_n <= LIMIT_DOMAINS);
	serve_change_clear(&c);
}

static void
check_endpoint(const char *address)
{
	struct endpoint e, next;
	char text[ENDPOINT_TEXT_MAX];
	struct failure f;
	enum fail_code code = endpoint_parse(&e, "--listen", address, &f);

	FUZZ_CHECK(code == FAIL_NONE || code == FAIL_USAGE);
	if (code != FAIL_NONE)
		return;
	FUZZ_CHECK(e.host[0] != '\0');
	FUZZ_CHECK(atol(e.port) >= 0 && atol(e.port) <= 65535);
	if (endpoint_nth(text, "--listen", address, 1, &f) != FAIL_NONE) {
		FUZZ_CHECK(atol(e.port) == 65535);
		return;
	}
	FUZZ_CHECK(endpoint_parse(&next, "--listen", text, &f) == FAIL_NONE);
	FUZZ_CHECK(strcmp(next.host, e.host) == 0);
	FUZZ_CHECK(atol(next.port) == (atol(e.port) == 0 ? 0 : atol(e.port) + 1));
}

static void
check_verdict(const struct serve_rules *r, const struct http_request *q)
{
	struct serve_verdict v;
	const char *bearer = q->authorization;

	serve_rules_judge(&v, r, q);
	FUZZ_CHECK((v.status == 200 || v.status == 303) == (v.why[0] == '\0'));
	FUZZ_CHECK(v.status == 200 || v.status == 303 || (v.status >= 400 && v.status < 422));
	FUZZ_CHECK(strlen(v.why) < SERVE_WHY_BYTES);
	FUZZ_CHECK(v.status != 200 || (v.range.points >= 2 && v.range.points <= SERVE_POINTS_MAX));
	FUZZ_CHECK(v.status != 200 || (v.steps <= SERVE_STEPS_MAX && v.step <= LIMIT_STEP));
	if (v.status != 200 || v.route == SERVE_HEALTH || v.route == SERVE_READY)
		return;
	FUZZ_CHECK(q->host != NULL);
	FUZZ_CHECK(v.route != SERVE_NOTHING);
	FUZZ_CHECK(r->token == NULL || (bearer != NULL && strstr(bearer, TOKEN) != NULL) ||
		   (q->cookie != NULL && strstr(q->cookie, SESSION) != NULL));
	FUZZ_CHECK(v.route != SERVE_WEIGHTS || (r->changes && r->token != NULL &&
						   q->custom != NULL && q->content_type != NULL));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const char *const hosts[] = {"riffle.example"};
	struct serve_rules r = {
	    .cookie = "riffle.m", .session = SESSION, .host = hosts, .hosts_n = 1};
	char *text = malloc(n + 1), *at = text, *header[HEADERS] = {NULL}, *line;
	struct http_request q = {.method = "GET", .path = "/"};

	FUZZ_CHECK(text != NULL);
	memcpy(text, data, n);
	text[n] = '\0';
	for (size_t i = 0; i < HEADERS && (line = next_line(&at)) != NULL; i++)
		header[i] = strcmp(line, "-") == 0 ? NULL : line; /* missing */
	q.method = header[0] == NULL ? "GET" : header[0];
	q.path = header[1] == NULL ? "/" : header[1];
	q.host = header[2];
	q.origin = header[3];
	q.authorization = header[4];
	q.cookie = header[5];
	q.content_type = header[6];
	q.custom = header[7];
	for (; (line = next_line(&at)) != NULL; q.arguments_n++) {
		char *equals = strchr(line, '=');

		if (equals != NULL)
			*equals = '\0';
		if (q.arguments_n < HTTP_ARGUMENTS_MAX) {
			q.argument[q.arguments_n].name = line;
			q.argument[q.arguments_n].value = equals == NULL ? NULL : equals + 1;
		}
	}
	check_verdict(&r, &q);
	r.token = TOKEN;
	check_verdict(&r, &q);
	r.changes = true;
	check_verdict(&r, &q);
	r.secure = true;
	check_verdict(&r, &q);
	check_endpoint(q.method);
	check_change(at, (size_t)(text + n - at));
	free(text);
	return 0;
}
