/*
 * prefetch.h with one thread: order, room, failures and pauses. The reader, the slots and the lanes
 * are replaced here: step n comes as soon as the thread asks for it, unless a test holds it back.
 */
#include "consumer/reader/prefetch.h"

#include <pthread.h>

#include "common/base/clock.h"
#include "tests/unit/test.h"

enum { WAIT_MS = 30000, STEP_BYTES = 1000, NEVER = 1000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct {
	uint64_t next;               /* the step that is collected next */
	uint64_t holds, ends, fails; /* steps that do not come, end the mix, or fail once */
	uint64_t bad;                /* the step that cannot be decoded */
	bool failed;                 /* `fails` has failed */
	int slots;                   /* that are not put back */
	int waking, sleeping, chores, whys;
	size_t expected; /* tokens of a sequence, by the last step_decode_expect() */
} world;

static struct reader reader;
static struct prefetch *p;
static char reason[PREFETCH_REASON_MAX];

/* ---- in place of reader.c, lanes.c, step_slot.c and step_decode.c ---- */

enum fail_code
reader_collect(struct reader *r, int64_t deadline_ms, struct failure *why)
{
	enum fail_code code = FAIL_NONE;

	assert_ptr_equal(r, &reader);
	pthread_mutex_lock(&lock);
	if (world.next == world.fails && !world.failed) {
		world.failed = true;
		r->expired = true;
		code = fail(why, FAIL_BROKER, "step %d fails", (int)world.next);
	} else if (world.next == world.holds) {
		code = fail(why, FAIL_TIMEOUT, "step %d does not come", (int)world.next);
	} else if (world.next == world.ends) {
		r->ended = true;
	}
	pthread_mutex_unlock(&lock);
	if (code == FAIL_TIMEOUT && clock_ms() < deadline_ms)
		clock_pause_ms(1);
	return code;
}

void
reader_take(struct reader *r, struct step_slot *slot)
{
	assert_ptr_equal(r, &reader);
	pthread_mutex_lock(&lock);
	slot->step.step = world.next++;
	pthread_mutex_unlock(&lock);
}

void
lanes_wake(struct lanes *l)
{
	assert_null(l);
	world.waking++;
}

void
lanes_sleep(struct lanes *l)
{
	assert_null(l);
	world.sleeping++;
}

const char *
lanes_topic(const struct lanes *l)
{
	assert_null(l);
	return "m.batches";
}

enum fail_code
step_pool_get(struct step_pool *pool, struct step_slot **out, struct failure *why)
{
	(void)why;
	assert_null(pool);
	*out = calloc(1, sizeof(**out));
	pthread_mutex_lock(&lock);
	world.slots++;
	pthread_mutex_unlock(&lock);
	return FAIL_NONE;
}

void
step_pool_put(struct step_slot *slot)
{
	pthread_mutex_lock(&lock);
	world.slots--;
	pthread_mutex_unlock(&lock);
	free(slot);
}

enum fail_code
step_slot_decode(
    struct step_slot *slot, struct frame_codec *codec, const char *topic, struct failure *why)
{
	assert_non_null(codec);
	assert_string_equal(topic, "m.batches");
	slot->step.tokens_each = 9;
	return slot->step.step == world.bad
		   ? fail(why, FAIL_DATA, "step %d is damaged", (int)world.bad)
		   : FAIL_NONE;
}

size_t
step_slot_bytes(const struct step_slot *slot)
{
	assert_int_equal(slot->step.tokens_each, 9);
	return STEP_BYTES;
}

void
step_decode_expect(struct step_decode *d, size_t tokens_each)
{
	assert_null(d);
	world.expected = tokens_each;
}

/* ---- tests ---- */

static void
do_chore(void *opaque)
{
	assert_ptr_equal(opaque, &world);
	pthread_mutex_lock(&lock);
	world.chores++;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&lock);
}

static void
tell_why(void *opaque, const struct reader *r, char *out, size_t room)
{
	assert_ptr_equal(opaque, &world);
	assert_ptr_equal(r, &reader);
	assert_int_equal(room, PREFETCH_REASON_MAX);
	snprintf(out, room, "asked %d", ++world.whys);
}

static void
open_prefetch(uint64_t ahead_bytes)
{
	const struct prefetch_options o = {.ahead_bytes = ahead_bytes,
	    .threads = 1,
	    .why = tell_why,
	    .chore = do_chore,
	    .opaque = &world};

	memset(&world, 0, sizeof(world));
	world.holds = world.ends = world.fails = world.bad = NEVER;
	reader = (struct reader){.ended = false};
	assert_int_equal(prefetch_open(&p, &reader, NULL, &o, &f), FAIL_NONE);
}

/* Ends it. All slots came back but for `given`. */
static void
close_prefetch(int given)
{
	prefetch_close(p);
	assert_int_equal(world.slots, given);
}

static enum fail_code
next(struct step_slot **slot)
{
	return prefetch_next(p, clock_ms() + WAIT_MS, slot, reason, &f);
}

static void
assert_step(uint64_t step)
{
	struct step_slot *slot;

	assert_int_equal(next(&slot), FAIL_NONE);
	assert_non_null(slot);
	assert_int_equal(slot->step.step, step);
	step_pool_put(slot);
}

static uint64_t
collected(void)
{
	uint64_t n;

	pthread_mutex_lock(&lock);
	n = world.next;
	pthread_mutex_unlock(&lock);
	return n;
}

/* Returns once the ring has that many steps. */
static void
wait_depth(uint64_t n)
{
	int64_t until_ms = clock_ms() + WAIT_MS;

	while (prefetch_depth(p) < n) {
		assert_true(clock_ms() < until_ms);
		clock_pause_ms(1);
	}
}

static void
test_nothing_is_collected_before_it_is_resumed(void **unused)
{
	(void)unused;
	open_prefetch(10 * STEP_BYTES);
	assert_int_equal(prefetch_depth(p), 0);
	close_prefetch(0);
	assert_int_equal(world.next, 0);
	prefetch_close(NULL);
}

static void
test_steps_come_in_order_and_then_the_end(void **unused)
{
	struct step_slot *slot;

	(void)unused;
	open_prefetch(4 * STEP_BYTES);
	world.ends = 20;
	prefetch_resume(p);
	for (uint64_t step = 0; step < 20; step++) {
		assert_step(step);
		prefetch_given_back(p);
	}
	for (int i = 0; i < 2; i++) {
		slot = (struct step_slot *)&world;
		assert_int_equal(next(&slot), FAIL_NONE);
		assert_null(slot);
	}
	close_prefetch(0);
	assert_int_equal(world.expected, 9); /* the later ones know how long a sequence is */
}

/* Full at `most` steps, the lent one included, and until half of them are gone. */
static void
test_the_ring_is_filled_again_once_it_is_half_empty(void **unused)
{
	static const struct {
		uint64_t ahead_bytes, most;
	} rows[] = {
	    {10 * STEP_BYTES, 10},
	    {11 * STEP_BYTES - 1, 10},
	    {0, PREFETCH_STEPS_MIN},
	    {1000 * STEP_BYTES, PREFETCH_STEPS_MAX},
	};

	(void)unused;
	EACH_ROW(i, rows) {
		const uint64_t most = rows[i].most;

		open_prefetch(rows[i].ahead_bytes);
		prefetch_resume(p);
		wait_depth(most);
		for (uint64_t step = 0; step < most / 2; step++) {
			assert_step(step);
			assert_int_equal(prefetch_depth(p), most - step - 1);
			assert_int_equal(collected(), most);
			if (step + 1 < most / 2)
				prefetch_given_back(p); /* still more than half */
		}
		prefetch_given_back(p); /* half: it collects until it is full */
		wait_depth(most);
		close_prefetch(0);
		assert_int_equal(world.next, most + most / 2);
	}
}

static void
test_a_failure_is_given_once_and_tried_again(void **unused)
{
	struct step_slot *slot;

	(void)unused;
	open_prefetch(10 * STEP_BYTES);
	world.fails = 2;
	world.ends = 4;
	prefetch_resume(p);
	assert_step(0);
	assert_step(1);
	assert_int_equal(next(&slot), FAIL_BROKER);
	assert_null(slot);
	assert_string_equal(f.text, "step 2 fails");
	assert_true(prefetch_expired(p));
	assert_step(2);
	assert_false(prefetch_expired(p));
	assert_step(3);
	close_prefetch(0);
}

static void
test_a_step_that_cannot_be_decoded_fails_until_a_pause(void **unused)
{
	struct step_slot *slot;

	(void)unused;
	open_prefetch(10 * STEP_BYTES);
	world.bad = 1;
	world.ends = 3;
	prefetch_resume(p);
	assert_step(0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(next(&slot), FAIL_DATA);
		assert_null(slot);
		assert_string_equal(f.text, "step 1 is damaged");
	}
	prefetch_pause(p);
	assert_int_equal(prefetch_depth(p), 0);
	assert_int_equal(world.slots, 0);
	assert_int_equal(world.sleeping, 1);
	world.next = 2; /* the caller has sought */
	reader.ended = false;
	prefetch_resume(p);
	assert_step(2);
	close_prefetch(0);
}

/* A thread that waits for a step is woken, by a pause and by the end. */
static void
test_a_pause_ends_the_wait_for_a_step(void **unused)
{
	struct step_slot *slot;

	(void)unused;
	open_prefetch(10 * STEP_BYTES);
	world.holds = 1;
	prefetch_resume(p);
	assert_step(0);
	assert_int_equal(prefetch_next(p, clock_ms(), &slot, reason, &f), FAIL_TIMEOUT);
	assert_null(slot);
	assert_string_equal(f.text, "not published yet");
	assert_string_equal(reason, "");
	prefetch_pause(p);
	assert_int_equal(world.sleeping, 1);
	world.holds = NEVER;
	world.ends = 2;
	prefetch_resume(p);
	assert_step(1);
	close_prefetch(0);
}

/* The reason is asked for after a second. */
static void
test_a_caller_that_waits_learns_why(void **unused)
{
	struct step_slot *slot;
	int64_t begun_ms = clock_ms();

	(void)unused;
	open_prefetch(10 * STEP_BYTES);
	world.holds = 0;
	prefetch_resume(p);
	do
		assert_int_equal(
		    prefetch_next(p, clock_ms() + 20, &slot, reason, &f), FAIL_TIMEOUT);
	while (reason[0] == '\0' && clock_ms() - begun_ms < WAIT_MS);
	assert_string_equal(reason, "asked 1");
	assert_true(clock_ms() - begun_ms >= 1000);
	pthread_mutex_lock(&lock);
	world.holds = NEVER;
	world.ends = 1;
	pthread_mutex_unlock(&lock);
	assert_step(0);
	assert_int_equal(next(&slot), FAIL_NONE);
	assert_null(slot);
	close_prefetch(0);
	assert_int_equal(world.whys, 1);
}

static void
test_a_chore_is_done_once(void **unused)
{
	(void)unused;
	open_prefetch(2 * STEP_BYTES);
	prefetch_resume(p);
	wait_depth(2); /* full: the thread rests */
	for (int i = 1; i <= 2; i++) {
		prefetch_do_chore(p);
		pthread_mutex_lock(&lock);
		while (world.chores < i)
			pthread_cond_wait(&changed, &lock);
		pthread_mutex_unlock(&lock);
	}
	prefetch_do_chore(p);
	prefetch_pause(p); /* waits for it */
	assert_int_equal(world.chores, 3);
	close_prefetch(0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_nothing_is_collected_before_it_is_resumed),
	    cmocka_unit_test(test_steps_come_in_order_and_then_the_end),
	    cmocka_unit_test(test_the_ring_is_filled_again_once_it_is_half_empty),
	    cmocka_unit_test(test_a_failure_is_given_once_and_tried_again),
	    cmocka_unit_test(test_a_step_that_cannot_be_decoded_fails_until_a_pause),
	    cmocka_unit_test(test_a_pause_ends_the_wait_for_a_step),
	    cmocka_unit_test(test_a_caller_that_waits_learns_why),
	    cmocka_unit_test(test_a_chore_is_done_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
