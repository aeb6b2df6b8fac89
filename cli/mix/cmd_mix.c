/* riffle mix: runs the mixer. */
#include <malloc.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/hints.h"
#include "cli/http/endpoint.h"
#include "cli/metrics/metrics_listener.h"
#include "cli/mix/mixes.h"
#include "cli/signals.h"
#include "common/base/log.h"
#include "consumer/publish/election_group.h"
#include "consumer/publish/mix.h"
#include "producer/produce/produce.h"

struct arguments {
	const char *mix;
	uint64_t until_step, end_step;
	bool accept_config, yes;
	bool standby;
	uint64_t at_once;
	struct metrics_options metrics;
};

enum { AT_ONCE = 4 };

static const struct arguments defaults = {
    .until_step = UINT64_MAX, .end_step = UINT64_MAX, .at_once = AT_ONCE};

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
    {.name = "at-once",
	.kind = OPTION_COUNT,
	.at = AT(at_once),
	.min = 1,
	.max = MIXES_MAX,
	.value = "N",
	.help = "of several mixes, begin the next one when fewer than N work that have not waited "
		"yet: for trainers, for a domain or for their turn"},
    METRICS_LISTENER_ROWS(AT(metrics)),
    OPTIONS_MIX_NAME_ROW(AT(mix)),
};

/*
 * Each thread of librdkafka would have an arena of its own, and those of handles that a mixer has
 * replaced after a fault keep a megabyte or two each, which nobody uses again.
 */
enum { ARENAS = 2 };

enum { ANSWER_MS = 1000 }; /* of a scrape, until the mixer comes to its turn */

enum { ANSWER_MAX = 16 };

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

/* A text that is not ready by then is the one of before: the mixer waits for the broker. */
static char *
ask_board(void *board)
{
	return metrics_board_ask(board, ANSWER_MS);
}

/* Runs the mix, with its metrics where somebody may ask for them. */
static enum fail_code
run_mix(const struct mix_options *o, const struct metrics_options *metrics, struct failure *f)
{
	struct mix_options with = *o;
	struct metrics_board board;
	struct metrics_listener *listener;
	enum fail_code code;

	if (metrics->address == NULL)
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

/* ---- the mixes of one command ---- */

struct job {
	const struct arguments *arguments;
	const struct option_list *overrides;
	struct config *config[MIXES_MAX];
	const char *name[MIXES_MAX];
	size_t n;
};

/* A job_run of mixes.h; `link` NULL: it is the only mix. */
static enum fail_code
run_one(void *opaque, size_t i, struct mixes_link *link, struct failure *f)
{
	const struct job *j = opaque;
	const struct arguments *a = j->arguments;
	struct metrics_options metrics = a->metrics;
	char address[ENDPOINT_TEXT_MAX];
	bool yes = a->yes;
	struct mix_options mix = {
	    .config = j->config[i],
	    .stop = signals_stop(),
	    .ends = a->end_step != UINT64_MAX,
	    .accept_config = a->accept_config,
	    .standby = a->standby,
	    .active = election_group_active,
	    .confirm = confirm,
	    .confirm_opaque = &yes,
	    .waits = link == NULL ? NULL : mixes_waits,
	    .waits_opaque = link,
	};

	if (link != NULL) /* the last -c is that of another mix */
		hints_set(j->config[i]->path, j->overrides->text, j->overrides->n, NULL);
	mix.until_step = mix.ends ? a->end_step : a->until_step;
	if (link != NULL && metrics.address != NULL) {
		if (endpoint_nth(address, "--metrics", a->metrics.address, i, f) != FAIL_NONE)
			return f->code;
		metrics.address = address;
	}
	mallopt(M_ARENA_MAX, ARENAS);
	produce_note_tokenizer(j->config[i]);
	if (j->config[i]->tokenizer.misfit.code != FAIL_NONE) {
		*f = j->config[i]->tokenizer.misfit;
		return f->code;
	}
	return run_mix(&mix, &metrics, f);
}

/* Files behind the first -c, where a shell puts those of a pattern. */
static enum fail_code
check_files(const struct options *o, struct failure *f)
{
	for (size_t i = 0; i < o->arguments_n; i++) {
		const char *word = o->argument[i], *dot = strrchr(word, '.');

		if (o->configs.n == 0 || dot == NULL ||
		    (strcmp(dot, ".yml") != 0 && strcmp(dot, ".yaml") != 0))
			return fail(f, FAIL_USAGE, "unexpected argument: %s%s", word,
			    o->configs.n == 0 ? " (the configuration: -c FILE)"
					      : ": further configurations end in .yml or .yaml");
	}
	return FAIL_NONE;
}

static enum fail_code
check_several(const struct job *j, struct failure *f)
{
	const struct arguments *a = j->arguments;
	char last[ENDPOINT_TEXT_MAX];

	if (a->mix != NULL)
		return fail(f, FAIL_USAGE, "--mix names one mix, and there are %zu", j->n);
	if (a->metrics.address != NULL &&
	    endpoint_nth(last, "--metrics", a->metrics.address, j->n - 1, f) != FAIL_NONE)
		return f->code;
	if (a->accept_config && !a->yes)
		return fail(f, FAIL_USAGE,
		    "--accept-config asks, and there are %zu mixes: add --yes", j->n);
	for (size_t i = 0; i < j->n; i++)
		for (size_t k = 0; k < i; k++)
			if (strcmp(j->name[i], j->name[k]) == 0)
				return fail(f, FAIL_CONFIG, "%s and %s both configure mix %s",
				    j->config[k]->path, j->config[i]->path, j->name[i]);
	return FAIL_NONE;
}

static enum fail_code
open_config(struct job *j, const char *path, const struct options *o, struct failure *f)
{
	struct options with = *o;
	struct config *c;

	with.config = path;
	if (j->n == MIXES_MAX)
		return fail(f, FAIL_USAGE, "one command runs at most %d mixes", MIXES_MAX);
	if (options_config_named(&c, j->arguments->mix, &with, f) != FAIL_NONE)
		return f->code;
	j->config[j->n] = c;
	if (config_need_mix(c, f) != FAIL_NONE) {
		config_close(c);
		return f->code;
	}
	j->name[j->n++] = c->mix.name;
	return FAIL_NONE;
}

/* All of them are read, and found to be right, before the first begins. */
static enum fail_code
open_configs(struct job *j, const struct options *o, struct failure *f)
{
	if (o->configs.n == 0)
		return open_config(j, o->config, o, f);
	for (size_t i = 0; i < o->configs.n; i++)
		if (open_config(j, o->configs.text[i], o, f) != FAIL_NONE)
			return f->code;
	for (size_t i = 0; i < o->arguments_n; i++)
		if (open_config(j, o->argument[i], o, f) != FAIL_NONE)
			return f->code;
	return j->n > 1 ? check_several(j, f) : FAIL_NONE;
}

static enum fail_code
run(int argc, char **argv, struct failure *f)
{
	struct arguments a = defaults;
	struct options o;
	struct job j = {.arguments = &a, .overrides = &o.overrides};
	enum fail_code code;

	if (options_parse(&o, &cmd_mix, argc, argv, &a, f) != FAIL_NONE ||
	    check(&a, f) != FAIL_NONE || check_files(&o, f) != FAIL_NONE)
		return f->code;
	code = open_configs(&j, &o, f);
	if (code == FAIL_NONE && j.n == 1)
		code = run_one(&j, 0, NULL, f);
	else if (code == FAIL_NONE)
		code = mixes_run(&(struct mixes){.n = j.n,
				     .name = j.name,
				     .at_once = a.at_once,
				     .run = run_one,
				     .opaque = &j},
		    f);
	while (j.n > 0)
		config_close(j.config[--j.n]);
	return code;
}

const struct command cmd_mix = {
    .name = "mix",
    .summary = "draw from the domains by weight and publish steps",
    .usage = "-c FILE... [--until-step N | --end-at-step N] [--accept-config [--yes]] [--standby] "
	     "[--at-once N] [--metrics ADDR]",
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
	"and accepts nothing where no step follows.\n"
	"\n"
	"With several -c, or -c mixes/*.yml, it runs a mix by each, in a process of its own: each "
	"has its ledger, its election and its end, and one that fails ends no other. All other "
	"options hold for each. With --metrics 9640 the first mix listens on port 9640 once it has "
	"begun, the next one on 9641, and so on. Lines of the log end in mix=NAME. A signal to the "
	"command stops all. The exit code is the highest of all, and the last line names those "
	"that failed.",
    .example = "riffle mix -c run.yml\nriffle mix -c run.yml --until-step 1000\n"
	       "riffle mix -c run.yml --end-at-step 20000\n"
	       "riffle mix -c run.yml --standby\n"
	       "riffle mix -c swarm/*.yml --end-at-step 64",
    .defaults = &defaults,
    .arguments_max = MIXES_MAX,
    .common = OPTIONS_CONFIG | OPTIONS_CONFIGS | OPTIONS_PROPERTIES,
    .option = rows,
    .options_n = sizeof(rows) / sizeof(rows[0]),
    .run = run,
};
