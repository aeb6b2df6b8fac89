#include "cli/http/http_access.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

static bool
is_address(const char *host)
{
	unsigned char room[16];

	return inet_pton(AF_INET, host, room) == 1 || inet_pton(AF_INET6, host, room) == 1;
}

/* "host", "host:port", "[address]:port" -> the host alone. False: it is none of these. */
static bool
cut_port(char *out, size_t room, const char *host)
{
	const char *end = *host == '[' ? strchr(host, ']') : strchr(host, ':');
	const char *first = *host == '[' ? host + 1 : host;
	const char *port = end == NULL ? "" : *host == '[' ? end + 1 : end;
	size_t n = end == NULL ? strlen(first) : (size_t)(end - first);

	if ((*host == '[' && end == NULL) || n == 0 || n >= room)
		return false;
	if (*port != '\0' && (*port != ':' || port[1 + strspn(port + 1, "0123456789")] != '\0'))
		return false;
	memcpy(out, first, n);
	out[n] = '\0';
	return true;
}

bool
http_access_host(const char *host, const char *const *name, size_t names_n)
{
	char called[256];

	if (host == NULL || !cut_port(called, sizeof(called), host))
		return false;
	if (is_address(called) || strcasecmp(called, "localhost") == 0)
		return true;
	for (size_t i = 0; i < names_n; i++)
		if (strcasecmp(called, name[i]) == 0)
			return true;
	return false;
}

bool
http_access_token(const char *token)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				      "0123456789-._~";
	size_t n = strlen(token);

	return n >= HTTP_TOKEN_MIN && n <= HTTP_TOKEN_MAX && strspn(token, letters) == n;
}

bool
http_access_equal(const char *a, const char *b)
{
	size_t n = strlen(a), other = strlen(b);
	unsigned char differs = n != other;

	for (size_t i = 0; i < n; i++)
		differs |= (unsigned char)(a[i] ^ (i < other ? b[i] : ~a[i]));
	return differs == 0;
}

bool
http_access_bearer(const char *token, const char *authorization)
{
	static const char scheme[] = "Bearer ";

	return authorization != NULL &&
	       strncasecmp(authorization, scheme, sizeof(scheme) - 1) == 0 &&
	       http_access_equal(token, authorization + sizeof(scheme) - 1);
}
