#include "cli/mix_option.h"

#include <stdlib.h>

#include "common/base/names.h"

/* Without a file: a configuration that holds properties only. */
static enum fail_code
bare_config(struct config **out, const struct options *o, struct failure *f)
{
	const char *bootstrap = getenv("RIFFLE_BOOTSTRAP");
	enum fail_code code = FAIL_NONE;

	*out = calloc(1, sizeof(**out));
	if (*out == NULL)
		return fail_memory(f);
	if (bootstrap != NULL && *bootstrap != '\0')
		code = properties_set(&(*out)->kafka, "bootstrap.servers", bootstrap, f);
	for (size_t i = 0; i < o->properties.n && code == FAIL_NONE; i++)
		code = options_set_property(*out, o->properties.text[i], f);
	return code;
}

enum fail_code
mix_option_config(struct config **out, const char **mix, const struct options *o, struct failure *f)
{
	*out = NULL;
	if (o->config == NULL && *mix == NULL)
		return fail(f, FAIL_USAGE, "which mix? give -c FILE or --mix NAME");
	if (*mix != NULL && !names_valid(*mix))
		return fail(f, FAIL_USAGE, "--mix: \"%s\" is not a name of a mix", *mix);
	if (o->config == NULL)
		return bare_config(out, o, f);
	if (options_config(out, o, f) != FAIL_NONE)
		return f->code;
	if (*mix != NULL)
		return FAIL_NONE;
	if (config_need_mix(*out, f) != FAIL_NONE)
		return f->code;
	*mix = (*out)->mix.name;
	return FAIL_NONE;
}
