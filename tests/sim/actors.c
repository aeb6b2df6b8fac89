/* The product at work in a simulated run: riffle's own mixer, producer and reading core. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "common/clock.h"
#include "common/kafka.h"
#include "consumer/lane_commits.h"
#include "consumer/mix.h"
#include "consumer/reader.h"
#include "producer/lane.h"
#include "tests/sim/world.h"

enum { TIMEOUT_MS = 10000, SLICE_MS = 250, COMMIT_MS = 30000, ATTEMPTS = 3, AGAIN_MS = 1000 };

static volatile bool never;

static void
tell(size_t actor, enum fail_code code, const struct failure *f)
{
	struct world_outcome *o = &world_told()->outcome[actor];

	o->code = code;
	snprintf(o->text, sizeof(o->text), "%s", code == FAIL_NONE ? "" : f->text);
	o->done = true;
}

void
actor_mix(const struct world *w, size_t actor)
{
	struct mix_options o = {.config = w->config, .until_step = UINT64_MAX, .stop = &never};
	struct failure f;
	enum fail_code code = mix_run(&o, &f);

	tell(actor, code, &f);
}

/* ---- a producer: one lane of one domain, tried again as `riffle produce` does ---- */

static enum fail_code
produce_once(const struct world *w, const struct world_lane *l, struct failure *f)
{
	struct kafka_options k = {
	    .role = KAFKA_READER, .properties = &w->config->kafka, .client = "produce-resume"};
	bool wanted = true, mismatch = false;
	struct lane_options o = {
	    .config = w->config,
	    .tokenizer = w->tokenizer,
	    .domain = &l->domain,
	    .wanted = &wanted,
	    .domains_n = 1,
	    .mismatch = &mismatch,
	    .lane = l->lane,
	    .lanes = w->config->domains[l->domain].partitions,
	    .workers = 1,
	    .label = "sim",
	    .stop = &never,
	};
	enum fail_code code = kafka_open(&o.reader, &k, f);

	if (code != FAIL_NONE)
		return code;
	code = lane_run(&o, f);
	kafka_close(o.reader);
	return code;
}

void
actor_produce(const struct world *w, size_t actor)
{
	const struct world_lane *l = &w->lane[actor - WORLD_PRODUCER_FIRST];
	struct failure f;
	enum fail_code code = FAIL_NONE;

	for (int i = 0; i < ATTEMPTS; i++) {
		code = produce_once(w, l, &f);
		if (code != FAIL_BROKER && code != FAIL_TIMEOUT)
			break;
		clock_pause_ms(AGAIN_MS << i);
	}
	tell(actor, code, &f);
}

/* ---- a trainer: what libriffle does, without its threads ---- */

struct trainer {
	const struct world *w;
	size_t number;
	struct reader reader;
	struct step_pool *pool;
	struct lane_commits *commits;
	struct frame_codec *codec;
	int64_t offset_next[WORLD_LANES_MAX];
	uint64_t committed; /* asked for last */
	uint64_t every;
};

static enum fail_code
open_reader(struct trainer *t, struct failure *f)
{
	struct reader *r = &t->reader;
	struct lanes_options o = {
	    .mix = "m",
	    .group = "m.trainers",
	    .rank = (uint32_t)t->number,
	    .world = t->w->ranks,
	    .properties = &t->w->config->kafka,
	    .timeout_ms = TIMEOUT_MS,
	};

	snprintf(r->mix, sizeof(r->mix), "m");
	snprintf(r->run, sizeof(r->run), "trainers");
	/* With a checkpoint of its own now and then, else from the commits. */
	r->start = chance_below(4) == 0 ? RIFFLE_START_STEP : RIFFLE_START_COMMITTED;
	r->open_timeout_ms = TIMEOUT_MS;
	if (lanes_open(&r->lanes, &o, f) != FAIL_NONE)
		return f->code;
	r->lane = calloc(lanes_count(r->lanes), sizeof(*r->lane));
	if (r->lane == NULL)
		return fail_memory(f);
	step_check_init(&r->check, r->mix, lanes_total(r->lanes), lanes_count(r->lanes), 0);
	return reader_start(r, world_told()->trained[t->number], f);
}

static void
note_begin(struct trainer *t)
{
	struct world_told *told = world_told();

	t->committed = t->reader.check.step;
	told->begun[t->number] = t->committed;
	if (t->committed > told->trained[t->number])
		told->skipped[t->number] = true;
	for (uint32_t i = 0; i < lanes_count(t->reader.lanes); i++)
		t->offset_next[i] = t->reader.lane[i].offset_next;
	t->every = 1 + chance_below(4);
	if (t->w->config->mix.max_lead_steps > 0)
		t->every = 1 + chance_below(t->w->config->mix.max_lead_steps);
}

/* The bytes as they came; a decoded step is looked at as well. */
static enum fail_code
note_step(struct trainer *t, struct step_slot *slot, struct failure *f)
{
	struct world_told *told = world_told();
	enum fail_code code;

	for (uint32_t i = 0; i < slot->lanes; i++) {
		const rd_kafka_message_t *m = (const rd_kafka_message_t *)slot->lane[i].record;

		t->offset_next[i] = slot->lane[i].offset + 1;
		if (told->seen_n == WORLD_SEEN_MAX)
			continue;
		told->seen[told->seen_n++] = (struct world_seen){.trainer = (uint32_t)t->number,
		    .lane = slot->lane[i].number,
		    .step = slot->step.step,
		    .offset = slot->lane[i].offset,
		    .hash = XXH64(m->payload, m->len, 0)};
	}
	code = step_slot_decode(slot, t->codec, "m.batches", f);
	if (code == FAIL_NONE && slot->step.step + 1 > told->trained[t->number])
		told->trained[t->number] = slot->step.step + 1;
	step_pool_put(slot);
	return code;
}

static enum fail_code
commit(struct trainer *t, bool wait, struct failure *f)
{
	struct world_told *told = world_told();
	uint64_t step = t->reader.check.step;

	lane_commits_poll(t->commits, 0, f);
	if (wait)
		lane_commits_failure(t->commits, f); /* this one makes it good */
	else if (lane_commits_failure(t->commits, f) != FAIL_NONE)
		return f->code;
	if (step != t->committed && (wait || step - t->committed >= t->every)) {
		if (lane_commits_ask(t->commits, step, t->offset_next, f) != FAIL_NONE)
			return f->code;
		t->committed = step;
	}
	if (wait && (lane_commits_poll(t->commits, COMMIT_MS, f) != FAIL_NONE ||
			lane_commits_failure(t->commits, f) != FAIL_NONE))
		return f->code;
	if (lane_commits_good(t->commits) > told->committed[t->number])
		told->committed[t->number] = lane_commits_good(t->commits);
	return FAIL_NONE;
}

static enum fail_code
train(struct trainer *t, struct failure *f)
{
	struct reader *r = &t->reader;

	while (!r->ended) {
		struct step_slot *slot;
		enum fail_code code = reader_collect(r, clock_ms() + SLICE_MS, f);

		if (code == FAIL_TIMEOUT) {
			if (commit(t, false, f) != FAIL_NONE)
				return f->code;
			continue;
		}
		if (code != FAIL_NONE)
			return code;
		if (r->ended)
			break;
		if (step_pool_get(t->pool, &slot, f) != FAIL_NONE)
			return f->code;
		reader_take(r, slot);
		if (note_step(t, slot, f) != FAIL_NONE || commit(t, false, f) != FAIL_NONE)
			return f->code;
	}
	return commit(t, true, f);
}

void
actor_train(const struct world *w, size_t actor)
{
	struct trainer t = {.w = w, .number = actor - WORLD_TRAINER_FIRST};
	struct failure f = {0};
	enum fail_code code = open_reader(&t, &f);

	if (code == FAIL_NONE)
		code = step_pool_open(&t.pool, lanes_count(t.reader.lanes), 4, &f);
	if (code == FAIL_NONE)
		code = lane_commits_open(&t.commits, t.reader.lanes, t.reader.check.step, &f);
	if (code == FAIL_NONE)
		code = frame_codec_open(&t.codec, &f);
	if (code == FAIL_NONE) {
		note_begin(&t);
		code = train(&t, &f);
	}
	tell(actor, code, &f);
	frame_codec_close(t.codec);
	step_pool_close(t.pool);
	lane_commits_close(t.commits);
	lanes_close(t.reader.lanes);
	free(t.reader.lane);
}

void
actor_run(const struct world *w, size_t actor)
{
	if (actor < WORLD_TRAINER_FIRST)
		actor_mix(w, actor);
	else if (actor < WORLD_PRODUCER_FIRST)
		actor_train(w, actor);
	else
		actor_produce(w, actor);
}
