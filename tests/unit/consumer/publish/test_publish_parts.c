/*
 * lengths.h, standby.h, lane_output.h: when they ask, what they pass on and what they say. The
 * modules around them are replaced here: the clock, the domains' questions, the ledger, the
 * assembler and the transactions.
 */
#include "common/base/clock.h"
#include "common/record/batch.h"
#include "consumer/publish/lane_output.h"
#include "consumer/publish/lengths.h"
#include "consumer/publish/standby.h"
#include "tests/unit/capture.h"
#include "tests/unit/mixes.h"
#include "tests/unit/sample.h"

/* ---- in place of clock.c ---- */

static int64_t now_ms;

int64_t
clock_ms(void)
{
	return now_ms;
}

/* ---- in place of domains.c and assembler.c ---- */

static struct mixer *mixer;
static char asked; /* a: all domains, l: the live ones, -: none */
static int changes;
static enum fail_code ask_fails;

enum fail_code
domains_ask(struct domains *d, rd_kafka_t *reader, bool live_only, struct failure *why)
{
	(void)d;
	(void)reader;
	asked = live_only ? 'l' : 'a';
	return ask_fails == FAIL_NONE ? FAIL_NONE : fail(why, ask_fails, "no answer");
}

const struct mixer *
assembler_mixer(const struct assembler *a)
{
	(void)a;
	return mixer;
}

struct mixer *
assembler_change(struct assembler *a)
{
	(void)a;
	changes++;
	return mixer;
}

/* ---- lengths ---- */

enum { FIXED, LIVE, DOMAINS_N };

static uint64_t fixed_sequences[3], live_sequences[1];
static bool fixed_sealed[3], live_sealed[1];
static struct domains_facts facts[DOMAINS_N + 2]; /* the last one is no domain's */
static struct domains domains = {.facts = facts};

/* A mixer that counts with 10 + 20 sequences of one domain, and 5 of a live one. */
static void
open_domains(void)
{
	static const uint64_t counted[] = {10, 20}, live_counted[] = {5};
	static const struct mixer_source source[] = {
	    {.name = "fixed", .weight = 1, .partitions_n = 2, .sequences = counted},
	    {.name = "live",
		.weight = 1,
		.partitions_n = 1,
		.sequences = live_counted,
		.live = true},
	};
	const struct mixer_plan p = mixes_plan(source, DOMAINS_N);

	mixer = mixes_open(&p);
	memcpy(fixed_sequences, counted, sizeof(counted));
	fixed_sealed[0] = fixed_sealed[1] = true;
	live_sequences[0] = 5;
	live_sealed[0] = false;
	/* Their order differs from the mixer's, and the mixer does not have `other`. */
	facts[0] = (struct domains_facts){.name = "live",
	    .topic = "c.live",
	    .live = true,
	    .partitions_n = 1,
	    .sequences = live_sequences,
	    .sealed = live_sealed};
	facts[1] = (struct domains_facts){.name = "other", .topic = "c.other", .changed = true};
	facts[2] = (struct domains_facts){.name = "fixed",
	    .topic = "c.fixed",
	    .partitions_n = 2,
	    .sequences = fixed_sequences,
	    .sealed = fixed_sealed};
	facts[3].live = true;
	domains.n = 3;
	ask_fails = FAIL_NONE;
	changes = 0;
}

static uint64_t
live_length(void)
{
	return mixes_stand(mixer, LIVE).length;
}

static void
test_all_known_lengths_come_to_a_resumed_mixer_or_say_what_was_lost(void **unused)
{
	static const struct {
		size_t partitions_n;
		uint64_t second, live; /* sequences of fixed's partition 1, and of the live one */
		bool unheard, left;    /* `left`: the broker's facts lack the domain */
		enum fail_code code;
		const char *says;
	} rows[] = {
	    {2, 20, 5, false, false, FAIL_NONE, ""},
	    {2, 20, 9, false, false, FAIL_NONE, ""},
	    {2, 31, 9, false, false, FAIL_NONE, ""}, /* for its next epoch */
	    {3, 20, 9, false, false, FAIL_CONFIG,
		"domain fixed: the mix counts with 2 partitions, topic c.fixed has 3"},
	    {1, 20, 9, false, false, FAIL_CONFIG,
		"domain fixed: the mix counts with 2 partitions, topic c.fixed has 1"},
	    {3, 20, 9, true, false, FAIL_CONFIG, "topic c.fixed has 3"},
	    {2, 19, 9, false, false, FAIL_DATA, ": it was recreated or cut. " DOMAINS_WAY_BACK},
	    {2, 19, 9, false, false, FAIL_DATA, "topic c.fixed: "},
	    {2, 19, 9, true, false, FAIL_TIMEOUT,
		"topic c.fixed: its last record did not come in time"},
	    {2, 20, 9, true, false, FAIL_NONE, ""}, /* old, and no contradiction */
	    {1, 19, 9, false, true, FAIL_NONE, ""},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, says) {
		open_domains();
		facts[0].changed = facts[2].changed = true;
		facts[2].partitions_n = rows[i].partitions_n;
		facts[2].unheard = rows[i].unheard;
		fixed_sequences[1] = rows[i].second;
		live_sequences[0] = rows[i].live;
		domains.n = rows[i].left ? 2 : 3;
		assert_int_equal(lengths_set(&domains, mixer, &f), rows[i].code);
		if (rows[i].code == FAIL_NONE) {
			assert_int_equal(live_length(), rows[i].live);
			assert_false(facts[0].changed);
			assert_int_equal(facts[2].changed, rows[i].left);
		} else {
			assert_non_null(strstr(f.text, rows[i].says));
			assert_true(facts[2].changed);
		}
		mixer_close(mixer);
	}
}

static void
test_live_domains_are_asked_about_every_20_ms_and_all_every_5_s(void **unused)
{
	static const struct {
		int64_t at_ms;
		char asks, asks_without_live;
	} rows[] = {
	    {100000, 'a', 'a'}, /* never before */
	    {100019, '-', '-'},
	    {100020, 'l', '-'},
	    {100039, '-', '-'},
	    {100041, 'l', '-'},
	    {104999, 'l', '-'},
	    {105000, 'a', 'a'}, /* though live ones were asked about just now */
	    {105019, '-', '-'}, /* and that asked about them, too */
	    {105020, 'l', '-'},
	    {109999, 'l', '-'},
	    {110000, 'a', 'a'},
	};
	struct lengths l;

	(void)unused;
	for (int live = 0; live < 2; live++) {
		open_domains();
		facts[0].live = live;
		l = (struct lengths){0};
		EACH_ROW(i, rows) {
			now_ms = rows[i].at_ms;
			asked = '-';
			assert_int_equal(lengths_ask(&l, &domains, NULL, NULL, &f), FAIL_NONE);
			assert_int_equal(asked, live ? rows[i].asks : rows[i].asks_without_live);
		}
		assert_int_equal(changes, 0);
		mixer_close(mixer);
	}
}

static void
test_only_what_has_changed_comes_to_the_mixer(void **unused)
{
	static const struct {
		bool live_changed, fixed_changed;
		uint64_t second; /* sequences of fixed's partition 1 */
		enum fail_code ask_fails, code;
		int changes;
	} rows[] = {
	    {false, false, 20, FAIL_NONE, FAIL_NONE, 0},
	    {false, false, 19, FAIL_NONE, FAIL_NONE, 0},
	    {true, false, 20, FAIL_NONE, FAIL_NONE, 1},
	    {false, true, 31, FAIL_NONE, FAIL_NONE, 1},
	    {true, true, 31, FAIL_NONE, FAIL_NONE, 2},
	    {false, true, 19, FAIL_NONE, FAIL_DATA, 1},
	    {true, true, 20, FAIL_BROKER, FAIL_BROKER, 0},
	};

	(void)unused;
	EACH_ROW(i, rows) {
		struct lengths l = {0};

		open_domains();
		now_ms = 100000;
		facts[0].changed = rows[i].live_changed;
		facts[2].changed = rows[i].fixed_changed;
		live_sequences[0] = 9;
		fixed_sequences[1] = rows[i].second;
		ask_fails = rows[i].ask_fails;
		assert_int_equal(lengths_ask(&l, &domains, NULL, NULL, &f), rows[i].code);
		assert_int_equal(changes, rows[i].changes);
		assert_int_equal(
		    live_length(), rows[i].live_changed && rows[i].code == FAIL_NONE ? 9 : 5);
		/* A question that had no answer is asked again at once. */
		asked = '-';
		ask_fails = FAIL_NONE;
		if (rows[i].code != FAIL_DATA)
			assert_int_equal(lengths_ask(&l, &domains, NULL, NULL, &f), FAIL_NONE);
		assert_int_equal(asked, rows[i].ask_fails == FAIL_NONE ? '-' : 'a');
		mixer_close(mixer);
	}
}

/* ---- standby: attach.c is replaced ---- */

static struct {
	int reads;
	enum fail_code code;
	bool found;
	struct ledger last;
} ledger_has;

enum fail_code
attach_check(struct attach *a, struct ledger *last, bool *found, struct failure *why)
{
	(void)a;
	ledger_has.reads++;
	*found = ledger_has.found;
	if (ledger_has.code != FAIL_NONE)
		return fail(why, ledger_has.code, "why it could not");
	if (ledger_has.found)
		*last = ledger_has.last;
	return FAIL_NONE;
}

static void
test_a_standby_reads_the_ledger_once_a_second_and_logs_what_has_changed(void **unused)
{
	static const struct {
		int64_t at_ms;
		bool reads;
		enum fail_code code; /* of the ledger */
		bool found;
		uint64_t mixer;
		int64_t step;
		enum ledger_kind kind;
		enum fail_code gives;
		bool ends;
		const char *logs; /* "": nothing */
	} rows[] = {
	    {100000, true, FAIL_NONE, false, 0, 0, LEDGER_STEPS, FAIL_NONE, false,
		"standby mix=m: its ledger is empty yet"},
	    {100999, false, FAIL_NONE, true, 7, 1, LEDGER_END, FAIL_NONE, false, ""},
	    {101000, true, FAIL_NONE, true, 7, 1, LEDGER_STEPS, FAIL_NONE, false, ""},
	    {110000, true, FAIL_NONE, true, 7, 1, LEDGER_STEPS, FAIL_NONE, false,
		"standby mix=m active=0000000000000007 step=1 version=3 silent_s=9.0"},
	    {119999, true, FAIL_NONE, true, 7, 2, LEDGER_STEPS, FAIL_NONE, false, ""},
	    {121000, true, FAIL_NONE, true, 7, 2, LEDGER_STEPS, FAIL_NONE, false,
		"step=2 version=3 silent_s=1.0"},
	    {131000, true, FAIL_NONE, true, 9, 2, LEDGER_STEPS, FAIL_NONE, false,
		"active=0000000000000009 step=2 version=3 silent_s=0.0"},
	    /* A broker that does not answer is waited for, and what was seen is kept. */
	    {140999, true, FAIL_BROKER, false, 0, 0, LEDGER_STEPS, FAIL_NONE, false, ""},
	    {142000, true, FAIL_TIMEOUT, false, 0, 0, LEDGER_STEPS, FAIL_NONE, false,
		"MIX-STANDBY why it could not"},
	    {150999, true, FAIL_BROKER, true, 1, 1, LEDGER_END, FAIL_NONE, false, ""},
	    {152000, true, FAIL_BROKER, true, 1, 1, LEDGER_END, FAIL_NONE, false,
		"MIX-STANDBY why it could not"},
	    {162000, true, FAIL_NONE, true, 9, 2, LEDGER_STEPS, FAIL_NONE, false,
		"active=0000000000000009 step=2 version=3 silent_s=31.0"},
	    {163000, true, FAIL_CONFIG, true, 1, 1, LEDGER_END, FAIL_CONFIG, false, ""},
	    {164000, true, FAIL_FENCED, true, 1, 1, LEDGER_END, FAIL_FENCED, false, ""},
	    {165000, true, FAIL_DATA, true, 1, 1, LEDGER_END, FAIL_DATA, false, ""},
	    {166000, true, FAIL_NONE, true, 9, 4, LEDGER_END, FAIL_NONE, true, ""},
	};
	const struct config config = {.mix = {.name = (char *)"m"}};
	struct attach attach = {.config = &config};
	struct standby s;
	struct capture c;
	char text[4096];

	(void)unused;
	now_ms = 100000;
	standby_init(&s, &attach);
	EACH_NAMED_ROW(i, rows, logs) {
		bool ends = !rows[i].ends;
		int lines;

		ledger_has.reads = 0;
		ledger_has.code = rows[i].code;
		ledger_has.found = rows[i].found;
		ledger_has.last = (struct ledger){.kind = rows[i].kind,
		    .mixer = rows[i].mixer,
		    .step_next = rows[i].step,
		    .version = 3};
		now_ms = rows[i].at_ms;
		capture_begin(&c);
		assert_int_equal(standby_follow(&s, &ends, &f), rows[i].gives);
		lines = capture_end_lines(&c, text, sizeof(text));
		assert_int_equal(ledger_has.reads, rows[i].reads);
		assert_int_equal(ends, rows[i].ends);
		assert_int_equal(lines, rows[i].logs[0] != '\0');
		assert_non_null(strstr(text, rows[i].logs));
		if (rows[i].gives != FAIL_NONE)
			assert_string_equal(f.text, "why it could not");
	}
}

static void
test_a_turn_names_the_mixer_that_it_follows(void **unused)
{
	static const struct {
		bool found;
		const char *logs;
	} rows[] = {
	    {true, "MIX-TAKEOVER mix=m: no mixer is active any more, the last was "
		   "000000000000000a before step=12"},
	    {false, "mix=m: no mixer is active"},
	};
	const struct config config = {.mix = {.name = (char *)"m"}};
	struct attach attach = {.config = &config};
	struct capture c;
	char text[1024];

	(void)unused;
	EACH_NAMED_ROW(i, rows, logs) {
		const struct standby s = {.attach = &attach,
		    .found = rows[i].found,
		    .mixer = 10,
		    .step_next = 12,
		    .version = 1};

		capture_begin(&c);
		standby_log_turn(&s);
		assert_int_equal(capture_end_lines(&c, text, sizeof(text)), 1);
		assert_non_null(strstr(text, rows[i].logs));
		assert_int_equal(strstr(text, "MIX-TAKEOVER") != NULL, rows[i].found);
	}
}

/* ---- lane_output: transactions.c is replaced ---- */

enum { LANES = 4, BATCH = 16, EACH = BATCH / LANES };

static bool copies;
static uint32_t fails_at; /* a lane; LANES: none */
static struct {
	uint8_t *bytes;
	size_t n;
} put[LANES];
static uint32_t lanes_put;

bool
transactions_copy(const struct transactions *t)
{
	(void)t;
	return copies;
}

enum fail_code
transactions_put(
    struct transactions *t, uint32_t lane, uint8_t *bytes, size_t n, struct failure *why)
{
	(void)t;
	assert_int_equal(lane, lanes_put);
	if (lane == fails_at) {
		free(bytes);
		return fail(why, FAIL_BROKER, "full");
	}
	put[lanes_put].bytes = bytes;
	put[lanes_put++].n = n;
	return FAIL_NONE;
}

/* Draw k of a step lies in lane k / (B / L), and the bytes of all records are counted. */
static void
test_each_lane_gets_its_draws_and_their_bytes_count(void **unused)
{
	static const struct {
		bool copies, ends;
		uint32_t fails_at, lanes_put;
	} rows[] = {
	    {true, false, LANES, LANES},
	    {true, true, LANES, LANES},
	    {true, false, 2, 2},
	    {false, false, LANES, 0},
	    {false, true, LANES, 0},
	};
	static const uint64_t length[] = {100};
	static const struct mixer_source one[] = {
	    {.name = "a", .weight = 1, .partitions_n = 1, .sequences = length}};
	static const struct sequence_position position = {0};
	const struct lane_mix mix = {
	    .name = "m", .schedule = 7, .tokenizer = SAMPLE_TOKENIZER, .lanes = LANES, .lead = 9};
	struct mixer_plan p = mixes_plan(one, 1);
	struct feed_block_record payload;
	const struct feed_block_record *record[BATCH];
	struct mixer_draw draw[BATCH];
	const struct assembled step = {draw, record, BATCH};
	struct wire_writer w = {0};
	struct sequence_view view;
	struct mixer *m;

	(void)unused;
	assert_int_equal(
	    sequence_encode(&w, 5, SAMPLE_TOKENIZER, &position, &sample_payload, &f), FAIL_NONE);
	assert_int_equal(sequence_decode(&view, w.bytes, w.n, &f), FAIL_NONE);
	payload = (struct feed_block_record){.payload = view.payload.raw, .n = view.payload.raw_n};
	p.lanes = LANES;
	m = mixes_open(&p);
	mixes_step(m, NULL, NULL);
	for (uint32_t i = 0; i < BATCH; i++) {
		draw[i] = (struct mixer_draw){.ordinal = 10 + i};
		record[i] = &payload;
	}
	EACH_ROW(i, rows) {
		uint64_t bytes = 1000, counted = 1000;

		copies = rows[i].copies;
		fails_at = rows[i].fails_at;
		lanes_put = 0;
		assert_int_equal(
		    lane_output_put(NULL, &mix, m, 3, rows[i].ends ? NULL : &step, &bytes, &f),
		    rows[i].fails_at < LANES ? FAIL_BROKER : FAIL_NONE);
		assert_int_equal(lanes_put, rows[i].lanes_put);
		for (uint32_t lane = 0; lane < lanes_put; lane++) {
			struct batch_view v;

			counted += put[lane].n;
			assert_int_equal(
			    batch_decode(&v, put[lane].bytes, put[lane].n, &f), FAIL_NONE);
			assert_true(v.head.step == 3 && v.head.lane == lane);
			assert_int_equal(v.head.last, rows[i].ends);
			assert_int_equal(v.sequences_n, rows[i].ends ? 0 : EACH);
			for (uint32_t k = 0; k < v.sequences_n; k++) {
				struct sequence_payload_view had;
				struct batch_drawn d;

				assert_int_equal(batch_next(&v, &d, &had, &f), FAIL_NONE);
				assert_int_equal(d.ordinal, 10 + lane * EACH + k);
			}
			free(put[lane].bytes);
		}
		if (!rows[i].copies && !rows[i].ends)
			counted += BATCH * payload.n;
		if (rows[i].fails_at == LANES)
			assert_int_equal(bytes, counted);
	}
	mixer_close(m);
	wire_writer_close(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_all_known_lengths_come_to_a_resumed_mixer_or_say_what_was_lost),
	    cmocka_unit_test(test_live_domains_are_asked_about_every_20_ms_and_all_every_5_s),
	    cmocka_unit_test(test_only_what_has_changed_comes_to_the_mixer),
	    cmocka_unit_test(
		test_a_standby_reads_the_ledger_once_a_second_and_logs_what_has_changed),
	    cmocka_unit_test(test_a_turn_names_the_mixer_that_it_follows),
	    cmocka_unit_test(test_each_lane_gets_its_draws_and_their_bytes_count),
	};

	log_set_level(LOG_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
