/* riffle plan: what the schedule of a configuration will draw; needs no broker. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/command.h"
#include "common/schedule.h"

struct arguments {
	uint64_t draws;
};

#define AT(field) offsetof(struct arguments, field)

static const struct option_row rows[] = {
    {.name = "draws",
	.kind = OPTION_COUNT,
	.at = AT(draws),
	.value = "N",
	.help = "print the first N draws: draw, domain, and how many the domain gave before, with "
		"tabs between; the order before the permutation inside each global batch"},
};

struct plan {
	const struct config *config;
	struct schedule schedule;
	uint64_t count[WEIGHTS_MAX]; /* drawn so far */
};

static enum fail_code
set_up(struct plan *p, const struct config *c, struct failure *f)
{
	const char *name[WEIGHTS_MAX];
	uint64_t weight[WEIGHTS_MAX];

	p->config = c;
	for (size_t i = 0; i < c->domains_n; i++)
		name[i] = c->domains[i].name;
	if (weights_quantise(weight, c->mix.weight, name, c->domains_n, c->mix.temperature, f) !=
	    FAIL_NONE)
		return f->code;
	schedule_init(&p->schedule);
	schedule_set_weights(&p->schedule, weight, c->domains_n);
	return FAIL_NONE;
}

static void
print_draws(struct plan *p, uint64_t draws)
{
	for (uint64_t k = 0; k < draws; k++) {
		size_t i = schedule_draw(&p->schedule);

		printf(
		    "%" PRIu64 "\t%s\t%" PRIu64 "\n", k, p->config->domains[i].name, p->count[i]++);
	}
}

static void
print_shares(const struct plan *p)
{
	const struct config *c = p->config;

	printf("%-24s %12s %14s %20s\n", "domain", "weight", "share", "one in");
	for (size_t i = 0; i < c->domains_n; i++) {
		double share = (double)p->schedule.weight[i] / (double)WEIGHT_ONE;

		printf("%-24s %12g %13.8f%% %20.1f\n", c->domains[i].name, c->mix.weight[i],
		    100 * share, share > 0 ? 1 / share : 0.0);
	}
	printf("a step: %" PRIu32 " sequences of %" PRIu32 " tokens on %" PRIu32 " lanes, %" PRIu64
	       " tokens\n",
	    c->mix.global_batch, c->sequence_length, c->mix.lanes,
	    (uint64_t)c->mix.global_batch * c->sequence_length);
}

static enum fail_code
run(int argc, char **argv, struct failure *f)
{
	struct arguments a = {0};
	struct config *c = NULL;
	struct options o;
	struct plan *p;
	enum fail_code code;

	if (options_parse(&o, &cmd_plan, argc, argv, &a, f) != FAIL_NONE ||
	    options_config(&c, &o, f) != FAIL_NONE)
		return f->code;
	p = calloc(1, sizeof(*p));
	code = p == NULL ? fail_memory(f) : config_need_mix(c, f);
	if (code == FAIL_NONE)
		code = set_up(p, c, f);
	if (code == FAIL_NONE && options_given(&o, &cmd_plan, "draws"))
		print_draws(p, a.draws);
	else if (code == FAIL_NONE)
		print_shares(p);
	free(p);
	config_close(c);
	return code;
}

const struct command cmd_plan = {
    .name = "plan",
    .summary = "show what the mix will draw; needs no broker",
    .usage = "-c FILE [--draws N]",
    .help = "Without options: the share of each domain as it is quantised, and the size of a step.",
    .example = "riffle plan -c run.yml\nriffle plan -c run.yml --draws 20",
    .common = OPTIONS_CONFIG,
    .option = rows,
    .options_n = sizeof(rows) / sizeof(rows[0]),
    .run = run,
};
