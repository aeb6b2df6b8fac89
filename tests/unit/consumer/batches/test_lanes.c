/*
 * lanes.h against librdkafka's mock cluster. It refuses commits as it is told to: what passes is
 * tried again, what does not ends the commit. And lanes that share partitions, assigned anew.
 */
#include "tests/unit/test.h"

#include "common/base/clock.h"
#include "common/record/batch.h"
#include "consumer/batches/lanes.h"
#include "tests/unit/mock_lanes.h"

enum { API_OFFSET_COMMIT = 8, REFUSALS = 5 };

/* The next `n` commits are refused. */
static void
refuse(rd_kafka_resp_err_t err, int n)
{
	for (int i = 0; i < n; i++)
		rd_kafka_mock_push_request_errors(cluster, API_OFFSET_COMMIT, 1, err);
}

static void
begin(int64_t offset)
{
	const int64_t offset_next[MOCK_LANES] = {offset, offset};

	f = (struct failure){0};
	assert_int_equal(lanes_commit_begin(lanes, offset_next, "1", &f), FAIL_NONE);
}

/* As a trainer that only looks in between. */
static enum fail_code
look(void)
{
	int64_t end_ms = clock_ms() + MOCK_LANES_WAIT_MS;
	enum fail_code code;

	do {
		code = lanes_commit_end(lanes, 0, &f);
		clock_pause_ms(5);
	} while (code == FAIL_TIMEOUT && clock_ms() < end_ms);
	return code;
}

static const rd_kafka_resp_err_t passing[] = {
    RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS,
    RD_KAFKA_RESP_ERR_NOT_COORDINATOR,
};

static void
test_a_refusal_that_passes_is_waited_out(void **unused)
{
	(void)unused;
	EACH_ROW(i, passing) {
		refuse(passing[i], REFUSALS);
		begin((int64_t)i);
		assert_int_equal(lanes_commit_end(lanes, MOCK_LANES_WAIT_MS, &f), FAIL_NONE);
		rd_kafka_mock_clear_request_errors(cluster, API_OFFSET_COMMIT);
	}
}

static void
test_looks_in_between_send_it_again_too(void **unused)
{
	(void)unused;
	refuse(RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS, REFUSALS);
	begin(7);
	assert_int_equal(look(), FAIL_NONE);
	rd_kafka_mock_clear_request_errors(cluster, API_OFFSET_COMMIT);
}

static void
test_a_refusal_that_stays_ends_the_commit_and_not_the_next(void **unused)
{
	(void)unused;
	refuse(RD_KAFKA_RESP_ERR_OFFSET_METADATA_TOO_LARGE, 1);
	begin(8);
	assert_int_equal(lanes_commit_end(lanes, MOCK_LANES_WAIT_MS, &f), FAIL_BROKER);
	begin(9);
	assert_int_equal(lanes_commit_end(lanes, MOCK_LANES_WAIT_MS, &f), FAIL_NONE);
}

static void
test_the_time_given_is_kept_and_the_commit_goes_on_after_it(void **unused)
{
	int64_t began_ms = clock_ms();

	(void)unused;
	refuse(RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS, REFUSALS);
	begin(10);
	assert_int_equal(lanes_commit_end(lanes, 50, &f), FAIL_TIMEOUT);
	assert_true(clock_ms() - began_ms < MOCK_LANES_WAIT_MS);
	assert_int_equal(lanes_commit_end(lanes, MOCK_LANES_WAIT_MS, &f), FAIL_NONE);
	rd_kafka_mock_clear_request_errors(cluster, API_OFFSET_COMMIT);
}

/* ---- lanes that share partitions ---- */

enum { SHARED_LANES = 4, SHARED_PARTITIONS = 2, STEPS = 6 };

/* The head is all that the lanes decode; at step STEPS the mix ends. */
static void
put_shared(rd_kafka_t *rk, uint64_t step, uint32_t lane)
{
	const struct lane_map map = {SHARED_LANES, SHARED_PARTITIONS};
	const struct batch_head head = {.mix = {"s", 1},
	    .step = step,
	    .lane = lane,
	    .lanes = SHARED_LANES,
	    .global_batch = SHARED_LANES,
	    .lr_scale = 1,
	    .last = step == STEPS};
	const struct batch_domain domain = {0, {"web", 3}};
	const struct batch_drawn drawn = {.ordinal = step};
	uint8_t key[LANE_MAP_KEY_BYTES];
	struct wire_writer w = {0};
	size_t n = head.last ? 0 : 1;

	lane_map_key(key, lane);
	assert_int_equal(batch_begin(&w, &head, &domain, n, n, &f), FAIL_NONE);
	if (!head.last)
		assert_int_equal(batch_add(&w, &drawn, (const uint8_t *)"x", 1, &f), FAIL_NONE);
	assert_int_equal(batch_end(&w, &f), FAIL_NONE);
	assert_int_equal(rd_kafka_producev(rk, RD_KAFKA_V_TOPIC("s.batches"),
			     RD_KAFKA_V_PARTITION((int32_t)lane_map_partition(&map, lane)),
			     RD_KAFKA_V_KEY(key, sizeof(key)), RD_KAFKA_V_VALUE(w.bytes, w.n),
			     RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END),
	    RD_KAFKA_RESP_ERR_NO_ERROR);
	wire_writer_close(&w);
}

static enum fail_code
open_rank(struct lanes **out, const char *mix, uint32_t rank, uint32_t world, bool uneven)
{
	char at[256];
	struct property item[] = {{(char[]){"bootstrap.servers"}, at}};
	const struct properties properties = {1, item};
	const struct lanes_options o = {.mix = mix,
	    .rank = rank,
	    .world = world,
	    .uneven = uneven,
	    .properties = &properties,
	    .timeout_ms = MOCK_LANES_WAIT_MS};

	snprintf(at, sizeof(at), "%s", rd_kafka_mock_cluster_bootstraps(cluster));
	return lanes_open(out, &o, &f);
}

/* All lanes of a mix "s" of STEPS steps, and its end. */
static struct lanes *
open_shared(void)
{
	struct lanes *l = NULL;
	char at[256];
	struct property item[] = {{(char[]){"bootstrap.servers"}, at}};
	const struct properties properties = {1, item};
	const struct kafka_options k = {
	    .role = KAFKA_WRITER, .client = "steps", .properties = &properties};
	rd_kafka_t *rk;

	snprintf(at, sizeof(at), "%s", rd_kafka_mock_cluster_bootstraps(cluster));
	rd_kafka_mock_topic_create(cluster, "s.lanes", SHARED_LANES, 1);
	rd_kafka_mock_topic_create(cluster, "s.batches", SHARED_PARTITIONS, 1);
	assert_int_equal(kafka_open(&rk, &k, &f), FAIL_NONE);
	for (uint64_t step = 0; step <= STEPS; step++)
		for (uint32_t lane = 0; lane < SHARED_LANES; lane++)
			put_shared(rk, step, lane);
	assert_int_equal(rd_kafka_flush(rk, MOCK_LANES_WAIT_MS), RD_KAFKA_RESP_ERR_NO_ERROR);
	kafka_close(rk);
	assert_int_equal(open_rank(&l, "s", 0, 1, false), FAIL_NONE);
	assert_int_equal(lanes_count(l), SHARED_LANES);
	return l;
}

static void
assign_all(struct lanes *l, int64_t offset)
{
	const int64_t at[SHARED_LANES] = {offset, offset, offset, offset};

	assert_int_equal(lanes_assign(l, at, &f), FAIL_NONE);
}

static enum lanes_event
next(struct lanes *l, uint32_t lane, struct lanes_record *out)
{
	enum lanes_event event = LANES_LOST;

	assert_int_equal(
	    lanes_next(l, lane, clock_ms() + MOCK_LANES_WAIT_MS, &event, out, &f), FAIL_NONE);
	return event;
}

/* The lane's next record, which is gone then. */
static void
check_step(struct lanes *l, uint32_t lane, uint64_t step)
{
	struct lanes_record r;
	struct batch_view view;

	assert_int_equal(next(l, lane, &r), LANES_RECORD);
	assert_int_equal(batch_decode(&view, r.bytes, r.n, &f), FAIL_NONE);
	assert_int_equal(view.head.lane, lane);
	assert_int_equal(view.head.step, step);
	lanes_release(l, lane);
}

/* The lanes from `step` on, in turn as a reader takes them. */
static void
check_all(struct lanes *l, uint64_t step)
{
	for (; step <= STEPS; step++)
		for (uint32_t lane = 0; lane < SHARED_LANES; lane++)
			check_step(l, lane, step);
}

static void
hold_one_and_let_others_wait(struct lanes *l)
{
	struct lanes_record r;

	assign_all(l, 0);
	check_step(l, 3, 0);
	assert_int_equal(next(l, 3, &r), LANES_RECORD);
}

static void
read_to_the_end(struct lanes *l)
{
	struct lanes_record r;

	assign_all(l, 2 * STEPS);
	for (uint32_t lane = 0; lane < SHARED_LANES; lane += 2) {
		check_step(l, lane, STEPS);
		assert_int_equal(next(l, lane, &r), LANES_AT_END);
	}
}

static void
lose_the_offset(struct lanes *l)
{
	struct lanes_record r;

	assign_all(l, 1000);
	for (uint32_t lane = 0; lane < SHARED_LANES; lane += 2)
		assert_int_equal(next(l, lane, &r), LANES_LOST);
}

static void
seek_a_step_that_is_not_there_yet(struct lanes *l)
{
	assign_all(l, 2 * STEPS);
	lanes_pass_over(l, STEPS + 10);
}

static void
start_further_on(struct lanes *l)
{
	assign_all(l, 2 * 4);
}

static void
test_lanes_that_are_assigned_anew_know_nothing_of_before(void **unused)
{
	static void (*const before[])(struct lanes *) = {hold_one_and_let_others_wait,
	    read_to_the_end, lose_the_offset, seek_a_step_that_is_not_there_yet, start_further_on};
	struct lanes *l = open_shared();

	(void)unused;
	EACH_ROW(i, before) {
		before[i](l);
		assign_all(l, 0);
		check_all(l, 0);
	}
	lanes_close(l);
}

/* What waits already, what is held, and what comes; the end of the mix is for all. */
static void
test_what_is_passed_over_ends_with_the_step_that_is_sought(void **unused)
{
	static const uint64_t sought[] = {0, 1, 3, STEPS - 1, STEPS, STEPS + 10};
	struct lanes *l = open_shared();

	(void)unused;
	EACH_ROW(i, sought)
		for (int met = 0; met < 2; met++) {
			if (met)
				hold_one_and_let_others_wait(l);
			else
				assign_all(l, 0);
			lanes_pass_over(l, sought[i]);
			if (met && sought[i] == 0)
				continue; /* lane 3 has lost its step 0 to the look before */
			check_all(l, sought[i] < STEPS ? sought[i] : STEPS);
		}
	lanes_close(l);
}

/* Each lane of a partition begins at its own offset, whichever of them is the lower one. */
static void
test_lanes_of_one_partition_begin_where_each_is_assigned(void **unused)
{
	static const uint64_t from[][SHARED_LANES] = {
	    {0, 3, 5, 1}, {3, 0, 1, 5}, {2, 2, STEPS, 0}, {STEPS, STEPS, STEPS, STEPS}};
	struct lanes *l = open_shared();

	(void)unused;
	EACH_ROW(i, from) {
		int64_t at[SHARED_LANES];

		for (uint32_t lane = 0; lane < SHARED_LANES; lane++)
			at[lane] = 2 * (int64_t)from[i][lane];
		assert_int_equal(lanes_assign(l, at, &f), FAIL_NONE);
		for (uint64_t step = 0; step <= STEPS; step++)
			for (uint32_t lane = 0; lane < SHARED_LANES; lane++)
				if (step >= from[i][lane])
					check_step(l, lane, step);
	}
	for (uint32_t lane = 0; lane < SHARED_LANES; lane++)
		assert_int_equal(lanes_lead(l, lane), lane - lane % 2);
	lanes_close(l);
	/* A rank may have only the second lane of a partition. */
	assert_int_equal(open_rank(&l, "s", 1, SHARED_LANES, false), FAIL_NONE);
	assert_true(lanes_first(l) == 1 && lanes_count(l) == 1);
	assert_int_equal(lanes_lead(l, 0), 0);
	lanes_close(l);
}

/* Every lane belongs to one rank, in their order, and no rank has two more than another. */
static void
test_ranks_divide_the_lanes(void **unused)
{
	static const uint32_t worlds[] = {1, 2, 3, 5};
	enum { ALL = 5 };
	struct lanes *l;

	(void)unused;
	rd_kafka_mock_topic_create(cluster, "w.batches", ALL, 1);
	rd_kafka_mock_topic_set_error(cluster, "w.lanes", RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
	EACH_ROW(i, worlds) {
		uint32_t next = 0;

		for (uint32_t rank = 0; rank < worlds[i]; rank++) {
			assert_int_equal(open_rank(&l, "w", rank, worlds[i], true), FAIL_NONE);
			assert_int_equal(lanes_total(l), ALL);
			assert_int_equal(lanes_first(l), next);
			assert_in_range(
			    lanes_count(l), ALL / worlds[i], (ALL + worlds[i] - 1) / worlds[i]);
			next += lanes_count(l);
			lanes_close(l);
		}
		assert_int_equal(next, ALL);
	}
	assert_int_equal(open_rank(&l, "w", 0, 2, false), FAIL_CONFIG);
	assert_non_null(strstr(f.text, "take 1 or 5"));
	assert_int_equal(open_rank(&l, "w", 0, ALL + 1, true), FAIL_CONFIG);
	assert_non_null(strstr(f.text, "at most 5 ranks"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_refusal_that_passes_is_waited_out),
	    cmocka_unit_test(test_looks_in_between_send_it_again_too),
	    cmocka_unit_test(test_a_refusal_that_stays_ends_the_commit_and_not_the_next),
	    cmocka_unit_test(test_the_time_given_is_kept_and_the_commit_goes_on_after_it),
	    cmocka_unit_test(test_lanes_that_are_assigned_anew_know_nothing_of_before),
	    cmocka_unit_test(test_what_is_passed_over_ends_with_the_step_that_is_sought),
	    cmocka_unit_test(test_lanes_of_one_partition_begin_where_each_is_assigned),
	    cmocka_unit_test(test_ranks_divide_the_lanes),
	};

	return cmocka_run_group_tests(tests, open_mock_lanes, close_mock_lanes);
}
