/* published_step.h: the sequences of a step out of its lanes' records, their order, and blame. */
#include "consumer/replay/published_step.h"

#include "tests/unit/sample.h"

enum { LANES = 2, EACH = 3, STEP = 7 };

static const struct batch_domain domains[] = {{3, {"code", 4}}, {9, {"web", 3}}};

/* The k-th sequence of a lane. */
static struct batch_drawn
drawn(uint32_t lane, uint32_t k)
{
	return (struct batch_drawn){
	    .domain = domains[k % 2].index, .partition = 10 * lane + k, .ordinal = 100 - k};
}

/* A lane's record that claims these numbers; `domain` is added to the last sequence's. */
static void
put(struct published_step *s, uint32_t at, uint64_t step, uint32_t lane, uint32_t domain)
{
	const struct batch_head head = {.mix = {"m", 1},
	    .step = step,
	    .lane = lane,
	    .lanes = LANES,
	    .global_batch = LANES * EACH,
	    .lr_scale = 1};
	const struct sequence_position position = {.file = {"f", 1}};
	struct wire_writer record = {0}, w = {0};
	struct sequence_view view;

	assert_int_equal(sequence_encode(&record, 0, 1, &position, &sample_payload, &f), FAIL_NONE);
	assert_int_equal(sequence_decode(&view, record.bytes, record.n, &f), FAIL_NONE);
	assert_int_equal(batch_begin(&w, &head, domains, 2, EACH, &f), FAIL_NONE);
	for (uint32_t k = 0; k < EACH; k++) {
		struct batch_drawn d = drawn(lane, k);

		d.domain += k == EACH - 1 ? domain : 0;
		assert_int_equal(
		    batch_add(&w, &d, view.payload.raw, view.payload.raw_n, &f), FAIL_NONE);
	}
	assert_int_equal(batch_end(&w, &f), FAIL_NONE);
	free(s->lane[at].bytes);
	assert_int_equal(wire_writer_take(&w, &s->lane[at].bytes, &s->lane[at].n, &f), FAIL_NONE);
	s->lane[at].offset = 20 + at;
	wire_writer_close(&record);
}

static struct published_step
open_step(void)
{
	struct published_step s = {.step = STEP, .lanes = LANES, .topic = "m.batches"};

	s.lane = calloc(LANES, sizeof(*s.lane));
	for (uint32_t lane = 0; lane < LANES; lane++)
		put(&s, lane, STEP, lane, 0);
	return s;
}

static void
test_places_are_those_of_all_lanes_or_of_one(void **unused)
{
	struct published_step s = open_step();

	(void)unused;
	for (int64_t lane = -1; lane < LANES; lane++) {
		uint32_t first = lane < 0 ? 0 : (uint32_t)lane, lanes = lane < 0 ? LANES : 1;
		struct published_place *place;
		size_t n;

		assert_int_equal(published_step_places(&place, &n, &s, lane, &f), FAIL_NONE);
		assert_int_equal(n, lanes * EACH);
		for (size_t i = 0; i < n; i++) {
			const struct batch_drawn d =
			    drawn(first + (uint32_t)i / EACH, (uint32_t)i % EACH);

			assert_string_equal(place[i].domain, d.domain == 3 ? "code" : "web");
			assert_int_equal(place[i].partition, d.partition);
			assert_int_equal(place[i].ordinal, d.ordinal);
			assert_int_equal(place[i].lane, first + i / EACH);
			assert_int_equal(place[i].slot, i % EACH);
			assert_int_equal(place[i].spans_n, sample_payload.spans_n);
		}
		free(place);
	}
	published_step_close(&s);
	assert_true(s.lane == NULL && s.lanes == 0);
}

static void
test_what_is_wrong_is_told_with_its_lane(void **unused)
{
	static const struct {
		int64_t asked;
		uint64_t step;
		uint32_t lane, domain;
		bool derived;
		enum fail_code code;
		const char *says;
	} rows[] = {
	    {LANES, STEP, 1, 0, false, FAIL_USAGE, "--lane: out of range: 2 (the mix has 2)"},
	    {-1, STEP + 1, 1, 0, false, FAIL_DATA,
		"topic m.batches, lane 1, offset 21: step 7 was expected, but this is step 8 of "
		"lane 1. `riffle repair` reports what the lane lacks"},
	    {1, STEP, 0, 0, false, FAIL_DATA,
		"topic m.batches, lane 1, offset 21: step 7 was expected, but this is step 7 of "
		"lane 0. `riffle repair` reports what the lane lacks"},
	    {-1, STEP, 0, 0, true, FAIL_DATA,
		"step 7 as derived, lane 1: step 7 was expected, but this is step 7 of lane 0. "
		"`riffle repair` reports what the lane lacks"},
	    {-1, STEP, 1, 1, false, FAIL_DATA,
		"topic m.batches, lane 1, offset 21: a sequence is of domain number 4, which the "
		"record does not name"},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, says) {
		struct published_step s = open_step();
		struct published_place *place;
		size_t n;

		put(&s, 1, rows[i].step, rows[i].lane, rows[i].domain);
		s.derived = rows[i].derived;
		assert_int_equal(
		    published_step_places(&place, &n, &s, rows[i].asked, &f), rows[i].code);
		assert_string_equal(f.text, rows[i].says);
		assert_true(place == NULL && n == 0);
		if (rows[i].asked < 0) { /* lane 0 alone is right */
			assert_int_equal(published_step_places(&place, &n, &s, 0, &f), FAIL_NONE);
			assert_int_equal(n, EACH);
			free(place);
		}
		published_step_close(&s);
	}
}

static void
test_places_are_ordered_as_they_lie_in_the_domain_logs(void **unused)
{
	static const struct published_place sorted[] = {
	    {.domain = "code", .partition = 0, .ordinal = 9},
	    {.domain = "code", .partition = 1, .ordinal = 0},
	    {.domain = "code", .partition = 1, .ordinal = UINT64_C(1) << 40},
	    {.domain = "code", .partition = 10, .ordinal = 0},
	    {.domain = "web", .partition = 0, .ordinal = 0},
	};

	(void)unused;
	EACH_ROW(i, sorted)
		EACH_ROW(j, sorted) {
			int order = published_place_by_log(&sorted[i], &sorted[j]);

			assert_int_equal((order > 0) - (order < 0), (i > j) - (i < j));
		}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_places_are_those_of_all_lanes_or_of_one),
	    cmocka_unit_test(test_what_is_wrong_is_told_with_its_lane),
	    cmocka_unit_test(test_places_are_ordered_as_they_lie_in_the_domain_logs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
