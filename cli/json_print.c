#include "cli/json_print.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/json_memory.h"
#include "common/base/text.h"
#include "common/base/utf8.h"

enum fail_code
json_print(json_t *value, size_t flags, FILE *to, struct failure *f)
{
	char *text = value == NULL ? NULL : json_memory_text(value, flags);

	json_decref(value);
	if (text == NULL)
		return fail_memory(f);
	fputs(text, to); /* long: a format would be slower */
	putc('\n', to);
	free(text);
	return FAIL_NONE;
}

json_t *
json_print_text(const char *text)
{
	json_t *s = json_string(text == NULL ? "" : text);

	return s != NULL ? s : json_string("(not UTF-8)");
}

json_t *
json_print_weights(const struct ledger_raw_weight *weight, size_t n)
{
	json_t *all = json_object();

	for (size_t i = 0; i < n; i++) {
		const char *name = weight[i].domain;

		json_object_set_new(all, utf8_valid(name, strlen(name)) ? name : TEXT_SHOWN(name),
		    json_real(weight[i].weight));
	}
	return all;
}
