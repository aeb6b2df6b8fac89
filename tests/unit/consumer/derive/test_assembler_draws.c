/*
 * assembler.h: which draws it announces and releases, and what becomes of bad, late and dry ones.
 * This program replaces the feed: a poll loads as many announced sequences as a test says.
 */
#include "consumer/derive/assembler.h"

#include "tests/unit/mixes.h"

enum { DOMAINS = 2, SEQUENCES = 64, BATCH = 8, FULL = 9 /* tokens */, STEPS_MAX = 400 };

/* ---- in place of feed.c ---- */

/* One sequence. */
struct entry {
	uint32_t uses; /* announced draws that are not released */
	bool loaded, urged;
	struct feed_block_record record;
};

static struct {
	struct entry entry[DOMAINS][2 * SEQUENCES];
	uint64_t uses; /* the sum */
	uint32_t each; /* sequences that a poll loads */
	uint32_t room; /* that may wait for a load until the feed is full */
	int dropped;   /* calls of feed_drop_idle() */
	enum fail_code fails;
} feed;

static struct entry *
entry_of(const struct mixer_draw *d)
{
	assert_true(d->domain < DOMAINS && d->ordinal < 2 * SEQUENCES && d->partition == 0);
	return &feed.entry[d->domain][d->ordinal];
}

static struct feed *const handle = (struct feed *)&feed; /* not looked into */

enum fail_code
feed_want(struct feed *of, const struct mixer_draw *draw, struct failure *why)
{
	(void)why;
	assert_ptr_equal(of, handle);
	entry_of(draw)->uses++;
	feed.uses++;
	return FAIL_NONE;
}

void
feed_release(struct feed *unused, const struct mixer_draw *draw)
{
	struct entry *e = entry_of(draw);

	(void)unused;
	assert_true(e->uses > 0);
	e->uses--;
	feed.uses--;
	e->loaded = e->loaded && e->uses > 0;
}

void
feed_forget(struct feed *unused)
{
	(void)unused;
	for (uint32_t d = 0; d < DOMAINS; d++)
		for (uint32_t k = 0; k < 2 * SEQUENCES; k++)
			feed.entry[d][k].uses = 0;
	feed.uses = 0;
}

void
feed_drop_idle(struct feed *unused)
{
	(void)unused;
	feed.dropped++;
}

static uint32_t
waiting(void)
{
	uint32_t n = 0;

	for (uint32_t d = 0; d < DOMAINS; d++)
		for (uint32_t k = 0; k < 2 * SEQUENCES; k++)
			n += feed.entry[d][k].uses > 0 && !feed.entry[d][k].loaded;
	return n;
}

bool
feed_full(const struct feed *unused)
{
	(void)unused;
	return waiting() >= feed.room;
}

bool
feed_over(const struct feed *unused)
{
	(void)unused;
	return false;
}

/* Only what is announced can come. */
void
feed_urge(struct feed *unused, const struct mixer_draw *draw)
{
	(void)unused;
	assert_true(entry_of(draw)->uses > 0);
	entry_of(draw)->urged = true;
}

const struct feed_block_record *
feed_find(struct feed *unused, const struct mixer_draw *draw)
{
	struct entry *e = entry_of(draw);

	(void)unused;
	return e->loaded ? &e->record : NULL;
}

enum fail_code
feed_poll(struct feed *unused, int timeout_ms, struct failure *why)
{
	uint32_t left = feed.each;

	(void)unused;
	(void)timeout_ms;
	for (int urged = 1; urged >= 0; urged--)
		for (uint32_t d = 0; d < DOMAINS; d++)
			for (uint32_t k = 0; k < 2 * SEQUENCES && left > 0; k++) {
				struct entry *e = &feed.entry[d][k];

				if (e->uses == 0 || e->loaded || e->urged < urged)
					continue;
				e->loaded = true;
				e->urged = false;
				left--;
			}
	return feed.fails == FAIL_NONE ? FAIL_NONE : fail(why, feed.fails, "the feed has failed");
}

static void
open_feed(uint32_t each, uint32_t room)
{
	static const uint8_t payload[1];

	memset(&feed, 0, sizeof(feed));
	feed.each = each;
	feed.room = room;
	for (uint32_t d = 0; d < DOMAINS; d++)
		for (uint32_t k = 0; k < 2 * SEQUENCES; k++)
			feed.entry[d][k].record = (struct feed_block_record){
			    .payload = payload, .n = 1, .tokens = FULL, .offset = k};
}

/* ---- a mix, and the same mixer without data ---- */

static const uint64_t lengths[1] = {SEQUENCES};
static struct mixer_source source[DOMAINS];

static struct mixer_plan
plan_of(enum mix_unit unit, enum mix_on_end on_end)
{
	struct mixer_plan p = mixes_plan(source, DOMAINS);

	for (int i = 0; i < DOMAINS; i++)
		source[i] = (struct mixer_source){.name = i == 0 ? "a" : "b",
		    .weight = 1 + i,
		    .partitions_n = 1,
		    .sequences = lengths,
		    .on_end = on_end,
		    .max_epochs = on_end == MIX_END_STOP ? 2 : 0,
		    .short_ones = true};
	p.global_batch = BATCH;
	p.weights_unit = unit;
	return p;
}

static uint32_t
tokens_of(void *unused, const struct mixer_draw *draw)
{
	(void)unused;
	return entry_of(draw)->record.tokens;
}

static int quarantines;

static void
note_quarantined(
    void *opaque, const struct mixer_draw *draw, const struct feed_block_record *record)
{
	assert_ptr_equal(opaque, &quarantines);
	assert_ptr_equal(record, &entry_of(draw)->record);
	quarantines++;
}

static struct assembler *
open_assembler(const struct mixer_plan *p)
{
	struct assembler *a;

	quarantines = 0;
	assert_int_equal(
	    assembler_open(&a, mixes_open(p), handle, note_quarantined, &quarantines, &f),
	    FAIL_NONE);
	return a;
}

/* A step of the mixer alone: bad sequences are kept out, and the step is drawn again. */
static enum mixer_result
draw_alone(struct mixer *m, struct mixer_draw draw[BATCH])
{
	enum mixer_result result;
	bool bad;

	do {
		bad = false;
		assert_int_equal(mixer_step(m, draw, &result, &f), FAIL_NONE);
		for (int i = 0; result == MIXER_DRAWN && i < BATCH; i++)
			bad = bad || entry_of(&draw[i])->record.payload == NULL;
		if (bad)
			mixer_undo(m);
		for (int i = 0; bad && i < BATCH; i++)
			if (entry_of(&draw[i])->record.payload == NULL)
				assert_int_equal(mixer_quarantine(m, draw[i].domain, 0,
						     draw[i].ordinal, "bad", &f),
				    FAIL_NONE);
	} while (bad);
	return result;
}

/* Takes a step that is that of `m`, with its records. False: the mix is over. */
static bool
take_step(struct assembler *a, struct mixer *m)
{
	struct mixer_draw draw[BATCH];
	enum mixer_result result = draw_alone(m, draw);
	struct assembled step;
	bool ended;

	assert_int_equal(assembler_next(a, 60000, &step, &ended, &f), FAIL_NONE);
	assert_null(assembler_dry(a));
	assert_int_equal(ended, result == MIXER_ENDED);
	if (ended)
		return false;
	assert_int_equal(step.n, BATCH);
	for (int i = 0; i < BATCH; i++) {
		assert_int_equal(step.draw[i].domain, draw[i].domain);
		assert_int_equal(step.draw[i].ordinal, draw[i].ordinal);
		assert_int_equal(step.draw[i].epoch, draw[i].epoch);
		assert_ptr_equal(step.record[i], &entry_of(&draw[i])->record);
		assert_true(entry_of(&draw[i])->uses > 0); /* it may not go yet */
	}
	assembler_release(a);
	assert_int_equal(mixer_step_next(assembler_mixer(a)), mixer_step_next(m));
	return true;
}

/* ---- what is announced ---- */

/*
 * At the end of a mix that was read ahead rightly, no announcement is left. By tokens, one for each
 * draw is: that of what runs ahead, which is only likely and stays until it is renewed.
 */
static void
test_each_draw_that_is_announced_is_released_once(void **unused)
{
	static const struct {
		enum mix_unit unit;
		uint32_t each, room;
	} rows[] = {
	    {MIX_BY_SEQUENCES, 1, 1},
	    {MIX_BY_SEQUENCES, 3, 20},
	    {MIX_BY_SEQUENCES, 1000, 1000},
	    {MIX_BY_TOKENS, 1, 1},
	    {MIX_BY_TOKENS, 3, 20},
	    {MIX_BY_TOKENS, 1000, 1000},
	};

	(void)unused;
	EACH_ROW(i, rows) {
		const struct mixer_plan p = plan_of(rows[i].unit, MIX_END_STOP);
		struct mixer *m = mixes_open(&p);
		struct assembler *a;

		open_feed(rows[i].each, rows[i].room);
		a = open_assembler(&p);
		mixer_set_tokens(m, tokens_of, NULL);
		while (take_step(a, m))
			assert_true(mixer_step_next(m) < STEPS_MAX);
		assert_true(mixer_step_next(m) > 2 * SEQUENCES / BATCH);
		assert_int_equal(
		    feed.uses, rows[i].unit == MIX_BY_TOKENS ? BATCH * mixer_step_next(m) : 0);
		assembler_close(a);
		mixer_close(m);
	}
}

/* Ahead: as far as the feed has not enough to do, 2^14 draws at most, and a step at least. */
static void
test_draws_are_announced_until_the_feed_is_full_or_the_horizon_is_reached(void **unused)
{
	static const struct {
		uint32_t each, room;
		uint64_t before, after; /* announced after idling, before and after three steps */
	} rows[] = {
	    {0, 1, BATCH, 0}, /* nothing comes: one step, and no more */
	    {0, BATCH, BATCH, 0},
	    {0, BATCH + 1, 2 * BATCH, 0},
	    {0, 5 * BATCH, 5 * BATCH, 0},
	    {1000, 1000, ASSEMBLER_AHEAD_DRAWS + BATCH, ASSEMBLER_AHEAD_DRAWS + BATCH},
	};

	(void)unused;
	EACH_ROW(i, rows) {
		const struct mixer_plan p = plan_of(MIX_BY_SEQUENCES, MIX_END_REPEAT);
		struct mixer *m = mixes_open(&p);
		struct assembler *a;

		open_feed(rows[i].each, rows[i].room);
		a = open_assembler(&p);
		for (int twice = 0; twice < 2; twice++)
			assert_int_equal(assembler_idle(a, 0, &f), FAIL_NONE);
		assert_int_equal(feed.uses, rows[i].before);
		for (int k = 0; rows[i].after > 0 && k < 3; k++)
			assert_true(take_step(a, m));
		if (rows[i].after > 0) {
			assert_int_equal(assembler_idle(a, 0, &f), FAIL_NONE);
			assert_int_equal(feed.uses, rows[i].after);
		}
		assert_int_equal(assembler_rest(a, 0, &f), FAIL_NONE);
		assert_int_equal(feed.uses, 0);
		assert_int_equal(feed.dropped, 1);
		assembler_close(a);
		mixer_close(m);
	}
}

/* A change begins all announcements again; closing takes them back. */
static void
test_a_change_renews_what_is_announced_at_the_next_call(void **unused)
{
	const struct mixer_plan p = plan_of(MIX_BY_SEQUENCES, MIX_END_REPEAT);
	struct assembler *a;

	(void)unused;
	open_feed(0, 3 * BATCH);
	a = open_assembler(&p);
	assert_int_equal(feed.uses, 0);
	assert_int_equal(assembler_idle(a, 0, &f), FAIL_NONE);
	assert_int_equal(feed.uses, 3 * BATCH);
	feed.room = BATCH;
	assert_int_equal(assembler_idle(a, 0, &f), FAIL_NONE);
	assert_int_equal(feed.uses, 3 * BATCH);
	assert_ptr_equal(assembler_change(a), assembler_mixer(a));
	assert_int_equal(feed.uses, 3 * BATCH);
	assert_int_equal(assembler_idle(a, 0, &f), FAIL_NONE);
	assert_int_equal(feed.uses, BATCH);
	assembler_close(a);
	assert_int_equal(feed.uses, 0);
	assembler_close(NULL);
}

/* ---- what does not come, or is bad ---- */

static void
test_a_step_that_does_not_come_in_time_stays_the_next_one(void **unused)
{
	static const enum mix_unit units[] = {MIX_BY_SEQUENCES, MIX_BY_TOKENS};

	(void)unused;
	EACH_ROW(u, units) {
		const struct mixer_plan p = plan_of(units[u], MIX_END_STOP);
		struct mixer *m = mixes_open(&p);
		struct assembler *a;
		struct assembled step;
		bool more = true, ended = true;

		open_feed(0, 30);
		a = open_assembler(&p);
		mixer_set_tokens(m, tokens_of, NULL);
		while (more) {
			feed.each = 0;
			for (uint32_t d = 0; d < DOMAINS; d++)
				for (uint32_t k = 0; k < 2 * SEQUENCES; k++)
					feed.entry[d][k].loaded = false;
			if (mixer_step_next(m) < 2) {
				assert_int_equal(
				    assembler_next(a, 0, &step, &ended, &f), FAIL_TIMEOUT);
				assert_memory_equal(f.text, "waiting for sequences of domain ", 32);
				assert_false(ended);
				assert_null(assembler_dry(a));
				assert_int_equal(
				    mixer_step_next(assembler_mixer(a)), mixer_step_next(m));
			}
			feed.each = 5;
			more = take_step(a, m);
		}
		if (units[u] == MIX_BY_SEQUENCES)
			assert_int_equal(feed.uses, 0);
		assembler_close(a);
		mixer_close(m);
	}
}

/* Bad sequences may be anywhere, also twice in a step. Each is reported once and skipped. */
static void
test_a_bad_sequence_is_told_once_and_is_in_no_step(void **unused)
{
	static const enum mix_unit units[] = {MIX_BY_SEQUENCES, MIX_BY_TOKENS};
	static const struct {
		uint32_t every; /* of domain b: each sequence whose ordinal this divides */
		int bad;
	} rows[] = {{100, 1}, {13, 5}, {2, 32}};

	(void)unused;
	EACH_ROW(u, units)
		EACH_ROW(i, rows) {
			const struct mixer_plan p = plan_of(units[u], MIX_END_STOP);
			struct mixer *m = mixes_open(&p);
			struct assembler *a;

			open_feed(7, 30);
			for (uint32_t k = 0; k < SEQUENCES; k += rows[i].every) {
				struct feed_block_record *r = &feed.entry[1][k].record;

				r->payload = NULL;
				r->reason = "bad";
				r->tokens = units[u] == MIX_BY_TOKENS ? UINT32_MAX : 0;
			}
			a = open_assembler(&p);
			mixer_set_tokens(m, tokens_of, NULL);
			while (take_step(a, m))
				;
			assert_int_equal(quarantines, rows[i].bad);
			assembler_close(a);
			mixer_close(m);
		}
}

static void
test_sequences_that_are_missing_in_their_topic_stop_the_mix_and_can_be_skipped(void **unused)
{
	const struct mixer_plan p = plan_of(MIX_BY_SEQUENCES, MIX_END_STOP);
	struct assembler *a;
	struct assembled step;
	bool ended;

	(void)unused;
	open_feed(1000, 1000);
	for (uint32_t k = 0; k < SEQUENCES; k++)
		feed.entry[0][k].record = (struct feed_block_record){
		    .reason = "topic c.a lacks some", .missing_first = 5, .missing_end = 9};
	a = open_assembler(&p);
	assert_int_equal(assembler_next(a, 60000, &step, &ended, &f), FAIL_DATA);
	assert_string_equal(f.text,
	    "topic c.a lacks some. `riffle skip a/0 5..9` leaves them out of all later draws; it "
	    "is answered once the mixer is started again");
	assert_int_equal(quarantines, 0);
	assembler_close(a);
	open_feed(1000, 1000);
	feed.fails = FAIL_BROKER;
	a = open_assembler(&p);
	assert_int_equal(assembler_next(a, 60000, &step, &ended, &f), FAIL_BROKER);
	assert_int_equal(assembler_idle(a, 0, &f), FAIL_BROKER);
	assert_int_equal(assembler_rest(a, 0, &f), FAIL_BROKER);
	assembler_close(a);
}

/* By sequences, what is reported counts padding out; by tokens it is what was decided by. */
static void
test_padding_is_no_token(void **unused)
{
	static const struct {
		enum mix_unit unit;
		uint32_t tokens, padding, counted;
	} rows[] = {
	    {MIX_BY_SEQUENCES, 5, 4, 5},
	    {MIX_BY_SEQUENCES, FULL, 0, FULL},
	    {MIX_BY_SEQUENCES, 5, 0, FULL}, /* a record of a release that counted none */
	    {MIX_BY_TOKENS, 5, 4, 5},
	};

	(void)unused;
	EACH_ROW(i, rows) {
		const struct mixer_plan p = plan_of(rows[i].unit, MIX_END_STOP);
		struct mixer *m = mixes_open(&p);
		struct assembler *a;

		open_feed(7, 30);
		for (uint32_t d = 0; d < DOMAINS; d++)
			for (uint32_t k = 0; k < SEQUENCES; k++) {
				feed.entry[d][k].record.tokens = rows[i].tokens;
				feed.entry[d][k].record.padding = rows[i].padding;
			}
		a = open_assembler(&p);
		mixer_set_tokens(m, tokens_of, NULL);
		while (take_step(a, m))
			;
		for (uint32_t d = 0; d < DOMAINS; d++) {
			struct mixer_standing s = mixes_stand(assembler_mixer(a), d);

			assert_true(s.taken > 0);
			assert_int_equal(s.tokens, s.taken * rows[i].counted);
		}
		assembler_close(a);
		mixer_close(m);
	}
}

static void
test_a_dry_domain_is_named_until_its_lengths_change(void **unused)
{
	static const uint64_t longer[1] = {40};
	const bool open[1] = {false};
	struct mixer_plan p = plan_of(MIX_BY_SEQUENCES, MIX_END_REPEAT);
	static const uint64_t few[1] = {10};
	struct assembler *a;
	struct assembled step;
	bool ended;
	int steps = 0;

	(void)unused;
	source[1].sequences = few;
	source[1].live = true;
	source[1].on_dry = MIX_DRY_WAIT;
	open_feed(1000, 1000);
	a = open_assembler(&p);
	for (; assembler_next(a, 60000, &step, &ended, &f) == FAIL_NONE; steps++)
		assembler_release(a);
	assert_int_equal(f.code, FAIL_TIMEOUT);
	assert_string_equal(f.text, "domain b is dry");
	assert_int_equal(steps, 1); /* 5 or 6 of its 10 are in a step */
	assert_int_equal(mixer_step_next(assembler_mixer(a)), 1);
	assert_non_null(assembler_dry(a));
	assert_true(assembler_dry(a)->domain == 1 && assembler_dry(a)->ordinal == 10);
	assert_int_equal(mixer_set_lengths(assembler_change(a), 1, longer, open, &f), FAIL_NONE);
	assert_int_equal(assembler_next(a, 60000, &step, &ended, &f), FAIL_NONE);
	assert_null(assembler_dry(a));
	assembler_release(a);
	assembler_close(a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_each_draw_that_is_announced_is_released_once),
	    cmocka_unit_test(
		test_draws_are_announced_until_the_feed_is_full_or_the_horizon_is_reached),
	    cmocka_unit_test(test_a_change_renews_what_is_announced_at_the_next_call),
	    cmocka_unit_test(test_a_step_that_does_not_come_in_time_stays_the_next_one),
	    cmocka_unit_test(test_a_bad_sequence_is_told_once_and_is_in_no_step),
	    cmocka_unit_test(
		test_sequences_that_are_missing_in_their_topic_stop_the_mix_and_can_be_skipped),
	    cmocka_unit_test(test_padding_is_no_token),
	    cmocka_unit_test(test_a_dry_domain_is_named_until_its_lengths_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
