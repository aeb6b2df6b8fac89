/*
 * lanes_state.h -- what lanes.c (opening), lanes_next.c (records) and lanes_commit.c share.
 */
#ifndef CONSUMER_READER_LANES_STATE_H
#define CONSUMER_READER_LANES_STATE_H

#include <librdkafka/rdkafka.h>
#include <stdatomic.h>

#include "common/base/names.h"
#include "consumer/reader/lane_fetch.h"
#include "consumer/reader/lanes.h"

enum { LANES_GROUP_MAX_BYTES = 2 * NAME_MAX_BYTES + 2 };

struct lane {
	rd_kafka_queue_t *queue;
	rd_kafka_message_t *held; /* NULL: none */
};

struct lanes {
	rd_kafka_t *rk;
	char topic[TOPIC_MAX_BYTES + 1];
	char group[LANES_GROUP_MAX_BYTES];
	uint32_t total, first, count;
	struct lane *lane; /* [count] */
	struct lane_fetch fetch;
	rd_kafka_topic_partition_list_t *list; /* of the lanes, for lane_fetch_wake() */
	unsigned since_served;
	rd_kafka_queue_t *answers;               /* of commits */
	rd_kafka_topic_partition_list_t *commit; /* the last one that was begun; NULL: none */
	int64_t commit_again_ms;                 /* when to send it again; 0: it is on its way */
	int64_t commit_until_ms;                 /* and when no more */
	atomic_bool awake;                       /* nobody shall wait */
	atomic_int denied; /* the last rd_kafka_resp_err_t that was a denial; 0: none */
};

/* Gives the rank's lanes as librdkafka wants them, each with its offset; NULL: no memory. */
rd_kafka_topic_partition_list_t *lanes_list(const struct lanes *l, const int64_t *offset_next);

/* The handle's own queue: errors that belong to no lane, and librdkafka's callbacks. */
enum fail_code lanes_take_events(struct lanes *l, struct failure *f);

#endif
