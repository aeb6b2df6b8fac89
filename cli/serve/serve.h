/*
 * serve.h -- riffle serve: all its parts, opened, run until a signal, and ended.
 *
 *     follower (serve_watch)  --> snapshots (serve_state), requests, history
 *                                      |
 *     clients  <-- libmicrohttpd's thread (http_server, serve_http)
 *                                      |
 *                                 jobs of single clients: workers (serve_work)
 *
 * Which requests are answered is decided by serve_rules. It writes nothing, but for requests to the
 * mix where --allow-changes is given: it may be killed at any moment, and several may run.
 *
 * Thread: one; each part has its own.
 */
#ifndef CLI_SERVE_SERVE_H
#define CLI_SERVE_SERVE_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/options.h"
#include "common/base/failure.h"
#include "common/config/config.h"

struct serve_options {
	const char *mix;                              /* --mix; NULL: not given */
	const char *listen, *token_file, *cert, *key; /* NULL, but for `listen`: not given */
	const char *const *host;                      /* [hosts_n] */
	size_t hosts_n;
	bool changes;
};

/*
 * Serves the configuration's mix until a signal comes. `reload`: what the command line says, by
 * which a plan reads the file again. FAIL_USAGE: options that do not go together, an address that
 * is none, a token that is none or missing; FAIL_IO: the address is taken. Where a thread waits for
 * a broker that is silent, it ends the process itself, with the exit code of what it would return.
 */
enum fail_code serve_run(const struct serve_options *o, const struct config *c,
    const struct options *reload, struct failure *f);

#endif
