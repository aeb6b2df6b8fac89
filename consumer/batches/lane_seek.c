#include "consumer/batches/lane_seek.h"
#include "common/base/limits.h"

#include <assert.h>

/*
 * How far in front of the end to ask when the step seems to lie beyond it, as it does for a step
 * that is not published yet. The last record has a control record behind it, perhaps an aborted
 * transaction, perhaps a long one: each time that nothing is found, the next distance is tried.
 */
static const int64_t tail[] = {4, 64, 4096};
enum { TAILS = sizeof(tail) / sizeof(tail[0]) };

enum {
	MARGIN_MIN = 2,
	MARGIN_FIRST = 4, /* square roots of the gaps, while no estimate has been tried yet */
	MARGIN_TRIED = 2, /* times the error of the estimate before, as it grows with distance */
	MARGIN_LAST = 2,  /* in the last round twice that, */
	MARGIN_LAST_PART = 16, /* and at least this part of the gaps */
};

static uint64_t
scaled(uint64_t value, uint64_t by, uint64_t of)
{
	assert(of > 0);
	return (uint64_t)((unsigned __int128)value * by / of);
}

/*
 * Gaps to be expected in the `distance` steps above `below`: by the rate between the two records
 * that enclose them, or, where none is known above, the rate from the lowest record met to `below`.
 */
static uint64_t
gaps_expected(const struct lane_seek *s, uint64_t distance)
{
	const struct lane_seek_point *from = &s->first, *to = &s->below;
	uint64_t offsets, steps;

	if (s->above.known) {
		from = &s->below;
		to = &s->above;
	}
	if (!from->known || to->step <= from->step)
		return 0;
	offsets = (uint64_t)(to->offset - from->offset);
	steps = to->step - from->step;
	if (offsets <= steps * s->each)
		return 0; /* no gaps; fewer offsets than records: a hint was wrong */
	return scaled(offsets - steps * s->each, distance, steps);
}

static uint64_t
square_root(uint64_t value)
{
	uint64_t root = 0;

	for (uint64_t bit = UINT64_C(1) << 31; bit > 0; bit >>= 1)
		if ((root | bit) * (root | bit) <= value)
			root |= bit;
	return root;
}

/* Steps from `step` to the nearer of the records that enclose it. */
static uint64_t
steps_to_known(const struct lane_seek *s, uint64_t step)
{
	uint64_t down = step - s->below.step, up;

	if (!s->above.known)
		return down;
	up = step < s->above.step ? s->above.step - step : step - s->above.step;
	return up < down ? up : down;
}

/* How much to take off an estimate that expects so many gaps (lane_seek.h, "Two errors"). */
static uint64_t
margin_of(const struct lane_seek *s, uint64_t gaps)
{
	uint64_t margin, steps = steps_to_known(s, s->wanted);

	if (gaps == 0)
		return 0;
	if (s->error_known)
		margin = MARGIN_TRIED * scaled(s->error_offsets, square_root(steps) + 1,
					    square_root(s->error_steps) + 1);
	else
		margin = MARGIN_FIRST * square_root(gaps);
	if (s->rounds == LANE_SEEK_ROUNDS_MAX - 1) { /* nothing repairs an overshoot any more */
		margin *= MARGIN_LAST;
		margin = margin < gaps / MARGIN_LAST_PART ? gaps / MARGIN_LAST_PART : margin;
	}
	return margin < MARGIN_MIN ? MARGIN_MIN : margin;
}

/* Where the wanted step is, or a little before it. */
static int64_t
estimate(const struct lane_seek *s)
{
	uint64_t distance = (s->wanted - s->below.step) * s->each, room, gaps, margin;
	int64_t guess, most;

	assert(s->below.known);
	assert(distance > 0);
	room = (uint64_t)(s->end - s->below.offset);
	if (distance >= room)
		return s->end; /* a step costs that much at least: it is not published */
	gaps = gaps_expected(s, s->wanted - s->below.step);
	margin = margin_of(s, gaps);
	gaps = gaps > margin ? gaps - margin : 0;
	if (gaps > room - distance)
		return s->end;
	guess = s->below.offset + (int64_t)(distance + gaps);
	if (!s->above.known)
		return guess;
	most = s->above.offset - (int64_t)((s->above.step - s->wanted) * s->each);
	return guess < most ? guess : most;
}

/* Remembers how far the line through what was known has missed the record that was found. */
static void
learn_error(struct lane_seek *s, int64_t offset, uint64_t step)
{
	uint64_t distance, expected, found;

	if (!s->below.known || step <= s->below.step ||
	    (!s->above.known && s->below.step == s->first.step))
		return; /* there was no line */
	assert(offset >= s->below.offset);
	distance = step - s->below.step;
	expected = distance * s->each + gaps_expected(s, distance);
	found = (uint64_t)(offset - s->below.offset);
	s->error_known = true;
	s->error_offsets = found > expected ? found - expected : expected - found;
	s->error_steps = steps_to_known(s, step);
}

/* Without a record below it is the beginning of the log that reading starts at. */
static void
start(struct lane_seek *s)
{
	s->verdict = LANE_SEEK_START;
	s->offset = s->below.known ? s->below.offset : s->low;
}

static void
probe(struct lane_seek *s, int64_t offset)
{
	assert(offset >= s->low);
	assert(offset < s->end);
	s->verdict = LANE_SEEK_PROBE;
	s->offset = offset;
}

static void
decide(struct lane_seek *s)
{
	int64_t guess;

	if (s->rounds == LANE_SEEK_ROUNDS_MAX || s->low >= s->end) {
		start(s);
		return;
	}
	if (!s->below.known) {
		probe(s, s->low); /* what is the earliest step that is kept? */
		return;
	}
	if (s->wanted - s->below.step <= s->near_steps) {
		start(s);
		return;
	}
	guess = estimate(s);
	if (guess >= s->end)
		guess = s->end - tail[s->ends_met < TAILS ? s->ends_met : TAILS - 1];
	if (guess <= s->below.offset)
		start(s);
	else
		probe(s, guess);
}

void
lane_seek_init(struct lane_seek *s, uint64_t wanted, uint32_t each, int64_t low, int64_t high)
{
	assert(wanted < LIMIT_STEP);
	assert(each >= 1);
	assert(low >= 0);

	*s = (struct lane_seek){
	    .wanted = wanted, .each = each, .low = low, .end = high < low ? low : high};
	if (low == 0) { /* steps are dense from 0: step 0 is at offset 0 or above */
		s->below = (struct lane_seek_point){.known = true};
		s->first = s->below;
	}
	decide(s);
}

/*
 * Takes in that the first record at or after `asked` is at `offset`, and has `step`.
 *
 * Known points may contradict each other where a hint was wrong: then what was read last counts.
 * Above the wanted step it is `asked` that is kept, not `offset`: nothing lies between the two, so
 * that the wanted step is below `asked`.
 */
static void
learn(struct lane_seek *s, int64_t asked, int64_t offset, uint64_t step)
{
	if (step > s->wanted) {
		if (!s->above.known || asked < s->above.offset ||
		    s->above.offset <= s->below.offset)
			s->above = (struct lane_seek_point){true, asked, step};
		if (s->below.known && s->below.offset >= asked)
			s->below = s->first = (struct lane_seek_point){s->low == 0, 0, 0};
		return;
	}
	if (!s->first.known)
		s->first = (struct lane_seek_point){true, offset, step};
	if (!s->below.known || offset >= s->below.offset)
		s->below = (struct lane_seek_point){true, offset, step};
	if (s->above.known && s->above.offset <= s->below.offset)
		s->above.known = false;
}

void
lane_seek_hint(struct lane_seek *s, int64_t offset, uint64_t step)
{
	assert(s->rounds == 0);

	if (offset < s->low || offset > s->end || step >= LIMIT_STEP ||
	    (s->low == 0 && step > 0 && (uint64_t)offset < (step - 1) * s->each + 1))
		return; /* the step before it is not even whole */
	learn(s, offset, offset, step);
	decide(s);
}

void
lane_seek_record(struct lane_seek *s, int64_t offset, uint64_t step, size_t bytes)
{
	assert(s->verdict == LANE_SEEK_PROBE);
	assert(offset >= s->offset);

	s->rounds++;
	s->near_steps = LANE_SEEK_NEAR_BYTES / ((bytes == 0 ? 1 : bytes) * s->each);
	if (s->near_steps > LANE_SEEK_NEAR_STEPS)
		s->near_steps = LANE_SEEK_NEAR_STEPS;
	if (step > s->wanted && s->offset <= s->low) { /* the first record of all is beyond it */
		s->verdict = LANE_SEEK_EXPIRED;
		s->earliest = step;
		return;
	}
	learn_error(s, offset, step);
	learn(s, s->offset, offset, step);
	decide(s);
}

void
lane_seek_nothing(struct lane_seek *s)
{
	assert(s->verdict == LANE_SEEK_PROBE);

	s->rounds++;
	s->ends_met++;
	if (s->offset < s->end)
		s->end = s->offset;
	decide(s);
}
