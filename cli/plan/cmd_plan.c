/*
 * riffle plan: what the mix of a configuration will do.
 *
 *     lengths of the domains   --sizes, the broker's, or without end (plan_lengths.h)
 *             |
 *     mixer's plan             configuration and lengths (config_plan.h)
 *             |
 *             +--> forecast    a table or JSON (forecast.h, plan_print.h)
 *             +--> --draws     single draws
 */
#include <stddef.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/config/round_shares.h"
#include "cli/plan/plan_lengths.h"
#include "cli/plan/plan_print.h"
#include "consumer/plan/config_plan.h"
#include "producer/produce/produce.h"

struct arguments {
	const char *mix;
	uint64_t draws, steps;
	const char *sizes;
	bool json;
};

#define AT(field) offsetof(struct arguments, field)

/* What --help prints of the options, below the text of cmd_plan. */
static const struct option_row rows[] = {
    {.name = "steps",
	.kind = OPTION_COUNT,
	.at = AT(steps),
	.min = 1,
	.value = "N",
	.without = "until as many sequences are drawn as there are, and every phase has begun",
	.help = "plan N steps, or fewer where the mix ends"},
    {.name = "sizes",
	.kind = OPTION_TEXT,
	.at = AT(sizes),
	.value = "D=N,...",
	.help = "how many sequences each domain has; then no broker is queried. Names all domains"},
    {.name = "draws",
	.kind = OPTION_COUNT,
	.at = AT(draws),
	.value = "N",
	.help = "print the first N draws instead, a line each, with tabs: draw, domain, and how "
		"many draws of that domain came before; in the order before the permutation "
		"inside each global batch. Without --sizes domains have no end"},
    {.name = "json",
	.kind = OPTION_FLAG,
	.at = AT(json),
	.help = "one JSON object; its keys are stable"},
    OPTIONS_MIX_NAME_ROW(AT(mix)),
};

/*
 * Whether the order of draws depends on the lengths: where weights follow from sizes, and where a
 * round is as long as the largest domain (mix.epoch_size: largest). Otherwise --draws needs no
 * broker: a domain without end is drawn at the same places as one that ends after the draws that
 * are printed.
 */
static bool
needs_lengths(const struct config *c)
{
	return c->mix.weights_kind == CONFIG_WEIGHTS_SIZE || c->mix.epoch_largest;
}

static enum fail_code
find_lengths(struct plan_lengths *out, struct config *c, const struct arguments *a, bool draws,
    struct failure *f)
{
	if (a->sizes != NULL)
		return plan_lengths_parse(out, c, a->sizes, f);
	if (draws && !needs_lengths(c))
		return plan_lengths_endless(out, c, f);
	produce_note_tokenizer(c);
	return plan_lengths_ask(out, c, f);
}

static enum fail_code
print_forecast(const struct config *c, const struct mixer_plan *plan, uint64_t steps, bool json,
    struct failure *f)
{
	struct forecast *fc;
	enum fail_code code = forecast_open(&fc, plan, steps, NULL, f);

	if (code != FAIL_NONE)
		return code;
	if (json)
		code = plan_print_json(fc, c, stdout, f);
	else
		plan_print_table(fc, c, stdout);
	forecast_close(fc);
	return code;
}

static enum fail_code
plan(struct config *c, const struct arguments *a, bool draws, struct failure *f)
{
	struct plan_lengths lengths = {0};
	struct config_plan p = {0};
	enum fail_code code = find_lengths(&lengths, c, a, draws, f);

	if (code == FAIL_NONE) /* by the weights in force, which these may be now */
		round_shares_warn(c);
	if (code == FAIL_NONE)
		code = config_plan_open(&p, c, lengths.length, f);
	if (code == FAIL_NONE && draws)
		code = plan_print_draws(c, &p.plan, a->draws, stdout, f);
	else if (code == FAIL_NONE)
		code = print_forecast(c, &p.plan,
		    a->steps > 0 ? a->steps : plan_lengths_steps(&lengths, c), a->json, f);
	config_plan_close(&p);
	plan_lengths_close(&lengths);
	return code;
}

static enum fail_code
run(int argc, char **argv, struct failure *f)
{
	struct arguments a = {0};
	struct config *c = NULL;
	struct options o;
	bool draws;
	enum fail_code code;

	if (options_parse(&o, &cmd_plan, argc, argv, &a, f) != FAIL_NONE)
		return f->code;
	draws = options_given(&o, &cmd_plan, "draws");
	if (draws && (a.json || a.steps > 0))
		return fail(f, FAIL_USAGE, "--draws cannot go with --steps or --json");
	if (options_config_named(&c, a.mix, &o, f) != FAIL_NONE)
		return f->code;
	code = config_need_mix(c, f);
	if (code == FAIL_NONE)
		code = plan(c, &a, draws, f);
	config_close(c);
	return code;
}

const struct command cmd_plan = {
    .name = "plan",
    .summary = "show what the mix will do",
    .usage = "-c FILE [--steps N] [--sizes D=N,...] [--json] | --draws N",
    .help =
	"Steps through the mixer's own decisions, without data. Shows for each phase and domain "
	"the intended and the achieved share, sequences, tokens, epochs, and how far the share of "
	"the worst lane is from that of the whole batch; for each domain the steps in which it is "
	"first drawn and first exhausted, and how often a sequence is drawn. Counts every sequence "
	"as full. Where a mix of this name has begun, it warns if that was with another "
	"configuration, and plans with the weights and the batch in force, also where they were "
	"requested. With "
	"--sizes it opens no broker, source or tokenizer.",
    .example = "riffle plan -c run.yml --sizes web=7000,code=1000 --steps 500\n"
	       "riffle plan -c run.yml --json\nriffle plan -c run.yml --draws 20",
    .common = OPTIONS_CONFIG | OPTIONS_PROPERTIES,
    .option = rows,
    .options_n = sizeof(rows) / sizeof(rows[0]),
    .run = run,
};
