/* A mock cluster of librdkafka with one broker, and the handle that owns it, of a test program. */
#ifndef TESTS_UNIT_MOCK_CLUSTER_H
#define TESTS_UNIT_MOCK_CLUSTER_H

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include "common/kafka/kafka.h"

static rd_kafka_t *owner; /* to be ended with kafka_close() */
static rd_kafka_mock_cluster_t *cluster;

static enum fail_code
open_mock_cluster(struct failure *f)
{
	struct property item[] = {{(char[]){"test.mock.num.brokers"}, (char[]){"1"}}};
	const struct properties properties = {1, item};
	struct kafka_options o = {
	    .role = KAFKA_ADMIN, .client = "owner", .properties = &properties};

	if (kafka_open(&owner, &o, f) == FAIL_NONE)
		cluster = rd_kafka_handle_mock_cluster(owner);
	if (cluster == NULL)
		return f->code;
	/* It creates what it is asked for; but the lanes of mix "m" share no partition. */
	rd_kafka_mock_topic_set_error(cluster, "m.lanes", RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
	return FAIL_NONE;
}

#endif
