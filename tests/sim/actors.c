/* The product at work in a simulated run: riffle's own mixer, producer and reading core. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/kafka/kafka.h"
#include "consumer/publish/mix.h"
#include "consumer/reader/riffle.h"
#include "producer/produce/part.h"
#include "tests/sim/world.h"

enum { TIMEOUT_MS = 10000, SLICE_MS = 1000, ATTEMPTS = 3, AGAIN_MS = 1000 };

static struct stop never;

static void
tell(size_t actor, enum fail_code code, const struct failure *f)
{
	struct world_outcome *o = &world_told()->outcome[actor];

	o->code = code;
	snprintf(o->text, sizeof(o->text), "%s", code == FAIL_NONE ? "" : f->text);
	o->done = true;
}

void
actor_mix(const struct world *w, size_t actor, uint64_t until_step)
{
	struct mix_options o = {.config = w->config, .until_step = until_step, .stop = &never};
	struct failure f;
	enum fail_code code = mix_run(&o, &f);

	tell(actor, code, &f);
}

/*
 * ---- a producer: one part: one partition of one domain, tried again as `riffle produce` does ----
 */

static enum fail_code
produce_once(const struct world *w, const struct world_part *s, struct failure *f)
{
	struct kafka_options k = {
	    .role = KAFKA_READER, .properties = &w->config->kafka, .client = "produce-resume"};
	bool wanted = true, mismatch = false;
	struct part_options o = {
	    .config = w->config,
	    .tokenizer = w->tokenizer,
	    .domain = &s->domain,
	    .wanted = &wanted,
	    .domains_n = 1,
	    .mismatch = &mismatch,
	    .partition = s->partition,
	    .partitions = w->config->domains[s->domain].partitions,
	    .workers = 1,
	    .label = "sim",
	    .stop = &never,
	};
	enum fail_code code = kafka_open(&o.reader, &k, f);

	if (code != FAIL_NONE)
		return code;
	code = part_run(&o, f);
	kafka_close(o.reader);
	return code;
}

void
actor_produce(const struct world *w, size_t actor)
{
	const struct world_part *s = &w->part[actor - WORLD_PRODUCER_FIRST];
	struct failure f;
	enum fail_code code = FAIL_NONE;

	for (int i = 0; i < ATTEMPTS; i++) {
		code = produce_once(w, s, &f);
		if (code != FAIL_BROKER && code != FAIL_TIMEOUT)
			break;
		clock_pause_ms(AGAIN_MS << i);
	}
	tell(actor, code, &f);
}

/* ---- a trainer: libriffle, with a checkpoint now and then, else from the commits ---- */

static int
open_trainer(const struct world *w, size_t number, struct riffle **out, struct riffle_error *e)
{
	struct world_told *told = world_told();
	struct riffle_options o = {
	    .mix = "m",
	    .rank = (uint32_t)number,
	    .world = w->ranks,
	    .start = chance_below(4) == 0 ? RIFFLE_START_STEP : RIFFLE_START_COMMITTED,
	    .step = told->trained[number],
	    .token_bytes = 4,
	    .commit_every = 1 + chance_below(4),
	    .open_timeout_ms = TIMEOUT_MS,
	};
	int code = riffle_open(out, &o, e);

	if (code != RIFFLE_OK)
		return code;
	told->begun[number] = riffle_position(*out);
	if (told->begun[number] > told->trained[number])
		told->skipped[number] = true;
	return code;
}

/* Where it began is "committed" to a reader from the start; the group need not know of it. */
static void
note_step(struct riffle *r, size_t number)
{
	struct world_told *told = world_told();

	if (riffle_position(r) > told->trained[number])
		told->trained[number] = riffle_position(r);
	if (riffle_committed(r) > told->begun[number] &&
	    riffle_committed(r) > told->committed[number])
		told->committed[number] = riffle_committed(r);
}

static int
train(struct riffle *r, size_t number, struct riffle_error *e)
{
	const struct riffle_step *step;
	int code;

	do {
		uint64_t before = riffle_position(r);

		code = riffle_next(r, SLICE_MS, &step, e);
		note_step(r, number);
		if (code == RIFFLE_OK && step->step != before) {
			e->code = RIFFLE_ERROR_DATA;
			snprintf(e->text, sizeof(e->text),
			    "step %" PRIu64 " came where %" PRIu64 " was next", step->step, before);
			return e->code;
		}
		if (code == RIFFLE_OK && chance_below(16) == 0)
			code = riffle_commit(r, e);
	} while (code == RIFFLE_OK || code == RIFFLE_TIMEOUT);
	return code;
}

static enum fail_code
fail_code_of(int code)
{
	if (code == RIFFLE_END)
		return FAIL_NONE;
	return code == RIFFLE_ERROR_BROKER ? FAIL_BROKER : FAIL_DATA;
}

void
actor_train(const struct world *w, size_t actor)
{
	size_t number = actor - WORLD_TRAINER_FIRST;
	struct riffle_error e = {0};
	struct riffle *r = NULL;
	struct failure f;
	int code = open_trainer(w, number, &r, &e);

	if (code == RIFFLE_OK)
		code = train(r, number, &e);
	snprintf(f.text, sizeof(f.text), "%s", e.text);
	tell(actor, fail_code_of(code), &f);
	riffle_close(r);
}

void
actor_run(const struct world *w, size_t actor)
{
	if (actor < WORLD_TRAINER_FIRST)
		actor_mix(w, actor, UINT64_MAX);
	else if (actor < WORLD_PRODUCER_FIRST)
		actor_train(w, actor);
	else
		actor_produce(w, actor);
}
