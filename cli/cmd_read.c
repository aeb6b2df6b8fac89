/* riffle read: a trainer without the training. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/read_output.h"
#include "cli/stop.h"
#include "common/clock.h"
#include "common/log.h"
#include "consumer/riffle.h"

enum {
	SLICE_MS = 200, /* a wait is looked at so often: time, and signals */
	WAITING_EVERY_MS = 10000,
};

struct arguments {
	const char *mix, *run;
	uint32_t rank, world, timeout_s;
	uint64_t from_step, steps, commit_every;
	enum read_format format;
};

#define AT(field) offsetof(struct arguments, field)

static const struct option_row rows[] = {
    {.name = "mix",
	.kind = OPTION_TEXT,
	.at = AT(mix),
	.value = "NAME",
	.help = "name of the mix; without it the one of the configuration"},
    {.name = "rank",
	.kind = OPTION_COUNT32,
	.at = AT(rank),
	.max = CONFIG_LANES_MAX - 1,
	.value = "R",
	.help = "this reader's rank, from 0"},
    {.name = "world",
	.kind = OPTION_COUNT32,
	.at = AT(world),
	.min = 1,
	.max = CONFIG_LANES_MAX,
	.value = "W",
	.help = "ranks of the training run; divides the lanes of the mix"},
    {.name = "run",
	.kind = OPTION_TEXT,
	.at = AT(run),
	.value = "NAME",
	.help = "name of the training run: commits go to the group MIX.NAME"},
    {.name = "from-step",
	.kind = OPTION_COUNT,
	.at = AT(from_step),
	.max = INT64_MAX / 2,
	.value = "S",
	.help = "first step; without it the run's committed one, or 0 where there is none"},
    {.name = "steps",
	.kind = OPTION_COUNT,
	.at = AT(steps),
	.value = "N",
	.help = "read N steps, then end; without it to the end of the mix"},
    {.name = "commit-every",
	.kind = OPTION_COUNT,
	.at = AT(commit_every),
	.min = 1,
	.value = "K",
	.help = "commit the position every K steps, and at the end of the mix (more often where "
		"the mix's lead asks for it); without it nothing is committed"},
    {.name = "format",
	.kind = OPTION_CHOICE,
	.at = AT(format),
	.choice = read_format_text,
	.value = "FORM",
	.help = "steps: a line a lane; jsonl: an object a sequence; tokens: little-endian u32; "
		"none: read, check and decode only, and print the rate"},
    {.name = "timeout",
	.kind = OPTION_COUNT32,
	.at = AT(timeout_s),
	.max = 86400,
	.value = "SECONDS",
	.help = "fail where a step does not come within this time; 0: wait for ever"},
};

/* What was read, for the rate. */
struct tally {
	int64_t begun_ms, first_ms;
	uint64_t steps, sequences, tokens;
};

static enum fail_code
fail_riffle(struct failure *f, const struct riffle_error *e)
{
	static const enum fail_code codes[] = {
	    [RIFFLE_TIMEOUT] = FAIL_TIMEOUT,
	    [RIFFLE_ERROR_USAGE] = FAIL_CONFIG,
	    [RIFFLE_ERROR_MEMORY] = FAIL_MEMORY,
	    [RIFFLE_ERROR_BROKER] = FAIL_BROKER,
	    [RIFFLE_ERROR_DATA] = FAIL_DATA,
	    [RIFFLE_ERROR_EXPIRED] = FAIL_DATA,
	    [RIFFLE_ERROR_LOST] = FAIL_DATA,
	};

	return fail(f, codes[e->code], "%s", e->text);
}

/* The next step, with an eye on signals: FAIL_STOPPED; *s NULL at the end of the mix. */
static enum fail_code
next_step(struct riffle *r, const struct arguments *a, const volatile bool *stop,
    const struct riffle_step **s, struct failure *f)
{
	int64_t begun_ms = clock_ms(), told_ms = begun_ms;
	struct riffle_error e;

	for (;;) {
		int code = *stop ? RIFFLE_END : riffle_next(r, SLICE_MS, s, &e);
		int64_t now_ms = clock_ms();

		if (*stop && code != RIFFLE_OK)
			return fail(f, FAIL_STOPPED, "stopped by a signal");
		if (code == RIFFLE_OK || code == RIFFLE_END)
			return FAIL_NONE;
		if (code != RIFFLE_TIMEOUT)
			return fail_riffle(f, &e);
		if (a->timeout_s > 0 && now_ms - begun_ms >= (int64_t)a->timeout_s * 1000)
			return fail(f, FAIL_TIMEOUT,
			    "step %" PRIu64 " did not come within %" PRIu32
			    " s: is riffle mix running?",
			    riffle_position(r), a->timeout_s);
		if (now_ms - told_ms >= WAITING_EVERY_MS) {
			log_warning("read: READ-WAITING step=%" PRIu64 " seconds=%" PRId64
				    ": not published yet; is riffle mix running?",
			    riffle_position(r), (now_ms - begun_ms) / 1000);
			told_ms = now_ms;
		}
	}
}

/* Commits what is printed, every `commit_every` steps. */
static enum fail_code
commit_due(struct riffle *r, const struct arguments *a, const struct tally *t, struct failure *f)
{
	struct riffle_error e;

	if (a->commit_every == 0 || t->steps % a->commit_every != 0)
		return FAIL_NONE;
	return riffle_commit(r, &e) == RIFFLE_OK ? FAIL_NONE : fail_riffle(f, &e);
}

static enum fail_code
read_steps(struct riffle *r, const struct arguments *a, struct read_output *out, struct tally *t,
    struct failure *f)
{
	const volatile bool *stop = stop_on_signals();
	const struct riffle_step *s = NULL;
	struct riffle_info info;

	riffle_get_info(r, &info);
	while (t->steps < a->steps) {
		enum fail_code code = next_step(r, a, stop, &s, f);

		if (code == FAIL_STOPPED || (code == FAIL_NONE && s == NULL))
			return FAIL_NONE;
		if (code != FAIL_NONE || read_output_step(out, s, info.lanes_mine, f) != FAIL_NONE)
			return f->code;
		if (t->steps++ == 0)
			t->first_ms = clock_ms();
		t->sequences += s->sequences;
		t->tokens += s->sequences * s->tokens_each;
		if (commit_due(r, a, t, f) != FAIL_NONE)
			return f->code;
	}
	return FAIL_NONE;
}

static void
print_rate(const struct tally *t)
{
	int64_t now_ms = clock_ms(), ms = now_ms - (t->steps == 0 ? t->begun_ms : t->first_ms);
	double seconds = (double)(ms < 1 ? 1 : ms) / 1000;

	fprintf(stderr,
	    "read: steps=%" PRIu64 " sequences=%" PRIu64 " tokens=%" PRIu64
	    " first_step_ms=%" PRId64 " seconds=%.3f steps_per_s=%.1f tokens_per_s=%.0f\n",
	    t->steps, t->sequences, t->tokens, t->steps == 0 ? -1 : t->first_ms - t->begun_ms,
	    seconds, (double)t->steps / seconds, (double)t->tokens / seconds);
}

/* The lanes of the topic are those of the configuration, where the mix is the configuration's. */
static enum fail_code
check_lanes(
    const struct riffle *r, const struct arguments *a, const struct config *c, struct failure *f)
{
	struct riffle_info info;

	riffle_get_info(r, &info);
	if (c == NULL || a->mix != c->mix.name || info.lanes == c->mix.lanes)
		return FAIL_NONE;
	return fail(f, FAIL_CONFIG,
	    "topic %s.batches has %" PRIu32 " partitions, the configuration wants %" PRIu32
	    " (mix.lanes)",
	    a->mix, info.lanes, c->mix.lanes);
}

static enum fail_code
read_mix(const struct arguments *a, const struct riffle_options *o, const struct config *c,
    struct failure *f)
{
	struct tally tally = {.begun_ms = clock_ms()};
	struct read_output *out = NULL;
	struct riffle *r = NULL;
	struct riffle_error e;
	enum fail_code code = read_output_open(&out, stdout, a->format, f);

	if (code == FAIL_NONE && riffle_open(&r, o, &e) != RIFFLE_OK)
		code = fail_riffle(f, &e);
	if (code == FAIL_NONE)
		code = check_lanes(r, a, c, f);
	if (code == FAIL_NONE)
		code = read_steps(r, a, out, &tally, f);
	if (r != NULL && a->format == READ_NONE)
		print_rate(&tally);
	riffle_close(r);
	read_output_close(out);
	return code;
}

static enum fail_code
set_property(struct config *c, const char *text, struct failure *f)
{
	const char *equals = strchr(text, '='); /* options_parse() has seen that there is one */
	char *name = strndup(text, (size_t)(equals - text));
	enum fail_code code;

	if (name == NULL)
		return fail_memory(f);
	code = config_set_property(c, name, equals + 1, f);
	free(name);
	return code;
}

/* Without a file: a configuration that holds properties only. Gives *out (config_close). */
static enum fail_code
bare_config(struct config **out, const struct options *o, struct failure *f)
{
	const char *bootstrap = getenv("RIFFLE_BOOTSTRAP");
	enum fail_code code = FAIL_NONE;

	*out = calloc(1, sizeof(**out));
	if (*out == NULL)
		return fail_memory(f);
	if (bootstrap != NULL && *bootstrap != '\0')
		code = config_set_property(*out, "bootstrap.servers", bootstrap, f);
	for (size_t i = 0; i < o->properties.n && code == FAIL_NONE; i++)
		code = set_property(*out, o->properties.text[i], f);
	return code;
}

static enum fail_code
load_config(struct config **c, struct arguments *a, const struct options *o, struct failure *f)
{
	if (a->rank >= a->world)
		return fail(f, FAIL_USAGE,
		    "--rank: out of range: %" PRIu32 " (0 to %" PRIu32 ", as --world is %" PRIu32
		    ")",
		    a->rank, a->world - 1, a->world);
	if (o->config == NULL && a->mix == NULL)
		return fail(f, FAIL_USAGE, "which mix? give -c FILE or --mix NAME");
	if (o->config == NULL)
		return bare_config(c, o, f);
	if (options_config(c, o, f) != FAIL_NONE)
		return f->code;
	if (a->mix != NULL)
		return FAIL_NONE;
	if (config_need_mix(*c, f) != FAIL_NONE)
		return f->code;
	a->mix = (*c)->mix.name;
	return FAIL_NONE;
}

static enum fail_code
run(int argc, char **argv, struct failure *f)
{
	struct arguments a = {.world = 1, .run = "trainers", .steps = UINT64_MAX};
	struct riffle_property *properties = NULL;
	struct riffle_options r;
	struct config *c = NULL;
	struct options o;
	enum fail_code code;

	if (options_parse(&o, &cmd_read, argc, argv, &a, f) != FAIL_NONE)
		return f->code;
	code = load_config(&c, &a, &o, f);
	if (code != FAIL_NONE)
		goto failed;
	properties = calloc(c->kafka.n + 1, sizeof(*properties));
	if (properties == NULL) {
		code = fail_memory(f);
		goto failed;
	}
	for (size_t i = 0; i < c->kafka.n; i++)
		properties[i] =
		    (struct riffle_property){c->kafka.item[i].name, c->kafka.item[i].value};
	r = (struct riffle_options){
	    .mix = a.mix,
	    .run = a.run,
	    .rank = a.rank,
	    .world = a.world,
	    .start = options_given(&o, &cmd_read, "from-step") ? RIFFLE_START_STEP
							       : RIFFLE_START_COMMITTED,
	    .step = a.from_step,
	    .token_bytes = sizeof(uint32_t),
	    .properties = properties,
	    .properties_n = c->kafka.n,
	    .commit_every = a.commit_every,
	};
	code = read_mix(&a, &r, c, f);
failed:
	free(properties);
	config_close(c);
	return code;
}

const struct command cmd_read = {
    .name = "read",
    .summary = "read a mix as a trainer does",
    .usage = "-c FILE | --mix NAME [--rank R --world W] [OPTION...]",
    .help = "Reads the lanes of one rank of a training run, whole steps in order, checks every\n"
	    "record and prints what it has read; a step is printed before it is committed.\n"
	    "SIGTERM or SIGINT ends it after the step at hand with 0. Exit 1: the broker, a\n"
	    "record or the order of steps is wrong, or a step did not come in time.",
    .example = "riffle read -c run.yml --rank 0 --world 2 --commit-every 10\n"
	       "riffle read --mix pretrain -X bootstrap.servers=localhost:9092 --from-step 100 "
	       "--steps 1 --format jsonl",
    .common = OPTIONS_CONFIG | OPTIONS_PROPERTIES,
    .option = rows,
    .options_n = sizeof(rows) / sizeof(rows[0]),
    .run = run,
};
