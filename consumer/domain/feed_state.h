/*
 * feed_state.h -- what a feed holds: shared by feed.c, which keeps the blocks, and feed_load.c,
 * which reads them. Nobody else includes it.
 */
#ifndef CONSUMER_DOMAIN_FEED_STATE_H
#define CONSUMER_DOMAIN_FEED_STATE_H

#include <librdkafka/rdkafka.h>

#include "consumer/domain/feed_block.h"

struct feed_partition {
	struct feed_block *block; /* all of this partition, queued ones too */
	bool loading;
	/* Known push: ordinals from pushed_from on stand at offset ordinal + push or later. */
	uint64_t pushed_from;
	int64_t push;
};

struct feed_domain {
	rd_kafka_topic_t *topic;
	char *name; /* of the topic */
	uint64_t record_bytes;
	struct feed_partition *partition;
	size_t partitions_n;
};

/* A partition that is being read for one block. */
struct feed_load {
	struct feed_block *block; /* NULL: free */
	uint32_t undecodable;     /* records since the last good one */
	char reason[256];         /* of the last of them */
	uint8_t *bytes;           /* and its bytes, cut; owned */
	size_t bytes_n;
	int64_t offset;
	int64_t ended_ms;  /* since when the topic ends before the block; 0: it does not */
	int64_t polled_ms; /* the last time that this was looked at */
	int64_t begun_ms;
	bool asked; /* why nothing comes */
};

struct feed {
	rd_kafka_t *rk;
	uint64_t memory_bytes, tokenizer;
	uint32_t block; /* sequences of a whole one */
	struct feed_domain *domain;
	size_t domains_n;
	struct feed_load load[FEED_LOADS_MAX];
	size_t loads_n;
	struct feed_block *queue; /* by first use, urgent ones in front */
	struct feed_block **queue_end;
	size_t queued_n;
	uint64_t bytes, bytes_loading; /* bytes_loading: expected of the loads under way */
	uint64_t tick;
	struct feed_pool pool;
};

struct feed_partition *feed_partition(struct feed *d, uint32_t domain, uint32_t partition);

/* Takes a block out of the queue it stands in. */
void feed_dequeue(struct feed *d, struct feed_block *b);

/* Frees a block that is in no queue. */
void feed_drop_block(struct feed *d, struct feed_block *b);

/* What a block is likely to take when it is whole. */
uint64_t feed_expected_bytes(const struct feed *d, const struct feed_block *b);

#endif
