/* A record that comes while the code under test looks: an end that was too early moves on. */
#ifndef TESTS_UNIT_LATE_H
#define TESTS_UNIT_LATE_H

#include <pthread.h>

#include "tests/unit/test.h"

#include "common/base/clock.h"
#include "tests/unit/mock_cluster.h"

enum { LATE_MS = 1000, LATE_FLUSH_MS = 30000 };

/* Writes a record that is as old as that. */
static void
late_write(const char *topic, int32_t partition, const void *bytes, size_t n, int64_t age_ms)
{
	struct property item[] = {{(char[]){"bootstrap.servers"},
	    (char *)(uintptr_t)rd_kafka_mock_cluster_bootstraps(cluster)}};
	const struct properties properties = {1, item};
	struct kafka_options o = {
	    .role = KAFKA_WRITER, .client = "late", .properties = &properties};
	struct failure f;
	rd_kafka_t *rk;

	assert_int_equal(kafka_open(&rk, &o, &f), FAIL_NONE);
	assert_int_equal(
	    rd_kafka_producev(rk, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_PARTITION(partition),
		RD_KAFKA_V_VALUE((void *)(uintptr_t)bytes, n),
		RD_KAFKA_V_TIMESTAMP(clock_wall_ms() - age_ms),
		RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END),
	    RD_KAFKA_RESP_ERR_NO_ERROR);
	assert_int_equal(rd_kafka_flush(rk, LATE_FLUSH_MS), RD_KAFKA_RESP_ERR_NO_ERROR);
	kafka_close(rk);
}

struct late {
	const char *topic;
	const void *bytes;
	size_t n;
	int64_t age_ms;
	pthread_t thread;
};

static inline void *
late_run(void *opaque)
{
	const struct late *l = opaque;

	clock_pause_ms(LATE_MS);
	late_write(l->topic, 0, l->bytes, l->n, l->age_ms);
	return NULL;
}

/* Writes the record to partition 0 after LATE_MS. Until pthread_join() *l belongs to the thread. */
static inline void
late_start(struct late *l)
{
	assert_int_equal(pthread_create(&l->thread, NULL, late_run, l), 0);
}

#endif
