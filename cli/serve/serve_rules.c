#include "cli/serve/serve_rules.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "cli/http/http_access.h"
#include "common/base/limits.h"
#include "common/base/scalar.h"

/* ---- what there is ---- */

enum { ARGUMENTS = 4 }; /* of a path at most */

static const struct path {
	const char *path; /* "/" at the end: a number follows */
	enum serve_route route;
	bool open; /* asks for neither name nor token */
	const char *arguments[ARGUMENTS];
} paths[] = {
    {"/", SERVE_PAGE, false, {"token"}},
    {"/healthz", SERVE_HEALTH, true, {NULL}},
    {"/readyz", SERVE_READY, true, {NULL}},
    {"/metrics", SERVE_METRICS, false, {NULL}},
    {"/api/v1/status", SERVE_STATUS, false, {NULL}},
    {"/api/v1/history", SERVE_HISTORY, false, {"from", "to", "points", "losses_from"}},
    {"/api/v1/steps/", SERVE_STEP, false, {NULL}},
    {"/api/v1/plan", SERVE_PLAN, false, {"steps"}},
    {"/api/v1/requests", SERVE_REQUESTS, false, {NULL}},
    {"/api/v1/weights", SERVE_WEIGHTS, false, {NULL}},
};

static void refuse(struct serve_verdict *v, unsigned status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void
refuse(struct serve_verdict *v, unsigned status, const char *format, ...)
{
	va_list list;

	v->status = status;
	va_start(list, format);
	vsnprintf(v->why, sizeof(v->why), format, list);
	va_end(list);
}

static const struct path *
find_path(const char *path)
{
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		size_t n = strlen(paths[i].path);

		if (strcmp(paths[i].path, path) == 0 ||
		    (paths[i].route == SERVE_STEP && strncmp(paths[i].path, path, n) == 0))
			return &paths[i];
	}
	return NULL;
}

/* ---- who asks ---- */

/* The session of a cookie header, "a=b; NAME=SESSION; c=d". */
static bool
has_session(const struct serve_rules *r, const char *cookie)
{
	size_t name_n = strlen(r->cookie);
	char value[SERVE_SESSION_BYTES];

	while (cookie != NULL && *cookie != '\0') {
		size_t n = strcspn(cookie, ";");

		if (n == name_n + 1 + sizeof(value) - 1 && cookie[name_n] == '=' &&
		    strncmp(cookie, r->cookie, name_n) == 0) {
			memcpy(value, cookie + name_n + 1, sizeof(value) - 1);
			value[sizeof(value) - 1] = '\0';
			if (http_access_equal(r->session, value))
				return true;
		}
		cookie += n;
		cookie += strspn(cookie, "; ");
	}
	return false;
}

/* The value of an argument that may be given once; NULL: it is not given. */
static const char *
argument(const struct http_request *q, const char *name)
{
	for (size_t i = 0; i < q->arguments_n && i < HTTP_ARGUMENTS_MAX; i++)
		if (strcmp(q->argument[i].name, name) == 0)
			return q->argument[i].value == NULL ? "" : q->argument[i].value;
	return NULL;
}

static void
judge_token(struct serve_verdict *v, const struct serve_rules *r, const struct http_request *q)
{
	const char *given = v->route == SERVE_PAGE ? argument(q, "token") : NULL;

	if (given != NULL && r->token == NULL)
		refuse(v, 400, "no token is needed here: leave out ?token=");
	else if (given != NULL && http_access_equal(r->token, given))
		v->status = 303;
	else if (given != NULL)
		refuse(v, 401, "the token is not that of --token-file");
	else if (r->token != NULL && !http_access_bearer(r->token, q->authorization) &&
		 !has_session(r, q->cookie))
		refuse(v, 401,
		    "a token is needed: send Authorization: Bearer TOKEN, or open /?token=TOKEN "
		    "once in this browser; the server was started with --token-file");
}

/* ---- a change ---- */

/* Whether an Origin is that of the page itself. */
static bool
is_own(const struct serve_rules *r, const struct http_request *q)
{
	const char *at = q->origin;

	if (at == NULL)
		return http_access_bearer(r->token, q->authorization); /* no browser */
	if (strncmp(at, "https://", 8) == 0) /* also of a proxy in front, which speaks TLS */
		at += 8;
	else if (strncmp(at, "http://", 7) == 0 && !r->secure)
		at += 7;
	else
		return false;
	return q->host != NULL && strcasecmp(at, q->host) == 0;
}

static void
judge_change(struct serve_verdict *v, const struct serve_rules *r, const struct http_request *q)
{
	static const char json[] = "application/json";
	const char *type = q->content_type == NULL ? "" : q->content_type;
	size_t n = sizeof(json) - 1;

	if (!r->changes)
		refuse(v, 403,
		    "this server only reads: it was started without --allow-changes; `riffle "
		    "weights` changes the mix");
	else if (r->token == NULL)
		refuse(v, 403, "a change needs a token");
	else if (q->custom == NULL || strcmp(q->custom, "1") != 0)
		refuse(v, 403, "a change needs the header X-Riffle: 1");
	else if (!is_own(r, q))
		refuse(v, 403, "a change from a page of another origin is refused");
	else if (strncasecmp(type, json, n) != 0 || (type[n] != '\0' && type[n] != ';'))
		refuse(v, 415, "a change is JSON: send Content-Type: application/json");
}

/* ---- arguments ---- */

static void
refuse_name(struct serve_verdict *v, const struct path *p)
{
	char known[SERVE_WHY_BYTES] = "none";
	size_t n = 0;

	for (size_t i = 0; i < ARGUMENTS && p->arguments[i] != NULL; i++)
		n += (size_t)snprintf(known + n, sizeof(known) - n, "%s%s", i == 0 ? "" : ", ",
		    p->arguments[i]); /* short names of this file */
	refuse(v, 400, "%s takes no argument of that name: it has %s", p->path, known);
}

static void
judge_names(struct serve_verdict *v, const struct path *p, const struct http_request *q)
{
	for (size_t i = 0; i < q->arguments_n; i++) {
		const char *name = i < HTTP_ARGUMENTS_MAX ? q->argument[i].name : "";
		bool known = false;

		for (size_t k = 0; k < ARGUMENTS; k++)
			known = known ||
				(p->arguments[k] != NULL && strcmp(p->arguments[k], name) == 0);
		for (size_t k = 0; k < i && k < HTTP_ARGUMENTS_MAX; k++)
			if (known && strcmp(q->argument[k].name, name) == 0) {
				refuse(v, 400, "argument %s is given twice", name);
				return;
			}
		if (!known) {
			refuse_name(v, p);
			return;
		}
	}
}

static void
take_number(struct serve_verdict *v, const char *name, const char *text, uint64_t least,
    uint64_t most, uint64_t *to)
{
	if (v->status == 200 && text != NULL && scalar_count(text, least, most, to) != SCALAR_OK)
		refuse(v, 400, "%s is a whole number from %llu to %llu", name,
		    (unsigned long long)least, (unsigned long long)most);
}

static void
judge_numbers(struct serve_verdict *v, const struct path *p, const struct http_request *q)
{
	v->range = (struct serve_range){.to = LIMIT_STEP, .points = SERVE_POINTS};
	if (p->route == SERVE_STEP)
		take_number(v, "the step", q->path + strlen(p->path), 0, LIMIT_STEP, &v->step);
	take_number(v, "from", argument(q, "from"), 0, LIMIT_STEP, &v->range.from);
	take_number(v, "to", argument(q, "to"), 0, LIMIT_STEP, &v->range.to);
	take_number(v, "points", argument(q, "points"), 2, SERVE_POINTS_MAX, &v->range.points);
	v->range.losses_from = v->range.from;
	take_number(
	    v, "losses_from", argument(q, "losses_from"), 0, LIMIT_STEP, &v->range.losses_from);
	take_number(v, "steps", argument(q, "steps"), 1, SERVE_STEPS_MAX, &v->steps);
}

/* ---- all of it ---- */

static void
judge_method(struct serve_verdict *v, const struct path *p, const char *method)
{
	bool post = p->route == SERVE_WEIGHTS;

	if (post ? strcmp(method, "POST") == 0
		 : strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0)
		return;
	v->allow = post ? "POST" : "GET, HEAD";
	refuse(v, 405, "%s is asked with %s", p->path, post ? "POST" : "GET");
}

void
serve_rules_judge(
    struct serve_verdict *v, const struct serve_rules *r, const struct http_request *q)
{
	const struct path *p;

	assert(q->path != NULL);
	assert(q->method != NULL);
	p = find_path(q->path);
	*v = (struct serve_verdict){.status = 200};
	if ((p == NULL || !p->open) && !http_access_host(q->host, r->host, r->hosts_n)) {
		refuse(v, 421,
		    "the Host of the request is neither an address nor localhost: where that name "
		    "is right, start riffle serve with --host NAME");
		return;
	}
	if (p == NULL) {
		refuse(v, 404, "there is no such path; / is the page, /api/v1/status the status");
		return;
	}
	v->route = p->route;
	judge_method(v, p, q->method);
	if (v->status == 200 && !p->open)
		judge_token(v, r, q);
	if (v->status == 200 && p->route == SERVE_WEIGHTS)
		judge_change(v, r, q);
	if (v->status == 200)
		judge_names(v, p, q);
	if (v->status == 200)
		judge_numbers(v, p, q);
}
