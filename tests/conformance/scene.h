/*
 * scene.h -- what a scenario of the conformance suite acts with: topics, handles, and its outcome.
 *
 * A scenario plays against whatever librdkafka the program is linked with, and says what came of
 * it, a line at a time: names of errors, offsets, values. It says nothing that two right runs may
 * differ in: no times, no generated names. Where Kafka answers before it is done (the markers of a
 * transaction follow its end), a scenario waits for the state that it describes, with a deadline.
 *
 * Thread: a scene and all its handles belong to one thread; scenes share nothing.
 */
#ifndef TESTS_CONFORMANCE_SCENE_H
#define TESTS_CONFORMANCE_SCENE_H

#include <librdkafka/rdkafka.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/kafka/kafka.h"

enum {
	SCENE_TEXT_MAX = 16 << 10,
	SCENE_NAME_MAX = 200,
	SCENE_HANDLES_MAX = 12,
	SCENE_TOPICS_MAX = 8, /* that one producer writes to */
	SCENE_REPORTS_MAX = 256,
	SCENE_GROUPS_MAX = 4, /* whose commits are asked for */
	SCENE_WAIT_MS = 40000,
};

/* What became of one record; `label` is the beginning of its value. */
struct report {
	char label[12];
	rd_kafka_resp_err_t err;
	int32_t partition;
	int64_t offset;
};

/* A handle that writes, and the delivery reports it heard. */
struct producer {
	rd_kafka_t *rk;
	rd_kafka_topic_t *topic[SCENE_TOPICS_MAX];
	size_t topics_n;
	struct report report[SCENE_REPORTS_MAX];
	size_t reports_n;
};

/* A handle that asks for the commits of one group. */
struct asker {
	const char *group; /* borrowed */
	rd_kafka_t *rk;    /* one of scene.other */
};

enum scene_isolation { COMMITTED, UNCOMMITTED };

struct scene {
	const char *claim, *prefix; /* borrowed; all names in Kafka begin with prefix and claim */
	char text[SCENE_TEXT_MAX];
	size_t text_n;
	bool broken; /* the scenery failed, so that the outcome says nothing */
	rd_kafka_t *admin, *reader[2];
	rd_kafka_t *other[SCENE_HANDLES_MAX];
	size_t others_n;
	struct asker asker[SCENE_GROUPS_MAX + 1]; /* the first without a handle ends it */
	struct producer producer[SCENE_HANDLES_MAX];
	size_t producers_n;
};

void scene_init(struct scene *s, const char *claim, const char *prefix);
/* Ends every handle. */
void scene_end(struct scene *s);

/* One line of the outcome. */
void say(struct scene *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "what: ok", or the error's name and its nature. Takes `error`. */
void say_error(struct scene *s, const char *what, rd_kafka_error_t *error);
/* "what: NO_ERROR", or the name of the code. */
void say_code(struct scene *s, const char *what, rd_kafka_resp_err_t err);
/* A line that says that the scenery failed: the outcome is worth nothing. */
void scene_broken(struct scene *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same for an error where there must be none. Takes `error`; whether there was none. */
bool must(struct scene *s, const char *what, rd_kafka_error_t *error);

/* The name in Kafka of what the scene calls `name`. */
void scene_name(const struct scene *s, char out[static SCENE_NAME_MAX], const char *name);

/* Makes a topic, `settings` as "name=value name=value", and waits until it is shown. */
void make_topic(struct scene *s, const char *name, int partitions, const char *settings);
/* Asks for a topic and returns what the broker says to it; NULL settings: none. */
rd_kafka_resp_err_t ask_topic(
    struct scene *s, const char *name, int partitions, int replicas, const char *settings);

/* As the broker says now; 0: there is no such topic. */
int partitions_of(struct scene *s, const char *name);
rd_kafka_resp_err_t delete_topic(struct scene *s, const char *name);
void await_gone(struct scene *s, const char *name);

/* All handles are ended with the scene; `properties` as "name=value name=value". */
rd_kafka_t *open_admin(struct scene *s);
rd_kafka_t *open_reader(struct scene *s, const char *group, const char *properties);
/* What asks for the commits of a group, which is opened where it is not; borrows `group`. */
rd_kafka_t *asker_of(struct scene *s, const char *group);
struct producer *open_writer(struct scene *s, const char *properties);
struct producer *open_transactional(struct scene *s, const char *id, const char *properties);
/* The same, with init_transactions, which must succeed. */
struct producer *take_over(struct scene *s, const char *id, const char *properties);
/* Ends a producer as a crash does: nothing is flushed, nothing is aborted. */
void crash(struct producer *p);

/* The handle of a topic, which `p` is first asked about; NULL: broken. Borrowed. */
rd_kafka_topic_t *topic_of(struct scene *s, struct producer *p, const char *name);
rd_kafka_resp_err_t put_bytes(struct scene *s, struct producer *p, const char *topic,
    int32_t partition, const void *value, size_t value_n, const void *key, size_t key_n);
/* Produces `value`, and says so where it is refused. */
void put(
    struct scene *s, struct producer *p, const char *topic, int32_t partition, const char *value);
/* One record for each word of `values`, then waits for their delivery. */
void put_all(
    struct scene *s, struct producer *p, const char *topic, int32_t partition, const char *values);
/* Serves delivery reports until `n` were heard in all, or SCENE_WAIT_MS passed. */
void await_reports(struct scene *s, struct producer *p, size_t n);
/* "what: a=NO_ERROR@0 b=_PURGE_QUEUE", by label; forgets them. */
void say_reports(struct scene *s, const char *what, struct producer *p);
/* A whole transaction of put_all(), ended by commit or abort, which must succeed. */
void transact(struct scene *s, struct producer *p, const char *topic, int32_t partition,
    const char *values, bool commit);

/* First and end offset as a reader of that isolation is told; -1: no answer. */
int64_t end_of(struct scene *s, enum scene_isolation i, const char *topic, int32_t partition);
int64_t begin_of(struct scene *s, enum scene_isolation i, const char *topic, int32_t partition);
/* Waits until the end is at least so far. */
void await_end(
    struct scene *s, enum scene_isolation i, const char *topic, int32_t partition, int64_t end);
/* "topic/0: log 0..5, stable end 3" */
void say_ends(struct scene *s, const char *topic, int32_t partition);
/* Asks for the deletion of what lies below `offset`; says what the broker answers. */
void delete_records(struct scene *s, const char *topic, int32_t partition, int64_t offset);
/* Reads from `from` to the end: "read_committed topic/0 from 0: 0=a 1=b, end 3". */
void say_records(
    struct scene *s, enum scene_isolation i, const char *topic, int32_t partition, int64_t from);
/* The lower-level part of it: assigns one partition, so that records follow from consumer_poll. */
rd_kafka_t *begin_reading(
    struct scene *s, enum scene_isolation i, const char *topic, int32_t partition, int64_t from);
/* The next record, end or error, to be ended by the caller; NULL: nothing came, said as a line. */
rd_kafka_message_t *next_message(struct scene *s, rd_kafka_t *rk);

/* A list of one partition. */
rd_kafka_topic_partition_list_t *list_of(
    struct scene *s, const char *topic, int32_t partition, int64_t offset);
/* Offset of a group on the broker (-1: none) and whether it has metadata, as a line. */
void say_committed(struct scene *s, const char *group, const char *topic, int32_t partition);
/* Waits until the group's offset is as given. */
void await_committed(
    struct scene *s, const char *group, const char *topic, int32_t partition, int64_t offset);
/* send_offsets_to_transaction() of one offset. */
rd_kafka_error_t *send_offset(struct scene *s, struct producer *p, const char *group,
    const char *topic, int32_t partition, int64_t offset);

/* A scenario; its name is what it claims. The last of an array has no name. */
struct claim {
	const char *name;
	void (*play)(struct scene *s);
};

#define CLAIM(function)                                                                            \
	{                                                                                          \
#function, function                                                                \
	}

extern const struct claim claims_waiting[], claims_fencing[], claims_transactions[],
    claims_visibility[], claims_offsets[], claims_reading[], claims_records[], claims_topics[],
    claims_sequences[], claims_lost[];
/* For a broker that forgets producers and transactional ids after seconds. */
extern const struct claim claims_expiring[];

#endif
