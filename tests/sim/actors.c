/* The product at work in a simulated run: riffle's own mixer, producer and reading core. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/kafka/kafka.h"
#include "consumer/publish/mix.h"
#include "consumer/reader/riffle.h"
#include "consumer/replay/repair.h"
#include "producer/produce/part.h"
#include "producer/produce/produce.h"
#include "tests/sim/world.h"

enum { TIMEOUT_MS = 10000, SLICE_MS = 1000, ATTEMPTS = 3, AGAIN_MS = 1000 };

static struct stop never;

struct trainer {
	size_t number;
	uint32_t first, lanes; /* those of its rank */
	struct riffle *riffle;
};

void
actor_tell(size_t actor, enum fail_code code, const struct failure *f)
{
	struct world_outcome *o = &world_told()->outcome[actor];

	o->code = code;
	snprintf(o->text, sizeof(o->text), "%s", code == FAIL_NONE ? "" : f->text);
	o->done = true;
}

void
actor_mix(const struct world *w, size_t actor, uint64_t until_step)
{
	const struct world_told *told = world_told();
	struct mix_options o = {.config = told->accepted ? w->accepted : w->config,
	    .until_step = until_step,
	    .accept_config = told->accepted,
	    .standby = told->standbys,
	    .stop = &never};
	struct failure f;
	enum fail_code code = mix_run(&o, &f);

	actor_tell(actor, code, &f);
}

/*
 * ---- a producer: one part: one partition of one domain, tried again as `riffle produce` does ----
 */

static enum fail_code
produce_once(const struct world *w, const struct world_part *s, struct failure *f)
{
	struct kafka_options k = {
	    .role = KAFKA_READER, .properties = &w->producing->kafka, .client = "produce-resume"};
	bool wanted[WORLD_DOMAINS_MAX] = {true, true, true, true, true}, mismatch = false;
	struct part_options o = {
	    .config = w->producing,
	    .tokenizer = w->tokenizer,
	    .domain = s->domain,
	    .wanted = wanted,
	    .domains_n = s->domains_n,
	    .mismatch = &mismatch,
	    .partition = s->partition,
	    .partitions = s->partitions,
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

static void
produce_parts(const struct world *w, size_t actor)
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
	actor_tell(actor, code, &f);
}

/* `riffle produce` of live inputs, on the machine of this actor. */
static void
produce_live(const struct world *w, size_t actor)
{
	const struct world_told *told = world_told();
	struct produce_options o = {
	    .config = told->closed && !told->seals ? w->closing : w->producing,
	    .seal = told->closed && told->seals,
	    .workers = 1,
	    .stop = &never};
	struct failure f;
	enum fail_code code = produce_run(&o, &f);

	actor_tell(actor, code, &f);
}

void
actor_produce(const struct world *w, size_t actor)
{
	if (w->closing != NULL)
		produce_live(w, actor);
	else
		produce_parts(w, actor);
}

/* ---- a trainer: libriffle, with a checkpoint now and then, else from the commits ---- */

static uint64_t
lowest(const uint64_t *step, uint32_t first, uint32_t n)
{
	uint64_t low = UINT64_MAX;

	for (uint32_t i = first; i < first + n; i++)
		low = step[i] < low ? step[i] : low;
	return low;
}

/* A checkpoint is of all ranks together. */
static int
open_trainer(const struct world *w, struct trainer *t, struct riffle_error *e)
{
	struct world_told *told = world_told();
	bool given = told->lost[t->number] || chance_below(4) == 0;
	struct riffle_options o = {
	    .size = sizeof(o),
	    .mix = "m",
	    .rank = (uint32_t)t->number,
	    .world = told->ranks,
	    .uneven = w->uneven,
	    .start = given ? RIFFLE_START_STEP : RIFFLE_START_COMMITTED,
	    .step = lowest(told->trained, 0, w->lanes),
	    .token_bytes = 4,
	    .commit_every = 1 + chance_below(4),
	    .open_timeout_ms = TIMEOUT_MS,
	};
	uint64_t known = checker_known_position();
	/* Commits may be deleted after it has asked for them. */
	bool all_committed = checker_all_committed(w);
	int code;

	told->opening[t->number] = true;
	code = riffle_open(&t->riffle, &o, e);
	told->opening[t->number] = false;
	t->first = world_first_lane(w, (uint32_t)t->number, told->ranks, &t->lanes);
	if (code == RIFFLE_ERROR_LOST)
		told->lost[t->number] = true; /* the next start names the step */
	if (code != RIFFLE_OK)
		return code;
	told->begun[t->number] = riffle_position(t->riffle);
	for (uint32_t i = t->first; i < t->first + t->lanes; i++)
		if (told->committed[i] > told->begun[t->number]) /* another rank is behind */
			told->committed[i] = told->begun[t->number];
	all_committed = all_committed || checker_all_committed(w);
	if (!given && known > 0 && told->begun[t->number] == 0 && !all_committed)
		told->reset[t->number] = true;
	if (told->begun[t->number] > lowest(told->trained, t->first, t->lanes))
		told->skipped[t->number] = true;
	return code;
}

static void
raise_to(uint64_t *step, const struct trainer *t, uint64_t to)
{
	for (uint32_t i = t->first; i < t->first + t->lanes; i++)
		step[i] = step[i] < to ? to : step[i];
}

/* Where it began is "committed" to a reader from the start; the group need not know of it. */
static void
note_step(const struct trainer *t)
{
	struct world_told *told = world_told();

	raise_to(told->trained, t, riffle_position(t->riffle));
	if (riffle_committed(t->riffle) > told->begun[t->number]) {
		raise_to(told->committed, t, riffle_committed(t->riffle));
		told->lost[t->number] = false;
	}
}

static int
wrong_step(struct riffle_error *e, const char *what, uint64_t step, uint64_t due)
{
	e->code = RIFFLE_ERROR_DATA;
	snprintf(e->text, sizeof(e->text), "%s: step %" PRIu64 " where %" PRIu64 " is due", what,
	    step, due);
	return e->code;
}

/* Reads what it had once more, from anywhere on. */
static int
seek(const struct trainer *t, struct riffle_error *e)
{
	uint64_t step = chance_below(riffle_position(t->riffle) + 1);
	int code;

	chance_trace("SEEK to step %" PRIu64, step);
	code = riffle_seek(t->riffle, step, e);
	if (code == RIFFLE_OK && chance_below(2) == 0)
		code = riffle_commit(t->riffle, e);
	if (code == RIFFLE_OK && riffle_position(t->riffle) != step)
		code = wrong_step(e, "behind a seek", riffle_position(t->riffle), step);
	return code;
}

static int
train(const struct trainer *t, struct riffle_error *e)
{
	const struct riffle_step *step;
	bool again;
	int code;

	do {
		uint64_t before = riffle_position(t->riffle);

		code = riffle_next(t->riffle, SLICE_MS, &step, e);
		note_step(t);
		if (code == RIFFLE_OK && step->step != before)
			code = wrong_step(e, "the next step", step->step, before);
		if (code == RIFFLE_OK && chance_below(16) == 0)
			code = riffle_commit(t->riffle, e);
		again = code == RIFFLE_OK || code == RIFFLE_TIMEOUT;
		if ((again || code == RIFFLE_END) && chance_fault(CHANCE_SEEK, "m.batches")) {
			code = seek(t, e);
			again = code == RIFFLE_OK;
		}
	} while (again);
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
	struct trainer t = {.number = actor - WORLD_TRAINER_FIRST};
	struct riffle_error e = {0};
	struct failure f;
	int code = open_trainer(w, &t, &e);

	if (code == RIFFLE_OK)
		code = train(&t, &e);
	snprintf(f.text, sizeof(f.text), "%s", e.text);
	actor_tell(actor, fail_code_of(code), &f);
	riffle_close(t.riffle);
}

void
actor_repair(const struct world *w, size_t actor)
{
	struct repair_options o = {.config = world_told()->accepted ? w->accepted : w->config};
	struct repair_result result;
	struct failure f;
	enum fail_code code = repair(&o, &result, &f);

	free(result.lane);
	actor_tell(actor, code, &f);
}

void
actor_run(const struct world *w, size_t actor)
{
	if (actor < WORLD_TRAINER_FIRST)
		actor_mix(w, actor, UINT64_MAX);
	else if (actor < WORLD_PRODUCER_FIRST)
		actor_train(w, actor);
	else if (actor < WORLD_REPAIR)
		actor_produce(w, actor);
	else if (actor == WORLD_REPAIR)
		actor_repair(w, actor);
	else
		actor_read(w, actor);
}
