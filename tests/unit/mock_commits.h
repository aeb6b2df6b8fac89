/* mock_commits.h -- commits of a run in a mock cluster, as its trainers write them. */
#ifndef TESTS_UNIT_MOCK_COMMITS_H
#define TESTS_UNIT_MOCK_COMMITS_H

#include "common/kafka/kafka.h"
#include "consumer/ledger/run_position.h"
#include "tests/unit/test.h"

/* Commits step[i] on each lane of a run, of which there are `lanes`. */
static void
mock_commit(const struct properties *properties, const char *group, const char *topic,
    const uint64_t *step, int lanes)
{
	struct kafka_options k = {
	    .role = KAFKA_READER, .client = "test", .properties = properties, .group = group};
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(lanes);
	rd_kafka_t *rk;

	assert_int_equal(kafka_open(&rk, &k, &f), FAIL_NONE);
	for (int i = 0; i < lanes; i++) {
		rd_kafka_topic_partition_t *p = rd_kafka_topic_partition_list_add(list, topic, i);
		char text[RUN_POSITION_TEXT_MAX];

		run_position_format(text, step[i], NULL);
		p->offset = 2 * (int64_t)step[i];
		p->metadata = strdup(text);
		p->metadata_size = strlen(text);
	}
	assert_int_equal(rd_kafka_commit(rk, list, 0), RD_KAFKA_RESP_ERR_NO_ERROR);
	rd_kafka_topic_partition_list_destroy(list);
	kafka_close(rk);
}

#endif
