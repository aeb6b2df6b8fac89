/*
 * riffle reweight: learns weights of domains from the losses that trainers report.
 *
 *     reweight_job     options and domains; the learner (consumer/reweight)
 *     reweight_state   the files: weights, and the state from which the same command resumes
 *     reweight_loop    follows the reports, learns, asks the mix, saves
 *     reweight_print   what is printed at the end
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/reweight/reweight_loop.h"
#include "cli/reweight/reweight_print.h"
#include "cli/reweight/reweight_state.h"
#include "cli/signals.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/names.h"

enum { ASK_MS = 15000, EVERY = 100, INTERVAL_S = 10, START_LOOK_MS = 1000, START_SLICE_MS = 50 };

#define AT(field) offsetof(struct reweight_job_arguments, field)

static const struct reweight_job_arguments defaults = {.run = "trainers",
    .every = EVERY,
    .interval_s = INTERVAL_S,
    .until_step = INT64_MAX,
    .eta = 1,
    .smoothing = REWEIGHT_SMOOTHING,
    .memory = REWEIGHT_MEMORY};

/* What --help prints of the options, below the text of cmd_reweight. */
static const struct option_row rows[] = {
    {.name = "method",
	.kind = OPTION_CHOICE,
	.at = AT(method),
	.choice = reweight_method_name,
	.value = "METHOD",
	.without = "",
	.help = "required. doremi: from the excess over a reference model (arXiv 2305.10429); odm: "
		"from the loss alone (arXiv 2312.02406)"},
    {.name = "out",
	.letter = 'o',
	.kind = OPTION_TEXT,
	.at = AT(out),
	.value = "FILE.json",
	.help =
	    "required: the file for the weights, as `mix.weights: FILE.json` reads it; beside it "
	    "is FILE.json.state, from which the same command continues"},
    {.name = "offline",
	.kind = OPTION_FLAG,
	.at = AT(offline),
	.help = "learn from what is reported by now, then end: the default"},
    {.name = "live",
	.kind = OPTION_FLAG,
	.at = AT(live),
	.help =
	    "follow the reports until the mix ends, and request the learned weights of the mix: "
	    "adaptive sampling"},
    {.name = "every",
	.kind = OPTION_COUNT,
	.at = AT(every),
	.min = 1,
	.max = INT64_MAX,
	.value = "N",
	.help = "live: at most one request in N learned steps"},
    {.name = "interval",
	.kind = OPTION_COUNT,
	.at = AT(interval_s),
	.max = 86400,
	.value = "SECONDS",
	.help = "live: at most one request in so many seconds"},
    {.name = "floor",
	.kind = OPTION_TEXT,
	.at = AT(floor),
	.value = "LIST",
	.without = "none",
	.help = "smallest weight, as a part of 1, for every domain or for some: 0.02 or "
		"0.02,web=0.1"},
    {.name = "ceiling",
	.kind = OPTION_TEXT,
	.at = AT(ceiling),
	.value = "LIST",
	.without = "none",
	.help = "largest weight, in the same form"},
    {.name = "reference",
	.kind = OPTION_TEXT,
	.at = AT(reference),
	.value = "FILE.json",
	.without = "all equal",
	.help = "doremi: the weights that the reference model was trained with, such as the last "
		"round's result; learning starts from them, and the result is compared with them"},
    {.name = "eta",
	.kind = OPTION_NUMBER,
	.at = AT(eta),
	.value = "X",
	.help = "doremi: step size; odm: what losses are multiplied by"},
    {.name = "smoothing",
	.kind = OPTION_NUMBER,
	.at = AT(smoothing),
	.value = "X",
	.help = "doremi: the part of each step's weights that is the same for all domains"},
    {.name = "memory",
	.kind = OPTION_NUMBER,
	.at = AT(memory),
	.value = "X",
	.help = "odm: the part of the smoothed loss that the next step keeps"},
    {.name = "run",
	.kind = OPTION_TEXT,
	.at = AT(run),
	.value = "NAME",
	.help = "the run whose reports count"},
    {.name = "until-step",
	.kind = OPTION_COUNT,
	.at = AT(until_step),
	.min = 1,
	.max = INT64_MAX,
	.value = "N",
	.without = "to the end",
	.help = "learn from steps below N only, then end"},
    {.name = "anew",
	.kind = OPTION_FLAG,
	.at = AT(anew),
	.help = "ignore the state file: learn from the start"},
    OPTIONS_MIX_ROW(AT(mix)),
    {.name = "json", .kind = OPTION_FLAG, .at = AT(json), .help = "JSON; its keys are stable"},
};

static enum fail_code
check_arguments(const struct reweight_job_arguments *a, const struct options *o, struct failure *f)
{
	bool doremi = a->method == REWEIGHT_DOREMI;

	if (!options_given(o, &cmd_reweight, "method"))
		return fail(f, FAIL_USAGE, "--method is needed: doremi or odm");
	if (a->out == NULL)
		return fail(f, FAIL_USAGE, "--out FILE.json is needed: where the weights go");
	if (a->offline && a->live)
		return fail(f, FAIL_USAGE, "give --offline or --live, not both");
	if (!(a->eta > 0))
		return fail(f, FAIL_USAGE, "--eta: must be more than 0");
	if (!(a->smoothing >= 0 && a->smoothing < 1))
		return fail(f, FAIL_USAGE,
		    "--smoothing: must be at least 0 and below 1, which would give all domains the "
		    "same weight whatever their losses");
	if (!(a->memory >= 0 && a->memory < 1))
		return fail(f, FAIL_USAGE, "--memory: must be at least 0 and below 1");
	if (!names_run_valid(a->run))
		return fail(f, FAIL_USAGE, "--run: \"%s\" is not a name of a run", a->run);
	if (!doremi && (a->reference != NULL || options_given(o, &cmd_reweight, "smoothing")))
		return fail(f, FAIL_USAGE, "--reference and --smoothing are of --method doremi");
	if (doremi && options_given(o, &cmd_reweight, "memory"))
		return fail(f, FAIL_USAGE, "--memory is of --method odm");
	if (!a->live && (options_given(o, &cmd_reweight, "every") ||
			    options_given(o, &cmd_reweight, "interval")))
		return fail(f, FAIL_USAGE, "--every and --interval are of --live");
	return FAIL_NONE;
}

/*
 * The mix must have started: its ledger says which domains are drawn. A live learner waits for it.
 */
static enum fail_code
wait_started(const struct reweight_job_arguments *a, struct ledger_log *log, struct ledger *last,
    const struct stop *stop, struct failure *f)
{
	struct log_reminder reminder = {0};
	bool any;

	for (;;) {
		if (ledger_log_last(log, last, &any, f) != FAIL_NONE)
			return f->code;
		if (any)
			return FAIL_NONE;
		if (!a->live)
			return fail(
			    f, FAIL_DATA, "mix %s has not started: its ledger is empty", a->mix);
		if (log_reminder_due(&reminder, clock_ms(), 0))
			log_info(
			    "reweight: mix=%s has not started: `riffle mix` starts it", a->mix);
		for (int ms = 0; ms < START_LOOK_MS && !stop_asked(stop); ms += START_SLICE_MS)
			clock_pause_ms(START_SLICE_MS);
		if (stop_asked(stop))
			return fail(f, FAIL_STOPPED, "stopped");
	}
}

/* The log stays open behind the start, since the loop asks it where the mix is. */
static enum fail_code
learn(const struct reweight_job_arguments *a, const struct config *c, struct failure *f)
{
	const struct stop *stop = signals_stop();
	struct reweight_job job = {0};
	struct ledger_log *log = NULL;
	struct ledger last = {0};
	bool found;
	enum fail_code code = ledger_log_open(&log, a->mix, &c->kafka, ASK_MS, f);

	if (code == FAIL_NONE)
		code = wait_started(a, log, &last, stop, f);
	if (code == FAIL_NONE)
		code = reweight_job_open(&job, a, c, &last, f);
	if (code == FAIL_NONE && !a->anew)
		code = reweight_state_load(&job, &found, f);
	if (code == FAIL_NONE)
		code = reweight_loop(&job, log, stop, f);
	if (code == FAIL_NONE && a->json)
		code = reweight_print_json(&job, stdout, f);
	else if (code == FAIL_NONE)
		reweight_print_table(&job, stdout);
	if (code == FAIL_NONE && fflush(stdout) != 0)
		code = fail_errno(f, FAIL_IO, "writing to stdout");
	ledger_clear(&last);
	reweight_job_close(&job);
	ledger_log_close(log);
	return code;
}

static enum fail_code
run(int argc, char **argv, struct failure *f)
{
	struct reweight_job_arguments a = defaults;
	struct config *c = NULL;
	struct options o;
	enum fail_code code;

	if (options_parse(&o, &cmd_reweight, argc, argv, &a, f) != FAIL_NONE ||
	    check_arguments(&a, &o, f) != FAIL_NONE ||
	    options_check_folder(a.out, f) != FAIL_NONE ||
	    options_mix_config(&c, &a.mix, &o, f) != FAIL_NONE)
		return f->code;
	code = learn(&a, c, f);
	config_close(c);
	return code;
}

const struct command cmd_reweight = {
    .name = "reweight",
    .summary = "learn weights from the trainers' losses",
    .usage = "-c FILE | --mix NAME  --method doremi|odm --out FILE.json [OPTION...]",
    .help =
	"Reads what trainers report to <mix>.feedback (riffle_report(), reader.report() in "
	"Python) and learns from each step that all ranks have reported. A loss that is no "
	"finite number, that is late or repeated, or of an unknown step is dropped and counted.\n"
	"\n"
	"doremi: weights grow where a proxy's loss is above a reference model's; trainers "
	"report excess_sum, clipped at 0 a token. The result is the average over the steps. "
	"For another round, train the next reference with the result, and give that as "
	"--reference.\n"
	"\n"
	"odm: a bandit whose reward is the loss; the result is its last weights.\n"
	"\n"
	"Live, it waits for a mix that has not started, and requests new weights of it every "
	"--every steps. They take effect a lead "
	"later, at the step that the mix answers, and are in its ledger, so that a replay "
	"repeats them. After a kill the same command continues where it was, and sends no "
	"request twice. Exit 1: nothing was reported, or the mix refused three requests in a "
	"row.",
    .example =
	"riffle reweight -c proxy.yml --method doremi --out round1.json\n"
	"riffle reweight -c proxy2.yml --method doremi --reference round1.json --out round2.json\n"
	"riffle reweight -c run.yml --method odm --live --every 200 --floor 0.02 --out odm.json",
    .common = OPTIONS_CONFIG | OPTIONS_PROPERTIES,
    .defaults = &defaults,
    .option = rows,
    .options_n = sizeof(rows) / sizeof(rows[0]),
    .run = run,
};
