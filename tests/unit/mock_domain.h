/* mock_domain.h -- records of domain topics in a mock cluster (mock_topics.h). */
#ifndef TESTS_UNIT_MOCK_DOMAIN_H
#define TESTS_UNIT_MOCK_DOMAIN_H

#include "common/config/recipe.h"
#include "common/record/wire.h"
#include "tests/unit/mock_topics.h"
#include "tests/unit/sample.h"

enum { MOCK_END = 100 };

/* A sequence with ordinal `what`, or MOCK_END + n: an End of n. `recipe`: NULL, or on it. */
static inline void
mock_write_domain(const char *topic, int32_t partition, int what, int64_t sealed,
    uint64_t tokenizer, const char *recipe)
{
	struct wire_writer w = {0};

	if (what < MOCK_END) {
		struct sequence_position p = {.file = {"f", 1}, .line = 1, .sealed = sealed};

		assert_int_equal(
		    sequence_encode(&w, (uint64_t)what, tokenizer, &p, &sample_payload, &f),
		    FAIL_NONE);
	} else {
		struct sequence_end e = {.sequences = (uint64_t)(what - MOCK_END),
		    .sequence_length = sample_payload.count - 1,
		    .tokenizer = tokenizer};

		assert_int_equal(sequence_end_encode(&w, &e, &f), FAIL_NONE);
	}
	if (recipe == NULL) {
		mock_write(topic, partition, w.bytes, w.n);
	} else {
		assert_int_equal(
		    rd_kafka_producev(mock_writer, RD_KAFKA_V_TOPIC(topic),
			RD_KAFKA_V_PARTITION(partition), RD_KAFKA_V_VALUE(w.bytes, w.n),
			RD_KAFKA_V_HEADER(RECIPE_HEADER, recipe, (ssize_t)strlen(recipe)),
			RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END),
		    RD_KAFKA_RESP_ERR_NO_ERROR);
		assert_int_equal(
		    rd_kafka_flush(mock_writer, MOCK_WAIT_MS), RD_KAFKA_RESP_ERR_NO_ERROR);
	}
	wire_writer_close(&w);
}

#endif
