/*
 * endpoint.h -- where a command listens for HTTP, and what those of other machines must show.
 *
 * `riffle serve --listen` and `--metrics` of the commands that work take the same addresses:
 *
 *     9640              this machine alone, 127.0.0.1
 *     127.0.0.1:9640    host and port; port 0: any that is free
 *     [::1]:9640        an IPv6 address has brackets
 *
 * An address that other machines reach needs a token, in a file of one line, so that not everyone
 * reads the mix. A client sends it as `Authorization: Bearer TOKEN`.
 */
#ifndef CLI_HTTP_ENDPOINT_H
#define CLI_HTTP_ENDPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "cli/http/http_access.h"
#include "common/base/failure.h"

enum {
	ENDPOINT_HOST_MAX = 256, /* with its '\0' */
	ENDPOINT_TEXT_MAX = ENDPOINT_HOST_MAX + 16,
};

/* What the command line says. Borrowed. */
struct endpoint_options {
	const char *option, *address;          /* "--listen", and its value */
	const char *token_option, *token_file; /* "--token-file", and its value; NULL: not given */
};

struct endpoint {
	char host[ENDPOINT_HOST_MAX], port[8]; /* host without brackets */
	struct sockaddr_storage at;
	socklen_t at_n;
	bool loopback;                  /* this machine alone reaches it */
	char token[HTTP_TOKEN_MAX + 2]; /* "": none is needed */
};

/* Fills host and port alone. FAIL_USAGE: `address` is none. Pure. */
enum fail_code endpoint_parse(
    struct endpoint *out, const char *option, const char *address, struct failure *f);

/*
 * Into out[ENDPOINT_TEXT_MAX]: where the i-th of several listens, from 0. Its port is that of
 * `address` plus i, or 0 where that is 0. FAIL_USAGE: `address` is none, or the port would be above
 * the highest. Pure.
 */
enum fail_code endpoint_nth(
    char *out, const char *option, const char *address, size_t i, struct failure *f);

/*
 * Fills all of *out: looks the host up, and reads the token. FAIL_USAGE: the address is none, needs
 * a token that is not given, or the file has none; FAIL_IO: the host is not found.
 */
enum fail_code endpoint_find(
    struct endpoint *out, const struct endpoint_options *o, struct failure *f);

/*
 * Warns (SERVE-PLAIN) of an address without TLS that other machines reach. `module`: of the log's
 * line; `address`: as it was given.
 */
void endpoint_warn_plain(const struct endpoint *e, const char *module, const char *address);

/* "127.0.0.1:9640", "[::1]:9640": the address of `a` in numbers. */
void endpoint_print(char *out, size_t room, const struct sockaddr *a, socklen_t n);

#endif
