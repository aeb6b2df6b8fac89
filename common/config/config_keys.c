#include "common/config/config_keys.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/config/config_parts.h"
#include "common/base/scalar.h"

static const char *const kind_text[] = {
    [CONFIG_TEXT] = "text",
    [CONFIG_NAME] = "name",
    [CONFIG_COUNT32] = "whole number",
    [CONFIG_COUNT] = "whole number",
    [CONFIG_SIZE] = "size",
    [CONFIG_POSITIVE] = "number above 0",
    [CONFIG_NUMBER] = "number",
    [CONFIG_BOOL] = "`true`, `false`",
    [CONFIG_CHOICE] = "",
    [CONFIG_LIST] = "text or list",
    [CONFIG_RUNS] = "name or list",
    [CONFIG_FIELDS] = "text or list",
    [CONFIG_SPLIT] = "three whole numbers",
    [CONFIG_PROPERTIES] = "map",
    [CONFIG_DOMAINS] = "map",
    [CONFIG_FOLDER] = "text",
    [CONFIG_WEIGHTS] = "map, `FILE.json`, `uniform`, `size`",
    [CONFIG_ROUND] = "`largest` or whole number",
    [CONFIG_PHASES] = "list of maps",
    [CONFIG_PHASE_MAP] = "map",
    [CONFIG_ANNEAL_STEP] = "whole number",
    [CONFIG_ANNEAL_MAP] = "map",
};

static const char introduction[] =
    "# Keys of the configuration\n"
    "\n"
    "Printed by `riffle config --keys`. One YAML file describes a corpus and a mix of it;\n"
    "[config/example.yml](../config/example.yml) is one with comments, and\n"
    "`riffle config --check -c FILE` checks yours and opens nothing else but what `mix.weights` "
    "and\n"
    "`domains_from` name.\n"
    "\n"
    "A name is letters, digits, `.`, `_` and `-`, at most 100, with a letter or digit first. A "
    "size\n"
    "is a whole number of bytes, or one with `KB`, `MB`, `GB` (10^3, 10^6, 10^9) or `KiB`, `MiB`,\n"
    "`GiB` (2^10, 2^20, 2^30). `domains.NAME` stands for each domain, `mix.phases[]` for each "
    "phase.\n"
    "Without a `mix` section the file describes a corpus only. An unknown key, a key given twice, "
    "a\n"
    "value out of range, and a key without effect, because another one that it needs is not "
    "there,\n"
    "are errors that name file, line and key.\n"
    "\n"
    "Refused, because names would collide: a domain `rejects`, or `arrivals` where a domain with "
    "files\n"
    "is live; a run `mixer` or `election`; two topics whose names are equal, or differ in `.` and "
    "`_`\n"
    "only (Kafka refuses these).\n"
    "\n"
    "| key | value | preset | what it is |\n"
    "|---|---|---|---|\n";

static void
print_range(const struct config_key *k, FILE *to)
{
	char low[SCALAR_SIZE_TEXT_MAX], high[SCALAR_SIZE_TEXT_MAX];

	if (k->kind == CONFIG_SIZE) {
		scalar_size_text(low, k->min);
		scalar_size_text(high, k->max);
		fprintf(to, ", %s to %s", low, high);
	} else if (k->max != 0) {
		fprintf(to, ", %" PRIu64 " to %" PRIu64, k->min, k->max);
	}
	for (size_t i = 0; k->kind == CONFIG_CHOICE && k->choice[i] != NULL; i++)
		fprintf(to, "%s`%s`", i == 0 ? "" : ", ", k->choice[i]);
}

/* A "|" would end the cell of a table, even inside a code span. */
static void
print_cell(const char *text, FILE *to)
{
	for (; *text != '\0'; text++)
		fprintf(to, *text == '|' ? "\\|" : "%c", *text);
}

void
config_keys_print(FILE *to)
{
	fputs(introduction, to);
	for (size_t i = 0; i < config_keys_n; i++) {
		const struct config_key *k = &config_keys[i];

		fprintf(to, "| `%s` | %s", k->path, kind_text[k->kind]);
		print_range(k, to);
		fputs(k->required ? " | required" : k->preset == NULL ? " | none" : " | `", to);
		if (!k->required && k->preset != NULL) {
			print_cell(k->preset, to);
			fputc('`', to);
		}
		fputs(" | ", to);
		print_cell(k->help, to);
		fputs(" |\n", to);
	}
}
