/*
 * step_records.h and step_search.h: which records are found for a step, on lanes of a mock cluster
 * that begin, end and lack steps as a row says.
 */
#include "consumer/batches/step_records.h"

#include "common/record/batch.h"
#include "tests/unit/mock_topics.h"

enum { LANES = 2, SHARED_LANES = 4 };

/* The record of a lane, with a payload of that size; 0: the mix ends here. */
static void
put_bytes(const char *mix, struct lane_map map, uint32_t lane, uint64_t step, size_t bytes)
{
	const bool last = bytes == 0;
	uint8_t *payload = calloc(bytes + 1, 1);
	const struct batch_head head = {.mix = {mix, strlen(mix)},
	    .step = step,
	    .lane = lane,
	    .lanes = map.lanes,
	    .global_batch = map.lanes,
	    .lr_scale = 1,
	    .last = last};
	const struct batch_domain domain = {0, {"web", 3}};
	const struct batch_drawn drawn = {.ordinal = step};
	uint8_t key[LANE_MAP_KEY_BYTES];
	struct wire_writer w = {0};
	size_t n = last ? 0 : 1;
	char topic[32];

	snprintf(topic, sizeof(topic), "%s.batches", mix);
	lane_map_key(key, lane);
	assert_int_equal(batch_begin(&w, &head, &domain, n, n, &f), FAIL_NONE);
	if (!last)
		assert_int_equal(batch_add(&w, &drawn, payload, bytes, &f), FAIL_NONE);
	assert_int_equal(batch_end(&w, &f), FAIL_NONE);
	assert_int_equal(rd_kafka_producev(mock_writer, RD_KAFKA_V_TOPIC(topic),
			     RD_KAFKA_V_PARTITION((int32_t)lane_map_partition(&map, lane)),
			     RD_KAFKA_V_KEY(key, sizeof(key)), RD_KAFKA_V_VALUE(w.bytes, w.n),
			     RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END),
	    RD_KAFKA_RESP_ERR_NO_ERROR);
	wire_writer_close(&w);
	free(payload);
}

static void
put(const char *mix, struct lane_map map, uint32_t lane, uint64_t step, bool last)
{
	put_bytes(mix, map, lane, step, last ? 0 : 1);
}

static struct step_records *
open_records(const char *mix)
{
	struct step_records *r;

	assert_int_equal(rd_kafka_flush(mock_writer, MOCK_WAIT_MS), RD_KAFKA_RESP_ERR_NO_ERROR);
	assert_int_equal(step_records_open(&r, mix, &mock_properties, MOCK_WAIT_MS, &f), FAIL_NONE);
	return r;
}

/* Two lanes: lane 0 has the steps from first[0] to 9, lane 1 those from first[1], but [6, 8). */
static struct step_records *
open_mix(const char *mix, const uint64_t *first, bool hole, bool end)
{
	const struct lane_map map = {LANES, LANES};
	char topic[32];

	snprintf(topic, sizeof(topic), "%s.lanes", mix);
	rd_kafka_mock_topic_set_error(cluster, topic, RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
	snprintf(topic, sizeof(topic), "%s.batches", mix);
	mock_topic(topic, LANES);
	for (uint32_t lane = 0; lane < LANES; lane++) {
		for (uint64_t step = first[lane]; step < 10; step++)
			if (!hole || lane == 0 || step < 6 || step >= 8)
				put(mix, map, lane, step, false);
		if (end)
			put(mix, map, lane, 10, true);
	}
	return open_records(mix);
}

/* The step that a record gives itself. */
static uint64_t
step_of(const struct step_record *r)
{
	struct batch_view view;

	assert_non_null(r->bytes);
	assert_int_equal(batch_decode(&view, r->bytes, r->n, &f), FAIL_NONE);
	return view.head.step;
}

static void
test_what_is_kept_and_every_step_of_it_is_found(void **unused)
{
	static const struct {
		const char *mix;
		uint64_t first[LANES], lowest, whole;
	} rows[] = {{"k0", {0, 0}, 0, 0}, {"k1", {2, 4}, 2, 4}, {"k2", {5, 3}, 3, 5}};

	(void)unused;
	EACH_NAMED_ROW(i, rows, mix) {
		struct step_records *r = open_mix(rows[i].mix, rows[i].first, false, false);
		struct step_records_kept kept;
		struct step_records_hole hole;
		struct step_record out[LANES];
		char says[96];

		assert_int_equal(step_records_lanes(r), LANES);
		assert_int_equal(step_records_earliest(r, &kept, &f), FAIL_NONE);
		assert_true(kept.any && kept.lowest == rows[i].lowest);
		assert_int_equal(kept.whole, rows[i].whole);
		if (rows[i].whole > 0) {
			assert_int_equal(step_records_seek(r, rows[i].whole - 1, &f), FAIL_NONE);
			assert_int_equal(step_records_next(r, 0, out, &f), FAIL_DATA);
			snprintf(says, sizeof(says), "step %d is missing: step %d comes first",
			    (int)rows[i].whole - 1, (int)rows[i].whole);
			assert_non_null(strstr(f.text, says));
		}
		for (uint64_t from = rows[i].whole; from < 10; from += 3) {
			assert_int_equal(step_records_seek(r, from, &f), FAIL_NONE);
			for (uint64_t step = from; step < 10; step++) {
				assert_int_equal(step_records_next(r, 0, out, &f), FAIL_NONE);
				for (int lane = 0; lane < LANES; lane++) {
					assert_int_equal(step_of(&out[lane]), step);
					assert_int_equal(
					    out[lane].offset, step - rows[i].first[lane]);
					assert_false(out[lane].last);
				}
			}
			assert_false(step_records_hole(r, &hole));
		}
		/* The one after them stays the next one until it comes. */
		assert_int_equal(step_records_next(r, 0, out, &f), FAIL_TIMEOUT);
		snprintf(says, sizeof(says), "step 10 of mix %s is not published yet", rows[i].mix);
		assert_string_equal(f.text, says);
		for (uint32_t lane = 0; lane < LANES; lane++)
			put(rows[i].mix, (struct lane_map){LANES, LANES}, lane, 10, false);
		assert_int_equal(step_records_next(r, MOCK_WAIT_MS, out, &f), FAIL_NONE);
		assert_true(step_of(&out[0]) == 10 && step_of(&out[1]) == 10);
		step_records_close(r);
	}
}

static void
test_a_lane_that_lacks_steps_is_counted_and_its_hole_reported(void **unused)
{
	struct step_records *r = open_mix("hole", (const uint64_t[]){0, 0}, true, false);
	struct step_records_hole hole;
	struct step_record out[LANES];

	(void)unused;
	assert_int_equal(step_records_seek(r, 5, &f), FAIL_NONE);
	assert_int_equal(step_records_next(r, 0, out, &f), FAIL_NONE);
	assert_true(step_of(&out[0]) == 5 && step_of(&out[1]) == 5);
	assert_false(step_records_hole(r, &hole));
	assert_int_equal(step_records_next(r, 0, out, &f), FAIL_NONE);
	assert_true(step_of(&out[0]) == 6 && step_of(&out[1]) == 8);
	assert_true(step_records_hole(r, &hole));
	assert_true(hole.lane == 1 && hole.first == 6 && hole.end == 8);
	/* A search forgets it, and behind it steps are what they say. */
	assert_int_equal(step_records_seek(r, 9, &f), FAIL_NONE);
	assert_int_equal(step_records_next(r, 0, out, &f), FAIL_NONE);
	assert_true(step_of(&out[0]) == 9 && step_of(&out[1]) == 9);
	step_records_close(r);
}

static void
test_an_absent_lane_is_not_waited_for_from_its_step_on(void **unused)
{
	struct step_records *r = open_mix("absent", (const uint64_t[]){0, 0}, false, false);
	struct step_record out[LANES];

	(void)unused;
	step_records_absent(r, 1, 5);
	assert_int_equal(step_records_seek(r, 3, &f), FAIL_NONE);
	for (uint64_t step = 3; step < 10; step++) {
		assert_int_equal(step_records_next(r, 0, out, &f), FAIL_NONE);
		assert_int_equal(step_of(&out[0]), step);
		assert_int_equal(out[1].bytes != NULL, step < 5);
		if (step < 5)
			assert_int_equal(step_of(&out[1]), step);
	}
	step_records_close(r);
}

static void
test_the_end_of_a_mix_is_a_record_and_nothing_follows_it(void **unused)
{
	struct step_records *r = open_mix("end", (const uint64_t[]){0, 0}, false, true);
	struct step_record out[LANES];

	(void)unused;
	assert_int_equal(step_records_seek(r, 9, &f), FAIL_NONE);
	for (int k = 0; k < 2; k++) {
		assert_int_equal(step_records_next(r, 0, out, &f), FAIL_NONE);
		assert_true(out[0].last == (k == 1) && out[1].last == (k == 1));
	}
	assert_int_equal(step_records_seek(r, 12, &f), FAIL_NONE);
	assert_int_equal(step_records_next(r, 0, out, &f), FAIL_DATA);
	assert_string_equal(f.text, "mix end has ended before step 10; there is no step 12");
	step_records_close(r);
}

/* The mock cluster keeps the last 5 MB of a partition: more steps of lane 1 than of lane 0. */
static void
test_a_step_that_one_lane_lost_is_not_kept_any_more(void **unused)
{
	enum { STEPS = 12 };
	static const size_t bytes[LANES] = {900 << 10, 700 << 10};
	const struct lane_map map = {LANES, LANES};
	struct step_records_kept kept;
	struct step_record out[LANES];
	struct step_records *r;
	char says[256];

	(void)unused;
	rd_kafka_mock_topic_set_error(
	    cluster, "cut.lanes", RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
	mock_topic("cut.batches", LANES);
	for (uint64_t step = 0; step < STEPS; step++)
		for (uint32_t lane = 0; lane < LANES; lane++) {
			put_bytes("cut", map, lane, step, bytes[lane]);
			assert_int_equal(
			    rd_kafka_flush(mock_writer, MOCK_WAIT_MS), RD_KAFKA_RESP_ERR_NO_ERROR);
		}
	r = open_records("cut");
	assert_int_equal(step_records_earliest(r, &kept, &f), FAIL_NONE);
	assert_true(kept.any && kept.lowest > 0 && kept.whole > kept.lowest);
	for (uint64_t step = 0; step < kept.whole; step++) {
		assert_int_equal(step_records_seek(r, step, &f), FAIL_DATA);
		snprintf(says, sizeof(says),
		    "step %d of mix cut is not kept any more: the earliest retained step is %d; "
		    "`riffle replay --mix cut --steps 0..%d --republish NEWMIX` publishes the "
		    "steps before it again",
		    (int)step, (int)kept.whole, (int)kept.whole);
		assert_string_equal(f.text, says);
	}
	for (uint64_t step = kept.whole; step < STEPS; step++) {
		assert_int_equal(step_records_seek(r, step, &f), FAIL_NONE);
		assert_int_equal(step_records_next(r, 0, out, &f), FAIL_NONE);
		for (int lane = 0; lane < LANES; lane++)
			assert_true(
			    step_of(&out[lane]) == step && out[lane].offset == (int64_t)step);
	}
	step_records_close(r);
}

/* Two lanes a partition, whose records stand in turn. */
static void
test_lanes_that_share_partitions_are_found_at_every_step(void **unused)
{
	const struct lane_map map = {SHARED_LANES, LANES};
	struct step_record out[SHARED_LANES];
	struct step_records *r;

	(void)unused;
	mock_topic("shared.lanes", SHARED_LANES);
	mock_topic("shared.batches", LANES);
	for (uint64_t step = 0; step < 30; step++)
		for (uint32_t lane = 0; lane < SHARED_LANES; lane++)
			put("shared", map, lane, step, false);
	r = open_records("shared");
	assert_int_equal(step_records_lanes(r), SHARED_LANES);
	assert_int_equal(step_records_map(r).partitions, LANES);
	for (uint64_t from = 0; from < 30; from += 7) {
		assert_int_equal(step_records_seek(r, from, &f), FAIL_NONE);
		for (uint64_t step = from; step < from + 2; step++) {
			assert_int_equal(step_records_next(r, 0, out, &f), FAIL_NONE);
			for (int lane = 0; lane < SHARED_LANES; lane++) {
				assert_int_equal(step_of(&out[lane]), step);
				assert_int_equal(out[lane].offset,
				    step * 2 + (uint64_t)lane % 2); /* of the partition */
			}
		}
	}
	step_records_close(r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_what_is_kept_and_every_step_of_it_is_found),
	    cmocka_unit_test(test_a_lane_that_lacks_steps_is_counted_and_its_hole_reported),
	    cmocka_unit_test(test_an_absent_lane_is_not_waited_for_from_its_step_on),
	    cmocka_unit_test(test_the_end_of_a_mix_is_a_record_and_nothing_follows_it),
	    cmocka_unit_test(test_a_step_that_one_lane_lost_is_not_kept_any_more),
	    cmocka_unit_test(test_lanes_that_share_partitions_are_found_at_every_step),
	};

	return cmocka_run_group_tests(tests, mock_begin, mock_end);
}
