/* riffle repair: completes lanes and a ledger of which a broker has lost the end. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/command.h"
#include "consumer/replay/repair.h"

struct arguments {
	const char *mix;
	uint64_t from_step;
	bool dry_run;
};

#define AT(field) offsetof(struct arguments, field)

static const struct option_row rows[] = {
    {.name = "from-step",
	.kind = OPTION_COUNT,
	.at = AT(from_step),
	.max = INT64_MAX / 2,
	.value = "S",
	.help = "where no lane holds a record: leave out the steps below S, as `riffle retain` "
		"does; where no lane lacks its end: search from S on for missing steps"},
    {.name = "dry-run",
	.letter = 'n',
	.kind = OPTION_FLAG,
	.at = AT(dry_run),
	.help = "derive, compare and print what would be written, and write nothing"},
    OPTIONS_MIX_NAME_ROW(AT(mix)),
};

static void
print(const struct repair_options *o, const struct repair_result *r)
{
	const char *mix = o->config->mix.name, *would = o->dry_run ? "would write" : "wrote";

	if (!r->needed && r->derived) {
		printf("nothing to repair: mix %s has no copies of its steps (mix.batches: "
		       "derived), and its ledger ends before step %" PRIu64 "\n",
		    mix, r->checked_end);
		return;
	}
	if (!r->needed) {
		printf("nothing to repair: mix %s ends with the same step on all lanes and in its "
		       "ledger",
		    mix);
		if (r->checked_first < r->checked_end)
			printf("; steps %" PRIu64 "..%" PRIu64 " are whole", r->checked_first,
			    r->checked_end);
		printf("\n");
		return;
	}
	if (r->opened > 0 || r->opened_ledger)
		printf("%s a transaction that nobody ended, on %" PRIu32 " lane%s%s\n",
		    o->dry_run ? "would abort" : "aborted", r->opened, r->opened == 1 ? "" : "s",
		    r->opened_ledger ? " and in the ledger" : "");
	for (uint32_t i = 0; i < r->lanes; i++)
		if (r->lane[i].first < r->lane[i].end)
			printf("lane %" PRIu32 ": steps %" PRIu64 "..%" PRIu64 "\n", i,
			    r->lane[i].first, r->lane[i].end);
	if (r->ledger_first < r->ledger_end)
		printf("ledger: steps %" PRIu64 "..%" PRIu64 "\n", r->ledger_first, r->ledger_end);
	printf("%s %" PRIu64 " records of lanes of mix %s%s\n", would, r->records, mix,
	    r->ledger_first < r->ledger_end ? ", and the ledger's" : "");
}

static enum fail_code
run(int argc, char **argv, struct failure *f)
{
	struct repair_result result;
	struct arguments a = {0};
	struct config *c = NULL;
	struct options o;
	enum fail_code code;

	if (options_parse(&o, &cmd_repair, argc, argv, &a, f) != FAIL_NONE ||
	    options_config_named(&c, a.mix, &o, f) != FAIL_NONE)
		return f->code;
	code = config_need_mix(c, f);
	if (code == FAIL_NONE) {
		struct repair_options r = {
		    .config = c,
		    .dry_run = a.dry_run,
		    .from_given = options_given(&o, &cmd_repair, "from-step"),
		    .from_step = a.from_step,
		};

		code = repair(&r, &result, f);
		if (code == FAIL_NONE)
			print(&r, &result);
		free(result.lane);
	}
	config_close(c);
	return code;
}

const struct command cmd_repair = {
    .name = "repair",
    .summary = "complete lanes whose end a broker has lost",
    .usage = "-c FILE [--from-step S] [--dry-run]",
    .help =
	"Completes lanes that end before the ledger, and a ledger that ends before its lanes: "
	"derives what is missing from domain logs and ledger, compares it with what the other "
	"lanes hold, and writes it. Stop all mixers and standbys first. Writes only what is "
	"certain. Exit 1, and nothing is written, where steps are missing in the middle of a lane "
	"or the lost part of the ledger held a change; the message says what else can be done.",
    .example = "riffle repair -c run.yml --dry-run\n"
	       "riffle repair -c run.yml",
    .common = OPTIONS_CONFIG | OPTIONS_PROPERTIES,
    .option = rows,
    .options_n = sizeof(rows) / sizeof(rows[0]),
    .run = run,
};
