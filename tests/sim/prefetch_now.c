/*
 * prefetch.h without threads, in the place of consumer/reader/prefetch.c: a step is collected and
 * decoded when it is asked for. Also notes which records a trainer was given.
 */
#include <stdlib.h>
#include <xxhash.h>

#include "common/base/clock.h"
#include "consumer/reader/prefetch.h"
#include "tests/sim/world.h"

enum { SLICE_MS = 250, WHY_ONE_OF = 16 };

struct prefetch {
	struct reader *reader;
	struct step_pool *pool;
	struct prefetch_options o;
	struct frame_codec *codec;
	bool expired;
};

enum fail_code
prefetch_open(struct prefetch **out, struct reader *reader, struct step_pool *pool,
    const struct prefetch_options *o, struct failure *f)
{
	struct prefetch *p = calloc(1, sizeof(*p));

	if (p == NULL)
		return fail_memory(f);
	p->reader = reader;
	p->pool = pool;
	p->o = *o;
	if (frame_codec_open(&p->codec, f) != FAIL_NONE) {
		free(p);
		return f->code;
	}
	*out = p;
	return FAIL_NONE;
}

void
prefetch_close(struct prefetch *p)
{
	if (p == NULL)
		return;
	frame_codec_close(p->codec);
	free(p);
}

static void
note(const struct step_slot *slot)
{
	struct world_told *told = world_told();

	for (uint32_t i = 0; i < slot->lanes && told->seen_n < WORLD_SEEN_MAX; i++) {
		const rd_kafka_message_t *m = (const rd_kafka_message_t *)slot->lane[i].record;

		checker_given(slot->lane[i].number, slot->step.step, m->payload, m->len);
		told->seen[told->seen_n++] = (struct world_seen){
		    .lane = slot->lane[i].number,
		    .step = slot->step.step,
		    .offset = slot->lane[i].offset,
		    .hash = XXH64(m->payload, m->len, 0),
		};
	}
}

static enum fail_code
collect(struct prefetch *p, int64_t deadline_ms, char *reason, struct failure *f)
{
	enum fail_code code;

	do {
		int64_t slice_ms = clock_ms() + SLICE_MS;

		code = p->reader->ended ? FAIL_NONE
					: reader_collect(p->reader,
					      slice_ms < deadline_ms ? slice_ms : deadline_ms, f);
	} while (code == FAIL_TIMEOUT && clock_ms() < deadline_ms);
	if (code == FAIL_TIMEOUT && p->o.why != NULL && chance_below(WHY_ONE_OF) == 0)
		p->o.why(p->o.opaque, p->reader, reason, PREFETCH_REASON_MAX);
	return code;
}

enum fail_code
prefetch_next(struct prefetch *p, int64_t deadline_ms, struct step_slot **out,
    char reason[static PREFETCH_REASON_MAX], struct failure *f)
{
	struct step_slot *slot;
	enum fail_code code;

	*out = NULL;
	reason[0] = '\0';
	p->expired = p->reader->expired = false;
	code = collect(p, deadline_ms, reason, f);
	if (code == FAIL_NONE && p->reader->ended)
		checker_ended(p->reader->check.step);
	p->expired = p->reader->expired;
	if (code != FAIL_NONE || p->reader->ended)
		return code;
	if (step_pool_get(p->pool, &slot, f) != FAIL_NONE)
		return f->code;
	reader_take(p->reader, slot);
	note(slot);
	code = step_slot_decode(slot, p->codec, lanes_topic(p->reader->lanes), f);
	if (code != FAIL_NONE)
		step_pool_put(slot);
	else
		*out = slot;
	return code;
}

bool
prefetch_expired(const struct prefetch *p)
{
	return p->expired;
}

void
prefetch_do_chore(struct prefetch *p)
{
	p->o.chore(p->o.opaque);
}

void
prefetch_given_back(struct prefetch *p)
{
	(void)p;
}

void
prefetch_pause(struct prefetch *p)
{
	(void)p;
}

void
prefetch_resume(struct prefetch *p)
{
	(void)p;
}

uint64_t
prefetch_depth(struct prefetch *p)
{
	(void)p;
	return 0;
}
