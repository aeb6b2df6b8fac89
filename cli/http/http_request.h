/*
 * http_request.h -- the head of a request, as plain values: what decides about it needs no server.
 *
 * All is borrowed from the server until the request has ended.
 */
#ifndef CLI_HTTP_HTTP_REQUEST_H
#define CLI_HTTP_HTTP_REQUEST_H

#include <stddef.h>

enum { HTTP_ARGUMENTS_MAX = 8 };

/* Texts; NULL: not there. */
struct http_request {
	const char *method, *path; /* the path without its arguments; neither is NULL */
	const char *host, *origin, *authorization, *cookie, *content_type;
	const char *custom; /* X-Riffle */
	struct {
		const char *name, *value; /* value NULL: "?name" */
	} argument[HTTP_ARGUMENTS_MAX];
	size_t arguments_n; /* more than there is room for are counted, too */
};

#endif
