/*
 * riffle.h against librdkafka's mock cluster: which step comes after a seek, in which buffer, and
 * of how many sequences.
 */
#include "tests/unit/test.h"

#include <pthread.h>

#include "common/base/clock.h"
#include "common/record/batch.h"
#include "common/record/frame.h"
#include "consumer/reader/riffle.h"
#include "tests/unit/mock_cluster.h"

enum { STEPS = 8, TOKENS = 9, WAIT_MS = 30000 };

static struct failure f;
static struct riffle *reader;

/* The mix changes its batch at steps 3 and 6. */
static uint32_t
batch_of(uint64_t step)
{
	return step < 3 ? 1 : step < 6 ? 3 : 2;
}

/* The only lane of a step: sequences of tokens that are all the step's number. */
static void
encode(struct wire_writer *w, uint64_t step)
{
	const struct batch_head head = {.mix = {"m", 1},
	    .step = step,
	    .lanes = 1,
	    .global_batch = batch_of(step),
	    .schedule = 5,
	    .version = 1,
	    .lr_scale = 1,
	    .tokenizer = 7};
	const struct batch_domain domain = {0, {"code", 4}};
	const struct sequence_position position = {.file = {"x", 1}};
	const struct text_view source = {"x", 1};
	const struct sequence_span span = {0};
	const struct batch_drawn drawn = {.ordinal = step};
	uint32_t token[TOKENS];
	uint8_t frame[1024];
	struct frame_codec *codec = NULL;
	struct wire_writer record = {0};
	struct sequence_view view;
	size_t frame_n;

	for (int i = 0; i < TOKENS; i++)
		token[i] = (uint32_t)step;
	assert_int_equal(frame_codec_open(&codec, &f), FAIL_NONE);
	assert_true(frame_bound(TOKENS, 2) <= sizeof(frame));
	assert_int_equal(
	    frame_encode(codec, token, TOKENS, 2, frame, sizeof(frame), &frame_n, &f), FAIL_NONE);
	frame_codec_close(codec);
	const struct sequence_payload payload = {.count = TOKENS,
	    .width = 2,
	    .used = TOKENS,
	    .frame_hash = frame_hash(frame, frame_n),
	    .sources = &source,
	    .sources_n = 1,
	    .spans = &span,
	    .spans_n = 1,
	    .frame = frame,
	    .frame_n = frame_n};

	assert_int_equal(sequence_encode(&record, 0, 7, &position, &payload, &f), FAIL_NONE);
	assert_int_equal(sequence_decode(&view, record.bytes, record.n, &f), FAIL_NONE);
	assert_int_equal(batch_begin(w, &head, &domain, 1, head.global_batch, &f), FAIL_NONE);
	for (uint32_t i = 0; i < head.global_batch; i++)
		assert_int_equal(
		    batch_add(w, &drawn, view.payload.raw, view.payload.raw_n, &f), FAIL_NONE);
	assert_int_equal(batch_end(w, &f), FAIL_NONE);
	wire_writer_close(&record);
}

static int
open_reader(void **unused)
{
	char at[256];
	struct property item[] = {{(char[]){"bootstrap.servers"}, at}};
	const struct properties properties = {1, item};
	const struct kafka_options o = {
	    .role = KAFKA_WRITER, .client = "steps", .properties = &properties};
	struct riffle_options wanted = {.size = sizeof(wanted),
	    .mix = "m",
	    .bootstrap = at,
	    .world = 1,
	    .token_bytes = 4,
	    .start = RIFFLE_START_STEP};
	struct riffle_error e;
	rd_kafka_t *rk;

	(void)unused;
	if (open_mock_cluster(&f) != FAIL_NONE ||
	    rd_kafka_mock_topic_create(cluster, "m.batches", 1, 1))
		return -1;
	snprintf(at, sizeof(at), "%s", rd_kafka_mock_cluster_bootstraps(cluster));
	if (kafka_open(&rk, &o, &f) != FAIL_NONE)
		return -1;
	for (uint64_t step = 0; step < STEPS; step++) {
		struct wire_writer w = {0};

		encode(&w, step);
		rd_kafka_producev(rk, RD_KAFKA_V_TOPIC("m.batches"), RD_KAFKA_V_PARTITION(0),
		    RD_KAFKA_V_VALUE(w.bytes, w.n), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
		    RD_KAFKA_V_END);
		wire_writer_close(&w);
	}
	if (rd_kafka_flush(rk, WAIT_MS) != RD_KAFKA_RESP_ERR_NO_ERROR)
		return -1;
	kafka_close(rk);
	if (riffle_open(&reader, &wanted, &e) == RIFFLE_OK)
		return 0;
	print_error("%s\n", e.text);
	return -1;
}

static int
close_reader(void **unused)
{
	(void)unused;
	riffle_close(reader);
	kafka_close(owner);
	return 0;
}

static void
assert_next(uint64_t step)
{
	const struct riffle_step *s;
	struct riffle_error e;
	struct riffle_info info = {.size = sizeof(info)};

	assert_int_equal(riffle_next(reader, WAIT_MS, &s, &e), RIFFLE_OK);
	assert_int_equal(s->step, step);
	assert_int_equal(s->sequences, batch_of(step));
	assert_int_equal(s->tokens_each, TOKENS);
	for (uint32_t i = 0; i < batch_of(step) * TOKENS; i++)
		assert_int_equal(((const uint32_t *)s->tokens)[i], step);
	riffle_get_info(reader, &info);
	assert_int_equal(info.global_batch, batch_of(step));
}

static void
test_a_step_that_a_buffer_had_no_room_for_is_not_given_after_a_seek(void **unused)
{
	uint32_t buffer[3 * TOKENS] = {0};
	const struct riffle_step *s;
	struct riffle_error e;

	(void)unused;
	assert_next(0);
	for (int i = 0; i < 2; i++) { /* it waits, and is refused again */
		assert_int_equal(riffle_next_into(reader, WAIT_MS, buffer, TOKENS * 4 - 1, &s, &e),
		    RIFFLE_ERROR_USAGE);
		assert_null(s);
		assert_non_null(strstr(e.text, "step 1 takes 36 bytes (1 sequences of 9 tokens)"));
	}
	assert_int_equal(riffle_seek(reader, 5, &e), RIFFLE_OK);
	assert_int_equal(
	    riffle_next_into(reader, WAIT_MS, buffer, sizeof(buffer), &s, &e), RIFFLE_OK);
	assert_int_equal(s->step, 5);
	assert_ptr_equal(s->tokens, buffer);
	assert_int_equal(s->sequences, 3);
	assert_int_equal(buffer[3 * TOKENS - 1], 5);
	assert_next(6);
}

/* Whether mix.runs has the run is asked of the broker, for the first commit. */
static void
test_the_first_commit_does_not_wait_for_a_slow_broker(void **unused)
{
	enum { SLOW_MS = 400 };
	struct riffle_error e;
	int64_t begun_ms;

	(void)unused;
	assert_next(0);
	rd_kafka_mock_broker_set_rtt(cluster, 1, SLOW_MS);
	begun_ms = clock_ms();
	assert_int_equal(riffle_commit_async(reader, &e), RIFFLE_OK);
	assert_true(clock_ms() - begun_ms < SLOW_MS / 2);
	rd_kafka_mock_broker_set_rtt(cluster, 1, 0);
	assert_int_equal(riffle_seek(reader, 0, &e), RIFFLE_OK);
}

static void
test_seeks_go_forth_and_back(void **unused)
{
	static const uint64_t step[] = {3, 7, 0, 0, 6, 2};
	struct riffle_error e;

	(void)unused;
	EACH_ROW(i, step) {
		assert_int_equal(riffle_seek(reader, step[i], &e), RIFFLE_OK);
		assert_next(step[i]);
	}
	assert_next(3);
	assert_int_equal(riffle_seek(reader, UINT64_MAX, &e), RIFFLE_ERROR_USAGE);
	assert_next(4); /* where it stood */
}

/* Readers hold several steps at a time: memory of one is used again for a larger one. */
static void
test_steps_follow_a_batch_that_changes(void **unused)
{
	struct riffle_error e;

	(void)unused;
	assert_int_equal(riffle_seek(reader, 0, &e), RIFFLE_OK);
	for (uint64_t step = 0; step < STEPS; step++)
		assert_next(step);
}

/* What is filled for a program that knows less, more, or has not said what it knows. */
static void
test_an_answer_is_as_long_as_the_program_knows_it(void **unused)
{
	struct {
		struct riffle_info info;
		uint64_t later;
	} newer = {.info = {.size = sizeof(newer)}, .later = 99};
	struct riffle_info older = {
	    .size = offsetof(struct riffle_info, schedule), .schedule = 99, .lead = 99};
	struct riffle_place place = {
	    .size = offsetof(struct riffle_place, offset_next), .offset_next = (int64_t[]){99}};
	const struct riffle_info none = {.lanes = 99};
	struct riffle_info untouched = none;
	const struct riffle_step *s;
	struct riffle_error e;

	(void)unused;
	assert_int_equal(riffle_seek(reader, 1, &e), RIFFLE_OK);
	assert_int_equal(riffle_next(reader, WAIT_MS, &s, &e), RIFFLE_OK);
	assert_int_equal(riffle_get_info(reader, &older), RIFFLE_OK);
	assert_int_equal(older.sequence_length, TOKENS - 1);
	assert_int_equal(older.schedule, 99);
	assert_int_equal(older.lead, 99);
	assert_int_equal(riffle_wait_info(reader, WAIT_MS, &newer.info, &e), RIFFLE_OK);
	assert_int_equal(newer.info.size, sizeof(newer));
	assert_int_equal(newer.info.schedule, 5);
	assert_int_equal(newer.later, 0);
	assert_int_equal(riffle_place(reader, &place), RIFFLE_OK);
	assert_int_equal(place.step, 2);
	assert_int_equal(place.lanes, 1);
	assert_int_equal(place.offset_next[0], 99);
	assert_int_equal(riffle_get_info(reader, &untouched), RIFFLE_ERROR_USAGE);
	assert_memory_equal(&untouched, &none, sizeof(none));
	assert_int_equal(riffle_wait_info(reader, WAIT_MS, &untouched, &e), RIFFLE_ERROR_USAGE);
	place.size = 0;
	assert_int_equal(riffle_place(reader, &place), RIFFLE_ERROR_USAGE);
}

/* ---- mistakes of the caller ---- */

/* A thread that waits for the step after the last one. */
struct waiter {
	pthread_t thread;
	struct riffle *r;
	struct riffle_error e;
	int code;
};

static void *
wait_for_a_step(void *opaque)
{
	struct waiter *w = opaque;
	const struct riffle_step *s;

	/* start_waiter() asks until this call is in progress, and may be in the way of it. */
	do {
		w->code = riffle_next(w->r, WAIT_MS, &s, &w->e);
	} while (
	    w->code == RIFFLE_ERROR_USAGE && strstr(w->e.text, "another thread's call") != NULL);
	return NULL;
}

/* Returns once the thread is in riffle_next(), where riffle_keep() of nothing says so. */
static void
start_waiter(struct waiter *w, struct riffle *r)
{
	struct riffle_error e = {0};

	*w = (struct waiter){.r = r};
	assert_int_equal(pthread_create(&w->thread, NULL, wait_for_a_step, w), 0);
	do {
		assert_int_equal(riffle_keep(r, NULL, &e), RIFFLE_ERROR_USAGE);
	} while (strstr(e.text, "another thread's call") == NULL);
}

static struct riffle *
open_at_the_end(void)
{
	const struct riffle_options o = {.size = sizeof(o),
	    .mix = "m",
	    .bootstrap = rd_kafka_mock_cluster_bootstraps(cluster),
	    .world = 1,
	    .token_bytes = 4,
	    .start = RIFFLE_START_STEP,
	    .step = STEPS};
	struct riffle_error e;
	struct riffle *r;

	assert_int_equal(riffle_open(&r, &o, &e), RIFFLE_OK);
	return r;
}

static void
test_a_second_thread_is_refused_and_close_ends_the_first_ones_wait(void **unused)
{
	struct riffle_info info = {.size = sizeof(info)};
	struct riffle_place place = {.size = sizeof(place)};
	struct riffle *r = open_at_the_end();
	const struct riffle_step *s;
	struct riffle_error e;
	int64_t begun_ms;
	struct waiter w;

	(void)unused;
	start_waiter(&w, r);
	assert_int_equal(riffle_next(r, WAIT_MS, &s, &e), RIFFLE_ERROR_USAGE);
	assert_null(s);
	assert_string_equal(e.text,
	    "another thread's call on this reader is in progress, and it takes one call at a time: "
	    "wait for that call, or open one reader per thread");
	assert_int_equal(riffle_next_into(r, WAIT_MS, NULL, 0, &s, &e), RIFFLE_ERROR_USAGE);
	assert_int_equal(riffle_wait_info(r, WAIT_MS, &info, &e), RIFFLE_ERROR_USAGE);
	assert_int_equal(riffle_get_info(r, &info), RIFFLE_ERROR_USAGE);
	assert_int_equal(riffle_place(r, &place), RIFFLE_ERROR_USAGE);
	assert_int_equal(riffle_seek(r, 0, &e), RIFFLE_ERROR_USAGE);
	assert_int_equal(riffle_commit(r, &e), RIFFLE_ERROR_USAGE);
	assert_int_equal(riffle_commit_async(r, &e), RIFFLE_ERROR_USAGE);
	assert_int_equal(riffle_position(r), STEPS);
	assert_int_equal(riffle_committed(r), STEPS);
	assert_int_equal(
	    riffle_flush(r, WAIT_MS, &e), RIFFLE_OK); /* nobody has asked for a commit */
	begun_ms = clock_ms();
	riffle_close(r);
	assert_true(clock_ms() - begun_ms < WAIT_MS / 2);
	pthread_join(w.thread, NULL);
	assert_int_equal(w.code, RIFFLE_ERROR_USAGE);
	assert_string_equal(w.e.text, "this reader is being closed by another thread");
}

static void
test_a_step_that_is_not_kept_is_not_freed(void **unused)
{
	const struct riffle_step *s;
	struct riffle_error e;

	(void)unused;
	assert_int_equal(riffle_seek(reader, 2, &e), RIFFLE_OK);
	assert_int_equal(riffle_next(reader, WAIT_MS, &s, &e), RIFFLE_OK);
	riffle_free_step(s); /* never kept */
	assert_int_equal(s->step, 2);
	assert_int_equal(riffle_keep(reader, s, &e), RIFFLE_OK);
	riffle_free_step(s);
	riffle_free_step(s); /* twice */
	assert_int_equal(s->step, 2);
	assert_next(3);
}

static void
test_options_that_cannot_be_are_refused(void **unused)
{
	static const struct riffle_property property[] = {
	    {"client.rack", "a"}, {"client.id", NULL}};
	const struct riffle_options o = {.size = sizeof(o),
	    .mix = "m",
	    .world = 1,
	    .token_bytes = 4,
	    .properties = property,
	    .properties_n = 2};
	const struct riffle_step step = {.tokens_each = 2};
	const struct riffle_targets targets = {.size = sizeof(targets)};
	struct riffle_error e;
	struct riffle *r;

	(void)unused;
	assert_int_equal(riffle_open(&r, &o, &e), RIFFLE_ERROR_USAGE);
	assert_string_equal(e.text, "property 1 has no name or no value");
	assert_int_equal(riffle_step_targets(&step, 4, &targets), RIFFLE_OK);
	assert_int_equal(riffle_step_targets(&step, 3, &targets), RIFFLE_ERROR_USAGE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    /* First: the first commit of the reader. */
	    cmocka_unit_test(test_the_first_commit_does_not_wait_for_a_slow_broker),
	    cmocka_unit_test(test_a_step_that_a_buffer_had_no_room_for_is_not_given_after_a_seek),
	    cmocka_unit_test(test_seeks_go_forth_and_back),
	    cmocka_unit_test(test_steps_follow_a_batch_that_changes),
	    cmocka_unit_test(test_an_answer_is_as_long_as_the_program_knows_it),
	    cmocka_unit_test(test_a_second_thread_is_refused_and_close_ends_the_first_ones_wait),
	    cmocka_unit_test(test_a_step_that_is_not_kept_is_not_freed),
	    cmocka_unit_test(test_options_that_cannot_be_are_refused),
	};

	return cmocka_run_group_tests(tests, open_reader, close_reader);
}
