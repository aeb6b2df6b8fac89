/*
 * metrics_listener.h -- `--metrics ADDR`: a command that works gives its metrics to Prometheus.
 *
 * GET /metrics is answered with what `text` gives, in the text format of Prometheus. Nothing else
 * is answered, and nothing can be changed. It listens on loopback unless an address says otherwise.
 * On loopback it wants a Host that is an address or localhost (http_access.h). Elsewhere any name
 * is taken, and a token is needed (endpoint.h), which goes in plain: SERVE-PLAIN says so.
 *
 * Limits are those of http_server.h.
 *
 * Thread: open and close from one; `text` is called by the server's, and may take a second.
 */
#ifndef CLI_METRICS_METRICS_LISTENER_H
#define CLI_METRICS_METRICS_LISTENER_H

#include <stddef.h>

#include "cli/options.h"
#include "common/base/failure.h"

struct metrics_options {
	const char *address;    /* NULL: no listener is wanted */
	const char *token_file; /* NULL: no token is needed */
};

/* The rows of a command whose struct has struct metrics_options at AT. */
#define METRICS_LISTENER_ROWS(AT)                                                                  \
	{.name = "metrics",                                                                        \
	    .kind = OPTION_TEXT,                                                                   \
	    .at = (AT) + offsetof(struct metrics_options, address),                                \
	    .value = "ADDR",                                                                       \
	    .help = "give metrics to Prometheus at http://ADDR/metrics: PORT, which listens on "   \
		    "127.0.0.1, or HOST:PORT; port 0: any that is free. docs/METRICS.md lists "    \
		    "them. An address that other machines reach needs --metrics-token-file"},      \
	{                                                                                          \
		.name = "metrics-token-file", .kind = OPTION_TEXT,                                 \
		.at = (AT) + offsetof(struct metrics_options, token_file), .value = "FILE",        \
		.help = "a token that Prometheus must send (`authorization: {credentials: TOKEN}`" \
			"): in a file of one line, 16 to 512 letters, digits, - . _ ~"             \
	}

struct metrics_listener;

/*
 * Gives *out, to be ended with metrics_listener_close(), and says where it listens. text(opaque)
 * gives a text (free), or NULL: there is none now. Errors are those of endpoint_find(), and
 * FAIL_IO: the address is taken, or is none of this machine's.
 */
enum fail_code metrics_listener_open(struct metrics_listener **out, const struct metrics_options *o,
    char *(*text)(void *opaque), void *opaque, struct failure *f);
void metrics_listener_close(struct metrics_listener *l); /* NULL is accepted */

#endif
