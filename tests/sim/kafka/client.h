/*
 * client.h -- the second implementation of what riffle calls of librdkafka, on the cluster of
 * cluster.h; private to client*.c. Behaviour is that of librdkafka 2.0.2; a function of its API
 * that riffle does not call is not there, so that a program which needs it does not link.
 *
 * A handle has no threads: what librdkafka does behind the scenes happens inside the calls.
 */
#ifndef TESTS_SIM_CLIENT_H
#define TESTS_SIM_CLIENT_H

#include "tests/sim/kafka/cluster.h"

enum { CLIENT_PROPERTIES_MAX = 96, CLIENT_VALUE_MAX = 256, CLIENT_TEXT_MAX = 256 };

struct client_property {
	char name[64], value[CLIENT_VALUE_MAX];
};

struct rd_kafka_conf_s {
	struct client_property property[CLIENT_PROPERTIES_MAX];
	size_t n;
	void *opaque;
	void (*delivered)(rd_kafka_t *, const rd_kafka_message_t *, void *);
	void (*error)(rd_kafka_t *, int, const char *, void *);
	void (*log)(const rd_kafka_t *, int, const char *, const char *);
	rd_kafka_interceptor_f_on_new_t *on_new;
	void *on_new_opaque;
};

struct rd_kafka_topic_s {
	rd_kafka_t *rk;
	char name[CLUSTER_NAME_MAX];
	bool known;      /* the handle has seen it exist */
	int64_t made_ms; /* when the handle first heard the name */
	struct rd_kafka_topic_s *next;
};

/* A message, as riffle sees it, and what it does not see. */
struct client_message {
	rd_kafka_message_t m; /* comes first */
	int64_t timestamp_ms;
	struct client_message *next;
	bool copied; /* of a producer: payload is ours */
	rd_kafka_headers_t *headers;
};

struct client_messages {
	struct client_message *first, **end; /* end NULL: empty, as zeroed */
	size_t n;
};

struct rd_kafka_headers_s {
	struct cluster_header *header; /* malloc, with name and value */
	size_t n, room;
};

struct rd_kafka_error_s {
	rd_kafka_resp_err_t code;
	bool fatal, retriable, abort;
	char text[CLIENT_TEXT_MAX];
};

/* Batches of one partition that are queued and sent. */
struct client_sending {
	struct rd_kafka_topic_s *topic;
	int32_t partition;
	struct client_messages queued, sent;
	struct cluster_request *request; /* NULL: nothing is sent */
	int64_t answer_ms;               /* when its answer comes */
	bool lost;                       /* the client gives up at answer_ms */
	bool unknown;                    /* the answer does not say the offset */
	bool added;                      /* its partition to the open transaction */
	int32_t sequence;
	struct client_sending *next;
};

enum client_txn { CLIENT_TXN_NONE, CLIENT_TXN_READY, CLIENT_TXN_BEGUN, CLIENT_TXN_ENDING };

/* A partition that is read. */
struct client_partition {
	rd_kafka_t *rk;
	struct rd_kafka_topic_s *topic;
	int32_t partition;
	bool assigned, separate, stopped; /* separate: it has a queue of its own */
	int64_t offset_next, end_told;
	int64_t quiet_until_ms;
	int64_t follower_end, follower_until_ms; /* what a follower that lags shows, until then */
	struct client_messages fetched;
	struct client_partition *next;
};

struct rd_kafka_queue_s {
	rd_kafka_t *rk;
	struct client_partition *partition; /* NULL: events */
	rd_kafka_event_t *first, **end;
	bool awake;
};

struct rd_kafka_s {
	rd_kafka_type_t type;
	struct rd_kafka_conf_s *conf; /* what it was made with */
	char group[CLUSTER_NAME_MAX];
	bool committed_only, tells_end, idempotent;
	int64_t linger_ms;
	struct rd_kafka_topic_s *topics;
	struct client_partition *partitions;
	struct cluster_member *member; /* NULL: of no group */
	unsigned turn;                 /* whose partition is looked at first */
	/* producers */
	struct client_sending *sending;
	struct client_messages reports;
	size_t waiting; /* messages that have no report yet */
	int64_t producer;
	int16_t epoch;
	struct cluster_txn *txn; /* NULL: not transactional */
	enum client_txn state;
	bool txn_used;                        /* the coordinator knows of the transaction */
	rd_kafka_resp_err_t abortable, fatal; /* why the transaction, or the handle, is lost */
	char text[CLIENT_TEXT_MAX];
	struct cluster_request *ending; /* an EndTxn without answer */
	int64_t ending_answer_ms;
	rd_kafka_interceptor_f_on_response_received_t *on_response;
	void *on_response_opaque;
};

/* client.c */
const char *client_value(const struct rd_kafka_conf_s *c, const char *name);
int64_t client_number(const rd_kafka_t *rk, const char *name);
struct rd_kafka_topic_s *client_topic(rd_kafka_t *rk, const char *name);
/*
 * Whether librdkafka would say that the topic does not exist: at once where it did exist before,
 * else only after topic.metadata.propagation.max.ms.
 */
bool client_topic_is_missing(struct rd_kafka_topic_s *t);
void client_put(struct client_messages *q, struct client_message *m);
struct client_message *client_take(struct client_messages *q); /* NULL: none */
struct client_message *client_message_new(
    struct rd_kafka_topic_s *topic, int32_t partition, rd_kafka_resp_err_t err);
rd_kafka_error_t *client_error(rd_kafka_resp_err_t code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void client_set_last_error(rd_kafka_resp_err_t err);
/* A question is not answered: time passes, and *err says it. */
bool client_unanswered(
    enum chance_fault fault, const char *function, int timeout_ms, rd_kafka_resp_err_t *err);

/* client_requests.c: tells the interceptor of a request that no answer came to. */
enum client_api { CLIENT_API_PRODUCE = 0, CLIENT_API_END = 26 };
void client_unheard(rd_kafka_t *rk, enum client_api key);

/* client_group.c */
void client_leave(rd_kafka_t *rk);
/* Whether the group counts it now; and whether no other member comes before it. */
bool client_member_is_there(const struct cluster_member *m);
bool client_member_is_first(const struct cluster_member *m);

/* client_members.c: NULL is accepted. */
void client_group_free(rd_kafka_ConsumerGroupDescription_t *g);

/* client_admin.c: begins a request; false: its answer, which says so, is that there is none. */
bool client_admin_asked(const char *function, const char *what,
    const rd_kafka_AdminOptions_t *options, rd_kafka_event_type_t type, rd_kafka_queue_t *q);
/* Gives the answer, at once. */
void client_admin_answer(rd_kafka_queue_t *q, rd_kafka_event_t *e);

/* client_queue.c */
rd_kafka_event_t *client_event(rd_kafka_event_type_t type, rd_kafka_resp_err_t err);
void client_event_put(rd_kafka_queue_t *q, rd_kafka_event_t *e, int64_t due_ms);

/* client_produce.c */
void client_serve(rd_kafka_t *rk, bool now); /* sends and hears; now: without lingering */
int client_reports(rd_kafka_t *rk);          /* calls back for what was reported */
void client_fatal(rd_kafka_t *rk, rd_kafka_resp_err_t err, const char *text);
void client_drop(rd_kafka_t *rk);
rd_kafka_resp_err_t client_flush(rd_kafka_t *rk, int64_t until_ms);
/* When the handle will hear something next; INT64_MAX: nothing is on its way. */
int64_t client_next_ms(const rd_kafka_t *rk);

/* client_consume.c */
void client_partitions_free(rd_kafka_t *rk);
struct client_message *client_next(struct client_partition *p);
struct client_partition *client_partition(rd_kafka_t *rk, const char *topic, int32_t partition);

struct rd_kafka_op_s {
	rd_kafka_event_type_t type;
	rd_kafka_resp_err_t err;
	int64_t due_ms;
	rd_kafka_event_t *next;
	rd_kafka_topic_partition_list_t *list;
	rd_kafka_topic_result_t **topic;
	size_t topics_n;
	rd_kafka_ConfigResource_t **resource;
	size_t resources_n;
	rd_kafka_ConsumerGroupListing_t **listing;
	size_t listings_n;
	rd_kafka_ConsumerGroupDescription_t *group;
};

#endif
