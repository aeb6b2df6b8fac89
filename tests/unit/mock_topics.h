/*
 * mock_topics.h -- topics of a mock cluster that a test fills record by record.
 *
 * mock_begin() and mock_end() are the group's: a cluster, its properties, and a handle that writes.
 */
#ifndef TESTS_UNIT_MOCK_TOPICS_H
#define TESTS_UNIT_MOCK_TOPICS_H

#include "common/record/ledger.h"
#include "tests/unit/mock_cluster.h"
#include "tests/unit/test.h"

enum { MOCK_WAIT_MS = 30000 };

static char mock_bootstrap[256];
static struct property mock_property[] = {{(char[]){"bootstrap.servers"}, mock_bootstrap}};
static const struct properties mock_properties = {1, mock_property};
static rd_kafka_t *mock_writer;

static inline int
mock_begin(void **unused)
{
	struct kafka_options o = {.role = KAFKA_WRITER,
	    .client = "test",
	    .properties = &mock_properties,
	    .message_bytes_max = 1 << 20};

	(void)unused;
	if (open_mock_cluster(&f) != FAIL_NONE)
		return -1;
	snprintf(mock_bootstrap, sizeof(mock_bootstrap), "%s",
	    rd_kafka_mock_cluster_bootstraps(cluster));
	return kafka_open(&mock_writer, &o, &f) == FAIL_NONE ? 0 : -1;
}

static inline int
mock_end(void **unused)
{
	(void)unused;
	kafka_close(mock_writer);
	kafka_close(owner);
	return 0;
}

static inline void
mock_topic(const char *topic, int partitions)
{
	assert_int_equal(rd_kafka_mock_topic_create(cluster, topic, partitions, 1), 0);
}

/* Borrows the bytes. Its offset is the number of records before it. */
static inline void
mock_write(const char *topic, int32_t partition, const void *bytes, size_t n)
{
	assert_int_equal(
	    rd_kafka_producev(mock_writer, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_PARTITION(partition),
		RD_KAFKA_V_VALUE((void *)(uintptr_t)bytes, n),
		RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END),
	    RD_KAFKA_RESP_ERR_NO_ERROR);
	assert_int_equal(rd_kafka_flush(mock_writer, MOCK_WAIT_MS), RD_KAFKA_RESP_ERR_NO_ERROR);
}

static inline void
mock_write_ledger(const char *topic, const struct ledger *l)
{
	uint8_t *bytes;
	size_t n;

	assert_int_equal(ledger_encode(l, &bytes, &n, &f), FAIL_NONE);
	mock_write(topic, 0, bytes, n);
	free(bytes);
}

#endif
