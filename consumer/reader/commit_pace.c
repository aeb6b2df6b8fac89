#include "consumer/reader/commit_pace.h"

#include <assert.h>

void
commit_pace_init(struct commit_pace *p, uint64_t every, uint64_t position, bool placed)
{
	*p = (struct commit_pace){
	    .every = every,
	    .position = position,
	    .asked = position,
	    .placed = placed,
	};
}

void
commit_pace_move(struct commit_pace *p, uint64_t position)
{
	p->position = position;
	p->asked = position;
	p->placed = true;
	p->waits_ms = 0;
}

void
commit_pace_given(struct commit_pace *p, uint64_t lead)
{
	assert(p->position < UINT64_MAX);
	p->position++;
	p->lead = lead;
	p->waits_ms = 0;
}

void
commit_pace_trained(struct commit_pace *p, uint64_t position, uint64_t lead)
{
	assert(position >= p->position);
	p->position = position;
	p->lead = lead;
}

void
commit_pace_asked(struct commit_pace *p)
{
	p->asked = p->position;
	p->placed = false;
}

bool
commit_pace_due(const struct commit_pace *p)
{
	uint64_t after = p->every, part = p->lead / COMMIT_PACE_LEAD_PARTS;

	assert(p->asked <= p->position);
	if (p->lead > 0 && part < after)
		after = part > 0 ? part : 1;
	return commit_pace_due_at_end(p) && p->position - p->asked >= after;
}

bool
commit_pace_due_at_end(const struct commit_pace *p)
{
	return p->every > 0 && p->position > p->asked;
}

bool
commit_pace_place_due(const struct commit_pace *p)
{
	return p->every > 0 && p->placed;
}

int64_t
commit_pace_wait_until(struct commit_pace *p, int64_t now_ms, int64_t deadline_ms, bool flies)
{
	int64_t until_ms;

	assert(now_ms >= 0);
	if (p->waits_ms == 0)
		p->waits_ms = now_ms;
	until_ms = p->waits_ms + COMMIT_PACE_REPEAT_MS;
	if (flies && now_ms + COMMIT_PACE_LOOK_MS < until_ms)
		until_ms = now_ms + COMMIT_PACE_LOOK_MS;
	return until_ms < deadline_ms ? until_ms : deadline_ms;
}

bool
commit_pace_repeat_due(const struct commit_pace *p, int64_t now_ms)
{
	return now_ms >= p->waits_ms + COMMIT_PACE_REPEAT_MS;
}

void
commit_pace_repeated(struct commit_pace *p, int64_t now_ms)
{
	assert(now_ms >= 0);
	p->waits_ms = now_ms;
}
