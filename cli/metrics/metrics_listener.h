/*
 * metrics_listener.h -- `--metrics ADDR`: a command that works gives its metrics to Prometheus.
 *
 * One thread of libmicrohttpd's answers GET /metrics with what `text` gives, in the text format of
 * Prometheus. Nothing else is answered, and nothing can be changed. It listens on loopback unless
 * an address says otherwise. On loopback it wants a Host that is an address or localhost: a web
 * page whose name is made to point here (DNS rebinding) sends its own. Elsewhere any name is taken,
 * as what is to be seen needs no secret.
 *
 * Limits: METRICS_CONNECTIONS at a time, METRICS_HEADERS_BYTES of a request, METRICS_IDLE_S without
 * a byte.
 *
 * Thread: open and close from one; `text` is called by the listener's.
 */
#ifndef CLI_METRICS_METRICS_LISTENER_H
#define CLI_METRICS_METRICS_LISTENER_H

#include <stdbool.h>

#include "cli/options.h"
#include "common/base/failure.h"

enum {
	METRICS_CONNECTIONS = 64,
	METRICS_HEADERS_BYTES = 16 << 10,
	METRICS_IDLE_S = 10,
	METRICS_ADDRESS_MAX = 300, /* bytes of a host and of what is printed of it */
};

/* The row of a command whose struct has `const char *metrics` at AT. */
#define METRICS_LISTENER_ROW(AT)                                                                   \
	{                                                                                          \
		.name = "metrics", .kind = OPTION_TEXT, .at = (AT), .value = "ADDR",               \
		.help = "give metrics to Prometheus at http://ADDR/metrics: PORT, which listens "  \
			"on 127.0.0.1, or HOST:PORT; port 0: any that is free. docs/METRICS.md "   \
			"lists them"                                                               \
	}

/* "9640", ":9640", "127.0.0.1:9640", "[::1]:9640": host and port of it. */
struct metrics_address {
	char host[METRICS_ADDRESS_MAX]; /* without brackets */
	char port[8];
};

/* FAIL_USAGE: it is no address. Pure. */
enum fail_code metrics_listener_address(
    struct metrics_address *out, const char *text, struct failure *f);

struct metrics_listener;

/*
 * Gives *out, to be ended with metrics_listener_close(), and says where it listens. text(opaque)
 * gives a text (free), or NULL: there is none now. FAIL_USAGE as above; FAIL_IO: the address is
 * taken, or is none of this machine's.
 */
enum fail_code metrics_listener_open(struct metrics_listener **out, const char *address,
    char *(*text)(void *opaque), void *opaque, struct failure *f);
void metrics_listener_close(struct metrics_listener *l); /* NULL is accepted */

#endif
