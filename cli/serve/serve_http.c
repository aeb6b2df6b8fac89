#include "cli/serve/serve_http.h"

#include <assert.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/json_print.h"
#include "cli/serve/serve_metrics.h"
#include "cli/serve/serve_page.h"
#include "common/base/clock.h"
#include "common/base/json_memory.h"
#include "common/base/text.h"

enum { STALE_MS = 5000 }; /* an answer that is older is said to be old */

#define PROMETHEUS_TEXT "text/plain; version=0.0.4; charset=utf-8"

/* What is kept of a request, from its head to the last byte of its answer. */
struct state {
	struct serve_verdict verdict;
	struct serve_job job;
	bool put;         /* a worker has the job, or had it */
	char cookie[256]; /* of an answer */
};

/* ---- refusals ---- */

/* A person who opens the page reads the sentence. */
static void
refuse(struct http_answer *a, const struct serve_verdict *v, unsigned status, const char *why)
{
	struct text text = {0};

	if (v->route != SERVE_PAGE) {
		http_answer_text(a, status, HTTP_JSON, serve_work_error(why));
		return;
	}
	text_add(&text, "%s\n", why);
	http_answer_text(a, status, HTTP_TEXT, text_take(&text));
}

/* The token was right: the cookie stands for it from here on, and the address is without it. */
static void
log_in(struct http_answer *a, struct state *state, const struct serve_rules *rules)
{
	snprintf(state->cookie, sizeof(state->cookie), "%s=%s; HttpOnly; SameSite=Strict; Path=/%s",
	    rules->cookie, rules->session, rules->secure ? "; Secure" : "");
	http_answer_word(a, 303, HTTP_TEXT, "");
	a->cookie = state->cookie;
	a->location = "/";
}

static void
head(void *of, void *to, const struct http_request *q, struct http_answer *a)
{
	struct serve_http *s = of;
	struct state *state = to;
	struct serve_verdict *v = &state->verdict;

	serve_rules_judge(v, s->rules, q);
	if (v->status == 303)
		log_in(a, state, s->rules);
	else if (v->status != 200)
		refuse(a, v, v->status, v->why);
	a->allow = v->allow;
}

/* ---- what the follower knows ---- */

/* Why what is known is old; false: it is not. */
static bool
is_stale(const struct serve_snapshot *s, int64_t age_ms, char why[static FAILURE_TEXT_MAX])
{
	if (why[0] != '\0' || s == NULL || age_ms <= STALE_MS)
		return why[0] != '\0' || s == NULL;
	snprintf(why, FAILURE_TEXT_MAX, "the broker has not answered yet");
	return true;
}

/* A snapshot's text, and what belongs to this answer alone. */
struct known {
	struct serve_snapshot *of;
	char *text;
};

static void
release_known(void *of)
{
	struct known *k = of;

	serve_snapshot_release(k->of);
	free(k->text);
	free(k);
}

/* Two parts, of which the snapshot lends one. Takes `text`; NULL: no memory. */
static void
answer_known(struct http_answer *a, const char *type, struct serve_snapshot *s, char *text,
    const char *lent, size_t lent_n, bool lent_first)
{
	struct known *k = text == NULL ? NULL : calloc(1, sizeof(*k));

	*a = (struct http_answer){.status = 200, .type = type, .release = free};
	if (k == NULL) {
		free(text);
		serve_snapshot_release(s);
		return;
	}
	*k = (struct known){.of = s, .text = text};
	a->part[lent_first ? 0 : 1].bytes = lent;
	a->part[lent_first ? 0 : 1].n = lent_n;
	a->part[lent_first ? 1 : 0].bytes = text;
	a->part[lent_first ? 1 : 0].n = strlen(text);
	a->release = release_known;
	a->of = k;
}

/* The object that the status has here beside the keys of riffle status, and its end. */
static char *
server_text(const struct serve_http *s, int64_t age_ms, const char *why)
{
	json_t *o = json_pack("{s:s, s:I, s:o, s:b, s:b}", "version", RIFFLE_VERSION, "age_ms",
	    (json_int_t)age_ms, "error", why[0] == '\0' ? json_null() : json_print_text(why),
	    "changes", (int)s->rules->changes, "token", (int)(s->rules->token != NULL));
	char *server = o == NULL ? NULL : json_memory_text(o, JSON_COMPACT | JSON_PRESERVE_ORDER);
	struct text text = {0};

	json_decref(o);
	if (server == NULL)
		return NULL;
	text_add(&text, ",\"server\":%s}\n", server);
	free(server);
	return text_take(&text);
}

/* The JSON of riffle status, with a key "server" at its end. */
static void
answer_status(struct serve_http *s, struct http_answer *a, struct serve_snapshot *of,
    int64_t age_ms, const char *why)
{
	const char *status = serve_snapshot_status(of);
	char *server = status == NULL ? NULL : server_text(s, age_ms, why);
	size_t n = status == NULL ? 0 : strlen(status);

	assert(status == NULL || (n > 2 && status[n - 2] == '}')); /* and the line's end */
	answer_known(a, HTTP_JSON, of, server, status, n - 2, true);
}

static void
answer_metrics(struct serve_http *s, struct http_answer *a, struct serve_snapshot *of, bool up)
{
	const char *known = of == NULL ? "" : serve_snapshot_metrics(of);
	char *first = known == NULL ? NULL : serve_metrics_up(s->mix, up);

	answer_known(
	    a, PROMETHEUS_TEXT, of, first, known, known == NULL ? 0 : strlen(known), false);
}

static void
answer_now(struct serve_http *s, const struct serve_verdict *v, struct http_answer *a)
{
	struct serve_snapshot *now;
	char why[FAILURE_TEXT_MAX];
	int64_t age_ms;
	bool stale;

	serve_state_get(s->state, &now, why);
	age_ms = now == NULL ? 0 : clock_ms() - now->read_ms;
	stale = is_stale(now, age_ms, why);
	if (v->route == SERVE_METRICS) {
		answer_metrics(s, a, now, !stale);
	} else if (v->route == SERVE_STATUS && now != NULL) {
		answer_status(s, a, now, age_ms, why);
	} else {
		if (v->route == SERVE_READY)
			http_answer_word(
			    a, stale ? 503 : 200, HTTP_TEXT, stale ? "not ready\n" : "ready\n");
		else
			refuse(a, v, 503,
			    why[0] == '\0'
				? "the broker has not answered yet: the server has just begun"
				: why);
		serve_snapshot_release(now);
	}
}

/* ---- texts that several clients get ---- */

static void
release_text(void *text)
{
	serve_text_release(text);
}

/* Takes `t`; NULL: no memory. */
static void
answer_text(struct http_answer *a, struct serve_text *t)
{
	*a = (struct http_answer){
	    .status = 200, .type = HTTP_JSON, .release = release_text, .of = t};
	if (t == NULL)
		return;
	a->part[0].bytes = t->bytes;
	a->part[0].n = t->n;
}

static void
answer_requests(struct serve_http *s, const struct serve_verdict *v, struct http_answer *a)
{
	char why[FAILURE_TEXT_MAX];
	struct serve_text *t = serve_requests_text(s->requests, why);

	if (t == NULL && why[0] != '\0')
		refuse(a, v, 503, why);
	else
		answer_text(a, t);
}

static void
answer_page(struct http_answer *a)
{
	static char policy[512]; /* the server's thread is one */

	snprintf(policy, sizeof(policy),
	    "default-src 'none'; connect-src 'self'; img-src data:; style-src %s; script-src %s; "
	    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	    serve_page_style, serve_page_script);
	*a = (struct http_answer){
	    .status = 200, .type = "text/html; charset=utf-8", .policy = policy};
	a->part[0].bytes = serve_page;
	a->part[0].n = serve_page_n;
}

/* ---- jobs ---- */

/* On the worker's thread. */
static void
job_done(struct serve_job *job, void *call)
{
	(void)job;
	http_call_resume(call); /* the server's thread sees the job: resuming takes a lock */
}

static void
begin_job(struct serve_http *s, struct state *state, struct http_call *call, char **body, size_t n)
{
	const struct serve_verdict *v = &state->verdict;

	state->put = true;
	state->job = (struct serve_job){.route = v->route,
	    .step = v->step,
	    .steps = v->steps,
	    .body = *body,
	    .body_n = n,
	    .done = job_done,
	    .of = call};
	*body = NULL;
	http_call_suspend(call);
	serve_work_put(v->route == SERVE_WEIGHTS ? s->changes : s->looks, &state->job);
}

static void
whole(void *of, void *to, struct http_call *call, char **body, size_t n, struct http_answer *a)
{
	struct serve_http *s = of;
	struct state *state = to;
	const struct serve_verdict *v = &state->verdict;

	if (state->put) {
		http_answer_text(a, state->job.status, HTTP_JSON, state->job.text);
		state->job.text = NULL;
		return;
	}
	switch (v->route) {
	case SERVE_PAGE: answer_page(a); return;
	case SERVE_HEALTH: http_answer_word(a, 200, HTTP_TEXT, "ok\n"); return;
	case SERVE_READY:
	case SERVE_METRICS:
	case SERVE_STATUS: answer_now(s, v, a); return;
	case SERVE_HISTORY:
		if (http_server_full(s->server)) /* it would be made in vain */
			refuse(
			    a, v, 503, "too many answers are on their way: try again in a second");
		else
			answer_text(a, serve_history_text(s->history, &v->range));
		return;
	case SERVE_REQUESTS: answer_requests(s, v, a); return;
	case SERVE_STEP:
	case SERVE_PLAN:
	case SERVE_WEIGHTS: begin_job(s, state, call, body, n); return;
	case SERVE_NOTHING: break;
	}
	abort(); /* it was refused */
}

static void
end(void *to)
{
	struct state *state = to;

	free(state->job.body);
	free(state->job.text);
}

void
serve_http_init(struct http_handler *out, struct serve_http *of)
{
	*out = (struct http_handler){.of = of,
	    .state_bytes = sizeof(struct state),
	    .head = head,
	    .whole = whole,
	    .end = end};
}
