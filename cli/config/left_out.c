#include "cli/config/left_out.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli/config/init_files.h"
#include "common/base/log.h"
#include "common/base/text.h"

static void
warn_of(const struct config_domain *d)
{
	size_t shown = 0;

	for (size_t i = 0; i < d->left_out.n && shown < LEFT_OUT_SHOWN_MAX; i++) {
		char *why = init_files_why(d->left_out.text[i]);

		if (why != NULL && ++shown == LEFT_OUT_SHOWN_MAX && i + 1 < d->left_out_n)
			log_warning(
			    "config: CONFIG-LEFT-OUT domain=%s: %zu more files and folders are "
			    "not read",
			    d->name, d->left_out_n - i);
		else if (why != NULL)
			log_warning("config: CONFIG-LEFT-OUT domain=%s path=%s is not read: %s",
			    d->name, TEXT_VALUE(d->left_out.text[i]), why);
		free(why);
	}
}

void
left_out_warn(const struct config *c, char *const *domain, size_t domains_n)
{
	for (size_t i = 0; i < c->domains_n; i++) {
		bool wanted = domains_n == 0;

		for (size_t k = 0; k < domains_n; k++)
			wanted = wanted || strcmp(domain[k], c->domains[i].name) == 0;
		if (wanted)
			warn_of(&c->domains[i]);
	}
}
