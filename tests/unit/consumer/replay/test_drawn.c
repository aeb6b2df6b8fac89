/*
 * drawn.h: what two records of the ledger say about the draws between them, and searches in a
 * ledger in a mock cluster, compared with a list of all draws.
 */
#include "consumer/replay/drawn.h"

#include "common/base/log.h"
#include "consumer/plan/bound_config.h"
#include "tests/unit/mixes.h"
#include "tests/unit/mock_cluster.h"
#include "tests/unit/test.h"

static void
test_epochs_and_positions_say_what_was_drawn_between_two_records(void **unused)
{
	static const struct {
		bool joins, live; /* it is in the second record alone; it grows */
		int64_t epoch[2], taken[2];
		enum drawn_between between;
	} row[] = {
	    {false, false, {0, 0}, {5, 5}, DRAWN_NONE},
	    {false, false, {0, 0}, {5, 6}, DRAWN_WITHIN},
	    {false, false, {3, 3}, {5, 6}, DRAWN_WITHIN},
	    {false, false, {0, 1}, {5, 15}, DRAWN_ACROSS},
	    {false, false, {3, 4}, {5, 15}, DRAWN_ACROSS},
	    {false, false, {0, 1}, {5, 5}, DRAWN_NONE}, /* an epoch began, and nothing was drawn */
	    {false, false, {0, 2}, {5, 25}, DRAWN_ANY}, /* a whole one lies between them */
	    {false, false, {3, 7}, {5, 55}, DRAWN_ANY},
	    {false, true, {0, 0}, {5, 6}, DRAWN_WITHIN},
	    {false, true, {0, 1}, {5, 15}, DRAWN_ANY}, /* the first record knows no length of it */
	    {false, true, {1, 2}, {5, 15}, DRAWN_ACROSS},
	    {false, true, {1, 3}, {5, 15}, DRAWN_ANY},
	    {true, false, {0, 0}, {0, 0}, DRAWN_NONE},
	    {true, false, {0, 0}, {0, 1}, DRAWN_BEFORE},
	    {true, true, {0, 0}, {0, 1}, DRAWN_BEFORE},
	    {true, false, {0, 1}, {0, 15}, DRAWN_ANY},
	    {true, true, {0, 1}, {0, 15}, DRAWN_ANY},
	};

	(void)unused;
	EACH_ROW(i, row) {
		const struct ledger_domain x = {
		    .live = row[i].live, .epoch = row[i].epoch[0], .taken = row[i].taken[0]};
		const struct ledger_domain y = {
		    .live = row[i].live, .epoch = row[i].epoch[1], .taken = row[i].taken[1]};

		assert_int_equal(drawn_between(row[i].joins ? NULL : &x, &y), row[i].between);
	}
}

/* ---- in a ledger ---- */

enum {
	STEPS = 2000,
	AHEAD = 400, /* steps to come, that are known here */
	BATCH = 4,
	BATCH_WIDE = 8, /* from WIDE on */
	WIDE = 1500,
	LANES = 2,
	DRAWS_MAX = (STEPS + AHEAD) * BATCH_WIDE,
	WAIT_MS = 30000,
};

static struct failure f;
static char at_broker[256];
static struct property item[] = {{(char[]){"bootstrap.servers"}, at_broker}};

/* Every draw of the mix, in the order of steps, lanes and slots. */
static struct known {
	struct mixer_draw draw;
	struct drawn at;
} known[DRAWS_MAX];
static size_t known_n;

static struct config_domain domains[] = {
    {.name = (char[]){"large"}, .partitions = 2, .catch_up = 2},
    {.name = (char[]){"small"}, .partitions = 1, .catch_up = 2}};
static double weights[] = {0.9, 0.1}, phase_weights[] = {0.9, 0.1};
static struct config_phase phase = {
    .start_step = WIDE, .weight = phase_weights, .lr_scale = 1, .global_batch = BATCH_WIDE};
static char corpus[] = "c", mix[] = "m", phase_name[] = "wide";
static struct config config = {
    .corpus = corpus,
    .sequence_length = 64,
    .kafka = {1, item},
    .domains = domains,
    .domains_n = 2,
    .mix = {.name = mix,
	.seed = 5,
	.global_batch = BATCH,
	.lanes = LANES,
	.partitions = LANES,
	.window = 1,
	.permute = true,
	.weight = weights,
	.temperature = 1,
	.phases = &phase,
	.phases_n = 1},
};
static const uint64_t sequences[] = {6000, 3000, 150};
static const struct config_plan_length length[] = {
    {2, &sequences[0], NULL}, {1, &sequences[2], NULL}};

static void
put_record(rd_kafka_t *rk, const struct mixer *m, char *text, int64_t step_first)
{
	struct ledger l = {.config = text,
	    .mix = mix,
	    .step_first = step_first,
	    .kind = mixer_step_next(m) == 0 ? LEDGER_START : LEDGER_STEPS};
	uint8_t *bytes;
	size_t n;

	assert_int_equal(mixer_save(m, &l, &f), FAIL_NONE);
	assert_int_equal(ledger_encode(&l, &bytes, &n, &f), FAIL_NONE);
	assert_int_equal(rd_kafka_producev(rk, RD_KAFKA_V_TOPIC("m.ledger"),
			     RD_KAFKA_V_PARTITION(0), RD_KAFKA_V_VALUE(bytes, n),
			     RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_FREE), RD_KAFKA_V_END),
	    RD_KAFKA_RESP_ERR_NO_ERROR);
	l.config = l.mix = NULL;
	ledger_clear(&l);
}

static void
take_step(struct mixer *m, bool planned)
{
	struct mixer_draw draw[BATCH_WIDE];
	enum mixer_result result;

	assert_int_equal(mixer_step(m, draw, &result, &f), FAIL_NONE);
	assert_int_equal(result, MIXER_DRAWN);
	for (uint32_t i = 0, each = mixer_global_batch(m) / LANES; i < mixer_global_batch(m); i++)
		known[known_n++] = (struct known){draw[i], {.step = mixer_step_next(m) - 1,
							       .epoch = draw[i].epoch,
							       .lane = i / each,
							       .slot = i % each,
							       .planned = planned}};
}

/* Records of one step and of several, and some that answer requests and have none. */
static void
write_ledger(struct mixer *m, char *text)
{
	struct kafka_options o = {.role = KAFKA_WRITER,
	    .client = "test",
	    .properties = &config.kafka,
	    .message_bytes_max = 1 << 20};
	rd_kafka_t *rk;

	assert_int_equal(kafka_open(&rk, &o, &f), FAIL_NONE);
	put_record(rk, m, text, 0);
	for (uint64_t step = 0, k = 0; step < STEPS; k++) {
		uint64_t n = k % 3 == 2 ? 0 : k % 50 == 0 ? 20 : 1;

		for (uint64_t i = 0; i < n; i++)
			take_step(m, false);
		put_record(rk, m, text, (int64_t)step);
		step += n;
	}
	assert_int_equal(rd_kafka_flush(rk, WAIT_MS), RD_KAFKA_RESP_ERR_NO_ERROR);
	kafka_close(rk);
}

/* Each draw that is found must be expected, once. */
struct expected {
	struct drawn at[256];
	size_t n, left;
};

static enum fail_code
meet(void *opaque, const struct drawn *d, struct failure *unused)
{
	struct expected *x = opaque;

	(void)unused;
	for (size_t i = 0; i < x->n; i++)
		if (x->at[i].sequence == d->sequence && x->at[i].step == d->step &&
		    x->at[i].epoch == d->epoch && x->at[i].lane == d->lane &&
		    x->at[i].slot == d->slot && x->at[i].planned == d->planned) {
			x->at[i].step = UINT64_MAX;
			x->left--;
			return FAIL_NONE;
		}
	print_error("step %llu, lane %u, slot %u is not expected\n", (unsigned long long)d->step,
	    (unsigned)d->lane, (unsigned)d->slot);
	assert_true(false);
	return FAIL_NONE;
}

/* All draws of the sequences in steps [first, end). Returns the step after the last new one. */
static uint64_t
expect(struct expected *x, const struct drawn_sequence *q, size_t n, uint64_t first, uint64_t end,
    bool plan)
{
	bool seen[8] = {false};
	uint64_t behind = 0;

	memset(x, 0, sizeof(*x));
	for (size_t i = 0; i < known_n; i++) {
		const struct known *k = &known[i];

		for (size_t t = 0; t < n; t++) {
			if (strcmp(q[t].domain, domains[k->draw.domain].name) != 0 ||
			    q[t].partition != k->draw.partition ||
			    q[t].ordinal != k->draw.ordinal || k->at.step < first ||
			    k->at.step >= end || (k->at.planned && !plan))
				continue;
			if (k->at.planned && !seen[t])
				behind = k->at.step + 1;
			seen[t] = seen[t] || k->at.planned;
			assert_true(x->n < 256);
			x->at[x->n] = k->at;
			x->at[x->n++].sequence = t;
		}
	}
	x->left = x->n;
	return behind;
}

static void
check(const struct drawn_sequence *q, size_t n, uint64_t first, uint64_t end, bool plan)
{
	static struct expected x;
	const struct drawn_options o = {.config = &config,
	    .mix = mix,
	    .sequence = q,
	    .n = n,
	    .first = first,
	    .end = end,
	    .plan = plan,
	    .stop = &(const struct stop){0},
	    .found = meet,
	    .opaque = &x};
	struct drawn_result result;
	uint64_t until = end, behind = expect(&x, q, n, first, end, plan);

	if (plan && end == UINT64_MAX) { /* until each was drawn once more */
		until = behind;
		expect(&x, q, n, first, until, plan);
	}
	assert_int_equal(drawn_find(&o, &result, &f), FAIL_NONE);
	assert_int_equal(x.left, 0);
	assert_int_equal(result.published, STEPS);
	assert_int_equal(result.planned_end, plan && until > STEPS ? until : STEPS);
	assert_true(!result.ended && !result.full && result.dry[0] == '\0');
}

static void
test_every_draw_of_a_sequence_is_found_and_no_other(void **unused)
{
	static const struct drawn_sequence q[] = {{"large", 0, 17}, {"small", 0, 3},
	    {"large", 1, 17}, {"nobody", 0, 3}, {"large", 0, 5999}};
	struct config_plan plan;
	struct mixer *m;
	char *text;

	(void)unused;
	phase.name = phase_name;
	assert_int_equal(config_plan_open(&plan, &config, length, &f), FAIL_NONE);
	assert_int_equal(bound_config_text(&text, &config, &plan, 7, &f), FAIL_NONE);
	m = mixes_open(&plan.plan);
	write_ledger(m, text);
	for (int i = 0; i < AHEAD; i++)
		take_step(m, true);
	check(q, 1, 0, UINT64_MAX, false); /* one among all steps: halved */
	check(q, 5, 0, UINT64_MAX, false);
	check(q + 1, 1, 700, 1600, false);
	check(q + 1, 1, 0, STEPS + AHEAD, true);
	check(q + 1, 1, STEPS + 3, STEPS + 200, true);
	check(q + 1, 1, 0, UINT64_MAX, true);
	check(q, 0, 0, UINT64_MAX, false);
	for (size_t i = 0; i < 8; i++) { /* found in their own steps only */
		const struct known *k = &known[i * 997 % (STEPS * BATCH)];
		struct drawn_sequence one = {
		    .partition = k->draw.partition, .ordinal = k->draw.ordinal};

		snprintf(one.domain, sizeof(one.domain), "%s", domains[k->draw.domain].name);
		check(&one, 1, k->at.step, k->at.step + 1, false);
		check(&one, 1, k->at.step + 1, UINT64_MAX, false);
		check(&one, 1, 0, k->at.step, false);
	}
	/* The first draws of an epoch that began within a transaction. */
	for (size_t i = 0, epoch = 0; i < known_n && !known[i].at.planned; i++) {
		const struct mixer_draw *d = &known[i].draw;
		const struct drawn_sequence one = {"small", d->partition, d->ordinal};

		if (d->domain != 1 || d->epoch == epoch)
			continue;
		check(&one, 1, 0, UINT64_MAX, false);
		epoch = d->epoch;
	}
	mixer_close(m);
	free(text);
	config_plan_close(&plan);
}

static int
open_cluster(void **unused)
{
	(void)unused;
	if (open_mock_cluster(&f) != FAIL_NONE)
		return -1;
	snprintf(at_broker, sizeof(at_broker), "%s", rd_kafka_mock_cluster_bootstraps(cluster));
	return rd_kafka_mock_topic_create(cluster, "m.ledger", 1, 1);
}

static int
close_cluster(void **unused)
{
	(void)unused;
	kafka_close(owner);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_epochs_and_positions_say_what_was_drawn_between_two_records),
	    cmocka_unit_test(test_every_draw_of_a_sequence_is_found_and_no_other),
	};

	log_set_level(LOG_ERROR);
	return cmocka_run_group_tests(tests, open_cluster, close_cluster);
}
