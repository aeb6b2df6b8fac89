/* held_out.h: the sequences of a set as its partitions hold them, in a mock cluster. */
#include "consumer/domain/held_out.h"

#include "common/base/clock.h"
#include "tests/unit/mock_domain.h"

enum { PARTITIONS_MAX = 3, RECORDS_MAX = 8, END = MOCK_END };

static enum fail_code
open_set(struct held_out **h, const char *corpus)
{
	const struct held_out_options o = {.corpus = corpus,
	    .domain = "web",
	    .set = SET_VALID,
	    .properties = &mock_properties,
	    .timeout_ms = MOCK_WAIT_MS};

	return held_out_open(h, &o, &f);
}

/* Without waiting: what has come is given all the same, and nothing is lost by a time-out. */
static void
look_for_next(struct held_out *h, struct held_out_sequence *out)
{
	int64_t end_ms = clock_ms() + MOCK_WAIT_MS;
	enum fail_code code;
	bool end;

	do {
		code = held_out_next(h, clock_ms() - 1, out, &end, &f);
		if (code == FAIL_TIMEOUT)
			clock_pause_ms(2);
	} while (code == FAIL_TIMEOUT && clock_ms() < end_ms);
	assert_int_equal(code, FAIL_NONE);
	assert_false(end);
}

static void
test_a_set_is_read_once_partition_by_partition(void **unused)
{
	static const struct {
		const char *corpus;
		int partitions;
		/* -1: no more */
		int record[PARTITIONS_MAX][RECORDS_MAX];
		uint64_t sequences[PARTITIONS_MAX];
	} rows[] = {
	    {"h0", 1, {{0, 1, 2, END + 3, -1}}, {3}},
	    {"h1", 1, {{0, 1, 2, -1}}, {3}}, /* no End yet */
	    /* Records are repeated, or follow an End before the next one. */
	    {"h2", 1, {{0, 1, 0, 1, 2, END + 3, 3, -1}}, {3}},
	    {"h3", 1, {{0, END + 1, 1, 2, END + 3, -1}}, {3}},
	    {"h4", 3, {{0, 1, END + 2, -1}, {END + 0, -1}, {0, END + 1, -1}}, {2, 0, 1}},
	    {"h5", 3, {{-1}, {0, 1, END + 2, -1}, {-1}}, {0, 2, 0}}, /* nothing in two of them */
	    {"h6", 1, {{-1}}, {0}},
	    {"h7", 1, {{END + 0, -1}}, {0}},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, corpus) {
		struct held_out_sequence s;
		struct held_out *h;
		char topic[32];
		uint64_t all = 0;
		bool end;

		snprintf(topic, sizeof(topic), "%s.web.valid", rows[i].corpus);
		mock_topic(topic, rows[i].partitions);
		for (int p = 0; p < rows[i].partitions; p++) {
			int64_t sealed = -1;

			for (const int *r = rows[i].record[p]; *r >= 0; r++) {
				mock_write_domain(topic, p, *r, sealed, SAMPLE_TOKENIZER, NULL);
				sealed = *r >= END ? *r - END : sealed;
			}
			all += rows[i].sequences[p];
		}
		assert_int_equal(open_set(&h, rows[i].corpus), FAIL_NONE);
		assert_string_equal(held_out_domain(h), "web");
		assert_int_equal(held_out_partitions(h), rows[i].partitions);
		assert_int_equal(held_out_sequences(h), all);
		assert_int_equal(held_out_untouched(h), strcmp(rows[i].corpus, "h6") == 0);
		assert_int_equal(held_out_length(h), all > 0 ? sample_payload.count - 1 : 0);
		assert_true(held_out_tokenizer(h) == (all > 0 ? SAMPLE_TOKENIZER : 0));
		for (int p = 0; p < rows[i].partitions; p++)
			for (uint64_t k = 0; k < rows[i].sequences[p]; k++) {
				look_for_next(h, &s);
				assert_int_equal(s.partition, p);
				assert_int_equal(s.view.ordinal, k);
			}
		for (int again = 0; again < 2; again++) {
			assert_int_equal(held_out_next(h, clock_ms(), &s, &end, &f), FAIL_NONE);
			assert_true(end);
		}
		held_out_close(h);
	}
}

static void
test_a_set_that_is_not_whole_is_refused(void **unused)
{
	struct held_out_sequence s;
	struct held_out *h;
	bool end;

	(void)unused;
	rd_kafka_mock_topic_set_error(
	    cluster, "none.web.valid", RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
	assert_int_equal(open_set(&h, "none"), FAIL_CONFIG);
	assert_non_null(strstr(f.text, "topic none.web.valid does not exist on "));
	assert_non_null(strstr(f.text, ": `riffle topics --create` creates it if corpus none "
				       "has a domain web with a valid set"));

	mock_topic("two.web.valid", 2); /* tokenizers */
	mock_write_domain("two.web.valid", 0, END + 1, -1, 1, NULL);
	mock_write_domain("two.web.valid", 1, END + 1, -1, 2, NULL);
	assert_int_equal(open_set(&h, "two"), FAIL_DATA);
	assert_non_null(strstr(f.text, "its partitions differ in sequence_length or tokenizer"));

	mock_topic("gap.web.valid", 1);
	mock_write_domain("gap.web.valid", 0, 0, -1, 1, NULL);
	mock_write_domain("gap.web.valid", 0, 2, -1, 1, NULL);
	mock_write_domain("gap.web.valid", 0, END + 3, -1, 1, NULL);
	assert_int_equal(open_set(&h, "gap"), FAIL_NONE);
	assert_int_equal(held_out_next(h, clock_ms() + MOCK_WAIT_MS, &s, &end, &f), FAIL_NONE);
	assert_int_equal(held_out_next(h, clock_ms() + MOCK_WAIT_MS, &s, &end, &f), FAIL_DATA);
	assert_non_null(strstr(f.text, "ordinal 2, where 1 is due"));
	held_out_close(h);

	mock_topic("bad.web.valid", 1);
	mock_write("bad.web.valid", 0, "x", 1);
	assert_int_equal(open_set(&h, "bad"), FAIL_DATA);
	assert_non_null(strstr(f.text, "topic bad.web.valid, partition 0: its last record cannot"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_set_is_read_once_partition_by_partition),
	    cmocka_unit_test(test_a_set_that_is_not_whole_is_refused),
	};

	return cmocka_run_group_tests(tests, mock_begin, mock_end);
}
