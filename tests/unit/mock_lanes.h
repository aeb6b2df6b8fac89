/* Two lanes of a mix "m" on a mock cluster, of one rank of run "trainers": for groups of tests. */
#ifndef TESTS_UNIT_MOCK_LANES_H
#define TESTS_UNIT_MOCK_LANES_H

#include "consumer/batches/lanes.h"
#include "tests/unit/mock_cluster.h"
#include "tests/unit/test.h"

enum { MOCK_LANES = 2, MOCK_LANES_WAIT_MS = 30000 };

static struct failure f;
static struct lanes *lanes;

static int
open_mock_lanes(void **unused)
{
	char at[256];
	struct property item[] = {{(char[]){"bootstrap.servers"}, at}};
	const struct properties properties = {1, item};
	struct lanes_options o = {.mix = "m",
	    .group = "m.trainers",
	    .rank = 0,
	    .world = 1,
	    .properties = &properties,
	    .timeout_ms = MOCK_LANES_WAIT_MS};

	(void)unused;
	if (open_mock_cluster(&f) != FAIL_NONE)
		return -1;
	if (rd_kafka_mock_topic_create(cluster, "m.batches", MOCK_LANES, 1))
		return -1;
	snprintf(at, sizeof(at), "%s", rd_kafka_mock_cluster_bootstraps(cluster));
	return lanes_open(&lanes, &o, &f) == FAIL_NONE ? 0 : -1;
}

static int
close_mock_lanes(void **unused)
{
	(void)unused;
	lanes_close(lanes);
	kafka_close(owner);
	return 0;
}

#endif
