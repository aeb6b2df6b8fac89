#include "common/kafka/brokers.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { PORT_MAX = 65535 };

#define BETWEEN " \t\r\n," /* addresses of a list */

/* The next address of *list, of *n bytes without what surrounds it; NULL: there is no more. */
static const char *
next_address(const char **list, size_t *n)
{
	const char *begin = *list + strspn(*list, BETWEEN);

	*n = strcspn(begin, ",");
	*list = begin + *n;
	while (*n > 0 && isspace((unsigned char)begin[*n - 1]))
		(*n)--;
	return *n == 0 ? NULL : begin;
}

/* The port of an address without protocol, as librdkafka finds it: "[::1]" has none; or NULL. */
static const char *
port_of(const char *address, size_t n)
{
	const char *first = memchr(address, ':', n), *last = memrchr(address, ':', n);

	return last != NULL && (last == first || last[-1] == ']') ? last + 1 : NULL;
}

/* Skips "SSL://"; *known: whether Kafka has the protocol. */
static const char *
skip_protocol(const char *address, size_t *n, bool *known)
{
	static const char *const protocol[] = {"PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"};
	const char *end = memmem(address, *n, "://", 3);
	size_t name_n;

	*known = true;
	if (end == NULL)
		return address;
	name_n = (size_t)(end - address);
	*known = false;
	for (size_t i = 0; i < sizeof(protocol) / sizeof(protocol[0]); i++)
		if (strlen(protocol[i]) == name_n && strncasecmp(protocol[i], address, name_n) == 0)
			*known = true;
	*n -= name_n + 3;
	return end + 3;
}

static enum fail_code
check_address(const char *address, size_t n, struct failure *f)
{
	size_t host_n = n, port_n;
	bool known;
	const char *host = skip_protocol(address, &host_n, &known);
	const char *slash = memchr(host, '/', host_n), *port;

	if (strcspn(address, "; \t\r\n") < n)
		return fail(f, FAIL_CONFIG,
		    "bootstrap.servers is %.*s: separate addresses with commas", (int)n, address);
	if (slash != NULL) /* librdkafka ignores a path */
		host_n = (size_t)(slash - host);
	port = port_of(host, host_n);
	if (!known)
		return fail(f, FAIL_CONFIG,
		    "bootstrap.servers is %.*s: write HOST:PORT, for example %.*s%s", (int)n,
		    address, (int)host_n, host, port == NULL ? ":9092" : "");
	if (port == NULL)
		return FAIL_NONE;
	port_n = (size_t)(host + host_n - port);
	if (port_n > 0 && strspn(port, "0123456789") >= port_n && strtoul(port, NULL, 10) > 0 &&
	    strtoul(port, NULL, 10) <= PORT_MAX)
		return FAIL_NONE;
	return fail(f, FAIL_CONFIG, "bootstrap.servers is %.*s: \"%.*s\" is not a port (1 to %d)",
	    (int)n, address, (int)port_n, port, PORT_MAX);
}

enum fail_code
brokers_check(const char *list, struct failure *f)
{
	const char *address;
	size_t n;

	if (list[strspn(list, BETWEEN)] == '\0')
		return fail(
		    f, FAIL_CONFIG, "bootstrap.servers is empty: give HOST:PORT of a broker");
	while ((address = next_address(&list, &n)) != NULL)
		if (check_address(address, n, f) != FAIL_NONE)
			return f->code;
	return FAIL_NONE;
}

bool
brokers_without_port(const char *list)
{
	const char *address;
	bool known;
	size_t n;

	while ((address = next_address(&list, &n)) != NULL) {
		address = skip_protocol(address, &n, &known);
		if (port_of(address, n) == NULL)
			return true;
	}
	return false;
}
