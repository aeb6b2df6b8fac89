/* By itself: a trainer opens handles without the rest of the configuration. */
#include <string.h>

#include "common/config/config.h"

static bool
ends(const char *text, const char *with)
{
	size_t n = strlen(text), m = strlen(with);

	return n >= m && strcmp(text + n - m, with) == 0;
}

bool
config_property_secret(const char *name)
{
	return ends(name, "password") || ends(name, "secret") || ends(name, ".key.pem") ||
	       strcmp(name, "sasl.oauthbearer.config") == 0;
}

const char *
config_property_value(const struct config_properties *p, const char *name)
{
	for (size_t i = p == NULL ? 0 : p->n; i > 0; i--)
		if (strcmp(p->item[i - 1].name, name) == 0)
			return p->item[i - 1].value;
	return NULL;
}
