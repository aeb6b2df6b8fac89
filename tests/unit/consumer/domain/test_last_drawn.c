/* last_drawn.h: what is kept of each step, the header that keeps it, and logs compared with it. */
#include "consumer/domain/last_drawn.h"

#include "common/base/log.h"
#include "tests/unit/late.h"
#include "tests/unit/sample.h"

enum { DRAWS = 4 };

/* A good record whose frame has this hash; its payload is the caller's to free. */
static struct feed_block_record
record_of(uint64_t frame_hash)
{
	struct sequence_payload p = sample_payload;
	struct sequence_position at = {.file = {"f", 1}, .line = 1, .sealed = -1};
	struct sequence_view s;
	struct wire_writer w = {0};
	struct failure f;
	uint8_t *raw;

	p.frame_hash = frame_hash;
	assert_int_equal(sequence_encode(&w, 0, 1, &at, &p, &f), FAIL_NONE);
	assert_int_equal(sequence_decode(&s, w.bytes, w.n, &f), FAIL_NONE);
	raw = malloc(s.payload.raw_n);
	assert_non_null(raw);
	memcpy(raw, s.payload.raw, s.payload.raw_n);
	wire_writer_close(&w);
	return (struct feed_block_record){.payload = raw, .n = s.payload.raw_n, .tokens = 8};
}

static void
check_place(
    const struct last_drawn *l, size_t domain, size_t which, uint64_t ordinal, uint64_t hash)
{
	const struct last_drawn_place *p = &l->domain[domain].place[which];

	assert_true(p->known);
	assert_int_equal(p->ordinal, ordinal);
	assert_true(p->frame_hash == hash);
}

/* Domain 2 with ordinals 9 and 4, domain 0 with 5 and 5, domain 1 with none. */
static void
take_step(struct last_drawn *l)
{
	const struct mixer_draw draw[DRAWS] = {{.domain = 2, .partition = 1, .ordinal = 9},
	    {.domain = 0, .ordinal = 5}, {.domain = 2, .ordinal = 4}, {.domain = 0, .ordinal = 5}};
	struct feed_block_record made[DRAWS];
	const struct feed_block_record *record[DRAWS];
	struct failure f;

	for (size_t i = 0; i < DRAWS; i++) {
		made[i] = record_of(100 + i);
		record[i] = &made[i];
	}
	assert_int_equal(last_drawn_add(l, draw, record, DRAWS, &f), FAIL_NONE);
	for (size_t i = 0; i < DRAWS; i++)
		free((void *)(uintptr_t)made[i].payload);
}

static void
test_of_each_domain_the_last_and_the_highest_are_kept(void **unused)
{
	const struct mixer_draw low = {.domain = 2, .ordinal = 3};
	struct last_drawn l = {0};
	struct feed_block_record r = record_of(7);
	const struct feed_block_record *record = &r;
	struct failure f;

	(void)unused;
	take_step(&l);
	assert_int_equal(l.n, 3);
	check_place(&l, 2, LAST_DRAWN_LAST, 4, 102);
	check_place(&l, 2, LAST_DRAWN_HIGHEST, 9, 100);
	assert_int_equal(l.domain[2].place[LAST_DRAWN_HIGHEST].partition, 1);
	check_place(&l, 0, LAST_DRAWN_LAST, 5, 103);
	check_place(&l, 0, LAST_DRAWN_HIGHEST, 5, 101);
	assert_false(l.domain[1].place[LAST_DRAWN_LAST].known);
	assert_int_equal(last_drawn_add(&l, &low, &record, 1, &f), FAIL_NONE);
	check_place(&l, 2, LAST_DRAWN_LAST, 3, 7);
	check_place(&l, 2, LAST_DRAWN_HIGHEST, 9, 100);
	check_place(&l, 0, LAST_DRAWN_LAST, 5, 103);
	free((void *)(uintptr_t)r.payload);
	last_drawn_close(&l);
}

/* Compared with a recount of all draws, with new domains and a save in between. */
static void
test_after_every_step_they_are_what_all_draws_together_say(void **unused)
{
	enum { STEPS = 60, DOMAINS = 8, PLACES = DOMAINS * LAST_DRAWN_PLACES };
	struct last_drawn l = {0};
	struct last_drawn_place expected[DOMAINS][LAST_DRAWN_PLACES] = {{{0}}};
	struct failure f;

	(void)unused;
	srandom(7);
	for (uint64_t step = 0, hash = 1; step < STEPS; step++) {
		struct mixer_draw draw[DRAWS];
		struct feed_block_record made[DRAWS];
		const struct feed_block_record *record[DRAWS];
		uint8_t *bytes;
		size_t n;

		for (size_t i = 0; i < DRAWS; i++, hash++) {
			uint32_t d = (uint32_t)random() % (step < 10 ? 2 : step < 30 ? 5 : DOMAINS);
			struct last_drawn_place *e = expected[d];
			const struct last_drawn_place at = {.known = true,
			    .partition = (uint32_t)random() % 3,
			    .ordinal = (uint64_t)random() % 50,
			    .frame_hash = hash};

			draw[i] = (struct mixer_draw){
			    .domain = d, .partition = at.partition, .ordinal = at.ordinal};
			made[i] = record_of(hash);
			record[i] = &made[i];
			e[LAST_DRAWN_LAST] = at;
			if (!e[LAST_DRAWN_HIGHEST].known ||
			    at.ordinal > e[LAST_DRAWN_HIGHEST].ordinal)
				e[LAST_DRAWN_HIGHEST] = at;
		}
		assert_int_equal(last_drawn_add(&l, draw, record, DRAWS, &f), FAIL_NONE);
		for (size_t i = 0; i < DRAWS; i++)
			free((void *)(uintptr_t)made[i].payload);
		if (step % 7 == 3) { /* another mixer takes over */
			assert_int_equal(last_drawn_encode(&l, &bytes, &n, &f), FAIL_NONE);
			assert_int_equal(last_drawn_decode(&l, bytes, n, &f), FAIL_NONE);
			free(bytes);
		}
		for (size_t i = 0; i < PLACES; i++) {
			size_t d = i / LAST_DRAWN_PLACES, k = i % LAST_DRAWN_PLACES;
			const struct last_drawn_place *e = &expected[d][k];

			assert_int_equal(d < l.n && l.domain[d].place[k].known, e->known);
			if (!e->known)
				continue;
			check_place(&l, d, k, e->ordinal, e->frame_hash);
			assert_int_equal(l.domain[d].place[k].partition, e->partition);
		}
	}
	last_drawn_close(&l);
}

/* Nothing of what was known before is left. */
static void
test_a_header_replaces_all_that_was_known(void **unused)
{
	struct last_drawn l = {0}, less = {0};
	struct mixer_draw draw = {.domain = 1, .ordinal = 3};
	struct feed_block_record r = record_of(7);
	const struct feed_block_record *record = &r;
	struct failure f;
	uint8_t *bytes;
	size_t n;

	(void)unused;
	take_step(&l);
	assert_int_equal(last_drawn_add(&less, &draw, &record, 1, &f), FAIL_NONE);
	assert_int_equal(last_drawn_encode(&less, &bytes, &n, &f), FAIL_NONE);
	assert_int_equal(last_drawn_decode(&l, bytes, n, &f), FAIL_NONE);
	assert_int_equal(l.n, 2);
	assert_false(l.domain[0].place[LAST_DRAWN_LAST].known);
	check_place(&l, 1, LAST_DRAWN_LAST, 3, 7);
	free(bytes);
	free((void *)(uintptr_t)r.payload);
	last_drawn_close(&l);
	last_drawn_close(&less);
}

static void
test_the_header_gives_it_back(void **unused)
{
	struct last_drawn l = {0}, back = {0};
	struct failure f;
	uint8_t *bytes;
	size_t n;

	(void)unused;
	take_step(&l);
	assert_int_equal(last_drawn_encode(&l, &bytes, &n, &f), FAIL_NONE);
	assert_int_equal(last_drawn_decode(&back, bytes, n, &f), FAIL_NONE);
	assert_int_equal(back.n, l.n);
	for (size_t i = 0; i < l.n * LAST_DRAWN_PLACES; i++) {
		const struct last_drawn_place *was = &l.domain[i / 2].place[i % 2];

		assert_int_equal(back.domain[i / 2].place[i % 2].known, was->known);
		if (!was->known)
			continue;
		check_place(&back, i / 2, i % 2, was->ordinal, was->frame_hash);
		assert_int_equal(back.domain[i / 2].place[i % 2].partition, was->partition);
	}
	free(bytes);
	last_drawn_close(&l);
	last_drawn_close(&back);
}

/* Any other bytes are the header of another release, or none: nothing is known then. */
static void
test_what_is_no_such_header_leaves_it_empty(void **unused)
{
	struct last_drawn l = {0}, back = {0};
	struct failure f;
	uint8_t *bytes, more[256];
	size_t n;

	(void)unused;
	take_step(&l);
	assert_int_equal(last_drawn_encode(&l, &bytes, &n, &f), FAIL_NONE);
	assert_true(n < sizeof(more));
	memcpy(more, bytes, n);
	for (size_t cut = 0; cut < n; cut++) {
		assert_int_equal(last_drawn_decode(&back, more, cut, &f), FAIL_NONE);
		assert_int_equal(back.n, 0);
	}
	more[n] = 0;
	assert_int_equal(last_drawn_decode(&back, more, n + 1, &f), FAIL_NONE);
	assert_int_equal(back.n, 0);
	more[0] = 4; /* form 2 */
	assert_int_equal(last_drawn_decode(&back, more, n, &f), FAIL_NONE);
	assert_int_equal(back.n, 0);
	memset(more, 0xff, sizeof(more)); /* counts beyond all memory */
	more[0] = 2;
	assert_int_equal(last_drawn_decode(&back, more, sizeof(more), &f), FAIL_NONE);
	assert_int_equal(back.n, 0);
	free(bytes);
	last_drawn_close(&l);
}

/* ---- logs that are compared, in a mock cluster ---- */

enum { WAIT_MS = 20000, ORDINALS = 6, LOGS = 11 };

static uint64_t
hash_of(uint64_t ordinal, bool other)
{
	return 1000 + ordinal + (other ? 500 : 0);
}

/* Writes a record for each character: a digit is the ordinal of a sequence, E is an End. */
static void
write_log(rd_kafka_t *writer, const char *topic, int32_t partition, const char *log, bool other)
{
	uint64_t sequences = 0;

	for (; *log != '\0'; log++) {
		struct sequence_position at = {.file = {"f", 1}, .line = 1, .sealed = -1};
		struct sequence_end e = {
		    .sequences = sequences, .sequence_length = 8, .tokenizer = SAMPLE_TOKENIZER};
		struct sequence_payload p = sample_payload;
		struct wire_writer w = {0};
		struct failure f;

		if (*log == 'E') {
			assert_int_equal(sequence_end_encode(&w, &e, &f), FAIL_NONE);
		} else {
			uint64_t ordinal = (uint64_t)(*log - '0');

			p.frame_hash = hash_of(ordinal, other);
			sequences = ordinal + 1 > sequences ? ordinal + 1 : sequences;
			assert_int_equal(
			    sequence_encode(&w, ordinal, SAMPLE_TOKENIZER, &at, &p, &f), FAIL_NONE);
		}
		assert_int_equal(
		    rd_kafka_producev(writer, RD_KAFKA_V_TOPIC(topic),
			RD_KAFKA_V_PARTITION(partition), RD_KAFKA_V_VALUE(w.bytes, w.n),
			RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END),
		    RD_KAFKA_RESP_ERR_NO_ERROR);
		wire_writer_close(&w);
	}
}

static bool
found(const char *ordinals, size_t ordinal)
{
	return strchr(ordinals, (int)('0' + ordinal)) != NULL;
}

/*
 * Each sequence is compared in a log with the text that was drawn, and in a log with another text.
 * Only the other text is reported, and it is always reported, unless the sequence is passed over.
 * Each sequence has its own domain and partition, so that one call compares all of them.
 */
static void
test_a_sequence_is_found_before_and_behind_its_offset(void **unused)
{
	static const struct {
		const char *text, *found;
		char passed_over;
	} logs[LOGS] = {
	    {"0", "0", 0},              /* One alone, */
	    {"0123", "0123", 0},        /* several at their offsets, */
	    {"0123E", "0123", 0},       /* an End after them, */
	    {"01E23E", "0123", 0},      /* before some, */
	    {"0E1E2E3E", "0123", 0},    /* several Ends. */
	    {"00123", "0123", 0},       /* A record is there twice, */
	    {"0011E223E", "0123", 0},   /* several, with an End, */
	    {"E0123", "0123", 0},       /* an End before all sequences, */
	    {"01232345E", "012345", 0}, /* and a part of the log. */
	    {"02345", "023", 0},        /* One is missing before them, */
	    {"02E", "0", '2'},          /* and an End is at the offset. */
	};
	struct property item[] = {{(char[]){"bootstrap.servers"}, NULL}};
	const struct properties properties = {1, item};
	struct kafka_options o = {.role = KAFKA_WRITER,
	    .client = "writer",
	    .properties = &properties,
	    .message_bytes_max = 1 << 20};
	rd_kafka_t *writer;
	struct failure f;

	(void)unused;
	assert_int_equal(open_mock_cluster(&f), FAIL_NONE);
	item[0].value = (char *)(uintptr_t)rd_kafka_mock_cluster_bootstraps(cluster);
	assert_int_equal(kafka_open(&writer, &o, &f), FAIL_NONE);
	for (int other = 0; other < 2; other++) {
		const char *topic = other ? "c.other" : "c.same";
		struct last_drawn_domain domain[LOGS * ORDINALS] = {{.drawn = 0}};
		struct last_drawn_look look[LOGS * ORDINALS] = {{.topic = NULL}};
		struct last_drawn l = {domain, LOGS * ORDINALS};

		assert_int_equal(rd_kafka_mock_topic_create(cluster, topic, (int)l.n, 1), 0);
		EACH_NAMED_ROW(i, logs, text)
			for (size_t k = 0; k < ORDINALS; k++) {
				uint32_t at = (uint32_t)(i * ORDINALS + k);

				if (!found(logs[i].found, k) &&
				    logs[i].passed_over != (char)('0' + k))
					continue;
				write_log(writer, topic, (int32_t)at, logs[i].text, other != 0);
				look[at].topic = topic;
				domain[at].place[LAST_DRAWN_LAST] =
				    (struct last_drawn_place){.known = true,
					.partition = at,
					.ordinal = k,
					.frame_hash = hash_of(k, false)};
			}
		assert_int_equal(rd_kafka_flush(writer, WAIT_MS), RD_KAFKA_RESP_ERR_NO_ERROR);
		assert_int_equal(
		    last_drawn_compare(&l, look, l.n, &properties, WAIT_MS, &f), FAIL_NONE);
		EACH_NAMED_ROW(i, logs, text)
			for (size_t k = 0; k < ORDINALS; k++) {
				const struct last_drawn_look *at = &look[i * ORDINALS + k];

				assert_int_equal(at->other, other != 0 && found(logs[i].found, k));
				if (at->other)
					assert_int_equal(at->ordinal, k);
			}
	}
	kafka_close(writer);
	kafka_close(owner);
}

/* Reports the first place that differs. A log that was cut is not another log. */
static void
test_a_log_that_is_cut_shows_nothing_and_one_that_differs_twice_is_told_once(void **unused)
{
	static const struct {
		const char *log;
		bool other; /* its text */
		uint64_t last, highest;
		bool tells, empty;
		uint64_t told;
	} rows[] = {
	    {"01234", true, 2, 4, true, false, 2},
	    {"01234", true, 2, 5, true, false, 2}, /* the highest was the first that was cut */
	    {"01234", true, 5, 3, true, false, 3},
	    {"01234", true, 5, 5, false, false, 0},
	    {"01234", false, 2, 4, false, false, 0},
	    {"", false, 0, 0, false, true, 0},
	};
	enum { ROWS = sizeof(rows) / sizeof(rows[0]) };
	struct property item[] = {{(char[]){"bootstrap.servers"}, NULL}};
	const struct properties properties = {1, item};
	struct kafka_options o = {.role = KAFKA_WRITER,
	    .client = "writer",
	    .properties = &properties,
	    .message_bytes_max = 1 << 20};
	struct last_drawn_domain domain[ROWS] = {{.drawn = 0}};
	struct last_drawn_look look[ROWS] = {{.topic = NULL}};
	struct last_drawn l = {domain, ROWS};
	rd_kafka_t *writer;
	struct failure f;

	(void)unused;
	assert_int_equal(open_mock_cluster(&f), FAIL_NONE);
	item[0].value = (char *)(uintptr_t)rd_kafka_mock_cluster_bootstraps(cluster);
	assert_int_equal(kafka_open(&writer, &o, &f), FAIL_NONE);
	assert_int_equal(rd_kafka_mock_topic_create(cluster, "c.two", ROWS, 1), 0);
	EACH_NAMED_ROW(i, rows, log) {
		const uint64_t ordinal[] = {rows[i].last, rows[i].highest};

		look[i].topic = "c.two";
		look[i].other = look[i].empty = true; /* of an earlier look: forgotten */
		write_log(writer, "c.two", (int32_t)i, rows[i].log, rows[i].other);
		for (size_t k = 0; k < LAST_DRAWN_PLACES; k++)
			domain[i].place[k == 0 ? LAST_DRAWN_LAST : LAST_DRAWN_HIGHEST] =
			    (struct last_drawn_place){.known = true,
				.partition = (uint32_t)i,
				.ordinal = ordinal[k],
				.frame_hash = hash_of(ordinal[k], false)};
	}
	assert_int_equal(rd_kafka_flush(writer, WAIT_MS), RD_KAFKA_RESP_ERR_NO_ERROR);
	assert_int_equal(last_drawn_compare(&l, look, l.n, &properties, WAIT_MS, &f), FAIL_NONE);
	EACH_NAMED_ROW(i, rows, log) {
		assert_int_equal(look[i].other, rows[i].tells);
		assert_int_equal(look[i].empty, rows[i].empty);
		if (rows[i].tells)
			assert_int_equal(look[i].ordinal, rows[i].told);
	}
	kafka_close(writer);
	kafka_close(owner);
}

/* A new leader of the log reports an end of 0 at first. */
static void
test_a_log_that_ends_too_early_at_first_is_compared(void **unused)
{
	struct property item[] = {{(char[]){"bootstrap.servers"}, NULL}};
	const struct properties properties = {1, item};
	struct last_drawn_domain domain = {
	    .place[LAST_DRAWN_LAST] = {.known = true, .frame_hash = hash_of(0, false)}};
	struct last_drawn_look look = {.topic = "c.early"};
	struct last_drawn l = {&domain, 1};
	struct sequence_position at = {.file = {"f", 1}, .line = 1, .sealed = -1};
	struct sequence_payload p = sample_payload;
	struct wire_writer w = {0};
	struct late late;
	struct failure f;

	(void)unused;
	assert_int_equal(open_mock_cluster(&f), FAIL_NONE);
	item[0].value = (char *)(uintptr_t)rd_kafka_mock_cluster_bootstraps(cluster);
	assert_int_equal(rd_kafka_mock_topic_create(cluster, look.topic, 1, 1), 0);
	p.frame_hash = hash_of(0, true);
	assert_int_equal(sequence_encode(&w, 0, SAMPLE_TOKENIZER, &at, &p, &f), FAIL_NONE);
	late = (struct late){.topic = look.topic, .bytes = w.bytes, .n = w.n};
	late_start(&late);
	assert_int_equal(last_drawn_compare(&l, &look, 1, &properties, WAIT_MS, &f), FAIL_NONE);
	pthread_join(late.thread, NULL);
	assert_false(look.empty);
	assert_true(look.other);
	wire_writer_close(&w);
	kafka_close(owner);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_of_each_domain_the_last_and_the_highest_are_kept),
	    cmocka_unit_test(test_after_every_step_they_are_what_all_draws_together_say),
	    cmocka_unit_test(test_a_header_replaces_all_that_was_known),
	    cmocka_unit_test(test_the_header_gives_it_back),
	    cmocka_unit_test(test_what_is_no_such_header_leaves_it_empty),
	    cmocka_unit_test(test_a_sequence_is_found_before_and_behind_its_offset),
	    cmocka_unit_test(test_a_log_that_ends_too_early_at_first_is_compared),
	    cmocka_unit_test(
		test_a_log_that_is_cut_shows_nothing_and_one_that_differs_twice_is_told_once),
	};

	log_set_level(LOG_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
