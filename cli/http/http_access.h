/*
 * http_access.h -- who may ask: by a token, and by the name under which this server was called.
 *
 * A page of another origin whose name is made to point here (DNS rebinding) sends its own name as
 * Host. An address cannot be made to point elsewhere.
 *
 * Pure.
 */
#ifndef CLI_HTTP_HTTP_ACCESS_H
#define CLI_HTTP_HTTP_ACCESS_H

#include <stdbool.h>
#include <stddef.h>

enum {
	HTTP_TOKEN_MIN = 16, /* letters */
	HTTP_TOKEN_MAX = 512,
};

/* Whether a request with this Host is for here: an address, localhost, or one of name[names_n]. */
bool http_access_host(const char *host, const char *const *name, size_t names_n);

/* Whether a text can be a token: as long as it must be, of letters that headers and paths take. */
bool http_access_token(const char *token);

/* Whether an Authorization header (NULL: there is none) has the token. */
bool http_access_bearer(const char *token, const char *authorization);

/* Whether two texts are equal, in a time that does not tell where they differ. */
bool http_access_equal(const char *a, const char *b);

#endif
