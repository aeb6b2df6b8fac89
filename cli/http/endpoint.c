#include "cli/http/endpoint.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/scalar.h"

enum { PORT_MAX = 65535 };

enum fail_code
endpoint_parse(struct endpoint *out, const char *option, const char *address, struct failure *f)
{
	const char *colon = strrchr(address, ':'), *host = address;
	size_t host_n = colon == NULL ? 0 : (size_t)(colon - address);
	const char *port = colon == NULL ? address : colon + 1;
	uint64_t number;
	bool is_bare; /* without brackets */

	*out = (struct endpoint){0};
	if (host_n >= 2 && host[0] == '[' && host[host_n - 1] == ']') {
		host++;
		host_n -= 2;
	}
	is_bare = strcspn(host, "[]") >= host_n;
	if (is_bare && host == address && memchr(host, ':', host_n) != NULL)
		return fail(f, FAIL_USAGE, "%s: %s: an IPv6 address needs brackets: [%.*s]:%s",
		    option, address, (int)host_n, host, port);
	if (!is_bare || host_n >= sizeof(out->host) || strlen(port) >= sizeof(out->port) ||
	    scalar_count(port, 0, PORT_MAX, &number) != SCALAR_OK)
		return fail(f, FAIL_USAGE,
		    "%s: %s: is no address: PORT, or HOST:PORT, with a port of 0 to %d", option,
		    address, PORT_MAX);
	snprintf(out->host, sizeof(out->host), "%.*s", (int)host_n, host);
	if (host_n == 0)
		snprintf(out->host, sizeof(out->host), "127.0.0.1");
	snprintf(out->port, sizeof(out->port), "%s", port);
	return FAIL_NONE;
}

enum fail_code
endpoint_nth(char *out, const char *option, const char *address, size_t i, struct failure *f)
{
	struct endpoint e;
	uint64_t port;
	bool six;

	if (endpoint_parse(&e, option, address, f) != FAIL_NONE)
		return f->code;
	(void)scalar_count(e.port, 0, PORT_MAX, &port);
	if (port > 0 && i > PORT_MAX - port)
		return fail(f, FAIL_USAGE,
		    "%s: %s: each of %zu listens on a port of its own, and the last one would be "
		    "above %d: begin with a lower port",
		    option, address, i + 1, PORT_MAX);
	six = strchr(e.host, ':') != NULL;
	snprintf(out, ENDPOINT_TEXT_MAX, "%s%s%s:%" PRIu64, six ? "[" : "", e.host, six ? "]" : "",
	    port == 0 ? 0 : port + i);
	return FAIL_NONE;
}

static bool
is_loopback(const struct sockaddr *a)
{
	const void *at = a;

	if (a->sa_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)at)->sin6_addr);
	return a->sa_family == AF_INET &&
	       ntohl(((const struct sockaddr_in *)at)->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

/* The first of the addresses that the host has. */
static enum fail_code
look_up(struct endpoint *e, const char *option, struct failure *f)
{
	const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
	struct addrinfo *found;
	int err = getaddrinfo(e->host, e->port, &hints, &found);

	if (err != 0)
		return fail(f, FAIL_IO, "%s: finding %s: %s", option, e->host, gai_strerror(err));
	memcpy(&e->at, found->ai_addr, found->ai_addrlen);
	e->at_n = found->ai_addrlen;
	e->loopback = is_loopback(found->ai_addr);
	freeaddrinfo(found);
	return FAIL_NONE;
}

/* The first line of the file. */
static enum fail_code
read_token(struct endpoint *e, const struct endpoint_options *o, struct failure *f)
{
	FILE *from = fopen(o->token_file, "re");
	bool any;

	if (from == NULL)
		return fail_errno(f, FAIL_USAGE, "%s: opening %s", o->token_option, o->token_file);
	any = fgets(e->token, sizeof(e->token), from) != NULL;
	fclose(from);
	e->token[any ? strcspn(e->token, "\r\n") : 0] = '\0';
	if (http_access_token(e->token))
		return FAIL_NONE;
	return fail(f, FAIL_USAGE,
	    "%s: %s: not a token: one line of %d to %d letters, digits, - . _ ~ (`openssl rand "
	    "-hex 24` makes one)",
	    o->token_option, o->token_file, HTTP_TOKEN_MIN, HTTP_TOKEN_MAX);
}

enum fail_code
endpoint_find(struct endpoint *out, const struct endpoint_options *o, struct failure *f)
{
	if (endpoint_parse(out, o->option, o->address, f) != FAIL_NONE ||
	    look_up(out, o->option, f) != FAIL_NONE)
		return f->code;
	if (o->token_file != NULL)
		return read_token(out, o, f);
	if (out->loopback)
		return FAIL_NONE;
	return fail(f, FAIL_USAGE,
	    "%s: %s is not of this machine alone: %s is needed, so that not everyone reads the mix",
	    o->option, o->address, o->token_option);
}

void
endpoint_warn_plain(const struct endpoint *e, const char *module, const char *address)
{
	if (!e->loopback)
		log_warning("%s: SERVE-PLAIN address=%s: tokens and data can be read on their way",
		    module, address);
}

void
endpoint_print(char *out, size_t room, const struct sockaddr *a, socklen_t n)
{
	char host[ENDPOINT_HOST_MAX] = "?", port[8] = "?";
	bool six = a->sa_family == AF_INET6;

	(void)getnameinfo(
	    a, n, host, sizeof(host), port, sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV);
	snprintf(out, room, "%s%s%s:%s", six ? "[" : "", host, six ? "]" : "", port);
}
