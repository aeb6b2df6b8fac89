/* Every allocation refused in turn: the mixer, its forecast, blocks in memory, losses, steps. */
#include "tests/unit/memory.h"

#include "common/record/feedback.h"
#include "common/record/frame.h"
#include "consumer/domain/feed_block.h"
#include "consumer/feedback/losses.h"
#include "consumer/plan/forecast.h"
#include "consumer/reader/step_decode.h"
#include "tests/unit/mixes.h"
#include "tests/unit/sample.h"

static const uint64_t many[] = {5000, 300}, few[] = {40};
static char name_new[] = "new", name_web[] = "web", who[] = "somebody";
static struct ledger_raw_weight web_half = {name_web, 0.5};

static const struct mixer_source sources[] = {
    {.name = "code", .weight = 1, .partitions_n = 2, .sequences = many},
    {.name = "fine", .weight = 0.1, .partitions_n = 1, .sequences = few},
    {.name = "live",
	.weight = 0.5,
	.partitions_n = 1,
	.sequences = many,
	.live = true,
	.on_dry = MIX_DRY_LEND},
    {.name = "web", .weight = 3, .partitions_n = 1, .sequences = many},
};
static const struct mixer_source joining = {
    .name = "new", .weight = 1, .partitions_n = 1, .sequences = many};
static const struct mixer_phase phases[] = {
    {.name = "half", .start_step = 3, .weight = &web_half, .weights_n = 1},
    {.name = "cool", .start_step = 6, .temperature = 2},
};

static struct mixer_plan
plan(void)
{
	struct mixer_plan p = mixes_plan(sources, 4);

	p.phase = phases;
	p.phases_n = 2;
	return p;
}

static enum fail_code
step(struct mixer *m, int n, uint64_t *gave, struct failure *f)
{
	static struct mixer_draw draws[MIXES_BATCH_MAX];

	for (int i = 0; i < n; i++) {
		enum mixer_result result;

		if (mixer_step(m, draws, &result, f) != FAIL_NONE)
			return f->code;
		memory_gave(gave, result);
		for (uint32_t k = 0; result == MIXER_DRAWN && k < mixer_global_batch(m); k++)
			memory_gave(gave, draws[k].domain << 20 ^ draws[k].ordinal);
	}
	return FAIL_NONE;
}

/* Requests of each kind; one that finds no memory can be asked again, and changes nothing. */
static enum fail_code
ask_all(struct mixer *m, uint64_t *gave, struct failure *f)
{
	static char ids[5][2] = {"1", "2", "3", "4", "5"};
	struct control c[] = {
	    {.id = ids[0],
		.kind = LEDGER_WEIGHTS,
		.at_step = 5,
		.weight = &web_half,
		.weights_n = 1,
		.who = who},
	    {.id = ids[1],
		.kind = LEDGER_SKIP,
		.at_step = -1,
		.domain = name_web,
		.first = 7,
		.end = 90,
		.who = who},
	    {.id = ids[2],
		.kind = LEDGER_JOIN,
		.at_step = 4,
		.domain = name_new,
		.weight = &(struct ledger_raw_weight){name_new, 1},
		.weights_n = 1,
		.who = who},
	    {.id = ids[3], .kind = LEDGER_LEAVE, .at_step = 8, .domain = name_web, .who = who},
	    {.id = ids[4], .kind = LEDGER_LEAVE, .at_step = -1, .domain = who, .who = who},
	};

	EACH_ROW(i, c) {
		struct ledger_answer answer = {0};
		size_t pending = mixer_pending(m);
		struct failure why = {0};
		bool duplicate;
		enum fail_code code = mixer_request(m, &c[i],
		    c[i].kind == LEDGER_JOIN ? &joining : NULL, &answer, &duplicate, &why);

		if (code != FAIL_NONE)
			assert_int_equal(mixer_pending(m), pending);
		else
			memory_gave_bytes(gave, answer.text, strlen(answer.text));
		ledger_answer_clear(&answer);
		if (code != FAIL_NONE) {
			*f = why;
			return code;
		}
	}
	return FAIL_NONE;
}

static enum fail_code
resume(const struct mixer_plan *p, const struct ledger *l, uint64_t *gave, struct failure *f)
{
	struct mixer *m = NULL;

	if (mixer_resume(&m, p, l, f) == FAIL_NONE)
		step(m, 9, gave, f);
	mixer_close(m);
	return f->code;
}

static enum fail_code
mix(uint64_t *gave, struct failure *f)
{
	struct mixer_plan p = plan();
	struct mixer *m = NULL, *copy = NULL;
	struct ledger l = {0};

	if (mixer_open(&m, &p, f) == FAIL_NONE && step(m, 2, gave, f) == FAIL_NONE &&
	    mixer_quarantine(m, 3, 0, 17, "torn", f) == FAIL_NONE &&
	    ask_all(m, gave, f) == FAIL_NONE && mixer_copy(&copy, m, f) == FAIL_NONE &&
	    step(copy, 9, gave, f) == FAIL_NONE && mixer_save(m, &l, f) == FAIL_NONE)
		resume(&p, &l, gave, f);
	ledger_clear(&l);
	mixer_close(copy);
	mixer_close(m);
	return f->code;
}

static enum fail_code
change(uint64_t *gave, struct failure *f)
{
	struct mixer_source changed[] = {sources[0], sources[2], joining, sources[3]};
	struct mixer_plan p = plan(), q = mixes_plan(changed, 4);
	static const uint64_t longer[] = {6000};
	struct mixer *m = NULL;

	changed[0].weight = 7;
	if (mixer_open(&m, &p, f) == FAIL_NONE && step(m, 2, gave, f) == FAIL_NONE &&
	    mixer_set_lengths(m, 2, longer, (const bool[]){true}, f) == FAIL_NONE &&
	    mixer_replan(m, &q, NULL, f) == FAIL_NONE)
		step(m, 4, gave, f);
	mixer_close(m);
	return f->code;
}

static enum fail_code
foresee(uint64_t *gave, struct failure *f)
{
	struct mixer_plan p = plan();
	struct forecast *fc = NULL;

	if (forecast_open(&fc, &p, 20, NULL, f) == FAIL_NONE)
		for (size_t i = 0; i < fc->domains_n; i++)
			memory_gave(gave, fc->domain[i].at_end.taken);
	forecast_close(fc);
	return f->code;
}

static void
test_a_mix_is_drawn_or_there_is_no_memory(void **state)
{
	(void)state;
	memory_walk("mixer", mix);
	memory_walk("mixer_replan", change);
	memory_walk("forecast", foresee);
}

/* ---- blocks of sequences ---- */

static bool
fill_block(struct feed_block *b, struct feed_block_pool *pool, uint64_t *gave)
{
	static uint8_t payload[100 << 10];

	for (uint32_t i = 0; i < 8; i++)
		if (!(i % 3 == 2
			    ? feed_block_put_bad(b, pool, "torn", payload, 100, (int64_t)i)
			    : feed_block_put(b, pool, payload, sizeof(payload), 9, 0, (int64_t)i)))
			return false;
	memory_gave(gave, b->bytes);
	return true;
}

static enum fail_code
hold_block(uint64_t *gave, struct failure *f)
{
	struct feed_block_pool pool = {0};
	struct feed_block *b = feed_block_open(1, 2, 0, 4);

	if (b == NULL || !feed_block_grow(b, 8) || !fill_block(b, &pool, gave))
		fail_memory(f);
	feed_block_close(b, &pool);
	feed_block_pool_close(&pool);
	return f->code;
}

/* ---- losses ---- */

static enum fail_code
add_losses(struct losses *l, uint64_t *gave, struct failure *f)
{
	static char m[] = "m", r[] = "r";
	struct feedback_loss loss = {name_web, 12, 3, 4};
	struct losses_step s;

	for (uint32_t i = 0; i < 8; i++) {
		struct feedback b = {.mix = m,
		    .run = r,
		    .step = i / 2,
		    .rank = i % 2,
		    .world = 2,
		    .loss = &loss,
		    .losses_n = 1};

		if (losses_add(l, &b, i, f) != FAIL_NONE)
			return f->code;
		while (losses_next(l, false, &s))
			memory_gave(gave, (uint64_t)s.step);
	}
	return FAIL_NONE;
}

static enum fail_code
sum_losses(uint64_t *gave, struct failure *f)
{
	static const char *const domains[] = {"code", "web"};
	struct losses_options o = {.mix = "m", .run = "r", .domain = domains, .domains_n = 2};
	struct losses *l = NULL;

	if (losses_open(&l, &o, f) == FAIL_NONE)
		add_losses(l, gave, f);
	losses_close(l);
	return f->code;
}

/* ---- steps ---- */

static uint8_t lane[4096];
static size_t lane_n;

/* One lane of two sequences, in memory of the test's. */
static void
make_lane(void)
{
	static const struct batch_domain domain = {3, {"web", 3}};
	struct batch_head h = {.mix = {"m", 1}, .lanes = 1, .global_batch = 2, .lr_scale = 1};
	struct sequence_position position = {.file = {"x", 1}};
	struct wire_writer w = {0}, record = {0};
	struct sequence_payload p = sample_payload;
	struct sequence_view view;
	struct frame_codec *codec;
	struct failure f;
	uint8_t frame[256];

	assert_int_equal(frame_codec_open(&codec, &f), FAIL_NONE);
	assert_int_equal(frame_encode(codec, (const uint32_t[9]){1, 2, 3}, 9, 2, frame,
			     sizeof(frame), &p.frame_n, &f),
	    FAIL_NONE);
	p.frame = frame;
	p.frame_hash = frame_hash(frame, p.frame_n);
	assert_int_equal(sequence_encode(&record, 0, 1, &position, &p, &f), FAIL_NONE);
	assert_int_equal(sequence_decode(&view, record.bytes, record.n, &f), FAIL_NONE);
	assert_int_equal(batch_begin(&w, &h, &domain, 1, 2, &f), FAIL_NONE);
	for (uint64_t i = 0; i < 2; i++)
		assert_int_equal(batch_add(&w, &(struct batch_drawn){3, 0, i, 0}, view.payload.raw,
				     view.payload.raw_n, &f),
		    FAIL_NONE);
	assert_int_equal(batch_end(&w, &f), FAIL_NONE);
	assert_true(w.n <= sizeof(lane));
	lane_n = w.n;
	memcpy(lane, w.bytes, w.n);
	wire_writer_close(&w);
	wire_writer_close(&record);
	frame_codec_close(codec);
}

static enum fail_code
decode_steps(uint64_t *gave, struct failure *f)
{
	struct step_decode *d = NULL;
	struct batch_view b;
	struct riffle_step s = {0};

	if (step_decode_open(&d, 4, f) == FAIL_NONE)
		for (int i = 0; i < 3; i++) {
			if (step_decode_begin(d, 1, 2, f) != FAIL_NONE ||
			    batch_decode(&b, lane, lane_n, f) != FAIL_NONE ||
			    step_decode_lane(d, &b, f) != FAIL_NONE)
				break;
			step_decode_end(d, &s);
			memory_gave_bytes(gave, s.tokens, 2 * 9 * 4);
			memory_gave_bytes(gave, s.sequence[1].domain, 3);
		}
	step_decode_close(d);
	return f->code;
}

static void
test_blocks_losses_and_steps_are_made_or_there_is_no_memory(void **state)
{
	(void)state;
	memory_walk("feed_block", hold_block);
	memory_walk("losses", sum_losses);
	make_lane();
	memory_walk("step_decode", decode_steps);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_mix_is_drawn_or_there_is_no_memory),
	    cmocka_unit_test(test_blocks_losses_and_steps_are_made_or_there_is_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
