/*
 * serve_rules.h -- which requests `riffle serve` answers: host, path, method, token, arguments.
 *
 * A decision on plain values, before anything is done for a client:
 *
 *     Host         an address, localhost or a name of --host; else 421. A page of another origin
 *                  whose name is made to point here (DNS rebinding) sends its own name.
 *     path         one of the table; else 404
 *     method       GET or HEAD, and POST for a change; else 405
 *     token        Authorization: Bearer TOKEN, or the cookie that /?token=TOKEN has set; else 401
 *     a change     --allow-changes, else 403; a header X-Riffle: 1, which no form of another page
 *                  can send, and the page's own Origin, else 403; JSON, else 415
 *     arguments    of those that the path has, once each, numbers in their range; else 400
 *
 * /healthz and /readyz are for probes that know neither name nor token, and say one word.
 *
 * Pure. Nothing here is logged: a path can hold a token.
 */
#ifndef CLI_SERVE_SERVE_RULES_H
#define CLI_SERVE_SERVE_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/http/http_request.h"

enum {
	SERVE_SESSION_BYTES = 33, /* with its '\0' */
	SERVE_WHY_BYTES = 256,
	SERVE_POINTS_MAX = 4096,
	SERVE_POINTS = 512, /* of the history, where none are asked for */
	SERVE_STEPS_MAX = 1000000,
};

enum serve_route {
	SERVE_NOTHING, /* it was refused before its path was looked at, or has none of these */
	SERVE_PAGE,
	SERVE_HEALTH,
	SERVE_READY,
	SERVE_METRICS,
	SERVE_STATUS,
	SERVE_HISTORY,
	SERVE_STEP,
	SERVE_PLAN,
	SERVE_REQUESTS,
	SERVE_WEIGHTS,
};

struct serve_rules {
	const char *token;                 /* NULL: none is needed */
	const char *cookie;                /* its name: servers of other mixes have others */
	char session[SERVE_SESSION_BYTES]; /* what it holds instead of the token */
	const char *const *host;           /* [hosts_n]: names of --host */
	size_t hosts_n;
	bool changes; /* --allow-changes */
	bool secure;  /* TLS */
};

/* Of the history: steps [from, to] in so many points at most. */
struct serve_range {
	uint64_t from, to, points;
	uint64_t losses_from; /* losses come later than their steps */
};

struct serve_verdict {
	unsigned status; /* 200: it is to be answered; 303: logged in; else refused */
	enum serve_route route;
	char why[SERVE_WHY_BYTES]; /* of a refusal, a sentence */
	const char *allow;         /* of a 405 */
	struct serve_range range;
	uint64_t steps; /* of the plan; 0: as many as it takes by itself */
	uint64_t step;
};

void serve_rules_judge(
    struct serve_verdict *v, const struct serve_rules *r, const struct http_request *q);

#endif
