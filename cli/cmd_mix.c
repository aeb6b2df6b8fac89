/* riffle mix: runs the mixer. */
#include <malloc.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/metrics/metrics_listener.h"
#include "cli/signals.h"
#include "common/base/log.h"
#include "common/base/names.h"
#include "common/kafka/kafka_groups.h"
#include "consumer/publish/election_group.h"
#include "consumer/publish/mix.h"
#include "producer/produce/produce.h"

struct arguments {
	const char *mix;
	uint64_t until_step, end_step;
	bool accept_config, yes;
	bool standby;
	const char *metrics;
};

#define AT(field) offsetof(struct arguments, field)

static const struct option_row rows[] = {
    {.name = "until-step",
	.kind = OPTION_COUNT,
	.at = AT(until_step),
	.value = "N",
	.without = "to the end of the mix",
	.help = "publish the steps below N, then pause: exit 0, and the mix does not end. Where "
		"they are published already and another mixer runs, that one is left alone"},
    {.name = "end-at-step",
	.kind = OPTION_COUNT,
	.at = AT(end_step),
	.min = 1,
	.value = "N",
	.without = "where its domains end it",
	.help = "publish the steps below N, then end the mix: trainers are given its end in place "
		"of step N, and no step follows. Takes over from a mixer that runs"},
    {.name = "accept-config",
	.kind = OPTION_FLAG,
	.at = AT(accept_config),
	.help =
	    "take weights, temperature, phases, domains, on_end, on_dry, runs and max_lead_steps "
	    "from the configuration where they differ from the ledger's, as a new version from "
	    "the next step on. Shows first what will change, and asks"},
    {.name = "yes",
	.kind = OPTION_FLAG,
	.at = AT(yes),
	.help = "with --accept-config: do not ask; required where there is no terminal"},
    {.name = "standby",
	.kind = OPTION_FLAG,
	.at = AT(standby),
	.help =
	    "wait while another mixer of this mix runs; take over within 15 s after it has died, "
	    "at once after it has ended before the mix has"},
    METRICS_LISTENER_ROW(AT(metrics)),
    OPTIONS_MIX_NAME_ROW(AT(mix)),
};

/*
 * Each thread of librdkafka would have an arena of its own, and those of handles that a mixer has
 * replaced after a fault keep a megabyte or two each, which nobody uses again.
 */
enum { ARENAS = 2 };

enum { ANSWER_MS = 1000 }; /* of a scrape, until the mixer comes to its turn */

enum { ANSWER_MAX = 16, MEMBERS_MAX = 64, MEMBERS_MS = 5000 };

/* `yes`: --yes was given. */
static enum fail_code
confirm(void *yes, const char *changes, struct failure *f)
{
	char answer[ANSWER_MAX];

	log_plain(LOG_INFO, "%s", changes);
	if (*(const bool *)yes)
		return FAIL_NONE;
	if (!isatty(STDIN_FILENO))
		return fail(f, FAIL_USAGE,
		    "riffle asks before it accepts these changes, and there is no terminal to ask "
		    "on: add "
		    "--yes");
	fprintf(stderr, "Accept this configuration? Type yes: ");
	if (fgets(answer, sizeof(answer), stdin) != NULL && strcmp(answer, "yes\n") == 0)
		return FAIL_NONE;
	return fail(f, FAIL_CONFIG, "the changed configuration was not accepted: nothing was done");
}

/* One that was killed less than its session ago counts. Not known: none. */
static bool
active(const struct config *c)
{
	char group[TOPIC_MAX_BYTES + 1];
	struct kafka_member member[MEMBERS_MAX];
	struct failure ignored;
	size_t n;

	names_topic(group, c->mix.name, "election");
	if (kafka_group_members_of(
		group, &c->kafka, member, MEMBERS_MAX, &n, MEMBERS_MS, &ignored) != FAIL_NONE)
		return false;
	for (size_t i = 0; i < n; i++)
		if (strcmp(member[i].client, "riffle-" ELECTION_ACTIVE) == 0)
			return true;
	return false;
}

/* A text that is not ready by then is the one of before: the mixer waits for the broker. */
static char *
ask_board(void *board)
{
	return metrics_board_ask(board, ANSWER_MS);
}

/* Runs the mix, with its metrics where somebody may ask for them. */
static enum fail_code
run_mix(const struct mix_options *o, const char *metrics, struct failure *f)
{
	struct mix_options with = *o;
	struct metrics_board board;
	struct metrics_listener *listener;
	enum fail_code code;

	if (metrics == NULL)
		return mix_run(o, f);
	metrics_board_init(&board);
	with.board = &board;
	code = metrics_listener_open(&listener, metrics, ask_board, &board, f);
	if (code == FAIL_NONE)
		code = mix_run(&with, f);
	metrics_listener_close(listener);
	metrics_board_close(&board);
	return code;
}

static enum fail_code
check(const struct arguments *a, struct failure *f)
{
	if (a->until_step == UINT64_MAX || a->end_step == UINT64_MAX)
		return FAIL_NONE;
	return fail(f, FAIL_USAGE,
	    "give one of --until-step, which pauses the mix, and --end-at-step, which ends it");
}

static enum fail_code
run(int argc, char **argv, struct failure *f)
{
	struct arguments a = {.until_step = UINT64_MAX, .end_step = UINT64_MAX};
	struct config *c = NULL;
	struct options o;
	struct mix_options mix = {.stop = signals_stop()};
	enum fail_code code;

	if (options_parse(&o, &cmd_mix, argc, argv, &a, f) != FAIL_NONE ||
	    check(&a, f) != FAIL_NONE || options_config_named(&c, a.mix, &o, f) != FAIL_NONE)
		return f->code;
	mallopt(M_ARENA_MAX, ARENAS);
	produce_note_tokenizer(c);
	mix.config = c;
	mix.ends = a.end_step != UINT64_MAX;
	mix.until_step = mix.ends ? a.end_step : a.until_step;
	mix.accept_config = a.accept_config;
	mix.standby = a.standby;
	mix.active = active;
	mix.confirm = confirm;
	mix.confirm_opaque = &a.yes;
	code = config_need_mix(c, f);
	if (code == FAIL_NONE)
		code = run_mix(&mix, a.metrics, f);
	config_close(c);
	return code;
}

const struct command cmd_mix = {
    .name = "mix",
    .summary = "draw from the domains by weight and publish steps",
    .usage = "-c FILE [--until-step N | --end-at-step N] [--accept-config [--yes]] [--standby] "
	     "[--metrics ADDR]",
    .help =
	"Waits until every domain that is not live is sealed, then publishes steps to "
	"<mix>.batches, several in one transaction, with the record in <mix>.ledger that a "
	"later start resumes from. Runs at most mix.max_lead_steps ahead of the slowest run in "
	"mix.runs. Answers requests of `riffle weights` and `riffle skip` between two "
	"transactions. SIGTERM or SIGINT commits what is open and ends it with 0; the same command "
	"continues.\n"
	"\n"
	"A second mixer of the same mix takes over, and the older one ends with 3; with --standby "
	"it waits for its turn instead. A standby takes over after SIGTERM, a failure or "
	"--until-step of the active mixer; with the end of the mix the standbys end, too.\n"
	"\n"
	"--accept-config keeps what `riffle weights` has changed, unless the file changed it too, "
	"and accepts nothing where no step follows.",
    .example = "riffle mix -c run.yml\nriffle mix -c run.yml --until-step 1000\n"
	       "riffle mix -c run.yml --end-at-step 20000\n"
	       "riffle mix -c run.yml --standby",
    .common = OPTIONS_CONFIG | OPTIONS_PROPERTIES,
    .option = rows,
    .options_n = sizeof(rows) / sizeof(rows[0]),
    .run = run,
};
