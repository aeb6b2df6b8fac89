/*
 * riffle.h against librdkafka's mock cluster: which step comes after a seek, in which buffer, and
 * of how many sequences; and what is asked of a mix's ledger. step_round.c is replaced here.
 */
#include "tests/unit/test.h"

#include <pthread.h>

#include "common/base/clock.h"
#include "common/record/batch.h"
#include "common/record/frame.h"
#include "common/record/ledger.h"
#include "consumer/ledger/step_round.h"
#include "consumer/reader/riffle.h"
#include "tests/unit/mock_cluster.h"

enum { STEPS = 8, TOKENS = 9, WAIT_MS = 30000 };

static struct failure f;
static struct riffle *reader;

/* ---- in place of step_round.c ---- */

static int rounds_found;

enum fail_code
step_round_find(struct step_round *out, const char *mix, const struct properties *properties,
    int timeout_ms, uint64_t step, struct failure *why)
{
	(void)properties;
	assert_int_equal(timeout_ms, 10000);
	rounds_found++;
	if (step > STEPS)
		return fail(why, FAIL_DATA, "mix %s: step %d is not published", mix, (int)step);
	*out = (struct step_round){.size = 60, .round = step, .draws = 10 * step};
	return FAIL_NONE;
}

void
step_round_pass(struct step_round *r, uint64_t draws)
{
	r->draws += draws;
}

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
	assert_int_equal(riffle_committed(reader), 0);
	assert_int_equal(riffle_flush(reader, -1, &e), RIFFLE_TIMEOUT); /* it is on its way */
	assert_int_equal(riffle_flush(reader, WAIT_MS, &e), RIFFLE_OK);
	assert_int_equal(riffle_committed(reader), 1);
	assert_int_equal(riffle_position(reader), 1);
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
	assert_int_equal(newer.info.tokenizer, 7);
	assert_int_equal(newer.info.sequence_length, TOKENS - 1);
	assert_true(newer.info.lanes == 1 && newer.info.lanes_mine == 1 && newer.info.lead == 0);
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

/* ---- what is asked of a mix that nobody reads ---- */

/* The round of the step given last is followed; that of any other is asked for. */
static void
test_a_round_is_asked_for_once_and_followed_from_step_to_step(void **unused)
{
	static const struct {
		int next; /* the step that is given before; -1: none */
		uint64_t step, round, draws;
		int found;
	} rows[] = {
	    {-1, 4, 4, 40, 1}, /* no step was given since the seek */
	    {4, 4, 4, 40, 1},
	    {-1, 4, 4, 40, 0},
	    {5, 5, 4, 43, 0}, /* step 4 had 3 sequences */
	    {6, 6, 4, 46, 0},
	    {7, 7, 4, 48, 0}, /* step 6 had 2 */
	    {-1, 6, 6, 60, 1},
	    {-1, 7, 4, 48, 0},
	};
	struct riffle_round round = {.size = sizeof(round)};
	struct riffle_error e;

	(void)unused;
	assert_int_equal(riffle_seek(reader, 4, &e), RIFFLE_OK);
	EACH_ROW(i, rows) {
		rounds_found = 0;
		if (rows[i].next >= 0)
			assert_next((uint64_t)rows[i].next);
		assert_int_equal(riffle_get_round(reader, rows[i].step, &round, &e), RIFFLE_OK);
		assert_int_equal(round.size, sizeof(round));
		assert_int_equal(round.epoch_size, 60);
		assert_int_equal(round.round, rows[i].round);
		assert_int_equal(round.draws, rows[i].draws);
		assert_int_equal(rounds_found, rows[i].found);
	}
	assert_int_equal(riffle_get_round(reader, STEPS + 1, &round, &e), RIFFLE_ERROR_DATA);
	assert_string_equal(e.text, "mix m: step 9 is not published");
	assert_true(round.size == sizeof(round) && round.epoch_size == 0);
	round.size = 0;
	assert_int_equal(riffle_get_round(reader, 4, &round, &e), RIFFLE_ERROR_USAGE);
}

static void
put_ledger(const struct ledger *l)
{
	char at[256];
	struct property item[] = {{(char[]){"bootstrap.servers"}, at}};
	const struct properties properties = {1, item};
	const struct kafka_options o = {
	    .role = KAFKA_WRITER, .client = "ledger", .properties = &properties};
	uint8_t *bytes;
	rd_kafka_t *rk;
	size_t n;

	snprintf(at, sizeof(at), "%s", rd_kafka_mock_cluster_bootstraps(cluster));
	assert_int_equal(kafka_open(&rk, &o, &f), FAIL_NONE);
	assert_int_equal(ledger_encode(l, &bytes, &n, &f), FAIL_NONE);
	assert_int_equal(rd_kafka_producev(rk, RD_KAFKA_V_TOPIC("k.ledger"),
			     RD_KAFKA_V_PARTITION(0), RD_KAFKA_V_VALUE(bytes, n),
			     RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_FREE), RD_KAFKA_V_END),
	    RD_KAFKA_RESP_ERR_NO_ERROR);
	assert_int_equal(rd_kafka_flush(rk, WAIT_MS), RD_KAFKA_RESP_ERR_NO_ERROR);
	kafka_close(rk);
}

/* Mix k has two lanes, no step yet, and the ledger that a row says. */
static void
test_a_ledger_tells_the_shape_of_its_mix(void **unused)
{
	static const struct {
		const char *config;
		int64_t epoch_size, round, round_draws, step_next, draws;
		uint32_t batch; /* in force; 0: as configured */
		enum ledger_kind kind;
		uint64_t round_steps;
		uint32_t global_batch; /* 0: FAIL_DATA */
		bool uniform;
	} rows[] = {
#define SHAPE "{\"fixed\":{\"sequence_length\":8,\"global_batch\":6}}"
	    {SHAPE, 60, 1, 12, 12, 72, 0, LEDGER_STEPS, 10, 6, true},
	    {SHAPE, 60, 1, 13, 12, 73, 0, LEDGER_STEPS, 0, 6, false}, /* it had another batch */
	    {SHAPE, 62, 1, 10, 12, 72, 0, LEDGER_STEPS, 0, 6, true},
	    {SHAPE, 0, 0, 0, 12, 72, 0, LEDGER_END, 0, 6, true}, /* without rounds */
	    {SHAPE, 60, 0, 48, 12, 48, 4, LEDGER_STEPS, 15, 4, true},
	    {"{\"fixed\":{\"global_batch\":6}}", 60, 1, 12, 12, 72, 0, LEDGER_STEPS, 0, 0, false},
	    {"{\"fixed\":{\"sequence_length\":8}}", 60, 1, 12, 12, 72, 0, LEDGER_STEPS, 0, 0,
		false},
	    {"{\"fixed\":{\"sequence_length\":0,\"global_batch\":6}}", 60, 1, 12, 12, 72, 0,
		LEDGER_STEPS, 0, 0, false},
	    {SHAPE, 60, 1, 12, 12, 72, 0, LEDGER_STEPS, 10, 6, true},
	};
	const struct riffle_options o = {.size = sizeof(o),
	    .mix = "k",
	    .bootstrap = rd_kafka_mock_cluster_bootstraps(cluster),
	    .world = 2,
	    .rank = 1,
	    .token_bytes = 4,
	    .start = RIFFLE_START_STEP};
	struct riffle_rounds rounds = {.size = sizeof(rounds)};
	struct riffle_extent extent = {.size = sizeof(extent)};
	struct riffle_info info = {.size = sizeof(info)};
	const struct riffle_step *s;
	struct riffle_error e;
	struct riffle *r;

	(void)unused;
	assert_int_equal(rd_kafka_mock_topic_create(cluster, "k.batches", 2, 1), 0);
	assert_int_equal(rd_kafka_mock_topic_create(cluster, "k.ledger", 1, 1), 0);
	rd_kafka_mock_topic_set_error(cluster, "k.lanes", RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
	assert_int_equal(riffle_find_rounds(&o, &rounds, &e), RIFFLE_TIMEOUT);
	assert_string_equal(e.text, "no mixer has begun the mix: its rounds are not known yet");
	assert_int_equal(riffle_find_extent(&o, &extent, &e), RIFFLE_TIMEOUT);
	assert_string_equal(e.text, "no mixer has begun the mix: its length is not known yet");
	assert_true(extent.size == sizeof(extent) && extent.steps == 0);
	EACH_ROW(i, rows) {
		const bool good = rows[i].global_batch > 0;
		const struct ledger l = {.mix = (char[]){"k"},
		    .config = (char *)(uintptr_t)rows[i].config,
		    .kind = rows[i].kind,
		    .step_next = rows[i].step_next,
		    .draws = rows[i].draws,
		    .epoch_size = rows[i].epoch_size,
		    .round = rows[i].round,
		    .round_draws = rows[i].round_draws,
		    .global_batch = rows[i].batch,
		    .schedule = 11,
		    .tokenizer = 13};

		put_ledger(&l);
		rounds = (struct riffle_rounds){.size = sizeof(rounds), .draws = 99};
		extent = (struct riffle_extent){.size = sizeof(extent), .steps = 99};
		assert_int_equal(
		    riffle_find_rounds(&o, &rounds, &e), good ? RIFFLE_OK : RIFFLE_ERROR_DATA);
		assert_int_equal(rounds.size, sizeof(rounds));
		assert_int_equal(rounds.draws, good ? rows[i].epoch_size : 0);
		assert_int_equal(rounds.steps, rows[i].round_steps);
		assert_int_equal(rounds.global_batch, rows[i].global_batch);
		assert_int_equal(rounds.lanes, good ? 2 : 0);
		if (!good)
			assert_string_equal(e.text,
			    "the ledger of mix k has no sequence_length or no global_batch");
		assert_int_equal(
		    riffle_find_extent(&o, &extent, &e), good ? RIFFLE_OK : RIFFLE_ERROR_DATA);
		assert_int_equal(extent.steps, good ? rows[i].step_next : 0);
		assert_int_equal(extent.global_batch, rows[i].global_batch);
		assert_int_equal(extent.lanes, good ? 2 : 0);
		assert_int_equal(extent.sequence_length, good ? 8 : 0);
		assert_int_equal(extent.ended, rows[i].kind == LEDGER_END);
		assert_int_equal(extent.uniform, rows[i].uniform);
	}
	/* A reader knows the same before a step is there. */
	assert_int_equal(riffle_open(&r, &o, &e), RIFFLE_OK);
	assert_int_equal(riffle_get_info(r, &info), RIFFLE_OK);
	assert_true(info.lanes == 2 && info.lanes_mine == 1 && info.sequence_length == 0);
	assert_int_equal(riffle_wait_info(r, 0, &info, &e), RIFFLE_OK);
	assert_true(info.lanes == 2 && info.lanes_mine == 1 && info.lead == 0);
	assert_int_equal(info.sequence_length, 8);
	assert_int_equal(info.global_batch, 6);
	assert_int_equal(info.schedule, 11);
	assert_int_equal(info.tokenizer, 13);
	assert_int_equal(riffle_next(r, -1, &s, &e), RIFFLE_TIMEOUT); /* told in tenths */
	assert_null(s);
	assert_int_equal(strncmp(e.text, "step 0 of mix k did not come within 0.", 38), 0);
	assert_string_equal(e.text + 39, " s: it is not published yet (is `riffle mix` running?)");
	riffle_close(r);
}

/* A text that does not fit is cut. Its whole length is returned all the same. */
static void
test_metrics_are_of_this_reader(void **unused)
{
	char text[4096], start[10];
	size_t n;

	(void)unused;
	n = riffle_metrics(reader, text, sizeof(text));
	assert_int_equal(strlen(text), n);
	assert_non_null(strstr(text, "mix=\"m\""));
	assert_non_null(strstr(text, "run=\"trainers\""));
	assert_true(riffle_metrics(reader, start, sizeof(start)) > sizeof(start));
	assert_int_equal(strlen(start), sizeof(start) - 1);
	assert_memory_equal(start, text, sizeof(start) - 1);
	assert_true(riffle_metrics(reader, NULL, 0) > sizeof(start));
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
	static const struct {
		const char *mix, *run;
		uint32_t rank, token_bytes, threads;
		int start;
		uint64_t step;
		const char *says;
	} rows[] = {
	    {"m", NULL, 0, 4, 65, RIFFLE_START_STEP, 0,
		"threads is 65; it is 1 to 64, or 0 for the default"},
	    {"m", NULL, 0, 4, 0, RIFFLE_START_STEP, UINT64_MAX,
		"step 18446744073709551615 is out of range"},
	    {"m", NULL, 0, 4, 0, 9, 0, "start is neither COMMITTED nor STEP"},
	    {"m", NULL, 0, 0, 0, RIFFLE_START_STEP, 0, "token_bytes is 0; it is 2, 4 or 8"},
	    {"m", NULL, 2, 4, 0, RIFFLE_START_STEP, 0,
		"rank 2 is not in a world of 2 (ranks count from 0)"},
	    {"m", "mixer", 0, 4, 0, RIFFLE_START_STEP, 0,
		"\"mixer\" is not a name of a run (letters, digits, '.', '_', '-', at most 100, a "
		"letter or digit first; mixer and election are taken)"},
	    {"a b", NULL, 0, 4, 0, RIFFLE_START_STEP, 0,
		"\"a b\" is not a name of a mix (letters, digits, '.', '_', '-', at most 100, a "
		"letter or digit first)"},
	};
	const struct riffle_step step = {.tokens_each = 2};
	const struct riffle_targets targets = {.size = sizeof(targets)};
	struct riffle_checkpoint far = {.size = sizeof(far)};
	struct riffle_error e;
	struct riffle *r;

	(void)unused;
	assert_int_equal(riffle_open(&r, &o, &e), RIFFLE_ERROR_USAGE);
	assert_string_equal(e.text, "property 1 has no name or no value");
	EACH_NAMED_ROW(i, rows, says) {
		struct riffle_options wrong = {.size = sizeof(wrong), .mix = "m", .world = 2};

		wrong.rank = rows[i].rank;
		wrong.start = (enum riffle_start)rows[i].start;
		wrong.step = rows[i].step;
		wrong.threads = rows[i].threads;
		wrong.token_bytes = rows[i].token_bytes;
		wrong.run = rows[i].run;
		wrong.mix = rows[i].mix;
		r = (struct riffle *)&wrong;
		assert_int_equal(riffle_open(&r, &wrong, &e), RIFFLE_ERROR_USAGE);
		assert_null(r);
		assert_string_equal(e.text, rows[i].says);
	}
	assert_int_equal(riffle_seek(reader, UINT64_MAX, &e), RIFFLE_ERROR_USAGE);
	assert_string_equal(e.text, "step 18446744073709551615 is out of range");
	far.step = UINT64_MAX;
	assert_int_equal(riffle_seek_checkpoint(reader, &far, &e), RIFFLE_ERROR_USAGE);
	assert_string_equal(
	    e.text, "checkpoint: step 18446744073709551615 or choices_step 0 is out of range");
	far.step = 0;
	far.choices_step = UINT64_MAX;
	assert_int_equal(riffle_seek_checkpoint(reader, &far, &e), RIFFLE_ERROR_USAGE);
	assert_int_equal(riffle_find_checkpoint(&o, UINT64_MAX, &far, &e), RIFFLE_ERROR_USAGE);
	assert_string_equal(e.text, "step 18446744073709551615 is out of range");
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
	    cmocka_unit_test(test_a_round_is_asked_for_once_and_followed_from_step_to_step),
	    cmocka_unit_test(test_a_ledger_tells_the_shape_of_its_mix),
	    cmocka_unit_test(test_metrics_are_of_this_reader),
	    cmocka_unit_test(test_options_that_cannot_be_are_refused),
	};

	return cmocka_run_group_tests(tests, open_reader, close_reader);
}
