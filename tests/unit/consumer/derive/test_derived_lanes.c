/* derived_lanes.h: which steps and events come, from a ledger and domain logs in a mock cluster. */
#include "consumer/derive/derived_lanes.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "common/base/clock.h"
#include "common/record/batch.h"
#include "common/record/ledger.h"
#include "consumer/plan/bound_config.h"
#include "consumer/plan/config_plan.h"
#include "tests/unit/mixes.h"
#include "tests/unit/mock_cluster.h"
#include "tests/unit/sample.h"

enum {
	LANES = 4,
	FIRST_LANE = 1, /* of the rank, which has 2 */
	COUNT = 2,
	LENGTH = 100, /* sequences of each domain */
	WAIT_MS = 30000,
	STEPS_MAX = 16,
};

static struct failure f;
static rd_kafka_t *writer;
static char at_broker[256];
static struct property item[] = {{(char[]){"bootstrap.servers"}, at_broker}};
static const struct properties properties = {1, item};
static atomic_bool awake;

/* ---- what is written ---- */

static void
write_record(const char *topic, const uint8_t *bytes, size_t n)
{
	assert_int_equal(rd_kafka_producev(writer, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_PARTITION(0),
			     RD_KAFKA_V_VALUE((void *)(uintptr_t)bytes, n),
			     RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END),
	    RD_KAFKA_RESP_ERR_NO_ERROR);
}

static void
write_domain(const char *topic)
{
	static const struct sequence_position position = {0};
	struct sequence_payload payload = sample_payload;

	payload.frame_hash = XXH64(sample_frame, sizeof(sample_frame), 0);
	for (uint64_t k = 0; k < LENGTH; k++) {
		struct wire_writer w = {0};

		assert_int_equal(
		    sequence_encode(&w, k, SAMPLE_TOKENIZER, &position, &payload, &f), FAIL_NONE);
		write_record(topic, w.bytes, w.n);
		wire_writer_close(&w);
	}
}

/* A mix of two domains, of which the ledger's records are written one by one. */
struct scene {
	char mix[16], topic[32];
	struct config c;
	struct config_domain domain[2];
	double weight[2];
	uint64_t sequences[2];
	struct config_plan_length length[2];
	struct config_plan plan;
	char *text;
	struct mixer *mixer;
	struct derived_lanes *lanes;
	uint64_t put[STEPS_MAX * COUNT]; /* steps, in the order in which their records came */
	size_t puts;
	bool last; /* of the record that came last */
};

static enum fail_code
put(void *opaque, uint32_t lane, uint64_t step, uint8_t *bytes, size_t n, struct failure *why)
{
	struct scene *s = opaque;
	struct batch_view view;

	assert_true(s->puts < sizeof(s->put) / sizeof(s->put[0]));
	assert_int_equal(lane, FIRST_LANE + s->puts % COUNT);
	assert_int_equal(batch_decode(&view, bytes, n, why), FAIL_NONE);
	assert_int_equal(view.head.step, step);
	assert_int_equal(view.head.lane, lane);
	assert_int_equal(view.sequences_n, view.head.last ? 0 : 2);
	s->put[s->puts++] = step;
	s->last = view.head.last;
	free(bytes);
	return FAIL_NONE;
}

/* In place: pointers in it point to it. */
static void
scene_open(struct scene *s, const char *mix, enum mix_batches batches)
{
	struct derived_lanes_options o = {.mix = mix,
	    .properties = &properties,
	    .lanes = LANES,
	    .first = FIRST_LANE,
	    .count = COUNT,
	    .memory_bytes = 1 << 22,
	    .timeout_ms = WAIT_MS,
	    .awake = &awake,
	    .put = put,
	    .opaque = s};

	memset(s, 0, sizeof(*s));
	snprintf(s->mix, sizeof(s->mix), "%s", mix);
	snprintf(s->topic, sizeof(s->topic), "%s.ledger", mix);
	assert_int_equal(rd_kafka_mock_topic_create(cluster, s->topic, 1, 1), 0);
	s->domain[0] =
	    (struct config_domain){.name = (char[]){"a"}, .partitions = 1, .catch_up = 2};
	s->domain[1] =
	    (struct config_domain){.name = (char[]){"b"}, .partitions = 1, .catch_up = 2};
	for (size_t i = 0; i < 2; i++) {
		s->weight[i] = 0.5;
		s->sequences[i] = LENGTH;
		s->length[i] = (struct config_plan_length){1, &s->sequences[i], NULL};
	}
	s->c.corpus = (char[]){"c"};
	s->c.sequence_length = 8;
	s->c.domains = s->domain;
	s->c.domains_n = 2;
	s->c.mix.name = s->mix;
	s->c.mix.weights_kind = CONFIG_WEIGHTS_MAP;
	s->c.mix.global_batch = 8;
	s->c.mix.lanes = LANES;
	s->c.mix.partitions = LANES;
	s->c.mix.batches = batches;
	s->c.mix.window = 1;
	s->c.mix.weight = s->weight;
	s->c.mix.temperature = 1;
	assert_int_equal(config_plan_open(&s->plan, &s->c, s->length, &f), FAIL_NONE);
	assert_int_equal(
	    bound_config_text(&s->text, &s->c, &s->plan, SAMPLE_TOKENIZER, &f), FAIL_NONE);
	s->mixer = mixes_open(&s->plan.plan);
	assert_int_equal(derived_lanes_open(&s->lanes, &o, &f), FAIL_NONE);
}

static void
scene_close(struct scene *s)
{
	derived_lanes_close(s->lanes);
	mixer_close(s->mixer);
	free(s->text);
	config_plan_close(&s->plan);
}

/* Steps the mixer to `end`, and writes the record of these steps; `wrong` is a hash that lies. */
static void
record(struct scene *s, enum ledger_kind kind, uint64_t end, bool wrong)
{
	struct ledger l = {0};
	uint64_t first = mixer_step_next(s->mixer);
	uint8_t *bytes;
	size_t n;

	while (mixer_step_next(s->mixer) < end)
		mixes_step(s->mixer, NULL, NULL);
	assert_int_equal(mixer_save(s->mixer, &l, &f), FAIL_NONE);
	l.kind = kind;
	free(l.mix);
	l.mix = strdup(s->mix);
	free(l.config);
	l.config = strdup(s->text);
	l.tokenizer = SAMPLE_TOKENIZER;
	l.step_first = (int64_t)first;
	l.choices ^= wrong;
	assert_int_equal(ledger_encode(&l, &bytes, &n, &f), FAIL_NONE);
	write_record(s->topic, bytes, n);
	assert_int_equal(rd_kafka_flush(writer, WAIT_MS), RD_KAFKA_RESP_ERR_NO_ERROR);
	free(bytes);
	ledger_clear(&l);
}

static enum fail_code
next(struct scene *s, enum derived_lanes_event *event, uint64_t *step)
{
	return derived_lanes_next(s->lanes, clock_ms() + WAIT_MS, event, step, &f);
}

/* The next event is a step of its own. */
static void
assert_step(struct scene *s, uint64_t expected)
{
	enum derived_lanes_event event;
	size_t before = s->puts;
	uint64_t step;

	assert_int_equal(next(s, &event, &step), FAIL_NONE);
	assert_int_equal(event, DERIVED_LANES_STEP);
	assert_int_equal(step, expected);
	assert_int_equal(s->puts, before + COUNT);
	for (int i = 0; i < COUNT; i++)
		assert_int_equal(s->put[before + (size_t)i], expected);
}

static void
assert_event(struct scene *s, enum derived_lanes_event expected, uint64_t at)
{
	enum derived_lanes_event event;
	size_t before = s->puts;
	uint64_t step;

	assert_int_equal(next(s, &event, &step), FAIL_NONE);
	assert_int_equal(event, expected);
	assert_int_equal(step, at);
	assert_int_equal(s->puts, before);
}

/* Nothing comes, and it is not waited for: `awake` ends waits. */
static void
assert_nothing(struct scene *s)
{
	enum derived_lanes_event event;
	uint64_t step;

	atomic_store(&awake, true);
	assert_int_equal(next(s, &event, &step), FAIL_TIMEOUT);
	atomic_store(&awake, false);
}

static void
assert_range(struct scene *s, uint64_t low, uint64_t high)
{
	uint64_t l, h;

	assert_int_equal(derived_lanes_range(s->lanes, &l, &h, &f), FAIL_NONE);
	assert_int_equal(l, low);
	assert_int_equal(h, high);
}

/* ---- tests ---- */

static void
test_each_step_comes_once_and_then_what_is_published_later(void **unused)
{
	struct scene s;

	(void)unused;
	scene_open(&s, "m1", MIX_BATCHES_DERIVED);
	assert_range(&s, 0, 0);
	derived_lanes_seek(s.lanes, 0);
	assert_event(&s, DERIVED_LANES_AT_END, 0); /* the mix has not begun */
	assert_nothing(&s);
	record(&s, LEDGER_START, 0, false);
	assert_nothing(&s);
	record(&s, LEDGER_STEPS, 3, false);
	assert_range(&s, 0, 3);
	derived_lanes_seek(s.lanes, 0);
	for (uint64_t step = 0; step < 3; step++)
		assert_step(&s, step);
	assert_event(&s, DERIVED_LANES_AT_END, 3);
	assert_nothing(&s);
	record(&s, LEDGER_STEPS, 3, false); /* an answer to a request: no step */
	record(&s, LEDGER_STEPS, 4, false);
	assert_step(&s, 3);
	assert_event(&s, DERIVED_LANES_AT_END, 4);
	record(&s, LEDGER_STEPS, 6, false);
	assert_step(&s, 4);
	assert_step(&s, 5);
	assert_false(s.last);
	assert_event(&s, DERIVED_LANES_AT_END, 6);
	record(&s, LEDGER_END, 6, false);
	assert_step(&s, 6); /* the record that ends the mix */
	assert_true(s.last);
	assert_event(&s, DERIVED_LANES_AT_END, 6);
	assert_nothing(&s);
	assert_range(&s, 0, 7);
	scene_close(&s);
}

static void
test_a_step_that_is_sought_is_the_first_that_comes(void **unused)
{
	static const uint64_t sought[] = {0, 1, 2, 3, 4, 5};
	struct scene s;

	(void)unused;
	scene_open(&s, "m2", MIX_BATCHES_DERIVED);
	record(&s, LEDGER_START, 0, false);
	record(&s, LEDGER_STEPS, 2, false);
	record(&s, LEDGER_STEPS, 5, false);
	EACH_ROW(i, sought) {
		s.puts = 0;
		derived_lanes_seek(s.lanes, sought[i]);
		for (uint64_t step = sought[i]; step < 5; step++)
			assert_step(&s, step);
		assert_event(&s, DERIVED_LANES_AT_END, 5);
	}
	record(&s, LEDGER_END, 5, false);
	s.puts = 0;
	derived_lanes_seek(s.lanes, 5); /* what a lane shows last is its end */
	assert_step(&s, 5);
	assert_true(s.last);
	scene_close(&s);
}

/* What a cut ledger begins with has the state after its steps: they cannot be derived any more. */
static void
test_the_earliest_step_of_a_cut_ledger_is_the_one_after_its_first_record(void **unused)
{
	static const struct {
		uint64_t sought;
		bool lost;
	} row[] = {{0, true}, {2, true}, {3, true}, {4, false}, {5, false}, {6, false}};
	struct scene s;

	(void)unused;
	scene_open(&s, "m3", MIX_BATCHES_DERIVED);
	while (mixer_step_next(s.mixer) < 2)
		mixes_step(s.mixer, NULL, NULL);
	record(&s, LEDGER_STEPS, 4, false);
	record(&s, LEDGER_STEPS, 6, false);
	assert_range(&s, 4, 6);
	EACH_ROW(i, row) {
		s.puts = 0;
		derived_lanes_seek(s.lanes, row[i].sought);
		if (row[i].lost)
			assert_event(&s, DERIVED_LANES_LOST, row[i].sought);
		else if (row[i].sought < 6)
			assert_step(&s, row[i].sought);
		else
			assert_event(&s, DERIVED_LANES_AT_END, 6);
	}
	scene_close(&s);
}

static void
test_a_ledger_that_does_not_fit_is_refused(void **unused)
{
	enum derived_lanes_event event;
	struct scene s;
	uint64_t step;

	(void)unused;
	scene_open(&s, "m4", MIX_BATCHES_DERIVED);
	record(&s, LEDGER_START, 0, false);
	record(&s, LEDGER_STEPS, 2, true);
	derived_lanes_seek(s.lanes, 0);
	assert_step(&s, 0);
	assert_step(&s, 1);
	assert_int_equal(next(&s, &event, &step), FAIL_DATA);
	assert_non_null(strstr(f.text, "steps 0..2 of mix m4 are not derived as the ledger has"));
	scene_close(&s);

	scene_open(&s, "m5", MIX_BATCHES_COPIED);
	record(&s, LEDGER_START, 0, false);
	derived_lanes_seek(s.lanes, 0);
	assert_int_equal(next(&s, &event, &step), FAIL_CONFIG);
	assert_non_null(strstr(f.text, "topic m5.batches does not exist, and the mix has"));
	scene_close(&s);
}

static int
begin(void **unused)
{
	struct kafka_options o = {.role = KAFKA_WRITER,
	    .client = "test",
	    .properties = &properties,
	    .message_bytes_max = 1 << 20};

	(void)unused;
	if (open_mock_cluster(&f) != FAIL_NONE ||
	    rd_kafka_mock_topic_create(cluster, "c.a", 1, 1) ||
	    rd_kafka_mock_topic_create(cluster, "c.b", 1, 1))
		return -1;
	snprintf(at_broker, sizeof(at_broker), "%s", rd_kafka_mock_cluster_bootstraps(cluster));
	if (kafka_open(&writer, &o, &f) != FAIL_NONE)
		return -1;
	write_domain("c.a");
	write_domain("c.b");
	return 0;
}

static int
end(void **unused)
{
	(void)unused;
	kafka_close(writer);
	kafka_close(owner);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_each_step_comes_once_and_then_what_is_published_later),
	    cmocka_unit_test(test_a_step_that_is_sought_is_the_first_that_comes),
	    cmocka_unit_test(
		test_the_earliest_step_of_a_cut_ledger_is_the_one_after_its_first_record),
	    cmocka_unit_test(test_a_ledger_that_does_not_fit_is_refused),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
